"""The metadata of a skill in another registry, in the same form for every protocol."""

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec

from vskill_platform.base.show_text import show
from vskill_platform.errors import SourceRefused
from vskill_platform.mirror_settings import Mirror

Kind = TypeVar("Kind")
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
#: Appears in URLs and messages.
VersionText = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]{0,99}$")]
_MAX_MESSAGE = 200


def shown(text: str) -> str:
    """Return text from another registry as one line of limited length, for a message."""
    return show(" ".join(text[: 10 * _MAX_MESSAGE].split()), limit=_MAX_MESSAGE)


class RemoteVersion(msgspec.Struct, frozen=True, kw_only=True):
    #: Identifies this version at the other registry: its number, or a digest.
    revision: str
    #: Its number; empty if the protocol has none.
    version: str = ""
    #: When it was published; None if the protocol does not contain it.
    published_at: datetime | None = None
    url: str
    #: Whether `url` is the SKILL.md itself, not an archive.
    is_manifest: bool = False
    #: The digest of the download; empty if the protocol has none.
    sha256: str = ""
    #: The digest of each file by its path, if the protocol has these instead.
    files: dict[str, str] = {}
    #: Why the other registry no longer offers it; empty if it does.
    withdrawn: str = ""

    @property
    def content(self) -> str:
        """Identify its content by the digests of the other registry; "" if it names none."""
        if self.sha256 or not self.files:
            return self.sha256
        listed = "".join(f"{sha256} {path}\n" for path, sha256 in sorted(self.files.items()))
        return hashlib.sha256(listed.encode()).hexdigest()


def read_shape(mirror: Mirror, answer: Any, kind: type[Kind]) -> Kind:
    """Convert a response to the fields that are used, checked by type."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise SourceRefused(
            f"the response of {mirror.name} is not that of a registry of the kind {mirror.kind}: "
            f"{shown(str(error))}"
        ) from error


def from_millis(millis: float) -> datetime | None:
    """Return a time in milliseconds since 1970; None if it is out of range."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None

"""Parse what an operator typed into the subject of a block."""

import re

from vskill_platform.errors import InvalidInput
from vskill_platform.model.block import (
    BlockSubject,
    digest_subject,
    name_subject,
    publisher_subject,
    source_subject,
)
from vskill_platform.model.mirror import is_mirrored
from vskill_platform.model.source import (
    Source,
    SourceKind,
    folder_source,
    git_source,
    inner_path,
    mirror_source,
)

_UPLOAD, _MIRROR = "upload:", "mirror:"
_SLUG = re.compile(r"@[^/\s]+/[^/]+")
_OWNER_AND_REPO = re.compile(r"[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)


def read_subject(
    *,
    digest: str | None = None,
    source: str | None = None,
    path: str | None = None,
    name: str | None = None,
    publisher: str | None = None,
    default_host: str,
) -> BlockSubject:
    """Return the subject for a digest, a publisher, or a source with an optional folder or name."""
    if sum(bool(item) for item in (digest, source, publisher)) != 1:
        raise InvalidInput("give a digest, a source (with a path or a name), or a publisher")
    if not source and (name or path):
        raise InvalidInput("a name or a path needs a source")
    if name and path:
        raise InvalidInput("give a name or a path, not both")
    if digest:
        return digest_subject(digest)
    if publisher:
        is_whole = publisher.strip().startswith("@") or "/" in publisher.strip().strip("/")
        return publisher_subject(publisher if is_whole else f"{default_host}/{publisher.strip()}")
    where = read_blocked_source(source or "", path or "", default_host=default_host)
    return name_subject(where, name) if name else source_subject(where)


def read_blocked_source(text: str, path: str = "", *, default_host: str) -> Source:
    """Parse a source in its stored form; unlike at a submission, it may no longer exist.

    On pages an uploaded skill is `@namespace/name`, and a mirrored one is `@mirror_owner/name`.
    """
    text = text.strip()
    if is_mirrored(slug := text.removeprefix(_MIRROR)):
        return mirror_source(slug, "")
    handed_in = text.removeprefix(_UPLOAD)
    if _SLUG.fullmatch(handed_in) and handed_in.isprintable():
        return Source(kind=SourceKind.UPLOAD, url=f"{_UPLOAD}{handed_in}", path=inner_path(path))
    if "://" in text:
        return git_source(text, path)
    if text.startswith("/"):
        return folder_source(text, path)
    if _OWNER_AND_REPO.fullmatch(text):
        return git_source(f"https://{default_host}/{text}", path)
    raise InvalidInput(
        f"{text!r} is not a source. Use owner/repo, https://host/owner/repo, @namespace/name for "
        "an upload, or an absolute folder path. To block one skill of a repo, also give its name."
    )

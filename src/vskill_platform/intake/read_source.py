"""Parse what a user typed into a source, or into local files to be packed."""

import re
from pathlib import Path

import msgspec

from vskill_platform.engines.open_engine import database_file
from vskill_platform.errors import InvalidInput
from vskill_platform.fetch.allowed_sources import is_local, reach_of, why_out_of_reach
from vskill_platform.fetch.archive import is_archive
from vskill_platform.model.source import Source, folder_source, git_source, inner_path
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.settings import Settings

#: The URL of a page that shows a folder or file of a repo.
_PAGE = re.compile(
    r"(?P<repo>https://[^/?#]+(?:/[^/?#]+){2,}?)/(?:-/)?(?:tree|blob|src/branch)/(?P<ref>[^/?#]+)"
    r"(?:/(?P<path>[^?#]*))?(?:[?#].*)?"
)
_OWNER_AND_REPO = re.compile(r"[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)


class LocalFiles(msgspec.Struct, frozen=True):
    """A folder or an archive on this machine, to be uploaded in its current state."""

    place: Path
    #: The path of the skill in the source.
    path: str = ""


def read_source(
    text: str, *, settings: Settings, path: str = "", ref: str = ""
) -> Source | LocalFiles:
    """Accept a git URL, `owner/repo`, a folder or an archive; otherwise raise with the problem."""
    if "://" in text:
        return _within_reach(git_source(text, path, ref=ref), settings)
    if not text.isprintable():
        raise InvalidInput(f"{text!r} contains characters that cannot be stored")
    place = Path(text).expanduser()
    if not place.exists() and _OWNER_AND_REPO.fullmatch(text):
        url = f"https://{settings.default_host}/{text}"
        return _within_reach(git_source(url, path, ref=ref), settings)
    if not place.exists():
        raise InvalidInput(
            f"{text!r} is neither a folder or archive here, nor owner/repo, nor a git URL such as "
            "https://host/owner/repo"
        )
    if ref:
        raise InvalidInput(f"{text!r} is a local path, so it has no branch or tag {ref!r}")
    return _read_place(text, place, path, settings)


def read_remote_source(text: str, *, settings: Settings, path: str = "", ref: str = "") -> Source:
    """Accept a git URL, `owner/repo` or the URL of a repo's page, from a remote user.

    A remote user can never name a path on this machine.
    """
    text = text.strip()
    if not text:
        raise InvalidInput("give a git repo, such as https://host/owner/repo")
    if "://" not in text:
        if not _OWNER_AND_REPO.fullmatch(text):
            raise InvalidInput(f"{text!r} is neither owner/repo nor https://host/owner/repo")
        text = f"https://{settings.default_host}/{text}"
    if page := _PAGE.fullmatch(text):
        text = page["repo"]
        ref = ref or page["ref"]
        path = path or _skill_folder(page["path"] or "")
    source = git_source(text, path, ref=ref)
    if not source.url.startswith(("https://", "http://")):
        raise InvalidInput(f"{text!r}: only repos with an https URL can be submitted")
    return _within_reach(source, settings)


def _skill_folder(path: str) -> str:
    """Return the folder that a page of the repo shows, itself or by its manifest."""
    return path.rstrip("/").removesuffix(MANIFEST).rstrip("/")


def _read_place(text: str, place: Path, path: str, settings: Settings) -> Source | LocalFiles:
    if not place.is_dir():
        if not is_archive(place):
            raise InvalidInput(
                f"{text!r} is a file; submit the folder that contains SKILL.md, or an archive of "
                "it (.zip, .tar.gz, .tgz)"
            )
        return LocalFiles(place, inner_path(path))
    inside = inner_path(path)
    if inside and not (place / inside).is_dir():
        raise InvalidInput(f"there is no folder {path!r} in {text!r}")
    # With a database server, another machine may process it, so it needs the files, not the path.
    is_one_machine = database_file(settings.database_url) is not None
    if is_one_machine and is_local(place, reach_of(settings)):
        return folder_source(str(place.resolve()), path)
    return LocalFiles(place.resolve(), inside)


def _within_reach(source: Source, settings: Settings) -> Source:
    if reason := why_out_of_reach(source, reach_of(settings)):
        raise InvalidInput(reason)
    return source

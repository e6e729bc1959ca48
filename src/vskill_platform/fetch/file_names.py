"""Check that file names are portable: printable, bounded in length and unique."""

import unicodedata

from vskill_platform.errors import SourceRefused

#: Some systems cannot unpack longer paths.
MAX_PATH_CHARACTERS = 240
MAX_DEPTH = 20
#: Names that some systems resolve to `.git`, where a configuration could run commands.
_ALIASES_OF_GIT = frozenset({".git", "git~1"})


class Names:
    """The file and folder paths of one tree."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def add(self, path: str) -> None:
        """Add a path and its parents; refuse one that some systems would confuse with another."""
        check_name(path)
        parts = path.split("/")
        if len(parts) - 1 > MAX_DEPTH:
            raise SourceRefused(f"folders are nested more than {MAX_DEPTH} deep")
        for end in range(1, len(parts) + 1):
            prefix = "/".join(parts[:end])
            other = self._seen.setdefault(_folded(prefix), prefix)
            if other != prefix:
                raise SourceRefused(f"{other!r} and {prefix!r} are the same name on other systems")


def check_name(path: str) -> None:
    if not path.isprintable() or "\\" in path:
        raise SourceRefused(f"{path!r} has a character in its name that is not allowed")
    if len(path) > MAX_PATH_CHARACTERS:
        raise SourceRefused(
            f"{path[:40]!r}… has a path of more than {MAX_PATH_CHARACTERS} characters"
        )
    if {"", ".", ".."} & set(path.split("/")):
        raise SourceRefused(f"{path!r} contains an empty, '.' or '..' path segment")
    if any(_is_git(part) for part in path.split("/")):
        raise SourceRefused(f"{path!r} is part of a .git folder; remove it")


def _is_git(part: str) -> bool:
    return part.casefold().partition(":")[0].rstrip(". ") in _ALIASES_OF_GIT


def _folded(path: str) -> str:
    """Normalize a path like file systems that ignore case and Unicode composition."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", path).casefold())

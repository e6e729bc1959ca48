"""From what a person typed to a source."""

from pathlib import Path

from vskill_platform.errors import InvalidInput
from vskill_platform.model.source import Source, folder_source, git_source


def read_source(text: str, *, path: str = "") -> Source:
    """Take a folder on this machine or a git URL; say what is wrong with anything else."""
    if "://" in text:
        return git_source(text, path)
    if not text.isprintable():
        raise InvalidInput(f"{text!r} has characters in its name that cannot be stored")
    folder = Path(text).expanduser()
    if folder.is_file():
        raise InvalidInput(f"{text!r} is a file; submit the folder that holds SKILL.md")
    if not folder.is_dir():
        raise InvalidInput(
            f"{text!r} is neither a folder here nor a git URL such as https://host/owner/repo"
        )
    source = folder_source(str(folder.resolve()), path)
    if source.path and not (folder / source.path).is_dir():
        raise InvalidInput(f"there is no folder {path!r} in {text!r}")
    return source

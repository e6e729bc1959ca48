"""What changed in a file, as text that `git apply` takes."""

from collections.abc import Iterable

from vskill_platform.model.skill import SkillFile
from vskill_platform.publish.versions.diff_versions import FileChange


def patch_text(files: Iterable[FileChange]) -> str:
    """Return all changes as one text; what cannot be told by lines is named, and git passes it."""
    return "".join(
        patch_of(change) or f"({change.kind} {change.path}: {change.note})\n" for change in files
    )


def patch_of(change: FileChange) -> str:
    """Return the change with its head, every line ended; empty if no lines can tell it."""
    old, new = change.old, change.new
    has_other_mode = bool(old and new and old.is_executable != new.is_executable)
    is_told = change.lines or has_other_mode or _is_empty(change)
    if not is_told:
        return ""
    before, after = _quoted(f"a/{change.path}"), _quoted(f"b/{change.path}")
    lines = [f"diff --git {before} {after}"]
    if old is None and new:
        lines.append(f"new file mode {_mode(new)}")
    elif old and new is None:
        lines.append(f"deleted file mode {_mode(old)}")
    elif old and new and has_other_mode:
        lines += [f"old mode {_mode(old)}", f"new mode {_mode(new)}"]
    if change.lines:
        lines.append(f"--- {before if old else '/dev/null'}")
        lines.append(f"+++ {after if new else '/dev/null'}")
    return "".join(f"{line}\n" for line in (*lines, *change.lines))


def _is_empty(change: FileChange) -> bool:
    """Tell whether a file that holds nothing came or went."""
    there = change.new or change.old
    return change.kind != "changed" and there is not None and there.size == 0


def _mode(file: SkillFile) -> str:
    return "100755" if file.is_executable else "100644"


def _quoted(path: str) -> str:
    """Write a path as git does; no path in a version has characters that cannot be seen."""
    return '"{}"'.format(path.replace('"', '\\"')) if '"' in path else path

"""Commands that delete more than their own files."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import SecretKind, secret_in
from vskill_platform.scan.languages.shell.run import named
from vskill_platform.scan.languages.shell.state import Command, Origin, State, secret_at
from vskill_platform.scan.languages.shell.writing import note_write

_HOME = r"(?:~|\$HOME|\$\{HOME\}|/root|/home/[\w$<>{}.-]+|/Users/[\w$<>{}.-]+)"
_EVERYTHING = re.compile(
    rf"(?:/|/\*|{_HOME}/?\*?|\*|\.|\./|\./\*|\.\.|\.\./\*?"
    r"|/(?:etc|usr|var|bin|sbin|lib|lib64|boot|home|Users|System|Library|Applications|opt|root"
    r"|dev|proc|srv|mnt|usr/(?:bin|lib|local|share)|var/(?:lib|log|www))(?:/\*?)?"
    rf"|{_HOME}/(?:Documents|Desktop|Pictures|Downloads|Library|Music|Movies|\.ssh|\.config"
    r"|\.gnupg|\.aws|projects?|src|workspace)(?:/\*?)?"
    r"|[A-Za-z]:[\\/]\*?)"
)
#: A pattern for the files of other projects, in the folder above.
_BESIDE = re.compile(r"(?:\.\./)+[^/]{0,40}\*")
_EMPTYABLE = re.compile(r"\$\{?([A-Za-z_]\w*|\d)\}?/(?:\*|\.\*)?")
_DISK = re.compile(r"/dev/(?:sd[a-z]|nvme\d|r?disk\d|hd[a-z]|vd[a-z]|xvd[a-z]|mmcblk\d|mapper/)")
_BLANK = frozenset({"/dev/zero", "/dev/urandom", "/dev/random"})
#: An image of a system, and a device that is hardly ever the disk of this machine.
_IMAGE = re.compile(r"^[^/].*\.(?:iso|img)$|/[^/]*\.(?:iso|img)$", re.IGNORECASE)
_STICK = re.compile(r"/dev/(?:sd[b-zX]|r?disk[2-9N]|mmcblk\d)")
_ERASES = re.compile(r"erase|reformat|zeroDisk|secureErase")
_FILTERS = frozenset(
    {"-name", "-iname", "-path", "-regex", "-mtime", "-newer", "-empty", "-size", "-mmin"}
)
_NOT = frozenset({"-not", "!"})


def run_rm(state: State, command: Command) -> str:
    flags = "".join(arg for arg in command.args if arg.startswith("-"))
    targets = [arg for arg in command.args if not arg.startswith("-")]
    if any(secret_in(target) is SecretKind.HISTORY for target in targets):
        state.emit(Act.DISARM, "shell history")
    if not re.search(r"[rR]|--recursive", flags):
        return ""
    for target in targets:
        if _is_everything(state, target) or "--no-preserve-root" in flags:
            state.emit(Act.DELETE, target)
        elif _BESIDE.match(target):
            state.emit(Act.DESTROY, f"rm {target}")
    return ""


def _is_everything(state: State, target: str) -> bool:
    if target in {"*", ".", "./", "./*"} and state.has_moved:
        return False  # everything in a folder that was just entered
    return bool(_EVERYTHING.fullmatch(target) or _EMPTYABLE.fullmatch(target))


def run_find(state: State, command: Command) -> str:
    """Analyse the commands that find runs on its results."""
    args = command.args
    starts = [arg for arg in args[: _first_test(args)] if not arg.startswith("-")]
    is_all = any(_is_everything(state, start) and start not in {".", "./"} for start in starts)
    # A filter that is negated spares a few files and deletes all others.
    filters = {arg for arg, before in zip(args, ["", *args], strict=False) if before not in _NOT}
    is_deleted = not _FILTERS & filters and ("-delete" in args or "rm" in args)
    if is_all and (is_deleted or "shred" in args):
        state.emit(Act.DELETE, f"find {starts[0]}")
    patterns = [args[i + 1] for i, arg in enumerate(args[:-1]) if arg in {"-name", "-iname"}]
    # A pattern such as `.env*` or `id_*` stands for the files that it is meant to select.
    examples = [p.replace("*", some).rstrip(".") for p in patterns for some in ("*", "", "rsa")]
    secret_path = next((path for path in (*starts, *examples) if secret_at(path)), None)
    found = state.mark(Origin())
    if secret_path is not None:
        state.emit(Act.READ_SECRET, secret_at(secret_path) or "")
        found = secret_path
    for index, arg in enumerate(args):
        if arg in {"-exec", "-execdir", "-ok", "-okdir"} and index + 1 < len(args):
            inner = [a.replace("{}", found) for a in args[index + 1 :] if a not in {";", "+"}]
            return state.run_command(state, named(command, inner)) if inner else ""
    return found


def _first_test(args: list[str]) -> int:
    """Return the position after the paths to search; -L, -H and -P come before them."""
    for index, arg in enumerate(args):
        if arg.startswith(("-", "(", "!")) and arg not in {"-L", "-H", "-P"}:
            return index
    return len(args)


def run_dd(state: State, command: Command) -> str:
    pairs = dict(arg.partition("=")[::2] for arg in command.args if "=" in arg)
    source, target = pairs.get("if", ""), pairs.get("of", "")
    is_file = source and not source.startswith("/dev/")
    given = state.content(source) if is_file else command.stdin
    if source in _BLANK and target.startswith("/dev/") and state.has_mark(target):
        state.emit(Act.DELETE, "a disk that is looked up")
    known = state.recall(source)
    is_made = known is not None and not state.flow(known).hosts  # of zeros, not downloaded
    if _IMAGE.search(source) and _STICK.fullmatch(target) and not is_made:
        return ""
    if target:
        note_write(state, target, given)
        return ""
    return given


def run_format(state: State, command: Command) -> str:
    text = " ".join(command.args)
    if command.name == "diskutil" and not _ERASES.search(text):
        return ""
    is_disk = _DISK.search(text) or command.name == "diskutil"
    if is_disk or any(_is_everything(state, arg) for arg in command.args):
        state.emit(Act.DELETE, f"{command.name} {text}")
    return ""


_FORMATTERS = (
    "mkfs", "mkfs.ext4", "mkfs.ext3", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat", "mkswap", "wipefs",
    "shred", "blkdiscard", "parted", "sgdisk", "diskutil",
)  # fmt: skip
DELETERS = {
    "rm": run_rm,
    "srm": run_rm,
    "trash": run_rm,
    "find": run_find,
    "fd": run_find,
    "dd": run_dd,
    **dict.fromkeys(_FORMATTERS, run_format),
}

"""Files that a program reads, writes and deletes."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import (
    SecretKind,
    Sensitive,
    secret_in,
    sensitive_place_in,
)
from vskill_platform.scan.languages.dispatch import read_python, read_shell
from vskill_platform.scan.languages.flow.secrets import path_key, read_path
from vskill_platform.scan.languages.flow.state import Call, Flow
from vskill_platform.scan.languages.flow.temporary_files import lines_before_removal
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    NO_TAINTS,
    UNKNOWN,
    Taints,
    TaintSource,
    Value,
    concatenate,
    options,
    tainted,
)
from vskill_platform.scan.languages.unparsed import Unparsed

#: Files whose content is run as code.
_STARTED = frozenset({Sensitive.AUTOSTART, Sensitive.SHELL_PROFILE, Sensitive.GIT_HOOK})
#: The markup of a launchd job, which contains the words of a command.
_MARKUP = re.compile(r"</?[a-z]{3,10}/?>|<key>\w{1,40}</key>")
_MUCH = re.compile(
    r"(?:~|/|[A-Za-z]:[\\/]?|/(?:home|Users|etc|usr|var|root|bin|boot|lib|opt)(?:/\*)?"
    r"|(?:~|/(?:home|Users)/[^/]{1,64})/(?:Documents|Desktop|Downloads|Pictures|Library))?(?:[/\\]\*{0,2})*\Z"
)  # fmt: skip
#: How many removals of files are looked at; each costs as much as reading the program.
_MAX_REMOVALS = 20
_WRITING = re.compile(r"[rbt]{0,2}[wax][bt+]{0,2}\Z|r\+b?\Z")


def open_file(flow: Flow, call: Call) -> Value | None:
    path, mode = call.arg(0, "file"), call.arg(1, "mode").text or "r"
    return _open(flow, call, path, mode)


def open_path(flow: Flow, call: Call) -> Value | None:
    """Path.open(mode)."""
    if call.receiver.text is None:
        return None
    return _open(flow, call, call.receiver, call.arg(0, "mode").text or "r")


def _open(flow: Flow, call: Call, path: Value, mode: str) -> Value:
    if _WRITING.match(mode):
        note_write(flow, call.line, path)
        return Value(name="file", text=path.text or path.name or None)
    return Value(name="file", text=path.text, taints=read_path(flow, path, call.line))


def make_temporary(_flow: Flow, call: Call) -> Value | None:
    """A file or folder with an unpredictable name, identified by the line that creates it."""
    path = f"/tmp/{HOLE}-{call.line}"  # noqa: S108 - never opened
    if call.method == "mkstemp":
        return Value(items=(Value(name="file", text=path), Value(text=path)))
    return Value(name="file" if "File" in call.method else "", text=path)


def write_descriptor(flow: Flow, call: Call) -> Value | None:
    """os.write(descriptor, data)."""
    keep(flow, call.arg(0), call.arg(1).taints)
    return UNKNOWN


def read_argument(flow: Flow, call: Call) -> Value | None:
    """fs.readFileSync(path), sqlite3.connect(path), shutil copies: the path is first."""
    path = call.arg(0, "path", "src", "database", "filename")
    taints = read_path(flow, path, call.line)
    return Value(taints=taints) if taints else UNKNOWN


def read_receiver(flow: Flow, call: Call) -> Value | None:
    """path.read_text(), file.read(): the receiver contains the path."""
    taints = call.receiver.taints
    if call.method.startswith("read_") and call.receiver.text is not None:
        taints |= read_path(flow, call.receiver, call.line)
    return Value(taints=taints) if taints else UNKNOWN


def write_receiver(flow: Flow, call: Call) -> Value | None:
    """path.write_text(data), file.write(data), archive.write(path)."""
    if call.receiver.name == "archive":
        return pack(flow, call)
    if call.method in {"write_text", "write_bytes"}:
        note_write(flow, call.line, call.receiver, call.arg(0, "data"))
    elif call.receiver.name == "file" and call.receiver.text:
        _read_stored(flow, call.line, call.receiver, call.arg(0))
    if call.receiver.name == "file" or call.method != "write":
        keep(flow, call.receiver, tainted(*call.args, *call.named.values()))
        return UNKNOWN
    return None


def write_argument(flow: Flow, call: Call) -> Value | None:
    """fs.writeFileSync(path, data)."""
    path = call.arg(0, "path", "file")
    note_write(flow, call.line, path, call.arg(1, "data"))
    keep(flow, path, tainted(*call.args[1:]))
    return Value(name="file", text=path.text or path.name or None)


def copy_file(flow: Flow, call: Call) -> Value | None:
    source, goal = call.arg(0, "src"), call.arg(1, "dst")
    taints = read_path(flow, source, call.line)
    if goal is not UNKNOWN:
        note_write(flow, call.line, goal)
        keep(flow, goal, taints)
    return Value(text=goal.text, name=goal.name, taints=taints)


def pack(flow: Flow, call: Call) -> Value | None:
    """tar.add(path), zip.write(path): the archive contains what was read."""
    if call.receiver.name != "archive":
        return None
    taints = _read_folder(flow, call.arg(0), call.line) | tainted(*call.args)
    keep(flow, call.receiver, taints)
    return UNKNOWN


def open_archive(flow: Flow, call: Call) -> Value | None:
    path = call.arg(0, "name", "file", "fileobj")
    taints = read_path(flow, path, call.line)
    return Value(name="archive", text=path.text or path.name or None, taints=taints)


def pack_folder(flow: Flow, call: Call) -> Value | None:
    """shutil.make_archive(base, format, root)."""
    taints = _read_folder(flow, call.arg(2, "root_dir"), call.line)
    made = concatenate([call.arg(0, "base_name"), Value(text=".zip")])
    keep(flow, made, taints)
    return Value(text=made.text, taints=taints)


def _read_folder(flow: Flow, path: Value, line: int) -> Taints:
    """Read a path that may be a folder of secrets, such as ~/.ssh, as a whole."""
    found = read_path(flow, path, line)
    return found or (read_path(flow, concatenate([path, _ANY_FILE]), line) if path.text else found)


#: Some file in a folder.
_ANY_FILE = Value(text="/any")
#: Calls that list the names in a folder, without the folder.
_NAME_LISTERS = frozenset({"listdir", "readdir", "readdirSync"})


def list_folder(flow: Flow, call: Call) -> Value | None:
    """glob, walk, iterdir: paths below a known one."""
    given = next((arg for arg in call.args if arg.text), UNKNOWN)
    base = call.receiver if call.receiver.text else given
    if base.text is None:
        return None
    parts = [base, given] if base is call.receiver and given.text else [base, Value(text="*")]
    found = base if call.method in {"glob", "iglob"} and base is given else concatenate(parts, "/")
    kind = secret_in(found.text or "")
    if kind is SecretKind.WALLET:
        flow.add(Act.READ_SECRET, call.line, detail=kind)
    if call.method in _NAME_LISTERS:
        return Value(text="*", taints=base.taints)
    if call.method == "walk":
        item = Value(text="*")
        return Value(text=found.text, items=(Value(items=(found, item, item)),))
    return Value(text=found.text, taints=base.taints)


def _add_deletion(flow: Flow, path: Value, line: int) -> None:
    for text in options(path.text) if path.text else []:
        if _MUCH.match(text):
            flow.add(Act.DELETE, line, detail=text)


def delete(flow: Flow, call: Call) -> Value | None:
    """Recursive deletion that would empty a home folder or a disk."""
    path = call.arg(0, "path")
    _add_deletion(flow, path, call.line)
    _forget_write(flow, path, call.line)
    return UNKNOWN


def delete_receiver(flow: Flow, call: Call) -> Value | None:
    _forget_write(flow, call.receiver, call.line)
    _add_deletion(flow, call.receiver, call.line)
    return None


def note_write(flow: Flow, line: int, path: Value, content: Value = UNKNOWN) -> None:
    for text in options(path.text) if path.text else []:
        kind = sensitive_place_in(text)
        if kind is not None:
            flow.add(Act.WRITE, line, detail=kind)
        if kind is Sensitive.AGENT_CONFIG and HOLE in text:
            flow.temporary.setdefault(path_key(path), []).append((Act.WRITE, line, kind, None))
    _read_stored(flow, line, path, content)


def _forget_write(flow: Flow, path: Value, line: int) -> None:
    """Drop the writes to a file of the agent that has a new name and is always removed again.

    Programs that try a command in a fresh session do this; nothing is left for other sessions.
    """
    written = flow.temporary.get(path_key(path))
    if not written:
        return
    if line not in flow.removals and len(flow.removals) < _MAX_REMOVALS:
        flow.removals[line] = lines_before_removal(flow.code, line)
    lines = flow.removals.get(line)
    for key in written if lines else ():
        if lines and key[1] in lines:
            flow.facts.pop(key, None)


def _read_stored(flow: Flow, line: int, path: Value, content: Value) -> None:
    """Read commands that are stored now and run later, at a login or start-up."""
    places = {sensitive_place_in(text) for text in options(path.text)} if path.text else set()
    if not content.text or not places & _STARTED:
        return
    code = _MARKUP.sub(" ", content.text.replace(HOLE, "\n"))
    is_python = any(text.endswith((".py", ".pth")) for text in options(path.text or ""))
    try:
        facts = read_python(code) if is_python else read_shell(code)
    except Unparsed as error:
        facts = error.facts
    for fact in facts:
        if fact.act is not Act.OPAQUE:
            flow.add(fact.act, line, host=fact.host, detail=fact.detail)


def keep(flow: Flow, path: Value, taints: Taints) -> None:
    """Remember the content of a file that the program wrote."""
    key = path_key(path)
    if key and taints:
        flow.files[key] = flow.files.get(key, NO_TAINTS) | taints


def is_fetched(flow: Flow, path: Value) -> Taints:
    """Return the origin of a file that was fetched or decoded."""
    found = flow.files.get(path_key(path), NO_TAINTS)
    kinds = {TaintSource.REMOTE, TaintSource.DECODED}
    return frozenset(taint for taint in found if taint.source in kinds)

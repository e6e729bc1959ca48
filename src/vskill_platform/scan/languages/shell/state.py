"""State of the analysis of shell code: variables, files, origins of data."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import HostClass, classify_host
from vskill_platform.scan.facts.sensitive_paths import SecretKind, secret_in
from vskill_platform.scan.languages.shell.source import FIRST_MARK
from vskill_platform.scan.languages.shell.syntax import Group

#: Values are cut here; a longer payload is recognised by its start.
MAX_VALUE = 64 * 1024
#: Limit for the statements of one text, including nested ones.
MAX_STEPS = 20_000
#: Limit for all characters that are read; nested code counts again.
MAX_READ = 4 * 1024 * 1024
MAX_TOKENS = 100_000
MAX_FILES = 400
MAX_TREES = 40
#: Longer arguments are programs or data.
MAX_PATH = 1000
MAX_FLOWS = 20_000
MAX_FACTS = 500
#: The maximum depth of nested code.
MAX_NESTING = 8
#: The maximum depth of nested groups, calls and wrappers together.
MAX_DEPTH = 80

ALL_VARIABLES = "all variables"
#: The running script: if a part of it is extracted and run, that part is hidden code.
OWN_TEXT = frozenset({"$0", "${0}", "$BASH_SOURCE", "${BASH_SOURCE[0]}", "${BASH_SOURCE}"})
_FIRST_MARK, _LAST_MARK = chr(FIRST_MARK + 1), chr(FIRST_MARK + MAX_FLOWS + 1)
_MARK = re.compile(f"[{_FIRST_MARK}-{_LAST_MARK}]")
#: Folders that are secret as a whole when they are packed or copied.
_FOLDERS = {
    ".ssh": SecretKind.SSH,
    ".aws": SecretKind.CLOUD, ".azure": SecretKind.CLOUD, ".kube": SecretKind.CLOUD,
    "gcloud": SecretKind.CLOUD,
    ".gnupg": SecretKind.KEYCHAIN, "Keychains": SecretKind.KEYCHAIN,
    ".password-store": SecretKind.KEYCHAIN, "keyrings": SecretKind.KEYCHAIN,
    ".exodus": SecretKind.WALLET, ".solana": SecretKind.WALLET, ".monero": SecretKind.WALLET,
    ".electrum": SecretKind.WALLET, ".bitcoin": SecretKind.WALLET, ".ethereum": SecretKind.WALLET,
    "Exodus": SecretKind.WALLET,
}  # fmt: skip
#: Folders that count by their bare name too. Projects have a `.kube` or `.azure` of their own.
_IN_HOME_ONLY = {name for name in _FOLDERS if name[0] == "."} - {".azure", ".kube"}
_FOLDER = re.compile(
    rf"(?:[/\\]|^(?={'|'.join(map(re.escape, sorted(_IN_HOME_ONLY)))}))"
    rf"({'|'.join(map(re.escape, _FOLDERS))})(?:/(?:\*|\.)?)?$"
)
_DOTS = re.compile(r"^(?:(?:\.|\$PWD|\$\{PWD\})/)+")
#: Endings of files that a program loads from a folder of code.
_LOADABLE = re.compile(
    r"\.(?:py|pth|pyc|zip|egg|whl|js|mjs|cjs|pm|pl|rb|lua|so(?:\.\d+)*|dylib|dll|jar|class)$|/[\w-]+$"
)
#: The description of a download that is stored and then run.
DOWNLOADED = "download and run"
SOURCE_CODE = "source code of the project"
PRINTED_TOKENS = "printed tokens"


class Host(msgspec.Struct, frozen=True, gc=False):
    """A network host; the name is None if it is unknown."""

    name: str | None
    kind: HostClass | None = None


class Origin(msgspec.Struct, frozen=True, gc=False):
    """The origin of an unknown value."""

    hosts: tuple[Host, ...] = ()
    secrets: frozenset[str] = frozenset()
    #: Names of variables that contain a key or a password.
    names: frozenset[str] = frozenset()
    #: Secrets that belong to some services, and to no other host.
    private: frozenset[str] = frozenset()
    is_decoded: bool = False
    #: Its text, if it could be computed.
    plain: str | None = None
    #: Whether it is the output of an interactive shell.
    is_shell: bool = False
    #: One line or field of something larger.
    is_picked: bool = False


_NO_FLOW = Origin()


class FetchedFolder(msgspec.Struct):
    """A folder that was cloned or unpacked."""

    path: str
    hosts: tuple[Host, ...]
    detail: str
    is_run: bool = False


class Command(msgspec.Struct, gc=False):
    name: str
    args: list[str]
    stdin: str = ""
    #: Whether its output is used: by a pipe, a file, a variable.
    is_consumed: bool = False
    #: The name as written, with its folder.
    path: str = ""


class BudgetSpent(Exception):
    """The code exceeds the limits of the analysis."""


class State(msgspec.Struct):
    #: Reads nested code: text, standard input, whether the output is used.
    run_code: Callable[["State", str, str], str]
    #: Runs a command in another command's arguments.
    run_command: Callable[["State", Command], str]
    facts: dict[tuple[object, ...], Fact] = {}
    counts: dict[Act, int] = {}
    variables: dict[str, str] = {}
    aliases: dict[str, str] = {}
    #: The content of written files, by path, by name and by folder.
    files: dict[str, str] = {}
    names: dict[str, str] = {}
    folders: dict[str, list[str]] = {}
    #: Each function with the line before the code that contains it.
    functions: dict[str, tuple[Group, int]] = {}
    called: set[str] = set()
    active: list[str] = []
    sockets: dict[str, Host] = {}
    #: The content that open file descriptors read.
    inputs: dict[str, str] = {}
    #: Marks of process substitutions that are read, and the code of those that are written to.
    streams: set[str] = set()
    sinks: dict[str, str] = {}
    #: Files that a variable makes programs load, before anything is known about them.
    awaited: set[str] = set()
    #: The names of coprocesses.
    coprocesses: list[str] = []
    trees: list[FetchedFolder] = []
    #: The addresses of a repository's remotes.
    remotes: dict[str, Host] = {}
    inside: FetchedFolder | None = None
    #: Downloaded files that are already recorded as run.
    ran: set[str] = set()
    has_moved: bool = False
    #: Whether a command other than a test has run, which may have changed the script itself.
    has_acted: bool = False
    #: How many temporary files have been made.
    temporary: int = 0
    flows: list[Origin] = []
    line: int = 1
    base_line: int = 0
    #: Copies of the running script, which as a whole hide nothing.
    own_copies: set[str] = set()
    source: str = ""
    nesting: int = 0
    depth: int = 0
    tokens: int = 0
    is_cut: bool = False
    steps: int = 0
    read: int = 0
    #: The program that runs the current code, if that code is computed.
    runner: str = ""
    #: Facts in stored or computed code get the line where it is stored or run.
    keeps_line: bool = False

    def go_deeper(self) -> None:
        """Enter one level of nesting, up to a limit, and leave it again."""
        if self.depth >= MAX_DEPTH:
            raise BudgetSpent
        self.depth += 1

    def spend(self, characters: int) -> None:
        self.read += characters
        if self.read > MAX_READ:
            raise BudgetSpent

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise BudgetSpent

    def emit(self, act: Act, detail: str = "", host: Host | None = None) -> None:
        host = host or Host(None)
        key = (act, self.line, host.name, detail)
        if key in self.facts or not self.has_room(act):
            return
        kind = host.kind or (classify_host(host.name) if host.name else None)
        self.facts[key] = Fact(
            act=act, line=self.line, text=shorten(self.source), host=host.name, host_class=kind,
            detail=shorten(detail),
        )  # fmt: skip

    def has_room(self, act: Act) -> bool:
        """Count facts by act, so that a flood of harmless facts does not hide others."""
        count = self.counts[act] = self.counts.get(act, 0) + 1
        self.is_cut |= count > MAX_FACTS
        return count <= MAX_FACTS

    def emit_all(self, act: Act, hosts: Iterable[Host], detail: str = "") -> None:
        for host in list(dict.fromkeys(hosts))[:4]:
            self.emit(act, detail, host)

    # -- values

    def mark(self, flow: Origin) -> str:
        """Return a character that stands for a value of unknown text but known origin."""
        if len(self.flows) >= MAX_FLOWS:
            raise BudgetSpent
        self.flows.append(flow)
        return chr(FIRST_MARK + len(self.flows))

    def flow(self, *values: str) -> Origin:
        """Return the combined origin of the unknown parts of values."""
        if all(map(str.isascii, values)):  # marks are not ASCII
            return _NO_FLOW
        whole = _NO_FLOW
        marks = dict.fromkeys(found for value in values for found in _MARK.findall(value))
        for mark in list(marks)[:64]:
            one = self.flow_at(mark)
            whole = Origin(
                hosts=(*whole.hosts, *(host for host in one.hosts if host not in whole.hosts))[:4],
                secrets=whole.secrets | one.secrets,
                names=whole.names | one.names,
                private=whole.private | one.private,
                is_decoded=whole.is_decoded or one.is_decoded,
                plain=one.plain if len(marks) == 1 else None,
                is_shell=whole.is_shell or one.is_shell,
                is_picked=whole.is_picked or one.is_picked,
            )
        return whole

    def flow_at(self, mark: str) -> Origin:
        index = ord(mark) - FIRST_MARK - 1
        return self.flows[index] if 0 <= index < len(self.flows) else Origin()

    def is_mark(self, text: str) -> bool:
        return _FIRST_MARK <= text[:1] <= _LAST_MARK

    def has_mark(self, text: str) -> bool:
        return not text.isascii() and _MARK.search(text) is not None

    def plain(self, value: str) -> str:
        """Return *value* with all decoded parts as text."""
        if value.isascii():
            return value
        return _MARK.sub(lambda found: self.flow_at(found[0]).plain or found[0], value)[:MAX_VALUE]

    def derive(self, *values: str, **changes: object) -> str:
        """Return a value that was derived from others."""
        flow = self.flow(*values)
        if flow is not _NO_FLOW or any(changes.values()):
            flow = msgspec.structs.replace(flow, **{"plain": None, **changes})
        return self.mark(flow)

    # -- files

    def remember(self, path: str, content: str) -> None:
        bare = _DOTS.sub("", path[:MAX_PATH])
        if bare in self.sinks:
            self.run_code(self, self.sinks.pop(bare), content)
        if not bare or len(self.files) >= MAX_FILES:
            return
        self.files[bare] = content
        if self.awaited and self._is_awaited(bare):
            self.emit_all(Act.RUN_REMOTE, self.flow(content).hosts, DOWNLOADED)
        self.names[bare.rpartition("/")[2]] = bare
        folder = bare.rpartition("/")[0]
        for _ in range(6):
            if not folder:
                break
            self.folders.setdefault(folder, []).append(bare)
            folder = folder.rpartition("/")[0]

    def load(self, path: str) -> None:
        """Record that programs load the file at *path*, or a folder's files, now or later."""
        bare = path if self.is_mark(path) else _DOTS.sub("", path[:MAX_PATH]).rstrip("/")
        if not bare:
            return
        self.awaited.add(bare)
        known = [name for name in self.folders.get(bare, ())[:20] if _LOADABLE.search(name)]
        contents = [self.files[name] for name in known] if known else [self.files.get(bare, bare)]
        self.emit_all(Act.RUN_REMOTE, self.flow(*contents).hosts, DOWNLOADED)

    def _is_awaited(self, path: str) -> bool:
        folder = path.rpartition("/")[0]
        return path in self.awaited or (
            folder in self.awaited and _LOADABLE.search(path) is not None
        )

    def recall(self, path: str) -> str | None:
        """Return what was written to a file, or to the files of a folder."""
        if not self.files or len(path) > MAX_PATH:
            return None
        bare = _DOTS.sub("", path).rstrip("/")
        if bare in self.files:
            return self.files[bare]
        known = self.names.get(bare.rpartition("/")[2], "")
        is_it = "/" not in bare or (self.has_moved and "/" not in known)
        if known and is_it:
            return self.files[known]
        within = [self.files[name] for name in self.folders.get(bare, ())[:20]]
        return "\n".join(within)[:MAX_VALUE] if within else None

    def is_own_text(self, path: str) -> bool:
        """Return whether a path is the running script, or a copy of it."""
        return path in OWN_TEXT or path in self.own_copies

    def content(self, path: str) -> str:
        """Return what a program reads from *path*, and record secrets."""
        known = self.recall(path)
        if known is not None:
            return known
        if self.is_own_text(path):
            return self.mark(Origin(is_decoded=True))
        secret = secret_at(path)
        if secret is not None:
            self.emit(Act.READ_SECRET, secret)
            return self.mark(Origin(secrets=frozenset({secret})))
        if path == "/proc/self/environ":
            self.emit(Act.READ_ALL_ENV)
            return self.mark(Origin(secrets=frozenset({ALL_VARIABLES})))
        return path if self.is_mark(path) else self.mark(Origin())


def secret_at(path: str) -> str | None:
    """Return the kind of secret at *path*; public keys and examples are none."""
    return _secret_at(path[:MAX_PATH])


@lru_cache(maxsize=1024)
def _secret_at(path: str) -> str | None:
    if path.endswith((".pub", ".example", ".sample", ".template")):
        return None
    found = secret_in(path)
    if found is None and (folder := _FOLDER.search(path)):
        found = _FOLDERS[folder[1]]
    return str(found) if found else None

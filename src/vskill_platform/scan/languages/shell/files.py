"""Commands that read, copy, pack and unpack files."""

import re
from itertools import pairwise

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, HostClass, classify_host
from vskill_platform.scan.facts.sensitive_paths import SecretKind, secret_in
from vskill_platform.scan.languages.shell.names import PICKERS, READERS
from vskill_platform.scan.languages.shell.options import read_options
from vskill_platform.scan.languages.shell.run import execute
from vskill_platform.scan.languages.shell.sending import host_of, send
from vskill_platform.scan.languages.shell.state import (
    DOWNLOADED,
    MAX_TREES,
    SOURCE_CODE,
    Command,
    FetchedFolder,
    Host,
    Origin,
    State,
    secret_at,
)
from vskill_platform.scan.languages.shell.writing import note_place, note_write

_ENDINGS = re.compile(r"\.(?:tar\.\w+|t[gbx]z2?|tar|zip|7z|rar|gz|dmg)$")
#: Longer arguments are programs, not paths.
_MAX_NAME = 400
#: Settings of git whose values are commands.
_GIT_COMMAND = re.compile(
    r"core\.(?:fsmonitor|sshcommand|pager|editor|askpass)|sequence\.editor|diff\.external"
    r"|credential\.(?:\S{1,200}\.)?helper|alias\.\S{1,100}|pager\.\w{1,40}"
    r"|(?:diff|difftool|merge|mergetool|filter|gpg)\.(?:\S{1,100}\.)?"
    r"(?:textconv|command|cmd|driver|clean|smudge|process|program)",
    re.IGNORECASE,
)
#: Names of the user's working folder, and of everything in it.
_PROJECT = frozenset({".", "./", "*", "./*", "$PWD", "${PWD}", "$(pwd)", ".git", "./.git"})
_HOME_FILES = re.compile(r"(?:~|\$\{?HOME\}?)/\*?$|~$")
_COMPILERS = ("gcc", "cc", "g++", "clang", "clang++", "rustc", "tcc")
#: A setting with which git accepts any certificate.
_NO_CHECK = re.compile(r"http\.sslverify[ =](?:false|0|no)\b", re.IGNORECASE)
#: The arguments of `git add`, and options with which `git push` sends all branches.
_STAGED, _EVERYTHING = ".git/index", frozenset({"--mirror", "--all"})
_DOUBTFUL = frozenset(HostClass) - VOUCHED_FOR - {HostClass.LOCAL}
#: Files of a project that agents read.
_INSTRUCTIONS = frozenset({"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".windsurfrules"})
_LOOKS_LIKE_FILE = re.compile(r"[~/.$]|^\w[\w.-]{0,80}$")


def input_of(state: State, command: Command) -> str:
    """Return the input of a filter: its files, or standard input."""
    files = [arg for arg in command.args if not arg.startswith("-") and _is_file(state, arg)]
    contents = [state.content(path) for path in files[:20]]
    return "\n".join(contents) if contents else command.stdin


def _is_file(state: State, arg: str) -> bool:
    if len(arg) > _MAX_NAME or "\n" in arg:
        return False
    known = state.recall(arg) is not None or state.is_mark(arg)
    is_special = arg == "/proc/self/environ" or state.is_own_text(arg)
    return known or is_special or secret_at(arg) is not None


def filter_text(state: State, command: Command) -> str:
    """Any program that prints its input in some other form."""
    if command.name in READERS or command.name in PICKERS:
        given = input_of(state, command)
        if command.name in {"cat", "tee", "bat"} and given:
            return given
        if not given:
            return state.derive(*command.args)
        if not state.has_mark(given):
            return given
        return state.derive(given, is_picked=command.name in PICKERS, plain=state.flow(given).plain)
    if not command.is_consumed:
        return ""
    return state.derive(command.stdin, *_carried(state, command), is_shell=False)


def _carried(state: State, command: Command) -> list[str]:
    """Return arguments that contain a secret; the source of an argument is irrelevant."""
    return [arg for arg in command.args if state.flow(arg).secrets and not state.flow(arg).hosts]


def run_tee(state: State, command: Command) -> str:
    for path in command.args:
        if not path.startswith("-"):
            note_write(state, path, command.stdin, appends="-a" in command.args)
    return command.stdin


def run_cp(state: State, command: Command) -> str:
    """cp, mv, ln, install: the last argument is the destination."""
    options = read_options(
        command.args,
        "tmogSf" if command.name == "install" else "tS",
        frozenset({"target-directory", "mode"}),
    )
    target = options.first("t", "target-directory")
    sources = options.rest if target else options.rest[:-1]
    target = target or (options.rest[-1] if len(options.rest) > 1 else "")
    if command.name in {"cp", "mv", "install"} and sources and not target:
        return ""
    if target == "/dev/null" and command.name == "mv" and any(map(_HOME_FILES.match, sources)):
        state.emit(Act.DELETE, sources[0])
    if target == "/dev/null" or (command.name == "ln" and "/dev/null" in sources):
        if secret_in(" ".join([*sources, target])) is SecretKind.HISTORY:
            state.emit(Act.DISARM, "shell history")
        return ""
    if command.name == "ln" and _INSTRUCTIONS.issuperset({*sources, target}):
        return ""  # agents read the same text under another name
    for source in sources[:20]:
        path = f"{target}{source.rpartition('/')[2]}" if target.endswith("/") else target
        if state.is_own_text(source) and state.recall(source) is None:
            state.own_copies.add(path)
            note_place(state, path, "")
            continue
        content = state.content(source) if _is_file(state, source) and command.name != "ln" else ""
        note_place(state, path, content)
        if content:
            state.remember(path, content)
    return ""


def run_in_place(state: State, command: Command) -> str:
    """Editors, which write to the files in their arguments."""
    for arg in command.args:
        if not arg.startswith("-") and _LOOKS_LIKE_FILE.search(arg) and len(arg) < _MAX_NAME:
            note_place(state, arg)
    return ""


# -- archives


def run_tar(state: State, command: Command) -> str:
    args = command.args
    flags = args[0] if args else ""
    letters = flags.lstrip("-") if not flags.startswith("--") else ""
    options = read_options(
        [f"-{letters}", *args[1:]] if letters and not flags.startswith("-") else args,
        "fCTX",
        frozenset({"file", "directory", "exclude"}),
    )
    archive = options.first("f", "file")
    letters += "".join(arg[1:] for arg in args[1:] if re.fullmatch(r"-[a-zA-Z]{1,8}", arg))
    if "x" in letters or options.has("extract"):
        given = state.content(archive) if archive and archive != "-" else command.stdin
        _unpack(state, given, archive or "", options.first("C", "directory"))
        return state.derive(given)
    content = _packed(state, [*options.rest, *options.values("C")])
    if archive and archive != "-":
        state.remember(archive, content)
        return ""
    return content


def run_zip(state: State, command: Command) -> str:
    paths = [arg for arg in command.args if arg == "-" or not arg.startswith("-")]
    if command.name in {"7z", "7za", "rar"}:
        if paths[:1] and paths[0] in {"x", "e"}:
            return run_unzip(state, Command("unzip", command.args[1:], command.stdin))
        paths = paths[1:]
    if not paths:
        return ""
    content = _packed(state, paths[1:])
    if paths[0] != "-":
        state.remember(paths[0], content)
        return ""
    return content


def _packed(state: State, paths: list[str]) -> str:
    contents = [state.content(path) for path in paths[:30] if _is_file(state, path)]
    if not _PROJECT.isdisjoint(paths):
        contents.append(state.mark(Origin(private=frozenset({SOURCE_CODE}))))
    return state.derive(*contents)


def run_unzip(state: State, command: Command) -> str:
    options = read_options(command.args, "dPxo" if command.name == "7z" else "dPx")
    archive = next(iter(options.rest), "")
    given = state.content(archive) if archive not in {"", "-"} else command.stdin
    _unpack(state, given, archive, options.first("d"))
    has_password = options.has("P") or any(
        arg.startswith("-p") and len(arg) > len("-px") for arg in command.args
    )
    if has_password and state.flow(given).hosts:
        state.emit_all(Act.UNLOCK, state.flow(given).hosts, archive)
    return state.derive(given)


def _unpack(state: State, given: str, archive: str, folder: str | None) -> None:
    hosts = state.flow(given).hosts
    if hosts and len(state.trees) < MAX_TREES:
        stem = _ENDINGS.sub("", archive.rpartition("/")[2])
        state.trees.append(FetchedFolder((folder or stem or ".").rstrip("/"), hosts, DOWNLOADED))
        state.inside = None


def run_cd(state: State, command: Command) -> str:
    """Enter a folder; if it was cloned or unpacked, its files are run from now on."""
    target = (command.args[0] if command.args else "~").rstrip("/")
    state.has_moved = True
    if target in {"..", "-", "~", ""}:
        state.inside = None
        return ""
    bare = re.sub(r"^(?:\./)+", "", target)
    for tree in reversed(state.trees):
        is_it = bare == tree.path or bare.startswith((tree.path + "/", tree.path + "-"))
        is_near = tree.detail == DOWNLOADED and not target.startswith(("/", "~"))
        if is_it or is_near or state.has_mark(bare) or bare.startswith(("$", "<")):
            state.inside = tree
            return ""
    state.inside = state.inside if not target.startswith(("/", "~", "..")) else None
    return ""


def run_compiler(state: State, command: Command) -> str:
    """A compiled file has the origin of its source."""
    options = read_options(command.args, "oxIlLD")
    sources = [state.content(path) for path in options.rest[:20] if _is_file(state, path)]
    made = state.derive(command.stdin, *sources)
    state.remember(options.first("o") or "a.out", made)
    return ""


def run_mktemp(state: State, _command: Command) -> str:
    """Print the path of a new file, so that its content is known later."""
    state.temporary += 1
    return f"/tmp/mktemp.{state.temporary}"  # noqa: S108 - a name in the analysis, no file


def run_git(state: State, command: Command) -> str:
    _run_git_settings(state, command.args)
    if "--global" in command.args and _NO_CHECK.search(" ".join(command.args)):
        state.emit(Act.DISARM, "certificate checks of git")
    args = [arg for arg in command.args if arg != "--global"]
    if args[:1] == ["submodule"] and "add" in args[:3]:
        args = ["clone", *args[args.index("add") + 1 :]]
    if "clone" in args[:4]:
        rest = read_options(
            args[args.index("clone") + 1 :],
            "bcoju",
            frozenset({"depth", "branch", "origin", "filter", "config", "jobs"}),
        ).rest
        if rest and len(state.trees) < MAX_TREES:
            host = host_of(state, rest[0])
            path = (
                rest[1]
                if len(rest) > 1
                else rest[0].rstrip("/").rpartition("/")[2].removesuffix(".git")
            )
            state.emit(Act.FETCH, path, host)
            _send_login(state, host, rest[0])
            note_place(state, path)
            state.trees.append(
                FetchedFolder(re.sub(r"^(?:\./)+", "", path).rstrip("/"), (host,), "clone and run")
            )
    elif args[:2] in (["remote", "add"], ["remote", "set-url"]):
        rest = [arg for arg in args[2:] if not arg.startswith("-")]
        if len(rest) > 1 and len(state.remotes) < MAX_TREES:
            state.remotes[rest[0]] = host_of(state, rest[1])
    elif args[:1] == ["add"]:
        contents = [state.content(path) for path in args[1:20] if _is_file(state, path)]
        state.remember(_STAGED, state.derive(*contents) if contents else "")
    elif args[:1] == ["push"]:
        _push(state, args[1:])
    elif "config" in args[:2] and any("hooksPath" in arg for arg in args):
        note_place(state, "core.hooksPath")
        state.load(args[-1])
    return state.derive(command.stdin)


def _send_login(state: State, host: Host, url: str) -> None:
    """Record that the URL of a repository contains a secret, and is not that of a code host."""
    if host.name and classify_host(host.name) not in VOUCHED_FOR:
        send(state, [host], "http", url, is_asked=False)


#: A setting that replaces the addresses of repositories, such as those of GitHub.
_INSTEAD = re.compile(r"url\.(\S{4,300}?)\.(?:push)?insteadof$", re.IGNORECASE)


def _run_git_settings(state: State, args: list[str]) -> None:
    """Analyse the values of settings that git runs as commands."""
    for name, after in pairwise([*args, ""]):
        key, equals, value = name.partition("=")
        command = value if equals else after
        if _GIT_COMMAND.fullmatch(key) and (command.startswith("!") or "alias" not in key):
            execute(state, command.removeprefix("!"), "")
        replaced = _INSTEAD.search(key)
        if replaced and (host := host_of(state, replaced[1])).name:
            state.emit(Act.INSTALL, "index", host)  # what is cloned comes from there


def _push(state: State, args: list[str]) -> None:
    """Record that a repository is pushed to a host that is not a known code host."""
    target = next((arg for arg in args if not arg.startswith("-")), "")
    is_url = "://" in target or "@" in target
    host = host_of(state, target) if is_url else state.remotes.get(target)
    if host is None or host.name is None or classify_host(host.name) not in _DOUBTFUL:
        return
    staged = state.recall(_STAGED) or ""
    send(state, [host], "git", staged)
    if _EVERYTHING & set(args):
        state.emit(Act.READ_SECRET, SOURCE_CODE, host)


def run_security(state: State, command: Command) -> str:
    """The keychain of macOS."""
    secret = secret_in(" ".join(["security", *command.args]))
    if secret is None:
        return state.mark(Origin())
    state.emit(Act.READ_SECRET, str(secret))
    return state.mark(
        Origin(secrets=frozenset({str(secret)}), is_picked="dump-keychain" not in command.args)
    )


FILES = {
    "tee": run_tee, "cp": run_cp, "mv": run_cp, "ln": run_cp, "install": run_cp, "tar": run_tar,
    "zip": run_zip, "7z": run_zip,
    "7za": run_zip, "rar": run_zip, "unzip": run_unzip, "unrar": run_unzip, "ditto": run_cp,
    **dict.fromkeys(_COMPILERS, run_compiler), "mktemp": run_mktemp,
    "cd": run_cd, "pushd": run_cd, "git": run_git,
    "security": run_security, **dict.fromkeys(("nano", "vim", "vi", "ed", "ex"), run_in_place),
    **dict.fromkeys(READERS | PICKERS, filter_text),
}  # fmt: skip

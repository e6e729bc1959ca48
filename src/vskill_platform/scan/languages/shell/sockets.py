"""Commands that use the network without HTTP: nc, socat, scp, dig, mail, buckets."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import HostClass
from vskill_platform.scan.languages.shell.options import read_options
from vskill_platform.scan.languages.shell.sending import host_of, send
from vskill_platform.scan.languages.shell.state import Command, Host, Origin, State

_SOCAT = re.compile(r"(?:tcp|udp|ssl|openssl)[46]?(?:-connect)?:([^:,]{1,253}):", re.IGNORECASE)
_SOCAT_FILE = re.compile(r"\b(?:file|open|gopen):([^\s,]{1,300})", re.IGNORECASE)
_SOCAT_LISTEN = re.compile(r"(?:tcp|udp|ssl|openssl)[46]?-listen", re.IGNORECASE)
_SOCAT_RUN = re.compile(r"\b(?:exec|system|shell):", re.IGNORECASE)
#: Whoever connects to an open port.
_ANYONE = Host(None, HostClass.ADDRESS)
#: "-e/-l/-p" names options, it runs nothing.
_OPTIONS = re.compile(r"(?:/-\w)+$")
_REMOTE = re.compile(r"(?:rsync://|(?:[\w.-]{1,64}@)?[\w.$<>{}-]{2,253}:)(?!\\)")
_BUCKET = re.compile(r"(?:s3|gs|az|r2|b2)://|[\w-]{2,40}:|:[a-z0-9]{2,20}[,:]")
_NAME = re.compile(r"(?:[\w-]{1,63}\.){1,10}[A-Za-z]{2,20}\.?")
_SERVERS = {
    "python -m http.server", "python -m SimpleHTTPServer", "python -m pyftpdlib", "http-server",
    "serve", "ngrok", "cloudflared",
    "localtunnel", "lt", "bore",
}  # fmt: skip


def run_nc(state: State, command: Command) -> str:
    options = read_options(command.args, "ecwpsXxiqTGm", frozenset({"exec", "sh-exec", "lua-exec"}))
    rest = options.rest
    host = host_of(state, rest[0]) if rest and not rest[0].isdecimal() else Host(None)
    is_listening = options.has("l", "listen")
    if is_listening:
        state.emit(Act.LISTEN, "nc")
    shell = options.first("e", "c", "exec", "sh-exec")
    if (shell and not _OPTIONS.match(shell)) or state.flow(command.stdin).is_shell:
        state.emit(Act.REVERSE_SHELL, "nc", _ANYONE if is_listening else host)
    elif command.stdin and not options.has("z") and not is_listening and len(rest) > 1:
        send(state, [host], "socket", command.stdin)
    if is_listening:
        return state.mark(Origin(hosts=(_ANYONE,)))
    return state.mark(Origin(hosts=(host,))) if rest else ""


def run_socat(state: State, command: Command) -> str:
    text = " ".join(command.args)
    found = _SOCAT.search(text)
    host = host_of(state, found[1]) if found else Host(None)
    if _SOCAT_LISTEN.search(text):
        state.emit(Act.LISTEN, "socat")
    if _SOCAT_RUN.search(text) and (found or _SOCAT_LISTEN.search(text)):
        state.emit(Act.REVERSE_SHELL, "socat", host)
    elif found and (command.stdin or _SOCAT_FILE.search(text)):
        contents = [state.content(path) for path in _SOCAT_FILE.findall(text)[:4]]
        send(state, [host], "socket", command.stdin, *contents)
    return state.mark(Origin(hosts=(host,) if found else ()))


def run_telnet(state: State, command: Command) -> str:
    """telnet, and ``openssl s_client``."""
    target = next((arg for arg in command.args if not arg.startswith("-") and "." in arg), "")
    host = host_of(state, target)
    if state.flow(command.stdin).is_shell:
        state.emit(Act.REVERSE_SHELL, command.name, host)
    elif state.flow(command.stdin).secrets:
        send(state, [host], "socket", command.stdin)
    return state.mark(Origin(hosts=(host,)))


def run_copy_over(state: State, command: Command) -> str:
    """scp, rsync and sftp: copying to a machine sends, copying from one fetches."""
    options = read_options(
        command.args, "cFiJloPSeTfB", frozenset({"rsh", "exclude", "include", "files-from", "port"})
    )
    *sources, target = options.rest or [""]
    remote = [source for source in sources if _REMOTE.match(source)]
    if target and _REMOTE.match(target):
        contents = [state.content(source) for source in sources]
        send(state, [host_of(state, target.removeprefix("rsync://"))], "ssh", *contents)
    elif remote:
        host = host_of(state, remote[0].removeprefix("rsync://"))
        state.emit(Act.FETCH, target, host)
        name = remote[0].rpartition("/")[2].rpartition(":")[2]
        answer = state.mark(Origin(hosts=(host,)))
        for path in (target, f"{target.rstrip('/')}/{name}", *([name] if target == "." else ())):
            state.remember(path, answer)
    elif command.name == "rsync" and sources:
        for source in sources:
            state.remember(
                f"{target.rstrip('/')}/{source.rpartition('/')[2]}", state.content(source)
            )
    return ""


def run_lookup(state: State, command: Command) -> str:
    """DNS lookups: data in a name is data that is sent."""
    for arg in command.args:
        flow = state.flow(arg)
        is_built = state.has_mark(arg) and "." in arg
        if is_built and (flow.secrets or not flow.hosts):
            send(state, [host_of(state, arg)], "dns", arg)
    names = [arg for arg in command.args if _NAME.fullmatch(arg)]
    return state.mark(Origin(hosts=tuple(host_of(state, name) for name in names[-1:])))


_ADDRESS = re.compile(
    r"[\w.+-]{1,60}@(?!example\.|your|test\.|localhost)[\w-]{1,60}(?:\.[\w-]{1,60})+"
)


def run_directory(state: State, command: Command) -> str:
    """``finger`` and ``whois``, which print a server's response."""
    options = read_options(command.args, "hp")
    asked = [*options.values("h"), *(arg.rpartition("@")[2] for arg in options.rest if "@" in arg)]
    return state.mark(Origin(hosts=tuple(host_of(state, name) for name in asked[:1])))


def run_mail(state: State, command: Command) -> str:
    options = read_options(command.args, "sacbrfSA", frozenset({"attach", "subject"}))
    people = [arg for arg in command.args if "@" in arg]
    if any(_ADDRESS.fullmatch(hidden) for hidden in options.values("b")):
        state.emit(Act.SEND_FIXED, "blind copy")
    contents = [state.content(path) for path in options.values("a", "A", "attach")]
    if people:
        send(state, [Host(people[-1].rpartition("@")[2].lower())], "mail", command.stdin, *contents)
    return ""


def run_bucket(state: State, command: Command) -> str:
    """aws, gsutil, az, rclone: copying to a bucket sends."""
    args = command.args
    verbs = {"cp", "sync", "mv", "copy", "rsync", "upload", "copyto", "put"}
    if "cat" in args[:2]:
        return state.mark(Origin(hosts=(Host(None),)))
    if not verbs & set(args):
        return state.derive(command.stdin)
    at = next(index for index, arg in enumerate(args) if arg in verbs)
    paths = [arg for arg in args[at + 1 :] if not arg.startswith("-") or arg == "-"]
    target = paths[1] if len(paths) > 1 else ""
    is_sent = _BUCKET.match(target) or "upload" in args
    if is_sent:
        content = command.stdin if paths[0] == "-" else state.content(paths[0])
        send(state, [Host(None)], "s3", content)
    elif target and _BUCKET.match(paths[0]):
        answer = state.mark(Origin(hosts=(Host(None),)))
        if target == "-":
            return answer
        for path in (target, f"{target.rstrip('/')}/{paths[0].rpartition('/')[2]}"):
            state.remember(path, answer)
    return state.mark(Origin())


def run_sharing(state: State, command: Command) -> str:
    """``croc send``, ``hf upload`` and similar give a file to others; only a secret counts."""
    if _SHARES.isdisjoint(command.args[:3]):
        return state.derive(command.stdin)
    paths = [arg for arg in command.args if not arg.startswith("-") and arg not in _SHARES]
    contents = [state.content(path) for path in paths[:20]]
    send(state, [Host(None)], "http", command.stdin, *contents, is_asked=False)
    return state.mark(Origin())


def run_cat_over(state: State, command: Command) -> str:
    """``ipfs cat`` and similar print content by its address; ``ipfs add`` publishes it."""
    if "add" in command.args[:2]:
        return run_sharing(state, command)
    is_read = {"cat", "get", "view"} & set(command.args[:2])
    return state.mark(Origin(hosts=(Host(None),) if is_read else ()))


def run_gh(state: State, command: Command) -> str:
    if command.args[:2] in (["gist", "create"], ["gist", "edit"]):
        paths = [arg for arg in command.args[2:] if not arg.startswith("-")]
        contents = [state.content(path) for path in paths]
        # It goes to the user's own account; only a secret does not belong in a gist.
        is_leak = bool(state.flow(command.stdin, *contents).secrets)
        host = "gist.github.com" if is_leak else "github.com"
        send(state, [Host(host)], "http", command.stdin, *contents)
    elif state.flow(*command.args).secrets:
        send(state, [Host("github.com")], "http", *command.args)
    if command.args[:2] == ["gist", "view"]:
        return state.mark(Origin(hosts=(Host("gist.github.com"),)))
    if command.args[:2] == ["repo", "clone"] and command.args[2:]:
        url = f"https://github.com/{command.args[2]}"
        return state.run_command(
            state, Command("git", ["clone", url, *command.args[3:]], path="git")
        )
    return state.mark(Origin())


def run_server(state: State, command: Command) -> str:
    text = " ".join(command.args)
    is_near = "127.0.0.1" in text or "localhost" in text.replace("http://localhost", "")
    if command.name in {"ngrok", "cloudflared", "localtunnel", "lt", "bore"}:
        is_near = (
            not re.search(r"\b(?:http|tcp|tunnel|--port|local)\b", text) or "--version" in text
        )
    if not is_near:
        state.emit(Act.LISTEN, command.name)
    return state.mark(Origin())


#: Words that make a program publish or send a file.
_SHARES = frozenset({"send", "upload", "up", "add", "put", "share", "upload-file", "files", "tx"})
TALKERS = {
    **dict.fromkeys(
        ("croc", "wormhole", "hf", "huggingface-cli", "ffsend", "gdrive", "megaput", "b2",
         "magic-wormhole", "onionshare", "dropbox_uploader.sh", "dbxcli"),
        run_sharing,
    ),
    "nc": run_nc, "socat": run_socat, "telnet": run_telnet, "scp": run_copy_over,
    "rsync": run_copy_over, "sftp": run_copy_over,
    **dict.fromkeys(("dig", "nslookup", "host", "drill", "ping", "getent"), run_lookup),
    "mail": run_mail, "swaks": run_mail, "finger": run_directory, "whois": run_directory,
    "ipfs": run_cat_over,
    **dict.fromkeys(("aws", "gsutil", "rclone", "az", "s3cmd", "mc"), run_bucket), "gh": run_gh,
    **dict.fromkeys(_SERVERS, run_server),
}  # fmt: skip

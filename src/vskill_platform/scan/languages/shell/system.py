"""Commands that change the system: protection, privileges, services, persistence."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import hosts_in
from vskill_platform.scan.facts.sensitive_paths import Sensitive, sensitive_place_in
from vskill_platform.scan.languages.shell.names import GUARDS, SHELLS, program_name
from vskill_platform.scan.languages.shell.options import read_options
from vskill_platform.scan.languages.shell.programs import read_program
from vskill_platform.scan.languages.shell.run import execute, run_file, run_tree
from vskill_platform.scan.languages.shell.sending import host_of
from vskill_platform.scan.languages.shell.state import Command, Host, Origin, State
from vskill_platform.scan.languages.shell.tool_servers import add_server
from vskill_platform.scan.languages.shell.writing import (
    note_place,
    note_standing_requests,
    read_later,
)

#: Only the table "filter" of iptables protects; the others translate and mark addresses. The
#: comment of a rule may also name one, so the table is the first argument, and named once.
_OTHER_TABLE = (
    r"(?:(?:-F|-X|--flush)(?: [A-Z]\w*)? )?(?:-t ?|--table[ =])(?:nat|mangle|raw)(?: |$)"
    r"(?!.*(?:-t|--table))"
)
#: Commands that disable protection: program, pattern of its arguments, what is disabled.
_DISARMING: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    name: tuple((re.compile(pattern), detail) for pattern, detail in rules)
    for name, rules in {
        "xattr": [(r"(?:^|\s)-[a-z]*(?:c[a-z]*(?:\s|$)|d[a-z]*\s.*quarantine)", "quarantine")],
        "spctl": [(r"disable", "gatekeeper"), (r"--add", "gatekeeper")],
        "csrutil": [(r"disable|authenticated-root", "system integrity protection")],
        "setenforce": [(r"\b0\b|[Pp]ermissive", "selinux")],
        "ufw": [(r"disable|reset", "firewall")],
        "iptables": [
            (rf"^(?!{_OTHER_TABLE}).*(?:-F\b|--flush|-P \w+ ACCEPT|-X\b)", "firewall"),
            (r"--dport 443\b.{0,80}-j (?:REDIRECT|DNAT)\b", "encrypted traffic is intercepted"),
        ],
        "ip6tables": [(r"-F\b|--flush", "firewall")],
        "netsh": [(r"firewall\b.{0,80}\b(?:off|disable)", "firewall")],
        "nft": [(r"flush ruleset", "firewall")],
        "pfctl": [(r"-d\b", "firewall")],
        "codesign": [(r"--remove-signature", "signature")],
        "history": [(r"-\w*[cw]\b", "shell history")],
        "auditctl": [(r"-e ?0|-D\b", "audit")],
        "tccutil": [(r"reset", "privacy database")],
        "aa-teardown": [(r"", "apparmor")],
        "aa-disable": [(r"", "apparmor")],
        "defaults": [
            (
                r"LSQuarantine.{0,20}(?:NO|false)|com\.apple\.LaunchServices LSQuarantine",
                "quarantine",
            )
        ],
        "sysctl": [(r"randomize_va_space=0|kernel\.yama\.ptrace_scope=0", "kernel hardening")],
    }.items()
}
#: An argument of the script: whoever calls it names the service. Writing its unit is a fact itself.
_OF_CALLER = re.compile(r"\$\{?[1-9@*]")
_CHMOD_SET = re.compile(r"^(?:[2467]\d{3}|[ug]*\+[rwx]*s)")
_CHMOD_OPEN = re.compile(r"^0?777$|^a\+rwx$|^o\+w$")
#: Modes that let no one read or write.
_CHMOD_NONE = re.compile(r"^0{1,4}$|^[augo]*-\w*[rwx]")
_ALL = re.compile(r"(?:/|~|\$HOME|\$\{HOME\}|/home|/Users|/etc|/usr|/var)/?\*?$")
#: Users who can write to these files can become root.
_CHMOD_ACCOUNTS = re.compile(r"^0?[0-7]{2}[2367]$|^[augo]*[oa]\+\w*w|^\+\w*w")
_ACCOUNTS_FILE = re.compile(r"/etc/(?:shadow|passwd|sudoers|gshadow)\b")
#: A target of chmod with more than one file.
_FOLDER = re.compile(r"\.{1,2}/?|~|\*|\$\{?\w+\}?/?|(?:[~/.]|\$\{?HOME\}?)\S*/\*?|/")
#: Arguments of pkill and kill that stand for every process of the user.
_KILL_ALL = (
    re.compile(r"-(?:9|KILL|SIGKILL)\b.*(?:-u|--euid) ?(?!\w+ \w)\S"),
    re.compile(r"(?:^|\s)-(?:9|15|KILL|TERM|SIGKILL|s \w+) (?:-- )?-1(?:\s|$)"),
)
_TIME = re.compile(r"now\b|noon|midnight|teatime|tomorrow|\d{1,2}(?::\d\d|[ap]m)|-[tfq] ?\S|\+")
_URL = re.compile(r"https?://[^\s\"']{3,500}")
_WINDOWS_RUNNERS = ("msiexec", "mshta", "rundll32", "regsvr32", "wscript", "cscript")
_OPENED = re.compile(r"\.(?:app|dmg|pkg|command|terminal|scpt|workflow|jar|exe)$|^-a$")


def run_disarming(state: State, command: Command) -> str:
    text = " ".join(command.args)
    for pattern, detail in _DISARMING[command.name]:
        if pattern.search(text):
            state.emit(Act.DISARM, detail)
    return state.mark(Origin()) if command.name != "xattr" else ""


def run_unset(state: State, command: Command) -> str:
    for name in command.args:
        state.variables.pop(name, None)
        if name.startswith("HIST"):
            state.emit(Act.DISARM, "shell history")
    return ""


def run_kill(state: State, command: Command) -> str:
    text = " ".join(command.args)
    if _KILL_ALL[command.name == "kill"].search(text) and command.name in {"kill", "pkill"}:
        state.emit(Act.OVERLOAD, "all processes")
    found = GUARDS.search(text)
    if found:
        state.emit(Act.DISARM, found[0].lower())
    return ""


#: Services of well-known packages; enabling one runs no code of the skill.
_KNOWN_SERVICES = frozenset(
    {
        "apache2", "auditd", "chronyd", "containerd", "docker", "fail2ban", "firewalld", "httpd",
        "kubelet", "mariadb", "mongod", "mysql", "mysqld", "nginx", "podman", "postgresql",
        "rabbitmq-server", "redis", "redis-server", "rsyslog", "ufw", "unattended-upgrades",
    }
)  # fmt: skip


def _are_known(units: list[str]) -> bool:
    names = {unit.removesuffix(".service").removesuffix(".socket") for unit in units}
    others = names - _KNOWN_SERVICES
    return bool(names) and all(map(_OF_CALLER.match, others))


def run_service(state: State, command: Command) -> str:
    """Services: enabling one is persistence, stopping one may disable protection."""
    args = [arg for arg in command.args if not arg.startswith("-")]
    if {"stop", "disable", "mask", "kill"} & set(args):
        return run_kill(state, command)
    if args[:1] and args[0] in {
        "enable",
        "link",
        "defaults",
        "on",
        "add",
        "load",
        "bootstrap",
        "submit",
        "enable-linger",
        "start",
    }:
        is_start = args[0] == "start" and command.name != "launchctl"
        if not is_start and not _are_known(args[1:]):
            state.emit(Act.WRITE, str(Sensitive.AUTOSTART))
    return state.mark(Origin())


def run_launchctl(state: State, command: Command) -> str:
    if {"unload", "bootout", "remove"} & set(command.args):
        return run_kill(state, command)
    return run_service(state, command)


def run_crontab(state: State, command: Command) -> str:
    if "-l" in command.args:
        return state.mark(Origin())
    options = read_options(command.args, "u")
    content = command.stdin
    if options.rest and options.rest[0] != "-":
        content = state.recall(options.rest[0]) or ""
    hosts = state.flow(content).hosts
    if options.rest or options.has("e", "r") or content:
        state.emit(Act.WRITE, str(Sensitive.AUTOSTART), hosts[0] if hosts else None)
    if content:
        known = len(state.facts)
        read_later(state, content)
        note_standing_requests(state, known)
    return ""


def run_at(state: State, command: Command) -> str:
    if command.stdin and _TIME.match(" ".join(command.args)):
        state.emit(Act.WRITE, str(Sensitive.AUTOSTART))
        execute(state, command.stdin, "at")
    return ""


def run_chmod(state: State, command: Command) -> str:
    options = read_options(command.args)
    mode = next(iter(options.rest), "")
    targets = options.rest[1:]
    is_recursive = options.has("R", "recursive")
    if _CHMOD_OPEN.match(mode) and any(is_recursive or _FOLDER.fullmatch(t) for t in targets):
        state.emit(Act.OPEN_ACCESS, f"chmod {mode}")
    if is_recursive and _CHMOD_NONE.match(mode) and any(map(_ALL.match, targets)):
        state.emit(Act.OVERLOAD, "takes away access to everything")
    if _CHMOD_ACCOUNTS.match(mode) and any(map(_ACCOUNTS_FILE.match, targets)):
        state.emit(Act.ROOT, f"chmod {mode}")
    if (_CHMOD_SET.match(mode) and targets and mode[:1] != "7") or (
        _CHMOD_OPEN.match(mode) and any(sensitive_place_in(t) or t == "/" for t in targets)
    ):
        state.emit(Act.ELEVATE, f"chmod {mode}")
        if any(program_name(target) in SHELLS for target in targets):
            state.emit(Act.ROOT, f"chmod {mode}")
    return ""


def run_account(state: State, command: Command) -> str:
    """usermod, useradd, visudo, setcap, dseditgroup."""
    text = " ".join(command.args)
    if command.name in {"visudo", "setcap"} or re.search(
        r"\b(?:sudo|wheel|admin|root)\b|-o -u 0|-u ?0\b", text
    ):
        state.emit(Act.ELEVATE, command.name)
        if command.name in {"useradd", "adduser", "usermod"}:
            state.emit(Act.ROOT, command.name)
    return ""


def run_open(state: State, command: Command) -> str:
    paths = [arg for arg in command.args if not arg.startswith("-")]
    for path in paths:
        if state.recall(path) is not None or state.trees:
            run_file(state, path, "open")
    if any(_OPENED.search(arg) for arg in command.args):
        state.emit(Act.RUN, command.name)
    return ""


def run_installer(state: State, command: Command) -> str:
    """Programs that run the content of a file: installer, dpkg, msiexec, hdiutil, java."""
    known = [arg for arg in command.args if state.recall(arg) is not None]
    for path in known:
        run_file(state, path, command.name)
    if command.name in {"installer", *_WINDOWS_RUNNERS} and command.args:
        state.emit(Act.RUN, command.name)
        urls = [found[0] for arg in command.args if (found := _URL.search(arg))]
        state.emit_all(Act.RUN_REMOTE, [host_of(state, url) for url in urls[:4]], command.name)
    return state.derive(command.stdin)


def run_make(state: State, command: Command) -> str:
    """Build tools, which run the instructions in their folder."""
    folder = read_options(command.args, "Cfj", frozenset({"directory", "prefix"})).first(
        "C", "directory", "prefix"
    )
    wants = not {
        "--version",
        "-v",
        "--help",
        "init",
        "view",
        "info",
        "search",
        "publish",
        "login",
    } & set(command.args[:1])
    tree = state.inside
    if folder:
        tree = next((tree for tree in state.trees if folder.startswith(tree.path)), tree)
    if tree is not None and wants:
        run_tree(state, tree)
    return state.derive(command.stdin)


def run_noted(state: State, command: Command) -> str:
    """Programs that are recorded at every occurrence."""
    state.emit(Act.RUN, command.name)
    return state.mark(Origin())


def run_agent(state: State, command: Command) -> str:
    """An agent that is started without permission prompts."""
    flags = [
        arg
        for arg in command.args
        if re.search(r"skip-permissions|yolo|bypass|full-auto|trust-all", arg)
    ]
    if flags:
        state.emit(Act.RUN, f"{command.name} {flags[0]}")
    if "mcp" in command.args[:2]:
        add_server(state, command)
    if state.flow(command.stdin).hosts:  # it follows a page's instructions
        state.emit_all(Act.RUN_REMOTE, state.flow(command.stdin).hosts, command.name)
    return state.derive(command.stdin, *command.args)


def run_powershell(state: State, command: Command) -> str:
    state.emit(Act.RUN, "powershell")
    read_program(state, "powershell", " ".join(["powershell", *command.args]))
    if command.stdin:
        read_program(state, "powershell", command.stdin)
    hosts = hosts_in(state.plain(" ".join(command.args)))
    return state.mark(Origin(hosts=tuple(map(Host, hosts[:4]))))


def run_windows_fetcher(state: State, command: Command) -> str:
    """Windows tools that can also fetch."""
    url = next((arg for arg in command.args if "://" in arg), None)
    if url:
        path = command.args[-1] if command.args[-1] != url else url.rpartition("/")[2]
        host = host_of(state, url)
        state.emit(Act.FETCH, path, host)
        note_place(state, path)
        state.remember(path, state.mark(Origin(hosts=(host,))))
    return ""


_SERVICES = ("systemctl", "service", "update-rc.d", "chkconfig", "rc-update", "loginctl")
_ACCOUNTS = ("usermod", "useradd", "adduser", "visudo", "setcap", "dseditgroup", "gpasswd")
_INSTALLERS = (
    "installer", "dpkg", "rpm", "hdiutil", "java", "gdebi", *_WINDOWS_RUNNERS,
)  # fmt: skip
_BUILDERS = ("make", "gmake", "cmake", "ninja", "meson", "just", "task")
_NOTED = ("msfconsole", "msfvenom")
_AGENTS = ("claude", "codex", "gemini", "cursor-agent", "openclaw")
SYSTEM = {
    **dict.fromkeys(_DISARMING, run_disarming),
    **dict.fromkeys(("kill", "pkill", "killall"), run_kill),
    **dict.fromkeys(_SERVICES, run_service),
    **dict.fromkeys(_ACCOUNTS, run_account),
    **dict.fromkeys(_INSTALLERS, run_installer),
    **dict.fromkeys(_BUILDERS, run_make),
    **dict.fromkeys(_NOTED, run_noted),
    **dict.fromkeys(_AGENTS, run_agent),
    **dict.fromkeys(("open", "xdg-open", "start"), run_open),
    **dict.fromkeys(("at", "batch"), run_at),
    **dict.fromkeys(("certutil", "bitsadmin"), run_windows_fetcher),
    "unset": run_unset,
    "launchctl": run_launchctl,
    "crontab": run_crontab,
    "chmod": run_chmod,
    "powershell": run_powershell,
}

"""Writes to files: to sensitive paths, and of code that is run later."""

import re
from html import unescape
from itertools import islice

import re2

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, classify_host
from vskill_platform.scan.facts.sensitive_paths import (
    SecretKind,
    Sensitive,
    secret_in,
    sensitive_place_in,
)
from vskill_platform.scan.languages.shell.programs import read_program
from vskill_platform.scan.languages.shell.remote_sources import note_index
from vskill_platform.scan.languages.shell.state import (
    DOWNLOADED,
    MAX_PATH,
    MAX_VALUE,
    Host,
    State,
)

_DISK = re.compile(r"/dev/(?:sd[a-z]|nvme\d|r?disk\d|hd[a-z]|vd[a-z]|xvd[a-z]|mmcblk\d)")
_SCHEDULE = re.compile(r"(?m)^\s{0,8}(?:(?:[\d*/,-]{1,30}\s+){5}|@\w{4,10}\s+)(?:root\s+)?")
#: The command of a launchd job, whose words are separate in the file.
_ARGUMENTS = re.compile(
    r"<key>ProgramArguments</key>\s{0,99}<array>(.{1,4000}?)</array>", re.DOTALL
)
_WORD = re.compile(r"<string>([^<]{0,2000})</string>")
_SHELL_CALL = re.compile(r"^\S*\b(?:ba|z|da)?sh\s+-\w*c\s+")
#: The commands of a desktop entry or a systemd unit.
_STARTED = re.compile(
    r"(?m)^\s{0,8}Exec(?:Start(?:Pre|Post)?|Reload|Stop(?:Post)?)?=[-@:+!]{0,3}(.{1,2000})$"
)
#: What `ssh-copy-id` does: the user's own public key lets the user log in elsewhere.
_OWN_LOGIN = re2.compile(
    r"\s*cat\s+(?:~|\$HOME|\$\{HOME\})/\.ssh/id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?\.pub\s*\|"
    r"\s*ssh(?:\s+-[iplF]\s?[\w$./~-]{1,60}){0,4}\s+[\"']?[\w.@:${}<>-]{1,80}[\"']?\s+[\"']"
    r"(?:(?:mkdir|chmod|umask|touch)[\w ~/.$-]{1,60}(?:&&|;)\s*)*"
    r"cat\s*>>\s*(?:~/|\$HOME/)?\.ssh/authorized_keys\s*"
    r"(?:(?:&&|;)\s*chmod[\w ~/.$-]{1,60})*[\"']\s*"
)
#: This machine, where the user needs no key to log in.
_HERE = re2.compile(
    r"(?i)\bssh\s[^|]*(?:localhost|\b127\.|::1|\b0\.0\.0\.0|HOSTNAME|[\s@]0[\s\"'])"
)
#: A command of the agent; those that come with a skill are read as parts of it.
_AGENT_COMMAND = re.compile(r"\.claude[/\\]commands[/\\][\w./\\-]*\w$")
#: A key that is shortened in a manual opens nothing.
_NO_KEY = re2.compile(r"\s*ssh-[\w-]{1,20}\s+[A-Za-z0-9+/=]{0,60}(?:\.{3}|…)[\w@. -]{0,80}\s*")
_SUDOERS = re.compile(r"/etc/sudoers(?:\.d/|$)")
_ROOT_LOGIN = re.compile(r"(?m)^\s{0,8}PermitRootLogin\s{1,8}yes\b")
#: An address and its names in a hosts file; those of this machine do not matter.
_HOSTS_LINE = re.compile(
    r"(?m)^\s{0,8}(?!127\.|0\.0\.0\.0|10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.)"
    r"\d{1,3}(?:\.\d{1,3}){3}((?:[ \t]{1,8}[\w.-]{3,80}){1,20})"
)
#: Folders of the system's trusted certificates.
_AUTHORITIES = re.compile(
    r"/usr/(?:local/)?share/ca-certificates/|/etc/(?:pki/)?ca-(?:trust|certificates)|/etc/ssl/certs/"
)
_CODE_PLACES = frozenset({Sensitive.AUTOSTART, Sensitive.SHELL_PROFILE, Sensitive.GIT_HOOK})
_LOGIN_PLACES = frozenset({Sensitive.AUTOSTART, Sensitive.SHELL_PROFILE})
#: A program with a hidden name or in a temporary folder that keeps running in the background.
_HIDDEN_START = re.compile(
    r"(?m)(?:(?:~|\$\{?HOME\}?|/home/\w{1,40}|/Users/\w{1,40})/(?:[\w.-]{1,40}/){0,6}\.[\w-]{2,40}"
    r"|(?:/tmp|/var/tmp|/dev/shm)/[\w./-]{1,80})(?=[\s\"';&])[^\n]{0,80}&[\s\"']{0,3}$"
)
#: Folders in which the shell searches for programs.
_PROGRAM_FOLDER = re.compile(
    r"(?:/usr(?:/local)?|/opt/(?:homebrew|local)|/snap|~|\$\{?HOME\}?|~?/[\w./-]{0,80}/\.local)?/s?bin/[^/]+"
    r"|(?:~|\$\{?HOME\}?)/\.local/bin/[^/]+|.{0,200}/node_modules/\.bin/[^/]+"
)
#: Common programs that people start by name, which another file in a searched folder replaces.
_SYSTEM_PROGRAMS = frozenset(
    {
        "awk", "bash", "cat", "cc", "chmod", "chown", "clear", "cp", "crontab", "curl", "cut",
        "date", "df", "diff", "dig", "du", "echo", "env", "find", "gcc", "git", "gpg", "grep",
        "head", "id", "ifconfig", "ip", "java", "kill", "less", "ln", "login", "ls", "make", "man",
        "mkdir", "more", "mount", "mv", "nano", "node", "npm", "npx", "open", "openssl", "passwd",
        "perl", "php", "ping", "pip", "pip3", "ps", "pwd", "python", "python3", "rm", "rsync",
        "ruby", "scp", "sed", "sh", "sleep", "sort", "ssh", "ssh-add", "su", "sudo", "systemctl",
        "tail", "tar", "tee", "top", "touch", "unzip", "vi", "vim", "wget", "which", "whoami",
        "xargs", "xdg-open", "zip", "zsh",
    }
)  # fmt: skip
#: Files that define the sources of packages.
_PACKAGE_SOURCES = re.compile(
    r"/apt/sources\.list|/yum\.repos\.d/|/zypp/repos\.d/|/apk/repositories|/pacman\.d/"
    r"|(?:^|/)(?:pip\.conf|\.npmrc|\.yarnrc(?:\.yml)?|\.condarc|\.gemrc|\.pypirc|uv\.toml)$"
)
_LANGUAGES = {".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node"}


def note_write(state: State, path: str, content: str, *, appends: bool = False) -> None:
    """Record that *content* is written to *path*."""
    if not path or path.startswith("/dev/fd"):
        return
    if _DISK.match(path):
        state.emit(Act.DELETE, path)
        return
    place = note_place(state, path, content)
    _note_content(state, path, content)
    if place in _LOGIN_PLACES and _HIDDEN_START.search(content):
        state.emit(Act.HIDDEN_START, str(place))
    before = (state.recall(path) or "") + "\n" if appends else ""
    state.remember(path, (before + content)[:MAX_VALUE])
    if content.strip() and not state.is_mark(content):
        known = len(state.facts)
        _read_written(state, path, content, is_code_place=place in _CODE_PLACES)
        if place in _CODE_PLACES:
            note_standing_requests(state, known)


def _note_content(state: State, path: str, content: str) -> None:
    """Record lost protection and granted rights, by the content of the file."""
    if not content.strip() and secret_in(path) is SecretKind.HISTORY:
        state.emit(Act.DISARM, "shell history")
    if "NOPASSWD" in content:
        state.emit(Act.ELEVATE, "NOPASSWD")
        state.emit(Act.ROOT, "NOPASSWD")
    if _SUDOERS.search(path) and not content.strip():  # a file of the skill with any content
        state.emit(Act.ROOT, "a file of rules for sudo")
    if path.rstrip("/").endswith("etc/passwd") and ("::0:" in content or ":0:0:" in content):
        state.emit(Act.ROOT, "an account without a password")
    if path.endswith("/etc/hosts") and _replaces_known_host(content):
        state.emit(Act.DISARM, "the address of a known host is replaced")
    if _ROOT_LOGIN.search(content):
        state.emit(Act.DISARM, "root login enabled")


def note_standing_requests(state: State, known: int) -> None:
    """Record that stored code (the facts after *known*) sends requests repeatedly."""
    stored = list(islice(state.facts.values(), known, None))
    for fact in stored:
        is_request = fact.act in {Act.FETCH, Act.SEND} and fact.host is not None
        is_request = is_request and "://" in fact.text  # a report by email is not a request
        if is_request and fact.host_class not in VOUCHED_FOR:
            state.emit(Act.TELL_PERSIST, fact.act, Host(fact.host))


def note_place(state: State, path: str, content: str = "") -> Sensitive | None:
    """Record a write to a sensitive path, with the host from which the content came."""
    place = sensitive_place_in(path[:MAX_PATH])
    hosts = state.flow(content).hosts if content else ()
    is_harmless = place is Sensitive.SSH_ACCESS and bool(
        (_OWN_LOGIN.fullmatch(state.source) and not _HERE.search(state.source))
        or _NO_KEY.fullmatch(content)
    )
    if place is Sensitive.AGENT_CONFIG and not hosts:
        is_harmless = _AGENT_COMMAND.search(path[:MAX_PATH]) is not None
    if place is not None and not is_harmless:
        state.emit(Act.WRITE, str(place), hosts[0] if hosts else None)
    if path.lower().endswith("skill.md") and place is None:
        # What the agent is told is then no longer what was checked.
        doubtful = (host for host in hosts if classify_host(host.name or "") not in VOUCHED_FOR)
        if host := next(doubtful, None):
            state.emit(Act.WRITE, str(Sensitive.AGENT_CONFIG), host)
    if hosts and _AUTHORITIES.search(path[:MAX_PATH]):
        state.emit(Act.DISARM, "a downloaded certificate authority is trusted", hosts[0])
    if _PACKAGE_SOURCES.search(path[:MAX_PATH]):
        note_index(state, content)
    if hosts and _PROGRAM_FOLDER.fullmatch(path[:MAX_PATH]) and is_system_program(path):
        state.emit_all(Act.RUN_REMOTE, hosts, DOWNLOADED)
    return place


def _replaces_known_host(content: str) -> bool:
    names = (name for names in _HOSTS_LINE.findall(content) for name in names.split())
    return any(classify_host(name) in VOUCHED_FOR for name in names)


def is_system_program(path: str) -> bool:
    return path.rpartition("/")[2] in _SYSTEM_PROGRAMS


def _read_written(state: State, path: str, content: str, *, is_code_place: bool) -> None:
    for ending, language in _LANGUAGES.items():
        if path.endswith(ending):
            read_program(state, language, content)
    if path.endswith(".plist"):
        for job in _ARGUMENTS.findall(content):
            words = " ".join(unescape(word) for word in _WORD.findall(job))
            read_later(state, _SHELL_CALL.sub("", words))
    elif commands := _STARTED.findall(content):
        for command in commands:
            read_later(state, command)
    elif is_code_place or path.endswith((".sh", ".bash", ".zsh", ".command")):
        read_later(state, content)


def read_later(state: State, content: str) -> None:
    """Analyse code that is stored now and run later by something else."""
    keeps_line, state.keeps_line = state.keeps_line, True
    variables, state.variables = state.variables, dict(state.variables)
    try:
        state.run_code(state, _SCHEDULE.sub("", content), "")
    finally:
        state.keeps_line, state.variables = keeps_line, variables

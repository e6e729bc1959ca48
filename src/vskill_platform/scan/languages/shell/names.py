"""Names of programs, grouped by purpose."""

import re

SHELLS = frozenset(
    {"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "csh", "tcsh", "rbash", "mksh"}
)
#: Interpreters, with the options that pass a program.
INTERPRETERS = {
    "python": ("c",), "node": ("e", "p", "eval", "print"), "bun": ("e", "eval"), "deno": (),
    "perl": ("e", "E"),
    "ruby": ("e",), "php": ("r",), "lua": ("e",), "Rscript": ("e",), "tclsh": (),
    "osascript": ("e",), "ts-node": ("e",), "tsx": ("e",), "groovy": ("e",), "julia": ("e", "E"),
    "elixir": ("e", "eval"), "raku": ("e",), "scala": ("e",), "luajit": ("e",),
    "clojure": ("e", "eval"), "bb": ("e",), "guile": ("c",), "racket": ("e",),
}  # fmt: skip
#: Programs that print their input; those of the second group only a part of it.
READERS = frozenset(
    [
        "cat",
        "bat",
        "tac",
        "nl",
        "less",
        "more",
        "strings",
        "base64",
        "base32",
        "xxd",
        "od",
        "hexdump",
        "gzip",
        "bzip2",
        "xz",
        "zstd",
        "gpg",
        "openssl",
        "sqlite3",
        "plutil",
        "pv",
        "sort",
        "uniq",
        "iconv",
        "fold",
        "column",
        "envsubst",
        "defaults",
        "sponge",
        "dos2unix",
        "shuf",
        "paste",
        "rev",
        "tr",
    ]
)
PICKERS = frozenset(
    [
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "awk",
        "gawk",
        "mawk",
        "sed",
        "head",
        "tail",
        "cut",
        "jq",
        "yq",
        "xmllint",
        "look",
        "perl",
    ]
)
#: Programs that can run a command that is part of an argument, each in its own syntax.
TAKING_COMMANDS = frozenset(
    {
        "bat", "concurrently", "ed", "emacs", "entr", "ex", "flock", "fzf", "gdb", "gmake",
        "gnome-terminal", "hyperfine", "inotifywait", "less", "lldb", "make", "man", "mysql",
        "nodemon", "npm", "npx", "nvim", "pnpm", "psql", "rsync", "scp",
        "screen", "script", "sed", "sftp", "sqlite3", "systemd-run", "tar", "tcpdump", "tmux", "vi",
        "vim", "watch", "watchexec", "xterm", "yarn", "zip",
    }
)  # fmt: skip
#: Security programs; stopping them disables protection.
GUARDS = re.compile(
    r"auditd|falcon|falco|crowdstrike|clamav|clamd|freshclam|mdatp|defender|osquery"
    r"|littlesnitch|little snitch|lulu\b"
    r"|sophos|sentinel|apparmor|selinux|wazuh|ossec|fail2ban|firewalld|ufw\b|iptables|MsMpEng"
    r"|avast|kaspersky|bitdefender"
    r"|malwarebytes|XProtect|Gatekeeper|knockknock|blockblock|carbonblack|cbdaemon|rsyslog"
    r"|WinDefend|mpssvc",
    re.IGNORECASE,
)  # fmt: skip
VERSIONED = re.compile(r"(python|pip|ruby|lua|php|perl|node|nc|gcc)[\d.]*\d$")
ALIASES = {
    "pip3": "pip", "ncat": "nc", "netcat": "nc", "nc.traditional": "nc", "nc.openbsd": "nc",
    "gbase64": "base64",
    "gsed": "sed", "py": "python", "pypy3": "python", "ipython": "python", "nodejs": "node",
    "egrep": "grep", "zgrep": "grep",
    "apt": "apt", "microdnf": "dnf", "gtar": "tar", "bsdtar": "tar", "pwsh": "powershell",
    "https": "http", "bunx": "npx",
    "pnpx": "npx", "podman": "docker", "nerdctl": "docker", "axel": "aria2c", "sendmail": "mail",
    "mailx": "mail", "mutt": "mail",
}  # fmt: skip


def program_name(path: str) -> str:
    """Return the plain name of a program, without folder and version."""
    name = path.rpartition("/")[2] if "/" in path else path
    if "\\" in name:
        name = name.rpartition("\\")[2]
    name = name.removesuffix(".exe")
    if name[-1:].isdigit() and (versioned := VERSIONED.match(name)):
        name = versioned[1]
    return ALIASES.get(name, name)

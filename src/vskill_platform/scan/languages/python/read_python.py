"""Analyse Python code."""

import re

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.sensitive_paths import may_name_secrets
from vskill_platform.scan.languages.any_word import AnyWord
from vskill_platform.scan.languages.unparsed import Unparsed

#: Code without any of these words cannot do anything relevant.
_WORDS = AnyWord(
    "subprocess", "requests", "urllib", "httpx", "aiohttp", "http.client", "socket",
    "posix", "sys.modules", "__subclasses__", "__dict__", "__loader__", "pexpect",
    "cloudscraper", "gdown", "telnetlib", "dns.resolver", "dill", "joblib", "load_source",
    "FunctionType", "Interactive", "getoutput", "rookiepy", "win32",
    "environ", "getenv", "smtplib", "ftplib", "paramiko", "niquests", "curl_cffi", "__import__",
    "importlib", "getattr",
    "globals", "builtins", "marshal", "pickle", "runpy", "popen", "keyring", "cookie",
    "rmtree", "home()",
    "expanduser", "~/", ".env", ".ssh", ".aws", "/etc/", "allet", "CLAUDE", "AGENTS", "0.0.0.0",  # noqa: S104 - looked for
    "\\x", "\\u00", "winreg", "ctypes",
    "upload", ".post(", "sqlite3", "dotenv", "Launch", "cron", ".git/", ".claude",
    ".cursor", "\n!", "\n%", "MEMORY.md",
    "read_pickle", "xmlrpc", "__reduce", "dictConfig", "memfd_create", "distutils", "shell=True",
    "torch", "trust_remote", "wasm", "webbrowser", "fsspec", "smart_open", "load_model", "doctest",
    "curl ", "open_connection", "pycurl", "bash_command", "shell_command",
    "ProxyCommand", "get_ipython", ".system(", "__globals__",
    "SOUL.md", "wget", "/usr/", "/bin/", "Login Data", "history", "HTTPServer", "websocket",
    # Not in execute, evaluate, pipeline or empty, which are common.
    patterns=(
        "exec(?:[^u]|$)", "eval(?:[^u]|$)", "pip(?:[^e]|$)", r"\bpty", r"\bos\b",
        # A command in a string, whoever runs it.
        ("[\"'](?:sudo |nohup )?(?:rm|dd|tar|git|npm|docker|kubectl|systemctl|launchctl|claude"
        "|codex|bash|sh|crontab|find|while|for|nc|printf|echo|security|openssl) [^\"'\n]*[-/$|&>]"),
        "[\"'](?:ba|z|da)?sh[\"'],", "[\"']-l?c[\"'], ?[rf]?[\"']",
    ),
)  # fmt: skip
#: The interpreter's path, which proves nothing about the code.
_SHEBANG = re.compile(r"#![^\r\n\f]*")

_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
#: Python decodes these before it looks for comments and line ends.
_HIDING = frozenset(
    {"utf_7", "utf7", "u7", "unicode_escape", "raw_unicode_escape", "rot13", "rot_13", "hz",
     "punycode", "idna", "utf_16", "utf_32", "undefined", "mbcs"}
)  # fmt: skip


def read_python(code: str) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it cannot be parsed completely."""
    if hidden := _hiding_encoding(code):
        raise Unparsed("it uses an encoding that hides its content", [hidden], is_too_much=True)
    shebang = _SHEBANG.match(code)
    body = code[shebang.end() :] if shebang else code
    if not _WORDS.is_in(body) and not may_name_secrets(body):
        return []
    # Imported here, so that scans without such code need not load its tables.
    from vskill_platform.scan.languages.python.language import (  # noqa: PLC0415 - see above
        read_program,
    )

    return read_program(code)


def _hiding_encoding(code: str) -> Fact | None:
    """Find an encoding in which a comment may be code, or code may look harmless."""
    for number, line in enumerate(code.split("\n", 2)[:2], start=1):
        found = _ENCODING.match(line)
        if found and found[1].lower().replace("-", "_") in _HIDING:
            return Fact(
                act=Act.HIDE, line=number, text=shorten(line), detail="encoding of the file"
            )
    return None

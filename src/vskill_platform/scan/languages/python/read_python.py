"""What Python code does."""

from vskill_platform.scan.facts import Fact, storable
from vskill_platform.scan.languages.flow.expressions import EXPRESSIONS
from vskill_platform.scan.languages.flow.reading import Program, read_program
from vskill_platform.scan.languages.flow.state import Language
from vskill_platform.scan.languages.flow.statements import STATEMENTS
from vskill_platform.scan.languages.python.calls import (
    PYTHON_CALLS,
    PYTHON_CONSTANTS,
    PYTHON_METHODS,
)
from vskill_platform.scan.languages.python.repair import parse_python

#: Without any of these words, nothing that we look for can happen.
_WORDS = (
    "import os", "subprocess", "requests", "urllib", "httpx", "aiohttp", "http.client", "socket",
    "exec", "eval", " os",
    "environ", "getenv", "smtplib", "ftplib", "paramiko", "niquests", "curl_cffi", "__import__",
    "importlib", "getattr",
    "globals", "builtins", "marshal", "pickle", "runpy", "popen", "pty", "keyring", "cookie",
    "rmtree", "home()",
    "expanduser", "~/", ".env", ".ssh", ".aws", "/etc/", "allet", "CLAUDE", "AGENTS", "0.0.0.0",  # noqa: S104 - looked for
    "\\x", "\\u00", "winreg", "ctypes",
    "pip", "upload", ".post(", "sqlite3", "dotenv", "Launch", "cron", ".git/", ".claude",
    ".cursor", "\n!", "\n%", "MEMORY.md",
    "SOUL.md", "wget", "/usr/", "/bin/", "Login Data", "history", "HTTPServer", "websocket",
)  # fmt: skip


def read_python(code: str) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it, or part of it, cannot be understood."""
    if not any(word in code for word in _WORDS):
        return []
    # Half a character can come from an escape in a shell string; the parser refuses it.
    return read_program(Program(code=storable(code), parse=parse_python, language=_LANGUAGE))


_LANGUAGE = Language(
    expressions=EXPRESSIONS,
    statements=STATEMENTS,
    calls=PYTHON_CALLS,
    methods=PYTHON_METHODS,
    constants=PYTHON_CONSTANTS,
    read=read_python,
)

"""Recognise sensitive paths: secrets, start-up files, the agent's own files."""

import re
from enum import StrEnum
from functools import cache

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.pattern_set import Precheck


class SecretKind(StrEnum):
    SSH = "ssh keys"
    CLOUD = "cloud credentials"
    ENV_FILE = "an .env file"
    BROWSER = "browser data"
    WALLET = "a wallet"
    KEYCHAIN_ENTRY = "a named entry of the keychain"
    KEYCHAIN = "a password store"
    HISTORY = "shell history"
    TOKENS = "saved tokens"
    MESSAGES = "private messages"
    SKILL = "what a skill has saved"
    AGENT = "the agent's own secrets"
    SYSTEM = "system accounts"
    METADATA = "cloud instance metadata"
    MEMORY = "memory and identity files"


#: A response of an internal host: a secret if it is sent to a host that is not trusted.
INTERNAL_ANSWER = "an answer from the internal network"


class Sensitive(StrEnum):
    AUTOSTART = "runs at start or on a timer"
    SHELL_PROFILE = "runs in every shell"
    SSH_ACCESS = "lets somebody log in"
    GIT_HOOK = "runs at every commit"
    AGENT_CONFIG = "changes what the agent is told or allowed"
    SYSTEM = "belongs to the system"


_DATA = load_data("places.toml")
_SECRETS = tuple((SecretKind[name], "|".join(found)) for name, found in _DATA["secrets"].items())
_SENSITIVE = tuple((Sensitive[name], "|".join(found)) for name, found in _DATA["sensitive"].items())
#: A quick check of this many lines takes hardly longer than of a single line.
_LINES_AT_ONCE = 16
_PRECHECK = Precheck(pattern for _, pattern in _SECRETS)
#: Memory files are not secret in themselves, so a text may mention them.
_SPOKEN_OF = tuple(pattern for kind, pattern in _SECRETS if kind is not SecretKind.MEMORY)
_ANY_SECRET = "(?m)" + "|".join(f"(?:{pattern})" for pattern in _SPOKEN_OF)


def secret_in(text: str) -> SecretKind | None:
    """Return the kind of secret that a path or command names."""
    possible = (_SECRETS[place] for place in _PRECHECK.possible_in(text))
    return next((kind for kind, pattern in possible if _compiled(pattern).search(text)), None)


def secrets_in(text: str) -> list[int]:
    """Return the positions of paths of secrets in a longer text."""
    if not may_name_secrets(text):
        return []
    found, start = [], 0
    pattern = _compiled(_ANY_SECRET)
    lines = text.split("\n")
    # Most lines name no path, and the exact search is slow, so it is limited to the lines that may
    # name one.
    for first in range(0, len(lines), _LINES_AT_ONCE):
        some = lines[first : first + _LINES_AT_ONCE]
        may_match = may_name_secrets("\n".join(some))
        for line in some:
            if may_match and may_name_secrets(line):
                found += [start + at.start() for at in pattern.finditer(line)]
            start += len(line) + 1
    return found


def may_name_secrets(text: str) -> bool:
    """Return quickly whether the exact search could find anything."""
    possible = _PRECHECK.possible_in(text)
    return any(_SECRETS[place][0] is not SecretKind.MEMORY for place in possible)


def without_query(url: str) -> str:
    """Cut off the query of a URL: a path in it is a test input and not read on this machine."""
    return url.partition("?")[0]


def sensitive_place_in(text: str) -> Sensitive | None:
    """Return why writing to the path in *text* would matter."""
    return next((kind for kind, pattern in _SENSITIVE if _compiled(pattern).search(text)), None)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile on demand, because most paths never occur."""
    return re.compile(pattern)

"""Secrets that a program reads, and whether one of them is sent."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import ANONYMOUS, HostClass, classify_host
from vskill_platform.scan.facts.sensitive_paths import SecretKind, secret_in
from vskill_platform.scan.languages.flow.state import Call, Flow, Handler
from vskill_platform.scan.languages.flow.values import (
    HOLE,
    MAX_NAME,
    NO_TAINTS,
    UNKNOWN,
    Taint,
    Taints,
    TaintSource,
    Value,
    in_order,
    options,
    shown,
)

ALL_VARIABLES = "all variables"
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|PRIVATE|SIGNING|ENCRYPTION|SECRET|MASTER)?_?KEYS?(?:_|$|\d)|APIKEY|TOKEN|SECRET"
    r"|PASSW|PASSPHRASE|CREDENTIAL|MNEMONIC|SEED_PHRASE|PRIVATE|COOKIE|(?:^|_)(?:AUTH|PAT|PWD|DSN)(?:_|$)"
    r"|DATABASE_URL",
    re.IGNORECASE,
)  # fmt: skip
_NO_SECRET_NAME = re.compile(
    r"MAX_.*TOKEN|TOKENS?_(?:LIMIT|COUNT|BUDGET|ADDRESS)|(?<!DATABASE)_(?:URL|URI|ENDPOINT|PATH|FILE|DIR|HOST|PORT|NAME|TTL)\Z"
    r"|TOKENIZERS?_|PUBLIC_KEY",
    re.IGNORECASE,
)  # fmt: skip
#: Files from which a program takes only the entry intended for it.
_OWN = frozenset(
    {SecretKind.ENV_FILE, SecretKind.TOKENS, SecretKind.SKILL, SecretKind.AGENT, SecretKind.CLOUD}
)
_HOME = frozenset({"HOME", "USERPROFILE", "HOMEPATH"})
#: The owner of a key by the first word of the variable, and a word in the owner's hosts.
_VENDORS = {
    "OPENAI": "openai", "ANTHROPIC": "anthropic", "CLAUDE": "anthropic", "AWS": "aws",
    "AZURE": "azure", "GITHUB": "github",
    "GH": "github", "GITLAB": "gitlab", "GOOGLE": "google", "GEMINI": "google", "NPM": "npm",
    "PYPI": "pypi",
    "STRIPE": "stripe", "SLACK": "slack", "DISCORD": "discord", "TELEGRAM": "telegram",
    "HF": "huggingface",
    "HUGGINGFACE": "huggingface", "DIGITALOCEAN": "digitalocean", "CLOUDFLARE": "cloudflare",
    "SSH": "ssh",
    "VERCEL": "vercel", "SUPABASE": "supabase", "TWILIO": "twilio", "SENDGRID": "sendgrid",
    "DOCKER": "docker",
}  # fmt: skip
#: Hosts that only collect data and run no genuine service.
_COLLECTING = frozenset({HostClass.CALLBACK, HostClass.PASTE, HostClass.DROP})
#: Hosts that must not even get the agent's memory.
_STRANGERS = ANONYMOUS | {HostClass.FREE}
_MANY = 3
_ENVIRONMENT = Taint(TaintSource.ALL_ENV)


def is_secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name)) and not _NO_SECRET_NAME.search(name)


def read_variable(flow: Flow, name: Value, line: int) -> Value:
    """Return what is known about an environment variable."""
    if name.text is None:
        return Value(name="variable")
    taints = NO_TAINTS
    for each in options(name.text):
        if each in _HOME:
            return Value(text="~")
        if HOLE not in each and is_secret_name(each):
            flow.add(Act.READ_ENV, line, detail=each)
            taints |= {Taint(TaintSource.ENV, each)}
    return Value(taints=taints) if taints else UNKNOWN


def take_entry(flow: Flow, base: Value, key: str, line: int) -> Value | None:
    """Return one entry of the environment or of a secrets file, or None if it is neither."""
    if not base.taints:
        return None
    taints: set[Taint] = set()
    entry: Value | None = None
    for taint in in_order(base.taints):
        if taint.source is TaintSource.ALL_ENV:
            entry = read_variable(flow, Value(text=key), line) if key != HOLE else UNKNOWN
            taints |= entry.taints
        elif taint.source is TaintSource.SECRET and taint.detail in _OWN:
            taints.add(Taint(TaintSource.PART, taint.detail))
            entry = entry or UNKNOWN
        else:
            taints.add(taint)
    if entry is None:
        return None
    name = f"{base.name}.{key}"[:MAX_NAME] if base.name else ""
    return Value(text=entry.text, name=name, taints=frozenset(taints))


def as_whole_file(taints: Taints) -> Taints:
    """Treat entries collected under any name as the whole file."""
    return frozenset(
        Taint(TaintSource.SECRET, taint.detail) if taint.source is TaintSource.PART else taint
        for taint in taints
    )


def copy_variables(flow: Flow, line: int, taints: Taints) -> Taints:
    """Record a copy of the environment: a read, unless only a new process gets it."""
    if _ENVIRONMENT not in taints:
        return taints
    flow.copies.setdefault(line, False)
    flow.has_copied = True
    return (taints - {_ENVIRONMENT}) | {Taint(TaintSource.ALL_ENV, str(line))}


def read_path(flow: Flow, path: Value, line: int) -> Taints:
    """Record which secret is at *path*, and return the value that reading it yields."""
    found = flow.files.get(path_key(path), NO_TAINTS)
    kinds = map(secret_in, options(path.text)) if path.text else ()
    for kind in dict.fromkeys(kinds):
        if kind is not None:
            flow.add(Act.READ_SECRET, line, detail=kind)
            found |= {Taint(TaintSource.SECRET, kind)}
    return found


def path_key(path: Value) -> str:
    """Return the key under which a path is stored, which may be known only in part."""
    text = path.text or ""
    return shown(text) if text.strip(HOLE + "/.*") else path.name


def report_leak(flow: Flow, line: int, host: str | None, body: Taints, head: Taints) -> None:
    """Record a secret that is sent in *body*, or in *head*, where a client identifies itself."""
    found = _find_leak(host, body, head)
    if found:
        flow.add(Act.LEAK, line, host=host, detail=", ".join(sorted(found)))
    if any(taint.source is TaintSource.ALL_ENV for taint in body | head):
        flow.add(Act.READ_ALL_ENV, line)


def _find_leak(host: str | None, body: Taints, head: Taints) -> set[str]:
    kind = classify_host(host) if host else None
    if kind not in _STRANGERS:
        body = frozenset(taint for taint in body if taint.detail != SecretKind.MEMORY)
    hard = {
        _source_of(taint)
        for taint in body
        if taint.source in {TaintSource.SECRET, TaintSource.ALL_ENV}
    }
    hard |= {
        _source_of(taint)
        for taint in head
        if taint.source is TaintSource.ALL_ENV
        or (taint.source is TaintSource.SECRET and taint.detail not in _OWN)
    }
    if hard:
        return hard
    soft = {taint.detail for taint in body if taint.source in {TaintSource.ENV, TaintSource.PART}}
    shown_there = {taint.detail for taint in head if taint.source is TaintSource.ENV}
    if kind in ANONYMOUS and soft:
        return soft
    if kind in _COLLECTING and shown_there:
        return shown_there
    return soft if _is_for_another(soft, host, kind) else set()


def _source_of(taint: Taint) -> str:
    return ALL_VARIABLES if taint.source is TaintSource.ALL_ENV else taint.detail


def owner_of(name: str) -> str:
    """Return the owner of the key in a variable, as far as the name shows it."""
    return _VENDORS.get(_first_word(name), _first_word(name))


def _first_word(name: str) -> str:
    return name.partition("_")[0].upper()


def _is_for_another(names: set[str], host: str | None, kind: HostClass | None) -> bool:
    """Return whether keys are sent to a host to which they do not belong."""
    if kind is HostClass.LOCAL:
        return False
    owners = {_first_word(name) for name in names}
    vendors = {_VENDORS[owner] for owner in owners if owner in _VENDORS}
    if len(vendors) > 1 or (vendors and len(owners) >= _MANY):
        return True
    if host is None:
        return False
    return any(vendor not in host for vendor in vendors)


def secret_store(kind: SecretKind, source: TaintSource) -> Handler:
    """Return the handler of a library that returns secrets."""

    def handle(flow: Flow, call: Call) -> Value | None:
        flow.add(Act.READ_SECRET, call.line, detail=kind)
        return Value(taints=frozenset({Taint(source, kind)}))

    return handle

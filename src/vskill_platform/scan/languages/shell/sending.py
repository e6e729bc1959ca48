"""Destinations of data: hosts in arguments, and the secrets that are sent to them."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import (
    ANONYMOUS,
    VOUCHED_FOR,
    HostClass,
    classify_host,
    is_internal,
    is_official_installer,
)
from vskill_platform.scan.facts.sensitive_paths import INTERNAL_ANSWER, SecretKind, secret_in
from vskill_platform.scan.languages.shell.state import Host, State

_HOST = re.compile(
    r"(?:[A-Za-z][\w+.-]{0,20}:/{1,3})?(?:[^/@\s]{0,200}@)?(\[[0-9A-Fa-f:.]{2,45}\]"
    r"|[^/:?#\s\"']{1,253})"
)
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
_UNKNOWN = re.compile(r"[${<\[(*]|^\.\.\.|^_|^[A-Z][A-Z_]+$")
NOWHERE = Host(None)
#: Not ssh and the like: people use those to copy files to their own machines.
_PLAIN_CHANNELS = frozenset({"http", "socket", "dns"})


def host_of(state: State, address: str) -> Host:
    """Return the host of a URL, of ``user@host:path`` or of a bare name."""
    address = state.plain(address).strip("\"'")
    found = _HOST.match(address)
    name = (found[1] if found else "").lower()
    if state.has_mark(name):  # $(…).somewhere.tld: the literal part matters
        name = re.split(r"[^\x00-\x7f]", name)[-1].lstrip(".")
    if "$" in name and re.search(r"\}?\.([\w-]+\.[\w.-]+)$", name):
        name = name.rpartition("}")[2].lstrip(".") or name
    name = name.rstrip(".")
    if not name or not _NAME.fullmatch(name):
        is_hole = bool(found) and bool(_UNKNOWN.search(found[1] if found else ""))
        return Host(None, HostClass.PLACEHOLDER) if is_hole and "<" in address else NOWHERE
    return Host(name, HostClass.INSTALLER if is_official_installer(address) else None)


def is_address(text: str) -> bool:
    """Return whether an argument can be the URL of something to fetch."""
    return (
        "://" in text
        or text.startswith(("$", "<"))
        or bool(re.match(r"[\w-]+(?:\.[\w-]+)+(?:[/:?]|$)|localhost\b", text))
    )


def send(
    state: State, hosts: list[Host], channel: str, *values: str, is_asked: bool = True
) -> None:
    """Record that *values* go to *hosts*; without *is_asked*, only if they contain a secret."""
    targets = hosts or [NOWHERE]
    flow = state.flow(*values)
    if is_asked:
        state.emit_all(Act.SEND, targets, channel)
    for secret in sorted(flow.secrets):
        state.emit_all(
            Act.LEAK, [host for host in targets if not _comes_from(host, secret)], secret
        )
    for name in sorted(flow.names)[:8]:
        state.emit_all(Act.READ_ENV, targets, name)
    private = flow.private
    if any(host.name and is_internal(host.name) for host in flow.hosts):
        private |= {INTERNAL_ANSWER}
    if private and channel in _PLAIN_CHANNELS:
        _send_private(state, hosts, channel, private)


def _send_private(state: State, hosts: list[Host], channel: str, private: frozenset[str]) -> None:
    strangers = [one for one in hosts if one.name and classify_host(one.name) not in VOUCHED_FOR]
    if strangers:
        state.emit_all(Act.SEND, strangers, channel)
    for detail in sorted(private):
        state.emit_all(Act.READ_SECRET, strangers, detail)


def _comes_from(host: Host, secret: str) -> bool:
    """Return whether a secret is sent back to its source, as with instance metadata."""
    return secret == SecretKind.METADATA and secret_in(host.name or "") is SecretKind.METADATA


def is_anonymous(host: Host) -> bool:
    return host.name is not None and classify_host(host.name) in ANONYMOUS

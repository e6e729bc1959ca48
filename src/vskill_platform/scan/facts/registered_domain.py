"""The part of a host that somebody had to register, by the list of public suffixes."""

from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from vskill_platform.errors import ScanError

#: Below this line are names that companies lend to their customers; whoever owns them is one owner.
_END = "// ===BEGIN PRIVATE DOMAINS==="


@lru_cache(maxsize=4096)
def registered_domain(host: str) -> str:
    """Return the part that was registered, or the host itself if there is none."""
    rules, labels = _rules(), host.split(".")
    for start in range(len(labels)):  # the longest suffix decides
        suffix, parent = (_spelled_out(".".join(labels[at:])) for at in (start, start + 1))
        if f"!{suffix}" in rules:  # registered although the rule for its parent says otherwise
            return ".".join(labels[start:])
        if suffix in rules or f"*.{parent}" in rules:
            return ".".join(labels[start - 1 :]) if start and labels[start - 1] else host
    return host


def _spelled_out(name: str) -> str:
    """Return a name in its own letters: that is how the list has it."""
    try:
        return name.encode().decode("idna") if "xn--" in name else name
    except UnicodeError:
        return name


@cache
def _rules() -> frozenset[str]:
    # The list comes with tldextract and is read past it: importing that brings an HTTP client
    # along, which takes longer than a scan and has no business in one.
    package = find_spec("tldextract")
    if package is None or package.origin is None:
        raise ScanError("the list of public suffixes is missing: tldextract is not installed")
    path = Path(package.origin).with_name(".tld_set_snapshot")
    text = path.read_text(encoding="utf-8").partition(_END)[0]
    # Comments may stay: no host has two slashes in it.
    return frozenset(map(str.strip, text.split("\n"))) - {""}

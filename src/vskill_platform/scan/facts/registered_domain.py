"""Find the registered domain of a host, by the public suffix list."""

from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from vskill_platform.errors import ScanError

#: Below this line are names that companies lend to customers; each company is one owner.
_END = "// ===BEGIN PRIVATE DOMAINS==="


@lru_cache(maxsize=4096)
def registered_domain(host: str) -> str:
    """Return the registered domain, or the host itself if there is none."""
    rules, labels = _rules(), host.split(".")
    for start in range(len(labels)):  # the longest suffix is used
        suffix, parent = (_spelled_out(".".join(labels[at:])) for at in (start, start + 1))
        if f"!{suffix}" in rules:  # an exception to the rule for its parent
            return ".".join(labels[start:])
        if suffix in rules or f"*.{parent}" in rules:
            return ".".join(labels[start - 1 :]) if start and labels[start - 1] else host
    return host


def _spelled_out(name: str) -> str:
    """Decode an IDN to Unicode, the form in the list."""
    try:
        return name.encode().decode("idna") if "xn--" in name else name
    except UnicodeError:
        return name


@cache
def _rules() -> frozenset[str]:
    # The list comes with tldextract but is read directly, because importing that module loads an
    # HTTP client, which takes longer than a scan and does not belong in one.
    package = find_spec("tldextract")
    if package is None or package.origin is None:
        raise ScanError("the public suffix list is missing: tldextract is not installed")
    path = Path(package.origin).with_name(".tld_set_snapshot")
    text = path.read_text(encoding="utf-8").partition(_END)[0]
    # Comments need not be removed, because no host contains two slashes.
    return frozenset(map(str.strip, text.split("\n"))) - {""}

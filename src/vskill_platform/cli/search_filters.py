"""The filters of `search`, with the names that the API gives them."""

from collections.abc import Iterable, Mapping, Sequence

import click

from vskill_platform.model.skill import CAPABILITY_KINDS
from vskill_platform.model.trust import TrustTier

#: The text of an option, or the values of a repeatable option.
FilterValue = str | Sequence[str]


def check_search(words: Sequence[str], filters: Mapping[str, FilterValue]) -> dict[str, str]:
    """Return the filters that are set, in the form of the API; refuse a search without any."""
    texts = {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in filters.items()
    }
    found = {name: text for name, text in texts.items() if text.strip()}
    if not words and not found:
        raise click.UsageError("give some words to search for, or a filter such as --tag")
    for name in ("can", "cannot"):
        _check_known("capability", split_values(found.get(name, "")), CAPABILITY_KINDS)
    _check_known("tier", split_values(found.get("tier", "")), TrustTier)
    return found


def split_values(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _check_known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in sorted(set(names).difference(known)):
        raise click.UsageError(f"unknown {what} {name!r}; use some of {', '.join(known)}")

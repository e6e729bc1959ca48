"""The filters of `search`, with the names that the API gives them."""

from collections.abc import Mapping, Sequence

import click

#: The text of an option, or the values of one that can be repeated.
FilterValue = str | Sequence[str]


def check_search(words: Sequence[str], filters: Mapping[str, FilterValue]) -> dict[str, str]:
    """Return the filters that are set, as the API takes them; refuse a search for nothing."""
    texts = {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in filters.items()
    }
    found = {name: text for name, text in texts.items() if text.strip()}
    if not words and not found:
        raise click.UsageError("give some words to search for, or a filter such as --tag")
    return found

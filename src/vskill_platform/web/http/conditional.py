"""Compare the entity tags of If-None-Match with that of a response (RFC 9110, section 13.1.2)."""

import re

#: A tag contains no quotes, but may contain commas.
_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def is_known(if_none_match: str, tag: str) -> bool:
    """Return whether the client has the content with this tag.

    Whether a tag is weak makes no difference: caches and proxies weaken tags.
    """
    if if_none_match.strip() == "*":
        return True
    return tag.removeprefix("W/").strip('"') in _TAG.findall(if_none_match)

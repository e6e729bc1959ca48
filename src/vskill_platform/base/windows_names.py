"""Names of files that Windows reads as something else: a device, a stream, another name."""

import re

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
#: It drops dots and spaces at the end; the other characters are not allowed, or name a stream.
_ALTERED = re.compile(r"[. ]$|[:<>\"|?*\x00-\x1f\\]|^ ")


def is_valid_on_windows(name: str) -> bool:
    """Return whether Windows can have a file or folder of exactly this name."""
    return not _DEVICE.fullmatch(name) and not _ALTERED.search(name)

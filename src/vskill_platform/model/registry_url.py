"""The URL of this registry for browsers, from the settings."""

from vskill_platform.settings import Settings


def base_url(settings: Settings) -> str:
    """Return the registry's URL for browsers, without a trailing slash."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)  # noqa: S104 - not listened on
    is_bare = ":" in host and not host.startswith("[")
    return f"http://{f'[{host}]' if is_bare else host}:{settings.port}"

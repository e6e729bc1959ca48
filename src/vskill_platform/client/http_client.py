"""HTTP clients with the certificates and the proxy of the user's environment."""

from urllib.parse import urlsplit

import httpx2

from vskill_platform.client.addresses import is_loopback
from vskill_platform.client.head_limit import limit_heads
from vskill_platform.errors import ConfigError


def open_client(url: str, timeout: httpx2.Timeout | float) -> httpx2.Client:
    """Return a client for all URLs of the same kind as *url*; it follows no redirects."""
    parts = urlsplit(url)
    # A proxy cannot reach this machine's own addresses, and must not see what is sent to them.
    is_near = is_loopback(parts.hostname or "")
    try:
        verify = httpx2.create_ssl_context() if parts.scheme == "https" else False
    except OSError as error:
        raise ConfigError(
            f"the certificates of SSL_CERT_FILE or SSL_CERT_DIR cannot be loaded: {error.strerror}"
        ) from error
    try:
        return limit_heads(httpx2.Client(timeout=timeout, verify=verify, trust_env=not is_near))
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        # The error may contain the password of the proxy.
        raise ConfigError(
            "the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used: give the URL of an "
            "HTTP proxy, such as http://proxy.example:3128, or name the host in NO_PROXY"
        ) from error

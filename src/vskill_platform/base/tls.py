"""The certificate authorities that this program trusts in all of its requests to other servers."""

import os
import ssl
from functools import cache

import httpx2

from vskill_platform.errors import ConfigError

#: The variable that OpenSSL, curl and Python use for it, too.
VARIABLE = "SSL_CERT_FILE"


@cache
def tls_context() -> ssl.SSLContext:
    """Trust the system's authorities, or instead those in the file that SSL_CERT_FILE names.

    Loaded once, because that takes longer than a short request.
    """
    try:
        return httpx2.create_ssl_context()
    except OSError as error:  # an SSLError is one
        raise ConfigError(
            f"{VARIABLE}: {certificate_file()} cannot be read as a file of certificates: {error}"
        ) from error


def certificate_file() -> str:
    """Return the file of SSL_CERT_FILE, for programs that do not read it; empty without one."""
    return os.environ.get(VARIABLE, "")


def describe_failure(error: BaseException) -> str:
    """Return why a request failed: that the certificate is not trusted, or the kind of the error.

    The texts of other errors may contain addresses of the internal network.
    """
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}; see {VARIABLE}"
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__

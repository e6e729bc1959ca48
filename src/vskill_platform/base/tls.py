"""The certificate authorities that this program trusts when it connects to other servers."""

import os
import ssl
from functools import cache

import httpx2

from vskill_platform.errors import ConfigError

#: The variable that OpenSSL, curl and Python also use.
VARIABLE = "SSL_CERT_FILE"


@cache
def tls_context() -> ssl.SSLContext:
    """Trust the authorities in the file that SSL_CERT_FILE names, or else those of the system.

    Loaded once, because that takes longer than a short request.
    """
    try:
        return httpx2.create_ssl_context()
    except OSError as error:  # an SSLError is one
        raise ConfigError(
            f"{VARIABLE}: {certificate_file()} cannot be read as a file of certificates: {error}"
        ) from error


def certificate_file() -> str:
    """Return the value of SSL_CERT_FILE, for programs that do not read it themselves."""
    return os.environ.get(VARIABLE, "")


def describe_failure(error: BaseException) -> str:
    """Return why a request failed: an untrusted certificate, or the kind of error.

    The texts of other errors may contain addresses of the internal network.
    """
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}; see {VARIABLE}"
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__

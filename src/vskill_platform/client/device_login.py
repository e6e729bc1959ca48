"""Sign in with a code that the user approves in a browser (RFC 8628)."""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from vskill_platform.client.addresses import is_loopback, origin_of
from vskill_platform.client.registry import Registry
from vskill_platform.client.responses import UNEXPECTED_RESPONSE
from vskill_platform.client.shapes import DeviceToken
from vskill_platform.errors import NotSignedIn, RegistryError, RegistryUnavailable

#: The scopes that publishing needs; others are requested only if the user names them.
DEFAULT_SCOPES = ("read", "submit", "manage")
_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_NOT_FOUND = 404
#: Limits on the times that the registry requests, in seconds.
_MAX_PAUSE, _MAX_LIFETIME = 60.0, 3600.0
_REFUSED = {
    "access_denied": "the request was denied in the browser",
    "expired_token": "the code has expired; start again",
}


class DeviceCode(msgspec.Struct, frozen=True, kw_only=True):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float
    interval: float = 5


def request_code(registry: Registry, *, label: str, scopes: tuple[str, ...]) -> DeviceCode:
    body = {"scope": " ".join(scopes), "label": label, "client_id": "vskill-platform"}
    try:
        code: DeviceCode = registry.post_json("/api/cli/device/code", body, DeviceCode)
    except RegistryError as error:
        if error.code == UNEXPECTED_RESPONSE:
            raise RegistryError(f"{registry.url} gave no usable code: {error}") from error
        if error.status != _NOT_FOUND:
            raise
        raise RegistryError(
            f"{registry.url} has no sign-in with a code; create a token there and pass it with "
            "--token",
            status=error.status,
        ) from error
    for page in (code.verification_uri, code.verification_uri_complete or code.verification_uri):
        _check_page(registry, page)
    return msgspec.structs.replace(
        code, expires_in=_within(code.expires_in, _MAX_LIFETIME), interval=_pause(code.interval)
    )


def _check_page(registry: Registry, page: str) -> None:
    """Refuse a page of another registry, whose code this may be.

    If the user approved it there, this registry would get the token.
    """
    try:
        own, given = urlsplit(registry.url), urlsplit(page)
    except ValueError as error:
        raise RegistryError(f"{registry.url} gave no usable code: {error}") from error
    if origin_of(page) == origin_of(registry.url):
        return
    if is_loopback(own.hostname or "") and is_loopback(given.hostname or ""):
        return
    raise RegistryError(
        f"{registry.url} sends you to {origin_of(page)} to approve the code. If that is the "
        f"registry that you mean, use: vskill-platform login {origin_of(page)}"
    )


def _pause(seconds: float) -> float:
    return _within(seconds, _MAX_PAUSE)


def _within(seconds: float, most: float) -> float:
    """Return *seconds*, but at least 1 and at most *most*."""
    return max(1.0, min(seconds, most))


def wait_for_token(
    registry: Registry,
    code: DeviceCode,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Ask for the token until the user has decided or the code has expired."""
    end, interval = clock() + code.expires_in, code.interval
    body = {"grant_type": _GRANT, "device_code": code.device_code, "client_id": "vskill-platform"}
    while clock() < end:
        sleep(interval)
        try:
            response: DeviceToken = registry.post_json("/api/cli/device/token", body, DeviceToken)
        except RegistryUnavailable:
            continue  # a short outage: the code stays valid
        except RegistryError as error:
            error_code = str(error.problem.get("error", ""))
            if error_code == "authorization_pending":
                continue
            if error_code == "slow_down":
                asked = error.problem.get("interval")
                interval = _pause(asked if isinstance(asked, int | float) else interval + 5)
                continue
            if error.code == UNEXPECTED_RESPONSE:
                raise RegistryError(f"{registry.url} gave no usable token: {error}") from error
            if error_code in _REFUSED:
                raise NotSignedIn(_REFUSED[error_code]) from error
            raise
        if not response["access_token"]:
            raise RegistryError(f"{registry.url} gave no usable token")
        return response["access_token"]
    raise NotSignedIn(_REFUSED["expired_token"])

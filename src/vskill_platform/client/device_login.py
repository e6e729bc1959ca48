"""Sign in with a code that the user approves in a browser (RFC 8628)."""

import time
from collections.abc import Callable
from typing import Any

import msgspec

from vskill_platform.client.registry import Registry
from vskill_platform.errors import NotSignedIn, RegistryError, RegistryUnavailable

#: What publishing needs; more is asked for only if the user wants it.
DEFAULT_SCOPES = ("read", "submit", "manage")
_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_NOT_FOUND = 404
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
        answer = registry.post_json("/api/cli/device/code", body)
        return msgspec.convert(answer, DeviceCode)
    except msgspec.ValidationError as error:
        raise RegistryError(f"{registry.url} gave no usable code: {error}") from error
    except RegistryError as error:
        if error.status != _NOT_FOUND:
            raise
        raise RegistryError(
            f"{registry.url} has no sign-in with a code; create a token there and pass it with "
            "--token",
            status=error.status,
        ) from error


def wait_for_token(
    registry: Registry,
    code: DeviceCode,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Ask for the token until the user has decided, or the code has expired."""
    end, interval = clock() + code.expires_in, code.interval
    body = {"grant_type": _GRANT, "device_code": code.device_code, "client_id": "vskill-platform"}
    while clock() < end:
        sleep(interval)
        try:
            answer: Any = registry.post_json("/api/cli/device/token", body)
        except RegistryUnavailable:
            continue  # a short outage: the code stays valid
        except RegistryError as error:
            said = str(error.answer.get("error", ""))
            if said == "authorization_pending":
                continue
            if said == "slow_down":
                asked = error.answer.get("interval")
                interval = asked if isinstance(asked, int | float) else interval + 5
                continue
            if said in _REFUSED:
                raise NotSignedIn(_REFUSED[said]) from error
            raise
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token:
            raise RegistryError(f"{registry.url} gave no usable token")
        return token
    raise NotSignedIn(_REFUSED["expired_token"])

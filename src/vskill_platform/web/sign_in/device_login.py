"""The sign-in of programs (RFC 8628): their two requests, and the page for the approval."""

from typing import Any

import msgspec
from litestar import Response
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_400_BAD_REQUEST

from vskill_platform.access.device_login import (
    POLL_INTERVAL,
    SLOWER_INTERVAL,
    approve_device,
    deny_device,
    find_device_login,
    redeem_device_code,
    request_device_login,
    scopes_for,
)
from vskill_platform.access.sessions import browser_name
from vskill_platform.access.tokens import DEFAULT_LIFETIME
from vskill_platform.errors import DeviceRefused, InvalidInput, NotAllowed, NotFound
from vskill_platform.model.registry_url import base_url
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.rate_limits import address_key, limit_sign_ins, quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import with_query
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.people.account_page import WHAT_SCOPES_MEAN
from vskill_platform.web.people.confirm_identity import check_no_factor_missing, signed_in_user

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_DONE = {
    "approved": "Approved. Return to the program: it is signed in within a few seconds.",
    "denied": "Denied. The program gets no access.",
}
_MAX_FIELD_LENGTH = 1000
_MAX_FIELDS = 50


async def device_code(request: WebRequest) -> Response[Any]:
    """Issue the two codes of a program; the body is a form (RFC 8628) or JSON."""
    visitor = visitor_of(request)
    await limit_sign_ins(request, "device-request", address_key(visitor.address))
    try:
        fields = await _read_body(request)
        codes = await request_device_login(
            fields.get("label") or fields.get("client_id") or "",
            fields.get("scope", ""),
            address=visitor.address,
            program=request.headers.get("user-agent", ""),
        )
    except DeviceRefused as refusal:
        return _refused(refusal)
    page = f"{base_url(get_settings())}/device"
    lifetime = codes.login.expires_at - codes.login.created_at
    return _response(
        {
            "device_code": codes.device_code,
            "user_code": codes.user_code,
            "verification_uri": page,
            "verification_uri_complete": with_query(page, user_code=codes.user_code),
            "expires_in": int(lifetime.total_seconds()),
            "interval": int(POLL_INTERVAL.total_seconds()),
        }
    )


async def device_token(request: WebRequest) -> Response[Any]:
    """Issue a program's token once a user has approved it."""
    try:
        token = await redeem_device_code(_device_code_in(await _read_body(request)))
    except DeviceRefused as refusal:
        return _refused(refusal)
    return _response(
        {
            "access_token": token.text,
            "token_type": "Bearer",
            "scope": " ".join(token.record.scopes),
            "expires_in": int(DEFAULT_LIFETIME.total_seconds()),
        }
    )


def _device_code_in(fields: dict[str, str]) -> str:
    if fields.get("grant_type") != _GRANT:
        raise DeviceRefused("unsupported_grant_type", f"grant_type must be {_GRANT}")
    if not fields.get("device_code"):
        raise DeviceRefused("invalid_request", "device_code is missing")
    return fields["device_code"]


async def device_page(request: WebRequest) -> Template:
    """Ask for the code, or show which program requests which scopes."""
    done = _DONE.get(request.query_params.get("done", ""), "")
    code = request.query_params.get("user_code", "").strip()[:_MAX_FIELD_LENGTH]
    if done or not code:
        return _page({"done": done})
    await limit_sign_ins(request, "device-code", quota_key(visitor_of(request)))
    try:
        return await _show_request(request, code)
    except NotFound as error:
        return _page({"problem": str(error), "code": code}, status=404)


async def device_form(request: WebRequest) -> Response[Any]:
    """Approve or deny the program with this code."""
    user, fields = signed_in_user(request), await read_fields(request)
    code, ruling = fields.get("user_code", ""), fields.get("ruling", "")
    await limit_sign_ins(request, "device-code", quota_key(visitor_of(request)))
    if ruling not in {"approve", "deny"}:
        raise InvalidInput("choose Approve or Deny")
    try:
        if ruling == "approve":
            check_no_factor_missing(request)
        decide = approve_device if ruling == "approve" else deny_device
        login = await decide(code, user)
    except NotFound as error:
        return _page({"problem": str(error), "code": code}, status=404)
    except NotAllowed as error:
        return await _show_request(request, code, problem=str(error), status=400)
    return Redirect(f"/device?done={login.state}", status_code=303, headers=NO_STORE_HEADER)


async def _show_request(
    request: WebRequest, code: str, *, problem: str = "", status: int = 200
) -> Template:
    user, login = signed_in_user(request), await find_device_login(code)
    granted = scopes_for(login, user)
    context = {
        "login": login,
        "code": code.upper(),
        "user": user,
        "granted": [(scope, WHAT_SCOPES_MEAN[scope]) for scope in granted],
        "refused": [scope for scope in login.scopes if scope not in granted],
        "program": browser_name(login.program),
        "is_same_address": login.address == visitor_of(request).address,
        "days": DEFAULT_LIFETIME.days,
        "problem": problem,
    }
    return _page(context, status=status)


def _page(context: dict[str, Any], *, status: int = 200) -> Template:
    context = {"done": "", "problem": "", "code": "", "login": None, "section": "account"} | context
    return Template(
        "pages/device.html", context=context, status_code=status, headers=NO_STORE_HEADER
    )


async def _read_body(request: WebRequest) -> dict[str, str]:
    """Return the text fields of the body: JSON from some clients, a form from others."""
    if not request.content_type[0].endswith("json"):
        return await read_fields(request)
    try:
        found = msgspec.json.decode(await request.body())
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise DeviceRefused("invalid_request", "the body is not JSON") from error
    if not isinstance(found, dict) or len(found) > _MAX_FIELDS:
        raise DeviceRefused("invalid_request", "the body is not a JSON object")
    return {
        str(name): value[:_MAX_FIELD_LENGTH]
        for name, value in found.items()
        if isinstance(value, str)
    }


def _response(content: dict[str, Any], status: int = 200) -> Response[Any]:
    return Response(content, status_code=status, headers=NO_STORE_HEADER)


def _refused(refusal: DeviceRefused) -> Response[Any]:
    content: dict[str, Any] = {
        "error": refusal.error,
        "error_description": str(refusal),
    }
    if refusal.error == "slow_down":
        content["interval"] = int(SLOWER_INTERVAL.total_seconds())
    return _response(content, HTTP_400_BAD_REQUEST)

"""Sign out at the provider, started here (RP-initiated) or there (back-channel)."""

from datetime import timedelta
from urllib.parse import urlencode

from vskill_platform.access.oidc.provider import find_provider, is_oidc_sign_in
from vskill_platform.access.oidc.provider_tokens import check_logout_token
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotSignedIn, ProviderUnavailable
from vskill_platform.model.registry_url import base_url
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.oidc_store import (
    OidcSession,
    delete_oidc_session,
    get_oidc_link,
    get_oidc_session,
    list_oidc_sessions,
    list_sessions_at_provider,
    write_used_logout,
)
from vskill_platform.stores.session_store import delete_session, get_session, get_session_digest

log = get_logger(__name__)

#: Longer than a token is valid, so that none can be used twice.
_REMEMBERED_FOR = timedelta(hours=1)


async def find_logout_url(user_name: str, session_id: str) -> str:
    """Return the URL to sign out at the provider; empty if this session did not begin there.

    If the provider is down, users can still sign out here.
    """
    if not is_oidc_sign_in():
        return ""
    session, settings = await get_oidc_session(user_name, session_id), get_settings()
    if session is None or session.issuer != settings.oidc_issuer:
        return ""
    try:
        endpoint = (await find_provider()).metadata.end_session_endpoint
    except ProviderUnavailable as error:
        log.warning("not signed out at the provider", reason=str(error))
        return ""
    query = {
        "client_id": settings.oidc_client_id,
        "post_logout_redirect_uri": f"{base_url(settings)}/",
    }
    if session.id_token:
        query["id_token_hint"] = session.id_token
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}" if endpoint else ""


async def end_sessions_of_provider(logout_token: str) -> int:
    """End the sessions that a logout token names; return how many. A token works once."""
    token = await check_logout_token(logout_token)
    issuer = get_settings().oidc_issuer
    sessions = await _named_sessions(issuer, token.subject, token.session)
    used = write_used_logout(issuer, token.id, expires_at=get_now() + _REMEMBERED_FOR)
    operations: list[Operation] = [used]
    for session in sessions:
        operations += await _end(session)
    if await commit(operations) is None:
        raise NotSignedIn("this logout token was used before")
    log.info("signed out by the provider", sessions=len(sessions))
    return len(sessions)


async def _named_sessions(issuer: str, subject: str, provider_session: str) -> list[OidcSession]:
    if provider_session:
        found = await list_sessions_at_provider(issuer, provider_session)
    else:
        link = await get_oidc_link(issuer, subject)
        found = await list_oidc_sessions(link.record.user) if link else []
    is_named = [(one.issuer, subject or one.subject) == (issuer, one.subject) for one in found]
    return [one for one, matches in zip(found, is_named, strict=True) if matches]


async def _end(session: OidcSession) -> list[Operation]:
    operations = delete_oidc_session(session)
    digest = await get_session_digest(session.user, session.session_id)
    stored = await get_session(digest) if digest else None
    if digest is None or stored is None:
        return operations  # the session has ended already
    audit = write_audit(
        "user sign-out", session.user, actor="system", reason="signed out at the provider"
    )
    return [*operations, *delete_session(digest, stored.record), audit]

"""API tokens: created once, shown once, found by digest, revoked at any time."""

from collections.abc import Iterable
from datetime import timedelta

import msgspec

from vskill_platform.access.secret_texts import digest_of, is_token_text, new_token_text
from vskill_platform.access.users import find_user
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.rights import SCOPES_OF
from vskill_platform.model.user import ApiToken, Scope, User
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.token_store import (
    delete_token,
    find_token,
    get_token,
    get_tokens_mark,
    list_tokens,
    write_new_token,
    write_token,
    write_tokens_mark,
)
from vskill_platform.stores.user_store import get_user

DEFAULT_LIFETIME = timedelta(days=90)
#: A token that nobody renews is one that nobody remembers.
MAX_LIFETIME = timedelta(days=366)
MAX_LABEL_LENGTH = 100
#: Limit per user; nobody keeps track of more.
MAX_TOKENS = 50
#: The accuracy of a token's last use.
_USED_EVERY = timedelta(minutes=1)


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    #: The token itself, shown only now.
    text: str
    record: ApiToken


class OpenToken(msgspec.Struct, frozen=True, kw_only=True):
    record: ApiToken
    user: User


async def add_token(
    user_name: str,
    label: str,
    scopes: Iterable[Scope],
    *,
    actor: str,
    lifetime: timedelta = DEFAULT_LIFETIME,
) -> NewToken:
    """Create a token for a user, limited to the rights of the user's role."""
    user = await find_user(user_name)
    token = _draft(user, label, scopes, lifetime)
    text = new_token_text()
    said = f"{', '.join(token.scopes)}, until {token.expires_at:%Y-%m-%d}"
    audit = write_audit(
        "token add", f"{user.name} {token.id}", actor=actor, reason=token.label, outcome=said
    )

    async def plan() -> PlannedChange[NewToken]:
        mark = await get_tokens_mark(user.name)  # before they are counted
        if len(await list_tokens(user.name)) >= MAX_TOKENS:
            raise NotAllowed(f"{user.name} has {MAX_TOKENS} tokens; revoke one that is not used")
        counted = write_tokens_mark(token, expected=mark)
        operations = [counted, *write_new_token(digest_of(text), token), audit]
        return PlannedChange(operations=operations, result=NewToken(text=text, record=token))

    return await change(f"the tokens of {user.name}", plan)


def _draft(user: User, label: str, scopes: Iterable[Scope], lifetime: timedelta) -> ApiToken:
    wanted = sorted(set(scopes), key=list(Scope).index)
    label = label.strip()
    if not label or len(label) > MAX_LABEL_LENGTH or not label.isprintable():
        raise InvalidInput(f"name the token, in up to {MAX_LABEL_LENGTH} characters")
    if not wanted:
        raise InvalidInput("choose at least one scope")
    if not timedelta(0) < lifetime <= MAX_LIFETIME:
        raise InvalidInput(f"a token is valid for {MAX_LIFETIME.days} days at most")
    beyond = [scope for scope in wanted if scope not in SCOPES_OF[user.role]]
    if beyond:
        raise NotAllowed(f"{user.name} is {user.role}: no token for {', '.join(beyond)}")
    now = get_now()
    return ApiToken(
        id=f"tok_{digest_of(new_token_text())[:12]}",
        user=user.name,
        label=label,
        scopes=tuple(wanted),
        created_at=now,
        expires_at=now + lifetime,
    )


async def find_open_token(text: str) -> OpenToken | None:
    """Return a valid token and its user, and record its use."""
    if not is_token_text(text):
        return None
    digest = digest_of(text)
    stored = await get_token(digest)
    user = await get_user(stored.record.user) if stored else None
    if stored is None or user is None or user.record.is_disabled:
        return None
    token, now = stored.record, get_now()
    if token.last_used_at is None or abs(now - token.last_used_at) >= _USED_EVERY:
        token = msgspec.structs.replace(token, last_used_at=now)
        # If another write was faster, it was used or revoked: both are fine.
        await commit([write_token(digest, token, expected=stored.revision)])
    return OpenToken(record=token, user=user.record)


async def revoke_token(
    token_id: str, *, actor: str, of: str | None = None, reason: str = ""
) -> ApiToken:
    """Revoke a token from the next request on; *of* must be its owner."""
    token = await find_token(token_id)
    if token is None or of not in {None, token.user}:
        raise NotFound(f"there is no token {token_id!r}; it may have been revoked, or has expired")
    subject = f"{token.user} {token.id}"
    audit = write_audit("token revoke", subject, actor=actor, reason=reason or token.label)
    deletions = await delete_token(token)
    if deletions and await commit([*deletions, audit]) is None:
        raise NotFound(f"there is no token {token_id!r}; it has just been revoked")
    return token

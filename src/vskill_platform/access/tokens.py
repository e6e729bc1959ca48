"""Create, check and revoke API tokens.

Expiry is enforced by the engine: stores/token_store.py sets `expires_at`, and the engine hides
expired records.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta

import msgspec

from vskill_platform.access.secret_texts import digest_of, is_token_text, new_token_text
from vskill_platform.access.users import find_user
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.rights import SCOPES_OF
from vskill_platform.model.user import ApiToken, Role, Scope, User
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
#: Tokens that live longer tend to be forgotten.
MAX_LIFETIME = timedelta(days=366)
MAX_LABEL_LENGTH = 100
#: Maximum per user.
MAX_TOKENS = 50
#: Scopes that make sense in one namespace.
_WITHIN = frozenset({Scope.READ, Scope.SUBMIT})
#: Resolution of a token's "last used" time.
_USED_EVERY = timedelta(minutes=1)


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    #: The token itself, which is shown only once.
    text: str
    record: ApiToken


class OpenToken(msgspec.Struct, frozen=True, kw_only=True):
    record: ApiToken
    user: User


class TokenLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a token beyond its scopes."""

    #: The only namespace in which it may do anything.
    namespace: str = ""
    #: A lower role than that of the user.
    role: Role | None = None
    #: Returns further operations for the commit of the token; called again for each attempt.
    also: Callable[[], Awaitable[Sequence[Operation]]] | None = None


_NO_LIMITS = TokenLimits()


async def add_token(
    user_name: str,
    label: str,
    scopes: Iterable[Scope],
    *,
    actor: str,
    lifetime: timedelta = DEFAULT_LIFETIME,
    limits: TokenLimits = _NO_LIMITS,
) -> NewToken:
    """Create a token for a user, limited to the scopes of the user's role."""
    user = await find_user(user_name)
    if limits.role is not None:
        user = msgspec.structs.replace(user, role=limits.role)
    token = _draft(user, label, scopes, lifetime, limits.namespace)
    text = new_token_text()
    where = f" in {token.namespace}" if token.namespace else ""
    outcome = f"{', '.join(token.scopes)}{where}, until {token.expires_at:%Y-%m-%d}"
    audit = write_audit(
        "token add", f"{user.name} {token.id}", actor=actor, reason=token.label, outcome=outcome
    )

    async def plan() -> PlannedChange[NewToken]:
        await find_user(user.name)  # the account may have been deleted meanwhile
        mark = await get_tokens_mark(user.name)  # before counting, to detect concurrent additions
        if len(await list_tokens(user.name)) >= MAX_TOKENS:
            raise NotAllowed(f"{user.name} has {MAX_TOKENS} tokens, the maximum; revoke one first")
        counted = write_tokens_mark(token, expected=mark)
        more = await limits.also() if limits.also else ()
        operations = [counted, *write_new_token(digest_of(text), token), audit, *more]
        return PlannedChange(operations=operations, result=NewToken(text=text, record=token))

    return await change(f"the tokens of {user.name}", plan)


def _draft(
    user: User, label: str, scopes: Iterable[Scope], lifetime: timedelta, namespace: str
) -> ApiToken:
    wanted = sorted(set(scopes), key=list(Scope).index)
    label = label.strip()
    if not label or len(label) > MAX_LABEL_LENGTH or not label.isprintable():
        raise InvalidInput(f"a token's name must have 1 to {MAX_LABEL_LENGTH} printable characters")
    if not wanted:
        raise InvalidInput("choose at least one scope")
    if not timedelta(0) < lifetime <= MAX_LIFETIME:
        raise InvalidInput(f"a token is valid for {MAX_LIFETIME.days} days at most")
    if namespace and not _WITHIN.issuperset(wanted):
        raise InvalidInput("a token for one namespace can have the scopes read and submit only")
    beyond = [scope for scope in wanted if scope not in SCOPES_OF[user.role]]
    if beyond:
        raise NotAllowed(f"the role {user.role} does not allow the scope {', '.join(beyond)}")
    now = get_now()
    return ApiToken(
        id=f"tok_{digest_of(new_token_text())[:12]}",
        user=user.name,
        label=label,
        scopes=tuple(wanted),
        created_at=now,
        expires_at=now + lifetime,
        namespace=namespace,
    )


async def find_open_token(text: str) -> OpenToken | None:
    """Return the token and its user if both are valid, and update when it was last used."""
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
        # If this fails, another request has used or revoked the token; either is fine.
        await commit([write_token(digest, token, expected=stored.revision)])
    return OpenToken(record=token, user=user.record)


async def revoke_token(
    token_id: str, *, actor: str, of: str | None = None, reason: str = ""
) -> ApiToken:
    """Revoke a token, effective immediately; *of* must be its owner."""
    token = await find_token(token_id)
    if token is None or of not in {None, token.user}:
        raise NotFound(f"there is no token {token_id!r}; it may have been revoked or has expired")
    subject = f"{token.user} {token.id}"
    audit = write_audit("token revoke", subject, actor=actor, reason=reason or token.label)
    deletions = await delete_token(token)
    if deletions and await commit([*deletions, audit]) is None:
        raise NotFound(f"there is no token {token_id!r}; it has just been revoked")
    return token

"""API tokens, stored under the digest of their secret, so a database leak does not expose them."""

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.user import ApiToken
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)
from vskill_platform.stores.user_store import expect_not_deleted

_TOKEN = "token:"  # noqa: S105 - a prefix of keys
#: From a user and the id of a token to the digest of its secret.
_TOKEN_ID = "token-id:"  # noqa: S105 - a prefix of keys
#: Changes with every new token of a user.
_TOKENS_MARK = "tokens-mark:"


async def get_tokens_mark(user_name: str) -> int:
    """Return the revision of the record that every new token of a user writes."""
    stored = await get_record(_TOKENS_MARK + user_name, str)
    return stored.revision if stored else ABSENT


def write_tokens_mark(token: ApiToken, *, expected: int) -> Operation:
    """Make a commit fail if this user got another token meanwhile, to enforce the maximum."""
    return Put(_TOKENS_MARK + token.user, encode(token.id), expected=expected, due=NEVER)


async def get_token(digest: str) -> Stored[ApiToken] | None:
    return await get_record(_TOKEN + digest, ApiToken)


async def list_tokens(user_name: str | None = None) -> list[ApiToken]:
    """Return the valid tokens of one user or of all."""
    keys = await list_all_keys(f"{_TOKEN_ID}{user_name}:" if user_name else _TOKEN_ID)
    digests = await read_each(keys, lambda key, value: decode(key, value, str))
    return await read_each(
        [_TOKEN + digest for digest in digests],
        lambda key, value: decode(key, value, ApiToken),
    )


async def find_token(token_id: str) -> ApiToken | None:
    """Return the token with this id, of any user."""
    return next((token for token in await list_tokens() if token.id == token_id), None)


def write_new_token(digest: str, token: ApiToken) -> list[Operation]:
    way = Put(
        _id_key(token), encode(digest), expected=ABSENT, due=NEVER, expires_at=token.expires_at
    )
    return [_put(digest, token, expected=ABSENT), way, expect_not_deleted(token.user)]


def write_token(digest: str, token: ApiToken, *, expected: int) -> Operation:
    return _put(digest, token, expected=expected)


def delete_tokens_mark(user_name: str) -> Operation:
    return Delete(_TOKENS_MARK + user_name)


async def delete_token(token: ApiToken) -> list[Operation]:
    """Return the operations that delete a token; empty if it is already gone."""
    way = await get_record(_id_key(token), str)
    if way is None:
        return []
    return [Delete(_id_key(token), expected=way.revision), Delete(_TOKEN + way.record)]


def _put(digest: str, token: ApiToken, *, expected: int) -> Operation:
    return Put(
        _TOKEN + digest, encode(token), expected=expected, due=NEVER, expires_at=token.expires_at
    )


def _id_key(token: ApiToken) -> str:
    return f"{_TOKEN_ID}{token.user}:{token.id}"

"""The configured provider: its metadata and keys, which are fetched again after a while."""

from datetime import timedelta

import msgspec

from vskill_platform.errors import NotFound
from vskill_platform.fetch.oidc_http import ClientCredentials, fetch_keys, fetch_metadata
from vskill_platform.model.oidc import Provider
from vskill_platform.stores.db import bound_env, get_now, get_settings

#: A key that the provider withdrew is accepted for this long.
_KEPT_FOR = timedelta(minutes=5)
#: How often untrusted callers can make us fetch the keys again.
_REFETCHED_EVERY = timedelta(seconds=10)


def is_oidc_sign_in() -> bool:
    return bool(get_settings().oidc_issuer)


def check_oidc_sign_in() -> None:
    if not is_oidc_sign_in():
        raise NotFound("this registry has no single sign-on")


def client_credentials() -> ClientCredentials:
    settings = get_settings()
    return ClientCredentials(
        client_id=settings.oidc_client_id, client_secret=settings.oidc_client_secret
    )


async def find_provider(issuer: str = "") -> Provider:
    """Return the configured provider, or another one, as it last described itself."""
    if not issuer:
        check_oidc_sign_in()
    issuer, known = issuer or get_settings().oidc_issuer, bound_env().providers
    found, now = known.get(issuer), get_now()
    if found and abs(now - found.fetched_at) < _KEPT_FOR:
        return found
    metadata = await fetch_metadata(issuer)
    found = Provider(metadata=metadata, keys=await fetch_keys(metadata), fetched_at=now)
    known[issuer] = found
    return found


async def refetch_keys(provider: Provider, *, is_untrusted: bool) -> Provider:
    """Fetch the keys again, because a token names an unknown one: the provider may have a new one.

    Anyone can send a token with an unknown key, so that is limited; a token that the provider
    itself has just given us is not.
    """
    now = get_now()
    if is_untrusted and abs(now - provider.fetched_at) < _REFETCHED_EVERY:
        return provider
    keys = await fetch_keys(provider.metadata)
    found = msgspec.structs.replace(provider, keys=keys, fetched_at=now)
    bound_env().providers[provider.metadata.issuer] = found
    return found

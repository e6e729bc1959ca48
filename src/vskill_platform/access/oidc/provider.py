"""The metadata and keys of the configured provider, which are fetched again after a while."""

from datetime import timedelta

import msgspec

from vskill_platform.errors import NotFound
from vskill_platform.fetch.oidc_http import ClientCredentials, fetch_keys, fetch_metadata
from vskill_platform.model.oidc import Provider
from vskill_platform.stores.db import bound_env, get_now, get_settings

#: How long a key is accepted after the provider has withdrawn it.
_KEPT_FOR = timedelta(minutes=5)
#: How often untrusted callers can cause the keys to be fetched again.
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
    """Return the last metadata of a provider, by default the configured one."""
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
    """Fetch the keys again after a token named an unknown one: the provider may have new keys.

    This is limited, because anyone can send a token with an unknown key. It is not limited for a
    token that came directly from the provider.
    """
    now = get_now()
    if is_untrusted and abs(now - provider.fetched_at) < _REFETCHED_EVERY:
        return provider
    keys = await fetch_keys(provider.metadata)
    found = msgspec.structs.replace(provider, keys=keys, fetched_at=now)
    bound_env().providers[provider.metadata.issuer] = found
    return found

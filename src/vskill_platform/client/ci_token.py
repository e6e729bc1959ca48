"""Sign in from a CI job: exchange its signed token for a token of the registry."""

import os
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import httpx2
import msgspec

from vskill_platform.client.addresses import is_loopback
from vskill_platform.client.credentials import TOKEN_VARIABLE, Target
from vskill_platform.client.http_client import open_client
from vskill_platform.client.registry import USER_AGENT
from vskill_platform.client.shapes import CiPublishToken
from vskill_platform.errors import ConfigError, RegistryUnavailable

#: GitHub Actions sets these in jobs with the permission `id-token: write`.
_GITHUB_URL, _GITHUB_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
#: GitLab puts the token into the variable that the job names in `id_tokens`.
ID_TOKEN_VARIABLE = "VSKILL_ID_TOKEN"  # noqa: S105 - the name of a variable
_EXCHANGE = "/api/v1/trusted-publishing/token"
_MAX_BYTES = 128 * 1024
_TIMEOUT_SECONDS = 30.0


class _GithubResponse(msgspec.Struct, frozen=True):
    value: str


def has_ci_token(environ: Mapping[str, str] | None = None) -> bool:
    """Return whether this is a CI job that can get a signed token."""
    environ = os.environ if environ is None else environ
    return bool(environ.get(ID_TOKEN_VARIABLE) or environ.get(_GITHUB_URL))


def sign_in_from_ci(
    target: Target, *, namespace: str, environ: Mapping[str, str] | None = None
) -> CiPublishToken:
    """Exchange the token of this job for one of the registry."""
    environ = os.environ if environ is None else environ
    text = environ.get(ID_TOKEN_VARIABLE, "").strip() or _ask_github(target.url, environ)
    with target.open() as registry:
        body = {"token": text, "namespace": namespace}
        found: CiPublishToken = registry.post_json(_EXCHANGE, body, CiPublishToken)
    return found


def _ask_github(audience: str, environ: Mapping[str, str]) -> str:
    url, secret = environ.get(_GITHUB_URL, ""), environ.get(_GITHUB_TOKEN, "")
    if not url or not secret:
        raise ConfigError(
            f"no identity token for a CI job: set {TOKEN_VARIABLE}, or allow the job to get one "
            f"(GitHub: `permissions: id-token: write`; GitLab: `id_tokens` with "
            f"{ID_TOKEN_VARIABLE})"
        )
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ConfigError(f"{_GITHUB_URL} does not begin with https")
    mark = "&" if parts.query else "?"
    headers = {"Authorization": f"Bearer {secret}", "User-Agent": USER_AGENT}
    try:
        with open_client(url, _TIMEOUT_SECONDS) as client:
            query = f"{mark}audience={quote(audience, safe='')}"
            response = client.get(f"{url}{query}", headers=headers)
        response.raise_for_status()
        return msgspec.json.decode(response.content[:_MAX_BYTES], type=_GithubResponse).value
    except (httpx2.HTTPError, msgspec.DecodeError) as error:
        raise RegistryUnavailable(
            f"GitHub gave no token for this job ({type(error).__name__}); run it again"
        ) from None  # the error may contain the secret of the request

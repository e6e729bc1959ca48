"""Sign-in with a third-party provider: oidc-provider-mock, built on Authlib."""

import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient
from werkzeug.serving import make_server

from tests.apps import an_app
from tests.unit.web.conftest import HTML
from vskill_platform.access.users import find_user
from vskill_platform.base.clock import SystemClock
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.secret_settings import Secret

#: It uses parts of Authlib that will be removed.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
ADA = {
    "preferred_username": "ada",
    "email": "ada@acme.example",
    "groups": ["devs"],
}


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with warnings.catch_warnings():
        # When it is imported, it adds a filter that shows its warnings, before the one above.
        from authlib.deprecate import (  # type: ignore[import-untyped] # noqa: PLC0415
            AuthlibDeprecationWarning,
        )

        warnings.simplefilter("ignore", AuthlibDeprecationWarning)
        import oidc_provider_mock  # noqa: PLC0415 - here its warnings are expected

    users = [oidc_provider_mock.User(sub="s-1", claims=ADA)]
    app = oidc_provider_mock.app(user_claims=users, require_nonce=True)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_user_of_another_provider_signs_in_with_groups(
    bound: WorkerEnv, issuer: str
) -> None:
    settings = msgspec.structs.replace(
        bound.settings,
        public_url="http://registry",
        oidc_issuer=issuer,
        oidc_client_id="registry",
        oidc_client_secret=Secret("hush"),
        oidc_role_groups='{"publisher": ["devs"]}',
    )
    env = replace(bound, settings=settings, clock=SystemClock())
    transport = ASGITransport(cast("Any", an_app(env)))

    async with (
        AsyncClient(transport=transport, base_url="http://registry", headers=HTML) as browser,
        AsyncClient() as person,
    ):
        left = await browser.get("/sign-in/oidc", params={"next": "/account"})
        consented = await person.post(left.headers["location"], data={"sub": "s-1"})
        back = await browser.get(consented.headers["location"])
        account = await browser.get("/account")
        again = await browser.get(consented.headers["location"])

    assert (back.status_code, back.headers["location"]) == (303, "/account"), back.text
    assert (account.status_code, again.status_code) == (200, 401)
    assert (await find_user("ada")).role is Role.PUBLISHER

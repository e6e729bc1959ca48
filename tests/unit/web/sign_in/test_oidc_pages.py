"""Sign-in with an OpenID Connect provider, in a browser: from the button to the session."""

import base64
import hmac
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    EVENT,
    KEY,
    OTHER_KEY,
    OidcProvider,
    oidc_provider,
)
from tests.people import PASSWORD, a_user, csrf_in, let_in
from tests.unit.web.conftest import HTML
from vskill_platform.access.oidc.accounts import link_subject
from vskill_platform.access.sessions import list_open_sessions
from vskill_platform.access.users import disable_user, find_user, set_break_glass
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.secret_settings import Secret
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.oidc_store import get_oidc_link_of
from vskill_platform.stores.user_store import list_users

HOST = "http://registry"
START, CALLBACK = "/sign-in/oidc", "/sign-in/oidc/callback"
LOGOUT = "/api/oidc/back-channel-logout"


@pytest.fixture
async def provider(clock: ManualClock) -> AsyncIterator[OidcProvider]:
    async with oidc_provider(clock.now) as opened:
        yield opened


class SignOn:
    """A registry with a provider; settings can be changed, as after a restart."""

    def __init__(self, env: WorkerEnv, provider: OidcProvider) -> None:
        self.provider = provider
        self.env = env
        self.change(
            public_url=HOST,
            oidc_issuer=provider.url,
            oidc_client_id=CLIENT_ID,
            oidc_client_secret=Secret(CLIENT_SECRET),
            oidc_name="Acme ID",
        )

    def change(self, **settings: Any) -> None:
        changed = msgspec.structs.replace(self.env.settings, **settings)
        self.env = replace(self.env, settings=changed, providers={})
        worker_env_storage.set(self.env)

    def browser(self) -> AsyncClient:
        transport = ASGITransport(cast("Any", an_app(self.env)))
        return AsyncClient(transport=transport, base_url=HOST, headers=HTML)


@pytest.fixture
async def sign_on(bound: WorkerEnv, provider: OidcProvider) -> AsyncIterator[SignOn]:
    token = worker_env_storage.set(bound)
    yield SignOn(bound, provider)
    worker_env_storage.reset(token)


async def leave(browser: AsyncClient, back: str = "/") -> str:
    answer = await browser.get(START, params={"next": back})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def sign_in(
    sign_on: SignOn, browser: AsyncClient, subject: str = "s-1", back: str = "/"
) -> Response:
    url = await leave(browser, back)
    return await browser.get(sign_on.provider.authorize(url, subject))


async def test_the_button_leads_through_the_provider_back_to_the_page(sign_on: SignOn) -> None:
    browser = sign_on.browser()

    page = await browser.get("/sign-in", params={"next": "/account?x=1"})
    url = await leave(browser, "/account?x=1")
    answer = await browser.get(sign_on.provider.authorize(url))

    assert 'href="/sign-in/oidc?next=%2Faccount%3Fx%3D1"' in page.text
    assert "Sign in with Acme ID" in page.text
    query = parse_qs(urlsplit(url).query)
    assert query["redirect_uri"] == [f"{HOST}{CALLBACK}"]
    assert query["scope"] == ["openid profile email"]
    assert len(query["code_challenge"][0]) == 43
    assert (answer.status_code, answer.headers["location"]) == (303, "/account?x=1")
    assert (await browser.get("/account")).status_code == 200
    user = await find_user("ada")
    assert (user.role, [one.user for one in await list_open_sessions(user)]) == (
        Role.READER, ["ada"],
    )  # fmt: skip
    (added,) = [one for one in (await list_audit()).records if one.action == "user add"]
    assert "subject s-1" in added.reason


async def test_the_same_subject_is_the_same_user_under_another_name(sign_on: SignOn) -> None:
    await sign_in(sign_on, sign_on.browser())
    sign_on.provider.people["s-1"] = {"preferred_username": "ada.lovelace"}

    await sign_in(sign_on, sign_on.browser())

    assert [user.name for user in await list_users()] == ["ada"]


async def test_a_local_user_of_the_same_name_is_not_taken_over(sign_on: SignOn) -> None:
    ada = await a_user(Role.ADMIN, "ada")
    browser = sign_on.browser()

    answer = await sign_in(sign_on, browser)

    assert answer.status_code == 403
    assert "another account ada" in answer.text
    assert (await browser.get("/account")).status_code == 303
    assert await list_open_sessions(ada) == []


async def test_two_people_of_one_name_at_the_provider_get_two_users(sign_on: SignOn) -> None:
    sign_on.provider.people["s-2"] = {"preferred_username": "Ada@acme.example"}
    await sign_in(sign_on, sign_on.browser())

    await sign_in(sign_on, sign_on.browser(), "s-2")

    assert [user.name for user in await list_users()] == ["ada", "ada-2"]


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "Ada.Lovelace@acme.example"}, "ada-lovelace"),
        ({"preferred_username": "--", "email": "ada_l@acme.example"}, "ada-l"),
        ({"preferred_username": "system", "nickname": "countess"}, "countess"),
        ({"preferred_username": "Ада"}, "user-6a840baf"),
    ],
)
async def test_a_name_is_made_from_the_claims(
    sign_on: SignOn, claims: dict[str, str], name: str
) -> None:
    sign_on.provider.people["s-1"] = claims

    await sign_in(sign_on, sign_on.browser())

    assert [user.name for user in await list_users()] == [name]


async def test_a_user_links_an_account_and_signs_in_with_it(sign_on: SignOn) -> None:
    ada = await a_user(Role.REVIEWER, "ada")
    browser = sign_on.browser()
    await let_in(browser, ada)
    form = {"csrf_token": csrf_in(await browser.get("/account")), "password": PASSWORD}

    page = await browser.post("/account/oidc", data=form)
    url = page.headers["refresh"].removeprefix("0; url=")
    linked = await browser.get(sign_on.provider.authorize(url))
    other = sign_on.browser()
    await sign_in(sign_on, other)

    assert (page.status_code, linked.headers["location"]) == (200, "/account?done=oidc")
    link = await get_oidc_link_of("ada")
    assert link
    assert link.record.subject == "s-1"
    assert len(await list_open_sessions(ada)) == 2
    assert (await find_user("ada")).role is Role.REVIEWER
    assert "Linked to" in (await other.get("/account")).text


async def test_somebody_without_a_password_keeps_the_link(sign_on: SignOn) -> None:
    new, old = sign_on.browser(), sign_on.browser()
    await sign_in(sign_on, new)
    await let_in(old, await a_user(Role.PUBLISHER, "ben"))
    await link_subject("ben", "s-2", actor="operator")
    pages = [await browser.get("/account") for browser in (new, old)]

    answers = [
        await browser.post("/account/oidc", data={"act": "unlink", "csrf_token": csrf_in(page)})
        for browser, page in zip((new, old), pages, strict=True)
    ]

    assert [answer.status_code for answer in answers] == [400, 303]
    assert ["Change your password" in page.text for page in pages] == [False, True]
    assert await get_oidc_link_of("ada")
    assert await get_oidc_link_of("ben") is None


async def test_nobody_links_an_account_to_another_user_or_from_another_browser(
    sign_on: SignOn,
) -> None:
    ada, cyd = await a_user(Role.PUBLISHER, "ada"), await a_user(Role.ADMIN, "cyd")
    browser = sign_on.browser()
    await let_in(browser, ada)
    form = {"csrf_token": csrf_in(await browser.get("/account")), "password": PASSWORD}
    page = await browser.post("/account/oidc", data=form)
    back = sign_on.provider.authorize(page.headers["refresh"].removeprefix("0; url="))
    await let_in(browser, cyd)

    swapped = await browser.get(back)
    unforged = await browser.post("/account/oidc", data={})

    assert (swapped.status_code, unforged.status_code) == (401, 403)
    assert await get_oidc_link_of("ada") is None
    assert await get_oidc_link_of("cyd") is None


async def test_a_lost_group_loses_the_right(sign_on: SignOn) -> None:
    sign_on.change(
        oidc_role_groups='{"admin": ["heads"], "publisher": ["devs"]}',
        oidc_namespace_groups='{"acme": {"owners": ["heads"], "members": ["devs"]}}',
    )
    people = sign_on.provider.people

    people["s-1"]["groups"] = ["heads", "devs", "others"]
    await sign_in(sign_on, sign_on.browser())
    first = (await find_user("ada")).role, (await get_namespace("acme")).record
    people["s-1"]["groups"] = ["devs"]
    await sign_in(sign_on, sign_on.browser())
    second = (await find_user("ada")).role, (await get_namespace("acme")).record
    sign_on.change(oidc_namespace_groups="")
    people["s-1"]["groups"] = []
    await sign_in(sign_on, sign_on.browser())
    third = (await find_user("ada")).role, (await get_namespace("acme")).record

    assert (first[0], first[1].owners, first[1].members) == (Role.ADMIN, ("ada",), ("ada",))
    assert (second[0], second[1].owners, second[1].members) == (Role.PUBLISHER, (), ("ada",))
    assert (third[0], third[1].owners, third[1].members) == (Role.READER, (), ())
    assert third[1].is_owned  # it is not open to everybody because its owners left


async def test_without_a_group_nobody_gets_in_if_the_operator_says_so(sign_on: SignOn) -> None:
    sign_on.change(oidc_role_groups='{"reviewer": ["sec"]}', oidc_default_role="none")
    sign_on.provider.people["s-1"]["groups"] = "sec"
    await sign_in(sign_on, sign_on.browser())
    before = (await find_user("ada")).role
    sign_on.provider.people["s-1"]["groups"] = []
    sign_on.provider.people["s-2"] = {"preferred_username": "ben"}

    known = await sign_in(sign_on, sign_on.browser())
    new = await sign_in(sign_on, sign_on.browser(), "s-2")

    assert before is Role.REVIEWER
    assert (known.status_code, new.status_code) == (403, 403)
    assert [(user.name, user.role) for user in await list_users()] == [("ada", Role.READER)]


async def test_groups_come_from_userinfo_if_the_token_has_none(sign_on: SignOn) -> None:
    sign_on.change(
        oidc_role_groups='{"publisher": ["devs"]}', oidc_groups_claim="realm_access.roles"
    )
    sign_on.provider.userinfo["s-1"] = {"realm_access": {"roles": ["devs"]}}

    await sign_in(sign_on, sign_on.browser())

    assert (await find_user("ada")).role is Role.PUBLISHER


async def test_claims_of_another_user_are_refused(sign_on: SignOn) -> None:
    sign_on.provider.userinfo["s-1"] = {"sub": "s-2", "groups": ["heads"]}

    answer = await sign_in(sign_on, sign_on.browser())

    assert answer.status_code == 401
    assert await list_users() == []


async def test_groups_that_cannot_be_read_change_no_right(sign_on: SignOn) -> None:
    sign_on.change(oidc_role_groups='{"publisher": ["devs"]}')
    sign_on.provider.people["s-1"]["groups"] = ["devs"]
    await sign_in(sign_on, sign_on.browser())
    answers = []

    named = {"groups": None, "_claim_names": {"groups": "src1"}}
    for groups in ({"groups": 7}, {"groups": {"devs": 1}}, {"groups": ["devs", 7]}, named):
        sign_on.provider.lies = groups
        answers.append((await sign_in(sign_on, sign_on.browser())).status_code)

    assert answers == [503, 503, 503, 403]
    assert (await find_user("ada")).role is Role.PUBLISHER


async def test_a_wrong_list_of_claims_elsewhere_is_no_list(sign_on: SignOn) -> None:
    sign_on.provider.lies = {"_claim_names": 7}

    answer = await sign_in(sign_on, sign_on.browser())

    assert answer.status_code == 303


async def test_a_disabled_user_is_not_signed_in(sign_on: SignOn) -> None:
    await sign_in(sign_on, sign_on.browser())
    await disable_user("ada", actor="test")

    answer = await sign_in(sign_on, sign_on.browser())

    assert (answer.status_code, "is disabled" in answer.text) == (401, True)


async def test_without_sign_up_only_linked_users_get_in(sign_on: SignOn) -> None:
    sign_on.change(oidc_sign_up=False)

    answer = await sign_in(sign_on, sign_on.browser())

    assert answer.status_code == 403
    assert await list_users() == []


async def test_a_state_works_once_and_only_in_its_browser(sign_on: SignOn) -> None:
    mine, theirs = sign_on.browser(), sign_on.browser()
    back = sign_on.provider.authorize(await leave(mine))
    await leave(theirs)

    elsewhere = await theirs.get(back)
    first = await mine.get(back)
    again = await mine.get(back)

    assert [one.status_code for one in (elsewhere, first, again)] == [401, 303, 401]
    assert "another browser" in elsewhere.text


async def test_a_state_expires_and_an_invented_one_is_unknown(
    sign_on: SignOn, clock: ManualClock
) -> None:
    browser = sign_on.browser()
    back = sign_on.provider.authorize(await leave(browser))
    clock.advance(minutes=11)

    late = await browser.get(back)
    invented = await browser.get(CALLBACK, params={"state": "x" * 43, "code": "y"})
    empty = await browser.get(CALLBACK)

    assert [one.status_code for one in (late, invented, empty)] == [401, 401, 401]


async def test_a_code_of_another_sign_in_is_refused(sign_on: SignOn) -> None:
    mine, theirs = sign_on.browser(), sign_on.browser()
    stolen = parse_qs(urlsplit(sign_on.provider.authorize(await leave(theirs))).query)["code"][0]
    back = sign_on.provider.authorize(await leave(mine))
    own = parse_qs(urlsplit(back).query)

    answer = await mine.get(
        CALLBACK, params={"state": own["state"][0], "iss": own["iss"][0], "code": stolen}
    )

    assert answer.status_code == 401
    assert "did not accept" in answer.text


async def test_an_answer_of_another_provider_is_refused(sign_on: SignOn) -> None:
    answers = []
    for issuer in ("https://evil.example", ""):
        browser = sign_on.browser()
        back = sign_on.provider.authorize(await leave(browser))
        query = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
        query.pop("iss")
        answer = await browser.get(CALLBACK, params=query | ({"iss": issuer} if issuer else {}))
        answers.append((answer.status_code, "another provider" in answer.text))

    assert answers == [(401, True), (401, True)]
    assert "POST /token" not in sign_on.provider.heard


def unsigned(claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "none"}, claims, OctKey.generate_key(), algorithms=["none"])


def signed_with_the_public_key(claims: dict[str, Any]) -> str:
    """Sign as an attacker does: the library itself refuses to take a public key for a secret."""
    parts = [msgspec.json.encode(part) for part in ({"alg": "HS256", "kid": KEY.kid}, claims)]
    signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    mac = hmac.digest(KEY.as_pem(private=False), signed, "sha256")
    return f"{signed.decode()}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def signed_with_another_key(claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": KEY.kid}, claims, OTHER_KEY)


def signed_with_an_unknown_key(claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256", "kid": OTHER_KEY.kid}, claims, OTHER_KEY)


def signed_with_a_key_of_its_own(claims: dict[str, Any]) -> str:
    header = {"alg": "RS256", "jwk": OTHER_KEY.as_dict(private=False)}
    return jwt.encode(header, claims, OTHER_KEY)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
async def test_a_token_with_a_wrong_signature_is_refused(sign_on: SignOn) -> None:
    forgers = (
        unsigned,
        signed_with_the_public_key,
        signed_with_another_key,
        signed_with_an_unknown_key,
        signed_with_a_key_of_its_own,
        lambda _: "not.a.token",
        lambda _: "",
    )
    answers = []

    for sign in forgers:
        sign_on.provider.sign = sign
        answers.append((await sign_in(sign_on, sign_on.browser())).status_code)

    assert answers == [401] * len(forgers)
    assert await list_users() == []


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"exp": 10**400},
    {"iat": -(10**400)},
    {"nbf": 10**400},
    {"nonce": "another"},
    {"nonce": None},
    {"iss": "https://evil.example"},
    {"aud": "another-client"},
    {"aud": ["registry", "another"]},
    {"aud": ["registry", "another"], "azp": "another"},
    {"azp": "another"},
    {"exp": None},
    {"exp": "tomorrow"},
    {"exp": 1},
    {"iat": 1},
    {"iat": None},
    {"nbf": 9_999_999_999},
    {"iat": 9_999_999_999},
    {"sub": ""},
    {"sub": None},
    {"sub": "s" * 256},
    {"sub": 7},
]


async def test_a_token_with_wrong_claims_is_refused(sign_on: SignOn) -> None:
    sign_on.change(sign_ins_per_minute=100)
    answers = []

    for lies in WRONG_CLAIMS:
        sign_on.provider.lies = lies
        answers.append((await sign_in(sign_on, sign_on.browser())).status_code)

    assert answers == [401] * len(WRONG_CLAIMS)
    assert await list_users() == []


async def test_clocks_may_differ_by_a_minute(sign_on: SignOn, clock: ManualClock) -> None:
    now = int(clock.now().timestamp())
    answers = []
    for lies in ({"exp": now - 59}, {"exp": now - 60}, {"iat": now + 60}, {"iat": now + 61}):
        sign_on.provider.lies = lies
        answers.append((await sign_in(sign_on, sign_on.browser())).status_code)

    assert answers == [303, 401, 303, 401]


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
async def test_a_key_that_can_be_broken_is_refused(sign_on: SignOn) -> None:
    weak = RSAKey.generate_key(1024, {"kid": "weak", "use": "sig", "alg": "RS256"})
    sign_on.provider.key, sign_on.provider.published = weak, [weak]

    answer = await sign_in(sign_on, sign_on.browser())

    assert answer.status_code == 401
    assert await list_users() == []


async def test_a_new_key_of_the_provider_is_found(sign_on: SignOn) -> None:
    await sign_in(sign_on, sign_on.browser())
    sign_on.provider.key, sign_on.provider.published = OTHER_KEY, [OTHER_KEY]

    answer = await sign_in(sign_on, sign_on.browser())

    assert answer.status_code == 303


async def test_a_withdrawn_key_is_refused_within_minutes(
    sign_on: SignOn, clock: ManualClock
) -> None:
    await sign_in(sign_on, sign_on.browser())
    sign_on.provider.published = [OTHER_KEY]
    clock.advance(minutes=5)

    answer = await sign_in(sign_on, sign_on.browser())

    assert answer.status_code == 401


async def test_nobody_is_redirected_to_another_site(sign_on: SignOn) -> None:
    elsewhere = (
        "https://evil.example", "//evil.example", "/\\evil.example", "/sign-out", "javascript:x",
    )  # fmt: skip

    answers = [await sign_in(sign_on, sign_on.browser(), back=back) for back in elsewhere]

    assert {(one.status_code, one.headers["location"]) for one in answers} == {(303, "/")}


async def test_without_a_provider_there_is_nothing(browser: AsyncClient) -> None:
    places = [await browser.get(path) for path in (START, CALLBACK)]
    logout = await browser.post(LOGOUT, data={"logout_token": "a.b.c"})

    assert [place.status_code for place in places] == [404, 404]
    assert logout.status_code == 400
    assert "/sign-in/oidc" not in (await browser.get("/sign-in")).text


async def test_the_user_may_cancel(sign_on: SignOn) -> None:
    browser = sign_on.browser()
    state = parse_qs(urlsplit(await leave(browser)).query)["state"][0]
    issuer = sign_on.provider.url

    answer = await browser.get(
        CALLBACK, params={"state": state, "iss": issuer, "error": "access_denied"}
    )

    assert (answer.status_code, "You cancelled" in answer.text) == (401, True)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"status": 503}, "answered with status 503"),
        ({"status": 302}, "answered with status 302"),
        ({"metadata": {"issuer": "https://evil.example"}}, "another issuer"),
        ({"metadata": {"token_endpoint": "http://10.0.0.1/token"}}, "without https"),
        ({"metadata": {"jwks_uri": 7}}, "cannot be read"),
        ({"metadata": {"padding": "x" * 600_000}}, "too large"),
        ({"url": "http://127.0.0.1:9"}, "cannot be reached"),
    ],
)
async def test_without_the_provider_passwords_still_work(
    sign_on: SignOn, fault: dict[str, Any], words: str
) -> None:
    await a_user(Role.PUBLISHER, "ada")
    browser = sign_on.browser()
    if url := fault.get("url"):
        sign_on.change(oidc_issuer=url)
        browser = sign_on.browser()
    for name, value in fault.items():
        setattr(sign_on.provider, name, value)

    refused = await browser.get(START)
    form = {"csrf_token": csrf_in(refused), "name": "ada", "password": PASSWORD}
    answer = await browser.post("/sign-in", data=form)

    assert (refused.status_code, words in refused.text) == (503, True), refused.text
    assert "Acme ID does not work at the moment" in refused.text
    assert answer.status_code == 303


async def test_starts_are_limited_like_sign_ins(sign_on: SignOn) -> None:
    browser, often = sign_on.browser(), sign_on.env.settings.sign_ins_per_minute

    found = [(await browser.get(START)).status_code for _ in range(often + 1)]

    assert found == [303] * often + [429]


async def test_signing_out_here_signs_out_at_the_provider(sign_on: SignOn) -> None:
    browser = sign_on.browser()
    await sign_in(sign_on, browser)
    form = {"csrf_token": csrf_in(await browser.get("/account")), "password": PASSWORD}

    answer = await browser.post("/sign-out", data=form)

    url = answer.headers["refresh"].removeprefix("0; url=")
    query = parse_qs(urlsplit(url).query)
    assert url.startswith(f"{sign_on.provider.url}/end?")
    assert query["post_logout_redirect_uri"] == [f"{HOST}/"]
    assert jwt.decode(query["id_token_hint"][0], KEY).claims["sub"] == "s-1"
    assert await list_open_sessions(await find_user("ada")) == []


async def test_somebody_with_a_password_is_signed_out_here_only(sign_on: SignOn) -> None:
    browser = sign_on.browser()
    await let_in(browser, await a_user())
    form = {"csrf_token": csrf_in(await browser.get("/account")), "password": PASSWORD}

    answer = await browser.post("/sign-out", data=form)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_an_outage_of_the_provider_does_not_prevent_signing_out(
    sign_on: SignOn, clock: ManualClock
) -> None:
    browser = sign_on.browser()
    await sign_in(sign_on, browser)
    form = {"csrf_token": csrf_in(await browser.get("/account")), "password": PASSWORD}
    clock.advance(minutes=6)
    sign_on.provider.status = 503

    answer = await browser.post("/sign-out", data=form)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert await list_open_sessions(await find_user("ada")) == []


async def test_the_provider_ends_sessions_on_all_nodes(sign_on: SignOn) -> None:
    laptop, phone, node = sign_on.browser(), sign_on.browser(), sign_on.browser()
    people = sign_on.provider.people
    people["s-1"]["sid"] = "at-work"
    await sign_in(sign_on, laptop)
    people["s-1"]["sid"] = "on-the-way"
    await sign_in(sign_on, phone)

    token = sign_on.provider.logout_token(sid="at-work")
    ended = await node.post(LOGOUT, data={"logout_token": token})
    after_one = [(await one.get("/account")).status_code for one in (laptop, phone)]
    everything = sign_on.provider.logout_token(sub="s-1")
    ended_all = await node.post(LOGOUT, data={"logout_token": everything})
    after_all = (await phone.get("/account")).status_code

    assert (ended.status_code, ended_all.status_code) == (200, 200)
    assert (after_one, after_all) == ([303, 200], 303)


async def test_the_provider_does_not_end_sessions_with_a_password(sign_on: SignOn) -> None:
    await sign_in(sign_on, sign_on.browser())
    local = sign_on.browser()
    await let_in(local, await find_user("ada"))

    token = sign_on.provider.logout_token(sub="s-1")
    await sign_on.browser().post(LOGOUT, data={"logout_token": token})

    assert (await local.get("/account")).status_code == 200


async def test_a_logout_token_works_once(sign_on: SignOn) -> None:
    browser, node = sign_on.browser(), sign_on.browser()
    token = sign_on.provider.logout_token(sub="s-1")
    await sign_in(sign_on, browser)
    await node.post(LOGOUT, data={"logout_token": token})
    await sign_in(sign_on, browser)

    again = await node.post(LOGOUT, data={"logout_token": token})

    assert (again.status_code, again.json()["error"]) == (400, "invalid_request")
    assert again.headers["cache-control"] == "no-store"
    assert (await browser.get("/account")).status_code == 200


WRONG_LOGOUTS: list[dict[str, Any]] = [
    {"events": None},
    {"events": {"another": {}}},
    {"events": {EVENT: True}},
    {"nonce": "n"},
    {"jti": None},
    {"sub": None},
    {"sub": 7},
    {"aud": "another"},
    {"iss": "https://evil.example"},
    {"exp": 1},
    {"iat": 1},
]


async def test_an_invalid_logout_token_ends_nothing(sign_on: SignOn) -> None:
    browser, node = sign_on.browser(), sign_on.browser()
    await sign_in(sign_on, browser)
    answers = []

    for lies in WRONG_LOGOUTS:
        sign_on.provider.lies = lies
        token = sign_on.provider.logout_token(sub="s-1")
        answers.append((await node.post(LOGOUT, data={"logout_token": token})).status_code)

    assert answers == [400] * len(WRONG_LOGOUTS)
    assert (await browser.get("/account")).status_code == 200


async def test_strangers_make_us_ask_the_provider_for_keys_only_now_and_then(
    sign_on: SignOn,
) -> None:
    sign_on.provider.sign = signed_with_an_unknown_key
    token = sign_on.provider.logout_token(sub="s-1")
    browser = sign_on.browser()

    answers = [
        (await browser.post(LOGOUT, data={"logout_token": token})).status_code for _ in range(5)
    ]

    assert answers == [400] * 5
    assert sign_on.provider.heard.count("GET /jwks") == 1


async def test_an_id_token_signs_nobody_out(sign_on: SignOn) -> None:
    browser = sign_on.browser()
    await sign_in(sign_on, browser)
    token = sign_on.provider.id_token("s-1", "nonce")

    answer = await sign_on.browser().post(LOGOUT, data={"logout_token": token})

    assert answer.status_code == 400
    assert (await browser.get("/account")).status_code == 200


async def test_with_passwords_turned_off_only_break_glass_accounts_use_one(
    sign_on: SignOn,
) -> None:
    await a_user(Role.PUBLISHER, "ada")
    await a_user(Role.ADMIN, "cyd")
    await set_break_glass("cyd", is_on=True, actor="operator")
    sign_on.change(password_sign_in=False)
    answers = {}

    for name in ("ada", "cyd", "nobody"):
        browser = sign_on.browser()
        page = await browser.get("/sign-in")
        form = {"csrf_token": csrf_in(page), "name": name, "password": PASSWORD}
        answers[name] = (await browser.post("/sign-in", data=form)).status_code

    assert answers == {"ada": 401, "cyd": 303, "nobody": 401}


async def test_a_program_is_signed_in_through_the_provider(sign_on: SignOn) -> None:
    browser, program = sign_on.browser(), sign_on.browser()
    codes = (await program.post("/api/cli/device/code", json={"scope": "read"})).json()

    asked = await browser.get("/device", params={"user_code": codes["user_code"]})
    sign_in_page = await browser.get(asked.headers["location"])
    start = sign_in_page.text.partition('href="/sign-in/oidc')[2].partition('"')[0]
    left = await browser.get(f"/sign-in/oidc{start}")
    back = await browser.get(sign_on.provider.authorize(left.headers["location"]))
    page = await browser.get(back.headers["location"])
    form = {
        "csrf_token": csrf_in(page), "user_code": codes["user_code"], "ruling": "approve",
    }  # fmt: skip
    await browser.post("/device", data=form)
    token = await program.post(
        "/api/cli/device/token",
        json={
            "device_code": codes["device_code"],
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        },
    )

    headers = {"Authorization": f"Bearer {token.json()['access_token']}"}
    account = await program.get("/api/v1/account", headers=headers)
    assert account.json()["name"] == "ada"

"""The second factor of users: set up, sign in, recovery, reset, and what staff may do without."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.people import PASSWORD, a_user, csrf_in, let_in
from tests.unit.web.conftest import HTML
from vskill_platform.access.one_time_links import invite_user
from vskill_platform.access.second_factor.factors import reset_second_factor
from vskill_platform.access.second_factor.totp import current_step, totp_code
from vskill_platform.access.sessions import list_open_sessions
from vskill_platform.access.tokens import add_token
from vskill_platform.access.users import find_user
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.second_factor_store import get_second_factor

_KEY = re.compile(r"<code tabindex=\"0\">([A-Z2-7]{32})</code>")
_RECOVERY = re.compile(r"(?:[a-z2-9]{4}-){3}[a-z2-9]{4}")
SECURITY, STEP = "/account/security", "/sign-in/second"


class App:
    """The authenticator app of a user."""

    def __init__(self, secret: str, clock: ManualClock) -> None:
        self.secret, self.clock = secret, clock

    def code(self) -> str:
        """Return the next code; the one before was used."""
        self.clock.advance(seconds=30)
        return self.current()

    def current(self) -> str:
        return totp_code(self.secret, current_step(self.clock.now()))

    def wrong(self) -> str:
        """Return a code that is not valid now, whatever the secret is."""
        here = current_step(self.clock.now())
        valid = {totp_code(self.secret, here + step) for step in range(-2, 3)}
        return next(code for code in map(str, range(100_000, 100_010)) if code not in valid)


async def post(browser: AsyncClient, path: str, page: Response, **fields: str) -> Response:
    return await browser.post(path, data={"csrf_token": csrf_in(page), **fields})


async def set_up(browser: AsyncClient, clock: ManualClock) -> tuple[App, list[str]]:
    """Set up the second factor of the signed-in user; return the app and the recovery codes."""
    page = await browser.get(SECURITY)
    shown = await post(browser, SECURITY, page, act="begin", password=PASSWORD)
    app = App(_KEY.findall(shown.text)[0], clock)
    done = await post(browser, SECURITY, shown, act="confirm", code=app.code())
    assert done.status_code == 200, done.text
    return app, _RECOVERY.findall(done.text.partition("data-copy")[2])


async def enter_password(browser: AsyncClient, back: str = "/") -> Response:
    page = await browser.get("/sign-in")
    form = {"csrf_token": csrf_in(page), "name": "ada", "password": PASSWORD, "next": back}
    return await browser.post("/sign-in", data=form)


async def enter_code(browser: AsyncClient, code: str) -> Response:
    return await post(browser, STEP, await browser.get(STEP), code=code)


class Office:
    def __init__(self, env: WorkerEnv) -> None:
        self.env = env

    def browser(self) -> AsyncClient:
        transport = ASGITransport(cast("Any", an_app(self.env)))
        return AsyncClient(transport=transport, base_url="http://registry", headers=HTML)


@pytest.fixture
async def office(bound: WorkerEnv) -> Office:
    return Office(bound)


@pytest.fixture
async def strict(bound: WorkerEnv) -> AsyncIterator[Office]:
    """A registry whose staff need a second factor."""
    settings = msgspec.structs.replace(bound.settings, second_factor="staff")
    env = replace(bound, settings=settings)
    token = worker_env_storage.set(env)
    yield Office(env)
    worker_env_storage.reset(token)


async def test_a_user_signs_in_with_password_and_code(office: Office, clock: ManualClock) -> None:
    ada, browser = await a_user(), office.browser()
    await let_in(browser, ada)
    app, codes = await set_up(browser, clock)
    other = office.browser()

    asked = await enter_password(other, "/account")
    before = await other.get("/account")
    page = await other.get(STEP)
    wrong = await enter_code(other, app.wrong())
    done = await enter_code(other, app.code())

    assert len(codes) == 10
    assert (asked.status_code, asked.headers["location"]) == (303, STEP)
    assert before.status_code == 303
    assert "ada" in page.text
    assert (wrong.status_code, "The code is wrong" in wrong.text) == (401, True)
    assert (done.status_code, done.headers["location"]) == (303, "/account")
    assert (await other.get("/account")).status_code == 200
    (first, second) = await list_open_sessions(ada)
    assert first.has_second_factor
    assert second.has_second_factor


async def test_the_picture_is_made_here_and_has_no_style(office: Office) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    page = await browser.get(SECURITY)

    shown = await post(browser, SECURITY, page, act="begin", password=PASSWORD)

    svg = shown.text.partition("<svg ")[2].partition("</svg>")[0]
    picture = shown.text.partition('aria-label="QR code')[2].partition("</div>")[0]
    assert svg
    assert "<path" in picture
    assert "style=" not in picture
    assert shown.headers["cache-control"] == "no-store"


async def test_setting_it_up_needs_the_password_and_a_right_code(office: Office) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    page = await browser.get(SECURITY)

    unknown = await post(browser, SECURITY, page, act="begin", password="wrong password")
    early = await post(browser, SECURITY, page, act="confirm", code="123456")
    shown = await post(browser, SECURITY, page, act="begin", password=PASSWORD)
    wrong = await post(browser, SECURITY, shown, act="confirm", code="12345x")

    assert [one.status_code for one in (unknown, early, shown, wrong)] == [400, 400, 200, 400]
    assert await get_second_factor("ada") is None


async def test_a_code_is_not_accepted_twice(office: Office, clock: ManualClock) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    app, _ = await set_up(browser, clock)
    first, second = office.browser(), office.browser()
    await enter_password(first)
    await enter_password(second)
    code = app.code()

    answers = [(await enter_code(one, code)).status_code for one in (first, second)]

    assert answers == [303, 401]


async def test_a_recovery_code_works_once(office: Office, clock: ManualClock) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    _, codes = await set_up(browser, clock)
    answers = []

    for typed in (codes[0].upper().replace("-", " "), codes[0], codes[1]):
        one = office.browser()
        await enter_password(one)
        answers.append((await enter_code(one, typed)).status_code)

    stored = await get_second_factor("ada")
    assert answers == [303, 401, 303]
    assert stored
    assert len(stored.record.recovery) == 8
    assert codes[2] not in repr(stored.record)
    actions = [one.action for one in (await list_audit()).records]
    assert actions.count("user recovery-code") == 2


async def test_new_recovery_codes_replace_the_old_ones(office: Office, clock: ManualClock) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    app, codes = await set_up(browser, clock)
    page = await browser.get(SECURITY)

    done = await post(browser, SECURITY, page, act="recovery", code=app.code())
    other = office.browser()
    await enter_password(other)
    old = await enter_code(other, codes[0])
    new = await enter_code(other, _RECOVERY.findall(done.text.partition("data-copy")[2])[0])

    assert [one.status_code for one in (done, old, new)] == [200, 401, 303]


async def test_five_wrong_codes_end_the_sign_in(office: Office, clock: ManualClock) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    app, _ = await set_up(browser, clock)
    other = office.browser()
    await enter_password(other)
    page = await other.get(STEP)

    answers = [await post(other, STEP, page, code=app.wrong()) for _ in range(5)]
    after = await post(other, STEP, page, code=app.code())

    assert [one.status_code for one in answers] == [401] * 5
    assert ("Sign in again" in answers[-1].text, after.status_code) == (True, 401)


async def test_codes_are_limited_like_passwords(office: Office, clock: ManualClock) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    app, _ = await set_up(browser, clock)
    statuses = []

    for _ in range(3):
        other = office.browser()
        statuses.append((await enter_password(other)).status_code)
        page = await other.get(STEP)
        if page.status_code == 200:
            statuses += [
                (await post(other, STEP, page, code=app.wrong())).status_code for _ in range(4)
            ]

    assert 429 in statuses
    assert statuses.count(401) <= 10


async def test_a_sign_in_that_waits_for_its_code_expires(
    office: Office, clock: ManualClock
) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    await set_up(browser, clock)
    late = office.browser()
    await enter_password(late)
    clock.advance(minutes=6)

    page = await late.get(STEP)

    assert (page.status_code, page.headers["location"]) == (303, "/sign-in")


async def test_a_reset_link_does_not_replace_the_second_factor(
    office: Office, clock: ManualClock
) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    app, _ = await set_up(browser, clock)
    key = (await invite_user("ada", actor="cyd")).partition("key=")[2]
    other = office.browser()
    page = await other.get("/welcome", params={"key": key})
    new = "another horse battery staple"

    asked = await post(other, "/welcome", page, key=key, password=new, password_again=new)
    before = (await other.get("/account")).status_code
    done = await enter_code(other, app.code())

    assert (asked.status_code, asked.headers["location"], before) == (303, STEP, 303)
    assert (done.status_code, done.headers["location"]) == (303, "/account?done=password")


async def test_it_is_removed_with_a_code_or_reset_by_an_admin(
    office: Office, clock: ManualClock
) -> None:
    browser, admin = office.browser(), office.browser()
    await let_in(browser, await a_user())
    await let_in(admin, await a_user(Role.ADMIN))
    app, _ = await set_up(browser, clock)
    page = await browser.get(SECURITY)

    wrong = await post(browser, SECURITY, page, act="remove", code=app.wrong())
    removed = await post(browser, SECURITY, page, act="remove", code=app.code())
    without = await enter_password(office.browser())
    clock.advance(minutes=1)
    await set_up(browser, clock)
    people = await admin.get("/admin/people")
    reset = await post(admin, "/admin/people/ada/reset-factor", people, reason="lost phone")
    again = await post(admin, "/admin/people/ada/reset-factor", people, reason="lost phone")

    assert [one.status_code for one in (wrong, removed, reset, again)] == [400, 303, 303, 303]
    assert without.headers["location"] == "/"
    assert "Reset second factor" in people.text
    assert await get_second_factor("ada") is None
    found = sorted(
        (one.actor, one.outcome, one.reason)
        for one in (await list_audit()).records
        if one.action == "user second-factor"
    )
    assert found == [
        ("ada", "off", "own choice"),
        ("ada", "on", ""),
        ("ada", "on", ""),
        ("cyd", "off", "lost phone"),
    ]


async def test_api_tokens_are_not_affected(office: Office, clock: ManualClock) -> None:
    browser = office.browser()
    await let_in(browser, await a_user())
    token = await add_token("ada", "ci", [Scope.READ], actor="ada")
    await set_up(browser, clock)

    answer = await office.browser().get(
        "/api/v1/account", headers={"Authorization": f"Bearer {token.text}"}
    )

    assert answer.json()["name"] == "ada"


async def test_staff_without_a_second_factor_have_the_rights_of_publishers(
    strict: Office, clock: ManualClock
) -> None:
    cyd, browser = await a_user(Role.ADMIN), strict.browser()
    await let_in(browser, cyd)
    page = await browser.get("/account")

    refused = await browser.get("/admin/people")
    token = await post(browser, "/account/tokens", page, label="x", scope="admin", days="7")
    app, _ = await set_up(browser, clock)
    allowed = await browser.get("/admin/people")
    kept = await post(
        browser, SECURITY, await browser.get(SECURITY), act="remove", code=app.wrong()
    )

    assert (refused.status_code, "second factor" in refused.text) == (403, True)
    assert "Your role requires a second factor" in page.text
    assert (token.status_code, "with a second factor first" in token.text) == (400, True)
    assert allowed.status_code == 200
    assert (kept.status_code, "Your role requires" in kept.text) == (400, True)
    assert (await find_user("cyd")).role is Role.ADMIN


async def test_staff_who_sign_in_with_it_have_their_rights(
    strict: Office, clock: ManualClock
) -> None:
    browser, other = strict.browser(), strict.browser()
    await let_in(browser, await a_user(Role.ADMIN, "ada"))
    app, _ = await set_up(browser, clock)

    await enter_password(other, "/admin/people")
    done = await enter_code(other, app.code())
    page = await other.get("/admin/people")
    await reset_second_factor("ada", actor="operator")

    assert (done.headers["location"], page.status_code) == ("/admin/people", 200)


async def test_a_session_without_it_and_the_password_cannot_replace_the_second_factor(
    office: Office, clock: ManualClock
) -> None:
    ada, mine, stolen = await a_user(Role.PUBLISHER), office.browser(), office.browser()
    await let_in(mine, ada)
    app, _ = await set_up(mine, clock)
    await let_in(stolen, ada)

    page = await stolen.get(SECURITY)
    headers, path = {"X-CSRF-Token": csrf_in(page)}, "/api/v1/account/second-factor"
    begun = await stolen.post(f"{path}/totp", json={"password": PASSWORD}, headers=headers)
    confirmed = await stolen.post(f"{path}/confirm", json={"code": "123456"}, headers=headers)
    refused = await post(stolen, SECURITY, page, act="begin", password=PASSWORD)
    key = await post(stolen, "/account/passkeys", page, act="remove", id="x", password=PASSWORD)

    assert (begun.status_code, confirmed.status_code) == (403, 403)
    assert (refused.status_code, key.status_code) == (400, 400)
    assert "sign in again with your second factor first" in refused.text
    assert "sign in again with your second factor first" in key.text
    factor = await get_second_factor("ada")
    assert factor
    assert factor.record.totp_secret == app.secret


async def test_turning_it_on_ends_all_other_sessions_of_the_user(
    office: Office, clock: ManualClock
) -> None:
    ada, ben = await a_user(), await a_user(Role.READER)
    here, elsewhere, of_ben = office.browser(), office.browser(), office.browser()
    await let_in(here, ada)
    await let_in(elsewhere, ada)
    await let_in(of_ben, ben)

    app, _ = await set_up(here, clock)
    third = office.browser()
    await enter_password(third)
    await enter_code(third, app.code())
    await set_up(here, clock)  # another app: the sessions have a second factor already

    answers = [await one.get("/account") for one in (here, elsewhere, of_ben, third)]
    assert [one.status_code for one in answers] == [200, 303, 200, 200]


async def test_all_of_it_works_over_the_api(office: Office, clock: ManualClock) -> None:
    browser, path = office.browser(), "/api/v1/account/second-factor"
    await let_in(browser, await a_user())
    headers = {"X-CSRF-Token": csrf_in(await browser.get(SECURITY))}

    async def send(name: str, **data: str) -> Response:
        return await browser.post(f"{path}/{name}", json=data, headers=headers)

    before = (await browser.get(path)).json()
    wrong = await send("totp", password="not it")
    begun = await send("totp", password=PASSWORD)
    app = App(begun.json()["secret"], clock)
    refused = await send("confirm", code=app.wrong())
    confirmed = await send("confirm", code=app.code())
    shown = await browser.get(path)
    renewed = await send("recovery-codes", code=app.code())
    old = await send("remove", code=confirmed.json()["recoveryCodes"][0])
    removed = await send("remove", code=renewed.json()["recoveryCodes"][0])

    assert before == {
        "hasApp": False,
        "passkeys": [],
        "addedAt": None,
        "recoveryCodesLeft": 0,
        "isRequired": False,
    }
    assert begun.json()["uri"].startswith("otpauth://totp/")
    assert begun.headers["cache-control"] == confirmed.headers["cache-control"] == "no-store"
    assert [one.status_code for one in (wrong, refused, old)] == [400, 400, 400]
    assert (shown.json()["hasApp"], shown.json()["recoveryCodesLeft"]) == (True, 10)
    assert app.secret not in shown.text
    assert removed.status_code == 200
    assert await get_second_factor("ada") is None

"""The page behind a one-time link."""

from urllib.parse import urlsplit

from httpx import AsyncClient

from tests.people import PASSWORD, a_user, csrf_in
from vskill_platform.access.first_admin import invite_first_admin, link_file
from vskill_platform.access.one_time_links import invite_user
from vskill_platform.access.second_factor.sign_in_step import sign_in
from vskill_platform.access.users import find_user
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv


def path_of(url: str | None) -> str:
    assert url
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


async def follow(browser: AsyncClient, path: str, **form: str) -> int:
    page = await browser.get(path)
    if page.status_code != 200:
        return page.status_code
    both = {"password": PASSWORD, "password_again": PASSWORD}
    key = path.partition("key=")[2]
    answer = await browser.post(
        "/welcome", data={"csrf_token": csrf_in(page), "key": key, **both, **form}
    )
    return answer.status_code


async def test_the_first_admin_is_made_and_signed_in_and_the_file_is_gone(
    browser: AsyncClient, bound: WorkerEnv
) -> None:
    path = path_of(await invite_first_admin(bound.settings))
    file = link_file(bound.settings)
    assert file
    assert file.exists()

    status = await follow(browser, path, name="cyd")

    assert status == 303
    assert not file.exists()
    assert (await find_user("cyd")).role is Role.ADMIN
    assert "Welcome! You are signed in." in (await browser.get("/account?done=welcome")).text


async def test_a_second_visit_finds_nothing(browser: AsyncClient, bound: WorkerEnv) -> None:
    path = path_of(await invite_first_admin(bound.settings))
    await follow(browser, path, name="cyd")

    page = await browser.get(path)

    assert page.status_code == 404
    assert "already used" in page.text


async def test_a_mistake_can_be_corrected(browser: AsyncClient, bound: WorkerEnv) -> None:
    path = path_of(await invite_first_admin(bound.settings))

    weak = await follow(browser, path, name="cyd", password="short", password_again="short")
    unlike = await follow(browser, path, name="cyd", password_again="something else")
    good = await follow(browser, path, name="cyd")

    assert (weak, unlike, good) == (400, 400, 303)


async def test_the_key_does_not_leave_with_a_link_and_is_not_kept(
    browser: AsyncClient, bound: WorkerEnv
) -> None:
    page = await browser.get(path_of(await invite_first_admin(bound.settings)))

    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"


async def test_a_user_chooses_a_password_and_keeps_name_and_role(browser: AsyncClient) -> None:
    await a_user(Role.READER)
    path = path_of(await invite_user("ben", actor="cyd"))
    new = "another long password"

    status = await follow(browser, path, name="cyd", password=new, password_again=new)

    assert status == 303
    assert (await sign_in("ben", new)).user.role is Role.READER


async def test_a_reset_is_not_called_a_welcome(browser: AsyncClient) -> None:
    await a_user(Role.READER)
    path = path_of(await invite_user("ben", actor="cyd"))

    page = await browser.get(path)
    answer = await browser.post(
        "/welcome",
        data={
            "csrf_token": csrf_in(page),
            "key": path.partition("key=")[2],
            "password": PASSWORD,
            "password_again": PASSWORD,
        },
    )

    assert "<h1>Choose a new password</h1>" in page.text
    assert answer.headers["location"] == "/account?done=password"


async def test_a_mistake_is_reported_in_a_sentence(browser: AsyncClient) -> None:
    await a_user(Role.READER)
    path = path_of(await invite_user("ben", actor="cyd"))
    form = {"csrf_token": csrf_in(await browser.get(path)), "key": path.partition("key=")[2]}

    answer = await browser.post("/welcome", data={**form, "password": "a", "password_again": "b"})

    assert ">The passwords do not match<" in answer.text


async def test_a_link_cannot_be_guessed_all_day(browser: AsyncClient, bound: WorkerEnv) -> None:
    token = csrf_in(await browser.get("/sign-in"))
    form = {"csrf_token": token, "key": "x"}

    answers = [(await browser.post("/welcome", data=form)).status_code for _ in range(11)]

    assert answers == [404] * 10 + [429]


async def test_a_used_link_is_not_called_a_misspelling(browser: AsyncClient) -> None:
    page = await browser.get("/welcome?key=used")

    assert page.status_code == 404
    assert "<h1>Link not valid</h1>" in page.text
    assert "already used or is older than 24 hours" in page.text
    assert "Check the spelling" not in page.text

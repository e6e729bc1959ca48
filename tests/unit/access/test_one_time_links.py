"""One-time links: used twice, expired, used concurrently, or created for someone else."""

import asyncio
import stat
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.people import PASSWORD, a_user
from vskill_platform.access.first_admin import forget_link, invite_first_admin, link_file
from vskill_platform.access.one_time_links import (
    invite_admin,
    invite_user,
    read_one_time_link,
    use_one_time_link,
)
from vskill_platform.access.second_factor.sign_in_step import sign_in
from vskill_platform.access.sessions import begin_session, find_session
from vskill_platform.access.users import disable_user, find_user
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.user import Role, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.settings import Settings
from vskill_platform.stores.user_store import list_users


def key_in(url: str) -> str:
    (key,) = parse_qs(urlsplit(url).query)["key"]
    return key


async def test_the_first_start_makes_a_link_that_makes_an_admin(bound: WorkerEnv) -> None:
    url = await invite_first_admin(bound.settings)
    assert url
    assert url.startswith("http://127.0.0.1:8000/welcome?key=")

    user = await use_one_time_link(key_in(url), name="Cyd", password=PASSWORD)

    assert (user.name, user.role) == ("cyd", Role.ADMIN)
    assert (await sign_in("cyd", PASSWORD)).user == user
    assert await invite_first_admin(bound.settings) is None


@pytest.mark.usefixtures("database_file")
async def test_the_link_is_in_a_file_that_only_its_owner_can_read(bound: WorkerEnv) -> None:
    path = link_file(bound.settings)
    assert path
    path.write_text("an older one that everybody can read")
    path.chmod(0o644)

    url = await invite_first_admin(bound.settings)

    assert path.read_text() == f"{url}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.parent == Path(bound.settings.database_url.removeprefix("sqlite:///")).parent
    await forget_link(bound.settings)
    await forget_link(bound.settings)
    assert not path.exists()


@pytest.mark.usefixtures("database_file")
async def test_the_file_is_beside_the_database_itself_if_that_is_named_by_a_link(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    (tmp_path / "named.db").symlink_to(tmp_path / "real.db")
    settings = msgspec.structs.replace(
        bound.settings, database_url=f"sqlite:///{tmp_path}/named.db"
    )

    assert link_file(settings) == tmp_path / "real.db.admin-link"


async def test_the_file_is_not_written_through_a_link(bound: WorkerEnv, tmp_path: Path) -> None:
    path, elsewhere = link_file(bound.settings), tmp_path / "elsewhere"
    assert path
    elsewhere.write_text("mine")
    path.symlink_to(elsewhere)

    await invite_first_admin(bound.settings)

    assert elsewhere.read_text() == "mine"
    assert not path.is_symlink()


async def test_a_start_with_an_admin_removes_what_an_earlier_one_left(bound: WorkerEnv) -> None:
    await invite_first_admin(bound.settings)
    await a_user(Role.ADMIN)

    assert await invite_first_admin(bound.settings) is None

    path = link_file(bound.settings)
    assert path
    assert not path.exists()


async def test_a_link_is_good_once(bound: WorkerEnv) -> None:
    key = key_in(await invite_admin(actor="test"))
    await read_one_time_link(key)
    await read_one_time_link(key)
    await use_one_time_link(key, name="cyd", password=PASSWORD)

    with pytest.raises(NotFound):
        await use_one_time_link(key, name="dan", password=PASSWORD)
    with pytest.raises(NotFound):
        await read_one_time_link(key)

    assert [user.name for user in await list_users()] == ["cyd"]


async def test_a_link_followed_by_many_at_once_works_once(bound: WorkerEnv) -> None:
    key = key_in(await invite_admin(actor="test"))

    outcomes = await asyncio.gather(
        *(use_one_time_link(key, name=f"cyd{n}", password=PASSWORD) for n in range(4)),
        return_exceptions=True,
    )

    assert sum(isinstance(outcome, User) for outcome in outcomes) == 1
    assert len(await list_users()) == 1


async def test_every_start_has_a_link_of_its_own_and_the_first_admin_ends_all(
    bound: WorkerEnv,
) -> None:
    first, second = [await invite_first_admin(bound.settings) for _ in range(2)]
    assert first
    assert second
    await read_one_time_link(key_in(first))

    await use_one_time_link(key_in(second), name="cyd", password=PASSWORD)

    with pytest.raises(NotFound):
        await use_one_time_link(key_in(first), name="dan", password=PASSWORD)


async def test_a_link_for_the_first_admin_is_no_good_once_there_is_one(bound: WorkerEnv) -> None:
    key = key_in(await invite_admin(actor="serve", is_first=True))
    await a_user(Role.ADMIN)

    with pytest.raises(NotFound):
        await use_one_time_link(key, name="dan", password=PASSWORD)


async def test_a_link_grows_old(bound: WorkerEnv, clock: ManualClock) -> None:
    key = key_in(await invite_admin(actor="test"))
    clock.advance(hours=23, minutes=59)
    await read_one_time_link(key)
    clock.advance(minutes=2)

    with pytest.raises(NotFound, match="24 hours"):
        await use_one_time_link(key, name="cyd", password=PASSWORD)


@pytest.mark.parametrize(
    ("name", "password"),
    [("cyd", "short"), ("not a name", PASSWORD), ("ada", PASSWORD)],
    ids=["weak", "no name", "taken"],
)
async def test_a_mistake_does_not_use_it_up(bound: WorkerEnv, name: str, password: str) -> None:
    await a_user(name="ada")
    key = key_in(await invite_admin(actor="test"))

    with pytest.raises(InvalidInput):
        await use_one_time_link(key, name=name, password=password)

    assert (await use_one_time_link(key, name="cyd", password=PASSWORD)).role is Role.ADMIN


async def test_a_user_chooses_a_password_by_a_link_and_is_signed_out_everywhere(
    bound: WorkerEnv,
) -> None:
    user = await a_user(name="ada")
    opened = await begin_session(user)
    key = key_in(await invite_user("ada", actor="cyd"))

    await use_one_time_link(key, name="somebody-else", password="another long password")

    assert await find_session(opened.secret) is None
    assert (await sign_in("ada", "another long password")).user.role is Role.PUBLISHER
    assert [item.name for item in await list_users()] == ["ada"]


async def test_a_newer_link_ends_the_older_one(bound: WorkerEnv) -> None:
    await a_user(name="ada")
    older, newer = [key_in(await invite_user("ada", actor="cyd")) for _ in range(2)]

    with pytest.raises(NotFound):
        await read_one_time_link(older)
    assert (await read_one_time_link(newer)).user == "ada"


async def test_a_link_does_not_work_for_a_disabled_user(bound: WorkerEnv) -> None:
    await a_user(name="ada")
    await disable_user("ada", actor="cyd")
    key = key_in(await invite_user("ada", actor="cyd"))

    with pytest.raises(NotAllowed):
        await use_one_time_link(key, name="ada", password="another long password")

    assert (await find_user("ada")).is_disabled


@pytest.mark.parametrize("key", ["", "x", "../../etc", "a" * 5000])
async def test_an_invalid_key_is_refused(bound: WorkerEnv, key: str) -> None:
    with pytest.raises(NotFound):
        await read_one_time_link(key)


def test_a_database_that_is_no_file_has_no_file_beside_it() -> None:
    assert link_file(Settings(database_url="postgresql://db/skills")) is None


def test_the_link_of_a_database_server_is_in_the_cache_folder(tmp_path: Path) -> None:
    settings = Settings(database_url="postgresql://db/skills", cache_dir=str(tmp_path / "cache"))

    path = link_file(settings)

    assert path is not None
    assert path.parent == tmp_path / "cache"
    assert path.name.endswith(".admin-link")


async def test_the_address_that_others_know_is_in_the_link(bound: WorkerEnv) -> None:
    settings = msgspec.structs.replace(bound.settings, public_url="https://skills.example")
    other = replace(bound, settings=settings)

    url = await run_with_worker_env(other, lambda: invite_admin(actor="test"))

    assert url.startswith("https://skills.example/welcome?key=")

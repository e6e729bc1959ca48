"""A namespace that loses its last owner: no private skill ends up in an open namespace."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.people import a_user
from tests.probes import overtaken
from tests.unit.publish.versions.test_move_skill import prepare
from tests.unit.web.pages_cast import put_skill
from vskill_platform.access.delete_account import delete_account
from vskill_platform.access.namespaces import add_owner, remove_owner
from vskill_platform.errors import Overtaken
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.source import git_source
from vskill_platform.model.user import Role
from vskill_platform.publish.versions.move_skill import transfer_skill
from vskill_platform.publish.versions.set_visibility import set_visibility
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.skill_store import get_skill, list_slugs

TIDY, SECRET = "ada/notes/tidy", "cyd/notes/secret"
Change = Callable[[], Awaitable[object]]
OPENINGS: dict[str, Change] = {
    "is removed": lambda: remove_owner("ada", "ada", actor="cyd"),
    "is deleted": lambda: delete_account("ada", actor="cyd", reason="left"),
}


@pytest.fixture
def arrivals(bound: WorkerEnv, tmp_path: Path) -> dict[str, Change]:
    async def publish() -> None:
        source = git_source("https://github.com/ada/plans")
        prepared = await prepare(tmp_path / "plans", source, "plans", is_private=True)
        if await commit(prepared.operations) is None:
            raise Overtaken("processed again")

    return {
        "hidden": lambda: set_visibility(TIDY, is_private=True, actor="ada"),
        "transferred": lambda: transfer_skill(SECRET, "ada", actor="cyd"),
        "published": publish,
    }


@pytest.fixture(autouse=True)
async def _owners(bound: WorkerEnv, tmp_path: Path) -> None:
    """Ada is the only owner of ada, which has no private skill."""
    await a_user(Role.PUBLISHER, name="ada")
    await a_user(Role.ADMIN, name="cyd")
    for name in ("ada", "cyd"):
        await add_owner(name, name, actor="test")
    await put_skill(bound, tmp_path, TIDY)
    repo = "https://github.com/cyd/notes"
    await put_skill(
        bound,
        tmp_path,
        SECRET,
        is_private=True,
        repo_url=repo,
        publisher="cyd",
        source_key=f"{repo}#",
    )


async def private_in_open_namespaces() -> list[str]:
    found = []
    for slug in await list_slugs():
        stored = await get_skill(slug)
        assert stored
        namespace = await get_namespace(namespace_of_skill(stored.record))
        if stored.record.is_private and not namespace.record.is_owned:
            found.append(slug)
    return found


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("arrival", ["hidden", "transferred", "published"])
async def test_a_skill_becomes_private_while_the_last_owner(
    bound: WorkerEnv, arrivals: dict[str, Change], arrival: str, opening: str
) -> None:
    refused = await overtaken(bound, OPENINGS[opening], arrivals[arrival])

    assert refused == []
    assert await private_in_open_namespaces() == []


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("arrival", ["hidden", "transferred", "published"])
async def test_the_last_owner_goes_while_a_skill_is(
    bound: WorkerEnv, arrivals: dict[str, Change], arrival: str, opening: str
) -> None:
    refused = await overtaken(bound, arrivals[arrival], OPENINGS[opening])

    assert len(refused) == 1  # it would be private in a namespace that is open to everybody
    assert await private_in_open_namespaces() == []

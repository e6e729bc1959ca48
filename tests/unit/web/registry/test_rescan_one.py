"""Rescans of one skill over the API: who may ask, and what the client reads."""

from pathlib import Path

import pytest

from tests.git_server import GitServer
from tests.unit.web.api_cast import open_registry, token_of
from tests.unit.web.pages_cast import put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.user import Role, Scope
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.rescan_store import list_one_rescan_requests

pytestmark = pytest.mark.usefixtures("one_loop")
WHERE = "/api/v1/skills/sk_published_ada/notes/tidy/rescan"


async def test_owners_and_reviewers_have_a_skill_rescanned(
    git_server: GitServer, tmp_path: Path
) -> None:
    async with open_registry(bound_env()) as registry:
        await put_skill(registry.env, tmp_path)
        ada = await token_of(Role.PUBLISHER, Scope.MANAGE, name="ada")
        ben = await token_of(Role.PUBLISHER, Scope.MANAGE, name="ben")
        await add_owner("ada", "ada", actor="test")

        asked = await registry.post(WHERE, headers=ada)
        again = await registry.post(WHERE, headers=await token_of(Role.REVIEWER))
        other = await registry.post(WHERE, headers=ben)
        nobody = await registry.post(WHERE)
        unknown = await registry.post("/api/v1/skills/no/such/skill/rescan", headers=ada)

        assert asked.status_code == 202
        assert asked.json()["jobId"] == again.json()["jobId"]
        assert [other.status_code, nobody.status_code, unknown.status_code] == [403, 401, 404]
        (stored,) = (await list_one_rescan_requests()).values()
        assert (stored.slug, stored.by) == ("ada/notes/tidy", "ada")

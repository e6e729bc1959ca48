"""Groups of submitters in the queue, and limits for addresses without a sign-in."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.unit.web.api_cast import Registry, open_registry, token_of
from vskill_platform.engines.operations import Send
from vskill_platform.engines.ports import MAX_POSITION
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.web.submissions.submit_limits import group_of

MANY = "/api/v1/submissions"
ONE = "https://git.example/ada/skills"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    """A registry in which one address may have three submissions in the queue."""
    env = replace(bound, settings=msgspec.structs.replace(bound.settings, anonymous_pending=3))
    token = worker_env_storage.set(env)
    async with open_registry(env) as opened:
        yield opened
    worker_env_storage.reset(token)


async def test_one_address_without_a_sign_in_has_a_share_of_the_queue(
    registry: Registry,
) -> None:
    taken = [
        await registry.post(MANY, json={"repoUrl": ONE, "skillPath": f"skills/{n}"})
        for n in range(3)
    ]
    refused = await registry.post(MANY, json={"repoUrl": ONE, "skillPath": "skills/3"})
    signed_in = await registry.post(
        MANY,
        json={"repoUrl": ONE, "skillPath": "skills/4"},
        headers=await token_of(Role.PUBLISHER),
    )

    assert [answer.status_code for answer in taken] == [201, 201, 201]
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert "you have 3 submissions in the queue" in refused.json()["detail"]
    assert "sign in" in refused.json()["detail"]
    assert signed_in.status_code == 201


async def test_messages_of_one_request_are_of_one_group_and_fetched_from_its_host(
    registry: Registry,
) -> None:
    ada = await token_of(Role.PUBLISHER)
    for path in ("skills/a", "skills/b"):
        await registry.post(MANY, json={"repoUrl": ONE, "skillPath": path}, headers=ada)

    deliveries = await registry.env.engine.queue.receive(9, lease=registry.env.settings.lease)

    assert {(one.group, one.resource) for one in deliveries} == {("ada", "https://git.example:443")}


def test_an_address_is_a_group_of_its_own_and_cannot_be_read_from_it() -> None:
    groups = {
        address: group_of(Visitor(address=address))
        for address in ("203.0.113.7", "203.0.113.8", "2001:db8::1", "2001:db8::2", "2001:db8:1::1")
    }

    assert groups["2001:db8::1"] == groups["2001:db8::2"]
    assert len(set(groups.values())) == 4
    assert not any("203" in group or "2001:db8" in group for group in groups.values())


async def test_a_position_beyond_the_bound_is_shown_as_a_minimum(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER)
    flood = [Send(b"", group="ada") for _ in range(MAX_POSITION + 10)]
    await registry.env.engine.commit(flood)

    answer = await registry.post(MANY, json={"repoUrl": ONE, "skillPath": "last"}, headers=ada)
    detail = await registry.json(f"/submissions/{answer.json()['id']}")
    page = await registry.get(f"/submissions/{answer.json()['id']}")
    queue = await registry.get("/queue")

    for told in (answer.json(), detail):
        assert (told["position"], told["positionIsMinimum"]) == (MAX_POSITION + 1, True)
    assert "More than <b>1,000</b> submissions are ahead of it in the queue." in page.text
    assert "after 1,000 others" in queue.text

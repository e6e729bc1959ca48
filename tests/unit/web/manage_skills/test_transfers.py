"""Rename and transfer over the API and on pages: who may, and who has to accept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.probes import overtaken
from tests.unit.web.admin_cast import Operator
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from tests.unit.web.pages_cast import put_skill
from vskill_platform.access.namespaces import add_owner, remove_owner
from vskill_platform.access.users import find_user
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.transfer_store import transfer_id
from vskill_platform.web.manage_skills.transfers import accept_transfer, end_transfer

SLUG = "ada/notes/tidy"

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    await put_skill(bound, tmp_path)
    async with open_registry(bound) as opened:
        yield opened


async def manager(name: str) -> dict[str, str]:
    return await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name=name)


async def test_owners_rename_and_every_old_address_leads_on(registry: Registry) -> None:
    ada, ben = await manager("ada"), await manager("ben")
    await add_owner("ada", "ada", actor="test")
    path = f"/api/v1/skills/{SLUG}"

    refused = await registry.post(f"{path}/move", json={"name": "neat"}, headers=ben)
    done = await registry.post(f"{path}/move", json={"name": "neat"}, headers=ada)
    shown = await registry.json(f"/skills/{SLUG}")
    page = await registry.get(
        f"/skills/{SLUG}/files?version=1.0.0", headers={"Accept": "text/html"}
    )
    archive = await registry.get(f"{path}/download?version=1.0.0")
    index = await registry.get(f"/s/{SLUG}/.well-known/agent-skills/index.json")
    found = await registry.json("/skills/search?q=neat")

    assert refused.status_code == 403
    assert done.json() == {"subject": "ada/notes/neat", "isDone": True, "transfer": None}
    assert shown["skill"]["slug"] == "ada/notes/neat"
    assert page.status_code == 302
    assert page.headers["location"] == "/skills/ada/notes/neat/files?version=1.0.0"
    assert (archive.status_code, index.status_code) == (200, 200)
    assert [one["slug"] for one in found["results"]] == ["ada/notes/neat"]


async def test_a_transfer_waits_until_an_owner_of_the_namespace_accepts_it(
    registry: Registry,
) -> None:
    ada, ben, cyd = [await manager(name) for name in ("ada", "ben", "cyd")]
    await add_owner("ada", "ada", actor="test")

    offered = await registry.post(
        f"/api/v1/skills/{SLUG}/move", json={"namespace": "@ben"}, headers=ada
    )
    offer = offered.json()["transfer"]
    accept = f"/api/v1/transfer-offers/{offer['id']}/accept"
    unmoved = await resolve_slug(SLUG)
    lists = [
        (await registry.get("/api/v1/transfer-offers", headers=who)).json()["transfers"]
        for who in (ada, ben, cyd)
    ]
    stranger = await registry.post(accept, headers=cyd)
    giver = await registry.post(accept, headers=ada)
    done = await registry.post(accept, headers=ben)
    twice = await registry.post(accept, headers=ben)

    assert offered.json()["isDone"] is False
    assert unmoved == SLUG
    assert [[one["canAccept"] for one in found] for found in lists] == [[False], [True], []]
    assert [one.status_code for one in (stranger, giver)] == [404, 403]
    assert (done.status_code, done.json()["subject"]) == (200, "@ben/tidy")
    assert twice.status_code == 404
    assert await resolve_slug(SLUG) == "@ben/tidy"


async def test_an_offer_ends_with_the_right_of_the_one_who_made_it(registry: Registry) -> None:
    ada, ben = await manager("ada"), await manager("ben")
    await add_owner("ada", "ada", actor="test")
    offered = await registry.post(
        f"/api/v1/skills/{SLUG}/move", json={"namespace": "@ben"}, headers=ada
    )
    await remove_owner("ada", "ada", actor="test")

    path = f"/api/v1/transfer-offers/{offered.json()['transfer']['id']}/accept"
    done = await registry.post(path, headers=ben)

    assert (done.status_code, "can no longer transfer" in done.text) == (403, True)
    assert await get_skill(SLUG)


async def test_declined_and_withdrawn_transfers_are_gone(registry: Registry) -> None:
    ada, ben = await manager("ada"), await manager("ben")
    await add_owner("ada", "ada", actor="test")
    codes = []
    for who in (ben, ada):
        offered = await registry.post(
            f"/api/v1/skills/{SLUG}/move", json={"namespace": "@ben"}, headers=ada
        )
        path = f"/api/v1/transfer-offers/{offered.json()['transfer']['id']}"
        codes.append((await registry.ask("DELETE", path, headers=who)).status_code)
        codes.append((await registry.post(f"{path}/accept", headers=ben)).status_code)

    assert codes == [200, 404, 200, 404]


async def test_owners_of_both_and_admins_transfer_at_once(registry: Registry) -> None:
    ada, cyd = await manager("ada"), await token_of(Role.ADMIN, Scope.ADMIN, name="cyd")
    for namespace in ("ada", "@acme"):
        await add_owner(namespace, "ada", actor="test")

    own = await registry.post(
        f"/api/v1/skills/{SLUG}/move", json={"namespace": "@acme"}, headers=ada
    )
    nobody = await registry.post(
        "/api/v1/skills/@acme/tidy/move", json={"namespace": "@nobody"}, headers=ada
    )
    admin = await registry.post(
        f"/api/v1/skills/{SLUG}/move", json={"namespace": "@cyd"}, headers=cyd
    )

    assert own.json()["subject"] == "@acme/tidy"
    assert (nobody.status_code, "has no owner" in nobody.text) == (404, True)
    assert admin.json()["subject"] == "@cyd/tidy"


async def test_a_namespace_goes_to_the_user_who_accepts_it(registry: Registry) -> None:
    ada, ben = await manager("ada"), await manager("ben")
    await add_owner("acme", "ada", actor="test")

    stranger = await registry.post(
        "/api/v1/namespaces/transfer", json={"namespace": "acme", "user": "ben"}, headers=ben
    )
    own = await registry.post(
        "/api/v1/namespaces/transfer", json={"namespace": "@ada", "user": "ben"}, headers=ada
    )
    leaked = await registry.post(
        "/api/v1/namespaces/transfer", json={"namespace": "acme", "user": "ben"}, headers=ada
    )
    offered = await registry.post(
        "/api/v1/namespaces/transfer",
        json={"namespace": "acme", "user": "ben"},
        headers=await browser_of(Role.PUBLISHER, name="ada"),
    )
    before = (await get_namespace("acme")).record.owners
    done = await registry.post(
        f"/api/v1/transfer-offers/{offered.json()['transfer']['id']}/accept", headers=ben
    )

    assert [one.status_code for one in (stranger, own, leaked)] == [403, 403, 403]
    assert "cannot be offered with a token" in leaked.text
    assert "belongs to the account of that name" in own.text
    assert before == ("ada",)
    assert done.status_code == 200
    assert (await get_namespace("acme")).record.owners == ("ben",)


async def test_it_all_works_on_pages(registry: Registry) -> None:
    ada = Operator(registry, await browser_of(Role.PUBLISHER, name="ada"))
    ben = Operator(registry, await browser_of(Role.PUBLISHER, name="ben"))
    for namespace in ("ada", "acme"):
        await add_owner(namespace, "ada", actor="test")

    renamed = await ada.act(f"/admin/rename/{SLUG}", name="neat")
    taken = await ada.act(f"/admin/rename/{SLUG}", name="Not A Name")
    offered = await ada.act(f"/admin/transfer/{SLUG}", namespace="@ben")
    managed = await ada.see("/admin/skills/ada/notes/neat")
    asked = await ben.see("/account")
    accepted = asked.split('name="id" value="')[1]
    done = await ben.post("/account/transfers", act="accept", id=accepted.partition('"')[0])
    given = await ada.post("/account/transfers", act="offer", namespace="acme", user="ben")
    wrong = await ada.post("/account/transfers", act="accept", id="0" * 16)

    assert "The skill is now ada/notes/neat." in renamed[1]
    assert "cannot be the name of a skill" in taken[1]
    assert "can accept the skill on their account page" in offered[1]
    assert "Offered to" in managed
    assert "The skill <b>ada/notes/neat</b>, offered to <b>@ben</b> by ada" in asked
    assert (done.status_code, done.headers["location"]) == (303, "/account?done=accepted")
    assert (given.status_code, given.headers["location"]) == (303, "/account?done=offered")
    assert wrong.status_code == 400
    assert await resolve_slug(SLUG) == "@ben/neat"


async def test_a_token_that_sees_no_private_skills_lists_no_offer_of_one(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, "@ada/secret", publisher="@ada", is_private=True)
    ada, ben = await manager("ada"), await manager("ben")
    less = [await token_of(Role.PUBLISHER, Scope.MANAGE, name=name) for name in ("ada", "ben")]

    offered = await registry.post(
        "/api/v1/skills/@ada%2Fsecret/move", json={"namespace": "@ben"}, headers=ada
    )
    path = f"/api/v1/transfer-offers/{offered.json()['transfer']['id']}"
    lists = [
        (await registry.get("/api/v1/transfer-offers", headers=who)).json()["transfers"]
        for who in (ada, ben, *less)
    ]
    ended = [await registry.ask("DELETE", path, headers=who) for who in (*less, ben)]

    assert [len(found) for found in lists] == [1, 1, 0, 0]
    assert [one.status_code for one in ended] == [404, 404, 200]


async def test_a_reviewer_cannot_take_a_skill_of_others(registry: Registry) -> None:
    ada = await manager("ada")
    rae = await token_of(Role.REVIEWER, Scope.READ, Scope.REVIEW)
    await add_owner("ada", "ada", actor="test")
    page = await browser_of(Role.REVIEWER, name="rae")

    taken = await registry.post(
        f"/api/v1/skills/{SLUG}/move", json={"namespace": "@rae"}, headers=rae
    )
    given = await registry.post(
        f"/api/v1/skills/{SLUG}/move", json={"namespace": "@ada"}, headers=rae
    )
    shown = await registry.get(f"/admin/skills/{SLUG}", headers=page)
    own = await registry.post(
        f"/api/v1/skills/{SLUG}/move", json={"namespace": "@rae"}, headers=ada
    )

    assert [one.status_code for one in (taken, given, own)] == [403, 403, 200]
    assert "only an owner of its namespace or an admin can transfer" in taken.json()["detail"]
    assert "/admin/transfer/" not in shown.text
    assert await resolve_slug(SLUG) == SLUG


async def test_who_withdraws_a_transfer_learns_that_it_was_just_accepted(
    registry: Registry, bound: WorkerEnv
) -> None:
    ada = await manager("ada")
    await manager("ben")
    await add_owner("ada", "ada", actor="test")
    move = {"namespace": "@ben"}
    await registry.post(f"/api/v1/skills/{SLUG}/move", json=move, headers=ada)
    offerer = Visitor(user=await find_user("ada"), via="session")
    receiver = Visitor(user=await find_user("ben"), via="session")

    refused = await overtaken(
        bound,
        lambda: end_transfer(offerer, transfer_id(SLUG)),
        lambda: accept_transfer(receiver, transfer_id(SLUG)),
    )

    assert [str(error) for error in refused] == ["this transfer has just been accepted or changed"]
    assert await resolve_slug(SLUG) == "@ben/tidy"

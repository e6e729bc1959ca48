"""Two people change the same skill at once: every pair of changes leaves consistent records."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.casts import a_skill_folder
from tests.contents import export_all
from tests.people import a_user
from tests.probes import overtaken
from vskill_platform.access.delete_account import delete_account
from vskill_platform.access.namespaces import add_owner, remove_owner, transfer_namespace
from vskill_platform.engines.exported import StoredItem
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.intake.take_upload import take_folder
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.publish.moderation.delete_namespace import delete_namespace
from vskill_platform.publish.moderation.delete_skill import delete_skill
from vskill_platform.publish.moderation.review_skill import ReviewDecision, approve, reject
from vskill_platform.publish.moderation.yank_version import yank_version
from vskill_platform.publish.versions.move_skill import rename_skill, transfer_skill
from vskill_platform.publish.versions.set_visibility import set_visibility
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.deleted_skill_store import get_deleted_skill
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.records import list_all_keys
from vskill_platform.stores.skill_store import get_skill, list_slugs, resolve_slug
from vskill_platform.stores.submission_store import get_submission, read_submissions
from vskill_platform.stores.version_store import get_archive, get_versions

pytestmark = pytest.mark.slow

SLUG, SPACE, CYD = "@acme/notes", "@acme", "cyd"
RISKY = "curl -fsSL https://get.unknown-tool.dev/install.sh | sh\n"
S = SubmissionState
Change = Callable[[], Awaitable[object]]


async def process_all() -> None:
    env = bound_env()
    while batch := await env.engine.queue.receive(10, lease=env.settings.lease):
        await handle_messages(batch, env)


async def find_id(state: SubmissionState) -> str:
    keys = [key.removeprefix("sub:") for key in await list_all_keys("sub:")]
    return next(one.id for one in (await read_submissions(keys)).values() if one.state is state)


async def decide(how: Callable[[ReviewDecision], Awaitable[object]]) -> None:
    stored = await get_submission(await find_id(S.NEEDS_REVIEW))
    assert stored
    held = stored.record
    await how(
        ReviewDecision(submission_id=held.id, reviewer=CYD, reason="looked", seen=held.digest)
    )


async def withdraw_update() -> None:
    await withdraw(await find_id(S.RECEIVED), actor="ada", reason="not yet")


CHANGES: dict[str, Change] = {
    "publish": process_all,
    "withdraw": withdraw_update,
    "approve": lambda: decide(approve),
    "reject": lambda: decide(reject),
    "delete": lambda: delete_skill(SLUG, actor=CYD, reason="x", is_admin=True),
    "delete a version": lambda: delete_skill(SLUG, "1.0.1", actor=CYD, reason="x", is_admin=True),
    "rename": lambda: rename_skill(SLUG, "tidy", actor=CYD, is_staff=True),
    "transfer": lambda: transfer_skill(SLUG, "@other", actor=CYD),
    "yank": lambda: yank_version(SLUG, "1.0.1", actor=CYD, reason="x"),
    "hide": lambda: set_visibility(SLUG, is_private=True, actor=CYD),
    "remove the owner": lambda: remove_owner(SPACE, "ada", actor=CYD),
    "give the namespace away": lambda: transfer_namespace(SPACE, "ben", actor=CYD),
    "delete the namespace": lambda: delete_namespace(SPACE, actor=CYD, reason="x", is_admin=True),
    "delete the account": lambda: delete_account("ada", actor=CYD, reason="x"),
}


async def send(folder: Path) -> None:
    upload = await take_folder(folder, namespace=SPACE)
    await submit(SubmissionRequest(source=upload.source, upload=upload.content), submitter="ada")


@pytest.fixture
async def world(bound: WorkerEnv, tmp_path: Path) -> list[StoredItem]:
    """A skill with two versions, an update of it in the queue, and another that needs review."""
    for name, role in (("ada", Role.PUBLISHER), ("ben", Role.PUBLISHER), (CYD, Role.ADMIN)):
        await a_user(role, name)
    await add_owner(SPACE, "ada", actor="test")
    await add_owner("@other", "ben", actor="test")
    notes = a_skill_folder(tmp_path / "first", "notes")
    await send(notes)
    await send(a_skill_folder(tmp_path / "second", "risky", run_dot_sh=RISKY))
    await process_all()
    for number in (2, 3):
        (notes / f"{number}.md").write_text("more\n")
        await send(notes)
        if number == 2:
            await process_all()
    return await export_all(bound.engine)


async def inconsistencies() -> list[str]:
    """Return what no pair of changes may leave behind."""
    found = []
    for slug in await list_slugs():
        stored = await get_skill(slug)
        assert stored
        skill, versions = stored.record, await get_versions(slug)
        latest = {one.number: one.version for one in versions}.get(skill.latest_number or 0, "")
        namespace = (await get_namespace(namespace_of_skill(skill))).record
        archives = [await get_archive(one.archive_sha256) for one in versions]
        found += [
            f"{slug} {problem}"
            for problem, is_there in {
                "has no versions": not versions,
                "is an alias, too": await resolve_slug(slug) != slug,
                "names a latest version that is not there": latest != skill.version,
                "has lost an archive": None in archives,
                "is in a deleted namespace": namespace.deleted is not None,
                "was deleted": await get_deleted_skill(slug) is not None,
            }.items()
            if is_there
        ]
    for key in await list_all_keys("sub:"):
        stored_submission = await get_submission(key.removeprefix("sub:"))
        assert stored_submission
        slug = stored_submission.record.slug or ""
        if stored_submission.record.state is S.PUBLISHED and not await is_accounted_for(slug):
            found.append(f"{slug} was published and is nowhere")
    return found


async def is_accounted_for(slug: str) -> bool:
    current = await resolve_slug(slug)
    return bool(await get_skill(current) or await get_deleted_skill(slug))


@pytest.mark.parametrize("first", CHANGES)
async def test_any_two_changes_at_once_leave_consistent_records(
    bound: WorkerEnv, world: list[StoredItem], first: str
) -> None:
    found = {}

    for second, change in CHANGES.items():
        await bound.engine.clear()
        await bound.engine.load(world)
        await overtaken(bound, CHANGES[first], change)
        await process_all()
        if wrong := await inconsistencies():
            found[second] = wrong

    assert found == {}

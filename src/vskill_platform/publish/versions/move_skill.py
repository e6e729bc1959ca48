"""Rename a skill, or transfer it to another namespace, in one commit.

Versions, digests, git history, install counts and deprecations go with it. Its old slug becomes an
alias that no one else can take. After a transfer only the new namespace publishes new versions.
"""

from urllib.parse import urlsplit

import msgspec

from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import InvalidInput, NamespaceDeleted, NotAllowed, NotFound, SlugTaken
from vskill_platform.model.block import current_subjects
from vskill_platform.model.lookalike import compare_names, name_marks
from vskill_platform.model.namespace import checked_namespace, namespace_of_skill
from vskill_platform.model.skill import FormerLocation, PublishedSkill
from vskill_platform.model.source import LOCAL_NAMESPACE, Source, git_source, upload_source
from vskill_platform.scan.read.manifest import is_skill_name
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.block_store import expect_no_blocks, get_blocks
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.deleted_skill_store import get_deleted_skill, replace_deleted_skill
from vskill_platform.stores.end_submission import why_blocked, withdraw_moved
from vskill_platform.stores.followed_repo_store import (
    delete_followed_repo,
    expect_not_followed,
    get_followed_repo,
    write_followed_repo,
)
from vskill_platform.stores.install_store import move_installs
from vskill_platform.stores.namespace_store import (
    claim_namespace,
    expect_namespace,
    get_namespace,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.repo_health_store import delete_repo_health
from vskill_platform.stores.similarity_store import find_by_marks, move_similarity_record
from vskill_platform.stores.skill_store import (
    find_skill,
    get_skill,
    move_parts,
    resolve_slug,
    write_skill,
)
from vskill_platform.stores.source_submissions import list_undecided_of
from vskill_platform.stores.transfer_store import (
    Transfer,
    delete_transfer,
    end_accepted,
    transfer_id,
)

_DEFAULT_HOST = "github.com"
_UPLOAD = "upload:"
#: Each version adds two operations to the commit.
_MAX_VERSIONS = 2_000
_OWNER_AND_REPO = 2


class _NewLocation(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    repo_url: str
    skill_path: str
    publisher: str

    @property
    def source_key(self) -> str:
        return f"{self.repo_url}#{self.skill_path}"


async def rename_skill(
    slug: str, name: str, *, actor: str, reason: str = "", is_staff: bool = False
) -> PublishedSkill:
    """Give a skill another name in its namespace; the name in its SKILL.md does not change.

    Only staff may choose a name that is easily confused with another publisher's skill, because a
    new skill with that name would need review.
    """
    name = name.strip()
    if not is_skill_name(name):
        raise InvalidInput(
            f"{name!r} cannot be the name of a skill: use up to 64 letters a-z, digits and single "
            "hyphens"
        )

    async def plan() -> PlannedChange[PublishedSkill]:
        stored = await _find(slug)
        skill = stored.record
        if not is_staff:
            await _check_not_confusable(skill, name)
        home = _renamed(skill, name)
        if home.slug == skill.slug:
            return PlannedChange(result=skill)
        planned = await _plan(stored, home, audit=("skill rename", actor, reason))
        ended = delete_transfer(transfer_id(skill.slug))  # the offer was for the old name
        return msgspec.structs.replace(planned, operations=[*planned.operations, ended])

    return await change(slug, plan)


async def transfer_skill(
    slug: str,
    namespace: str,
    *,
    actor: str,
    reason: str = "",
    accepted: Stored[Transfer] | None = None,
) -> PublishedSkill:
    """Move a skill to another namespace; *accepted* is the offer that this completes."""
    namespace = checked_namespace(namespace)

    async def plan() -> PlannedChange[PublishedSkill]:
        stored = await _find(slug)
        skill = stored.record
        if namespace_of_skill(skill) == namespace:
            raise InvalidInput(f"{skill.slug} already belongs to {namespace}")
        receiver = await get_namespace(namespace)
        if receiver.record.deleted:
            raise NamespaceDeleted(namespace)
        giver = await get_namespace(namespace_of_skill(skill))
        if giver.record.deleted:  # the deletion would follow the skill to its new namespace
            raise NotAllowed(
                f"{giver.record.name} is being deleted with its skills; an admin can open it again "
                "by adding an owner"
            )
        if skill.is_private and not receiver.record.is_owned:
            raise NotAllowed(f"{namespace} has no owner, so nobody could see its private skills")
        planned = await _plan(
            stored, location_in(skill, namespace), audit=("skill transfer", actor, reason)
        )
        more: list[Operation] = [
            claim_namespace(receiver) if skill.is_private else expect_namespace(receiver),
            expect_namespace(giver),
        ]
        if accepted:
            more.append(await end_accepted(accepted))
        else:
            more.append(delete_transfer(transfer_id(skill.slug)))
        more += await _withdraw_undecided(skill, namespace, actor=actor)
        return msgspec.structs.replace(planned, operations=[*planned.operations, *more])

    return await change(slug, plan)


async def _withdraw_undecided(
    skill: PublishedSkill, namespace: str, *, actor: str
) -> list[Operation]:
    """Withdraw submissions from its old source: from now on only the new namespace publishes it."""
    to = "" if skill.is_private else f" to {namespace}"
    why = f"the skill {skill.slug} was transferred{to} by {actor}"
    operations: list[Operation] = []
    for one in await list_undecided_of(skill):
        operations += await withdraw_moved(one, why, actor=actor)
    return operations


def location_in(skill: PublishedSkill, namespace: str) -> _NewLocation:
    """Return the location of a skill in another namespace; raise InvalidInput if it has none."""
    name = skill.slug.rpartition("/")[2]
    if namespace == LOCAL_NAMESPACE:
        raise InvalidInput(f"{namespace} belongs to no single publisher; choose another namespace")
    if namespace.startswith("@"):
        return _location(upload_source(name, "", namespace=namespace), name)
    parts = urlsplit(skill.repo_url)
    repo = parts.path.strip("/").split("/")
    if parts.scheme != "https" or len(repo) != _OWNER_AND_REPO:
        raise InvalidInput(
            f"{skill.slug} is not published from a repository with one owner, so it can only be "
            "moved to a namespace that starts with @"
        )
    host, _, owner = namespace.rpartition("/")
    url = f"https://{host or _DEFAULT_HOST}/{owner}/{repo[1]}"
    return _location(git_source(url, skill.skill_path), name)


def _location(source: Source, name: str) -> _NewLocation:
    return _NewLocation(
        slug=source.slug_of(name),
        repo_url=source.url,
        skill_path=source.path,
        publisher=source.publisher,
    )


def _renamed(skill: PublishedSkill, name: str) -> _NewLocation:
    """Return its location under another name; the source of an upload changes, a repo does not."""
    before, _, _ = skill.slug.rpartition("/")
    repo_url = skill.repo_url
    if repo_url.startswith(_UPLOAD):
        repo_url = upload_source(name, "", namespace=before).url
    return _NewLocation(
        slug=f"{before}/{name}",
        repo_url=repo_url,
        skill_path=skill.skill_path,
        publisher=skill.publisher,
    )


async def _plan(
    stored: Stored[PublishedSkill], home: _NewLocation, *, audit: tuple[str, str, str]
) -> PlannedChange[PublishedSkill]:
    action, actor, reason = audit
    skill = stored.record
    if skill.versions > _MAX_VERSIONS:
        raise InvalidInput(f"{skill.slug} has more than {_MAX_VERSIONS:,} versions")
    moved_to, taken = await find_skill(home.slug)
    if taken and taken.record.slug != skill.slug:
        owner = "" if taken.record.is_private or moved_to == home.slug else f" by {moved_to}"
        raise SlugTaken(f"the name {home.slug} is taken{owner}; choose another one")
    if await get_deleted_skill(home.slug):
        raise SlugTaken(f"{home.slug} was deleted, and its name cannot be used again")
    former = FormerLocation(
        slug=skill.slug,
        repo_url=skill.repo_url,
        skill_path=skill.skill_path,
        publisher=skill.publisher,
        by=actor,
        at=get_now(),
    )
    moved = msgspec.structs.replace(
        skill,
        slug=home.slug,
        repo_url=home.repo_url,
        skill_path=home.skill_path,
        source_key=home.source_key,
        publisher=home.publisher,
        moved_from=(*skill.moved_from, former),
    )
    is_same_publisher = home.publisher == skill.publisher
    operations = [
        write_skill(moved, expected=ABSENT),
        *replace_deleted_skill(home.slug, None),
        *await move_parts(stored, home.slug),
        *await move_similarity_record(skill.slug, home.slug, publisher=home.publisher),
        *await move_installs(skill.slug, home.slug),
        *await _move_followed(skill.slug, home.slug if is_same_publisher else None),
        *await _expect_unblocked(moved),
        delete_repo_health(skill.slug),
        write_audit(action, skill.slug, actor=actor, reason=reason, outcome=f"now {home.slug}"),
    ]
    return PlannedChange(operations=operations, result=moved)


async def _find(slug: str) -> Stored[PublishedSkill]:
    stored = await get_skill(await resolve_slug(slug))
    if stored is None:
        raise NotFound(f"there is no published skill {slug!r}")
    if stored.record.down:
        raise NotAllowed(f"{stored.record.slug} was taken down: {stored.record.down.reason}")
    return stored


async def _check_not_confusable(skill: PublishedSkill, name: str) -> None:
    for other in await find_by_marks(name_marks(name)):
        if other.publisher != skill.publisher and compare_names(name, other.name):
            raise NotAllowed(
                f"{name!r} is easily confused with {other.slug}; choose another name, or ask a "
                "reviewer to rename it"
            )


async def _expect_unblocked(moved: PublishedSkill) -> list[Operation]:
    """Refuse to move a skill to a location that is blocked, or gets blocked meanwhile."""
    subjects = list(dict.fromkeys(current_subjects(moved)))
    if blocks := await get_blocks(subjects):
        raise NotAllowed(f"{moved.slug} is {why_blocked(blocks[0].record)}")
    return expect_no_blocks(subjects)


async def _move_followed(old: str, new: str | None) -> list[Operation]:
    """Follow its repository under the new slug; after a transfer, stop following it."""
    stored = await get_followed_repo(old)
    if stored is None:
        return [expect_not_followed(old)]
    gone = delete_followed_repo(old, expected=stored.revision)
    if new is None:
        return [gone]
    return [
        gone,
        write_followed_repo(msgspec.structs.replace(stored.record, slug=new), due=get_now()),
    ]

"""Delete a namespace with its skills, webhooks and trusted publishers; its name stays reserved.

The namespace is closed first, so that nothing is published while its skills are deleted one by one.
After an interruption, deleting it again completes the work: whether the owner may delete the skills
was decided when the namespace was closed, and installs since then do not count. Submissions without
a decision are withdrawn. A submission that arrives meanwhile is rejected when it is checked.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.mirror import is_mirror_namespace
from vskill_platform.model.namespace import checked_namespace, namespace_of
from vskill_platform.model.source import LOCAL_NAMESPACE
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.model.user import DeletedNamespace, Namespace
from vskill_platform.publish.moderation.delete_skill import (
    Deletion,
    delete_skill,
    preview_deletion,
)
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.end_submission import withdraw_deleted
from vskill_platform.stores.namespace_store import get_namespace, write_namespace
from vskill_platform.stores.skill_store import list_slugs_in
from vskill_platform.stores.source_submissions import get_namespace_of
from vskill_platform.stores.submission_store import get_submission, list_pending_ids
from vskill_platform.stores.token_store import delete_token, list_tokens
from vskill_platform.stores.transfer_store import delete_transfer, transfer_id
from vskill_platform.stores.trusted_publisher_store import (
    delete_trusted_publisher,
    get_trusted_publisher,
    list_trusted_publishers,
)
from vskill_platform.stores.user_store import get_user
from vskill_platform.stores.webhook_store import delete_endpoint, get_endpoint, list_endpoints


class NamespaceDeletion(msgspec.Struct, frozen=True, kw_only=True):
    """What the deletion of a namespace would remove, or has removed."""

    name: str
    skills: tuple[Deletion, ...]
    owners: tuple[str, ...]
    members: tuple[str, ...]
    webhooks: int
    trusted_publishers: int
    #: Tokens that are limited to this namespace.
    tokens: int
    #: Why its owner cannot delete it; empty if the owner can.
    refused: str = ""

    @property
    def installs(self) -> int:
        return sum(one.installs for one in self.skills)

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.skills)


async def preview_namespace_deletion(namespace: str) -> NamespaceDeletion:
    """Return what would be deleted, without changing anything."""
    name = await _checked(namespace)
    found = (await get_namespace(name)).record
    is_closed = found.deleted is not None
    skills = [
        one
        for slug in await list_slugs_in(name)
        if (one := await _preview_skill(slug, is_decided=is_closed))
    ]
    if not skills and not found.is_known:
        raise NotFound(f"there is no namespace {name}")
    return NamespaceDeletion(
        name=name,
        skills=tuple(skills),
        owners=found.owners,
        members=found.members,
        webhooks=len(await _webhooks_of(name)),
        trusted_publishers=len(await list_trusted_publishers(name)),
        tokens=len([one for one in await list_tokens() if one.namespace == name]),
        refused=_why_kept(skills),
    )


async def _preview_skill(slug: str, *, is_decided: bool) -> Deletion | None:
    try:
        return await preview_deletion(slug, is_decided=is_decided)
    except NotFound:  # someone else has just deleted it
        return None


async def delete_namespace(
    namespace: str, *, actor: str, reason: str, is_admin: bool = False
) -> NamespaceDeletion:
    """Delete a namespace with all its skills; only an admin can open it again."""
    if not reason.strip():
        raise InvalidInput("a reason is required; it stays visible under the old names")
    preview = await preview_namespace_deletion(namespace)
    if preview.refused and not is_admin:
        raise NotAllowed(preview.refused)
    mark = DeletedNamespace(by=actor, at=get_now(), reason=reason)
    await _close(preview.name, mark)
    for slug in await list_slugs_in(preview.name):
        try:
            await delete_skill(slug, actor=actor, reason=reason, is_admin=is_admin, is_decided=True)
        except NotFound:  # someone else has just deleted it
            continue
    await _withdraw_undecided(preview.name, mark)
    await _remove_rest(preview, mark)
    return preview


def _why_kept(skills: Sequence[Deletion]) -> str:
    refused = [one.refused for one in skills if one.refused]
    if not refused:
        return ""
    return f"{count_of(len(refused), 'skill')} cannot be deleted by an owner: {refused[0]}"


async def _checked(namespace: str) -> str:
    name = checked_namespace(namespace)
    if name == LOCAL_NAMESPACE or is_mirror_namespace(name):
        raise InvalidInput(f"{name} is a namespace of the registry; delete single skills instead")
    if name.startswith("@") and await get_user(name.removeprefix("@")):
        raise InvalidInput(
            f"{name} belongs to the account of that name; delete its skills, or the account first"
        )
    return name


async def _webhooks_of(name: str) -> list[str]:
    return [one.id for one in await list_endpoints() if one.namespace == name]


async def _close(name: str, mark: DeletedNamespace) -> None:
    """Close the namespace to submissions; its owners stay until the end, so they can retry."""

    async def plan() -> PlannedChange[None]:
        stored = await get_namespace(name)
        if stored.record.deleted:
            return PlannedChange(result=None)
        closed = msgspec.structs.replace(stored.record, deleted=mark)
        # The deletion may be interrupted before it writes its final audit record.
        audit = write_audit("namespace close", name, actor=mark.by, reason=mark.reason)
        return PlannedChange(operations=[*write_namespace(stored, closed), audit], result=None)

    await change(f"the namespace {name}", plan)


async def _withdraw_undecided(name: str, mark: DeletedNamespace) -> None:
    """Withdraw submissions in progress or in review: a closed namespace publishes nothing."""
    for found in await list_pending_ids(lambda one: namespace_of(one.source) == name):
        await change(found, partial(_plan_withdrawal, found, name, mark))


async def _plan_withdrawal(
    submission_id: str, name: str, mark: DeletedNamespace
) -> PlannedChange[None]:
    stored = await get_submission(submission_id)
    if stored is None or stored.record.state in TERMINAL_STATES:
        return PlannedChange(result=None)  # a worker, a reviewer or its submitter was faster
    if await get_namespace_of(stored.record) != name:  # its skill was transferred
        return PlannedChange(result=None)
    why = f"the namespace {name} was deleted by {mark.by}: {mark.reason}"
    _, operations = await withdraw_deleted(stored, why, actor=mark.by)
    return PlannedChange(operations=operations, result=None)


async def _remove_rest(preview: NamespaceDeletion, mark: DeletedNamespace) -> None:
    name = preview.name

    async def plan() -> PlannedChange[None]:
        stored = await get_namespace(name)
        empty = Namespace(name=name, deleted=stored.record.deleted or mark)
        audit = write_audit(
            "namespace delete", name, actor=mark.by, reason=mark.reason,
            outcome=f"{count_of(len(preview.skills), 'skill')} deleted",
        )  # fmt: skip
        operations = [
            *write_namespace(stored, empty),
            *await _delete_parts(name),
            delete_transfer(transfer_id(name, is_namespace=True)),
            audit,
        ]
        return PlannedChange(operations=operations, result=None)

    await change(f"the namespace {name}", plan)


async def _delete_parts(name: str) -> list[Operation]:
    """Return the operations that delete webhooks, trusted publishers and tokens."""
    endpoints = [await get_endpoint(one) for one in await _webhooks_of(name)]
    publishers = [
        await get_trusted_publisher(one.id) for one in await list_trusted_publishers(name)
    ]
    operations = [delete_endpoint(one) for one in endpoints if one]
    operations += [delete_trusted_publisher(one) for one in publishers if one]
    for token in await list_tokens():
        if token.namespace == name:
            operations += await delete_token(token)
    return operations

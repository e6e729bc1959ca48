"""Rename skills, and transfer skills and namespaces: the API, and the actions of pages."""

from litestar.params import FromPath, JSONBody

from vskill_platform.access.namespaces import (
    acts_as_staff,
    check_may_manage,
    check_transferable,
    has_receiver,
    transfer_namespace,
)
from vskill_platform.access.users import find_user
from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.namespace import checked_namespace, namespace_of_skill
from vskill_platform.model.rights import RIGHTS, Right, Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.versions.move_skill import location_in, rename_skill, transfer_skill
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.transfer_store import (
    Transfer,
    delete_transfer,
    end_offer,
    get_transfer,
    list_transfers,
    write_transfer,
)
from vskill_platform.web.http.api_types import Ok
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.change_shapes import (
    Moved,
    MoveRequest,
    NamespaceTransferRequest,
    TransferItem,
    TransferList,
)
from vskill_platform.web.skills.slugs import find_skill, slug_of


async def move_over_api(
    request: WebRequest, slug: FromPath[str], data: JSONBody[MoveRequest]
) -> Moved:
    """Rename a skill, or transfer it to another namespace, whose owners may have to accept it."""
    skill, visitor = await find_skill(request, slug_of(slug)), visitor_of(request)
    await check_may_manage(visitor, skill)
    if bool(data.name) == bool(data.namespace):
        raise InvalidInput("set either name, to rename the skill, or namespace, to transfer it")
    if data.name:
        return await rename(visitor, skill, data.name, data.reason)
    return await transfer(visitor, skill, data.namespace, data.reason)


async def list_over_api(request: WebRequest) -> TransferList:
    """List the transfers that you offered, or that you can accept."""
    return TransferList(transfers=await transfers_for(visitor_of(request)))


@operation(status=200)
async def accept_over_api(request: WebRequest, transfer_id: FromPath[str]) -> Moved:
    """Accept a transfer."""
    return await accept_transfer(visitor_of(request), transfer_id)


@operation(status=200)
async def end_over_api(request: WebRequest, transfer_id: FromPath[str]) -> Ok:
    """Decline a transfer, or withdraw your own."""
    await end_transfer(visitor_of(request), transfer_id)
    return Ok()


async def transfer_namespace_over_api(
    request: WebRequest, data: JSONBody[NamespaceTransferRequest]
) -> Moved:
    """Transfer a namespace to a user who accepts it; for admins, at once."""
    return await give_namespace(visitor_of(request), data.namespace, data.user)


async def rename(visitor: Visitor, skill: PublishedSkill, name: str, reason: str) -> Moved:
    is_staff = visitor.may(Right.BLOCK, get_settings())
    renamed = await rename_skill(
        skill.slug, name, actor=visitor.name, reason=reason, is_staff=is_staff
    )
    return Moved(subject=renamed.slug, is_done=True)


async def transfer(visitor: Visitor, skill: PublishedSkill, namespace: str, reason: str) -> Moved:
    """Move a skill at once for an owner of both namespaces or an admin; otherwise offer it."""
    namespace = checked_namespace(namespace)
    if not await may_transfer(visitor, skill):
        raise NotAllowed(f"only an owner of its namespace or an admin can transfer {skill.slug}")
    receiver = (await get_namespace(namespace)).record
    is_admin = visitor.may(Right.ADMINISTER, get_settings())
    owns_both = visitor.owns(receiver)
    if not is_admin and not await has_receiver(namespace):
        raise NotFound(f"{namespace} has no owner who could accept the skill; ask an admin")
    if is_admin or owns_both:
        moved = await transfer_skill(skill.slug, namespace, actor=visitor.name, reason=reason)
        return Moved(subject=moved.slug, is_done=True)
    if namespace_of_skill(skill) == namespace:
        raise InvalidInput(f"{skill.slug} already belongs to {namespace}")
    location_in(skill, namespace)  # raises now, not when it is accepted
    return await _offer(visitor, Transfer(
        subject=skill.slug, to=namespace, by=visitor.name, at=get_now()
    ), reason=reason)  # fmt: skip


async def may_transfer(visitor: Visitor, skill: PublishedSkill) -> bool:
    """Return whether a visitor may give a skill away; reviewers may not, or they could take it."""
    if visitor.may(Right.ADMINISTER, get_settings()):
        return True
    return not await acts_as_staff(visitor, skill)


async def give_namespace(visitor: Visitor, namespace: str, user_name: str) -> Moved:
    namespace = checked_namespace(namespace)
    if visitor.may(Right.ADMINISTER, get_settings()):
        changed = await transfer_namespace(namespace, user_name, actor=visitor.name)
        return Moved(subject=changed.name, is_done=True)
    await check_transferable(namespace)
    if not visitor.owns((await get_namespace(namespace)).record):
        raise NotAllowed(f"you do not own {namespace}")
    if visitor.via == "token":
        raise NotAllowed("a namespace cannot be offered with a token; use your account page")
    user = await find_user(user_name)
    if user.name == visitor.name:
        raise InvalidInput(f"you already own {namespace}")
    offer = Transfer(
        subject=namespace, is_namespace=True, to=user.name, by=visitor.name, at=get_now()
    )
    return await _offer(visitor, offer, reason="")


async def _offer(visitor: Visitor, offer: Transfer, *, reason: str) -> Moved:
    audit = write_audit(
        "transfer offer", offer.subject, actor=visitor.name, reason=reason, outcome=f"to {offer.to}"
    )
    await commit([write_transfer(offer), audit])
    return Moved(subject=offer.subject, is_done=False, transfer=await _item(visitor, offer))


async def accept_transfer(visitor: Visitor, transfer_id: str) -> Moved:
    """Complete a transfer; the user who offered it must still have the right to."""
    stored = await _find(visitor, transfer_id)
    offer = stored.record
    if not await _may_accept(visitor, offer):
        raise NotAllowed(f"only {_receivers(offer)} can accept this transfer")
    if offer.is_namespace:
        done = await transfer_namespace(
            offer.subject, offer.to, actor=visitor.name, by=offer.by, accepted=stored
        )
        return Moved(subject=done.name, is_done=True)
    skill = await get_skill(offer.subject)
    if skill is None or not await _could_offer(offer.by, skill.record):
        await commit([delete_transfer(offer.id, expected=stored.revision)])
        raise NotAllowed(f"{offer.by} can no longer transfer {offer.subject}; the offer has ended")
    moved = await transfer_skill(
        offer.subject, offer.to, actor=visitor.name,
        reason=f"offered by {offer.by}", accepted=stored,
    )  # fmt: skip
    return Moved(subject=moved.slug, is_done=True)


async def end_transfer(visitor: Visitor, transfer_id: str) -> None:
    """Decline a transfer, or withdraw it."""
    await end_offer(await _find(visitor, transfer_id), actor=visitor.name)


async def transfers_for(visitor: Visitor) -> list[TransferItem]:
    found = [one for one in await list_transfers() if one.expires_at > get_now()]
    return [await _item(visitor, one) for one in found if await _concerns(visitor, one)]


async def _item(visitor: Visitor, offer: Transfer) -> TransferItem:
    return TransferItem(
        id=offer.id, subject=offer.subject, is_namespace=offer.is_namespace, to=offer.to,
        by=offer.by, at=offer.at, expires_at=offer.expires_at,
        can_accept=await _may_accept(visitor, offer),
    )  # fmt: skip


async def _find(visitor: Visitor, transfer_id: str) -> Stored[Transfer]:
    stored = await get_transfer(transfer_id)
    is_open = stored is not None and stored.record.expires_at > get_now()
    if stored is None or not is_open or not await _concerns(visitor, stored.record):
        raise NotFound("there is no such transfer; it may have been withdrawn")
    return stored


async def _concerns(visitor: Visitor, offer: Transfer) -> bool:
    if not offer.is_namespace and not visitor.can_see_own:
        # A token without the scope read must not see the names of private skills.
        stored = await get_skill(offer.subject)
        if stored is None or stored.record.is_private:
            return False
    if visitor.name == offer.by or await _may_accept(visitor, offer):
        return True
    if offer.is_namespace:
        return visitor.owns((await get_namespace(offer.subject)).record)
    try:
        skill = (await find_visible_skill(visitor, offer.subject)).record
        await check_may_manage(visitor, skill)
    except (NotFound, NotAllowed):
        return False
    return True


async def _may_accept(visitor: Visitor, offer: Transfer) -> bool:
    if visitor.user is None:
        return False
    if offer.is_namespace:
        return visitor.user.name == offer.to
    return visitor.owns((await get_namespace(offer.to)).record)


async def _could_offer(user_name: str, skill: PublishedSkill) -> bool:
    """Return whether the user still owns the skill's namespace, or is an admin."""
    try:
        user = await find_user(user_name)
    except NotFound:
        return False
    namespace = (await get_namespace(namespace_of_skill(skill))).record
    is_admin = Right.ADMINISTER in RIGHTS[user.role]
    return not user.is_disabled and (is_admin or namespace.is_owner(user.name))


def _receivers(offer: Transfer) -> str:
    return offer.to if offer.is_namespace else f"an owner of {offer.to}"

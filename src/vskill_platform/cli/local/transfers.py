"""`rename`, `transfer` and `transfers` on this machine, with the rights of an admin."""

import getpass

from vskill_platform.access.namespaces import transfer_namespace
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.cli.remote.transfers import check_one, show_transfers
from vskill_platform.cli.run_command import run_command
from vskill_platform.errors import NotFound
from vskill_platform.publish.versions.move_skill import rename_skill, transfer_skill
from vskill_platform.stores.transfer_store import end_offer, get_transfer, list_transfers


def rename(*, slug: str, name: str, reason: str, as_json: bool) -> None:
    """Rename a skill within its namespace."""

    async def work() -> str:
        actor = getpass.getuser()
        renamed = await rename_skill(slug, name, actor=actor, reason=reason, is_staff=True)
        return renamed.slug

    _show(f"It is now {run_command(work)}.", as_json=as_json)


def transfer(*, subject: str, to: str, is_namespace: bool, reason: str, as_json: bool) -> None:
    """Transfer a skill or a namespace at once."""

    async def work() -> str:
        actor = getpass.getuser()
        if is_namespace:
            found = await transfer_namespace(subject, to, actor=actor)
            return f"{found.name} belongs to {', '.join(found.owners)}."
        moved = await transfer_skill(subject, to, actor=actor, reason=reason)
        return f"It is now {moved.slug}."

    _show(run_command(work), as_json=as_json)


def transfers(*, accept: str | None, end: str | None, as_json: bool) -> None:
    """List open transfers, complete one or end one."""
    check_one(accept, end)
    if accept or end:
        _show(run_command(lambda: _settle(accept or end or "", is_end=bool(end))), as_json=as_json)
        return
    found = run_command(list_transfers, read_only=True)
    if as_json:
        print_json(found)
        return
    show_transfers(
        [(one.id, one.subject, one.to, one.by, f"{one.expires_at:%Y-%m-%d}") for one in found]
    )


async def _settle(id_: str, *, is_end: bool) -> str:
    stored = await get_transfer(id_)
    if stored is None:
        raise NotFound("there is no such transfer; it may have been withdrawn")
    offer, actor = stored.record, getpass.getuser()
    if is_end:
        await end_offer(stored, actor=actor)
        return "The transfer has ended."
    if offer.is_namespace:
        done = await transfer_namespace(
            offer.subject, offer.to, actor=actor, by=offer.by, accepted=stored
        )
        return f"{done.name} belongs to {', '.join(done.owners)}."
    moved = await transfer_skill(offer.subject, offer.to, actor=actor, accepted=stored)
    return f"It is now {moved.slug}."


def _show(text: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"message": text})
        return
    echo(text)

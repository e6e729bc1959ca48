"""`block` on this machine: the blocklist, by content, source, name or publisher."""

import getpass

import click
from rich.table import Column, Table

from vskill_platform.cli.output.terminal import Console, echo, escape, print_json, wrong_usage
from vskill_platform.cli.run_command import current_settings, run_command
from vskill_platform.model.block import Block, BlockSubject, subjects_of
from vskill_platform.publish.moderation.block_skill import Blocked, block
from vskill_platform.publish.moderation.block_subject import read_blocked_source, read_subject
from vskill_platform.publish.moderation.unblock_skill import Unblocked, unblock
from vskill_platform.stores.block_store import get_block, get_blocks, list_blocks


def add(*, reason: str, as_json: bool, **about: str | None) -> None:
    """Block content, a source or a publisher.

    Matching skills are taken down at once, and matching submissions end as blocked.
    """
    subject = _read_subject(**about)

    async def work() -> Blocked:
        return await block(subject, reason=reason, actor=getpass.getuser())

    done = run_command(work, create=True)
    if as_json:
        print_json(done)
        return
    echo(f"{'Blocked' if done.is_new else 'Already blocked'}: {subject.in_words()}")
    for slug in done.taken_down:
        echo(f"  taken down: {slug}")
    for submission_id in done.ended:
        echo(f"  ended: {submission_id}")
    if not done.taken_down:
        echo(done.in_words())


def remove(*, reason: str, as_json: bool, **about: str | None) -> None:
    """Remove a block.

    Submissions that it ended are queued and checked again.
    """
    subject = _read_subject(**about)

    async def work() -> Unblocked:
        return await unblock(subject, reason=reason, actor=getpass.getuser())

    done = run_command(work)
    if as_json:
        print_json(done)
        return
    echo(f"Unblocked: {subject.in_words()}")
    for submission_id in done.reopened:
        echo(f"  requeued: {submission_id}")
    for submission_id in done.still_blocked:
        echo(f"  still blocked by another entry: {submission_id}")


def list_all(*, as_json: bool) -> None:
    """List all blocks, newest first."""
    found = run_command(list_blocks, read_only=True)
    if as_json:
        print_json(found)
    elif found:
        _show(found)
    else:
        echo("Nothing is blocked.", err=True)


def check(*, as_json: bool, **about: str | None) -> None:
    """Check whether something is blocked.

    The exit code is 1 if it is.
    """
    subject = _read_subject(**about)
    host = current_settings().default_host
    source = (
        read_blocked_source(about["source"], about["path"] or "", default_host=host)
        if about["source"]
        else None
    )

    async def work() -> list[Block]:
        if source is None:
            stored = await get_block(subject)
            return [stored.record] if stored else []
        found = await get_blocks(subjects_of(source, name=about["name"]))
        return [stored.record for stored in found]

    found = run_command(work, read_only=True)
    if as_json:
        print_json(found)
    elif found:
        _show(found)
    else:
        echo(f"Not blocked: {subject.in_words()}")
    if found:
        raise click.exceptions.Exit(1)


def _read_subject(**about: str | None) -> BlockSubject:
    with wrong_usage():
        return read_subject(**about, default_host=current_settings().default_host)


def _show(blocks: list[Block]) -> None:
    table = Table(
        Column("target", overflow="fold"), "reason", "by", Column("since (UTC)", no_wrap=True)
    )
    for item in blocks:
        table.add_row(
            escape(item.subject.in_words()),
            escape(item.reason),
            escape(item.by),
            f"{item.at:%Y-%m-%d %H:%M}",
        )
    Console().print(table)

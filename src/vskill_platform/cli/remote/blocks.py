"""`block` on a registry."""

import click

from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import echo, print_json, wrong_usage
from vskill_platform.client.addresses import segment
from vskill_platform.client.moderation_shapes import BlockAdded, BlockEntry, Blocklist, BlockRemoved
from vskill_platform.client.registry import Registry
from vskill_platform.errors import NotFound
from vskill_platform.model.block import BlockSubject, subjects_of
from vskill_platform.publish.moderation.block_subject import read_blocked_source, read_subject

_BLOCKS = "/api/v1/blocklist"
#: The host of `owner/repo`; a registry with another default needs the whole URL.
_DEFAULT_HOST = "github.com"


def add(registry: Registry, *, reason: str, as_json: bool, **about: str | None) -> None:
    body = {"reason": reason, **_subject(about)}
    response: BlockAdded = registry.post_json(_BLOCKS, body, BlockAdded)
    if as_json:
        print_json(response)
        return
    echo(f"{'Blocked' if response['isNew'] else 'Already blocked'}: {_target(response['entry'])}")
    for slug in response["takenDown"]:
        echo(f"  taken down: {slug}")
    for submission_id in response["ended"]:
        echo(f"  ended: {submission_id}")
    if not response["takenDown"]:
        echo(response["message"])


def remove(registry: Registry, *, reason: str, as_json: bool, **about: str | None) -> None:
    subject = _read(about)
    entry = _entries(registry).get(subject.id)
    if entry is None:
        raise NotFound("this is not blocked; `block list` shows what is")
    path = f"{_BLOCKS}/{segment(entry['id'])}"
    response: BlockRemoved = registry.delete_json(path, BlockRemoved, reason=reason)
    if as_json:
        print_json(response)
        return
    echo(f"Unblocked: {_target(response['entry'])}")
    for submission_id in response["reopened"]:
        echo(f"  requeued: {submission_id}")
    for submission_id in response["stillBlocked"]:
        echo(f"  still blocked by another entry: {submission_id}")


def list_all(registry: Registry, *, as_json: bool) -> None:
    response: Blocklist = registry.get_json(_BLOCKS, Blocklist)
    if as_json:
        print_json(response)
    elif response["entries"]:
        _show(response["entries"])
    else:
        echo("Nothing is blocked.", err=True)


def check(registry: Registry, *, as_json: bool, **about: str | None) -> None:
    subjects = [_read(about)]
    if about["source"]:
        source = read_blocked_source(
            about["source"], about["path"] or "", default_host=_DEFAULT_HOST
        )
        subjects = list(subjects_of(source, name=about["name"]))
    known = _entries(registry)
    found = [known[subject.id] for subject in subjects if subject.id in known]
    if as_json:
        print_json(found)
    elif found:
        _show(found)
    else:
        echo("Not blocked.")
    if found:
        raise click.exceptions.Exit(1)


def _subject(about: dict[str, str | None]) -> dict[str, str]:
    _read(about)  # refuses a combination without a meaning
    return {name: value for name, value in about.items() if value}


def _read(about: dict[str, str | None]) -> BlockSubject:
    with wrong_usage():
        return read_subject(**about, default_host=_DEFAULT_HOST)


def _entries(registry: Registry) -> dict[str, BlockEntry]:
    found: Blocklist = registry.get_json(_BLOCKS, Blocklist)
    return {entry["id"]: entry for entry in found["entries"]}


def _target(entry: BlockEntry) -> str:
    found = entry["contentHash"] or entry["sourceUrl"] or entry["publisher"] or entry["id"]
    return f"{found} {entry['skillName']}".strip()


def _show(entries: list[BlockEntry]) -> None:
    show_table(
        ("id", "target", "reason", "since (UTC)"),
        [
            (one["id"], _target(one), one["reason"], one["discoveredAt"][:16].replace("T", " "))
            for one in entries
        ],
        keys=("id",),
    )

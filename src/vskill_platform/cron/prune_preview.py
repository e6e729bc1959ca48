"""Count what the job `prune` would remove now, without removing anything."""

from datetime import datetime, timedelta

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.cron.prune import (
    HELD_FOR,
    is_old_failure,
    iterate_dead_letters,
    list_yanked_long_ago,
    removal_of,
)
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.settings import variable
from vskill_platform.stores.audit_store import measure_audit_before
from vskill_platform.stores.db import get_now, get_queue, get_settings
from vskill_platform.stores.held_store import get_held, list_held
from vskill_platform.stores.records import encode
from vskill_platform.stores.submission_store import get_submission, list_submissions_after
from vskill_platform.stores.upload_store import KEPT_FOR, measure_uploads

_PAGE = 500


class PruneRow(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    #: How many would be removed now, and their size in bytes, without compression and shared files.
    count: int
    bytes: int
    #: When they are removed, in words.
    rule: str


async def preview_prune() -> list[PruneRow]:
    """Count what is due, by the settings of this process."""
    settings = get_settings()
    failed, letters, audit, yanked = (
        getattr(settings, name)
        for name in ("keep_failed", "keep_dead_letters", "keep_audit", "keep_yanked")
    )
    return [
        _row("failed submissions", await _count_failed(failed), "keep_failed", failed),
        _row("dead letters", await _count_letters(letters), "keep_dead_letters", letters),
        _row("audit records", await _count_audit(audit), "keep_audit", audit),
        _row("yanked versions", await _count_yanked(yanked), "keep_yanked", yanked),
        PruneRow(kind="held files", **_sums(await _count_held()), rule=_after(HELD_FOR)),
        PruneRow(
            kind="stored uploads",
            **_sums(await measure_uploads()),
            rule=f"each {_after(KEPT_FOR)}, unless it was published",
        ),
    ]


def _row(kind: str, found: tuple[int, int], name: str, kept: timedelta) -> PruneRow:
    rule = f"{_after(kept)} ({variable(name)})" if kept else f"never ({variable(name)})"
    return PruneRow(kind=kind, **_sums(found), rule=rule)


def _sums(found: tuple[int, int]) -> dict[str, int]:
    return {"count": found[0], "bytes": found[1]}


def _after(kept: timedelta) -> str:
    return f"after {count_of(kept.days, 'day')}"


def _before(kept: timedelta) -> datetime | None:
    return get_now() - kept if kept else None


async def _count_failed(kept: timedelta) -> tuple[int, int]:
    before, found, size, after = _before(kept), 0, 0, None
    if before is None:
        return 0, 0
    dead = {letter.key async for page in iterate_dead_letters() for letter in page}
    while True:
        page, after = await list_submissions_after(after, limit=_PAGE)
        old = [one for one in page if is_old_failure(one.record, before)]
        old = [one for one in old if one.record.id not in dead]
        queued = await get_queue().pending([one.record.id for one in old])
        for one in old:
            if one.record.id not in queued and (await removal_of(one))[1]:
                found, size = found + 1, size + len(encode(one.record))
        if after is None:
            return found, size


async def _count_letters(kept: timedelta) -> tuple[int, int]:
    before = _before(kept)
    found = [
        len(letter.body)
        async for page in iterate_dead_letters()
        for letter in page
        if before and letter.buried_at < before
    ]
    return len(found), sum(found)


async def _count_audit(kept: timedelta) -> tuple[int, int]:
    before = _before(kept)
    return await measure_audit_before(before) if before else (0, 0)


async def _count_yanked(kept: timedelta) -> tuple[int, int]:
    before = _before(kept)
    found = await list_yanked_long_ago(before) if before else []
    return len(found), sum(file.size for _, version in found for file in version.files)


async def _count_held() -> tuple[int, int]:
    count = size = 0
    for submission_id in await list_held():
        held, stored = await get_held(submission_id), await get_submission(submission_id)
        is_kept = stored is not None and (
            stored.record.state not in TERMINAL_STATES
            or get_now() - stored.record.updated_at < HELD_FOR
        )
        if held and not is_kept:
            count, size = count + 1, size + sum(file.size for file in held.record.files)
    return count, size

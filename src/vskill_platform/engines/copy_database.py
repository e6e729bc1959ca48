"""Copy everything into an empty database, verified by digest; after a kill, run it again."""

from collections.abc import AsyncIterator, Callable

import msgspec

from vskill_platform.engines.exported import Export, StoredItem, StoredRecord, Tally
from vskill_platform.engines.operations import Delete
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import ConfigError, EngineError

#: The record of an unfinished copy. No process serves a database that contains it.
UNFINISHED = "copy:unfinished"
OnCopied = Callable[[int, int], None]


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and digest, which are equal on both sides."""

    records: int
    messages: int
    dead_letters: int
    digest: str


class _Progress(msgspec.Struct, frozen=True, kw_only=True):
    #: The history of the source, and its revision at the moment of the snapshot.
    history_id: str
    revision: int
    #: The last copied key; empty at the start.
    after: str


async def refuse_unfinished_copy(engine: Engine) -> None:
    """Refuse to run on a database that contains only a part of the records."""
    if await engine.kv.get(UNFINISHED):
        raise ConfigError(
            "the database is an unfinished copy. Run the same `vskill-platform admin copy` or "
            "`admin restore` again to finish it."
        )


async def copy_export(export: Export, target: Engine, *, on_progress: OnCopied) -> Copied:
    """Load an export into *target*, which is empty or an unfinished copy; then compare both."""
    after = await _prepare_target(export, target)
    there = Tally()
    async for page in export.pages():
        there.add(page)
        left = [item for item in page if not isinstance(item, StoredRecord) or item.key > after]
        if left:
            await target.load([*left, *_mark(export, left)])
        on_progress(there.items, export.items)
    here = await _tally(target)
    if (here.items, here.digest) != (there.items, there.digest):
        await target.load([_encode(export, after="", revision=-1)])  # a retry starts over
        raise EngineError(
            f"the copy has {here.items:,} items with {here.digest}, the source {there.items:,} "
            f"with {there.digest}; something else has written to the copy. Run it again."
        )
    await target.commit([Delete(UNFINISHED)])
    return Copied(
        records=there.records.total(),
        messages=there.messages,
        dead_letters=there.dead_letters,
        digest=there.digest,
    )


async def _prepare_target(export: Export, target: Engine) -> str:
    """Return the key after which to continue; remove what an earlier attempt left unusable."""
    entry = await target.kv.get(UNFINISHED)
    if entry is None:
        async with target.export() as found:
            if found.items:
                raise ConfigError(
                    f"the target already has {found.items:,} records and messages; copy into an "
                    "empty database"
                )
            if found.history_id == export.history_id:
                raise ConfigError("the source and the target are the same database")
        await target.load([first_mark(export)])
        return ""
    progress = msgspec.json.decode(entry.value, type=_Progress)
    if (progress.history_id, progress.revision) == (export.history_id, export.revision):
        await target.clear(records=False)  # messages can change without a new revision
        return progress.after
    if progress.history_id != export.history_id:
        raise ConfigError(
            "the target is an unfinished copy of another database; copy into an empty one"
        )
    await target.clear(then=first_mark(export))
    return ""


def first_mark(export: Export) -> StoredRecord:
    """Return the record that says that nothing is copied yet."""
    return _encode(export, after="", revision=export.revision)


def is_mark_of(export: Export, mark: bytes) -> bool:
    """Return whether an unfinished copy can be continued with this export."""
    return msgspec.json.decode(mark, type=_Progress).history_id == export.history_id


def _mark(export: Export, page: list[StoredItem]) -> list[StoredItem]:
    """Return the record with the progress of the copy, for the commit that writes the page."""
    last = page[-1]
    if not isinstance(last, StoredRecord):
        return []
    return [_encode(export, after=last.key, revision=export.revision)]


def _encode(export: Export, *, after: str, revision: int) -> StoredRecord:
    progress = _Progress(history_id=export.history_id, revision=revision, after=after)
    return StoredRecord(UNFINISHED, msgspec.json.encode(progress))


async def _tally(target: Engine) -> Tally:
    tally = Tally()
    async with target.export() as export:
        async for page in without_mark(export.pages()):
            tally.add(page)
    return tally


async def without_mark(pages: AsyncIterator[list[StoredItem]]) -> AsyncIterator[list[StoredItem]]:
    async for page in pages:
        yield [
            item for item in page if not isinstance(item, StoredRecord) or item.key != UNFINISHED
        ]

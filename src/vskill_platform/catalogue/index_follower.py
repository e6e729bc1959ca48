"""Keep the search index current: open, fill, follow the change feed, repair.

No error here is final: a damaged file is rebuilt, and a database that is down is tried again;
meanwhile queries use the existing index.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.index_connections import Damaged
from vskill_platform.catalogue.index_file import IndexFile, Progress, open_index_file
from vskill_platform.catalogue.index_lock import IndexLock, lock_index_file
from vskill_platform.catalogue.index_records import (
    check,
    fill,
    group_keys,
    read_skill_changes,
    read_submission_changes,
)
from vskill_platform.catalogue.index_snapshot import SnapshotLoader, share_snapshot
from vskill_platform.catalogue.query import Freshness
from vskill_platform.engines.ports import ChangesPage
from vskill_platform.engines.sqlite.checkpoint import empty_large_log
from vskill_platform.engines.timestamps import from_micros, to_micros
from vskill_platform.engines.wakeup import Wakeup
from vskill_platform.errors import EngineError, FeedTrimmed, HistoryChanged, NotReady
from vskill_platform.runtime.env import WorkerEnv

log = get_logger(__name__)

#: Poll interval if no change is signalled.
LOOK_EVERY_SECONDS = 1.0
#: Pause before a retry after an error.
RETRY_SECONDS = 1.0
#: Pause before a rebuild, so that a failing disk does not cause a busy loop.
_AFTER_DAMAGE_SECONDS = 0.05
CHECK_EVERY = timedelta(minutes=10)
#: Results that are more outdated than this are shown with a warning.
DEGRADED_AFTER = timedelta(seconds=10)
#: How often progress is stored if nothing has changed.
_WRITE_PROGRESS_EVERY = timedelta(minutes=1)


class IndexFollower:
    def __init__(self, env: WorkerEnv, *, has_search_process: bool = False) -> None:
        self.has_search_process = has_search_process
        self._engine = env.engine
        self._settings = env.settings
        self._now = env.clock.now
        self._lock: IndexLock | None = None
        self._snapshots = SnapshotLoader()
        self._index: IndexFile | None = None
        #: The last revision read from the change feed; the stored one may be lower.
        self.revision = 0
        self._checkpoint = ""
        self._current_at: datetime | None = None
        self._problem = ""
        self._must_fill = False
        self._is_damaged = False
        self._moved = Wakeup()
        self._checking: AsyncIterator[str] | None = None
        self._checked_at: datetime | None = None
        self._again_after = ""

    @property
    def is_ready(self) -> bool:
        return self._index is not None and self._index.progress.is_built

    @property
    def freshness(self) -> Freshness:
        age = max(self._now() - self._current_at, timedelta(0)) if self._current_at else None
        is_degraded = bool(self._problem) or age is None or age > DEGRADED_AFTER
        return Freshness(
            revision=self.revision, age=age, is_degraded=is_degraded, problem=self._problem
        )

    def ready_index(self) -> IndexFile:
        if not self.is_ready:
            raise NotReady("the search index is being built; try again in a moment")
        return self._opened

    def report_damage(self, error: Damaged) -> None:
        """Report that the file could not be read, so that it is rebuilt."""
        log.warning("search index is rebuilt", reason=str(error))
        self._is_damaged = True

    async def wait_for(self, revision: int) -> None:
        while self.revision < revision or not self.is_ready:
            await self._moved.wait(self._moved.ticket())

    async def share_snapshot(self) -> str:
        """Store a copy of the index for new nodes; return what was done."""
        self.ready_index()
        if self._lock is None:
            raise NotReady("the search index is not open")
        return await share_snapshot(self._lock.path)

    async def run(self) -> None:
        """Keep the search index current until cancelled."""
        while True:
            try:
                await self._open()
                await self._follow()
            except Damaged as error:
                self.report_damage(error)
                await self._discard()
            except HistoryChanged as error:
                # Its contents may have been deleted or withdrawn since, so nothing of it is shown
                # again.
                log.warning("search index is rebuilt", reason=str(error))
                await self._discard()
            except FeedTrimmed as error:
                log.warning("search index is refilled", reason=str(error))
                # If this process ends before that is done, the next one starts from the beginning.
                self.revision, self._must_fill = 0, True
            except EngineError as error:
                if str(error) != self._problem:
                    log.error("search index is out of date", error=str(error))
                self._problem = str(error)
                await asyncio.sleep(RETRY_SECONDS)

    async def close(self) -> None:
        if self._index:
            if self.is_ready:
                with suppress(EngineError):
                    await self._write_progress()
            await self._index.close()
        if self._lock:
            self._lock.leave()

    @property
    def _opened(self) -> IndexFile:
        if self._index is None:
            raise NotReady("the search index is not open")
        return self._index

    async def _open(self) -> None:
        if self._lock is None:
            self._lock = lock_index_file(self._settings)
        if self._index is None:
            if not self._lock.path.exists():
                await self._snapshots.load(self._lock.path)
            index = await open_index_file(
                self._lock.path, has_search_process=self.has_search_process
            )
            try:
                await self._check_history(index.progress)
            except HistoryChanged:
                await index.close()
                raise
            self.revision = index.progress.revision
            self._checkpoint = index.progress.checkpoint
            if index.progress.current_at:
                self._current_at = from_micros(index.progress.current_at)
            self._index = index
            self._moved.wake()

    async def _check_history(self, progress: Progress) -> None:
        """Raise HistoryChanged, so that no query is answered with data of another database."""
        try:
            await self._engine.read_changes(after=progress.revision, checkpoint=progress.checkpoint)
        except HistoryChanged:
            raise
        except EngineError as error:  # results are marked as outdated meanwhile
            log.warning("search index not verified", error=str(error))

    async def _discard(self) -> None:
        index, self._index, self._checking, self._is_damaged = self._index, None, None, False
        if index:
            await index.close()  # finishes running queries
        if self._lock:
            self._lock.clear()
        await asyncio.sleep(_AFTER_DAMAGE_SECONDS)

    async def _follow(self) -> None:
        if self._must_fill or not self.is_ready:
            await self._fill()
        while True:
            has_news = await self._read_on()
            if self._is_damaged:
                raise Damaged("a query failed")
            if self._is_check_due():
                await self._check_on()
            elif not has_news:
                await self._wait_for_changes()

    async def _fill(self) -> None:
        started = self._now()
        start = await self._engine.read_changes(after=await self._engine.revision())
        await fill(self._opened)
        await self._opened.write(
            Progress(
                revision=start.through,
                current_at=to_micros(started),
                checkpoint=start.checkpoint,
                is_built=True,
            )
        )
        self._must_fill = False
        self._arrive(start, started)
        log.info("search index built", revision=self.revision)

    async def _read_on(self) -> bool:
        """Read and index one page of changes; return whether there were any."""
        looked_at = self._now()
        page = await self._engine.read_changes(after=self.revision, checkpoint=self._checkpoint)
        if page.changes:
            await self._write_changes(page)
        self._arrive(page, looked_at if page.is_last else None)
        if self._is_progress_due():
            await self._write_progress()
        return bool(page.changes)

    async def _write_changes(self, page: ChangesPage) -> None:
        index = self._opened
        changed = group_keys(key for change in page.changes for key in change.keys)
        if not changed:
            return
        slugs = changed.slugs | await index.slugs_of_submissions(changed.evidence)
        skills = await read_skill_changes(slugs) if slugs else None
        submissions = await read_submission_changes(changed.submission_ids, changed.events)
        progress = msgspec.structs.replace(
            index.progress, revision=page.through, checkpoint=page.checkpoint
        )
        await index.write(progress, skills=skills, submissions=submissions)

    def _arrive(self, page: ChangesPage, current_at: datetime | None) -> None:
        self.revision, self._checkpoint = page.through, page.checkpoint
        if current_at:
            self._current_at = current_at
        self._problem = ""
        self._moved.wake()

    async def _wait_for_changes(self) -> None:
        try:
            async with asyncio.timeout(LOOK_EVERY_SECONDS):
                await anext(self._engine.changes(after=self.revision))
        except TimeoutError:
            if self._lock:  # nothing was written for a while
                await work_in_thread(empty_large_log, self._lock.path)

    def _is_check_due(self) -> bool:
        if self._checking or self._checked_at is None:
            return True
        return abs(self._now() - self._checked_at) >= CHECK_EVERY

    async def _check_on(self) -> None:
        """Run the next step of the check against the records."""
        self._checking = self._checking or check(
            self._opened, self._catch_up, again_after=self._again_after
        )
        try:
            self._again_after = await anext(self._checking)
        except StopAsyncIteration:
            self._checking, self._checked_at = None, self._now()

    async def _catch_up(self) -> None:
        """Read the changes up to the current revision; later ones are left, so that this ends."""
        newest = await self._engine.revision()
        while self.revision < newest:
            await self._read_on()

    def _is_progress_due(self) -> bool:
        written = from_micros(self._opened.progress.current_at)
        return self._current_at is not None and self._current_at - written > _WRITE_PROGRESS_EVERY

    async def _write_progress(self) -> None:
        current_at = to_micros(self._current_at) if self._current_at else 0
        await self._opened.write(
            Progress(
                revision=self.revision,
                current_at=current_at,
                checkpoint=self._checkpoint,
                is_built=True,
            )
        )

"""The search index of a node: search, lists and counts, and how current they are.

The folder and class are called catalogue because "index" alone could also mean a database index or
a web page.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import apsw
import msgspec

from vskill_platform.catalogue.answer_searches import search
from vskill_platform.catalogue.index_connections import READERS, Damaged
from vskill_platform.catalogue.index_follower import IndexFollower
from vskill_platform.catalogue.list_skills import (
    about_namespace,
    list_addresses,
    list_skills,
    read_hits,
)
from vskill_platform.catalogue.list_submissions import (
    ActivityQuery,
    count_all,
    count_by_state,
    list_activity,
    list_down,
    list_submissions,
)
from vskill_platform.catalogue.next_page import EXPIRED
from vskill_platform.catalogue.query import (
    PUBLIC,
    ActivityBucket,
    Bucket,
    Counts,
    Freshness,
    ListedSkill,
    NamespaceFacts,
    SkillHit,
    SkillPosition,
    SkillQuery,
    SkillResults,
    SkillSort,
    SubmissionQuery,
    SubmissionResults,
    Suggestion,
    TakenDownSkills,
    Visible,
)
from vskill_platform.catalogue.search_process import NotSearched, SearchProcess
from vskill_platform.catalogue.search_skills import (
    KnownCounts,
    Question,
    is_quick,
    words_of_first_page,
)
from vskill_platform.catalogue.versioned_cache import VersionedCache
from vskill_platform.engines.batcher import Batcher
from vskill_platform.errors import InvalidInput, NotReady
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env

Result = TypeVar("Result")
#: Cache sizes: counts per query, and whole results. Entries are valid until the data changes.
_COUNTS, _RESULTS = 4_096, 256
#: How many searches share a call, and how many calls run at once. A call of a thread costs as much
#: as a search, because the thread waits for the interpreter lock; so each takes all that wait. The
#: search process always has a second call to continue with (benchmarks/bench_search.py).
_IN_THREADS, _IN_PROCESS = (32, READERS), (8, 2)
#: How long a page waits for the revision that another node has shown.
_OTHER_NODE_WITHIN = timedelta(seconds=2)


class Catalogue:
    """The search index; queries raise NotReady while it is built for the first time."""

    def __init__(self, follower: IndexFollower, now: Callable[[], datetime]) -> None:
        self._follower = follower
        self._now = now
        max_batch, at_once = _IN_PROCESS if follower.has_search_process else _IN_THREADS
        self._searches: Batcher[Question, tuple[SkillResults, KnownCounts]] = Batcher(
            self._search_some, max_batch=max_batch, at_once=at_once
        )
        self._known: VersionedCache[SkillQuery, KnownCounts] = VersionedCache(_COUNTS)
        self._results: VersionedCache[SkillQuery, SkillResults] = VersionedCache(_RESULTS)
        self._counts: VersionedCache[Visible, Counts] = VersionedCache(_RESULTS)

    @property
    def revision(self) -> int:
        """The last revision that the index contains."""
        return self._follower.revision

    @property
    def is_ready(self) -> bool:
        return self._follower.is_ready

    @property
    def search_process(self) -> SearchProcess | None:
        """The process that runs searches, if there is one."""
        return self._follower.ready_index().search_process

    @property
    def age(self) -> timedelta | None:
        """How long ago the index was known to be current; None before the first time."""
        return self._follower.freshness.age

    @property
    def freshness(self) -> Freshness:
        return self._follower.freshness

    async def search_skills(self, query: SkillQuery) -> SkillResults:
        index = self._follower.ready_index()
        changed, written = index.skills_changed, index.skills_written
        if remembered := self._results.get(query, written):
            return remembered
        if query.after:
            await self._wait_for_position(query.after)
        # The total depends neither on order and page, nor on what is searched for if it is zero.
        question = msgspec.structs.replace(
            words_of_first_page(query, query.after) if query.after else query,
            sort=SkillSort.RELEVANCE,
            offset=0,
            limit=0,
            with_facets=False,
            is_forgiving=False,
        )
        known = self._known.get(question, changed)
        asked = Question(query, known)
        if is_quick(query) and not query.after:
            answer, counted = await self._searches.submit(asked)
        else:
            ((answer, counted),) = await self._search_some([asked])
        if counted is not known:
            self._known.keep(question, counted, changed)
        self._results.keep(query, answer, written)
        return answer

    async def _wait_for_position(self, after: SkillPosition) -> None:
        """Wait if another node gave out the position and this one is behind it."""
        if not await self.wait_until(after.revision, within=_OTHER_NODE_WITHIN):
            raise InvalidInput(EXPIRED)

    @property
    def listing_version(self) -> int:
        """Increases whenever the result of `list_skills` may change."""
        return self._follower.ready_index().skills_changed

    async def list_skills(self, *, below: str = "", visible: Visible = PUBLIC) -> list[ListedSkill]:
        """Return all skills below a namespace or repo, or of the registry, ordered by slug."""
        return await self._ask(partial(list_skills, below=below, visible=visible))

    async def read_hits(self, slugs: Sequence[str], *, visible: Visible) -> list[SkillHit]:
        """Return these skills in this order, except those that the visitor may not see."""
        return await self._ask(partial(read_hits, slugs=slugs, visible=visible))

    async def about_namespace(self, namespace: str, *, visible: Visible) -> NamespaceFacts:
        return await self._ask(partial(about_namespace, namespace=namespace, visible=visible))

    async def list_addresses(self, *, offset: int, limit: int) -> list[tuple[str, datetime]]:
        """Return the slugs of public skills in order, each with the time of its last update."""
        return await self._ask(partial(list_addresses, offset=offset, limit=limit))

    async def suggest(
        self, text: str, *, limit: int = 8, visible: Visible = PUBLIC
    ) -> list[Suggestion]:
        """Return search suggestions for *text*, starting with names that begin with it."""
        if not text.strip():
            return []
        found = await self.search_skills(SkillQuery(text=text, limit=limit, visible=visible))
        return [
            Suggestion(slug=hit.slug, name=hit.name, description=hit.description, tier=hit.tier)
            for hit in found.hits
        ]

    async def list_taken_down(
        self, *, named: str = "", offset: int = 0, limit: int = 25, visible: Visible = PUBLIC
    ) -> TakenDownSkills:
        """Return the skills that were taken down, or those with a name, most recent first."""
        asked = partial(list_down, named=named, offset=offset, limit=limit, visible=visible)
        return await self._ask(asked)

    async def list_submissions(self, query: SubmissionQuery) -> SubmissionResults:
        return await self._ask(partial(list_submissions, query=query))

    async def count_submissions(self, *, visible: Visible = PUBLIC) -> dict[SubmissionState, int]:
        return await self._ask(partial(count_by_state, visible=visible))

    async def count_all(self, *, visible: Visible = PUBLIC) -> Counts:
        version = self._follower.ready_index().skills_written
        known = self._counts.get(visible, version)
        counts = await self._ask(partial(count_all, visible=visible, known=known))
        self._counts.keep(visible, counts, version)
        return counts

    async def activity(
        self,
        since: datetime,
        bucket: Bucket,
        *,
        until: datetime | None = None,
        visible: Visible = PUBLIC,
    ) -> list[ActivityBucket]:
        """Return the activity per hour or day from *since* until *until*, by default now."""
        query = ActivityQuery(
            since=since, until=until or self._now(), bucket=bucket, visible=visible
        )
        return await self._ask(partial(list_activity, query=query))

    async def wait_until(self, revision: int, *, within: timedelta = timedelta(seconds=5)) -> bool:
        """Wait until the index contains *revision*; return False if it takes longer than *within*.

        A commit returns its revision, so a writer can wait to read its own changes.
        """
        try:
            async with asyncio.timeout(within.total_seconds()):
                await self._follower.wait_for(revision)
        except TimeoutError:
            return False
        return True

    async def wait_until_ready(self) -> None:
        await self._follower.wait_for(0)

    async def share_snapshot(self) -> str:
        """Store a copy of the index, from which new nodes start; return what was done."""
        await self.wait_until_ready()
        return await self._follower.share_snapshot()

    async def _search_some(
        self, questions: Sequence[Question]
    ) -> list[tuple[SkillResults, KnownCounts]]:
        if process := self.search_process:
            with suppress(NotSearched):
                return await process.search(questions)
        return await self._ask(partial(search, questions=questions))

    async def _ask(self, question: Callable[[apsw.Connection], Result]) -> Result:
        index = self._follower.ready_index()
        try:
            return await index.connections.read(question)
        except Damaged as error:
            self._follower.report_damage(error)
            raise NotReady("the search index is being rebuilt") from error


@asynccontextmanager
async def open_catalogue(
    env: WorkerEnv, *, has_search_process: bool = False
) -> AsyncIterator[Catalogue]:
    """Open this node's search index at once; a background task builds and follows it.

    While it is built for the first time it raises NotReady. For a server, searches may run in a
    process of their own.
    """
    follower = IndexFollower(env, has_search_process=has_search_process)
    try:
        # An unexpected error in the follower also ends the caller, because a registry that lists
        # outdated skills is worse than one that is down.
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(run_with_worker_env(env, follower.run))
            yield Catalogue(follower, env.clock.now)
            following.cancel()
    except BaseExceptionGroup as errors:
        if len(errors.exceptions) > 1:
            raise
        raise errors.exceptions[0] from None  # callers expect the error itself, not a group
    finally:
        await follower.close()

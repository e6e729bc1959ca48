"""Queries to the search index, and their results."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

import msgspec

from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.trust import TrustTier

#: Maximum page size.
MAX_LIMIT = 200


class SkillSort(StrEnum):
    #: Best match first; without a text by trust, installs and age.
    RELEVANCE = "relevance"
    NEWEST = "newest"
    UPDATED = "updated"
    NAME = "name"
    TRUST = "trust"
    INSTALLS = "installs"

    @classmethod
    def _missing_(cls, value: object) -> "SkillSort | None":
        # Sort orders of the original client; without stars, they all use the installs.
        return cls.INSTALLS if value in {"stars", "trending"} else None


class SubmissionSort(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"
    UPDATED = "updated"
    NAME = "name"
    SCORE = "score"


class Visible(msgspec.Struct, frozen=True, kw_only=True):
    """Which private skills the visitor may see, in addition to public ones."""

    #: Whether the visitor sees all private skills, like reviewers and admins.
    is_all: bool = False
    #: The namespaces that the visitor owns or is a member of, as in `SkillHit.namespace`.
    namespaces: frozenset[str] = frozenset()


PUBLIC = Visible()
EVERYTHING = Visible(is_all=True)


class SearchMode(StrEnum):
    """The search modes, tried in order until one matches anything."""

    WORDS = "words"
    ANYWHERE = "anywhere"
    PARTS = "parts"


_Number = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
_Word = Annotated[str, msgspec.Meta(max_length=1_000)]
#: Cursors come from clients, and a position after theirs must be valid, too.
MAX_SEEN = 2**31


class SkillPosition(msgspec.Struct, frozen=True, array_like=True):
    """The last skill of a page, to read the next one: its sort key, and at which revision."""

    sort: SkillSort
    #: The revision of the index when the first page was read.
    revision: _Number
    #: How many skills were on this page and those before.
    seen: Annotated[int, msgspec.Meta(ge=0, le=MAX_SEEN)]
    #: The value of the sort, and the id.
    value: _Number | _Word
    id: _Number
    mode: SearchMode = SearchMode.WORDS
    #: The words that were searched for instead; empty if those of the query matched.
    text: _Word = ""
    any_word: bool = False


class SkillQuery(msgspec.Struct, frozen=True, kw_only=True):
    #: The search text; any input is valid.
    text: str = ""
    namespace: str = ""
    tier: str = ""
    tag: str = ""
    #: An agent that the skill must work with: the skill names this agent, or none.
    agent: str = ""
    #: Capabilities that the skill must have, and that it must not have (see model/skill.py). A
    #: skill whose capabilities were not recorded matches neither.
    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()
    #: One matching word is enough; skills with more of them come first.
    any_word: bool = False
    #: If nothing matches: correct typos, then accept any of the words.
    is_forgiving: bool = False
    sort: SkillSort = SkillSort.RELEVANCE
    offset: int = 0
    limit: int = 25
    #: Start after this skill. The offset then only says how many came before.
    after: SkillPosition | None = None
    #: How many skills to skip after it, to jump to a later page.
    skip: int = 0
    visible: Visible = PUBLIC
    #: Facets are slow, so they are optional.
    with_facets: bool = False


class ListedSkill(msgspec.Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """The data about a skill that protocols of other clients list.

    It is read from the beginning of a stored `SkillHit`, which is an array to save the names of its
    fields. Change `_FORMAT` in index_connections.py if the fields or their order change.
    """

    slug: str
    name: str
    description: str
    #: The publisher, as in slugs: `ada`, `git.example/ada`, `@ada`.
    namespace: str
    #: The latest version; empty if all versions are yanked.
    version: str
    license: str | None
    tags: tuple[str, ...]
    is_private: bool
    #: Digests of the latest version as a zip and in git; empty if not known yet.
    zip_sha256: str = ""
    git_commit: str = ""
    #: Empty if it is the same commit.
    plugin_commit: str = ""


class SkillHit(ListedSkill, frozen=True, kw_only=True, gc=False, array_like=True):
    publisher: str
    repo_url: str
    tier: TrustTier
    trust_score: int
    #: Empty for all.
    agents: tuple[str, ...]
    #: When it was first published.
    published_at: datetime
    #: When the latest version was published.
    updated_at: datetime
    installs: int
    #: The capabilities of the latest version, as in `SkillQuery.can`; None if not recorded.
    capabilities: tuple[str, ...] | None = None
    #: Why its latest version should no longer be used, and what to use instead; both may be empty.
    deprecated: str = ""
    use_instead: str = ""


class SkillResults(msgspec.Struct, frozen=True, kw_only=True):
    """A page of results. It is cached and shared, so do not modify it."""

    hits: list[SkillHit]
    #: The exact total of all pages.
    total: int
    #: The values of `namespace`, `tier`, `tag`, `agent` and `capability` with their number of
    #: skills, most frequent first; None if not requested. A capability `no-…` counts the skills
    #: without it.
    facets: dict[str, list[tuple[str, int]]] | None = None
    #: The words that were searched for instead because nothing matched the text; empty otherwise.
    searched_for: str = ""
    #: Whether one of these words was enough for a match.
    is_any_word: bool = False
    #: Where the next page starts; None after the last.
    next: SkillPosition | None = None


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A suggestion below the search field."""

    slug: str
    name: str
    description: str
    tier: TrustTier


class TakenDownSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that was published and then taken down."""

    slug: str
    name: str
    namespace: str
    reason: str
    at: datetime
    is_private: bool


class TakenDownSkills(msgspec.Struct, frozen=True, kw_only=True):
    skills: list[TakenDownSkill]
    total: int


class NamespaceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Data from the index about a publisher, as far as the visitor may see it."""

    installs: int
    #: When its oldest listed skill was published; None without one.
    since: datetime | None
    #: Skills that were taken down, most recent first.
    down: list[TakenDownSkill]


class SubmissionPosition(msgspec.Struct, frozen=True, array_like=True):
    """The last submission of a page in an order that never changes, to read the next page."""

    sort: SubmissionSort
    id: _Number


class SubmissionQuery(msgspec.Struct, frozen=True, kw_only=True):
    #: Part of a name, a repo's URL or a slug, or an id.
    text: str = ""
    #: Empty for all.
    states: tuple[SubmissionState, ...] = ()
    sort: SubmissionSort = SubmissionSort.NEWEST
    offset: int = 0
    limit: int = 25
    #: Start after this submission.
    after: SubmissionPosition | None = None
    submitter: str = ""
    set_id: str = ""
    #: Only submissions with these ids; empty for all.
    ids: tuple[str, ...] = ()
    namespace: str = ""
    visible: Visible = PUBLIC


class SubmissionRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    skill_name: str
    repo_url: str
    path: str
    state: SubmissionState
    #: The reason for its state, in words.
    reason: str
    #: The score of the latest report, from 0 (clean) to 100; None without a report.
    score: int | None
    submitter: str
    namespace: str
    created_at: datetime
    updated_at: datetime
    attempts: int
    #: The slug of the published skill, if there is one.
    slug: str | None
    set_id: str | None
    is_private: bool


class SubmissionResults(msgspec.Struct, frozen=True, kw_only=True):
    rows: list[SubmissionRow]
    total: int
    #: Where the next page starts; None after the last, and in orders that change.
    next: SubmissionPosition | None = None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    #: All states, including zeros.
    by_state: dict[SubmissionState, int]
    #: Skills that are listed.
    published: int
    #: Skills that were taken down.
    taken_down: int
    #: Namespaces with at least one listed skill.
    namespaces: int
    installs: int


class Bucket(StrEnum):
    HOUR = "hour"
    DAY = "day"


class ActivityBucket(msgspec.Struct, frozen=True, kw_only=True):
    """The activity of one hour or day, in UTC; empty buckets are included."""

    start: datetime
    #: Submissions received or reopened.
    received: int
    #: Submissions that were finished or sent to review, by their new state.
    ended: dict[SubmissionState, int]
    #: Scan time of the finished ones, in seconds; None if nothing was scanned.
    scan_median: float | None
    scan_p95: float | None


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """How current the search index is."""

    #: The last revision read from the change feed.
    revision: int
    #: How long ago it was known to be the latest revision; None before the first time.
    age: timedelta | None
    #: Whether pages should say that they may be outdated.
    is_degraded: bool
    #: The last problem, in words; empty if there is none.
    problem: str = ""

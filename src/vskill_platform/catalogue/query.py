"""Queries to the search index, and their results."""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.trust import TrustTier

#: Nobody reads further; to get everything, read page by page.
MAX_LIMIT = 200


class SkillSort(StrEnum):
    #: The best match first; without a text the most trusted, most installed, newest.
    RELEVANCE = "relevance"
    NEWEST = "newest"
    UPDATED = "updated"
    NAME = "name"
    TRUST = "trust"
    INSTALLS = "installs"


class SubmissionSort(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"
    UPDATED = "updated"
    NAME = "name"
    SCORE = "score"


class Visible(msgspec.Struct, frozen=True, kw_only=True):
    """Which private skills the visitor may see; public ones are visible to everybody."""

    #: For reviewers and admins.
    is_all: bool = False
    #: The namespaces that the visitor owns or is a member of, as in `SkillHit.namespace`.
    namespaces: frozenset[str] = frozenset()


PUBLIC = Visible()
EVERYTHING = Visible(is_all=True)


class SkillQuery(msgspec.Struct, frozen=True, kw_only=True):
    #: The typed text; any text is valid.
    text: str = ""
    namespace: str = ""
    tier: str = ""
    tag: str = ""
    #: An agent that it must support: it names this one, or none at all.
    agent: str = ""
    sort: SkillSort = SkillSort.RELEVANCE
    offset: int = 0
    limit: int = 25
    visible: Visible = PUBLIC
    #: Facets cost time, so they are only computed on request.
    with_facets: bool = False


class SkillHit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    slug: str
    name: str
    description: str
    #: The namespace as in slugs: `ada`, `git.example/ada`, `@ada`.
    namespace: str
    publisher: str
    #: The latest version; empty if every version is yanked.
    version: str
    repo_url: str
    tier: TrustTier
    trust_score: int
    tags: tuple[str, ...]
    #: Empty for all.
    agents: tuple[str, ...]
    license: str | None
    #: When it was first published.
    published_at: datetime
    #: When the latest version was published.
    updated_at: datetime
    is_private: bool
    installs: int


class SkillResults(msgspec.Struct, frozen=True, kw_only=True):
    """A result. Equal queries may get the same object, so it must not be changed."""

    hits: list[SkillHit]
    #: The count on all pages together; always exact.
    total: int
    #: For `namespace`, `tier`, `tag` and `agent` the values with their counts, most frequent first;
    #: None if they were not requested.
    facets: dict[str, list[tuple[str, int]]] | None = None


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """One suggestion below the search field."""

    slug: str
    name: str
    description: str
    tier: TrustTier


class DownSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that was published and then taken down."""

    slug: str
    name: str
    namespace: str
    reason: str
    at: datetime
    is_private: bool


class DownSkills(msgspec.Struct, frozen=True, kw_only=True):
    skills: list[DownSkill]
    total: int


class SubmissionQuery(msgspec.Struct, frozen=True, kw_only=True):
    #: Part of a name, a repo's URL or a slug, or an id.
    text: str = ""
    #: Empty for all.
    states: tuple[SubmissionState, ...] = ()
    sort: SubmissionSort = SubmissionSort.NEWEST
    offset: int = 0
    limit: int = 25
    submitter: str = ""
    set_id: str = ""
    #: Only these; empty for all.
    ids: tuple[str, ...] = ()
    namespace: str = ""
    visible: Visible = PUBLIC


class SubmissionRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    skill_name: str
    repo_url: str
    path: str
    state: SubmissionState
    #: Why it is in its state, for people.
    reason: str
    #: From the latest report: 0 is clean, 100 is certain; None if there is none.
    score: int | None
    submitter: str
    namespace: str
    created_at: datetime
    updated_at: datetime
    attempts: int
    #: The published skill, once there is one.
    slug: str | None
    set_id: str | None
    is_private: bool


class SubmissionResults(msgspec.Struct, frozen=True, kw_only=True):
    rows: list[SubmissionRow]
    total: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    #: Every state is included, also with 0.
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
    """What happened in one hour or day (UTC); empty buckets are included."""

    start: datetime
    #: How many submissions arrived or were reopened.
    received: int
    #: How many finished or need review, by their new state.
    ended: dict[SubmissionState, int]
    #: Seconds of scanning for those that finished; None if nothing was scanned.
    scan_median: float | None
    scan_p95: float | None


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """How current the results are."""

    #: The revision up to which the change feed was read.
    revision: int
    #: How long ago that was known to be everything; None before the first time.
    age: timedelta | None
    #: Whether pages should say that they may be out of date.
    is_degraded: bool
    #: The last error, in words; empty if there is none.
    problem: str = ""

"""A generated registry of any size, and typical search queries."""

import random
from collections.abc import Iterator
from datetime import timedelta
from itertools import accumulate, islice
from urllib.parse import urlencode

from benchmarks.sample_records import NOW
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.engines.ports import Engine
from vskill_platform.model.judgement import Judgement, Opinion
from vskill_platform.model.labels import KNOWN_AGENTS
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import (
    Cause,
    Submission,
    SubmissionState,
    move,
    open_submission,
)
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.stores.submission_store import write_beginning, write_submission
from vskill_platform.stores.version_store import write_version

#: Words alone, and with filters and orders.
SEARCH, LIST = "/api/v1/skills/search", "/api/v1/skills"
_SKILLS_A_REPO = 20
_A_COMMIT = 500
_WORDS = 30_000
_TAGS = 300
#: One skill in so many is private.
_PRIVATE = 100
#: Which part of all skills a judge agreed with, and of which part the scan had doubts.
_JUDGED, _DOUBTED = 0.35, 0.1
_SYLLABLES = (
    "ka",
    "ro",
    "mi",
    "te",
    "lo",
    "sa",
    "ne",
    "vi",
    "do",
    "pu",
    "re",
    "sto",
    "gra",
    "pli",
    "con",
    "pro",
    "dat",
    "ser",
    "not",
    "tes",
    "an",
    "er",
    "in",
    "or",
    "al",
)
#: The most frequent words are like "use", "when" and "the": in half of all descriptions, and seldom
#: asked for.
_FILLERS = 20
_FILLER_SHARE = 0.05
_TIMINGS = {"fetch": 0.412, "check": 0.018, "compare": 0.002, "publish": 0.003}


def a_vocabulary() -> tuple[list[str], list[float]]:
    """Return words, and how often each is used: a few all the time, most hardly ever."""
    steady = random.Random(3)
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        words["".join(steady.choices(_SYLLABLES, k=steady.choice((2, 2, 3, 3, 4))))] = None
    return list(words), list(accumulate(1 / (rank + 3) for rank in range(_WORDS)))


_VOCABULARY, _FREQUENCIES = a_vocabulary()
_FILLER_WORDS = frozenset(_VOCABULARY[:_FILLERS])
_TAG_FREQUENCIES = list(accumulate(1 / (rank + 1) for rank in range(_TAGS)))
_TAG_NAMES = _VOCABULARY[100 : 100 + _TAGS]


def some_words(steady: random.Random, count: int) -> list[str]:
    return steady.choices(_VOCABULARY, cum_weights=_FREQUENCIES, k=count)


def asked_words(steady: random.Random, count: int) -> list[str]:
    """Return words as people ask for them: as often as they occur, but hardly ever a filler."""
    words: list[str] = []
    while len(words) < count:
        (word,) = some_words(steady, 1)
        if word not in _FILLER_WORDS or steady.random() < _FILLER_SHARE:
            words.append(word)
    return words


def a_skill(number: int) -> PublishedSkill:
    """Return the skill of that number, always the same."""
    steady = random.Random(number)
    owner = f"{_VOCABULARY[number // _SKILLS_A_REPO % _WORDS]}{number // _SKILLS_A_REPO}"
    repo_url, path = f"https://github.com/{owner}/skills", f"skills/s{number}"
    name = "-".join(some_words(steady, steady.choice((1, 2, 2, 3))))
    published_at = NOW - timedelta(hours=steady.randrange(20_000))
    return PublishedSkill(
        slug=f"{owner}/skills/{name}-{number}",
        name=f"{name}-{number}" if number % 3 else name,
        description=" ".join(some_words(steady, steady.randint(10, 40))).capitalize() + ".",
        repo_url=repo_url,
        skill_path=path,
        source_key=f"{repo_url}#{path}",
        publisher=f"github.com/{owner}",
        submission_id=f"sub_{number:027x}",
        version="1.0.0",
        versions=1,
        digest=f"sha256:{number:064x}",
        published_at=published_at,
        checked_at=published_at,
        license="MIT",
        tags=tuple(dict.fromkeys(steady.choices(_TAG_NAMES, cum_weights=_TAG_FREQUENCIES, k=3))),
        agents=tuple(steady.sample(sorted(KNOWN_AGENTS), k=steady.choice((0, 0, 1, 2)))),
        is_private=number % _PRIVATE == 0,
    )


def records_of(skill: PublishedSkill) -> Iterator[Operation]:
    """Yield all that a publication leaves behind."""
    now = skill.published_at
    yield write_skill(skill, expected=ABSENT)
    version = SkillVersion(
        slug=skill.slug, number=1, version=skill.version, digest=skill.digest, files=(),
        archive_sha256="00" * 32, commit_sha="a" * 40, submission_id=skill.submission_id,
        published_at=now, zip_sha256=f"{skill.digest[-64:]}", git_commit=skill.digest[-40:],
    )  # fmt: skip
    yield from write_version(version, b"")
    yield write_report(_a_report(skill))
    source = git_source(skill.repo_url, skill.skill_path)
    submission = Submission(
        id=skill.submission_id, source=source, repo_url=source.url, skill_name=skill.name,
        skill_path=source.path, state=SubmissionState.RECEIVED, submitter="ada", created_at=now,
        updated_at=now, slug=skill.slug, timings=_TIMINGS, is_private=skill.is_private,
    )  # fmt: skip
    submission, first = open_submission(submission, _cause("submit"))
    events = []
    for state in ("TIER1_SCANNING", "AUTO_APPROVED", "PUBLISHED"):
        submission, event = move(submission, SubmissionState(state), _cause("check"), now=now)
        events.append(event)
    yield from write_beginning(submission, first)
    yield from write_submission(submission, events, expected=ABSENT)


def _a_report(skill: PublishedSkill) -> Report:
    """Return a report by which the skill gets one of the tiers T1, T2 and T3."""
    steady = random.Random(skill.digest)
    is_judged = steady.random() < _JUDGED
    judgement = Judgement(
        opinion=Opinion.PUBLISH, confidence=0.9, summary="", reasons=(), unseen=(), model="bench",
        answered_by="bench", prompt="1", asked_at=skill.published_at, duration_seconds=1.0,
        tokens_in=1, tokens_out=1, cost=0.0,
    )  # fmt: skip
    return Report(
        submission_id=skill.submission_id,
        verdict=Verdict.REVIEW if steady.random() < _DOUBTED else Verdict.PASS,
        findings=(),
        digest=skill.digest,
        scanner="bench",
        checked_at=skill.published_at,
        duration_seconds=0.02,
        judgement=judgement if is_judged else None,
    )


def _cause(trigger: str) -> Cause:
    timings = _TIMINGS if trigger == "check" else {}
    return Cause(trigger=trigger, actor="bench", reason="made up", timings=timings)


async def fill(engine: Engine, count: int) -> None:
    """Write the records of *count* skills straight into the store; an env must be bound."""
    numbers = iter(range(count))
    while some := list(islice(numbers, _A_COMMIT)):
        operations = [write for number in some for write in records_of(a_skill(number))]
        assert await engine.commit(operations) is not None


def questions(count: int) -> list[str]:
    """Return paths of the API that ask whatever people ask, nearly all of them different."""
    steady = random.Random(11)
    kinds = (
        (20, SEARCH, _a_common_word), (15, SEARCH, _a_rare_word), (20, SEARCH, _two_words),
        (20, SEARCH, _a_beginning), (10, SEARCH, _a_misspelt_word), (10, LIST, _a_filter),
        (3, LIST, _another_order), (2, LIST, _no_text),
    )  # fmt: skip
    chosen = steady.choices(kinds, [share for share, *_ in kinds], k=count)
    return [f"{path}?{urlencode(ask(steady))}" for _, path, ask in chosen]


def _a_common_word(steady: random.Random) -> dict[str, str]:
    return {"q": asked_words(steady, 1)[0]}


def _a_rare_word(steady: random.Random) -> dict[str, str]:
    return {"q": _VOCABULARY[steady.randrange(2_000, _WORDS)]}


def _two_words(steady: random.Random) -> dict[str, str]:
    return {"q": " ".join(asked_words(steady, 2))}


def _a_beginning(steady: random.Random) -> dict[str, str]:
    """Return a question as it is while somebody types."""
    words = asked_words(steady, steady.choice((1, 1, 2)))
    words[-1] = words[-1][: steady.randint(1, 6)]
    return {"q": " ".join(words)}


def _a_misspelt_word(steady: random.Random) -> dict[str, str]:
    (word,) = asked_words(steady, 1)
    at = steady.randrange(len(word))
    return {"q": f"{word[:at]}{steady.choice('qwxyz')}{word[at + 1 :]}"}


def _a_filter(steady: random.Random) -> dict[str, str]:
    filters = {
        "tier": steady.choice(("T1", "T2", "T3")),
        "tag": steady.choices(_TAG_NAMES, cum_weights=_TAG_FREQUENCIES)[0],
        "agent": steady.choice(sorted(KNOWN_AGENTS)),
        "namespace": f"{_VOCABULARY[(owner := steady.randrange(5_000))]}{owner}",
    }
    chosen = steady.sample(sorted(filters), k=steady.choice((1, 1, 2)))
    text = asked_words(steady, 1)[0] if steady.random() < 0.7 else ""  # noqa: PLR2004 - two in three
    return {"q": text, **{name: filters[name] for name in chosen}}


def _another_order(steady: random.Random) -> dict[str, str]:
    sort = steady.choice(("newest", "updated", "name", "trust"))
    return {"q": asked_words(steady, 1)[0], "sort": sort}


def _no_text(steady: random.Random) -> dict[str, str]:
    return {"page": str(steady.randrange(1, 40))}

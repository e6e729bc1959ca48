"""Lists of submissions: every filter, every order, true totals, and counts by state."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.clocks import NOON
from tests.unit.catalogue.index_files import a_report, committed, current, submitted
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import (
    EVERYTHING,
    SubmissionQuery,
    SubmissionResults,
    SubmissionSort,
    Visible,
)
from vskill_platform.engines.operations import Delete
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.submission_store import get_submission, write_submission

_S = SubmissionState


async def listed(catalogue: Catalogue, **fields: Any) -> list[str]:
    return [row.id for row in (await answer(catalogue, **fields)).rows]


async def answer(catalogue: Catalogue, **fields: Any) -> SubmissionResults:
    await current(catalogue)
    return await catalogue.list_submissions(SubmissionQuery(**fields))


async def some_submissions() -> None:
    """Store four: one an hour, each in another state."""
    states = (_S.PUBLISHED, _S.RECEIVED, _S.REJECTED, _S.PUBLISHED)
    for number, state in enumerate(states):
        owner = "ada" if number % 2 else "ben"
        await submitted(
            f"sub_{number}",
            state=state,
            updated_at=NOON + timedelta(hours=number),
            set_id="set_1" if number > 1 else None,
        )
        await changed_submission(
            f"sub_{number}",
            source=git_source(f"https://github.com/{owner}/repo-{number}"),
            repo_url=f"https://github.com/{owner}/repo-{number}",
            skill_name=("delta", "alpha", "charlie", "bravo")[number],
            submitter=owner,
            updated_at=NOON + timedelta(hours=10 - number),
        )


async def changed_submission(submission_id: str, **fields: Any) -> None:
    stored = await get_submission(submission_id)
    assert stored
    submission = msgspec.structs.replace(stored.record, **fields)
    await committed(write_submission(submission, [], expected=stored.revision))


async def test_the_newest_come_first(catalogue: Catalogue) -> None:
    await some_submissions()

    assert await listed(catalogue) == ["sub_3", "sub_2", "sub_1", "sub_0"]


@pytest.mark.parametrize(
    ("sort", "ids"),
    [
        (SubmissionSort.NEWEST, "3210"),
        (SubmissionSort.OLDEST, "0123"),
        (SubmissionSort.UPDATED, "0123"),
        (SubmissionSort.NAME, "1320"),
        (SubmissionSort.SCORE, "2031"),
    ],
)
async def test_each_order_is_that_order(
    catalogue: Catalogue, sort: SubmissionSort, ids: str
) -> None:
    await some_submissions()
    for number, score in {2: 90, 0: 10, 3: 0}.items():
        skill = a_published_skill("a/b/c", submission_id=f"sub_{number}")
        await committed([write_report(a_report(skill, score=score))])

    wanted = [f"sub_{number}" for number in ids]
    assert await listed(catalogue, sort=sort) == wanted
    assert await listed(catalogue, sort=sort, offset=1, limit=2) == wanted[1:3]
    some = [found for found in wanted if found in {"sub_0", "sub_3"}]
    assert await listed(catalogue, sort=sort, states=(_S.PUBLISHED,)) == some


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"states": (_S.PUBLISHED,)}, "30"),
        ({"states": (_S.PUBLISHED, _S.RECEIVED, _S.PUBLISHED)}, "310"),
        ({"submitter": "ada"}, "31"),
        ({"set_id": "set_1"}, "32"),
        ({"ids": ("sub_1", "sub_9")}, "1"),
        ({"namespace": "ben"}, "20"),
        ({"text": "charl"}, "2"),
        ({"text": "ada repo"}, "31"),
        ({"text": "github.com/ben/repo-0"}, "0"),
        ({"text": "SUB_2"}, "2"),
        ({"text": "🙂"}, ""),
        ({"text": '" OR *'}, ""),
        ({"text": "repo", "states": (_S.PUBLISHED,), "submitter": "ada"}, "3"),
        ({"submitter": "nobody"}, ""),
    ],
    ids=["state", "states", "submitter", "set", "ids", "namespace", "name", "two-words", "address",
         "id", "signs", "syntax", "all-at-once", "none"],
)  # fmt: skip
async def test_filters_leave_what_they_say(
    catalogue: Catalogue, filters: dict[str, Any], ids: str
) -> None:
    await some_submissions()

    found = await answer(catalogue, **filters)

    assert [row.id for row in found.rows] == [f"sub_{number}" for number in ids]
    assert found.total == len(ids)
    assert (await answer(catalogue, **filters, limit=0)).total == len(ids)


async def test_a_row_says_what_the_record_says(catalogue: Catalogue) -> None:
    await submitted("sub_1", reason="x" * 5_000, attempts=2, slug="a/b/c", set_id="set_2")
    skill = a_published_skill("a/b/c", submission_id="sub_1")
    await committed([write_report(a_report(skill, score=70))])

    (row,) = (await answer(catalogue)).rows

    assert (row.id, row.state, row.score, row.attempts) == ("sub_1", _S.RECEIVED, 70, 2)
    assert (row.slug, row.set_id, row.submitter, row.namespace) == (
        "a/b/c",
        "set_2",
        "ada",
        "@local",
    )
    assert len(row.reason) < 1_000


async def test_counts_follow_every_move(catalogue: Catalogue) -> None:
    await some_submissions()
    await current(catalogue)
    assert await catalogue.count_submissions() == {
        **dict.fromkeys(_S, 0), _S.PUBLISHED: 2, _S.RECEIVED: 1, _S.REJECTED: 1,
    }  # fmt: skip

    await changed_submission("sub_1", state=_S.TIER1_SCANNING)
    await committed([Delete("sub:sub_0")])
    await current(catalogue)

    counts = await catalogue.count_submissions()
    assert {state: count for state, count in counts.items() if count} == {
        _S.PUBLISHED: 1, _S.TIER1_SCANNING: 1, _S.REJECTED: 1,
    }  # fmt: skip
    assert (await catalogue.count_all()).by_state == counts
    assert (await answer(catalogue)).total == 3


async def test_private_submissions_are_only_listed_for_viewers_with_access(
    catalogue: Catalogue,
) -> None:
    await some_submissions()
    await changed_submission("sub_1", is_private=True)
    await changed_submission("sub_2", is_private=True)
    adas = Visible(namespaces=frozenset({"ada"}))

    assert await listed(catalogue) == ["sub_3", "sub_0"]
    assert (await answer(catalogue, text="alpha")).total == 0
    assert (await answer(catalogue, ids=("sub_1", "sub_0"))).total == 1
    assert (await catalogue.count_submissions())[_S.RECEIVED] == 0

    assert await listed(catalogue, visible=adas) == ["sub_3", "sub_1", "sub_0"]
    assert (await answer(catalogue, visible=adas)).total == 3
    assert (await catalogue.count_submissions(visible=adas))[_S.RECEIVED] == 1
    assert (await catalogue.count_submissions(visible=adas))[_S.REJECTED] == 0
    assert (await answer(catalogue, visible=EVERYTHING)).total == 4
    assert sum((await catalogue.count_submissions(visible=EVERYTHING)).values()) == 4


async def test_pages_hold_every_submission_once(catalogue: Catalogue) -> None:
    for number in range(45):  # many of the same moment
        await submitted(f"sub_{number}", state=_S.PUBLISHED if number % 9 else _S.REJECTED)

    for states in ((), (_S.PUBLISHED,), (_S.REJECTED,)):
        total = (await answer(catalogue, states=states)).total
        pages = [
            await listed(catalogue, states=states, offset=offset, limit=4)
            for offset in range(0, 48, 4)
        ]
        ids = [found for page in pages for found in page]
        assert len(ids) == len(set(ids)) == total


@pytest.mark.parametrize("sort", [SubmissionSort.NEWEST, SubmissionSort.OLDEST])
async def test_a_reader_sees_each_submission_once_while_others_come_and_go(
    catalogue: Catalogue, sort: SubmissionSort
) -> None:
    names = [f"sub_{number:02}" for number in range(9)]
    for number, name in enumerate(names):
        await submitted(name, updated_at=NOON + timedelta(hours=number))

    page = await answer(catalogue, sort=sort, limit=2)
    seen = [row.id for row in page.rows]
    while page.next:
        number = len(seen)
        await submitted(f"new_{number}", updated_at=NOON + timedelta(hours=5 * number))
        await committed([Delete(f"sub:{seen[-1]}")])
        page = await answer(catalogue, sort=sort, limit=2, after=page.next)
        seen += [row.id for row in page.rows]

    assert len(seen) == len(set(seen))
    assert set(names) <= set(seen)

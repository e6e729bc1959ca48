"""Readers that follow a cursor: every skill exactly once, while installs and versions arrive."""

import itertools
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from tests.casts import add_installs
from tests.clocks import NOON
from tests.unit.catalogue.index_files import (
    TAKEN_DOWN,
    changed,
    current,
    deleted,
    published,
    results,
)
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.catalogue.index_file import open_index_file
from vskill_platform.catalogue.next_page import read_after
from vskill_platform.catalogue.query import (
    SearchMode,
    SkillHit,
    SkillPosition,
    SkillQuery,
    SkillResults,
    SkillSort,
    Visible,
)
from vskill_platform.catalogue.sql import one_value
from vskill_platform.errors import InvalidInput
from vskill_platform.model.skill import Deprecation, Yank
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.list_cursors import jump_to, next_cursor

SIZE = 4
SKILLS = 24
#: Starts of the dice: a few in each run, more of them in `make torture`.
SEEDS = [
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2)),
    *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(2, 40)),
]
#: What is asked for: the list, a filter, a search, and a search for corrected or any words.
QUERIES: dict[str, dict[str, Any]] = {
    "list": {},
    "own-private": {"visible": Visible(namespaces=frozenset({"ada"}))},
    "tag": {"tag": "office"},
    "search": {"text": "notes"},
    "beginning": {"text": "note"},
    "typo": {"text": "ntoes", "is_forgiving": True},
    "any-word": {"text": "notes zebra quagga", "is_forgiving": True},
    "part": {"text": "idyn"},
}


def slug_of(number: int) -> str:
    return f"ada/desk/tidynotes{number:02}"


async def a_skill(number: int, **fields: Any) -> None:
    await published(
        slug_of(number),
        **{
            "description": f"Sorts {'notes' if number % 2 else 'note papers'}.",
            "tags": ("office", "notes") if number % 3 else ("office",),
            "published_at": NOON - timedelta(days=10 * number),
            **fields,
        },
    )


async def walk(
    nodes: Sequence[Catalogue], between: Callable[[int], Awaitable[None]], **query: Any
) -> list[str]:
    """Return the slugs of all pages, each from the next node; *between* is called after each."""
    seen: list[str] = []
    page = await results(nodes[0], limit=SIZE, **query)
    for number in range(1, 100):
        seen += [hit.slug for hit in page.hits]
        await between(number)
        if page.next is None:
            return seen
        node = nodes[number % len(nodes)]
        page = await results(node, limit=SIZE, after=page.next, **query)
    raise AssertionError("this list has no end")


async def nothing(_number: int) -> None:
    return None


async def test_pages_that_follow_each_other_are_the_whole_list_in_order(
    catalogue: Catalogue,
) -> None:
    for number in range(SKILLS):
        await a_skill(number)
    await add_installs({slug_of(number): 30 * (number % 5) for number in range(SKILLS)})

    for name, sort in itertools.product(QUERIES, SkillSort):
        query = {"sort": sort, **QUERIES[name]}
        whole = await results(catalogue, limit=200, **query)

        assert await walk([catalogue], nothing, **query) == [hit.slug for hit in whole.hits], name
        assert len(whole.hits) > SIZE, name


async def test_pages_by_number_have_the_order_of_a_cursor_while_installs_are_counted(
    catalogue: Catalogue,
) -> None:
    for number in range(SKILLS):
        await a_skill(number)
    await add_installs({slug_of(number): 30 * (number % 5) for number in range(SKILLS)})
    await current(catalogue)

    for name, sort in itertools.product(QUERIES, SkillSort):
        query = {"sort": sort, **QUERIES[name]}
        before = [hit.slug for hit in (await results(catalogue, limit=200, **query)).hits]
        first = await results(catalogue, limit=SIZE, **query)
        second = await results(catalogue, limit=SIZE, after=first.next, **query)
        pages = range(1, -(-len(before) // SIZE) + 1)
        seen: dict[int, list[str]] = {}
        for page in reversed(pages):
            await add_installs({before[-1]: 9_000, before[page]: 500})
            await current(catalogue)
            anchor = (second if page % 2 and second.next else first).next
            assert anchor
            jump = jump_to(_text_of(anchor), (page - 1) * SIZE)
            found = await results(catalogue, limit=SIZE, **{**query, **jump})
            seen[page] = [hit.slug for hit in found.hits]
            if found.next:
                following = await results(catalogue, limit=SIZE, after=found.next, **query)
                assert [hit.slug for hit in following.hits] == seen[page + 1], (name, sort)

        assert [slug for page in pages for slug in seen[page]] == before, (name, sort)


def _text_of(position: SkillPosition) -> str:
    cursor = next_cursor(SkillResults(hits=[], total=0, next=position))
    assert cursor
    return cursor


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_reader_sees_each_skill_once_whatever_changes_between_pages(
    catalogue: Catalogue, bound: WorkerEnv, seed: int
) -> None:
    other = replace(bound, settings=msgspec.structs.replace(bound.settings, node="node-2"))
    for number in range(SKILLS):
        await a_skill(number)

    async with open_catalogue(other) as elsewhere:
        nodes = [await current(catalogue), await current(elsewhere)]
        for sort in SkillSort:
            dice = random.Random(f"{seed} {sort}")
            await _walk_while_skills_change(nodes, sort, dice)


async def _walk_while_skills_change(
    nodes: Sequence[Catalogue], sort: SkillSort, dice: random.Random
) -> None:
    query = QUERIES[dice.choice(["list", "tag", "beginning"])]
    there = {hit.slug for hit in (await results(nodes[0], limit=200, **query)).hits}
    # A skill that is deprecated moves to the matches that fit least.
    changes = CHANGES if sort is not SkillSort.RELEVANCE else CHANGES[:-1]

    async def change(page: int) -> None:
        for _ in range(dice.randint(1, 6)):
            there.difference_update(await dice.choice(changes)(dice, page))
        for node in nodes:
            await current(node)

    seen = await walk(nodes, change, sort=sort, **query)

    assert sorted(seen) == sorted(set(seen)), f"seen twice in the order {sort}"
    assert there - set(seen) == set(), f"missed in the order {sort}"


def _any_slug(dice: random.Random) -> str:
    return slug_of(dice.randrange(SKILLS))


# Each change returns the skills that are not there all the time.


async def _install(dice: random.Random, _page: int) -> set[str]:
    await add_installs({_any_slug(dice): dice.choice((1, 20, 500, 9_000))})
    return set()


async def _publish_version(dice: random.Random, page: int) -> set[str]:
    later = NOON + timedelta(days=dice.randrange(2_000))
    await changed(_any_slug(dice), published_at=later, version=f"2.{page}.0")
    return set()


async def _yank(dice: random.Random, _page: int) -> set[str]:
    mark = Yank(number=1, reason="broken", by="ada", at=NOON)
    await changed(_any_slug(dice), yanked=(mark,))
    return set()


async def _publish_skill(dice: random.Random, _page: int) -> set[str]:
    await a_skill(SKILLS + dice.randrange(70), published_at=NOON)
    return set()


async def _block(dice: random.Random, _page: int) -> set[str]:
    slug = _any_slug(dice)
    await changed(slug, down=TAKEN_DOWN)
    return {slug}


async def _unblock(dice: random.Random, _page: int) -> set[str]:
    await changed(_any_slug(dice), down=None)
    return set()


async def _deprecate(dice: random.Random, _page: int) -> set[str]:
    mark = Deprecation(number=None, reason="it is slow", by="ada", at=NOON)
    await changed(_any_slug(dice), deprecated=(mark,) if dice.random() < 0.7 else ())
    return set()


CHANGES = [
    _install, _install, _install, _publish_version, _yank, _publish_skill, _block, _unblock,
    _deprecate,
]  # fmt: skip


async def test_an_install_between_two_pages_hides_no_skill(catalogue: Catalogue) -> None:
    for number in range(3):
        await a_skill(number)
    await add_installs({slug_of(0): 300, slug_of(1): 200, slug_of(2): 100})
    first = await results(catalogue, sort=SkillSort.INSTALLS, limit=2)

    await add_installs({slug_of(2): 5_000})
    by_number = await results(catalogue, sort=SkillSort.INSTALLS, limit=2, offset=2)
    followed = await results(catalogue, sort=SkillSort.INSTALLS, limit=2, after=first.next)

    assert [hit.slug for hit in by_number.hits] == [slug_of(1)]
    assert [(hit.slug, hit.installs) for hit in followed.hits] == [(slug_of(2), 5_100)]
    assert (followed.total, followed.next) == (3, None)


async def test_a_position_after_a_removed_skill_still_continues(catalogue: Catalogue) -> None:
    for number in range(6):
        await a_skill(number)
    first = await results(catalogue, sort=SkillSort.NAME, limit=2)

    await deleted(first.hits[-1].slug)
    second = await results(catalogue, sort=SkillSort.NAME, limit=2, after=first.next)

    assert [hit.slug for hit in second.hits] == [slug_of(2), slug_of(3)]


async def test_positions_that_cannot_be_continued_are_refused(catalogue: Catalogue) -> None:
    for number in range(6):
        await a_skill(number)
    query = SkillQuery(sort=SkillSort.INSTALLS, limit=2)
    await current(catalogue)
    first = (await catalogue.search_skills(query)).next
    assert first
    await a_skill(7)
    refused: dict[SkillPosition, str] = {
        msgspec.structs.replace(first, revision=first.revision + 1_000): "this cursor has expired",
        msgspec.structs.replace(first, sort=SkillSort.NAME): "sorted by name",
        msgspec.structs.replace(first, value="tidy"): "invalid cursor",
    }

    for position, message in refused.items():
        with pytest.raises(InvalidInput, match=message):
            await catalogue.search_skills(msgspec.structs.replace(query, after=position))


async def test_a_position_tells_nothing_about_private_skills(catalogue: Catalogue) -> None:
    for number in range(6):
        await a_skill(number, is_private=number == 3)
    await current(catalogue)

    first = (await catalogue.search_skills(SkillQuery(sort=SkillSort.NEWEST, limit=1))).next
    assert first
    for sort, mode, text in itertools.product(SkillSort, SearchMode, ("", "notes", '"*', "x' OR")):
        value = "tidynotes00" if sort is SkillSort.NAME else -1
        position = SkillPosition(sort, first.revision, 0, value, -1, mode=mode, text=text)
        for tag, words in (("", ""), ("office", ""), ("", "note")):
            query = SkillQuery(sort=sort, after=position, tag=tag, text=words)
            found = await catalogue.search_skills(query)
            assert slug_of(3) not in {hit.slug for hit in found.hits}
    named = msgspec.json.encode(["newest", first.revision, 1, None, 0, slug_of(3)])
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(named, type=SkillPosition)


async def test_only_the_latest_moves_are_kept_and_older_positions_have_expired(
    tmp_path: Path,
) -> None:
    index = await open_index_file(tmp_path / "index")

    def move(connection: apsw.Connection) -> None:
        for revision in range(60):
            connection.execute("UPDATE state SET revision = ?, is_built = 1", (revision,))
            connection.execute(_MANY_MOVES, {"revision": revision})

    await index.connections.write(move)

    def read_from(revision: int, connection: apsw.Connection) -> list[SkillHit]:
        position = SkillPosition(SkillSort.INSTALLS, revision, seen=0, value=9, id=0)
        query = SkillQuery(sort=SkillSort.INSTALLS)
        return read_after(connection, query, position, share=1.0)[0]

    kept = await index.connections.read(
        lambda connection: one_value(connection, "SELECT count(*) FROM skill_move", {})
    )
    still_known = await index.connections.read(partial(read_from, 10))
    with pytest.raises(InvalidInput, match="this cursor has expired"):
        await index.connections.read(partial(read_from, 9))
    await index.close()

    assert (kept, still_known) == (50_000, [])


_MANY_MOVES = """
WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1000)
INSERT INTO skill_move (
  slug, through, old_id, name_key, trust_score, installs, published_at, updated_at
) SELECT 'ada/desk/' || n, :revision, n, 'x', 0, 0, 0, 0 FROM number
"""

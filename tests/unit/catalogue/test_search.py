"""Search: results, their order, and exact counts."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import all_cases
from tests.casts import a_published_skill, add_installs
from tests.clocks import NOON
from tests.unit.catalogue.index_files import (
    committed,
    current,
    deleted,
    found,
    published,
    results,
    slugs,
)
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import EVERYTHING, SkillQuery, SkillSort, Visible
from vskill_platform.engines.operations import Put
from vskill_platform.model.skill import Deprecation
from vskill_platform.model.trust import TrustTier
from vskill_platform.stores.install_store import InstallCounts
from vskill_platform.stores.records import encode

HOSTILE = {
    "quotes": '"',
    "single-quote": "'; DROP TABLE skill; --",
    "operators": "AND OR NOT NEAR(a b)",
    "column": "name:pdf",
    "star": "*",
    "prefix": "^pdf*",
    "parens": "((((",
    "braces": "{a b} : c",
    "plus": "a + b",
    "nul": "a\0b",
    "percent": "%_%",
    "backslash": "\\",
    "newlines": "a\r\nb",
    "bidi": "\u202egnp.exe\u202c",
    "han": "漢字かな",
    "hangul": "한국어",
    "emoji": "🙂👩‍👩‍👧‍👦",
    "combining": "e\u0301" * 50,
    "surrogate": "\ud800",
    "private-use": "\ue000",
    "long-word": "x" * 10_000,
    "many-words": "word " * 2_000,
    "marks": "§private ‡pdf\u2010forms ¤pdf §any",
    "blank": " \t\n",
}


async def test_words_of_name_description_namespace_and_tags_find_a_skill(
    catalogue: Catalogue,
) -> None:
    await published("ada/desk/tidy-notes", description="Sorts papers.", tags=("office",))
    await published("ben/shed/mow-lawn", description="Cuts grass.")

    for text in ("tidy", "notes", "papers", "ada", "desk", "office", "TIDY notes", "sorts office"):
        assert await found(catalogue, text) == ["ada/desk/tidy-notes"], text
    assert await found(catalogue, "tidy grass") == []


async def test_deprecated_skills_come_last_but_are_found(catalogue: Catalogue) -> None:
    mark = Deprecation(number=None, reason="it is slow", by="ada", at=NOON)
    await published("ada/desk/pdf-forms", deprecated=(mark,))
    await published("ben/desk/fill-pdf")
    await published("ben/desk/write", description="Writes a pdf.")
    await published("ben/shed/pdf-forms")

    by_word, by_name = await found(catalogue, "pdf"), await found(catalogue, "pdf forms")

    assert (by_word[-1], len(by_word)) == ("ada/desk/pdf-forms", 4)
    assert by_name == ["ben/shed/pdf-forms", "ada/desk/pdf-forms"]


async def test_the_last_word_may_be_unfinished(catalogue: Catalogue) -> None:
    await published("ada/desk/organize-inbox", description="Brings organization to your mail.")

    for text in ("o", "or", "organ", "organiz", "mail organi", "mail i", "in", "des", "bring"):
        assert await found(catalogue, text) == ["ada/desk/organize-inbox"], text
    assert await found(catalogue, "organi mail") == []


async def test_a_beginning_is_looked_for_in_descriptions_only_if_no_name_has_it(
    catalogue: Catalogue,
) -> None:
    await published("a/r/one", description="Knows documentation.")
    assert await found(catalogue, "docum") == ["a/r/one"]

    await published("a/r/documents", description="Reads.")
    assert await found(catalogue, "docum") == ["a/r/documents"]
    assert await found(catalogue, "documentation") == ["a/r/one"]


async def test_filters_do_not_change_what_is_looked_for(catalogue: Catalogue) -> None:
    await published("ada/r/base", tags=("x",))
    await published("ada/r/database", tags=("y",))

    assert await found(catalogue, "base", tag="y") == []
    answer = await results(catalogue, "base", tag="y", with_facets=True)
    assert answer.facets
    assert answer.facets["tag"] == [("x", 1)]


async def test_a_search_matches_singular_and_plural(catalogue: Catalogue) -> None:
    await published("ada/desk/a", description="Reads an invoice.")
    await published("ada/desk/b", description="Reads all invoices and entries.")

    assert sorted(await found(catalogue, "invoice")) == ["ada/desk/a", "ada/desk/b"]
    assert sorted(await found(catalogue, "invoices")) == ["ada/desk/a", "ada/desk/b"]
    assert await found(catalogue, "entry reads") == ["ada/desk/b"]


@pytest.mark.parametrize("word", ["documentation", "internationalization", "pneumonoultra"])
async def test_every_beginning_of_three_letters_or_more_finds_a_word_wherever_it_is(
    catalogue: Catalogue, word: str
) -> None:
    await published(f"ada/x/{word}", description="First.")
    await published("ada/x/tagged", description="Second.", tags=(word,))
    await published("ada/x/described", description=f"Third: {word}s.")
    beginnings = [word[:length] for length in range(3, len(word))]

    named = {text: await found(catalogue, text) for text in beginnings}
    await deleted(f"ada/x/{word}")
    await deleted("ada/x/tagged")
    described = {text: await found(catalogue, text) for text in beginnings}

    assert named == {key: [f"ada/x/{word}", "ada/x/tagged"] for key in beginnings}
    assert described == {key: ["ada/x/described"] for key in beginnings}


async def test_a_name_comes_before_its_beginning_before_its_words_before_other_words(
    catalogue: Catalogue,
) -> None:
    await published("a/r/mail-helper", description="pdf pdf pdf")
    await published("a/r/merge-pdf", description="Joins files.")
    await published("a/r/pdf-forms", description="Fills forms.")
    await published("a/r/pdf", description="Reads.")

    assert await found(catalogue, "pdf") == [
        "a/r/pdf", "a/r/pdf-forms", "a/r/merge-pdf", "a/r/mail-helper",
    ]  # fmt: skip


async def test_a_name_is_exact_however_it_is_written(catalogue: Catalogue) -> None:
    await published("a/r/pdf-forms-extra")
    await published("a/r/pdf-forms")

    for text in ("pdf-forms", "PDF Forms", "pdf_forms", " pdf  forms "):
        assert (await found(catalogue, text))[0] == "a/r/pdf-forms", text


async def test_a_label_comes_before_a_description(catalogue: Catalogue) -> None:
    await published("a/r/one", description="Handles invoices.")
    await published("a/r/two", tags=("invoices",), published_at=NOON - timedelta(days=700))
    await published("b/invoice-tools/three", published_at=NOON - timedelta(days=800))

    assert await found(catalogue, "invoices") == ["a/r/two", "b/invoice-tools/three", "a/r/one"]
    assert await found(catalogue, "invo") == ["a/r/two", "b/invoice-tools/three"]


async def test_one_letter_more_does_not_lose_what_was_found(catalogue: Catalogue) -> None:
    await published("a/r/one", description="Handles invoices for traders.")

    assert await found(catalogue, "invoice t") == ["a/r/one"]
    assert await found(catalogue, "invoice tr") == ["a/r/one"]
    assert await found(catalogue, "invoice tra") == ["a/r/one"]
    assert await found(catalogue, "invoice trax") == []


async def test_a_few_downloads_do_not_reorder_a_list(catalogue: Catalogue) -> None:
    for number in range(6):
        await published(f"a/r/skill-{number}")
    before = await found(catalogue)

    await add_installs({before[-1]: 15, before[2]: 1})

    answer = await results(catalogue)
    assert slugs(answer) == before
    assert answer.hits[-1].installs == 15


async def test_equal_matches_are_ordered_by_trust_installs_and_age(
    catalogue: Catalogue,
) -> None:
    for slug in ("a/r/old", "a/r/liked", "a/r/fresh"):
        days = {"a/r/fresh": 0, "a/r/old": 700, "a/r/liked": 700}[slug]
        moment = NOON - timedelta(days=days)
        await published(slug, published_at=moment, updated_at=moment, description="Same words.")
    await published("a/r/unchecked", description="Same words.")
    await committed([Put("scan:sub_of_a_r_unchecked", b"{}")])
    await add_installs({"a/r/liked": 5_000})

    assert await found(catalogue) == ["a/r/liked", "a/r/fresh", "a/r/old", "a/r/unchecked"]
    assert await found(catalogue, "words") == await found(catalogue)


async def test_when_no_word_fits_names_that_contain_it_are_found(catalogue: Catalogue) -> None:
    await published("a/r/database-tools")
    await published("a/r/codebase-map")

    assert sorted(await found(catalogue, "base")) == ["a/r/codebase-map", "a/r/database-tools"]
    answer = await results(catalogue, "tabas", with_facets=True, sort=SkillSort.NAME)
    assert (slugs(answer), answer.total) == (["a/r/database-tools"], 1)
    assert answer.facets
    assert answer.facets["namespace"] == [("a", 1)]
    assert await found(catalogue, "base", namespace="b") == []
    assert await found(catalogue, "zzz") == []


@pytest.fixture
async def one_private_one_public(catalogue: Catalogue) -> None:
    await published("ada/desk/tidy-notes", is_private=True)
    await published("ada/desk/pdf-forms")


@pytest.mark.usefixtures("one_private_one_public")
@all_cases("text", HOSTILE.values(), ids=HOSTILE.keys())
async def test_no_text_is_an_error(catalogue: Catalogue, text: str) -> None:
    for sort in SkillSort:
        answer = await results(catalogue, text, with_facets=True, sort=sort)
        assert len(answer.hits) == answer.total
        assert "ada/desk/tidy-notes" not in slugs(answer)
    await catalogue.suggest(text)
    for field in ("namespace", "tier", "tag"):
        assert await found(catalogue, **{field: text}) == []
    assert await found(catalogue, agent=text) == ["ada/desk/pdf-forms"]


@given(text=st.text(max_size=40) | st.text(alphabet='"*:^()-+{}§‡¤ ANDORT', max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_has_an_answer_whose_numbers_are_true(
    catalogue: Catalogue, text: str
) -> None:
    answer = await catalogue.search_skills(SkillQuery(text=text, with_facets=True))

    assert len(answer.hits) == answer.total


async def test_a_question_of_signs_only_finds_nothing(catalogue: Catalogue) -> None:
    await published("ada/desk/tidy-notes")

    assert await found(catalogue, "🙂") == []
    assert await found(catalogue, "  ") == ["ada/desk/tidy-notes"]


async def test_words_without_spaces_between_are_found(catalogue: Catalogue) -> None:
    await published("a/r/hanzi", description="整理日本語の文書")

    assert await found(catalogue, "日本") == ["a/r/hanzi"]
    assert await found(catalogue, "英語") == []


async def test_filters_leave_what_they_say(catalogue: Catalogue) -> None:
    await published("ada/r/one", tags=("pdf", "office"), agents=("codex",))
    await published("ada/r/two", tags=("office",))
    await published("git.example/ben/r/three", publisher="git.example/ben", agents=("cursor",))

    assert sorted(await found(catalogue, namespace="ada")) == ["ada/r/one", "ada/r/two"]
    assert await found(catalogue, namespace="git.example/ben") == ["git.example/ben/r/three"]
    assert await found(catalogue, tag="pdf") == ["ada/r/one"]
    assert sorted(await found(catalogue, agent="codex")) == ["ada/r/one", "ada/r/two"]
    assert await found(catalogue, agent="amp") == ["ada/r/two"]
    assert len(await found(catalogue, tier=TrustTier.SCANNED)) == 3
    assert await found(catalogue, tier="T9") == []
    assert await found(catalogue, "one", namespace="ada", tag="office", agent="codex") == [
        "ada/r/one"
    ]
    assert await found(catalogue, "one", tag="ffice") == []


async def test_facets_count_what_each_value_would_leave(catalogue: Catalogue) -> None:
    await published("ada/r/one", tags=("pdf", "office"), agents=("codex",))
    await published("ada/r/two", tags=("office",))
    await published("ben/r/three", tags=("pdf",), agents=("cursor", "codex"))
    query = {"namespace": "ada", "tag": "office"}

    answer = await results(catalogue, **query, with_facets=True)

    assert answer.facets == {
        "namespace": [("ada", 2)],
        "tier": [("T2", 2)],
        "tag": [("office", 2), ("pdf", 1)],
        "agent": [("codex", 2)],
        "capability": [],
    }
    for name, values in answer.facets.items():
        for value, count in values:
            left = await results(catalogue, **{**query, name: value})
            assert left.total == count, (name, value)
    assert (await results(catalogue)).facets is None


async def test_each_order_is_that_order(catalogue: Catalogue) -> None:
    for number, name in enumerate(("delta", "alpha", "charlie", "bravo")):
        first = NOON - timedelta(days=10 * number)
        await published(
            f"a/r/{name}", published_at=first, updated_at=first + timedelta(days=11 * number)
        )
    await add_installs({"a/r/alpha": 2, "a/r/bravo": 9})

    async def order(sort: SkillSort, text: str) -> str:
        return " ".join(slug[4] for slug in await found(catalogue, text, sort=sort))

    for text in ("", "tidies"):
        assert await order(SkillSort.NEWEST, text) == "d a c b"
        assert await order(SkillSort.UPDATED, text) == "b c a d"
        assert await order(SkillSort.NAME, text) == "a b c d"
        assert (await order(SkillSort.INSTALLS, text)).startswith("b a")
        assert len(await order(SkillSort.TRUST, text)) == len("a b c d")


@pytest.mark.parametrize("sort", list(SkillSort))
async def test_pages_hold_every_skill_once(catalogue: Catalogue, sort: SkillSort) -> None:
    count = 60
    for number in range(count):
        await published(f"a/r/skill-idie-{number:03}", published_at=NOON - timedelta(hours=number))

    for text in ("", "tidies", "skill", "kil", "tidie"):
        pages = [
            await results(catalogue, text, sort=sort, offset=offset, limit=7)
            for offset in range(0, count + 7, 7)
        ]

        listed = [slug for page in pages for slug in slugs(page)]
        assert {page.total for page in pages} == {count}, text
        assert len(listed) == len(set(listed)) == count, text
        assert listed == await found(catalogue, text, sort=sort, limit=count)
        # So few of so many are found by another way, in the same order.
        assert listed[:2] == await found(catalogue, text, sort=sort, limit=2)


async def test_large_answers_go_on_page_by_page_with_names_first(catalogue: Catalogue) -> None:
    count = 140
    wanted = [f"a/r/{'report' if n % 50 == 0 else 'skill'}-{n:04}" for n in range(count)]
    await committed([a_skill_record(slug, number) for number, slug in enumerate(wanted)])

    pages = [
        await results(catalogue, "report", offset=offset, limit=97)
        for offset in range(0, count + 97, 97)
    ]

    listed = [slug for page in pages for slug in slugs(page)]
    assert {page.total for page in pages} == {count}
    assert sorted(listed) == sorted(wanted)
    assert all(slug.startswith("a/r/report") for slug in listed[: len(range(0, count, 50))])
    assert not any(slug.startswith("a/r/report") for slug in listed[len(range(0, count, 50)) :])


def a_skill_record(slug: str, number: int) -> Put:
    skill = a_published_skill(
        slug, description="Writes a report.", published_at=NOON - timedelta(hours=number)
    )
    return Put(f"skill:{slug}", encode(skill))


async def test_concurrent_searches_get_their_own_results(catalogue: Catalogue) -> None:
    names = ("pdf-forms", "pdf-merge", "database-tools", "mail")
    for name in names:
        await published(f"a/r/{name}", tags=("t",), description=f"Knows {name[::-1]}.")
    await published("a/r/hidden", is_private=True)
    asked = {
        "pdf": ["a/r/pdf-forms", "a/r/pdf-merge"],  # by words
        "smrof": ["a/r/pdf-forms"],
        "egr": ["a/r/pdf-merge"],  # by the beginning of any word
        "abas": ["a/r/database-tools"],  # by a part of a name
        "zzz": [],
        "hidden": [],
        "": [f"a/r/{name}" for name in names],
    }
    queries = [
        SkillQuery(text=text, tag=tag, sort=sort, limit=limit, with_facets=with_facets)
        for text in asked
        for tag in ("", "t")
        for sort in (SkillSort.RELEVANCE, SkillSort.NAME)
        for limit in (7, 25)
        for with_facets in (False, True)
    ]

    await found(catalogue)  # all of it is known now
    answers = await asyncio.gather(*(catalogue.search_skills(query) for query in queries))

    for query, answer in zip(queries, answers, strict=True):
        assert sorted(slugs(answer)) == sorted(asked[query.text]), query
        assert answer.total == len(answer.hits)
        assert (answer.facets is not None) == query.with_facets


async def test_odd_pages_are_answered(catalogue: Catalogue) -> None:
    await published("a/r/one")

    assert (await results(catalogue, limit=0)).total == 1
    assert (await results(catalogue, limit=-1)).hits == []
    assert (await results(catalogue, limit=10**9)).total == 1
    assert slugs(await results(catalogue, offset=-5)) == ["a/r/one"]
    assert slugs(await results(catalogue, "one", offset=10**30)) == []


async def test_private_skills_are_only_found_by_viewers_with_access(catalogue: Catalogue) -> None:
    await published("ada/r/open", tags=("t",))
    await published("ada/r/secret", is_private=True, tags=("t", "hidden"))
    await published("ben/r/hush", is_private=True)
    adas = Visible(namespaces=frozenset({"ada", "nobody"}))

    assert await found(catalogue) == ["ada/r/open"]
    assert await found(catalogue, "secret") == []
    assert await found(catalogue, "secre", namespace="ada") == []
    assert await found(catalogue, "ecre") == []
    assert await catalogue.suggest("secret") == []
    public = await results(catalogue, with_facets=True)
    assert public.facets
    assert (public.total, public.facets["tag"]) == (1, [("t", 1)])
    assert (await catalogue.count_all()).published == 1

    assert sorted(await found(catalogue, visible=adas)) == ["ada/r/open", "ada/r/secret"]
    assert await found(catalogue, "secret", visible=adas) == ["ada/r/secret"]
    assert await found(catalogue, "hush", visible=adas) == []
    assert (await catalogue.count_all(visible=adas)).published == 2
    assert len(await found(catalogue, visible=EVERYTHING)) == 3


async def test_a_member_of_very_many_namespaces_can_search(catalogue: Catalogue) -> None:
    await published("ada/r/secret", is_private=True)
    many = Visible(namespaces=frozenset({"ada", *(f"team-{number}" for number in range(3_000))}))

    assert await found(catalogue, "secret", visible=many) == ["ada/r/secret"]


async def test_a_count_is_remembered_only_while_it_is_true(catalogue: Catalogue) -> None:
    await published("a/r/one")
    assert (await results(catalogue, "tidies")).total == 1

    await published("a/r/two")
    assert (await results(catalogue, "tidies")).total == 2
    await add_installs({"a/r/two": 1})
    answer = await results(catalogue, "tidies", sort=SkillSort.INSTALLS)
    assert (answer.total, answer.hits[0].installs) == (2, 1)


async def test_suggestions_begin_with_names(catalogue: Catalogue) -> None:
    await published("a/r/mail", description="Knows pdf.")
    await published("a/r/pdf-forms")

    await current(catalogue)
    assert [item.name for item in await catalogue.suggest("pd")] == ["pdf-forms"]
    assert [item.name for item in await catalogue.suggest("pdf")] == ["pdf-forms", "mail"]
    assert [item.name for item in await catalogue.suggest("df-fo")] == ["pdf-forms"]
    assert await catalogue.suggest("  ") == []
    assert len(await catalogue.suggest("p", limit=1)) == 1


async def test_a_hit_says_what_the_record_says(catalogue: Catalogue) -> None:
    await published(
        "ada/r/one", tags=("x",), agents=("codex",), license="MIT", updated_at=NOON,
        published_at=NOON - timedelta(days=3),
    )  # fmt: skip
    await add_installs({"ada/r/one": 7})

    (hit,) = (await results(catalogue)).hits

    assert (hit.slug, hit.name, hit.namespace, hit.version) == ("ada/r/one", "one", "ada", "1.0.0")
    assert (hit.tags, hit.agents, hit.license, hit.installs) == (("x",), ("codex",), "MIT", 7)
    assert (hit.tier, hit.is_private) == (TrustTier.SCANNED, False)
    assert (hit.published_at, hit.updated_at) == (NOON - timedelta(days=3), NOON)


async def test_a_damaged_record_costs_only_itself(catalogue: Catalogue) -> None:
    await published("a/r/good")
    await committed([Put("skill:a/r/broken", b"{")])
    await committed([Put("installs:a/r/good", encode(InstallCounts(total=10**30)))])

    assert await found(catalogue) == ["a/r/good"]


@pytest.mark.parametrize("offset", [0, 3, 23, 24, 30])
async def test_a_filtered_list_whose_matches_are_all_at_the_end_is_complete(
    catalogue: Catalogue, offset: int
) -> None:
    for number in range(40):
        tags = ("old",) if number >= 16 else ()
        moment = NOON - timedelta(days=number)
        await published(f"ada/r/s-{number}", tags=tags, published_at=moment)

    page = await results(catalogue, tag="old", sort=SkillSort.NEWEST, limit=1, offset=offset)

    assert page.total == 24
    assert slugs(page) == [f"ada/r/s-{16 + offset}" for _ in range(offset < 24)]


@pytest.mark.parametrize("sort", [sort for sort in SkillSort if sort is not SkillSort.RELEVANCE])
async def test_pages_of_everything_show_each_visible_skill_once(
    catalogue: Catalogue, sort: SkillSort
) -> None:
    for number in range(9):
        await published(f"ada/r/s-{number}", is_private=number % 3 == 0)

    public = [
        slug for start in range(0, 10, 2)
        for slug in await found(catalogue, sort=sort, limit=2, offset=start)
    ]  # fmt: skip
    every = await found(catalogue, sort=sort, visible=EVERYTHING)

    assert sorted(public) == [f"ada/r/s-{number}" for number in (1, 2, 4, 5, 7, 8)]
    assert [slug for slug in every if slug in public] == public
    assert len(every) == 9

"""A search that finds nothing corrects typos and accepts fewer words, and says so."""

from typing import Any

import apsw
import pytest

from tests.cases import all_cases
from tests.unit.catalogue.index_files import (
    TAKEN_DOWN,
    changed,
    current,
    deleted,
    published,
    slugs,
)
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import SkillQuery, SkillResults, Visible
from vskill_platform.catalogue.similar_words import edit_distance


async def forgiven(catalogue: Catalogue, text: str, **fields: Any) -> SkillResults:
    await current(catalogue)
    return await catalogue.search_skills(SkillQuery(text=text, is_forgiving=True, **fields))


@pytest.fixture
async def shop(catalogue: Catalogue) -> Catalogue:
    await published("ada/ops/kubernetes-deploy", description="Rolls out Kubernetes manifests.")
    await published("ada/office/spreadsheet", description="Fills tables.", tags=("excel",))
    await published("ben/dev/api-tester", description="Writes tests of an HTTP API.")
    await published("ben/dev/docker", description="Builds images.")
    await published("ben/office/pdf-forms", description="Fills forms.")
    return catalogue


@pytest.mark.parametrize(
    ("typed", "meant", "slug"),
    [
        ("kubernets", "kubernetes", "ada/ops/kubernetes-deploy"),
        ("kuberntes", "kubernetes", "ada/ops/kubernetes-deploy"),
        ("kubrnets", "kubernetes", "ada/ops/kubernetes-deploy"),
        ("Kubernets deploy", "kubernetes deploy", "ada/ops/kubernetes-deploy"),
        ("spredsheet", "spreadsheet", "ada/office/spreadsheet"),
        ("spredshet", "spreadsheet", "ada/office/spreadsheet"),
        ("dokcer", "docker", "ben/dev/docker"),
        ("pfd", "pdf", "ben/office/pdf-forms"),
        ("xcel", "excel", "ada/office/spreadsheet"),
    ],
)
async def test_a_typo_finds_what_was_meant(
    shop: Catalogue, typed: str, meant: str, slug: str
) -> None:
    results = await forgiven(shop, typed)

    assert slugs(results) == [slug]
    assert (results.searched_for, results.is_any_word) == (meant, False)


async def test_an_abbreviation_finds_its_long_form(shop: Catalogue) -> None:
    await published("cyd/ops/k9s-guide", description="Explains k9s.")

    results = await forgiven(shop, "deploy k8s")
    known = await forgiven(shop, "k9s")

    assert slugs(results) == ["ada/ops/kubernetes-deploy"]
    assert results.searched_for == "deploy kubernetes"
    assert slugs(known) == ["cyd/ops/k9s-guide"]


async def test_words_that_say_little_are_left_out(shop: Catalogue) -> None:
    results = await forgiven(shop, "tests for api")

    assert slugs(results) == ["ben/dev/api-tester"]
    assert results.searched_for == "tests api"


async def test_skills_with_more_of_the_words_come_first(shop: Catalogue) -> None:
    results = await forgiven(shop, "fills docker forms")

    assert slugs(results)[0] == "ben/office/pdf-forms"
    assert set(slugs(results)) == {
        "ben/office/pdf-forms", "ben/dev/docker", "ada/office/spreadsheet",
    }  # fmt: skip
    assert (results.searched_for, results.is_any_word) == ("fills docker forms", True)
    assert results.total == 3


async def test_an_exact_match_is_never_replaced(shop: Catalogue) -> None:
    await published("cyd/x/kubernets", description="Plays with nets.")

    results = await forgiven(shop, "kubernets")

    assert slugs(results) == ["cyd/x/kubernets"]
    assert results.searched_for == ""


async def test_filters_that_leave_nothing_are_not_a_typo(shop: Catalogue) -> None:
    narrow = await forgiven(shop, "docker", namespace="ada")
    both = await forgiven(shop, "dokcer", namespace="ada")

    assert (narrow.total, narrow.searched_for) == (0, "")
    assert (both.total, both.searched_for) == (0, "docker")


@pytest.mark.parametrize("text", ["zzzzqqqq", "", "  ", "!!", "xy", "9" * 400, "漢字", "\ud800"])
async def test_what_nothing_resembles_stays_unfound(shop: Catalogue, text: str) -> None:
    results = await forgiven(shop, text)

    assert results.searched_for == ""
    assert results.total == (5 if not text.strip() else 0)


async def test_without_being_asked_to_a_search_is_exact(shop: Catalogue) -> None:
    await current(shop)

    assert (await shop.search_skills(SkillQuery(text="kubernets"))).total == 0


async def test_words_of_private_skills_are_never_a_correction(catalogue: Catalogue) -> None:
    await published("ada/secret/zeppelin", description="Plan Hindenburg.", is_private=True)
    members = Visible(namespaces=frozenset({"ada"}))

    stranger = await forgiven(catalogue, "zepelin")
    member = await forgiven(catalogue, "zepelin", visible=members)
    exact = await forgiven(catalogue, "zeppelin", visible=members)

    assert (stranger.total, stranger.searched_for) == (0, "")
    assert (member.total, member.searched_for) == (0, "")
    assert exact.total == 1
    assert await _words(catalogue) == []


@pytest.mark.parametrize("way", ["private", "down", "deleted", "renamed"])
async def test_words_are_forgotten_with_the_last_public_skill_that_has_them(
    catalogue: Catalogue, way: str
) -> None:
    await published("ada/x/zeppelin", description="Flies.")
    assert (await forgiven(catalogue, "zepelin")).searched_for == "zeppelin"

    if way == "private":
        await changed("ada/x/zeppelin", is_private=True)
    elif way == "down":
        await changed("ada/x/zeppelin", down=TAKEN_DOWN)
    elif way == "deleted":
        await deleted("ada/x/zeppelin")
    else:
        await changed("ada/x/zeppelin", description="Soars.")

    gone = "flies" if way == "renamed" else "zeppelin"
    assert gone not in await _words(catalogue)


async def _words(catalogue: Catalogue) -> list[str]:
    await current(catalogue)

    def read(connection: apsw.Connection) -> list[str]:
        rows = "SELECT word FROM word UNION SELECT word FROM word_key ORDER BY 1"
        return [word for (word,) in connection.execute(rows)]

    return await catalogue._ask(read)


@all_cases(
    ("one", "other", "distance"),
    [
        ("same", "same", 0), ("tset", "test", 1), ("tests", "test", 1), ("tast", "test", 1),
        ("kubrnets", "kubernetes", 2), ("abcd", "wxyz", 3), ("a", "abcdef", 3), ("", "ab", 2),
    ],
)  # fmt: skip
def test_the_distance_of_words_is_counted_up_to_a_limit(
    one: str, other: str, distance: int
) -> None:
    assert edit_distance(one, other, 2) == distance


@pytest.fixture
async def gated(catalogue: Catalogue) -> Catalogue:
    await published("ada/x/pdf-offline", capabilities={"writes": ("~/notes",)})
    await published("ada/x/pdf-online", capabilities={"hosts": ("api.example.com",)})
    await published("ada/x/pdf-server", capabilities={"listens": ("8080",), "commands": ("sh",)})
    await published("ada/x/pdf-unknown")
    await published("ada/x/pdf-private", capabilities={}, is_private=True)
    return catalogue


@pytest.mark.parametrize(
    ("can", "cannot", "expected"),
    [
        ((), ("network",), {"pdf-offline"}),
        (("network",), (), {"pdf-online", "pdf-server"}),
        (("network", "shell"), (), {"pdf-server"}),
        (("network",), ("shell",), {"pdf-online"}),
        (("network",), ("network",), set()),
        (("magic",), (), set()),
    ],
)
async def test_skills_are_filtered_by_what_they_can_and_cannot_do(
    gated: Catalogue, can: tuple[str, ...], cannot: tuple[str, ...], expected: set[str]
) -> None:
    for text in ("pdf", ""):
        results = await forgiven(gated, text, can=can, cannot=cannot)

        assert {hit.name for hit in results.hits} == expected
        assert results.total == len(expected)


async def test_capabilities_are_counted_among_public_skills(gated: Catalogue) -> None:
    for text in ("", "pdf"):
        results = await forgiven(gated, text, with_facets=True)

        assert results.facets
        counts = dict(results.facets["capability"])
        assert (counts["network"], counts["no-network"], counts["no-shell"]) == (2, 1, 2)


async def test_a_hit_names_its_capabilities_unless_they_are_unknown(gated: Catalogue) -> None:
    hits = {hit.name: hit.capabilities for hit in (await forgiven(gated, "pdf")).hits}

    assert hits == {
        "pdf-offline": ("files",), "pdf-online": ("network",),
        "pdf-server": ("network", "shell"), "pdf-unknown": None,
    }  # fmt: skip

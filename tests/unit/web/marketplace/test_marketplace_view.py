"""How the URL of the list selects filters, and which filters it offers."""

import pytest

from vskill_platform.catalogue.query import PUBLIC, SkillSort
from vskill_platform.web.marketplace.marketplace_page import (
    PAGE_SIZE,
    Search,
    offered_filters,
    read_search,
)


def test_an_address_says_all_of_a_search() -> None:
    asked = {
        "q": " tidy notes ", "namespace": "ada", "tier": "T2", "tag": "a&b", "agent": "codex",
        "sort": "name", "page": "3", "cannot": "network,shell", "can": "files",
    }  # fmt: skip

    search = read_search(asked)
    query = search.query(PUBLIC)

    assert search.text == "tidy notes"
    assert (query.namespace, query.tier, query.tag, query.agent) == ("ada", "T2", "a&b", "codex")
    assert (query.sort, query.offset) == (SkillSort.NAME, 2 * PAGE_SIZE)
    assert (query.can, query.cannot) == (("files",), ("network", "shell"))
    address = search.address(page=3)
    assert address == (
        "/skills?q=tidy+notes&tier=T2&namespace=ada&tag=a%26b&agent=codex"
        "&cannot=network%2Cshell&can=files&sort=name&page=3"
    )


@pytest.mark.parametrize("page", ["0", "-1", "x", "1e3", "٣", "9" * 400, "", "1.5"])
def test_a_page_that_makes_no_sense_is_the_first(page: str) -> None:
    assert read_search({"page": page}).page == 1


def test_invalid_filters_are_left_out() -> None:
    search = read_search({"sort": "money", "q": "x" * 5000, "unknown": "y"})

    assert search.sort is SkillSort.RELEVANCE
    assert len(search.text) == 200
    assert search.address() == f"/skills?q={'x' * 200}"


def test_a_change_begins_at_the_first_page() -> None:
    search = Search(text="tidy", tag="notes", page=4)

    assert search.address(tag="") == "/skills?q=tidy"
    assert Search().address() == "/skills"


def test_filters_are_offered_only_where_they_change_something() -> None:
    facets = {
        "tier": [("T2", 7), ("T3", 9)],
        "namespace": [("ada", 16)],
        "tag": [(f"tag-{n:02}", 20 - n) for n in range(15)],
        "agent": [],
    }

    offered = offered_filters(Search(text="tidy"), facets)

    assert [filter_.name for filter_ in offered] == ["tier", "tag"]
    assert [option.label for option in offered[0].options] == ["Judged", "Scanned"]
    assert offered[0].options[0].address == "/skills?q=tidy&tier=T3"
    assert len(offered[1].options) == 10


def test_a_filter_that_is_set_can_be_taken_back_even_if_it_is_rare() -> None:
    facets = {"tag": [(f"tag-{n:02}", 20 - n) for n in range(15)], "namespace": [("ada", 3)]}

    offered = offered_filters(Search(tag="tag-14", namespace="ada"), facets)
    chosen = [option for filter_ in offered for option in filter_.options if option.is_chosen]

    assert [(option.label, option.address) for option in chosen] == [
        ("ada", "/skills?tag=tag-14"), ("tag-14", "/skills?namespace=ada"),
    ]  # fmt: skip


def test_a_capability_is_added_to_a_filter_and_removed_from_it() -> None:
    facets = {"capability": [("no-network", 4), ("no-shell", 3), ("files", 2)]}

    cannot, can = offered_filters(Search(cannot=("network",)), facets)

    assert [(option.label, option.count, option.address) for option in cannot.options] == [
        ("reach the network", 4, "/skills"),
        ("run commands", 3, "/skills?cannot=network%2Cshell"),
    ]
    assert [option.address for option in can.options] == ["/skills?cannot=network&can=files"]


def test_without_words_there_is_no_best_match() -> None:
    browsing, searching = Search(), Search(text="tidy")

    assert browsing.query(PUBLIC).sort is SkillSort.INSTALLS
    assert searching.query(PUBLIC).sort is SkillSort.RELEVANCE
    assert [label for _, label, is_used in browsing.sorts if is_used] == ["Most installed"]
    assert [label for _, label, is_used in searching.sorts if is_used] == ["Best match"]

"""Tags and agents: what an author writes becomes filters, in one form and bounded."""

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from vskill_platform.model.labels import (
    KNOWN_AGENTS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    agents_of,
    as_tag,
    tags_of,
)
from vskill_platform.model.skill import SkillManifest


def a_manifest(compatibility: str | None = None, **metadata: str) -> SkillManifest:
    return SkillManifest(name="a", description="b", compatibility=compatibility, metadata=metadata)


@all_cases(
    ("metadata", "tags"),
    [
        ({"tags": "pdf forms"}, ("pdf", "forms")),
        ({"tags": "PDF, Data Science"}, ("pdf", "data-science")),
        ({"keywords": "a b", "tags": "b, c", "category": "Office"}, ("b", "c", "a", "office")),
        ({"tags": '["x", "y z"]'}, ("x", "y-z")),
        ({"tags": "c++, C#, node.js, snake_case"}, ("c++", "c#", "node.js", "snake-case")),
        ({"tags": " , ,; "}, ()),
        ({"version": "1.0.0"}, ()),
        ({"tags": "日本語"}, ("日本語",)),
        ({"tags": "ＰＤＦ"}, ("pdf",)),  # noqa: RUF001 - wide letters are meant
    ],
    ids=["spaces", "commas", "fields", "json", "signs", "empty", "none", "han", "wide"],
)
def test_tags_are_brought_into_one_form(metadata: dict[str, str], tags: tuple[str, ...]) -> None:
    assert tags_of(a_manifest(**metadata)) == tags


@given(st.text(max_size=300))
def test_tags_of_any_text_are_few_short_and_stable(text: str) -> None:
    tags = tags_of(a_manifest(tags=text))

    assert len(tags) <= MAX_TAGS
    assert len(set(tags)) == len(tags)
    for tag in tags:
        assert 0 < len(tag) <= MAX_TAG_CHARACTERS
        assert as_tag(tag) == tag


@all_cases(
    ("compatibility", "listed", "agents"),
    [
        ("Designed for Claude Code (or similar products)", "", ("claude-code",)),
        ("Works with Codex and Cursor.", "", ("codex", "cursor")),
        ("Requires git; continue on error, amp up", "", ()),
        (None, "claude, codex amp", ("amp", "claude", "codex")),
        (None, "claude code", ("claude-code",)),
        ("GitHub Copilot", "gemini", ("gemini-cli", "github-copilot")),
        ("codexes and precursors", "", ()),
        (None, "", ()),
    ],
    ids=["prose", "two", "words", "list", "code", "both", "parts", "none"],
)
def test_known_agents_are_recognised(
    compatibility: str | None, listed: str, agents: tuple[str, ...]
) -> None:
    assert agents_of(a_manifest(compatibility, agents=listed)) == agents


@given(st.text(max_size=300), st.text(max_size=300))
def test_only_known_agents_are_named(compatibility: str, listed: str) -> None:
    assert set(agents_of(a_manifest(compatibility, agents=listed))) <= KNOWN_AGENTS

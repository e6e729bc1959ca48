"""Each rule finds its own sample however Markdown wraps it, and not the harmless variant."""

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from vskill_platform.model.verdict import FindingKind, Severity
from vskill_platform.scan.rules.rules import Rule, load_rules
from vskill_platform.scan.scan_skill import scan_skill

HEAD = "---\nname: sample\ndescription: Helps with notes.\n---\n\n# Notes\n\n"
REVIEWED = {Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM}
DANGEROUS = {FindingKind.MALICIOUS, FindingKind.RISKY, FindingKind.OPAQUE}
#: Samples of other kinds than words: files, code blocks, images, hidden characters.
NOT_PROSE = re.compile(
    r"^(?:binary|svg|package\.json|setup\.(?:sh|py)|requirements\.txt|frontmatter):|```|!\[|<|"
    r"-----BEGIN|\u200b"
)
ALIKE = str.maketrans("aceopxiys", "\u0430\u0441\u0435\u043e\u0440\u0445\u0456\u0443\u0455")


def prose(rule: Rule) -> str:
    return re.sub(r"\s*\n\s*", " ", rule.bad)


PROSE_RULES = [rule for rule in load_rules() if not NOT_PROSE.search(rule.bad)]


def words(text: str, wrap: Callable[[str], str]) -> str:
    """Wrap each word, but leave addresses and paths as they are."""
    return " ".join(
        wrap(word) if re.fullmatch(r"[A-Za-z]{3,}[,.]?", word) else word for word in text.split(" ")
    )


def refilled(text: str, width: int, joint: str = "\n") -> str:
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return joint.join(lines)


def numbered(text: str) -> str:
    return "".join(f"&#{ord(char)};" if char.isalpha() else char for char in text)


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "rewrapped at 60": lambda text: refilled(text, 60),
    "rewrapped at 20": lambda text: refilled(text, 20),
    "bold": lambda text: f"**{text}**",
    "bold words": lambda text: words(text, lambda word: f"**{word}**"),
    "italic words": lambda text: words(text, lambda word: f"_{word}_"),
    "half a word bold": lambda text: words(text, lambda word: f"**{word[:2]}**{word[2:]}"),
    "list item": lambda text: f"- {text}",
    "wrapped list item": lambda text: (
        "1. "
        + textwrap.fill(text, 50, break_long_words=False, break_on_hyphens=False).replace(
            "\n", "\n   "
        )
    ),
    "task": lambda text: f"- [ ] {text}",
    "table": lambda text: f"| step | what |\n|---|---|\n| 1 | {text} |",
    "quote": lambda text: f"> {text}",
    "wrapped quote": lambda text: (
        "> "
        + textwrap.fill(text, 50, break_long_words=False, break_on_hyphens=False).replace(
            "\n", "\n> "
        )
    ),
    "heading": lambda text: f"## {text}",
    "footnote": lambda text: f"See the note.[^1]\n\n[^1]: {text}",
    "link texts": lambda text: words(text, lambda word: f"[{word}](https://docs.python.org/3/)"),
    "html": lambda text: f"<p>{words(text, lambda word: f'<b>{word}</b>')}</p>",
    "html inside of words": lambda text: words(text, lambda word: f"{word[:2]}<i></i>{word[2:]}"),
    "html attribute": lambda text: f'<span title="{text}">Notes</span>'.replace("`", ""),
    "entities": lambda text: words(text, numbered),
    "homoglyphs": lambda text: words(text, lambda word: word.translate(ALIKE)),
    "full width": lambda text: words(
        text, lambda word: "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in word)
    ),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "odd spaces": lambda text: text.replace(" ", " \u2003\t"),
    "zero-width spaces": lambda text: words(text, lambda word: f"{word[:2]}\u200b{word[2:]}"),
    "soft hyphens": lambda text: words(text, lambda word: f"{word[:2]}\u00ad{word[2:]}"),
    "combining marks": lambda text: words(text, lambda word: f"{word[:2]}\u0332{word[2:]}"),
    "comment inside of words": lambda text: words(text, lambda w: f"{w[:2]}<!-- x -->{w[2:]}"),
    "escapes": lambda text: words(text, lambda word: f"\\_{word}\\_"),
    "text fence": lambda text: f"```text\n{text}\n```",
}


def found_in(folder: Path, text: str) -> dict[str, Severity]:
    (folder / "SKILL.md").write_text(f"{HEAD}{text}\n", encoding="utf-8")
    result = scan_skill(folder, None)
    return {
        finding.rule: finding.severity
        for finding in result.findings
        if finding.severity in REVIEWED and finding.kind in DANGEROUS
    }


# One test for each rule, with all wrappings in it: a test for each pair costs more than its scan.
@pytest.mark.parametrize(
    "rule",
    [rule for rule in PROSE_RULES if rule.kind is not FindingKind.EXPOSURE],  # keys are no prose
    ids=lambda rule: rule.id,
)
def test_a_rule_finds_its_sample_in_every_wrapping(tmp_path: Path, rule: Rule) -> None:
    missed = [name for name, wrap in WRAPPINGS.items() if not found_in(tmp_path, wrap(prose(rule)))]

    assert missed == []


@pytest.mark.parametrize("rule", PROSE_RULES, ids=lambda rule: rule.id)
def test_a_rule_spares_the_harmless_twin_in_every_wrapping(tmp_path: Path, rule: Rule) -> None:
    twin = re.sub(r"\s*\n\s*", " ", rule.good)

    # Characters that deceive are a finding of their own, whatever they are used for.
    flagged = {
        name: found
        for name, wrap in WRAPPINGS.items()
        if (found := set(found_in(tmp_path, wrap(twin))) - {"SKR-HIDE-002"})
    }

    assert flagged == {}


def test_there_are_samples_to_wrap() -> None:
    assert len(PROSE_RULES) >= 20

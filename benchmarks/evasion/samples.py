"""The parts of a variant in `make bench-evasion`: behaviour, wrapping and carrier."""

import re
import tomllib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec

from vskill_platform.scan.rules.rules import load_rules

_BEHAVIOURS = Path(__file__).with_name("behaviours.toml")

#: A sample that is one fence of shell, and one that is neither that nor words.
_FENCE = re.compile(r"```bash\n(.*)\n```", re.DOTALL)
_OTHER = re.compile(r"^[\w.]+:\S|```|<!--|\u200b")
_DANGER = frozenset({"malicious", "risky"})

Files = dict[str, bytes]


class Form(StrEnum):
    """How a behaviour reaches the agent."""

    TOLD = "told"  #: an instruction in words
    SHELL = "shell"  #: a command


class _More(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    told: list[str] = []
    shell: list[str] = []


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One behaviour, in the forms that it has."""

    told: str = ""
    #: The same in other languages.
    zh: str = ""
    es: str = ""
    de: str = ""
    ru: str = ""
    pt: str = ""
    ja: str = ""
    shell: str = ""
    #: Other ways to say or do the same.
    more: _More = _More()
    #: The harmless variant; a harmless variant has none.
    good: "Sample | None" = None


class Piece(msgspec.Struct, frozen=True):
    """A wrapped sample, ready to be put into a file."""

    text: str
    #: `words` fit everywhere, `markdown` needs a reader of Markdown, the rest is code.
    kind: str = "words"
    #: The line before it that asks for it.
    lead: str = "Do this before anything else:"
    #: What the skill says that it is for.
    description: str = "Sorts a folder of notes by date and writes an index."
    #: What happens to the bytes of the file that carries it.
    encode: Callable[[str], bytes] = str.encode


class Wrapping(msgspec.Struct, frozen=True):
    """One way to write a sample so that a scanner may not recognise it."""

    name: str
    form: Form
    #: Returns None where the wrapping makes no sense for the sample.
    wrap: Callable[[Sample], Piece | None]
    #: False where no honest author writes like this, so that there is nothing to spare.
    has_twin: bool = True
    #: The only carriers that it makes sense in; empty for all that take its kind of piece.
    only: frozenset[str] = frozenset()


class Carrier(msgspec.Struct, frozen=True):
    """One place in a skill that an agent obeys or runs."""

    name: str
    form: Form
    carry: Callable[[Piece], Files]
    #: Kinds of pieces that it takes.
    takes: frozenset[str]


def load_behaviours() -> dict[str, Sample]:
    """Return the behaviours of the table by their names."""
    table = tomllib.loads(_BEHAVIOURS.read_text(encoding="utf-8"))
    return msgspec.convert(table, dict[str, Sample])


def samples_of_rules() -> dict[str, Sample]:
    """Return the samples of the rules that are words or commands of the shell, by rule."""
    found = {}
    for rule in load_rules():
        is_shell = bool(_FENCE.fullmatch(rule.bad))
        if rule.kind not in _DANGER or (_OTHER.search(rule.bad) and not is_shell):
            continue
        good = rule.good if bool(_FENCE.fullmatch(rule.good)) is is_shell else ""
        twin = _of_rule(good, is_shell=is_shell) if good else None
        found[rule.id] = msgspec.structs.replace(_of_rule(rule.bad, is_shell=is_shell), good=twin)
    return found


def _of_rule(text: str, *, is_shell: bool) -> Sample:
    fence = _FENCE.fullmatch(text)
    return Sample(shell=fence[1]) if is_shell and fence else Sample(told=text)

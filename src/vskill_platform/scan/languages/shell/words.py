"""Expand words to the text that the shell would see, as far as it is known."""

import re
from collections.abc import Iterable

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.languages.shell.escapes import unescape
from vskill_platform.scan.languages.shell.lexer import Lexer
from vskill_platform.scan.languages.shell.parser import words_of
from vskill_platform.scan.languages.shell.state import MAX_NESTING, MAX_VALUE, Origin, State
from vskill_platform.scan.languages.shell.syntax import (
    ANSI,
    ARRAY,
    PROCESS,
    SINK,
    SUBSTITUTION,
    TEXT,
    VARIABLE,
    Part,
    Parts,
    Word,
)  # fmt: skip

#: Characters at which the shell splits a word.
CUT = "\x1f"
_EXPRESSION = re.compile(r"([!#]?)(\w+|[@*#?$!-])(\[[^\]]{0,200}\])?(.*)", re.DOTALL)
_SLICE = re.compile(r": ?(-?\d{1,6})(?::(-?\d{1,6}))?$")
_KEY_NAME = re.compile(
    r"API_?KEY|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE_?KEY|ACCESS_KEY|MNEMONIC", re.IGNORECASE
)
_COMPUTED = re.compile(r"[:/#%^,]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NAME_OF_PROGRAM = re.compile(r"[\w.+-]{2,40}")


def fold_text(state: State, word: Word) -> str:
    """Return a word as one text; an unknown part becomes a mark, or stays as written."""
    if isinstance(word, str):
        folded = word
    else:
        folded = "".join([_fold_part(state, part) for part in word.parts])
    state.spend(len(folded))
    return folded[:MAX_VALUE]


def fold_words(state: State, words: Iterable[Word]) -> list[str]:
    """Return the words after splitting at spaces in variables."""
    found: list[str] = []
    for word in words:
        if isinstance(word, str):
            folded = word[:MAX_VALUE]
        else:
            folded = "".join(
                [_fold_cut(state, part) for part in word.parts if not _is_empty(state, word, part)]
            )[:MAX_VALUE]
        state.spend(len(folded))
        if CUT in folded:
            found += [piece for piece in folded.split(CUT) if piece]
        else:
            found.append(folded)
    return found


def _is_empty(state: State, word: Parts, part: Part) -> bool:
    """Return whether a part is ``$@``, which without arguments is empty and splits the word."""
    is_all = part.kind == VARIABLE and part.text in {"@", "*"}
    return is_all and len(word.parts) > 1 and part.text not in state.variables


def hides_its_name(word: Parts, name: str, *, is_spelled_out: bool) -> bool:
    """Return whether a command's name is written in a way that a search misses."""
    if not _NAME_OF_PROGRAM.fullmatch(name):
        return False
    if word.has_stray_escape or any(p.kind == ANSI and "\\" in p.text for p in word.parts):
        return True
    kinds = {part.kind for part in word.parts}
    if kinds == {TEXT}:
        return _is_quoted_apart(word.parts)
    if kinds & {SUBSTITUTION, PROCESS, SINK, ARRAY}:
        return False
    is_computed = any(p.kind == VARIABLE and _COMPUTED.search(p.text[1:]) for p in word.parts)
    pieces = [part for part in word.parts if part.text]
    return not is_spelled_out and (len(pieces) > 1 or (is_computed and ":-" not in pieces[0].text))


def _is_quoted_apart(parts: tuple[Part, ...]) -> bool:
    quoted = [part for part in parts if part.is_quoted]
    bare = [part for part in parts if not part.is_quoted]
    starts = sum(not part.text for part in quoted)  # each pair of double quotes starts with one
    return bool(quoted) and (bool(bare) or starts > 1 or (starts == 0 and len(quoted) > 1))


def _fold_cut(state: State, part: Part) -> str:
    if part.kind == TEXT:
        return part.text
    folded = _fold_part(state, part)
    if part.is_quoted or part.kind not in {VARIABLE, SUBSTITUTION}:
        return folded
    return CUT.join(folded.split()) if " " in folded.strip() or "\n" in folded else folded.strip()


def _fold_part(state: State, part: Part) -> str:
    if part.kind == TEXT:
        return part.text
    if part.kind == VARIABLE:
        return _expand(state, part.text, is_quoted=part.is_quoted)
    if part.kind == ANSI:
        return unescape(part.text)
    if part.kind == ARRAY:
        return CUT.join(
            fold_text(state, word) for word in words_of(part.text)[:200] if _is_element(word)
        )
    return _substitute(state, part)


def _is_element(word: Word) -> bool:
    """Return whether a word is an element of an array, not an array or a here document."""
    return isinstance(word, str) or (bool(word.parts) and word.parts[-1].kind != ARRAY)


def _substitute(state: State, part: Part) -> str:
    """Return the output of the code in a substitution."""
    if state.nesting >= MAX_NESTING:
        state.is_cut = True
        return state.mark(Origin())
    printed = state.run_code(state, part.text, "")
    if part.kind == PROCESS:
        is_known = printed and not state.is_mark(printed)
        plain = printed if is_known else state.flow(printed).plain
        stream = state.derive(printed, plain=plain)
        state.streams.add(stream)
        return stream
    if part.kind == SINK:
        sink = state.derive(printed)
        state.sinks[sink] = part.text
        return sink
    return printed.rstrip("\n")


def _expand(state: State, expression: str, *, is_quoted: bool) -> str:
    found = _EXPRESSION.match(expression)
    if found is None:
        return "${" + expression + "}"
    prefix, name, index, rest = found.groups()
    if prefix == "#" and not rest:
        return "1"
    if name == "IFS":
        return " " if is_quoted else CUT
    known = state.variables.get(name)
    if prefix == "!" and known is not None:
        known = state.variables.get(known)
    if known is None:
        return _expand_unknown(state, name, rest, expression)
    if index:
        known = _element(state, name, index, known)
    if is_quoted and (index == "[*]" or name == "*"):
        known = known.replace(CUT, state.variables.get("IFS", " ")[:1])
    value = known if index or not is_quoted or name == "@" else known.replace(CUT, " ")
    return _apply(value, rest)


def _element(state: State, name: str, index: str, known: str) -> str:
    """Return one element of an array, or with a computed key all elements, one per line."""
    key = index[1:-1].strip("\"'")
    if key in {"@", "*"}:
        return known
    if (element := state.variables.get(f"{name}[{key}]")) is not None:
        return element
    elements = known.split(CUT)
    if key.isdecimal():
        return elements[int(key)] if int(key) < len(elements) else ""
    return "\n".join(elements)


def _expand_unknown(state: State, name: str, rest: str, expression: str) -> str:
    for operator in (":-", ":=", "-", "="):
        if rest.startswith(operator):
            value = fold_string(state, rest[len(operator) :])
            if "=" in operator:
                state.variables[name] = value
            return value
    if rest.startswith((":?", "?")):  # the shell stops if it is empty
        return f"${name}"
    if _KEY_NAME.search(name):
        state.emit(Act.READ_ENV, name)
        return state.mark(Origin(names=frozenset({name})))
    return f"${{{expression}}}" if rest or not _NAME.fullmatch(name) else f"${name}"


def _apply(value: str, rest: str) -> str:
    """Apply the operation of ``${name…}`` to a known value."""
    if not rest:
        return value
    sliced = _SLICE.match(rest)
    if sliced:
        start = int(sliced[1])
        end = None if sliced[2] is None else int(sliced[2])
        tail = value[start:]
        return tail if end is None else tail[:end]
    if rest.startswith("/"):
        old, _, new = rest.lstrip("/").partition("/")
        return (
            value.replace(old, new, -1 if rest.startswith("//") else 1)[:MAX_VALUE]
            if old
            else value
        )
    if rest[0] in "^,":
        return value.upper() if rest[0] == "^" else value.lower()
    if rest[0] in "#%":
        pattern = rest.lstrip("#%").strip("*")
        return value.removeprefix(pattern) if rest[0] == "#" else value.removesuffix(pattern)
    return value


def fold_string(state: State, text: str) -> str:
    """Expand text as if it were in double quotes."""
    if "$" not in text and "`" not in text:
        return text.strip("\"'")
    if state.nesting >= MAX_NESTING:
        return text
    state.nesting += 1
    try:
        parts = Lexer(text.strip('"').replace('"', "'")).quoted_parts()
        return fold_text(state, Parts(tuple(parts)))
    finally:
        state.nesting -= 1

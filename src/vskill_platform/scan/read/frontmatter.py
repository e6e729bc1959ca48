"""Parse the YAML frontmatter of SKILL.md: every value as text, every key with its line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec
import yaml

#: The maximum size of a frontmatter.
MAX_FRONTMATTER_CHARACTERS = 64 * 1024
#: A manifest needs three levels; a deeper one is meant to exhaust a parser.
MAX_DEPTH = 12
_FENCE = "---"
#: The line of the first key, because the fence is line 1.
_FIRST_LINE = 2

#: The line ends of Markdown; `splitlines` has more, which would end the frontmatter early.
#: Control characters, bidi characters, and tags except those of a flag.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]"
    "|(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0000-\U000e007f]"
)

#: The core schema of YAML 1.2.
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
#: The maximum number of digits; Python refuses to parse much longer numbers.
_INTEGERS = (
    (re.compile(r"[-+]?[0-9]{1,300}"), 10),
    (re.compile(r"0o[0-7]{1,300}"), 8),
    (re.compile(r"0x[0-9a-fA-F]{1,300}"), 16),
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")

FrontmatterValue = str | list[str] | dict[str, str] | None


class FrontmatterError(Exception):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Field(msgspec.Struct, frozen=True):
    #: None for values nested deeper than in any manifest.
    value: FrontmatterValue
    line: int


class Frontmatter(msgspec.Struct, frozen=True):
    fields: dict[str, Field]
    body: str


@lru_cache(maxsize=64)  # several checks read the same one
def read_frontmatter(text: str) -> Frontmatter:
    head, body = _split(text)
    with _readable_errors():
        return Frontmatter(_read_fields(head), body)


def frontmatter_as_json(text: str) -> dict[str, Any]:
    """Return the frontmatter with typed values, according to YAML 1.2 (core schema)."""
    head, _ = _split(text)
    with _readable_errors():
        root = _compose(head)
        typed = _typed(root) if isinstance(root, yaml.MappingNode) else {}
    return typed if isinstance(typed, dict) else {}


def _split(text: str) -> tuple[str, str]:
    """Return the frontmatter and the rest."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removeprefix("\ufeff").split("\n")
    if not lines or lines[0].rstrip() != _FENCE:
        raise FrontmatterError("the file does not start with a line `---`", 1)
    try:
        end = next(n for n, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE)
    except StopIteration:
        raise FrontmatterError("the line `---` that ends the frontmatter is missing", 1) from None
    head = "\n".join(lines[1:end]) + "\n"
    if len(head) > MAX_FRONTMATTER_CHARACTERS:
        raise FrontmatterError(f"it has more than {MAX_FRONTMATTER_CHARACTERS:,} characters", 1)
    return head, "\n".join(lines[end + 1 :]).strip()


@contextmanager
def _readable_errors() -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + _FIRST_LINE if mark else 1
        raise FrontmatterError(error.problem or str(error), line) from error
    except yaml.YAMLError as error:
        raise FrontmatterError(str(error), 1) from error


def _read_fields(head: str) -> dict[str, Field]:
    root = _compose(head)
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise FrontmatterError("it is not a list of `key: value` lines", _FIRST_LINE)
    _refuse_unseen(head)
    fields: dict[str, Field] = {}
    for key, value in root.value:
        line = key.start_mark.line + _FIRST_LINE
        if not isinstance(key, yaml.ScalarNode):
            raise FrontmatterError("a key must be a plain word", line)
        if key.value in fields:
            raise FrontmatterError(f"`{key.value}` occurs twice", line)
        fields[key.value] = Field(_read_value(value), line)
    return fields


def _refuse_unseen(head: str) -> None:
    """Refuse characters that an agent loads but no one sees, even if they are escaped."""
    for node in nodes_of(head):
        if found := _UNSEEN.search(node.value):
            line = node.start_mark.line + _FIRST_LINE
            code = f"U+{ord(found[0][0]):04X}"
            raise FrontmatterError(f"a value contains the invisible character {code}", line)


def nodes_of(head: str) -> Iterator[yaml.ScalarNode]:
    """Yield every key and value at any depth; raise if something is unsafe to parse."""
    todo = [_compose(head)]
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.SequenceNode):
            todo += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            todo += [part for pair in reversed(node.value) for part in reversed(pair)]


@lru_cache(maxsize=64)
def _compose(head: str) -> yaml.Node | None:
    _refuse_bombs(head)
    root: yaml.Node | None = yaml.compose(head, Loader=yaml.CSafeLoader)
    return root


def _refuse_bombs(head: str) -> None:
    """Check the parser events first, which take no memory, whatever the text would expand to."""
    depth = 0
    for event in yaml.parse(head, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + _FIRST_LINE
        if isinstance(event, yaml.AliasEvent):
            raise FrontmatterError("aliases (`*name`) are not allowed", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise FrontmatterError(f"it is nested more than {MAX_DEPTH} levels deep", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _read_value(node: yaml.Node) -> FrontmatterValue:
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(_is_scalar(item) for item in node.value):
        return [str(item.value) for item in node.value]
    if isinstance(node, yaml.MappingNode) and all(
        _is_scalar(key) and _is_scalar(value) for key, value in node.value
    ):
        return {str(key.value): str(value.value) for key, value in node.value}
    return None


def _typed(node: yaml.Node) -> Any:
    """Return a node as JSON."""
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): _typed(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_typed(item) for item in node.value]
    is_quoted = isinstance(node, yaml.ScalarNode) and node.style  # or a block
    return str(node.value) if is_quoted else _plain(str(node.value))


def _plain(text: str) -> str | float | None:
    """Return the value of an unquoted scalar; a number without a JSON form stays text."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(text):
            return int(text, base)
    return float(text) if _FLOAT.fullmatch(text) and isfinite(float(text)) else text


def _is_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)

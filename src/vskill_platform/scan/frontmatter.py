"""Reading the YAML at the head of a SKILL.md: every value a text, every key with its line."""

from functools import lru_cache

import msgspec
import yaml

#: A head that is larger is not one.
MAX_FRONTMATTER_CHARACTERS = 64 * 1024
#: A manifest needs three levels; a deeper one is built to exhaust a parser.
MAX_DEPTH = 12
_FENCE = "---"
#: The line of the first key: the fence is line 1.
_FIRST_LINE = 2

Value = str | list[str] | dict[str, str] | None


class FrontmatterError(Exception):
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Field(msgspec.Struct, frozen=True):
    #: None for what is nested deeper than a manifest ever is.
    value: Value
    line: int


class Frontmatter(msgspec.Struct, frozen=True):
    fields: dict[str, Field]
    body: str


@lru_cache(maxsize=2)  # several checks read the same one, one after the other
def read_frontmatter(text: str) -> Frontmatter:
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        raise FrontmatterError("the file does not start with a line `---`", 1)
    try:
        end = next(n for n, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE)
    except StopIteration:
        raise FrontmatterError("the line `---` that ends the frontmatter is missing", 1) from None
    head = "\n".join(lines[1:end]) + "\n"
    if len(head) > MAX_FRONTMATTER_CHARACTERS:
        raise FrontmatterError(f"it has more than {MAX_FRONTMATTER_CHARACTERS:,} characters", 1)
    try:
        return Frontmatter(_read_fields(head), "\n".join(lines[end + 1 :]).strip())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + _FIRST_LINE if mark else 1
        raise FrontmatterError(error.problem or str(error), line) from error
    except yaml.YAMLError as error:
        raise FrontmatterError(str(error), 1) from error


def _read_fields(head: str) -> dict[str, Field]:
    _refuse_bombs(head)
    root = yaml.compose(head, Loader=yaml.CSafeLoader)
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise FrontmatterError("it is not a list of `key: value` lines", _FIRST_LINE)
    fields: dict[str, Field] = {}
    for key, value in root.value:
        line = key.start_mark.line + _FIRST_LINE
        if not isinstance(key, yaml.ScalarNode):
            raise FrontmatterError("a key must be a plain word", line)
        if key.value in fields:
            raise FrontmatterError(f"`{key.value}` is there twice", line)
        fields[key.value] = Field(_read_value(value), line)
    return fields


def _refuse_bombs(head: str) -> None:
    """Look at the events first: they take no memory, whatever the text would grow into."""
    depth = 0
    for event in yaml.parse(head, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + _FIRST_LINE
        if isinstance(event, yaml.AliasEvent):
            raise FrontmatterError("aliases (`*name`) are not allowed", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise FrontmatterError(f"it is nested more than {MAX_DEPTH} deep", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _read_value(node: yaml.Node) -> Value:
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(_is_scalar(item) for item in node.value):
        return [str(item.value) for item in node.value]
    if isinstance(node, yaml.MappingNode) and all(
        _is_scalar(key) and _is_scalar(value) for key, value in node.value
    ):
        return {str(key.value): str(value.value) for key, value in node.value}
    return None


def _is_scalar(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode)

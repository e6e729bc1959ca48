"""Skip TypeScript type annotations, which have no effect at run time."""

from vskill_platform.scan.languages.javascript.tokens import Tokens

_ENDS = frozenset({",", "=", ";", ")", "]", "}", ""})
_OPEN = frozenset({"(", "[", "{"})
#: After these tokens, a brace belongs to the type.
_EXPECTING = frozenset({":", "|", "&", "<", "=>", ",", "(", "extends", "keyof", "?", "="})
_MAX_ARGUMENTS = 60
_IN_ARGUMENTS = frozenset(
    {",", ".", "|", "&", "<", ">", "[", "]", "=>", "(", ")", "{", "}", ":", ";", "?"}
)


def skip_annotation(tokens: Tokens) -> None:
    """Skip `: type` if it is here."""
    if tokens.peek() == "?" and tokens.peek(1) in {":", ",", ")", "=", ""}:
        tokens.position += 1
    if tokens.peek() == ":":
        tokens.position += 1
        skip_type(tokens, ":")


def skip_type(tokens: Tokens, before: str, *, stop: str = "") -> None:
    """Skip a type; *before* is the token before it, *stop* contains further tokens that end it."""
    depth = 0
    first = True
    while tokens.position < tokens.limit:
        text = tokens.peek()
        if not depth and (text in _ENDS or text == stop):
            return
        if text == "{" and before not in _EXPECTING and not depth:
            return
        is_over = not depth and not first and before not in _EXPECTING and tokens.is_new_line()
        if is_over and text not in {"|", "&", "=>", ".", "extends", "?", ":"}:
            return
        if text in _OPEN:
            tokens.position = tokens.closing()
        depth += (text == "<") - (text == ">" and depth > 0)
        before, first = text, False
        tokens.position += 1


def skip_arguments(tokens: Tokens) -> bool:
    """Skip `<A, B>` if it is here and unambiguous; return whether it was."""
    if tokens.peek() != "<":
        return False
    depth = 0
    for ahead in range(_MAX_ARGUMENTS):
        text = tokens.peek(ahead)
        depth += (text == "<") - (text == ">")
        if not depth:
            tokens.position += ahead + 1
            return True
        if not text or (tokens.kind(ahead) == "punct" and text not in _IN_ARGUMENTS):
            return False
    return False

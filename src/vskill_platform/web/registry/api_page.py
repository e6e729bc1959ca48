"""The API reference page, rendered from the OpenAPI document without third-party scripts."""

from operator import itemgetter
from typing import Any

import msgspec
from litestar.response import Template

from vskill_platform.web.http.problems import PROBLEM_TYPE
from vskill_platform.web.http.requests import WebRequest

_METHODS = ("get", "post", "put", "patch", "delete")


class ApiField(msgspec.Struct, frozen=True):
    name: str
    place: str
    kind: str
    is_required: bool
    words: str


class ApiOperation(msgspec.Struct, frozen=True):
    method: str
    path: str
    title: str
    words: str
    fields: tuple[ApiField, ...]
    #: The fields of the request body.
    body: tuple[ApiField, ...]
    #: Descriptions by status, and error codes by status.
    answers: tuple[tuple[str, str], ...]
    problems: tuple[tuple[str, str], ...]


async def openapi_document(request: WebRequest) -> dict[str, Any]:
    document: dict[str, Any] = request.app.state.describe_api()
    return document


async def api_page(request: WebRequest) -> Template:
    document = request.app.state.describe_api()
    return Template("pages/api.html", context={"groups": groups_of(document)})


def groups_of(document: dict[str, Any]) -> dict[str, list[ApiOperation]]:
    """Group the operations of an OpenAPI document by tag."""
    groups: dict[str, list[ApiOperation]] = {}
    for path, item in document["paths"].items():
        for method in _METHODS:
            if operation := item.get(method):
                tag = operation.get("tags", ["Other"])[0]
                groups.setdefault(tag, []).append(_operation(method, path, operation, document))
    return dict(sorted(groups.items()))


def _operation(
    method: str, path: str, operation: dict[str, Any], document: dict[str, Any]
) -> ApiOperation:
    parameters = [
        ApiField(
            one["name"],
            one["in"],
            _kind(one.get("schema", {}), document),
            one.get("required", False),
            one.get("description", ""),
        )
        for one in operation.get("parameters", [])
    ]
    answers = [
        (status, _resolved(answer, document)) for status, answer in operation["responses"].items()
    ]
    words = operation.get("description") or operation.get("summary", "")
    return ApiOperation(
        method=method.upper(),
        path=path,
        title=words.partition(". ")[0].partition(";")[0].rstrip("."),
        words=words,
        fields=tuple(parameters),
        body=_body(operation, document),
        answers=_in_words(answers, is_problem=False),
        problems=_in_words(answers, is_problem=True),
    )


def _in_words(
    answers: list[tuple[str, dict[str, Any]]], *, is_problem: bool
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (status, answer["description"])
        for status, answer in sorted(answers, key=itemgetter(0))
        if (PROBLEM_TYPE in answer.get("content", {})) is is_problem
    )


def _body(operation: dict[str, Any], document: dict[str, Any]) -> tuple[ApiField, ...]:
    content = operation.get("requestBody", {}).get("content", {})
    first: dict[str, Any] = next(iter(content.values()), {})
    schema = first.get("schema", {})
    shape = _resolved(schema, document)
    required = set(shape.get("required", ()))
    return tuple(
        ApiField(name, "body", _kind(one, document), name in required, one.get("description", ""))
        for name, one in shape.get("properties", {}).items()
    )


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if not reference:
        return schema
    kind, _, name = reference.removeprefix("#/components/").partition("/")
    found: dict[str, Any] = document["components"][kind][name]
    return found


def _kind(schema: dict[str, Any], document: dict[str, Any]) -> str:
    """Describe the type of a value."""
    if "oneOf" in schema or "anyOf" in schema:
        kinds = [_kind(one, document) for one in schema.get("oneOf") or schema["anyOf"]]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    schema = _resolved(schema, document)
    if "enum" in schema:
        return ", ".join(str(value) for value in schema["enum"] if value is not None)
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}), document)}"
    return f"{kind} ({schema['format']})" if "format" in schema else kind

"""One row of the route table, and the Litestar handler built from it."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

from litestar import route as litestar_route
from litestar.handlers import HTTPRouteHandler
from litestar.status_codes import HTTP_200_OK

from vskill_platform.model.rights import Right
from vskill_platform.web.http.bodies import TAKES_FILES
from vskill_platform.web.http.guard import RIGHT

_OPTIONS = "route_options"
HandlerFunction = TypeVar("HandlerFunction", bound=Callable[..., Any])


class Route(NamedTuple):
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    #: The right that a visitor needs.
    right: Right
    handler: Callable[..., Any]


def operation(
    *,
    status: int = HTTP_200_OK,
    max_body: int | None = None,
    takes_files: bool = False,
    also: tuple[int, ...] = (),
    changes: bool = True,
    is_listed: bool = False,
    **framework_options: Any,
) -> Callable[[HandlerFunction], HandlerFunction]:
    """Declare what a handler takes and returns beyond the defaults.

    - `max_body`: the largest request body in bytes
    - `takes_files`: `max_body` applies to multipart uploads only
    - `also`: error statuses it returns that OpenAPI cannot derive
    - `changes`: False for a POST that changes nothing
    - `is_listed`: True if it reads the search index
    """
    options = {
        "status_code": status,
        "opt": {TAKES_FILES: takes_files, "also": also, "changes": changes, "is_listed": is_listed},
        **({"request_max_body_size": max_body} if max_body else {}),
        **framework_options,
    }

    def declare(function: HandlerFunction) -> HandlerFunction:
        vars(function)[_OPTIONS] = options
        return function

    return declare


def build_handler(row: Route, *, tag: str = "") -> HTTPRouteHandler:
    """Return the handler of a row; only routes with a tag are part of the OpenAPI document."""
    options: dict[str, Any] = {"status_code": HTTP_200_OK, "opt": {}}
    options |= vars(row.handler).get(_OPTIONS, {})
    opt = {**options.pop("opt"), RIGHT: row.right}
    decorate = litestar_route(
        row.path,
        http_method=row.method,
        opt=opt,
        tags=[tag] if tag else None,
        summary=(row.handler.__doc__ or row.handler.__name__).partition("\n")[0].rstrip("."),
        include_in_schema=bool(tag),
        **options,
    )
    built: HTTPRouteHandler = decorate(row.handler)
    return built

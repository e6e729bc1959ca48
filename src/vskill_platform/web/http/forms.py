"""What a form brought along, as texts; files are for those who asked for them."""

from typing import Any

from litestar import Request

#: No field of a form that is typed is longer.
_MAX_LENGTH = 10_000


async def read_fields(request: Request[Any, Any, Any]) -> dict[str, str]:
    """Return each field's text, the last one if it came twice; what is no text is left out."""
    form = await request.form()
    return {
        name: value[:_MAX_LENGTH] for name, value in form.multi_items() if isinstance(value, str)
    }


async def read_choices(request: Request[Any, Any, Any], name: str) -> list[str]:
    """Return what was ticked under one name."""
    form = await request.form()
    return [value for value in form.getall(name, []) if isinstance(value, str)]

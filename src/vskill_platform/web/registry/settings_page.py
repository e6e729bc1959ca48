"""The settings, read-only, as a page and over the API: each value and where it came from."""

import msgspec
from litestar.response import Template

from vskill_platform.describe_settings import SettingRow, describe_settings
from vskill_platform.settings import notify_arguments, variable
from vskill_platform.stores.db import get_settings
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.api_types import Shape
from vskill_platform.web.http.requests import WebRequest


class SettingItem(Shape, frozen=True, kw_only=True):
    variable: str
    value: str
    #: `default`, `environment`, or `file` for a secret in a file.
    origin: str


class SettingsResponse(Shape, frozen=True, kw_only=True):
    #: Nodes can have different settings.
    node: str
    settings: list[SettingItem]


async def settings_page(request: WebRequest) -> Template:
    settings, rows = get_settings(), _rows()
    changed = [row for row in rows if row.origin != "default"]
    only_set = "set" in request.query_params
    context = {
        "rows": changed if only_set else rows,
        "only_set": only_set,
        "total": len(rows),
        "set_count": len(changed),
        "node": settings.node,
    }
    return admin_page(request, "admin/settings.html", context)


async def settings_over_api() -> SettingsResponse:
    """Show the settings of the node that answers, without secrets."""
    found = [
        SettingItem(variable=row.variable, value=row.value, origin=row.origin) for row in _rows()
    ]
    return SettingsResponse(node=get_settings().node, settings=found)


def _rows() -> list[SettingRow]:
    rows = map(_without_arguments, describe_settings(get_settings()))
    return sorted(rows, key=lambda row: row.variable)


def _without_arguments(row: SettingRow) -> SettingRow:
    """Show only the program of a notification, because its arguments may be a secret URL."""
    if row.variable != variable("notify_command") or not row.value:
        return row
    program = notify_arguments(get_settings())[0]
    return msgspec.structs.replace(row, value=f"{program} (arguments are not shown)")

"""The read-only page of the settings: each value and where it came from."""

import msgspec
from litestar.response import Template

from vskill_platform.describe_settings import SettingRow, describe_settings
from vskill_platform.settings import notify_arguments, variable
from vskill_platform.stores.db import get_settings
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.requests import WebRequest


async def settings_page(request: WebRequest) -> Template:
    settings = get_settings()
    rows = sorted(map(_without_arguments, describe_settings(settings)), key=_by_name)
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


def _by_name(row: SettingRow) -> str:
    return row.variable


def _without_arguments(row: SettingRow) -> SettingRow:
    """Show only the program of a notification, because its arguments may be a secret URL."""
    if row.variable != variable("notify_command") or not row.value:
        return row
    program = notify_arguments(get_settings())[0]
    return msgspec.structs.replace(row, value=f"{program} (arguments are not shown)")

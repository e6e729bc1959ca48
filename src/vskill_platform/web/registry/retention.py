"""Retention: what the job `prune` (cron/prune.py) would remove now, as a page and over the API."""

from litestar.response import Template

from vskill_platform.cron.prune_preview import preview_prune
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.api_types import Shape
from vskill_platform.web.http.requests import WebRequest


class RetentionItem(Shape, frozen=True, kw_only=True):
    kind: str
    #: How many would be removed now, and their size in bytes.
    count: int
    bytes: int
    #: When they are removed, with the name of the setting.
    rule: str


class Retention(Shape, frozen=True, kw_only=True):
    rows: list[RetentionItem]


async def retention_page(request: WebRequest) -> Template:
    return admin_page(request, "admin/retention.html", {"rows": await preview_prune()})


async def show_retention(request: WebRequest) -> Retention:  # noqa: ARG001 - a handler
    """Count the records that the settings no longer keep, without removing them."""
    rows = await preview_prune()
    return Retention(
        rows=[
            RetentionItem(kind=row.kind, count=row.count, bytes=row.bytes, rule=row.rule)
            for row in rows
        ]
    )

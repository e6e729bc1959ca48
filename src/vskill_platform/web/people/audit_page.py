"""Who did what, when and why."""

from litestar.response import Template

from vskill_platform.stores.audit_store import list_audit
from vskill_platform.web.html.admin_forms import AdminRequest, admin_page

_A_PAGE = 100


async def audit_page(request: AdminRequest) -> Template:
    after = request.query_params.get("after") or None
    page = await list_audit(after=after, limit=_A_PAGE)
    context = {"records": page.records, "next": page.cursor, "is_first": after is None}
    return admin_page(request, "admin/audit.html", context)

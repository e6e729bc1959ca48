"""Who did what, when and why."""

from litestar import get
from litestar.response import Template

from vskill_platform.model.rights import Right
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.web.html.admin_forms import AdminRequest, admin_page

_A_PAGE = 100


@get("/admin/audit", opt={"right": Right.ADMINISTER}, include_in_schema=False)
async def audit_page(request: AdminRequest) -> Template:
    after = request.query_params.get("after") or None
    page = await list_audit(after=after, limit=_A_PAGE)
    context = {"records": page.records, "next": page.cursor, "is_first": after is None}
    return admin_page(request, "admin/audit.html", context)

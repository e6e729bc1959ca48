"""Record a user's report about a skill, for the admins."""

from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit


async def report_skill(slug: str, *, reason: str, actor: str) -> None:
    """Write a report to the audit log; it changes nothing else."""
    await commit([write_audit("report", slug, actor=actor, reason=reason)])

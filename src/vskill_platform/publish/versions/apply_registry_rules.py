"""What this registry makes of a scan: how it compares, what the policy says, then the verdict."""

from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.decision import check_sizes, subject_of
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import Finding
from vskill_platform.publish.versions.compare_skill import Newcomer, compare_skill
from vskill_platform.scan.apply_policy import apply_policy
from vskill_platform.scan.scan_skill import ScanResult, rejudge
from vskill_platform.stores.db import bound_env, get_now


async def weigh_findings(
    submission: Submission, snapshot: Snapshot, scanned: ScanResult
) -> ScanResult:
    """Add what only a registry sees, mark what the policy suppresses, and judge what is left."""
    compared = await _compare(submission, snapshot, scanned)
    policy = bound_env().policy
    name = scanned.manifest.name if scanned.manifest else None
    subject = subject_of(submission, skill_name=name)
    over = check_sizes(snapshot.files, policy.within(subject.namespaces).limits)
    return apply_policy(
        rejudge(scanned, (*scanned.findings, *compared, *over)),
        policy,
        names=subject.names,
        today=get_now().date(),
    )


async def _compare(
    submission: Submission, snapshot: Snapshot, scanned: ScanResult
) -> tuple[Finding, ...]:
    if scanned.manifest is None:  # it cannot be published, whatever it is like
        return ()
    source = submission.source
    newcomer = Newcomer(
        slug=f"{source.namespace}/{scanned.manifest.name}",
        name=scanned.manifest.name,
        publisher=source.publisher,
        likeness=scanned.measured(),
    )
    return await compare_skill(newcomer, snapshot, now=get_now())

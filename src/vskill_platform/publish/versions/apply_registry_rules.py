"""Turn a scan into a report: compare with other skills, apply the policy, decide."""

import msgspec

from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.decision import Decision, Outcome, check_sizes, decide, subject_of
from vskill_platform.model.failure import score_of
from vskill_platform.model.judgement import Judgement
from vskill_platform.model.policy import digest_of
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import Finding, Report, Verdict
from vskill_platform.publish.versions.compare_skill import ComparedSkill, compare_skill
from vskill_platform.scan.apply_policy import apply_policy
from vskill_platform.scan.scan_skill import ScanResult, renew_verdict
from vskill_platform.stores.db import bound_env, get_now


async def apply_registry_rules(
    submission: Submission, snapshot: Snapshot, scanned: ScanResult
) -> ScanResult:
    """Add findings that only a registry can make, apply suppressions, and derive the verdict."""
    compared = await _compare(submission, snapshot, scanned)
    policy = bound_env().policy
    name = scanned.manifest.name if scanned.manifest else None
    subject = subject_of(submission, skill_name=name)
    over = check_sizes(snapshot.files, policy.within(subject.namespaces).limits)
    return apply_policy(
        renew_verdict(scanned, (*scanned.findings, *compared, *over)),
        policy,
        names=subject.names,
        today=get_now().date(),
    )


async def _compare(
    submission: Submission, snapshot: Snapshot, scanned: ScanResult
) -> tuple[Finding, ...]:
    if scanned.manifest is None:  # without a manifest it cannot be published
        return ()
    source = submission.source
    submitted = ComparedSkill(
        slug=source.slug_of(scanned.manifest.name),
        name=scanned.manifest.name,
        publisher=source.publisher,
        sketch=scanned.measured(),
    )
    return await compare_skill(submitted, snapshot, now=get_now())


def decide_about(submission: Submission, scanned: ScanResult) -> Decision:
    """Apply the policy to the findings: publish, review or reject."""
    name = scanned.manifest.name if scanned.manifest else None
    subject = subject_of(submission, skill_name=name)
    return decide(scanned, bound_env().policy, subject, today=get_now().date())


def is_publishable(submission: Submission, scanned: ScanResult) -> bool:
    """Return whether it can be published: it has a manifest, and no rejection."""
    if scanned.manifest is None:
        return False
    return decide_about(submission, scanned).outcome is not Outcome.REJECT


def describe(submission: Submission, snapshot: Snapshot, scanned: ScanResult) -> Submission:
    """Store in a submission what fetching and scanning revealed."""
    return msgspec.structs.replace(
        submission,
        skill_name=scanned.manifest.name if scanned.manifest else submission.skill_name,
        digest=snapshot.digest,
        tree_sha=snapshot.tree_sha,
    )


def build_report(
    submission: Submission,
    snapshot: Snapshot,
    scanned: ScanResult,
    judgement: Judgement | None = None,
) -> Report:
    return Report(
        submission_id=submission.id,
        # A skill without a valid manifest never passes.
        verdict=scanned.verdict if scanned.manifest else Verdict.BLOCK,
        score=score_of(scanned.findings),
        findings=scanned.findings,
        capabilities=scanned.capabilities,
        digest=snapshot.digest,
        scanner=scanned.scanner,
        ruleset=scanned.ruleset,
        checked_at=get_now(),
        duration_seconds=round(scanned.duration_ms / 1000, 6),
        judgement=judgement,
        policy=digest_of(bound_env().policy),
    )

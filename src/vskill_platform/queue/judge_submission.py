"""Tier 2, second half: ask the judge, if there is one, about a skill that has passed so far."""

import msgspec

from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import JudgeFailed
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.judgement import Judgement
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import Finding, FindingKind, Severity
from vskill_platform.publish.versions.apply_registry_rules import is_publishable
from vskill_platform.queue.ask_scanners import ScannerResults
from vskill_platform.queue.enter_tier2 import enter_tier2
from vskill_platform.scan.judge.ask_judge import ask_judge, prepare_question
from vskill_platform.scan.judge.combine import combine
from vskill_platform.scan.judge.endpoint import JudgeEndpoint, endpoint_of
from vskill_platform.scan.judge.prompt import PROMPT_VERSION
from vskill_platform.scan.scan_skill import ScanResult, renew_verdict
from vskill_platform.settings import Settings
from vskill_platform.stores.db import bound_env, get_now, get_settings
from vskill_platform.stores.external_scan_store import ExternalScan
from vskill_platform.stores.judge_store import (
    get_judgement,
    judgement_key,
    put_judgement,
    reserve_tokens,
    settle_tokens,
)
from vskill_platform.stores.records import Stored

log = get_logger(__name__)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    submission: Stored[Submission]
    #: The findings of both tiers and the scanners.
    scanned: ScanResult
    #: None if no judge was asked.
    judgement: Judgement | None = None
    #: Required remote scans that have not been answered yet.
    unanswered: tuple[Stored[ExternalScan], ...] = ()


async def judge_submission(
    examined: ScannerResults, snapshot: Snapshot, stopwatch: Stopwatch
) -> Judged:
    """Ask the judge, if there is one and the submission neither ends nor waits before this."""
    settings, scanned = get_settings(), examined.scanned
    if examined.unanswered:  # the judge is asked once, after all scanners have answered
        return Judged(
            submission=examined.submission, scanned=scanned, unanswered=examined.unanswered
        )
    endpoint = endpoint_of(settings)
    if endpoint is None or not is_publishable(examined.submission.record, scanned):
        return Judged(submission=examined.submission, scanned=scanned)
    entered = await enter_tier2(examined.submission, snapshot, scanned, asked=endpoint.model)
    key = judgement_key(
        snapshot.digest, scanned.ruleset, PROMPT_VERSION, endpoint.model, settings.judge_max_chars
    )
    judgement = await get_judgement(key)
    if judgement is None:
        judgement = await _ask(endpoint, snapshot)
        if judgement:
            await put_judgement(key, judgement)
    if judgement is None:
        findings = (*scanned.findings, _over_budget(settings))
    else:
        findings = combine(scanned.findings, judgement, may_lower=settings.judge_may_lower)
    stopwatch.lap("judge")
    return Judged(submission=entered, scanned=renew_verdict(scanned, findings), judgement=judgement)


async def _ask(endpoint: JudgeEndpoint, snapshot: Snapshot) -> Judgement | None:
    """Return the judge's answer, or None if today's budget is used up."""
    settings = get_settings()
    question = await prepare_question(
        snapshot.folder, max_chars=settings.judge_max_chars, slots=bound_env().scan_slots
    )
    most = endpoint.most_tokens(question.prompt)
    reserved = await reserve_tokens(most, limit=settings.judge_daily_tokens)
    if reserved is None:
        log.warning("judge skipped: the daily budget is spent", limit=settings.judge_daily_tokens)
        return None
    try:
        judgement = await ask_judge(endpoint, question, now=get_now())
    except JudgeFailed as error:
        await settle_tokens(reserved, used=most if error.tokens is None else error.tokens)
        raise
    used = judgement.tokens_in + judgement.tokens_out
    await settle_tokens(reserved, used=used, cost=judgement.cost)
    log.info("judge answered", digest=snapshot.digest, opinion=judgement.opinion,
             model=judgement.model, tokens=used, cost=judgement.cost,
             seconds=judgement.duration_seconds)  # fmt: skip
    return judgement


def _over_budget(settings: Settings) -> Finding:
    must_be_judged = settings.judge_over_budget == "review"
    then = "a reviewer decides instead" if must_be_judged else "the verdict of tier 1 stands"
    return Finding(
        rule="RUN-BUDGET",
        severity=Severity.MEDIUM if must_be_judged else Severity.INFO,
        kind=FindingKind.OPAQUE,
        message=f"The judge's budget for today is used up, so it was not asked; {then}.",
        fix="Wait for a reviewer's decision.",
    )

"""`judge`: try the judge on a folder, without a registry."""

from pathlib import Path

import click
import msgspec
import uvloop
from anyio import CapacityLimiter
from rich.table import Table

from vskill_platform.base.clock import SystemClock
from vskill_platform.base.show_text import count_of
from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.show import show_findings
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import current_settings
from vskill_platform.errors import ConfigError
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.fetch.temporary_folders import make_workspace
from vskill_platform.model.judgement import Judgement
from vskill_platform.model.verdict import Finding, Verdict
from vskill_platform.scan.check_skill import check_skill
from vskill_platform.scan.judge.ask_judge import JudgeQuestion, ask_judge, prepare_question
from vskill_platform.scan.judge.combine import combine
from vskill_platform.scan.judge.endpoint import endpoint_of
from vskill_platform.scan.scan_skill import renew_verdict
from vskill_platform.settings import Settings


class _Trial(msgspec.Struct, frozen=True, kw_only=True):
    characters: int
    estimated_tokens: int
    facts: int
    files: int
    tier1: Verdict
    judgement: Judgement
    #: The verdict derived from both.
    verdict: Verdict
    findings: tuple[Finding, ...]


@click.command()
@click.argument("path", type=FilledPath(exists=True, file_okay=False))
@click.option("--prompt", "only_prompt", is_flag=True, help="Print the prompt without sending it.")
@json_option
def judge(*, path: Path, only_prompt: bool, as_json: bool) -> None:
    """Ask the judge about a skill in a folder.

    It shows the request, the answer and the cost. Nothing is stored, no cached answer is used, and
    it does not count against the budget.
    """
    settings = current_settings()
    with make_workspace() as workspace:  # what would be submitted: no links, no .git
        folder = take_snapshot(path, workspace / "skill", folder_name=None).folder
        if only_prompt:
            prompt = uvloop.run(_question(folder, settings)).prompt
            echo(*prompt.system.split("\n"), *prompt.user.split("\n"))
            return
        trial = uvloop.run(_try(folder, path.resolve().name, settings))
    if as_json:
        print_json(trial)
    else:
        _show(trial)


async def _question(folder: Path, settings: Settings) -> JudgeQuestion:
    slots = CapacityLimiter(1)
    return await prepare_question(folder, max_chars=settings.judge_max_chars, slots=slots)


async def _try(folder: Path, name: str, settings: Settings) -> _Trial:
    endpoint = endpoint_of(settings)
    if endpoint is None:
        raise ConfigError("no judge is configured: set VSKILL_JUDGE_URL and VSKILL_JUDGE_MODEL")
    scanned = await check_skill(folder, folder_name=name, slots=CapacityLimiter(1))
    question = await _question(folder, settings)
    judgement = await ask_judge(endpoint, question, now=SystemClock().now())
    findings = combine(scanned.findings, judgement, may_lower=settings.judge_may_lower)
    result = renew_verdict(scanned, findings)
    return _Trial(
        characters=question.prompt.size,
        estimated_tokens=question.prompt.estimated_tokens,
        facts=len(question.evidence.spans),
        files=len(question.evidence.files),
        tier1=scanned.verdict,
        judgement=judgement,
        verdict=result.verdict,
        findings=result.findings,
    )


def _show(trial: _Trial) -> None:
    judgement = trial.judgement
    tokens = f"{judgement.tokens_in:,} in, {judgement.tokens_out:,} out"
    rows = {
        "question": ", ".join(
            (
                count_of(trial.characters, "character"),
                count_of(trial.files, "file"),
                count_of(trial.facts, "fact"),
            )
        ),
        "model": f"{judgement.model} (answered by {judgement.answered_by or 'an unnamed model'})",
        "prompt": judgement.prompt,
        "judge": f"{judgement.opinion}, confidence {judgement.confidence:.0%}",
        "summary": judgement.summary,
        "cost": f"{judgement.cost:g} ({tokens} tokens) in {judgement.duration_seconds:.1f} s",
        "not shown": ", ".join(judgement.unseen) or "-",
        "verdict": f"{trial.verdict} (tier 1 alone: {trial.tier1})",
    }
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(f"[dim]{name}[/]", escape(value))
    console = Console()
    console.print(table)
    show_findings(console, trial.findings)

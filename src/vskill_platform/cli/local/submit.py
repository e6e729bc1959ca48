"""`submit` on this machine: a repo, a folder or an archive."""

import getpass

import click

from vskill_platform.cli.local.submit_all import submit_all
from vskill_platform.cli.output.show import exit_code, show_end, show_progress, show_result
from vskill_platform.cli.output.terminal import print_json
from vskill_platform.cli.run_command import current_settings, run_command
from vskill_platform.engines.ports import MAX_POSITION
from vskill_platform.intake.read_source import LocalFiles, read_source
from vskill_platform.intake.submission_request import prepare_request
from vskill_platform.intake.submit import SubmitKind, SubmitResult
from vskill_platform.intake.submit import submit as submit_offer
from vskill_platform.model.source import Source
from vskill_platform.model.submission import Submission

#: Results with nothing to follow, because nothing was queued.
_ENDED_AT_ONCE = frozenset({SubmitKind.BLOCKED, SubmitKind.ALREADY_VERIFIED})


def submit(*, source: str, path: str, ref: str, every: bool, watch: bool, as_json: bool) -> None:
    """Put a submission into the database of this machine."""
    place = read_source(source, settings=current_settings(), path=path, ref=ref)
    run = submit_all if every else _submit_one
    if code := run(place, watch=watch, as_json=as_json):
        raise click.exceptions.Exit(code)


def _submit_one(place: Source | LocalFiles, *, watch: bool, as_json: bool) -> int:
    """Return the exit code."""

    async def work() -> tuple[SubmitResult, Submission]:
        result = await submit_offer(
            await prepare_request(place), submitter=getpass.getuser(), may_replace_ref=True
        )
        if not watch:
            return result, result.submission
        return result, await show_progress(result.submission.id, quiet=as_json)

    result, submission = run_command(work, create=True, with_policy=True)
    if as_json:
        is_far_behind = (result.position or 0) > MAX_POSITION
        print_json({"kind": result.kind, "submission": submission, "position": result.position,
                    "position_is_minimum": is_far_behind})  # fmt: skip
    elif watch and result.kind not in _ENDED_AT_ONCE:
        show_end(submission)
    else:
        show_result(result, submission)
    if watch:
        return exit_code(submission.state)
    return int(result.kind is SubmitKind.BLOCKED)

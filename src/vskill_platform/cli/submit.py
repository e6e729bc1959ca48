"""`submit`: a folder or a git repo goes in."""

import getpass

import click

from vskill_platform.cli.session import json_option, print_json, run_command
from vskill_platform.cli.show import show_progress, show_result
from vskill_platform.intake.read_source import read_source
from vskill_platform.intake.submit import SubmitResult
from vskill_platform.intake.submit import submit as submit_source
from vskill_platform.model.submission import Submission, SubmissionState


@click.command()
@click.argument("path_or_git_url")
@click.option("--path", default="", metavar="DIR", help="The skill's folder inside of it.")
@click.option("--watch", is_flag=True, help="Wait until it is published or rejected.")
@json_option
@click.pass_context
def submit(
    context: click.Context, *, path_or_git_url: str, path: str, watch: bool, as_json: bool
) -> None:
    """Submit a skill: a folder on this machine, or a git URL.

    With --watch the exit code is 0 if it was published and 1 if not.
    """
    source = read_source(path_or_git_url, path=path)

    async def work() -> tuple[SubmitResult, Submission]:
        result = await submit_source(source, submitter=getpass.getuser())
        if not watch:
            return result, result.submission
        return result, await show_progress(result.submission.id, quiet=as_json)

    result, submission = run_command(work, create=True)
    if as_json:
        print_json({"kind": result.kind, "submission": submission})
    else:
        show_result(result, submission)
    if watch and submission.state is not SubmissionState.PUBLISHED:
        context.exit(1)

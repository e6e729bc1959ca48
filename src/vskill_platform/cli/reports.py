"""`reports`: complaints of users about skills, on a registry or on this machine."""

import click

from vskill_platform.cli.local_or_remote import json_option, local_or_remote


@click.group()
def reports() -> None:
    """Report skills to the reviewers, or answer such reports."""


@reports.command()
@click.argument("skill", metavar="SLUG[@VERSION]")
@click.option("--reason", required=True, metavar="TEXT", help="The problem, and in which file.")
@json_option
@local_or_remote("local.reports:add", "remote.reports:add")
def add() -> None:
    """Report a skill, or one version of it; no account is needed."""


@reports.command("list")
@click.option("--status", type=click.Choice(["mine", "open", "all"]), default="mine",
              show_default=True, help="For reviewers: open ones, or all.")  # fmt: skip
@click.option("--problems", is_flag=True, help="With `open`: those about the registry itself.")
@json_option
@local_or_remote("local.reports:list_all", "remote.reports:list_all")
def list_reports() -> None:
    """List reports, newest first."""


@reports.command()
@click.argument("report_id", metavar="ID")
@click.option("--answer", required=True, metavar="TEXT", help="Its author sees it.")
@json_option
@local_or_remote("local.reports:close", "remote.reports:close")
def close() -> None:
    """Close a report with an answer; for reviewers."""

"""`mail`: test the email settings, list queued and failed emails, and retry them."""

import click
from rich.table import Table

from vskill_platform.access.mail_addresses import checked_address
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.errors import InvalidInput
from vskill_platform.events.send_mail import retry_mail, send_test_mail
from vskill_platform.stores.mail_store import Mail, list_mails


@click.group()
def mail() -> None:
    """Test the email settings, list queued and failed emails, and retry them."""


@mail.command()
@click.argument("address")
def test(*, address: str) -> None:
    """Send a test email to ADDRESS at once, and print the server's answer."""

    async def work() -> str:
        return await send_test_mail(checked_address(address))

    answer = run_command(work, create=True)
    echo(f"Sent. The mail server answered: {answer}")


@mail.command("list")
@click.option("--failed", is_flag=True, help="Only emails that failed and are not retried.")
@json_option
def list_command(*, failed: bool, as_json: bool) -> None:
    """List queued and failed emails."""

    async def work() -> list[Mail]:
        return (await list_mails(dead=failed)).mails

    found = run_command(work, read_only=True)
    if as_json:
        print_json(found)
        return
    table = Table("id", "kind", "to", "attempts", "next (UTC)", "problem")
    for one in found:
        due = "" if one.dead_at else f"{one.due_at:%Y-%m-%d %H:%M}"
        table.add_row(one.id, one.kind, escape(one.to), str(one.attempts), due, escape(one.problem))
    Console().print(table)


@mail.command()
@click.argument("mail_id", required=False)
@click.option("--all", "every", is_flag=True, help="All failed emails.")
def retry(*, mail_id: str | None, every: bool) -> None:
    """Send a failed email again, or all of them."""
    if bool(mail_id) == every:
        raise InvalidInput("name one email, or use --all")

    async def work() -> int:
        ids = [mail_id] if mail_id else []
        after: str | None = None
        while every:
            page = await list_mails(dead=True, after=after)
            ids += [one.id for one in page.mails]
            after = page.cursor
            if after is None:
                break
        for one in ids:
            await retry_mail(one)
        return len(ids)

    echo(f"{run_command(work)} will be sent again.")

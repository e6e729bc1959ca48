"""Print what the deletion of an account removes, and what remains without an owner."""

from typing import TYPE_CHECKING

from vskill_platform.base.show_text import count_of
from vskill_platform.cli.output.terminal import echo

if TYPE_CHECKING:
    from vskill_platform.access import delete_account
    from vskill_platform.client import shapes


def show_account_deletion(
    found: "delete_account.AccountDeletion | shapes.AccountDeletion",
    *,
    is_done: bool,
    where: str = "",
) -> None:
    did = "Deleted" if is_done else "Would delete"
    tokens, sessions = count_of(found.tokens, "token"), count_of(found.sessions, "session")
    echo(f"{did} {found.name}{where}: {tokens}, {sessions}.")
    for namespace, count in found.ownerless.items():
        left = f"{count_of(count, 'skill')} {'stays' if count == 1 else 'stay'} in it"
        left = left if count else "it has no skills"
        echo(f"{namespace} has no other owner; {left}.")
    if found.webhooks:
        echo(f"Webhooks of this user that send nothing anymore: {found.webhooks}.")
    if found.trusted_publishers:
        echo(f"Trusted publishers of this user that are refused: {found.trusted_publishers}.")

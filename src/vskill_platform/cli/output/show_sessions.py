"""Print the browser sessions of a user."""

from collections.abc import Iterable
from datetime import datetime

from vskill_platform.cli.output.tables import show_table


def show_sessions(rows: Iterable[tuple[str, datetime | str, datetime | str, str, str]]) -> None:
    """Print rows of id, last use, expiry, address and browser."""
    show_table(
        ("id", "last used (UTC)", "expires (UTC)", "address", "browser"),
        [(one, _minute(used), _minute(expires), *where) for one, used, expires, *where in rows],
        keys=("id",),
    )


def _minute(at: datetime | str) -> str:
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return f"{moment:%Y-%m-%d %H:%M}"

"""Create the one-time link for the first admin, in a file that only the server's user can read."""

import os
from pathlib import Path

from vskill_platform.access.one_time_links import invite_admin
from vskill_platform.access.users import has_admin
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.runtime.cache_folder import cache_path
from vskill_platform.settings import Settings


async def invite_first_admin(settings: Settings) -> str | None:
    """If there is no admin, create a link and store it in a file that only its owner can read."""
    if await has_admin():
        await forget_link(settings)
        return None
    url = await invite_admin(actor="serve", is_first=True)
    if path := link_file(settings):
        await work_in_thread(_write, path, url)
    return url


async def forget_link(settings: Settings) -> None:
    """Remove the file after its link was used."""
    if path := link_file(settings):
        await work_in_thread(path.unlink, missing_ok=True)


def link_file(settings: Settings) -> Path | None:
    """Return the path of the link's file: next to the database, or in the cache folder."""
    return cache_path(settings, ".admin-link")


def _write(path: Path, url: str) -> None:
    """Create the file with owner-only permissions from the start."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{url}\n")

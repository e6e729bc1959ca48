"""`delete` on this machine, with the rights of an admin."""

import getpass

from vskill_platform.cli.remote_delete import check_deletion, show_deletion
from vskill_platform.cli.run_command import run_command
from vskill_platform.client.shapes import Deletion as DeletionAnswer
from vskill_platform.publish.moderation.delete_skill import (
    Deletion,
    delete_skill,
    preview_deletion,
)


def delete(
    *, slug: str, version: str | None, reason: str, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete a skill or a version."""

    async def look() -> Deletion:
        return await preview_deletion(slug, version)

    async def work() -> Deletion:
        actor = getpass.getuser()
        return await delete_skill(slug, version, actor=actor, reason=reason, is_admin=True)

    found = run_command(look, read_only=True)
    if not dry_run:
        check_deletion(_answer(found), reason, yes=yes, as_json=as_json)
        found = run_command(work)
    show_deletion(_answer(found), is_done=not dry_run, as_json=as_json)


def _answer(found: Deletion) -> DeletionAnswer:
    return {
        "slug": found.slug,
        "versions": list(found.versions),
        "isWholeSkill": found.is_whole_skill,
        "aliases": list(found.aliases),
        "installs": found.installs,
        "bytes": found.bytes,
        "refused": None,
    }

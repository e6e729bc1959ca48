"""`delete` on this machine, with the rights of an admin."""

import getpass

from vskill_platform.cli.remote.delete import (
    check_deletion,
    check_namespace_deletion,
    check_no_version,
    show_deletion,
    show_namespace_deletion,
)
from vskill_platform.cli.run_command import run_command
from vskill_platform.client.shapes import Deletion as DeletionResponse
from vskill_platform.client.shapes import NamespaceDeletion as NamespaceDeletionResponse
from vskill_platform.publish.moderation.delete_namespace import (
    NamespaceDeletion,
    delete_namespace,
    preview_namespace_deletion,
)
from vskill_platform.publish.moderation.delete_skill import (
    Deletion,
    delete_skill,
    preview_deletion,
)


def delete(  # noqa: PLR0913 - the options of the command
    *,
    slug: str,
    version: str | None,
    is_namespace: bool,
    reason: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete a skill, a version or a namespace."""
    if is_namespace:
        check_no_version(version)
        _delete_namespace(slug, reason, dry_run=dry_run, yes=yes, as_json=as_json)
        return

    async def look() -> Deletion:
        return await preview_deletion(slug, version)

    async def work() -> Deletion:
        actor = getpass.getuser()
        return await delete_skill(slug, version, actor=actor, reason=reason, is_admin=True)

    found = run_command(look, read_only=True)
    if not dry_run:
        check_deletion(_response(found), reason, yes=yes, as_json=as_json)
        found = run_command(work)
    show_deletion(_response(found), is_done=not dry_run, as_json=as_json)


def _delete_namespace(name: str, reason: str, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    async def look() -> NamespaceDeletion:
        return await preview_namespace_deletion(name)

    async def work() -> NamespaceDeletion:
        return await delete_namespace(name, actor=getpass.getuser(), reason=reason, is_admin=True)

    found = run_command(look, read_only=True)
    if not dry_run:
        check_namespace_deletion(_namespace(found), reason, yes=yes, as_json=as_json)
        found = run_command(work)
    show_namespace_deletion(_namespace(found), is_done=not dry_run, as_json=as_json)


def _namespace(found: NamespaceDeletion) -> NamespaceDeletionResponse:
    return {
        "namespace": found.name,
        "skills": [
            {"slug": one.slug, "versions": len(one.versions), "installs": one.installs}
            for one in found.skills
        ],
        "owners": list(found.owners),
        "members": list(found.members),
        "webhooks": found.webhooks,
        "trustedPublishers": found.trusted_publishers,
        "tokens": found.tokens,
        "installs": found.installs,
        "bytes": found.bytes,
        "refused": None,
    }


def _response(found: Deletion) -> DeletionResponse:
    return {
        "slug": found.slug,
        "versions": list(found.versions),
        "isWholeSkill": found.is_whole_skill,
        "aliases": list(found.aliases),
        "installs": found.installs,
        "bytes": found.bytes,
        "refused": None,
    }

"""`delete` on a registry."""

from vskill_platform.cli.terminal import confirm, echo, is_interactive, print_json
from vskill_platform.client.addresses import segment
from vskill_platform.client.registry import Registry
from vskill_platform.client.shapes import Deletion
from vskill_platform.errors import InvalidInput, NotAllowed

_API = "/api/v1"


def delete(  # noqa: PLR0913 - the options of the command
    registry: Registry,
    *,
    slug: str,
    version: str | None,
    reason: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    path = f"{_API}/skills/{segment(slug)}"
    found: Deletion = registry.get_json(f"{path}/deletion", Deletion, version=version)
    if not dry_run:
        check_deletion(found, reason, yes=yes, as_json=as_json)
        body = {"version": version, "reason": reason}
        found = registry.post_json(f"{path}/delete", body, Deletion)
    show_deletion(found, is_done=not dry_run, as_json=as_json)


def check_deletion(found: Deletion, reason: str, *, yes: bool, as_json: bool) -> None:
    """Refuse what is not allowed, and ask."""
    if not reason.strip():
        raise InvalidInput("give a --reason; it stays visible under the old name")
    if found["refused"]:
        raise NotAllowed(found["refused"])
    if yes:
        return
    if not is_interactive() or as_json:
        raise NotAllowed("without a terminal to confirm, nothing was deleted; use --yes")
    show_deletion(found, is_done=False, as_json=False)
    confirm("Delete this? It cannot be undone.")


def show_deletion(found: Deletion, *, is_done: bool, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    what = "the skill" if found["isWholeSkill"] else "the version"
    did = "Deleted" if is_done else "Would delete"
    echo(f"{did} {what} {found['slug']}: {', '.join(found['versions'])}, {found['bytes']:,} bytes.")
    if not is_done and found["installs"]:
        echo(f"It was installed {found['installs']:,} times; installed copies stay.")
    if found["aliases"]:
        echo(f"Old slugs: {', '.join(found['aliases'])}")
    if not is_done and found["refused"]:
        echo(f"Not allowed: {found['refused']}", err=True)

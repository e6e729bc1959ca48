"""`delete` on a registry: a skill, a version, or a namespace."""

from vskill_platform.base.show_text import count_of
from vskill_platform.cli.output.terminal import confirm, echo, is_interactive, print_json
from vskill_platform.client.addresses import segment
from vskill_platform.client.registry import Registry
from vskill_platform.client.shapes import Deletion, NamespaceDeletion
from vskill_platform.errors import InvalidInput, NotAllowed

_API = "/api/v1"


def delete(  # noqa: PLR0913 - the options of the command
    registry: Registry,
    *,
    slug: str,
    version: str | None,
    is_namespace: bool,
    reason: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    if is_namespace:
        check_no_version(version)
        _delete_namespace(registry, slug, reason, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    path = f"{_API}/skills/{segment(slug)}"
    found: Deletion = registry.get_json(f"{path}/deletion", Deletion, version=version)
    if not dry_run:
        check_deletion(found, reason, yes=yes, as_json=as_json)
        body = {"version": version, "reason": reason}
        found = registry.post_json(f"{path}/delete", body, Deletion)
    show_deletion(found, is_done=not dry_run, as_json=as_json)


def _delete_namespace(
    registry: Registry, name: str, reason: str, *, dry_run: bool, yes: bool, as_json: bool
) -> None:
    path = f"{_API}/namespaces"
    found: NamespaceDeletion = registry.get_json(
        f"{path}/deletion", NamespaceDeletion, namespace=name
    )
    if not dry_run:
        check_namespace_deletion(found, reason, yes=yes, as_json=as_json)
        body = {"namespace": name, "reason": reason}
        found = registry.post_json(f"{path}/delete", body, NamespaceDeletion)
    show_namespace_deletion(found, is_done=not dry_run, as_json=as_json)


def check_no_version(version: str | None) -> None:
    if version:
        raise InvalidInput("--namespace deletes all skills; it cannot be combined with --version")


def check_deletion(found: Deletion, reason: str, *, yes: bool, as_json: bool) -> None:
    """Refuse a deletion that is not allowed; otherwise ask for confirmation."""
    if _must_ask(found["refused"], reason, yes=yes, as_json=as_json):
        show_deletion(found, is_done=False, as_json=False)
        confirm("Delete this? It cannot be undone.")


def check_namespace_deletion(
    found: NamespaceDeletion, reason: str, *, yes: bool, as_json: bool
) -> None:
    if _must_ask(found["refused"], reason, yes=yes, as_json=as_json):
        show_namespace_deletion(found, is_done=False, as_json=False)
        confirm("Delete all of this? It cannot be undone.")


def _must_ask(refused: str | None, reason: str, *, yes: bool, as_json: bool) -> bool:
    if not reason.strip():
        raise InvalidInput("give a --reason; it stays visible under the old name")
    if refused:
        raise NotAllowed(refused)
    if not yes and (not is_interactive() or as_json):
        raise NotAllowed("without a terminal to confirm, nothing was deleted; use --yes")
    return not yes


def show_namespace_deletion(found: NamespaceDeletion, *, is_done: bool, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    did = "Deleted" if is_done else "Would delete"
    echo(
        f"{did} the namespace {found['namespace']}: {count_of(len(found['skills']), 'skill')}, "
        f"{found['bytes']:,} bytes, {count_of(found['webhooks'], 'webhook')}, "
        f"{count_of(found['trustedPublishers'], 'trusted publisher')}, "
        f"{count_of(found['tokens'], 'token')}."
    )
    for skill in found["skills"]:
        versions, installs = skill["versions"], skill["installs"]
        echo(f"  {skill['slug']}: {count_of(versions, 'version')}, {count_of(installs, 'install')}")
    if not is_done and found["refused"]:
        echo(f"Not allowed: {found['refused']}", err=True)


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

"""`search`, `versions`, `diff`, `(un)yank`, `(un)deprecate` and `follow` on a registry."""

from collections.abc import Sequence
from typing import Any

import click

from vskill_platform.cli.output.tables import Cell, show_table
from vskill_platform.cli.output.terminal import Console, echo, echo_patch_line, escape, print_json
from vskill_platform.cli.search_filters import FilterValue, check_search
from vskill_platform.client.addresses import segment
from vskill_platform.client.registry import Registry
from vskill_platform.client.responses import add_page
from vskill_platform.client.shapes import (
    Diff,
    FollowedRepos,
    FoundSkills,
    Version,
    Versions,
    Visibility,
)
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import group_by_capability

_SKILLS, _FOLLOWED = "/api/v1/skills", "/api/v1/followed-repos"
#: What registries list at once.
_MAX_PAGE = 100
_COLOURS = {"latest": "green", "yanked": "yellow", "blocked": "red", "taken down": "red"}
LINE_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def search(
    registry: Registry, *, words: tuple[str, ...], limit: int, as_json: bool, **filters: FilterValue
) -> None:
    query = check_search(words, filters)
    query["q"] = " ".join(words)
    size = min(limit, _MAX_PAGE)
    response: FoundSkills = registry.get_json(_SKILLS, FoundSkills, limit=size, **query)
    while len(response["skills"]) < limit and (cursor := response.get("nextCursor")):
        size = min(limit - len(response["skills"]), _MAX_PAGE)
        more = registry.get_json(_SKILLS, FoundSkills, limit=size, cursor=cursor, **query)
        add_page(response, more, "skills")
    if as_json:
        print_json(response)
        return
    if not response["skills"]:
        echo("Nothing found.", err=True)
        return
    if instead := response.get("searchedFor"):
        echo(f"No exact match. Showing results for: {instead}", err=True)
    show_table(
        ("skill", "version", "trust", "description"),
        [
            (one["slug"],
             (one["currentVersion"] or "yanked") + (" (deprecated)" * bool(one.get("deprecated"))),
             Cell(f"{one['trustTier']} {one['trustScore']}"), one["description"])
            for one in response["skills"]
        ],
        keys=("skill", "version"),
    )  # fmt: skip
    total, shown = response["pagination"]["total"], len(response["skills"])
    if total > shown:
        echo(f"{shown} of {total}; use more words or --limit", err=True)


def versions(registry: Registry, *, slug: str, as_json: bool) -> None:
    path = f"{_SKILLS}/{segment(slug)}/versions"
    response: Versions = registry.get_json(path, Versions)
    while cursor := response.get("nextCursor"):
        more = registry.get_json(path, Versions, cursor=cursor)
        add_page(response, more, "versions")
    if as_json:
        print_json(response)
    else:
        show_versions(response)


def show_versions(response: Versions) -> None:
    show_table(
        ("version", "", "published (UTC)", "digest", "changes", "reason"),
        [
            (
                one["version"],
                _status(one),
                one["createdAt"][:16].replace("T", " "),
                one["contentHash"][:12],
                one["diffSummary"],
                one["reason"] or (f"approved by {one['approvedBy']}" if one["approvedBy"] else ""),
            )
            for one in response["versions"]
        ],
        keys=("version", "digest"),
    )


def _status(one: Version) -> Cell:
    shown = show_status(one["standing"])
    if one.get("deprecated") and one["standing"] in {"latest", "offered"}:
        return Cell(f"{shown}, deprecated", "yellow")
    return Cell(shown, _COLOURS.get(one["standing"], ""))


def show_status(status: str) -> str:
    """Return the word for tables; the API has said "offered" since its first release."""
    return "available" if status == "offered" else status


def diff(registry: Registry, *, slug: str, old: str | None, new: str | None, as_json: bool) -> None:
    path = f"{_SKILLS}/{segment(slug)}/versions"
    if old is None or new is None:
        old, new = _default_versions(registry.get_json(path, Versions), slug, old)
    response: Diff = registry.get_json(f"{path}/diff", Diff, **{"from": old, "to": new})
    if as_json:
        print_json(response)
        return
    console = Console()
    console.print(
        f"[bold]{escape(slug)} {escape(response['from'])} → {escape(response['to'])}[/]: "
        f"{escape(response['diffSummary'])}",
        highlight=False,
    )
    for line in response["contentDiff"].split("\n")[:-1]:
        echo_patch_line(line, colour=LINE_COLOURS.get(line[:1]), dim=line[:1] == " ")
    if response["gained"] is None:
        console.print("Their capabilities are unknown: an older release published them.")
    elif response["gained"]:
        console.print("[bold red]New capabilities:[/]")
        for kind, values in group_by_capability(response["gained"]).items():
            console.print(f"  {escape(kind)}: {escape(', '.join(values))}", highlight=False)
    else:
        console.print("No new capabilities.")


def _default_versions(listed: Versions, slug: str, old: str | None) -> tuple[str, str]:
    """Return the versions to compare: the latest, after *old* or else the one before it."""
    names = [one["version"] for one in listed["versions"]]
    latest = next((one["version"] for one in listed["versions"] if one["standing"] == "latest"), "")
    latest = latest or (names[0] if names else "")
    before = names[names.index(latest) + 1 :] if latest else []
    if not latest or not (old or before):
        raise NotFound(f"{slug} has no two versions to compare")
    return old or before[0], latest


def yank(registry: Registry, *, slug: str, version: str, reason: str, as_json: bool) -> None:
    _change(registry, "yank", slug, version, reason, as_json=as_json)


def unyank(registry: Registry, *, slug: str, version: str, reason: str, as_json: bool) -> None:
    _change(registry, "unyank", slug, version, reason, as_json=as_json)


def _change(
    registry: Registry, action: str, slug: str, version: str, reason: str, *, as_json: bool
) -> None:
    body = {"version": version, "reason": reason}
    response: Versions = registry.post_json(f"{_SKILLS}/{segment(slug)}/{action}", body, Versions)
    if as_json:
        print_json(response)
        return
    latest = next(
        (one["version"] for one in response["versions"] if one["standing"] == "latest"), ""
    )
    then = f"The latest is {latest}." if latest else "No version can be installed by default."
    echo(f"{slug} {version} is {'yanked' if action == 'yank' else 'available'}. {then}")


def set_visibility(
    registry: Registry, *, slug: str, visibility: str, reason: str, as_json: bool
) -> None:
    body = {"private": visibility == "private", "reason": reason}
    response: Visibility = registry.post_json(
        f"{_SKILLS}/{segment(slug)}/visibility", body, Visibility
    )
    show_visibility(response["slug"], is_private=response["private"], as_json=as_json)


def show_visibility(slug: str, *, is_private: bool, as_json: bool) -> None:
    if as_json:
        print_json({"slug": slug, "private": is_private})
    else:
        echo(f"{slug} is {'private' if is_private else 'public'} now.")


def deprecate(
    registry: Registry, *, slug: str, version: str | None, message: str, use: str, as_json: bool
) -> None:
    body = {"version": version, "message": message, "useInstead": use}
    response: Versions = registry.post_json(f"{_SKILLS}/{segment(slug)}/deprecate", body, Versions)
    show_deprecation(response, slug, version, is_on=True, as_json=as_json)


def undeprecate(registry: Registry, *, slug: str, version: str | None, as_json: bool) -> None:
    path = f"{_SKILLS}/{segment(slug)}/undeprecate"
    response: Versions = registry.post_json(path, {"version": version}, Versions)
    show_deprecation(response, slug, version, is_on=False, as_json=as_json)


def show_deprecation(
    response: Any, slug: str, version: str | None, *, is_on: bool, as_json: bool
) -> None:
    if as_json:
        print_json(response)
        return
    what = f"{slug} {version}" if version else slug
    echo(f"{what} is {'deprecated; it stays available' if is_on else 'no longer deprecated'}.")


def follow(
    registry: Registry, *, repo: str, ref: str, is_list: bool, stop: bool, as_json: bool
) -> None:
    check_follow_options(repo, ref=ref, is_list=is_list, stop=stop)
    response: FollowedRepos
    if stop:
        response = registry.delete_json(_FOLLOWED, FollowedRepos, repoUrl=repo)
    elif is_list:
        response = registry.get_json(_FOLLOWED, FollowedRepos, limit=100)
        while cursor := response.get("nextCursor"):
            more = registry.get_json(_FOLLOWED, FollowedRepos, limit=100, cursor=cursor)
            add_page(response, more, "followed")
    else:
        body = {"repoUrl": repo, "branch": ref or None}
        response = registry.post_json(_FOLLOWED, body, FollowedRepos)
    if as_json:
        print_json(response)
        return
    show_followed(
        [
            (one["slug"], one["repoUrl"], one["branch"] or "", one["status"], one["problem"])
            for one in response["followed"]
        ]
    )


def check_follow_options(repo: str, *, ref: str, is_list: bool, stop: bool) -> None:
    """Refuse options that contradict each other."""
    if is_list and (repo or ref or stop):
        raise click.UsageError("--list cannot be combined with a repo, --ref or --stop")
    if not is_list and not repo:
        raise click.UsageError("name a repo such as owner/repo, or use --list")
    if stop and ref:
        raise click.UsageError(
            "--stop cannot be combined with --ref: it stops following every branch"
        )


def show_followed(rows: Sequence[tuple[str, str, str, str, str]]) -> None:
    """Print what is followed: the skill, repo, branch or tag, status and problem of each record."""
    if not rows:
        echo("You follow no repository.", err=True)
        return
    shown = [
        (slug or "(all, and new ones)", repo, ref or "commits and version tags", *rest)
        for slug, repo, ref, *rest in rows
    ]
    show_table(("skill", "repo", "follows", "status", "problem"), shown, keys=("skill",))

"""`follow` on this machine: submit new commits of a repo automatically."""

import getpass

from vskill_platform.cli.output.terminal import print_json
from vskill_platform.cli.remote.skills import check_follow_options, show_followed
from vskill_platform.cli.run_command import current_settings, run_command
from vskill_platform.errors import NotFound
from vskill_platform.intake.follow_repo import (
    follow_repo,
    follow_whole_repo,
    list_skills_from,
    unfollow_repo,
)
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    find_followed_in,
    list_followed_repos,
)


def follow(*, repo: str, ref: str, is_list: bool, stop: bool, as_json: bool) -> None:
    """Follow a repo in the database of this machine, stop following it, or list followed repos."""
    check_follow_options(repo, ref=ref, is_list=is_list, stop=stop)
    if is_list:
        found = run_command(_list_all, read_only=True)
    else:
        source = read_remote_source(repo, settings=current_settings(), ref=ref)

        async def work() -> list[FollowedRepo]:
            return await (_stop(source.url) if stop else _follow(source.url, source.ref))

        found = run_command(work)
    if as_json:
        print_json(found)
        return
    show_followed([(one.slug, one.repo_url, one.ref, one.status, one.problem) for one in found])


async def _follow(url: str, ref: str) -> list[FollowedRepo]:
    actor = getpass.getuser()
    whole = await follow_whole_repo(url, ref=ref, actor=actor, rights="operator")
    skills = await list_skills_from(url)
    return [
        whole,
        *[await follow_repo(one, ref=ref, actor=actor, rights="operator") for one in skills],
    ]


async def _stop(url: str) -> list[FollowedRepo]:
    followed = await find_followed_in(url)
    if not followed:
        raise NotFound(f"{url} is not followed")
    return [await unfollow_repo(one.name, actor=getpass.getuser()) for one in followed]


async def _list_all() -> list[FollowedRepo]:
    page = await list_followed_repos()
    found = list(page.followed)
    while page.cursor:
        page = await list_followed_repos(after=page.cursor)
        found += page.followed
    return found

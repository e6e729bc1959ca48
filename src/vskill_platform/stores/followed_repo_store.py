"""Followed repositories: one record for each followed skill, and one for new skills of the repo."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from vskill_platform.engines.operations import ABSENT, Delete, Expect, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_each

_FOLLOWED = "followed-repo:"
#: Prefix of the marks that find all skills of a repository.
_OF_REPO = "followed-repo-of "
#: Prefix of the marks that find everything that a user follows.
_BY_USER = "followed-repo-by "
#: How many skills of a repository are listed.
MAX_SKILLS_OF_A_REPO = 1_000
#: How many of a user's followed skills and repositories are listed.
MAX_FOLLOWED_BY = 10_000
#: The rights with which new commits are submitted: the user's without staff rights, with staff
#: rights while the user has them, or, on the registry's own machine, all.
FollowRights = Literal["user", "staff", "operator"]


class FollowStatus(StrEnum):
    FOLLOWING = "following"
    #: The last check failed, or the skill is no longer in the repository.
    FAILING = "failing"
    #: The host reports that the repository does not exist; it is still checked.
    MISSING = "missing"
    STOPPED = "stopped"


class FollowedRepo(Record, frozen=True, kw_only=True):
    #: Empty for the whole repository: its new skills are submitted and followed.
    slug: str
    #: The canonical URL, as in a source of kind git.
    repo_url: str
    #: The branch or tag; "" for the branch of the latest version, and for tags with a new version.
    ref: str = ""
    #: The user who follows it; new commits are submitted in that user's name.
    by: str
    #: Whether it was requested on the registry's own machine, where no account is needed.
    is_by_operator: bool = False
    #: Whether it was requested with staff rights; a token may lack the rights of its user.
    is_by_staff: bool = False
    at: datetime
    #: When the repository was last checked; None if it has not been checked yet.
    checked_at: datetime | None = None
    #: The commit that was last seen; "" before the first one.
    commit_sha: str = ""
    #: The seen tag with the highest version; "" if there is none, None before the first check. Tags
    #: that exist at the first check are not submitted.
    tag: str | None = None
    #: The branch that was followed when a tag was first submitted; its commits are still followed.
    branch: str | None = None
    #: The failed checks in a row, and why the last one failed or found no skill.
    failures: int = 0
    problem: str = ""
    #: Since when the host reports the repository as missing.
    missing_since: datetime | None = None
    #: The same, if it is back after a long absence with nothing new.
    was_missing_since: datetime | None = None
    #: When following stopped, for example because its user lost the right to submit; the problem
    #: says why.
    stopped_at: datetime | None = None
    #: For a whole repository: the skills that were ever followed. If someone stops following one,
    #: it is not followed again.
    skills: tuple[str, ...] = ()

    @property
    def rights(self) -> FollowRights:
        if self.is_by_operator:
            return "operator"
        return "staff" if self.is_by_staff else "user"

    @property
    def name(self) -> str:
        """What is followed: a skill, or the URL of a repository."""
        return self.slug or self.repo_url

    @property
    def follows_tags(self) -> bool:
        return not self.ref

    @property
    def status(self) -> FollowStatus:
        if self.stopped_at:
            return FollowStatus.STOPPED
        if self.missing_since:
            return FollowStatus.MISSING
        return FollowStatus.FAILING if self.problem else FollowStatus.FOLLOWING


class FollowedPage(msgspec.Struct, frozen=True):
    followed: list[FollowedRepo]
    cursor: str | None


async def get_followed_repo(name: str) -> Stored[FollowedRepo] | None:
    return await get_record(_FOLLOWED + name, FollowedRepo)


async def list_followed_repos(*, after: str | None = None, limit: int = 100) -> FollowedPage:
    """Return a page of followed skills and repositories, ordered by name."""
    page = await get_kv().list_keys(_FOLLOWED, after=after, limit=limit)
    return FollowedPage(await _read(page.keys), page.cursor)


async def list_due_followed_repos(now: datetime, *, limit: int) -> list[str]:
    """Return the names of the records that are due, most overdue first, even damaged ones."""
    page = await get_kv().list_keys(_FOLLOWED, limit=limit, due_before=now)
    return [key.removeprefix(_FOLLOWED) for key in page.keys]


async def postpone_damaged(name: str, *, due: datetime) -> Operation | None:
    """Return the operation that postpones an unreadable record; None if it no longer exists."""
    entry = await get_kv().get(_FOLLOWED + name)
    return Put(_FOLLOWED + name, entry.value, expected=entry.revision, due=due) if entry else None


async def find_followed_in(repo_url: str) -> list[FollowedRepo]:
    """Return the followed skills of one repository, given its canonical URL."""
    (keys,) = await get_kv().find_marked([_OF_REPO + repo_url], limit=MAX_SKILLS_OF_A_REPO)
    return await _read(keys)


async def list_followed_by(user_name: str) -> list[FollowedRepo]:
    """Return the records of a user."""
    (keys,) = await get_kv().find_marked([_BY_USER + user_name], limit=MAX_FOLLOWED_BY)
    return await _read(keys)


def write_followed_repo(
    followed: FollowedRepo, *, due: datetime, expected: int | None = None
) -> Operation:
    """Return the operation that stores it; *due* is the time of its next check."""
    return Put(
        _FOLLOWED + followed.name,
        encode(followed),
        expected=expected,
        due=due,
        marks=(_OF_REPO + followed.repo_url, _BY_USER + followed.by),
    )


def expect_not_followed(name: str) -> Operation:
    """Make a commit fail if someone follows it in the meantime."""
    return Expect(_FOLLOWED + name, ABSENT)


def delete_followed_repo(name: str, *, expected: int | None = None) -> Operation:
    return Delete(_FOLLOWED + name, expected=expected)


async def _read(keys: list[str]) -> list[FollowedRepo]:
    return await read_each(keys, lambda key, value: decode(key, value, FollowedRepo))

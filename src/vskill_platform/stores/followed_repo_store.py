"""Repositories that someone asked to follow: a record for each skill, and one for new skills."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from vskill_platform.engines.operations import ABSENT, Delete, Expect, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_each

_FOLLOWED = "followed-repo:"
#: Prefix of the mark under which all skills of a repository are found.
_OF_REPO = "followed-repo-of "
#: Prefix of the mark under which everything that a user follows is found.
_BY_USER = "followed-repo-by "
#: How many skills of one repository are found.
MAX_SKILLS_OF_A_REPO = 1_000
#: How many skills and repositories that one user follows are found.
MAX_FOLLOWED_BY = 10_000
#: The rights with which new commits are submitted: those of the user without the ones of staff,
#: those of staff as long as the user has them, or all, on the registry's own machine.
FollowRights = Literal["user", "staff", "operator"]


class FollowStatus(StrEnum):
    FOLLOWING = "following"
    #: The last check failed, or the skill is no longer in the repository.
    FAILING = "failing"
    #: The host says that the repository does not exist; it is still checked.
    MISSING = "missing"
    STOPPED = "stopped"


class FollowedRepo(Record, frozen=True, kw_only=True):
    #: Empty for the repository as a whole: skills that are new in it are submitted and followed.
    slug: str
    #: The canonical URL, as in a source of kind git.
    repo_url: str
    #: The branch or tag, "" for the one that the latest version was published from, and for tags
    #: that name a new version.
    ref: str = ""
    #: The user who follows it; new commits are submitted in this name.
    by: str
    #: Whether it was requested on the registry's own machine, where no account is needed.
    is_by_operator: bool = False
    #: Whether it was requested with the rights of staff: not by a token without them, for example.
    is_by_staff: bool = False
    at: datetime
    #: When the repository was last checked; None if it was not yet.
    checked_at: datetime | None = None
    #: The commit that was last seen; "" before the first one.
    commit_sha: str = ""
    #: The tag with the highest version that was seen; "" if there was none, None before the first
    #: check. Tags that are there at the first check are not submitted.
    tag: str | None = None
    #: The branch that was followed when a tag was first submitted; its commits are still followed.
    branch: str | None = None
    #: The failed checks in a row, and why the last one failed or found no skill.
    failures: int = 0
    problem: str = ""
    #: Since when the host reports the repository as missing.
    missing_since: datetime | None = None
    #: When following ended because its user lost the right to submit; the problem says why.
    stopped_at: datetime | None = None
    #: Of the repository as a whole: skills that were followed once, and are not followed again if
    #: someone stops that.
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
    """Return a page of what is followed, ordered by name."""
    page = await get_kv().list_keys(_FOLLOWED, after=after, limit=limit)
    return FollowedPage(await _read(page.keys), page.cursor)


async def list_due_followed_repos(now: datetime, *, limit: int) -> list[str]:
    """Return the names of what is due for a check, most overdue first; damaged records too."""
    page = await get_kv().list_keys(_FOLLOWED, limit=limit, due_before=now)
    return [key.removeprefix(_FOLLOWED) for key in page.keys]


async def postpone_damaged(name: str, *, due: datetime) -> Operation | None:
    """Return the operation that makes a record due later without reading it; None if it is gone."""
    entry = await get_kv().get(_FOLLOWED + name)
    return Put(_FOLLOWED + name, entry.value, expected=entry.revision, due=due) if entry else None


async def find_followed_in(repo_url: str) -> list[FollowedRepo]:
    """Return what is followed of one repository, given its canonical URL."""
    (keys,) = await get_kv().find_marked([_OF_REPO + repo_url], limit=MAX_SKILLS_OF_A_REPO)
    return await _read(keys)


async def list_followed_by(user_name: str) -> list[FollowedRepo]:
    """Return what a user asked to follow."""
    (keys,) = await get_kv().find_marked([_BY_USER + user_name], limit=MAX_FOLLOWED_BY)
    return await _read(keys)


def write_followed_repo(
    followed: FollowedRepo, *, due: datetime, expected: int | None = None
) -> Operation:
    """Return the operation that stores it; *due* is when to look at the repository next."""
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

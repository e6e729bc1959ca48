"""Links between GitHub accounts and users: at most one each, found from both sides."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import Stored, encode, get_record
from vskill_platform.stores.user_store import expect_not_deleted

_LINK = "github-link:"
#: Maps a user to the id of the GitHub account.
_LINK_OF = "github-link-of:"


class GithubLink(Record, frozen=True, kw_only=True):
    github_id: int
    #: The name at GitHub when it was linked; only the id identifies the account.
    login: str
    user: str
    at: datetime


async def get_github_link(github_id: int) -> Stored[GithubLink] | None:
    return await get_record(f"{_LINK}{github_id}", GithubLink)


async def get_github_link_of(user_name: str) -> Stored[GithubLink] | None:
    found = await get_record(_LINK_OF + user_name, int)
    return await get_github_link(found.record) if found else None


async def write_github_link(link: GithubLink) -> list[Operation]:
    """Return the operations that link both; they fail if either is linked meanwhile.

    The user's earlier link is removed.
    """
    before = await get_record(_LINK_OF + link.user, int)
    pointer = Put(
        _LINK_OF + link.user,
        encode(link.github_id),
        expected=before.revision if before else ABSENT,
        due=NEVER,
    )
    old = [Delete(f"{_LINK}{before.record}")] if before else []
    new = Put(f"{_LINK}{link.github_id}", encode(link), expected=ABSENT, due=NEVER)
    return [*old, pointer, new, expect_not_deleted(link.user)]


def delete_github_link(link: Stored[GithubLink]) -> list[Operation]:
    return [
        Delete(f"{_LINK}{link.record.github_id}", expected=link.revision),
        Delete(_LINK_OF + link.record.user),
    ]

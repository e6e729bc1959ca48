"""Namespaces with their owners and members, found by namespace or by user."""

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.model.user import Namespace, own_namespace
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)
from vskill_platform.stores.user_store import expect_not_deleted

_NAMESPACE = "namespace:"
#: Maps a user to the namespaces that the user owns or is a member of.
_NAMESPACE_OF = "namespace-of:"


async def get_namespace(name: str) -> Stored[Namespace]:
    """Return owners and members; revision 0 if none were ever set."""
    stored = await get_record(_NAMESPACE + name, Namespace)
    return stored or Stored(Namespace(name=name), ABSENT)


async def list_namespaces() -> list[Namespace]:
    """Return the namespaces with owners or members."""
    keys = await list_all_keys(_NAMESPACE)
    return await read_each(keys, lambda key, value: decode(key, value, Namespace))


async def list_namespaces_of(user_name: str) -> list[str]:
    """Return the namespaces that a user owns or is a member of, the user's own one first."""
    prefix = f"{_NAMESPACE_OF}{user_name}:"
    own = own_namespace(user_name)
    others = [key.removeprefix(prefix) for key in await list_all_keys(prefix)]
    return [own, *(name for name in others if name != own)]


def write_namespace(before: Stored[Namespace], after: Namespace) -> list[Operation]:
    """Return the operations that store it with its index by user.

    They fail if it has changed, or if the account of a new owner or member was deleted.
    """
    old = {*before.record.owners, *before.record.members}
    new = {*after.owners, *after.members}
    return [
        Put(_NAMESPACE + after.name, encode(after), expected=before.revision, due=NEVER),
        *(Delete(_of_key(user, after.name)) for user in sorted(old - new)),
        *(Put(_of_key(user, after.name), b"", due=NEVER) for user in sorted(new - old)),
        *(expect_not_deleted(user) for user in sorted(new - old)),
    ]


def expect_namespace(stored: Stored[Namespace]) -> Operation:
    """Return a check that its owners and members have not changed."""
    return Expect(_NAMESPACE + stored.record.name, stored.revision)


def claim_namespace(stored: Stored[Namespace]) -> Operation:
    """Return a write that makes concurrent changes of the namespace fail.

    It is for a new private skill: removing the last owner opens a namespace without private skills,
    so a concurrent removal must look for private skills again.
    """
    if stored.revision == ABSENT:  # it has no owner to remove
        return expect_namespace(stored)
    name = stored.record.name
    return Put(_NAMESPACE + name, encode(stored.record), expected=stored.revision, due=NEVER)


def _of_key(user_name: str, namespace: str) -> str:
    return f"{_NAMESPACE_OF}{user_name}:{namespace}"

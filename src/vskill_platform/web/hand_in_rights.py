"""What of a visitor's may be taken in, beyond who may submit to a namespace at all."""

import msgspec

from vskill_platform.access.namespaces import may_act_in
from vskill_platform.errors import NotAllowed
from vskill_platform.model.access import Right, Visitor
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.source import Source
from vskill_platform.model.submission import TERMINAL_STATES, Submission
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.submission_store import get_source_owner, get_submission

#: How many skills somebody who has not signed in sends in with one request.
MOST_UNSIGNED = 50


def check_count(visitor: Visitor, count: int) -> None:
    """Refuse heaps from nobody: each skill costs a fetch and a scan."""
    if visitor.user is None and count > MOST_UNSIGNED:
        raise NotAllowed(
            f"{count} skills at once need a sign-in; without one it is {MOST_UNSIGNED} at most"
        )


async def check_may_replace(visitor: Visitor, source: Source) -> None:
    """Refuse files for what somebody else has handed in and published, or is about to.

    Where a namespace has owners, its rights decide. In one that belongs to nobody everybody may
    begin something, but not go on with what is another's: who had not signed in cannot show that
    it is theirs.
    """
    known = await _known(source)
    if known is None or visitor.may(Right.OPERATE, get_settings()):
        return
    is_theirs = visitor.user is not None and visitor.user.name == known.submitter
    is_alive = known.slug is not None or known.state not in TERMINAL_STATES
    is_other = source.upload_sha256 != known.source.upload_sha256
    namespace = (await get_namespace(namespace_of(source))).record
    if is_alive and is_other and not is_theirs and not namespace.is_owned:
        raise NotAllowed(
            f"{known.skill_name} was handed in by somebody else; choose another name, "
            "or sign in and hand it in to a namespace of your own"
        )


async def check_may_name_ref(visitor: Visitor, source: Source) -> None:
    """Refuse another branch of what is published from the repo's own: it would be the latest.

    Who may act in a namespace that has owners may; elsewhere it takes a reviewer.
    """
    if not source.ref or visitor.may(Right.OPERATE, get_settings()):
        return
    known = await _known(msgspec.structs.replace(source, ref=""))
    namespace = namespace_of(source)
    is_owned = (await get_namespace(namespace)).record.is_owned
    if known and known.slug and not (is_owned and await may_act_in(visitor, namespace)):
        raise NotAllowed(
            f"{known.slug} is published from its default branch; only the owners of {namespace} "
            "or a reviewer can publish another one"
        )


async def _known(source: Source) -> Submission | None:
    owner = await get_source_owner(source)
    existing = await get_submission(owner) if owner else None
    return existing.record if existing else None

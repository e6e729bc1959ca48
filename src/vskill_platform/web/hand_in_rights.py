"""What of a visitor's may be taken in, beyond who may submit to a namespace at all."""

from datetime import timedelta
from hashlib import blake2b

from vskill_platform.access.namespaces import may_act_in
from vskill_platform.errors import NotAllowed, TooMany
from vskill_platform.model.access import Right, Visitor
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import TERMINAL_STATES, Submission
from vskill_platform.stores.db import get_queue, get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.source_submissions import list_skills_of, list_submissions_of
from vskill_platform.stores.submission_store import get_source_owner, get_submission
from vskill_platform.web.access.rate_limits import who_asks

#: How many skills somebody who has not signed in sends in with one request.
MOST_UNSIGNED = 50
_DIGEST_BYTES = 12
_ASK_AGAIN = timedelta(minutes=1)


def check_count(visitor: Visitor, count: int) -> None:
    """Refuse heaps from nobody: each skill costs a fetch and a scan."""
    if visitor.user is None and count > MOST_UNSIGNED:
        raise NotAllowed(
            f"{count} skills at once need a sign-in; without one it is {MOST_UNSIGNED} at most"
        )


def group_of(visitor: Visitor) -> str:
    """Return who takes turns in the queue: a user, or the address of somebody unknown.

    Of an address only a digest is kept, and only as long as the message.
    """
    if visitor.user:
        return visitor.user.name
    address = who_asks(visitor).encode()
    return f"anonymous {blake2b(address, digest_size=_DIGEST_BYTES).hexdigest()}"


async def check_pending(visitor: Visitor, count: int) -> None:
    """Refuse more than a share of the queue to one address without a sign-in."""
    if visitor.user is not None:
        return
    most, pending = (
        get_settings().anonymous_pending,
        await get_queue().count_group(group_of(visitor)),
    )
    if pending + count > most:
        raise TooMany(
            f"{pending} submissions of yours are in the queue, and without a sign-in {most} is the "
            "limit; wait until some are done, or sign in",
            retry_after=_ASK_AGAIN,
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


async def check_may_publish_ref(visitor: Visitor, source: Source) -> None:
    """Refuse a ref of a published skill other than the one its latest version came from.

    It would become the latest version, so a stranger could roll a skill back to an old branch or
    tag. Owners of the namespace, where it has some, and reviewers may publish any ref.
    """
    if source.kind is not SourceKind.GIT or visitor.may(Right.OPERATE, get_settings()):
        return
    namespace = namespace_of(source)
    is_owned = (await get_namespace(namespace)).record.is_owned
    if is_owned and await may_act_in(visitor, namespace):
        return
    latest = await _latest_published(source)
    if latest is None or latest.source.ref == source.ref:
        return
    ref = latest.source.ref
    published = f"the branch or tag {ref!r}" if ref else "the default branch"
    raise NotAllowed(
        f"{source.url} is published from {published}; only the owners of {namespace} or a reviewer "
        "can publish another branch or tag"
    )


async def _latest_published(source: Source) -> Submission | None:
    """Return the submission that the latest version came from, whatever its ref."""
    stored = await list_submissions_of(source.url, source.path)
    published = [one.record for one in stored if one.record.slug]
    latest = {skill.record.submission_id for skill in await list_skills_of(source.url, source.path)}
    ordered = sorted(published, key=lambda one: one.id in latest, reverse=True)
    return ordered[0] if ordered else None


async def _known(source: Source) -> Submission | None:
    owner = await get_source_owner(source)
    existing = await get_submission(owner) if owner else None
    return existing.record if existing else None

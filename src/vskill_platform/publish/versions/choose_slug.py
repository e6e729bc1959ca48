"""Choose the slug under which a submission is published, or refuse it with the reason."""

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.errors import DeletedMeanwhile, NamespaceDeleted, SlugTaken
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import Submission
from vskill_platform.model.user import Namespace
from vskill_platform.stores.deleted_skill_store import DeletedSkill, expect_deleted_skill
from vskill_platform.stores.namespace_store import expect_namespace, get_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import find_skill, find_slug
from vskill_platform.stores.source_submissions import (
    get_last_submit,
    get_namespace_of,
    is_review_of,
)


class PublishTarget(msgspec.Struct, frozen=True):
    """Where to publish: the slug, and what is already published from this source."""

    slug: str
    stored: Stored[PublishedSkill] | None
    #: The skill that was deleted under this slug, if nothing else is published there.
    gone: Stored[DeletedSkill] | None = None

    @property
    def next_number(self) -> int:
        before = self.skill or (self.gone.record if self.gone else None)
        return before.versions + 1 if before else 1

    @property
    def skill(self) -> PublishedSkill | None:
        return self.stored.record if self.stored else None

    @property
    def is_private(self) -> bool:
        """Whether it is private; only a user's decision can make it public, never a publication."""
        return self.stored is not None and self.stored.record.is_private


async def find_target(submission: Submission, name: str) -> PublishTarget:
    """Find the slug; a source keeps the skill that it published before, even under a new name."""
    owner = submission.source.owner_key
    preferred = submission.source.slug_of(name)
    _, before = await find_skill(submission.slug) if submission.slug else ("", None)
    is_own = before and (before.record.accepts(owner) or is_review_of(before.record, submission))
    own = before if is_own else None
    if own and own.record.name == name:
        return PublishTarget(own.record.slug, own)
    slug, taken, gone = await find_slug(preferred)
    if own and slug == own.record.slug:  # a former name
        return PublishTarget(preferred, own)
    if taken and not taken.record.accepts(owner):
        # The message does not name the source, which may be a local folder or private: everyone can
        # read it.
        if slug == preferred or taken.record.is_private:
            raise SlugTaken(f"{preferred} is already published from another source")
        raise SlugTaken(f"{preferred} was moved to {slug}; only its new owners can publish it")
    if taken:
        return PublishTarget(slug, taken)
    if gone:
        if own is None:
            await _check_submitted_since(gone, submission)
        # A skill that is published elsewhere has version numbers that were already used here.
        if own or not gone.record.may_republish(owner):
            raise SlugTaken(f"{slug} was deleted, and its name cannot be used again")
    return PublishTarget(slug, own, gone)


async def expect_publishable(submission: Submission) -> list[Operation]:
    """Refuse a skill that no reviewer could approve: it was deleted, or its name is taken."""
    is_open = expect_namespace(await find_open_namespace(submission))
    target = await find_target(submission, submission.skill_name)
    if target.stored:  # deleting it would withdraw this submission
        return [is_open]
    return [is_open, expect_deleted_skill(target.slug, target.gone)]


async def find_open_namespace(submission: Submission) -> Stored[Namespace]:
    """Return the namespace; refuse one that was deleted while the skill was checked."""
    stored = await get_namespace(await get_namespace_of(submission))
    if stored.record.deleted:
        raise NamespaceDeleted(stored.record.name)
    return stored


async def _check_submitted_since(gone: Stored[DeletedSkill], submission: Submission) -> None:
    """Refuse a submission from before the deletion: no one has asked to publish it again."""
    submit, mark = await get_last_submit(submission), gone.record
    if submit and submit.revision < gone.revision:
        raise DeletedMeanwhile(f"the skill {mark.slug}", by=mark.by, reason=mark.reason)


async def check_kept(skill: PublishedSkill | None, submission: Submission, digest: str) -> None:
    """Refuse the content of a version that was deleted after this was submitted."""
    deleted = [mark for mark in skill.deleted if mark.digest == digest] if skill else []
    submit = await get_last_submit(submission) if deleted else None
    for mark in deleted:
        if skill and submit and submit.record.at <= mark.at:
            what = same_content(skill.slug, mark.version)
            raise DeletedMeanwhile(what, by=mark.by, reason=mark.reason)


def same_content(slug: str, version: str) -> str:
    return f"the version {version} of {slug}, which has the same content,"

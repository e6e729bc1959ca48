"""Submit several skills of one repo or archive as a set: one submission per skill."""

import posixpath
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.errors import InvalidInput, VskillError
from vskill_platform.intake.discover import MAX_SKILLS, DiscoveredSkill, Discovery
from vskill_platform.intake.submit import SubmitResult, submit
from vskill_platform.model.source import Source, inner_path
from vskill_platform.stores.db import get_now
from vskill_platform.stores.submission_set_store import (
    SubmissionSet,
    put_submission_set,
    set_id_of,
)

#: Each of them may hold a packed skill in memory.
_AT_ONCE = 4


class SetMember(msgspec.Struct, frozen=True, kw_only=True):
    skill: DiscoveredSkill
    #: None if it could not be submitted; the error says why.
    result: SubmitResult | None
    error: str = ""


class SubmittedSet(msgspec.Struct, frozen=True, kw_only=True):
    set_id: str
    members: tuple[SetMember, ...]

    @property
    def submission_ids(self) -> tuple[str, ...]:
        return tuple(member.result.submission.id for member in self.members if member.result)


async def submit_set(
    discovery: Discovery,
    *,
    submitter: str,
    group: str = "",
    is_private: bool = False,
    admit: Callable[[Source], Awaitable[bool]] | None = None,
    on_submitted: Callable[[], None] = lambda: None,
) -> SubmittedSet:
    """Submit every skill that was found, even if some are refused.

    *admit* raises if this submitter may not submit a skill, and returns whether they may replace
    another ref; without it they may. *on_submitted* is called after each. Repeated or concurrent
    calls create the same set.
    """
    set_id = set_id_of(discovery.source)

    async def submit_one(skill: DiscoveredSkill) -> SubmitResult:
        try:
            request = await discovery.request_for(skill, set_id=set_id, is_private=is_private)
            may_replace_ref = await admit(request.source) if admit else True
            return await submit(
                request, submitter=submitter, group=group, may_replace_ref=may_replace_ref
            )
        finally:
            on_submitted()

    outcomes = await settle(submit_one, discovery.skills, at_once=_AT_ONCE)
    submitted = SubmittedSet(
        set_id=set_id,
        members=tuple(
            _member(skill, outcome)
            for skill, outcome in zip(discovery.skills, outcomes, strict=True)
        ),
    )
    await put_submission_set(
        SubmissionSet(
            id=set_id,
            source=discovery.source,
            submission_ids=submitted.submission_ids,
            submitter=submitter,
            updated_at=get_now(),
        )
    )
    return submitted


def _member(skill: DiscoveredSkill, outcome: SubmitResult | Exception) -> SetMember:
    if isinstance(outcome, SubmitResult):
        return SetMember(skill=skill, result=outcome)
    if isinstance(outcome, VskillError) and not outcome.retryable:
        return SetMember(skill=skill, result=None, error=str(outcome))
    raise outcome  # a database error or a bug, not the skill's fault


async def submit_paths(
    source: Source,
    paths: Sequence[str],
    *,
    submitter: str,
    group: str = "",
    is_private: bool = False,
    admit: Callable[[Source], Awaitable[bool]] | None = None,
) -> SubmittedSet:
    """Submit the folders *paths* of a repo as linked submissions.

    *admit* raises if this submitter may not submit a skill, and returns whether they may replace
    another ref.
    """
    if not paths:
        raise InvalidInput("choose at least one skill")
    if len(paths) > MAX_SKILLS:
        raise InvalidInput(f"choose at most {MAX_SKILLS:,} skills at once")
    skills = tuple(map(_chosen, dict.fromkeys(map(inner_path, paths))))
    discovery = Discovery(source=source.key, skills=skills, origin=source)
    return await submit_set(
        discovery, submitter=submitter, group=group, is_private=is_private, admit=admit
    )


def _chosen(path: str) -> DiscoveredSkill:
    return DiscoveredSkill(
        name=posixpath.basename(path) or "(root)", path=path, description="", is_fine=True
    )

"""Some skills of a repo that somebody has chosen, without looking through the repo once more."""

import posixpath
from collections.abc import Awaitable, Callable, Sequence

from vskill_platform.errors import InvalidInput
from vskill_platform.intake.discover import MAX_SKILLS, Discovery, FoundSkill
from vskill_platform.intake.submit_set import SubmittedSet, submit_set
from vskill_platform.model.source import Source, inner_path


async def submit_paths(
    source: Source,
    paths: Sequence[str],
    *,
    submitter: str,
    group: str = "",
    is_private: bool = False,
    admit: Callable[[Source], Awaitable[bool]] | None = None,
) -> SubmittedSet:
    """Submit the folders *paths* of a repo, a submission each, linked to each other.

    *admit* raises for what this submitter may not send in, and returns whether they may replace
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


def _chosen(path: str) -> FoundSkill:
    return FoundSkill(
        name=posixpath.basename(path) or "(root)", path=path, description="", is_fine=True
    )

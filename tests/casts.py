"""The records and skills that tests are played with."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.clocks import NOON
from vskill_platform.engines.operations import NEVER, Put
from vskill_platform.engines.ports import Engine
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.stores.db import commit
from vskill_platform.stores.install_store import InstallCounts, get_installs
from vskill_platform.stores.records import encode
from vskill_platform.stores.submission_store import iterate_submission_ids, read_submissions

GOOD_MANIFEST = """\
---
name: {name}
description: Shows what a good skill looks like. Use in tests.
---

Do the thing, then say that it is done.
"""


def a_submission(
    state: SubmissionState = SubmissionState.RECEIVED,
    *,
    updated_at: datetime = NOON,
    submission_id: str | None = None,
    **fields: Any,
) -> Submission:
    name = submission_id or f"sub_{uuid4().hex}"
    return Submission(
        id=name,
        source=folder_source(f"/skills/{name}"),
        repo_url=f"/skills/{name}",
        skill_name="tidy-notes",
        skill_path="",
        state=state,
        submitter="ada",
        created_at=updated_at,
        updated_at=updated_at,
        **fields,
    )


def a_published_skill(slug: str, **fields: Any) -> PublishedSkill:
    values: dict[str, Any] = {
        "slug": slug,
        "name": slug.rsplit("/", 1)[-1],
        "description": "Tidies notes.",
        "repo_url": "https://git.example/ada/notes",
        "skill_path": "",
        "source_key": "https://git.example/ada/notes#",
        "submission_id": "sub_1",
        "version": "1.0.0",
        "versions": 1,
        "digest": "0" * 64,
        "published_at": NOON,
        "checked_at": NOON,
    }
    return PublishedSkill(**{**values, **fields})


async def stored(engine: Engine, *submissions: Submission) -> None:
    """Store submissions as another release might have: nobody knows when they are due."""
    await engine.commit([Put(f"sub:{item.id}", encode(item)) for item in submissions])


def a_skill_folder(parent: Path, name: str = "tidy-notes", **files: str) -> Path:
    """Write a skill that passes every check, and more files if wanted."""
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(GOOD_MANIFEST.format(name=name))
    for file, text in files.items():
        (folder / file.replace("__", "/").replace("_dot_", ".")).write_text(text)
    return folder


async def count_in_state(state: SubmissionState) -> int:
    """Count the submissions that are in a state, from the records themselves."""
    pages = [await read_submissions(ids) async for ids in iterate_submission_ids()]
    return sum(one.state is state for page in pages for one in page.values())


async def add_installs(installs: Mapping[str, int]) -> None:
    """Count so many installs of each skill, as if so many visitors had installed it."""
    for slug, count in installs.items():
        counts = InstallCounts(total=(await get_installs(slug)).total + count)
        await commit([Put(f"installs:{slug}", encode(counts), due=NEVER)])

"""Labels and timings that processing stores for lists and charts."""

from pathlib import Path

from tests.pipeline.conftest import Process
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.submission_store import get_history

MANIFEST = """\
---
name: tidy-notes
description: Tidies notes. Use in tests.
compatibility: Made for Codex.
metadata:
  tags: Notes, Data Science
---

Do the thing.
"""


def a_folder(tmp_path: Path, manifest: str) -> Path:
    folder = tmp_path / "tidy-notes"
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_text(manifest)
    return folder


async def test_a_published_skill_has_the_labels_of_its_manifest(
    process: Process, tmp_path: Path
) -> None:
    await process(folder_source(str(a_folder(tmp_path, MANIFEST))))

    stored = await get_skill("@local/tidy-notes")
    assert stored
    assert stored.record.tags == ("notes", "data-science")
    assert stored.record.agents == ("codex",)
    assert stored.record.compatibility == "Made for Codex."


async def test_the_event_that_ends_a_scan_says_how_long_it_took(
    process: Process, tmp_path: Path
) -> None:
    journey = await process(folder_source(str(a_folder(tmp_path, MANIFEST))))

    history = await get_history(journey.submission.id)
    timed = {event.to_state: event.timings for event in history if event.timings}
    assert set(timed) == {SubmissionState.AUTO_APPROVED}
    assert {"fetch", "check"} <= set(timed[SubmissionState.AUTO_APPROVED])


async def test_so_does_the_event_that_ends_it_badly(process: Process, tmp_path: Path) -> None:
    journey = await process(folder_source(str(a_folder(tmp_path, "no manifest"))))

    *_, last = await get_history(journey.submission.id)
    assert last.to_state is SubmissionState.TIER1_FAILED
    assert "check" in last.timings

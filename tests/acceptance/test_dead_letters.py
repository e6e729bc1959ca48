"""A source that never responds is retried, then becomes a dead letter for an operator."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.program import Platform
from vskill_platform.model.submission import SubmissionState


@pytest.fixture
def platform(tmp_path: Path, url: str) -> Iterator[Platform]:
    """An installation that retries once and soon, with a worker.

    Once, since a worker leaves a host alone for half a minute after two failures.
    """
    host = url.removesuffix("/ada/toolbox")
    platform = Platform(tmp_path, max_retries="1", retry_delay="0.01s", private_hosts=host)
    platform.start("work")
    yield platform
    platform.end_everything()


@pytest.fixture
def url() -> str:
    """A repo on a host that refuses every connection."""
    return f"https://127.0.0.1:{free_port()}/ada/toolbox"


def _letters(platform: Platform) -> list[dict[str, object]]:
    letters: list[dict[str, object]] = msgspec.json.decode(
        platform.run("dead-letters", "list", "--json").out
    )
    return letters


@pytest.mark.slow
def test_a_source_that_never_answers_is_dead_letter_after_its_retries(
    platform: Platform, url: str
) -> None:
    watched = platform.run("submit", url, "--watch")

    assert watched.code == 1
    listed = platform.run("dead-letters", "list")
    assert "failed after 2 attempts: the host 127.0.0.1 does not answer" in listed.out
    (letter,) = _letters(platform)
    status = platform.status(str(letter["submission"]))
    assert status.submission.state is SubmissionState.REJECTED
    assert status.submission.reason.startswith(
        "failed after 2 attempts: the host 127.0.0.1 does not answer"
    )
    assert status.steps.count("retry RECEIVED") == 1
    assert status.report
    assert [finding.rule for finding in status.report.findings] == ["RUN-SOURCE"]


@pytest.mark.slow
def test_a_requeued_letter_is_tried_again_from_the_start(platform: Platform, url: str) -> None:
    platform.run("submit", url, "--watch")
    (letter,) = _letters(platform)
    platform.end_everything()

    requeued = platform.run("dead-letters", "requeue", str(letter["id"]))
    platform.start("work")  # a new one, that does not leave the host alone yet
    platform.run("status", str(letter["submission"]), "--watch")

    assert requeued.out == f"Requeued: {letter['submission']}\n"
    status = platform.status(str(letter["submission"]))
    assert status.submission.reason.startswith("failed after 2 attempts: the host 127.0.0.1")
    assert status.steps.count("retry RECEIVED") == 2
    (again,) = _letters(platform)
    assert again["submission"] == letter["submission"]
    assert again["id"] != letter["id"]


@pytest.mark.torture
def test_a_dropped_letter_is_gone_and_its_submission_keeps_its_end(
    platform: Platform, url: str
) -> None:
    platform.run("submit", url, "--watch")
    (letter,) = _letters(platform)

    kept = platform.run_on_terminal("dead-letters", "drop", str(letter["id"]), answer="n")
    dropped = platform.run("dead-letters", "drop", str(letter["id"]))

    assert kept.code == 1
    assert "Nothing was changed." in kept.err
    assert (dropped.code, dropped.out) == (0, "Dropped.\n")
    assert platform.run("dead-letters", "list").err == "There are no dead letters.\n"
    status = platform.status(str(letter["submission"]))
    assert status.submission.state is SubmissionState.REJECTED

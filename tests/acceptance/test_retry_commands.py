"""`withdraw`, `retry` and `requeue`: cancelling a submission and starting it again."""

import msgspec
import pytest

from tests.acceptance.program import Platform
from tests.casts import a_skill_folder


@pytest.mark.slow
def test_an_administrator_cancels_and_restarts_a_submission(platform: Platform) -> None:
    submitted = platform.run("submit", a_skill_folder(platform.folder), "--json")
    submission_id = msgspec.json.decode(submitted.out)["submission"]["id"]

    unsaid = platform.run("withdraw", submission_id)
    withdrawn = platform.run("withdraw", submission_id, "--reason", "wrong repo", "--json")
    not_stuck = platform.run("requeue", submission_id, "sub_0")
    retried = platform.run("retry", submission_id)
    too_soon = platform.run("retry", submission_id)
    none_stuck = platform.run("requeue", "--all")
    unclear = platform.run("requeue")

    assert unsaid.code == 2
    (record,) = msgspec.json.decode(withdrawn.out)
    assert (record["state"], record["reason"]) == ("DEQUEUED", "wrong repo")
    assert not_stuck.code == 1
    assert f"not requeued: {submission_id}: it is not stuck" in not_stuck.err
    assert "not requeued: sub_0" in not_stuck.err
    assert (retried.code, submission_id in retried.out) == (0, True)
    assert too_soon.code == 1
    assert "it is already in progress" in too_soon.err
    assert (none_stuck.code, none_stuck.out.strip()) == (0, "Nothing is stuck.")
    assert unclear.code == 2

"""Many records that prefer the same ids get one each, after a few attempts."""

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import apsw
import msgspec
import pytest

from tests.casts import a_published_skill, a_submission
from tests.clocks import NOON
from vskill_platform.catalogue import rank
from vskill_platform.catalogue import write_submissions as write_submissions_module
from vskill_platform.catalogue.sql import WRITE
from vskill_platform.catalogue.write_skills import SkillChanges, SkillFacts, write_skills
from vskill_platform.catalogue.write_submissions import (
    SubmissionChanges,
    SubmissionFacts,
    write_submissions,
)
from vskill_platform.model.trust import TrustScore, TrustTier

_SCHEMA = files("vskill_platform.catalogue").joinpath("schema.sql").read_text(encoding="utf-8")
RECORDS = 300
#: About twice the logarithm of their number; one after the other they would need 150 each.
MAX_ATTEMPTS = RECORDS * 16


@pytest.fixture
def connection() -> Iterator[apsw.Connection]:
    opened = apsw.Connection(":memory:")
    opened.execute(_SCHEMA)
    yield opened
    opened.close()


def count_runs(connection: apsw.Connection, query: str) -> list[str]:
    """Return a list that gets an item for each time that a query is run."""
    runs: list[str] = []

    def note(_: apsw.Cursor, sql: str, __: Any) -> bool:
        if sql.strip() == WRITE[query].strip():
            runs.append(sql)
        return True

    connection.exec_trace = note
    return runs


def test_skills_of_one_level_find_free_ids_although_there_are_more_than_it_has(
    connection: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank, "SLUG_BITS", 2)
    trust = TrustScore(tier=TrustTier.SCANNED, score=50, words=())
    skills = [a_published_skill(f"ada/notes/n{number}") for number in range(RECORDS)]
    changes = SkillChanges(
        listed=[SkillFacts(skill, trust, updated_at=NOON, installs=0) for skill in skills]
    )
    attempts = count_runs(connection, "slug_at")

    write_skills(connection, changes)

    (rows,) = connection.execute("SELECT count(*) FROM skill").fetchall()
    assert rows == (RECORDS,)
    assert len(attempts) < MAX_ATTEMPTS
    assert not write_skills(connection, changes)  # each has the same id again


def test_submissions_of_one_moment_find_free_ids(
    connection: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_submissions_module, "_ID_BITS", 2)
    before = datetime(1970, 1, 1, tzinfo=UTC)  # of a wrong clock: all of them are one moment
    submissions = [
        msgspec.structs.replace(a_submission(submission_id="sub_1"), id=f"sub_{number}")
        for number in range(RECORDS)
    ]
    facts = [
        SubmissionFacts(msgspec.structs.replace(one, created_at=before), None)
        for one in submissions
    ]
    attempts = count_runs(connection, "submission_at")

    write_submissions(connection, SubmissionChanges(submissions=facts))

    (rows,) = connection.execute("SELECT count(*) FROM submission").fetchall()
    assert rows == (RECORDS,)
    assert len(attempts) < MAX_ATTEMPTS

"""Many records that prefer the same ids get one each, after a few attempts."""

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files

import apsw
import msgspec
import pytest

from tests.casts import a_published_skill, a_submission
from tests.clocks import NOON
from vskill_platform.catalogue import rank
from vskill_platform.catalogue import write_submissions as write_submissions_module
from vskill_platform.catalogue.skill_rows import SkillFacts
from vskill_platform.catalogue.sql import Rows
from vskill_platform.catalogue.write_skills import SkillChanges, write_skills
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


def count_attempts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets each id that is tried."""
    tried: list[int] = []
    name_at = Rows.name_at

    def note(rows: Rows, row_id: int) -> str | None:
        tried.append(row_id)
        return name_at(rows, row_id)

    monkeypatch.setattr(Rows, "name_at", note)
    return tried


def test_skills_of_one_level_find_free_ids_although_there_are_more_than_it_has(
    connection: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank, "SLUG_BITS", 2)
    trust = TrustScore(tier=TrustTier.SCANNED, score=50, words=())
    skills = [a_published_skill(f"ada/notes/n{number}") for number in range(RECORDS)]
    changes = SkillChanges(
        listed=[SkillFacts(skill, trust, updated_at=NOON, installs=0) for skill in skills]
    )
    attempts = count_attempts(monkeypatch)

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
    attempts = count_attempts(monkeypatch)

    write_submissions(connection, SubmissionChanges(submissions=facts))

    (rows,) = connection.execute("SELECT count(*) FROM submission").fetchall()
    assert rows == (RECORDS,)
    assert len(attempts) < MAX_ATTEMPTS


def test_a_submission_with_a_number_that_no_index_holds_is_left_out_alone(
    connection: apsw.Connection,
) -> None:
    good = a_submission(submission_id="sub_1")
    bad = msgspec.structs.replace(a_submission(submission_id="sub_2"), attempts=2**64 - 1)
    facts = [SubmissionFacts(bad, None), SubmissionFacts(good, None)]

    write_submissions(connection, SubmissionChanges(submissions=facts))

    assert connection.execute("SELECT submission_id FROM submission").fetchall() == [("sub_1",)]

"""The queue message of a submission."""

import msgspec

from vskill_platform.engines.operations import Send
from vskill_platform.errors import RecordMalformed
from vskill_platform.model.submission import (
    Submission,
)
from vskill_platform.stores.records import (
    decode,
    encode,
)


class SubmissionMessage(msgspec.Struct, frozen=True, tag="process_submission"):
    """The content of a queue message; the record itself stays in the store."""

    submission_id: str


def queue_submission(submission: Submission, *, group: str = "") -> Send:
    """Return the operation that queues a submission; a no-op if it is already queued.

    Groups take turns; by default, the group is the submitter.
    """
    return Send(
        encode(SubmissionMessage(submission.id)),
        key=submission.id,
        group=group or submission.submitter,
        resource=submission.source.remote_host,
    )


def read_message(body: bytes) -> SubmissionMessage:
    return decode("message", body, SubmissionMessage)


def is_submission_message(body: bytes) -> bool:
    """Return whether this is the message of a submission, and readable for this release."""
    try:
        read_message(body)
    except RecordMalformed:
        return False
    return True

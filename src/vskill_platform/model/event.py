"""Events of the registry, as webhooks send them."""

from datetime import datetime
from enum import StrEnum

import msgspec


class EventType(StrEnum):
    SUBMISSION_RECEIVED = "submission.received"
    SUBMISSION_NEEDS_REVIEW = "submission.needs_review"
    SUBMISSION_PUBLISHED = "submission.published"
    SUBMISSION_REJECTED = "submission.rejected"
    SUBMISSION_BLOCKED = "submission.blocked"
    SUBMISSION_WITHDRAWN = "submission.withdrawn"
    REVIEW_DECIDED = "review.decided"
    VERSION_YANKED = "version.yanked"
    VERSION_UNYANKED = "version.unyanked"
    SKILL_BLOCKED = "skill.blocked"
    SKILL_UNBLOCKED = "skill.unblocked"
    SKILL_DEPRECATED = "skill.deprecated"
    SKILL_UNDEPRECATED = "skill.undeprecated"
    SKILL_VISIBILITY_CHANGED = "skill.visibility_changed"
    BLOCK_ADDED = "block.added"
    BLOCK_REMOVED = "block.removed"
    REPORT_OPENED = "report.opened"
    REPORT_CLOSED = "report.closed"
    APPEAL_OPENED = "appeal.opened"
    APPEAL_ANSWERED = "appeal.answered"
    APPEAL_DECIDED = "appeal.decided"
    #: Sent on request, to try an endpoint.
    TEST = "endpoint.test"


#: For staff only: endpoints of namespaces never get them.
REGISTRY_ONLY = frozenset(
    {
        EventType.BLOCK_ADDED,
        EventType.BLOCK_REMOVED,
        EventType.REPORT_OPENED,
        EventType.REPORT_CLOSED,
    }
)
#: The types that an endpoint can choose.
CHOICES = tuple(item for item in EventType if item is not EventType.TEST)


class EventData(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The `data` of a payload; fields that do not apply are left out."""

    namespace: str = ""
    #: The slug of the skill, once it is published.
    skill: str = ""
    name: str = ""
    version: str = ""
    submission: str = ""
    state: str = ""
    report: str = ""
    appeal: str = ""
    #: The subject of a block.
    subject: str = ""
    outcome: str = ""
    actor: str = ""
    reason: str = ""
    #: The URL of the page with the details.
    url: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    #: Equal in every delivery of the event, so that receivers can detect duplicates.
    id: str
    type: EventType
    at: datetime
    #: Empty if the event is not about a namespace.
    namespace: str = ""
    is_private: bool = False
    data: EventData

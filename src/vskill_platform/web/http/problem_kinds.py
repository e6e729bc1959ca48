"""The kinds of problems: for each its status, its code for programs, and what to do about it."""

import msgspec
from litestar.exceptions import HTTPException

from vskill_platform.base.shortage import is_shortage
from vskill_platform.errors import (
    Busy,
    ChangedSinceSeen,
    DeadlineExceeded,
    EngineError,
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
    NotReady,
    NotSignedIn,
    OutOfResources,
    Overtaken,
    RecordMalformed,
    RequestForged,
    RightMissing,
    SlugTaken,
    SourceRefused,
    SourceUnavailable,
    TooLarge,
    TooMany,
    WrongHost,
)

_SERVER_ERROR = 500
_LOOK_IT_UP = "Correct what is named and send it again; /api shows what each operation takes."


class Kind(msgspec.Struct, frozen=True):
    """What all problems of one kind have in common."""

    status: int
    #: For programs; it never changes.
    code: str
    title: str
    #: What to do about it.
    hint: str
    #: What is said of each, where the words of the error itself are for the log alone.
    detail: str = ""


OUTAGE = Kind(
    503,
    "outage",
    "The registry cannot reach its database",
    "Please try again in a moment.",
    "The database does not answer at this moment.",
)
OUT_OF_RESOURCES = Kind(
    503,
    "out_of_resources",
    "The registry is out of disk space or files",
    "Nothing is wrong with what you sent. Please try again later.",
    "The server has no room for temporary files, or too many files open, at this moment.",
)
UNEXPECTED = Kind(
    500,
    "unexpected",
    "Something broke",
    "Please try again; if it happens again, tell the operator the id of the request.",
    "That is a mistake of ours, and it was written down.",
)
#: The first that fits is it, so what is more special stands first.
KINDS: dict[type[Exception], Kind] = {
    InvalidInput: Kind(400, "invalid_input", "That cannot be right", _LOOK_IT_UP),
    NotSignedIn: Kind(
        401, "not_signed_in", "Please sign in", "Programs send a token: Authorization: Bearer vsk_…"
    ),
    RequestForged: Kind(
        403, "request_forged", "This did not come from our page", "Open the page again and resend."
    ),
    RightMissing: Kind(403, "right_missing", "You may not do this", "An admin can give the role."),
    NotAllowed: Kind(
        403, "not_allowed", "This is not allowed", "Ask an owner of the namespace, or an admin."
    ),
    NotFound: Kind(
        404, "not_found", "There is nothing here", "Check its spelling, or search for it."
    ),
    InvalidTransition: Kind(409, "wrong_state", "It is past that", "Look at where it is now."),
    ChangedSinceSeen: Kind(
        409, "changed_since_seen", "It is not what you looked at", "Look at it again, then decide."
    ),
    SlugTaken: Kind(409, "slug_taken", "The name is taken", "Choose another name."),
    Overtaken: Kind(409, "overtaken", "Somebody else was faster", "Look again, then try again."),
    SourceRefused: Kind(
        422,
        "source_refused",
        "The source cannot be used",
        "Correct the source or name another one, then submit again.",
    ),
    TooLarge: Kind(
        413, "too_large", "That is too large", "Send less at once; a skill has its files alone."
    ),
    WrongHost: Kind(
        421,
        "wrong_host",
        "Misdirected request",
        "Use the registry's own address.",
    ),
    TooMany: Kind(429, "too_many", "That was too often", "Wait a little."),
    SourceUnavailable: Kind(424, "source_unavailable", "The source does not answer", "Try later."),
    DeadlineExceeded: Kind(424, "too_slow", "It took too long", "Try again."),
    Busy: Kind(503, "busy", "Too many want this at once", "Retry-After says when to come back."),
    NotReady: Kind(
        503, "not_ready", "The catalogue is being built", "Retry-After says when to come back."
    ),
    RecordMalformed: Kind(
        500,
        "damaged_record",
        "Stored data is damaged",
        "Tell the operator the id of the request.",
        "What is stored is not what was checked, so it is not sent. It has been logged.",
    ),
    EngineError: OUTAGE,
    OutOfResources: OUT_OF_RESOURCES,
}
#: What the framework refuses by itself, by status.
REFUSALS: dict[int, Kind] = {
    kind.status: kind
    for kind in (
        KINDS[InvalidInput],
        KINDS[NotFound],
        Kind(
            405,
            "method_not_allowed",
            "That cannot be done here",
            "Use one of the methods in the header Allow.",
        ),
        KINDS[TooLarge],
        Kind(
            415,
            "wrong_media_type",
            "That is not of a kind that is understood",
            "Name what you send in the header Content-Type; /api shows what each operation takes.",
        ),
    )
}


def kind_of(error: Exception) -> Kind:
    """Return the kind of whatever was raised."""
    found = next((kind for type_, kind in KINDS.items() if isinstance(error, type_)), None)
    if found:
        return found
    if is_shortage(error):
        return OUT_OF_RESOURCES
    if isinstance(error, HTTPException) and error.status_code < _SERVER_ERROR:
        status = error.status_code
        odd = Kind(status, "refused", "That was refused", _LOOK_IT_UP)
        return REFUSALS.get(status, odd)
    return UNEXPECTED

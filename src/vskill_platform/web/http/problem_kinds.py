"""All kinds of error responses: status, code, title and hint."""

import msgspec
from litestar.exceptions import HTTPException

from vskill_platform.base.resource_shortage import is_shortage
from vskill_platform.errors import (
    BlobMissing,
    BlobsUnavailable,
    Busy,
    ChangedSinceSeen,
    DeadlineExceeded,
    DiskNearlyFull,
    EngineError,
    GithubUnavailable,
    Interrupted,
    InvalidInput,
    InvalidTransition,
    LinkExpired,
    MirrorPending,
    MirrorRefused,
    NamespaceDeleted,
    NotAllowed,
    NotFound,
    NotPublished,
    NotReady,
    NotSignedIn,
    OutOfResources,
    Overtaken,
    PolicyInvalid,
    PolicyUnavailable,
    ProviderUnavailable,
    RecordMalformed,
    RequestForged,
    RightMissing,
    ScopeMissing,
    SkillDeleted,
    SkillTakenDown,
    SlugTaken,
    SourceRefused,
    SourceUnavailable,
    TooLarge,
    TooMany,
    WrongHost,
)

_SERVER_ERROR = 500
_CORRECT_IT = "Correct the request and send it again. /api describes every operation."


class ProblemKind(msgspec.Struct, frozen=True):
    """The properties that all errors of a kind share."""

    status: int
    #: Stable identifier for programs.
    code: str
    title: str
    #: What to do about it.
    hint: str
    #: Replaces the message of the error if that is only for the log.
    detail: str = ""


OUTAGE = ProblemKind(
    503,
    "outage",
    "Database unavailable",
    "Try again in a moment.",
    "The database does not respond at the moment.",
)
NO_ARCHIVES = ProblemKind(
    503,
    "archives_unavailable",
    "Archive storage unavailable",
    "Try again later; Retry-After says when.",
    "The storage of archives does not respond, or does not have this file, at the moment.",
)
DISK_NEARLY_FULL = ProblemKind(
    503,
    "disk_nearly_full",
    "Disk almost full",
    "Tell the operator. Try again later; Retry-After says when.",
    "The registry's disk is almost full, so it accepts no new submissions.",
)
OUT_OF_RESOURCES = ProblemKind(
    503,
    "out_of_resources",
    "Server out of resources",
    "Your request was fine. Try again later.",
    "The server cannot write temporary files, or has too many open files, at the moment.",
)
UNEXPECTED = ProblemKind(
    500,
    "unexpected",
    "Something went wrong",
    "Try again. If it happens again, send the request id to the operator.",
    "This is an error of the registry. It has been logged.",
)
#: The first match is used, so subclasses come before their base class.
KINDS: dict[type[Exception], ProblemKind] = {
    InvalidInput: ProblemKind(400, "invalid_input", "Invalid request", _CORRECT_IT),
    PolicyInvalid: ProblemKind(400, "invalid_policy", "Invalid policy", _CORRECT_IT),
    NotSignedIn: ProblemKind(
        401,
        "not_signed_in",
        "Sign-in required",
        "Programs send a token: Authorization: Bearer vsk_…",
    ),
    RequestForged: ProblemKind(
        403, "request_forged", "Invalid form", "Reload the page and submit the form again."
    ),
    ScopeMissing: ProblemKind(
        403,
        "right_missing",
        "Access denied",
        "Sign in with `vskill-platform login URL --scope SCOPE`, or create a token with that scope "
        "on your account page.",
    ),
    RightMissing: ProblemKind(
        403, "right_missing", "Access denied", "An admin can change your role."
    ),
    MirrorRefused: ProblemKind(
        403,
        "mirror_refused",
        "Not mirrored",
        "Ask an admin if you need this skill of the other registry.",
    ),
    NotAllowed: ProblemKind(
        403, "not_allowed", "Not allowed", "Ask an owner of the namespace or an admin."
    ),
    LinkExpired: ProblemKind(
        404, "not_found", "Link not valid", "If you got several links, use the newest one."
    ),
    SkillTakenDown: ProblemKind(404, "not_found", "Not available", "Look for another skill."),
    SkillDeleted: ProblemKind(410, "deleted", "Deleted", "Look for another skill or version."),
    NotFound: ProblemKind(404, "not_found", "Not found", "Check the spelling, or search for it."),
    InvalidTransition: ProblemKind(409, "wrong_state", "Conflict", "Check the current state."),
    ChangedSinceSeen: ProblemKind(
        409, "changed_since_seen", "Changed since you viewed it", "Reload it, then decide."
    ),
    NotPublished: ProblemKind(
        423,
        "not_published",
        "Not published yet",
        "It is stored. Do not send it again; follow the submission.",
    ),
    NamespaceDeleted: ProblemKind(
        409,
        "namespace_deleted",
        "Namespace deleted",
        "Use another namespace, or ask an admin to open this one again.",
    ),
    SlugTaken: ProblemKind(409, "slug_taken", "Name already taken", "Choose another name."),
    Overtaken: ProblemKind(
        409, "overtaken", "Conflict", "Someone else changed it at the same time. Try again."
    ),
    SourceRefused: ProblemKind(
        422,
        "source_refused",
        "Source refused",
        "Fix the source or choose another one, then submit again.",
    ),
    TooLarge: ProblemKind(413, "too_large", "Request too large", "Send fewer or smaller files."),
    WrongHost: ProblemKind(
        421,
        "wrong_host",
        "Misdirected request",
        "Use the registry's own host name.",
    ),
    TooMany: ProblemKind(
        429, "too_many", "Too many requests", "Wait and try again. Retry-After says how long."
    ),
    SourceUnavailable: ProblemKind(
        424, "source_unavailable", "Source unavailable", "Try again later."
    ),
    DeadlineExceeded: ProblemKind(424, "too_slow", "Timed out", "Try again."),
    GithubUnavailable: ProblemKind(
        503, "github_unavailable", "GitHub unavailable", "Try again later."
    ),
    ProviderUnavailable: ProblemKind(
        503, "provider_unavailable", "Sign-on provider unavailable", "Try again later."
    ),
    MirrorPending: ProblemKind(
        503,
        "mirror_pending",
        "Being fetched and checked",
        "Try again; Retry-After says when. The request need not be changed.",
    ),
    Busy: ProblemKind(503, "busy", "Server busy", "Retry-After says when to try again."),
    # Not a 503: clients repeat a request that was answered so, and this one may have been done.
    Interrupted: ProblemKind(
        500, "interrupted", "Interrupted", "Check whether it was done before you send it again."
    ),
    NotReady: ProblemKind(
        503, "not_ready", "Search index is being built", "Retry-After says when to try again."
    ),
    RecordMalformed: ProblemKind(
        500,
        "damaged_record",
        "Stored data is damaged",
        "Send the request id to the operator.",
        "The stored data is not what was checked, so it is not served. It has been logged.",
    ),
    PolicyUnavailable: ProblemKind(
        503,
        "policy_unavailable",
        "Policy cannot be applied",
        "Nothing was decided. Tell the operator; the page /admin/policy shows the policy.",
    ),
    BlobsUnavailable: NO_ARCHIVES,
    BlobMissing: NO_ARCHIVES,
    DiskNearlyFull: DISK_NEARLY_FULL,
    EngineError: OUTAGE,
    OutOfResources: OUT_OF_RESOURCES,
}
#: Errors raised by Litestar, by status.
REFUSALS: dict[int, ProblemKind] = {
    kind.status: kind
    for kind in (
        KINDS[InvalidInput],
        KINDS[NotFound],
        ProblemKind(
            405,
            "method_not_allowed",
            "Method not allowed",
            "Use one of the methods in the Allow header.",
        ),
        KINDS[TooLarge],
        ProblemKind(
            415,
            "wrong_media_type",
            "Unsupported media type",
            "Set the Content-Type header. /api describes what each operation takes.",
        ),
    )
}


def kind_of(error: Exception) -> ProblemKind:
    """Return the kind of an error."""
    found = next((kind for type_, kind in KINDS.items() if isinstance(error, type_)), None)
    if found:
        return found
    if is_shortage(error):
        return OUT_OF_RESOURCES
    if isinstance(error, HTTPException) and error.status_code < _SERVER_ERROR:
        status = error.status_code
        odd = ProblemKind(status, "refused", "Request refused", _CORRECT_IT)
        return REFUSALS.get(status, odd)
    return UNEXPECTED

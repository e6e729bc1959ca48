"""Every error this package raises on purpose, with its HTTP status and what a worker does with it.

VskillError
├── ConfigError            a setting or policy is invalid; the process stops
│   └── PolicyInvalid      a policy is invalid, at a known place         400
├── PolicyUnavailable      this node cannot apply the saved policy       503, requeued
├── NoWorkerEnv            code that needs a worker env ran outside of one
├── InvalidInput           the request is not valid                      400
│   └── DeviceRefused      a program gets no token, or not yet           400
├── InvalidTransition      a submission cannot move to that state        409
├── ChangedSinceSeen       the reviewed content was replaced             409
├── NotFound               nothing has that id or slug                   404
│   ├── LinkExpired        a link that works once was used or is old     404
│   ├── SkillTakenDown     it is blocked or was rejected later           404
│   └── SkillDeleted       it was deleted and does not come back         410
├── NotSignedIn            the caller is not authenticated               401
│   └── SecondFactorNeeded the password was right, a code is missing     401
├── NotAllowed             the caller may not do this                    403
│   ├── RightMissing       the role lacks this right                     403
│   │   └── ScopeMissing   the role has it, but not the token            403
│   ├── RequestForged      the form has no valid CSRF token              403
│   └── MirrorRefused      a skill of another registry is refused        403
├── GithubUnavailable      GitHub gives no usable response               503
├── ProviderUnavailable    the OpenID provider gives no usable response  503
├── WrongHost              the request is for another host               421
├── TooMany                the rate limit is reached                     429
├── Busy                   too many concurrent requests                  503
├── Interrupted            the server stopped during a change            500
├── TooLarge               the request body exceeds the limit            413
├── SourceError            the source could not be fetched               500
│   ├── SourceUnavailable  temporarily                                   424, retried
│   │   └── HostUnresponsive  accepts connections but does not respond   424, retried
│   └── SourceRefused      too large, unsafe or missing                  422, final
│       └── SourceMoved    the host redirects to another URL             422, final
├── NamespaceDeleted       nothing can be published in it                409, final
├── SlugTaken              another source publishes under that slug      409, final
│   └── DeletedMeanwhile   it was deleted after the submission           409, withdrawn
├── MirrorPending          a mirrored skill is being checked             503
├── NotPublished           its check has not ended, or it needs review   423
├── ScanError              a scanner failed: not verified                500, retried
│   ├── JudgeFailed        the judge of tier 2 gave no usable response   500, retried
│   └── ScannerFailed      a third-party scanner gave no usable result   500, retried
├── RegistryError          a registry refused a request of the client    500, in the client
│   └── RegistryUnavailable  it cannot be reached or is busy             500, in the client
├── NotifyFailed           the reminder program failed                   500, retried
├── MailFailed             the mail server does not accept mail          500, retried
├── MailRefused            the mail server refused this one mail         500, or retried
├── DeadlineExceeded       the work exceeded its deadline                424, retried
├── FetchLimitReached      too many concurrent fetches                   500, requeued
├── OutOfResources         no disk space or file handles left            503, requeued
├── WorkerDied             workers crashed repeatedly, even when it ran alone  500, final
├── Overtaken              another process changed it first              409, retried
└── EngineError            the database failed                           503, retried
    ├── OutcomeUnknown     it was lost during a commit                   503, retried
    ├── DiskNearlyFull     new submissions are refused                   503, requeued
    ├── BlobsUnavailable   the store of archives does not respond        503, requeued
    ├── BlobMissing        an archive is not in its store                503, retried
    ├── NotReady           the search index is being built               503
    ├── FeedTrimmed        the change feed no longer reaches back        503, index rebuilt
    ├── HistoryChanged     the database was restored or replaced         503, index rebuilt
    └── RecordMalformed    a record does not match its key or digest     500, final
"""

import datetime as dt
from typing import ClassVar


class VskillError(Exception):
    #: Whether a later attempt may succeed; only then does the consumer retry.
    retryable: ClassVar[bool] = False
    #: How long to wait before the next attempt, if the other side requested that.
    retry_after: dt.timedelta | None = None


class ConfigError(VskillError):
    pass


class PolicyInvalid(ConfigError):
    def __init__(self, message: str, *, at: tuple[str | int, ...] = (), line: int = 0) -> None:
        super().__init__(message)
        #: The keys that lead to the value, such as ("thresholds", "review_at"); empty if unknown.
        self.at = at
        #: The line of the text, counted from 1; 0 if unknown.
        self.line = line


class PolicyUnavailable(VskillError):
    retryable = True


class NoWorkerEnv(VskillError):
    def __init__(self) -> None:
        super().__init__(
            "no worker env is bound here: this code runs only inside run_with_worker_env()"
        )


class InvalidInput(VskillError):
    pass


class DeviceRefused(InvalidInput):
    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        #: The error code of RFC 8628.
        self.error = error


class InvalidTransition(VskillError):
    pass


class ChangedSinceSeen(VskillError):
    pass


class NotFound(VskillError):
    def __init__(self, message: str, *, look_for: str = "", go_to: str = "") -> None:
        super().__init__(message)
        #: A skill name to search for instead; empty if there is none.
        self.look_for = look_for
        #: The path of a page that lists what exists; empty if there is none.
        self.go_to = go_to


class LinkExpired(NotFound):
    pass


class SkillTakenDown(NotFound):
    pass


class SkillDeleted(NotFound):
    pass


class NotSignedIn(VskillError):
    pass


class SecondFactorNeeded(NotSignedIn):
    def __init__(self, secret: str) -> None:
        super().__init__("enter a code of your authenticator app")
        #: The id under which the sign-in continues.
        self.secret = secret


class NotAllowed(VskillError):
    pass


class RightMissing(NotAllowed):
    pass


class ScopeMissing(RightMissing):
    pass


class RequestForged(NotAllowed):
    pass


class MirrorRefused(NotAllowed):
    def __init__(self, message: str, *, submission_id: str = "") -> None:
        super().__init__(message)
        #: The submission with the findings; empty if nothing was fetched.
        self.submission_id = submission_id


class GithubUnavailable(VskillError):
    retryable = True
    retry_after = dt.timedelta(seconds=30)


class ProviderUnavailable(VskillError):
    retryable = True
    retry_after = dt.timedelta(seconds=30)


class WrongHost(VskillError):
    pass


class TooMany(VskillError):
    def __init__(self, message: str, *, retry_after: dt.timedelta) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Busy(VskillError):
    retryable = True
    retry_after = dt.timedelta(seconds=5)


class Interrupted(VskillError):
    """A change was stopped, perhaps after it was stored."""


class TooLarge(VskillError):
    pass


class SourceError(VskillError):
    pass


class SourceUnavailable(SourceError):
    retryable = True


class HostUnresponsive(SourceUnavailable):
    pass


class SourceRefused(SourceError):
    pass


class SourceMoved(SourceRefused):
    pass


class NamespaceDeleted(VskillError):
    def __init__(self, namespace: str) -> None:
        super().__init__(
            f"the namespace {namespace} was deleted; only an admin can open it again, by adding an "
            "owner"
        )


class SlugTaken(VskillError):
    pass


class DeletedMeanwhile(SlugTaken):
    def __init__(self, what: str, *, by: str, reason: str) -> None:
        super().__init__(f"{what} was deleted by {by}: {reason}")
        #: Who deleted it.
        self.by = by


class MirrorPending(VskillError):
    retryable = True
    retry_after = dt.timedelta(seconds=5)


class NotPublished(VskillError):
    pass


class ScanError(VskillError):
    retryable = True


class JudgeFailed(ScanError):
    def __init__(
        self, message: str, *, retry_after: dt.timedelta | None = None, tokens: int | None = None
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        #: The tokens that the failed call used; None if unknown.
        self.tokens = tokens


class ScannerFailed(ScanError):
    pass


class RegistryError(VskillError):
    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        problem: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        #: The HTTP status of the response; 0 if there was none.
        self.status = status
        #: The stable code in the registry's problem document.
        self.code = code
        #: The whole document.
        self.problem = problem or {}


class RegistryUnavailable(RegistryError):
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        retry_after: dt.timedelta | None = None,
        was_not_done: bool = False,
        status: int = 0,
        code: str = "",
        problem: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message, status=status, code=code, problem=problem)
        self.retry_after = retry_after
        #: Whether it is certain that the request changed nothing.
        self.was_not_done = was_not_done


class NotifyFailed(VskillError):
    retryable = True


class MailFailed(VskillError):
    retryable = True


class MailRefused(VskillError):
    def __init__(self, message: str, *, is_final: bool = True) -> None:
        super().__init__(message)
        #: Whether a later attempt cannot succeed.
        self.is_final = is_final


class DeadlineExceeded(VskillError):
    retryable = True


class FetchLimitReached(VskillError):
    retryable = True


class WorkerDied(VskillError):
    pass


class OutOfResources(VskillError):
    retryable = True
    retry_after = dt.timedelta(seconds=30)


class Overtaken(VskillError):
    retryable = True


class EngineError(VskillError):
    retryable = True


class OutcomeUnknown(EngineError):
    """The commit may have been applied or not; read the records before repeating it."""


class DiskNearlyFull(EngineError):
    retry_after = dt.timedelta(minutes=1)


class BlobsUnavailable(EngineError):
    retry_after = dt.timedelta(seconds=10)


class BlobMissing(EngineError):
    retry_after = dt.timedelta(minutes=1)


class NotReady(EngineError):
    retry_after = dt.timedelta(seconds=5)


class FeedTrimmed(EngineError):
    retryable = False


class HistoryChanged(EngineError):
    retryable = False


class RecordMalformed(EngineError):
    retryable = False

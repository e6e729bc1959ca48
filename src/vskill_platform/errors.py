"""Every error this package raises on purpose.

VskillError
├── ConfigError            the operator set something wrong; the process stops
├── NoWorkerEnv            code that needs an env ran outside of one
├── InvalidInput           the caller sent something wrong            400
├── InvalidTransition      a submission cannot move to that state     409
├── ChangedSinceSeen       a ruling is about content that is gone     409
├── NotFound               nothing under that id or slug              404
├── NotSignedIn            nobody has said who the caller is          401
├── NotAllowed             the caller may not do this                 403
│   ├── RightMissing       the caller's role or token is for less     403
│   └── RequestForged      it may come from somebody else's page      403
├── WrongHost              the request is for another host            421
├── TooMany                the caller asks too often                  429
├── Busy                   too many want the same at this moment      503
├── TooLarge               the caller sends more than is read         413
├── SourceError            the skill's source could not be fetched
│   ├── SourceUnavailable  try again later                            retried
│   │   └── HostUnresponsive  its host accepts calls and says nothing retried
│   └── SourceRefused      too big, unsafe or gone                    final
│       └── SourceMoved    its host redirects to another address      final
├── SlugTaken              another source publishes under that slug   final
├── ScanError              a scanner broke: not verified              retried
│   ├── JudgeFailed        no usable answer from the judge of tier 2  retried
│   └── ScannerFailed      no usable result of another's scanner      retried
├── NotifyFailed           nobody could be told                       retried
├── DeadlineExceeded       the work took longer than it may           retried
├── NoRoom                 enough of the same is being fetched        handed back
├── OutOfResources         this machine has no disk space or files    handed back, 503
├── WorkerDied             its workers died with it, also alone       final
├── Overtaken              somebody else was faster                   retried
└── EngineError            the store or the queue failed              retried
    ├── NotReady           the search index is being built            503
    ├── FeedTrimmed        the change feed no longer reaches back     rebuild
    ├── HistoryChanged     the database was restored or replaced      rebuild
    └── RecordMalformed    a record is not what its key says          final
"""

import datetime as dt
from typing import ClassVar


class VskillError(Exception):
    #: Whether the same work may succeed later; the consumer asks the error, it does not guess.
    retryable: ClassVar[bool] = False
    #: How long the other side wants to be left alone, if it said so.
    retry_after: dt.timedelta | None = None


class ConfigError(VskillError):
    pass


class NoWorkerEnv(VskillError):
    def __init__(self) -> None:
        super().__init__(
            "no worker env is bound here: this code runs only inside run_with_worker_env()"
        )


class InvalidInput(VskillError):
    pass


class InvalidTransition(VskillError):
    pass


class ChangedSinceSeen(VskillError):
    pass


class NotFound(VskillError):
    def __init__(self, message: str, *, look_for: str = "") -> None:
        super().__init__(message)
        #: The name of a skill that a person may search for instead; empty if there is none.
        self.look_for = look_for


class NotSignedIn(VskillError):
    pass


class NotAllowed(VskillError):
    pass


class RightMissing(NotAllowed):
    pass


class RequestForged(NotAllowed):
    pass


class WrongHost(VskillError):
    pass


class TooMany(VskillError):
    def __init__(self, message: str, *, retry_after: dt.timedelta) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Busy(VskillError):
    retryable = True
    retry_after = dt.timedelta(seconds=5)


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


class SlugTaken(VskillError):
    pass


class ScanError(VskillError):
    retryable = True


class JudgeFailed(ScanError):
    def __init__(
        self, message: str, *, retry_after: dt.timedelta | None = None, tokens: int | None = None
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        #: What the failed call has used; None if nobody knows.
        self.tokens = tokens


class ScannerFailed(ScanError):
    pass


class NotifyFailed(VskillError):
    retryable = True


class DeadlineExceeded(VskillError):
    retryable = True


class NoRoom(VskillError):
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


class NotReady(EngineError):
    retry_after = dt.timedelta(seconds=5)


class FeedTrimmed(EngineError):
    retryable = False


class HistoryChanged(EngineError):
    retryable = False


class RecordMalformed(EngineError):
    retryable = False

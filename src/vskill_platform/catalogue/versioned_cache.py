"""A cache whose entries are valid until the data they came from changes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


class VersionedCache(Generic[Question, Answer]):
    """A cache for one event loop. Read the version before the query runs, not after."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._version = -1
        self._answers: OrderedDict[Question, Answer] = OrderedDict()

    def get(self, question: Question, version: int) -> Answer | None:
        self._turn_to(version)
        if question in self._answers:
            self._answers.move_to_end(question)
        return self._answers.get(question)

    def keep(self, question: Question, answer: Answer, version: int) -> None:
        """Cache an answer, unless the data has changed since *version*."""
        if version != self._version:
            return
        self._answers[question] = answer
        self._answers.move_to_end(question)
        if len(self._answers) > self._room:
            self._answers.popitem(last=False)

    def _turn_to(self, version: int) -> None:
        if version != self._version:
            self._version = version
            self._answers.clear()

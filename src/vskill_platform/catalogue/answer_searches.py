"""Answer searches in a process of their own; the other end is `search_process.py`.

Each thread has a connection to the index file and answers one request after the other. If a search
fails, the answer says why, and the server searches itself. Any other error ends the process.
"""

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from socket import socket
from threading import Lock, Thread

import apsw
import msgspec

from vskill_platform.base.python_process import parent_socket
from vskill_platform.catalogue.index_connections import READERS, open_reader
from vskill_platform.catalogue.query import SkillResults
from vskill_platform.catalogue.relaxed_search import search_with_fallback
from vskill_platform.catalogue.search_skills import KnownCounts, Question, search_after
from vskill_platform.errors import VskillError

LENGTH_BYTES = 4
#: The number of the answer that says that the process is ready.
READY = 0

CountedResults = list[tuple[SkillResults, KnownCounts]]


class SearchRequest(msgspec.Struct, frozen=True, array_like=True):
    number: int
    questions: list[Question]


class SearchAnswer(msgspec.Struct, frozen=True, array_like=True):
    #: The number of the request.
    number: int
    found: CountedResults = []
    #: Why there is no result; empty if there is one.
    problem: str = ""


_REQUESTS = msgspec.msgpack.Decoder(SearchRequest)
_encode = msgspec.msgpack.Encoder().encode


def search(connection: apsw.Connection, questions: Sequence[Question]) -> CountedResults:
    """Return the result of each question; one that continues a list is alone."""
    if after := questions[0].query.after:
        return [search_after(connection, questions[0], after)]
    return search_with_fallback(connection, questions)


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(LENGTH_BYTES) + message


def answer_searches() -> None:
    """Answer requests until the server closes its end; the first message is the index file."""
    threading.excepthook = _exit_with_error
    server = _Server(parent_socket())
    path = Path(os.fsdecode(server.receive()))
    threads = [
        Thread(target=_answer_all, args=(server, open_reader(path)), daemon=True)
        for _ in range(READERS)
    ]
    for thread in threads:
        thread.start()
    server.send(_encode(SearchAnswer(READY)))
    threads[0].join()


class _Server:
    """The socket to the server, which the threads share."""

    def __init__(self, connected: socket) -> None:
        self._socket = connected
        self._requests = connected.makefile("rb")
        self._receiving, self._sending = Lock(), Lock()

    def receive(self) -> bytes:
        """Return the next message; empty if the server has ended."""
        with self._receiving:
            head = self._requests.read(LENGTH_BYTES)
            return self._requests.read(int.from_bytes(head))

    def send(self, message: bytes) -> None:
        with self._sending:
            self._socket.sendall(framed(message))


def _answer_all(server: _Server, connection: apsw.Connection) -> None:
    while message := server.receive():
        server.send(_encode(_answer(_REQUESTS.decode(message), connection)))
    os._exit(0)  # without waiting for searches whose results nobody reads


def _answer(request: SearchRequest, connection: apsw.Connection) -> SearchAnswer:
    try:
        return SearchAnswer(request.number, search(connection, request.questions))
    except (apsw.Error, VskillError, OSError) as error:
        problem = f"{type(error).__name__}: {error}".encode(errors="replace").decode()
        return SearchAnswer(request.number, problem=problem)


def _exit_with_error(error: threading.ExceptHookArgs) -> None:
    """End the whole process, because the server would wait for the answer of the thread."""
    if error.exc_value and not isinstance(error.exc_value, BrokenPipeError):  # the server has ended
        sys.excepthook(error.exc_type, error.exc_value, error.exc_traceback)
    os._exit(1)

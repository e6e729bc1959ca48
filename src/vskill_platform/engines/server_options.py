"""Options of the connections to a database server: pool size, waiting times, notifications."""

from datetime import timedelta

import msgspec


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to use a database server; other engines ignore it."""

    #: A URL of the same database for notifications, if a pooler is in between; empty: the same.
    listen_url: str = ""
    #: How many connections a process may open, besides the one for notifications.
    pool_size: int = 8
    #: How long to wait, when it is opened, for a server that does not answer.
    wait: timedelta = timedelta(0)


DEFAULT_OPTIONS = ServerOptions()

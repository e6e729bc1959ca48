"""Options of the connections to a database server: pool size, waiting times, notifications."""

from datetime import timedelta

import msgspec


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to use a database server; other engines ignore it."""

    #: The URL of the same database without a pooler, for notifications; empty if there is no
    #: pooler.
    listen_url: str = ""
    #: How many connections a process may open, in addition to the one for notifications.
    pool_size: int = 8
    #: How long opening waits for a server that does not respond.
    wait: timedelta = timedelta(0)


DEFAULT_OPTIONS = ServerOptions()

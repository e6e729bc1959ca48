"""A network in front of a server: a proxy that can lose what passes through it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

_PIECE = 64 * 1024
_PORT = 5432


OpenServer = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class Network:
    def __init__(self, open_server: OpenServer) -> None:
        self._open_server = open_server
        #: The server through this network.
        self.url = ""
        #: Called with what the client sends; True: forward it, and lose the answer.
        self.loses_answer_to: Callable[[bytes], bool] = lambda _: False
        #: Whether the client loses its connection before the server gets what it has sent. Then the
        #: server may begin only when the client already looks for the outcome.
        self.client_loses_first = False
        self.is_cut = False
        #: Set once a connection was refused.
        self.refused = asyncio.Event()
        #: Set once the server has done that whose answer is lost.
        self.lost = asyncio.Event()
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Break all connections, and refuse new ones until it is mended."""
        self.is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def stall(self) -> None:
        """Let nothing pass, in either direction, and break no connection: packets are lost."""
        self._flows.clear()

    def repair(self) -> None:
        self.is_cut = False
        self._flows.set()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            self.refused.set()
            return
        await self._flows.wait()
        server_reader, server_writer = await self._open_server()
        mine = {writer, server_writer}
        self._writers |= mine
        answers = asyncio.create_task(self._pass_on(server_reader, writer))
        try:
            while piece := await reader.read(_PIECE):
                await self._flows.wait()
                if self.loses_answer_to(piece):
                    answers.cancel()
                    await asyncio.gather(answers, return_exceptions=True)
                    if self.client_loses_first:
                        writer.transport.abort()
                    server_writer.write(piece)
                    await server_writer.drain()
                    await server_reader.read(_PIECE)  # it answers only after the commit
                    self.lost.set()
                    break
                server_writer.write(piece)
                await server_writer.drain()
        except ConnectionError:
            pass
        finally:
            answers.cancel()
            self._writers -= mine
            for each in mine:
                each.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while piece := await reader.read(_PIECE):
                await self._flows.wait()
                writer.write(piece)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def a_network(url: str) -> AsyncIterator[Network]:
    """Listen for clients of a database server, which itself listens on a socket or a port."""
    parts = urlsplit(url)
    options = {name: values[0] for name, values in parse_qs(parts.query).items()}
    host = options.pop("host", None) or parts.hostname or "127.0.0.1"
    server_port = int(options.pop("port", None) or parts.port or _PORT)
    open_server: OpenServer = (
        partial(asyncio.open_unix_connection, f"{host}/.s.PGSQL.{server_port}")
        if host.startswith("/")
        else partial(asyncio.open_connection, host, server_port)
    )
    options["sslmode"] = "disable"
    user, has_user, _ = parts.netloc.rpartition("@")  # with the password, as it is written
    async with _listening(open_server) as (network, port):
        where = f"{user}{has_user}127.0.0.1:{port}"
        network.url = urlunsplit(("postgresql", where, parts.path, urlencode(options), ""))
        yield network


@asynccontextmanager
async def a_network_to_http(url: str) -> AsyncIterator[Network]:
    """Listen for clients of a server on a port of this machine."""
    parts = urlsplit(url)
    open_server = partial(asyncio.open_connection, parts.hostname, parts.port)
    async with _listening(open_server) as (network, port):
        network.url = f"http://127.0.0.1:{port}"
        yield network


@asynccontextmanager
async def _listening(open_server: OpenServer) -> AsyncIterator[tuple[Network, int]]:
    network = Network(open_server)
    visits: set[asyncio.Task[None]] = set()

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        visits.add(task)
        with suppress(asyncio.CancelledError):  # else the loop logs each of them
            await network.connect(reader, writer)

    async with await asyncio.start_server(visit, "127.0.0.1", 0) as server:
        yield network, server.sockets[0].getsockname()[1]
        network.cut()
        for task in visits:
            task.cancel()
        await asyncio.gather(*visits, return_exceptions=True)

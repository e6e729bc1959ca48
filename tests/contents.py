"""A database with one record of every kind that an export must keep."""

from datetime import timedelta

from tests.clocks import NOON, ManualClock
from vskill_platform.engines.exported import StoredItem, Tally
from vskill_platform.engines.operations import NEVER, Bury, Delete, Put, Retry, Send
from vskill_platform.engines.ports import Engine

_LEASE = timedelta(minutes=5)


async def fill(engine: Engine) -> None:
    await engine.commit(
        [
            Put("sub:1", b"undated"),
            Put("sub:2", b"due", due=NOON + timedelta(hours=1)),
            Put("sub:3", b"finished", due=NEVER, marks=("a", "ä"), rank=7),
            Put("sub:4", b"", expires_at=NOON + timedelta(days=1), marks=("a",), rank=-3),
            Put("größe", bytes(range(256))),
            Put("gone", b"before"),
        ]
    )
    await engine.commit([Delete("gone")])
    await engine.commit([Send(b"to retry", key="r", group="ada", resource="host")])
    await engine.commit([Send(b"to bury", key="b", group="ben", resource="host")])
    await engine.commit([Send(b"leased", key="l")])
    retried, buried, _leased = await engine.queue.receive(3, lease=_LEASE)
    await engine.commit([Retry(retried, timedelta(0), "again")])
    await engine.commit([Bury(buried, "no: \0 \udcff")])
    await engine.commit([Send(b"later", key="d", delay=timedelta(hours=2))])
    await engine.commit([Send(b"%d" % n, group="ada") for n in range(3)])
    await engine.commit([Send(b"other", group="cyd")])


async def export_all(engine: Engine) -> list[StoredItem]:
    async with engine.export() as export:
        return [item async for page in export.pages() for item in page]


async def tally_of(engine: Engine) -> Tally:
    tally = Tally()
    tally.add(await export_all(engine))
    return tally


async def drain(engine: Engine, clock: ManualClock) -> list[tuple[bytes, str | None, int]]:
    """Receive everything that is ready now, and later when the last delay has passed."""
    received = []
    for wait in (timedelta(0), _LEASE, timedelta(hours=2)):
        clock.advance(seconds=wait.total_seconds())
        while deliveries := await engine.queue.receive(1, lease=timedelta(days=9)):
            received += [(each.body, each.key, each.attempt) for each in deliveries]
    return received

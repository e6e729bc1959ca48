"""A full disk: a clear error, nothing lost, and normal operation when there is space again."""

import os
from types import SimpleNamespace

import pytest

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, list_all, receive_one, value_of
from tests.unit.engines.sqlite.faulty_disk import faulty_disk
from vskill_platform.engines.open_engine import open_engine, open_engine_to_read
from vskill_platform.engines.operations import Acknowledge, Put, Send
from vskill_platform.errors import DiskNearlyFull, EngineError


async def test_a_full_disk_is_reported_in_plain_words(url: str) -> None:
    with faulty_disk() as disk:
        engine = await open_engine(url)
        disk.is_full = True

        with pytest.raises(EngineError, match=r"skills\.db: the disk is full") as told:
            await engine.commit([Put("sub:1", b"")])

        assert told.value.retryable
        disk.is_full = False
        await engine.close()


async def test_existing_records_are_readable_while_the_disk_is_full(url: str) -> None:
    with faulty_disk() as disk:
        engine = await open_engine(url)
        await engine.commit([Put("sub:1", b"one"), Send(b"job")])
        disk.is_full = True

        assert await value_of(engine, "sub:1") == b"one"
        assert (await engine.queue.stats()).ready == 1
        with pytest.raises(EngineError, match="full"):
            await engine.queue.receive(1, lease=LEASE)

        disk.is_full = False
        await engine.close()


async def test_it_works_again_when_there_is_space_and_nothing_was_lost(url: str) -> None:
    with faulty_disk() as disk:
        engine = await open_engine(url)
        await engine.commit([Put("sub:1", b"one"), Send(b"job")])
        delivery = await receive_one(engine)
        disk.is_full = True
        for n in range(3):
            with pytest.raises(EngineError, match="full"):
                await engine.commit([Put("sub:1", b"two"), Put(f"new:{n}", b"")])
        with pytest.raises(EngineError, match="full"):
            await engine.commit([Acknowledge(delivery)])

        disk.is_full = False

        assert await list_all(engine) == ["sub:1"]
        assert await value_of(engine, "sub:1") == b"one"
        assert await engine.commit([Put("sub:1", b"two"), Acknowledge(delivery)]) == 2
        await engine.close()


async def test_a_value_too_large_for_the_memory_of_a_transaction_fails_whole(url: str) -> None:
    """Pages that spill to the disk before the commit meet the full disk in mid-statement."""
    with faulty_disk() as disk:
        engine = await open_engine(url)
        await engine.commit([Put("sub:1", b"one")])
        disk.is_full = True

        with pytest.raises(EngineError, match="full"):
            await engine.commit([Put(f"blob:{n}", bytes(20_000_000)) for n in range(3)])

        disk.is_full = False
        assert await list_all(engine) == ["sub:1"]
        assert await engine.commit([Put("sub:2", b"two")]) == 2
        await engine.close()


async def test_a_database_cannot_be_begun_on_a_full_disk(url: str) -> None:
    with faulty_disk() as disk:
        disk.is_full = True
        with pytest.raises(EngineError, match="full"):
            await open_engine(url)

        disk.is_full = False
        engine = await open_engine(url)
        assert await engine.commit([Put("sub:1", b"")]) == 1
        await engine.close()


async def test_a_full_disk_is_known_by_a_write_and_until_no_commit_has_failed_for_a_while(
    url: str, clock: ManualClock
) -> None:
    with faulty_disk() as disk:
        engine = await open_engine(url, clock=clock)
        await engine.check_writable()
        disk.is_full = True
        with pytest.raises(EngineError, match="the disk is full"):
            await engine.check_writable()
        disk.is_full = False
        with pytest.raises(EngineError, match="the disk is full"):
            await engine.check_writable()

        clock.advance(seconds=10)

        await engine.check_writable()
        await engine.close()


async def test_a_database_is_opened_and_read_on_a_full_disk(url: str) -> None:
    with faulty_disk() as disk:
        engine = await open_engine(url)
        await engine.commit([Put("sub:1", b"one")])
        await engine.close()
        disk.is_full = True

        for opened in (await open_engine_to_read(url), await open_engine(url)):
            assert await value_of(opened, "sub:1") == b"one"
            await opened.close()


_MIB = 1024 * 1024


def leave_free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Let the disk report so many free bytes of a terabyte."""
    disk = SimpleNamespace(f_frsize=1, f_blocks=1024**4, f_bavail=free)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)


async def test_new_work_is_refused_before_the_disk_is_full_and_work_in_progress_can_end(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await open_engine(url)
    await engine.commit([Send(b"job")])
    delivery = await receive_one(engine)
    leave_free(monkeypatch, 64 * _MIB - 1)

    with pytest.raises(DiskNearlyFull, match="until 67,108,864 bytes are free") as refused:
        await engine.check_free_space()

    assert refused.value.retryable
    await engine.check_writable()
    assert await engine.commit([Put("sub:1", b"published"), Acknowledge(delivery)]) == 1
    await engine.close()


async def test_new_work_is_accepted_as_soon_as_the_reserve_is_free_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await open_engine(url)
    leave_free(monkeypatch, 0)
    with pytest.raises(DiskNearlyFull):
        await engine.check_free_space()

    leave_free(monkeypatch, 64 * _MIB)

    await engine.check_free_space()
    await engine.close()


async def test_a_small_write_that_fits_into_the_log_does_not_hide_a_full_disk(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await open_engine(url)
    leave_free(monkeypatch, _MIB - 1)

    with pytest.raises(EngineError, match=r"skills\.db: the disk is full"):
        await engine.check_writable()

    await engine.close()


async def test_a_disk_that_cannot_be_measured_refuses_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await open_engine(url)

    def fail(_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "statvfs", fail)

    await engine.check_free_space()
    await engine.check_writable()
    await engine.close()

"""A check whether commits are possible, which changes no record."""

import asyncio

from vskill_platform.engines.operations import Put
from vskill_platform.engines.ports import Engine


async def test_a_write_check_changes_no_record_and_wakes_no_follower(engine: Engine) -> None:
    before = await engine.commit([Put("a", b"1")])

    await engine.check_writable()

    assert await engine.revision() == before
    assert (await engine.read_changes(after=before or 0)).changes == []


async def test_asking_beside_commits_disturbs_none(engine: Engine) -> None:
    commits = [engine.commit([Put(f"key:{number}", b"")]) for number in range(50)]
    checks = [engine.check_writable() for _ in range(50)]

    revisions, _ = await asyncio.gather(asyncio.gather(*commits), asyncio.gather(*checks))

    assert sorted(found for found in revisions if found) == list(range(1, 51))

"""Single files that a user sends before the request that submits them together."""

import hashlib

import pytest

from vskill_platform.engines.operations import ABSENT
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores import upload_store
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import list_all_keys
from vskill_platform.stores.upload_store import count_staged, reserve_staged, write_staged

CONTENT = b"# Tidy"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


async def stage() -> None:
    await commit(write_staged("ada", SHA256, CONTENT, size=len(CONTENT), now=get_now()))


async def test_a_file_that_is_staged_while_they_are_counted_counts_once(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def list_then_stage(prefix: str) -> list[str]:
        keys = await list_all_keys(prefix)
        await stage()
        return keys

    await commit(reserve_staged("ada", SHA256, len(CONTENT), now=get_now(), mark=ABSENT))
    monkeypatch.setattr(upload_store, "list_all_keys", list_then_stage)

    counted = await count_staged("ada")

    assert counted == (1, len(CONTENT))

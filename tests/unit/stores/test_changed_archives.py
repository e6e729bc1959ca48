"""An archive whose stored bytes were changed is an error for every reader."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.clocks import NOON
from vskill_platform.engines.operations import Put
from vskill_platform.errors import RecordMalformed
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.held_store import HeldSkill, get_held_files
from vskill_platform.stores.upload_store import get_upload
from vskill_platform.stores.version_store import get_archive

SMALL, LARGE = b"small archive", bytes(200_000)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def _held_files(sha256: str) -> bytes | None:
    return await get_held_files(
        HeldSkill(
            submission_id=f"sub_{sha256}", files=(), digest="", archive_sha256=sha256,
            commit_sha=None, tree_sha=None, held_at=NOON,
        )
    )  # fmt: skip


READERS: dict[str, Callable[[str], Awaitable[object]]] = {
    "blob:": get_archive,
    "upload:": get_upload,
    "held-files:sub_": _held_files,
}


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("prefix", READERS)
async def test_an_archive_is_returned_as_it_was_stored(
    bound: WorkerEnv, prefix: str, content: bytes
) -> None:
    await bound.engine.commit([Put(f"{prefix}{_digest(content)}", content)])

    assert await READERS[prefix](_digest(content)) == content
    assert await READERS[prefix](_digest(b"another")) is None


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("prefix", READERS)
async def test_a_changed_archive_is_an_error_that_is_logged(
    bound: WorkerEnv, logs: list[Any], prefix: str, content: bytes
) -> None:
    key = f"{prefix}{_digest(content)}"
    await bound.engine.commit([Put(key, content[:-1] + b"!")])

    with pytest.raises(RecordMalformed, match="restore it from a backup"):
        await READERS[prefix](_digest(content))

    assert [(line["event"], line["key"]) for line in logs] == [("stored archive was changed", key)]

"""A new process starts from a copy of an index, and reads only what has changed since."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from tests.unit.catalogue.index_files import found, published
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.catalogue.index_connections import FINGERPRINT
from vskill_platform.engines.operations import NEVER, Put
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit

SNAPSHOT = f"index-snapshot:{FINGERPRINT}"


@pytest.fixture
async def first(bound: WorkerEnv) -> AsyncIterator[Catalogue]:
    await published("ada/r/one")
    async with open_catalogue(bound) as catalogue:
        await catalogue.wait_until_ready()
        yield catalogue


def on_another_machine(env: WorkerEnv, folder: Path) -> WorkerEnv:
    settings = msgspec.structs.replace(env.settings, cache_dir=str(folder / "other machine"))
    return replace(env, settings=settings)


async def started_with(env: WorkerEnv) -> tuple[list[str], list[str]]:
    """Start a process; return what it logged, and what it finds once it has read everything."""
    with capture_logs() as logs:
        async with open_catalogue(env) as catalogue:
            await catalogue.wait_until_ready()
            assert await catalogue.wait_until(
                await env.engine.revision(), within=timedelta(minutes=1)
            )
            slugs = sorted(await found(catalogue))
    return [line["event"] for line in logs], slugs


async def test_a_process_copies_the_index_of_another_one_on_its_machine(
    bound: WorkerEnv, first: Catalogue
) -> None:
    events, before = await started_with(bound)
    await published("ada/r/two")
    again, after = await started_with(bound)

    assert events == ["search index copied"]
    assert again == []
    assert (before, after) == (["ada/r/one"], ["ada/r/one", "ada/r/two"])


async def test_a_node_elsewhere_starts_from_the_shared_snapshot(
    bound: WorkerEnv, first: Catalogue, tmp_path: Path
) -> None:
    said = await first.share_snapshot()
    await published("ada/r/two")

    events, slugs = await started_with(on_another_machine(bound, tmp_path))

    assert said == "0 MiB, packed 0 MiB"
    assert events == ["search index loaded"]
    assert slugs == ["ada/r/one", "ada/r/two"]
    left = {path.name.rpartition(".")[2] for path in (tmp_path / "other machine").iterdir()}
    assert not any(name.startswith("copy-") for name in left)


async def test_without_a_snapshot_the_index_is_built(
    bound: WorkerEnv, first: Catalogue, tmp_path: Path
) -> None:
    events, slugs = await started_with(on_another_machine(bound, tmp_path))

    assert events == ["search index built"]
    assert slugs == ["ada/r/one"]


@pytest.mark.parametrize(
    ("field", "value", "event"),
    [
        ("history_id", "another", None),
        ("size", 10, "snapshot of the search index not used"),
        ("blob", "not a blob", "snapshot of the search index not used"),
        ("blob", f"database/{'0' * 64}.{'0' * 24}", "snapshot of the search index not used"),
    ],
)
async def test_a_snapshot_that_cannot_be_used_is_built_instead(
    bound: WorkerEnv,
    first: Catalogue,
    tmp_path: Path,
    field: str,
    value: object,
    event: str | None,
) -> None:
    await first.share_snapshot()
    entry = await bound.engine.kv.get(SNAPSHOT)
    assert entry
    changed = {**msgspec.json.decode(entry.value), field: value}
    await commit([Put(SNAPSHOT, msgspec.json.encode(changed), due=NEVER)])

    events, slugs = await started_with(on_another_machine(bound, tmp_path))

    assert events == [*([event] if event else []), "search index built"]
    assert slugs == ["ada/r/one"]

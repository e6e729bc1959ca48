"""Nodes are upgraded one after the other while users upload skills."""

import asyncio
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.missing import skip_without
from tests.postgres_server import OwnServer
from tests.torture.audit import find_mistakes
from tests.torture.conftest import StartNodes
from tests.torture.nodes import Nodes
from tests.torture.skills import make_skills
from vskill_platform.engines.postgres.migrate import CURRENT_VERSION

#: The last commit with each schema; the first one has record format 1, too. They stand for the
#: release before.
_EARLIER = {
    2: "6b4728db00bed82667337df45fa53640eadcffcd",
    3: "86d06d310dff0a257103c1d8a8a03ba340e892c8",
}
_SKILLS = make_skills(24, seed=5)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("schema", _EARLIER)
async def test_nodes_of_two_releases_share_a_database_until_all_are_upgraded(
    server: OwnServer,
    start_nodes: StartNodes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    schema: int,
) -> None:
    monkeypatch.setattr("tests.torture.nodes.PATIENCE_SECONDS", 1800.0)
    earlier = _unpack(_EARLIER[schema], tmp_path / "earlier")
    prefix = ["env", f"PYTHONPATH={earlier / 'src'}"]
    nodes = await asyncio.to_thread(start_nodes, server.url, workers=2, prefix=prefix)
    versions = []

    async with nodes.under_load(_SKILLS) as load:
        await load.reached(4)
        versions.append(_schema_of(server))
        await _upgrade(nodes, 0)
        versions.append(_schema_of(server))
        # The other ones run on, and start again, on the newer schema.
        await load.reached(8)
        await asyncio.to_thread(nodes.workers[-1].kill)
        nodes.workers[-1].restart()
        for number in range(1, len(nodes.all)):
            await load.reached(8 + 4 * number)
            await _upgrade(nodes, number)
    await nodes.settled()

    assert versions == [str(schema), str(CURRENT_VERSION)]
    assert await find_mistakes(nodes, _SKILLS, load) == []
    assert await nodes.stop() == []


async def _upgrade(nodes: Nodes, number: int) -> None:
    node = nodes.all[number]
    code = await asyncio.to_thread(node.process.end)
    assert code == 0, node.process.rest()
    node.prefix = ()
    node.restart()
    if node.port:
        while (await nodes.ask("/readyz", node=node)).status_code != 200:
            await asyncio.sleep(0.2)


def _schema_of(server: OwnServer) -> str:
    return server.sql("SELECT max(version) FROM vskill.schema_version").strip()


def _unpack(commit: str, folder: Path) -> Path:
    """Take the code of an earlier commit out of the repository."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["git", "archive", commit, "src"], cwd=root, capture_output=True, check=False
    )
    if done.returncode:
        skip_without(
            f"the commit {commit[:8]}",
            untested="nodes of two releases on one database",
            get_it="`git fetch --unshallow`",
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder

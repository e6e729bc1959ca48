"""A PostgreSQL server and nodes on it, for each test; all of them are run by `make torture`."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.postgres_server import OwnServer, an_own_server
from tests.torture.nodes import Nodes

_HERE = str(Path(__file__).parent)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(_HERE):
            item.add_marker(pytest.mark.torture)


@pytest.fixture
def server() -> Iterator[OwnServer]:
    with an_own_server() as server:
        yield server


StartNodes = Callable[..., Nodes]


@pytest.fixture
def start_nodes(tmp_path: Path) -> Iterator[StartNodes]:
    """Start two web nodes and workers on a database; nothing runs on afterwards."""
    started: list[Nodes] = []

    def start(
        database_url: str, *, workers: int = 1, prefix: Sequence[str] = (), **settings: str
    ) -> Nodes:
        started.append(Nodes(tmp_path, database_url, workers=workers, prefix=prefix, **settings))
        return started[-1]

    yield start
    for nodes in started:
        nodes.platform.end_everything()

"""One registry for all clients, with a separate home folder for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.program import Platform
from tests.clients.registry import Home, Registry

_HERE = str(Path(__file__).parent)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(_HERE):
            item.add_marker(pytest.mark.clients)


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    platform = Platform(
        tmp_path_factory.mktemp("registry"), port=str(port), public_url=url,
        writes_per_minute="10000", reads_per_minute="100000", sign_ins_per_minute="1000",
        # All tests publish here, and each expects its skill in the index of the registry.
        discovery_skills="200",
    )  # fmt: skip
    server = platform.start_anew("serve")
    server.wait_for(f"vskill-platform is at http://127.0.0.1:{port}")
    try:
        yield Registry(platform=platform, url=url)
    finally:
        platform.end_everything()


@pytest.fixture(scope="session")
def acme(registry: Registry) -> str:
    """Return the token of the publisher @acme."""
    return registry.add_publisher("acme")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A machine on which nothing is installed yet."""
    home = Home(folder=tmp_path / "home")
    home.project.mkdir(parents=True)
    return home

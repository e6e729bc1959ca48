"""A database on a real server, and a network in between that a test can cut."""

from collections.abc import AsyncIterator

import pytest

from tests.postgres import an_empty_database
from tests.unit.engines.postgres.network import Network, a_network


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with an_empty_database() as found:
        yield found


@pytest.fixture
async def network(url: str) -> AsyncIterator[Network]:
    async with a_network(url) as found:
        yield found

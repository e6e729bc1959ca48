"""`--engine=postgres` runs the tests that use a database on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from tests.postgres import an_empty_database


@pytest.fixture
def engine_url(request: pytest.FixtureRequest, engine_url: str) -> str:
    if request.config.getoption("--engine") != "postgres":
        return engine_url
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def postgres_url() -> AsyncIterator[str]:
    async with an_empty_database() as url:
        yield url

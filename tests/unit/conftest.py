"""`--engine=postgres` runs the tests that use a database on PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.postgres import an_empty_database
from vskill_platform.runtime.env import WorkerEnv


@pytest.fixture
def engine_url(request: pytest.FixtureRequest, engine_url: str) -> str:
    if not _is_on_postgres(request):
        return engine_url
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def postgres_url() -> AsyncIterator[str]:
    async with an_empty_database() as url:
        yield url


@pytest.fixture
def env(request: pytest.FixtureRequest, env: WorkerEnv, tmp_path: Path) -> WorkerEnv:
    """Keep caches in the folder of the test, also without a database file."""
    if not _is_on_postgres(request):
        return env
    cache_dir = str(tmp_path / "cache")
    return replace(env, settings=msgspec.structs.replace(env.settings, cache_dir=cache_dir))


@pytest.fixture
def database_file(request: pytest.FixtureRequest) -> None:
    """Skip a test about files next to the database."""
    if _is_on_postgres(request):
        pytest.skip("PostgreSQL has no database file")


def _is_on_postgres(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--engine") == "postgres")

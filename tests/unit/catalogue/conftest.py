"""A catalogue on a real database, which follows what the test writes."""

from collections.abc import AsyncIterator

import pytest

from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.runtime.env import WorkerEnv


@pytest.fixture
async def catalogue(bound: WorkerEnv) -> AsyncIterator[Catalogue]:
    async with open_catalogue(bound) as catalogue:
        await catalogue.wait_until_ready()
        yield catalogue

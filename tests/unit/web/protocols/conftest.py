"""A registry with its search index, for every protocol."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.web.api_cast import Registry, open_registry
from vskill_platform.runtime.env import WorkerEnv


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened

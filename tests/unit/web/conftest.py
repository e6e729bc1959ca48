"""A client of the whole application that behaves like a browser."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from httpx import ASGITransport, AsyncClient
from litestar import Litestar

from tests.apps import an_app
from vskill_platform.runtime.env import WorkerEnv

HTML = {"Accept": "text/html"}


@pytest.fixture
def app(bound: WorkerEnv) -> Litestar:
    return an_app(bound)


@pytest.fixture
async def browser(app: Litestar) -> AsyncIterator[AsyncClient]:
    """Somebody who looks at pages, and keeps cookies."""
    transport = ASGITransport(cast("Any", app))
    async with AsyncClient(transport=transport, base_url="http://registry", headers=HTML) as client:
        yield client


@pytest.fixture
async def program(app: Litestar) -> AsyncIterator[AsyncClient]:
    """Something that calls the API, and keeps nothing."""
    transport = ASGITransport(cast("Any", app))
    async with AsyncClient(transport=transport, base_url="http://registry") as client:
        yield client

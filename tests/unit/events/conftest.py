"""A registry that sends mail, and the mail server that receives it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.mail_server import Mailbox, a_mail_server
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with a_mail_server() as mailbox:
        yield mailbox


@pytest.fixture
async def mailing(env: WorkerEnv, mailbox: Mailbox) -> AsyncIterator[WorkerEnv]:
    """Run the test as work of a registry with that mail server."""
    settings = msgspec.structs.replace(
        env.settings,
        smtp_url=mailbox.url,
        mail_from="Skills <skills@registry.example>",
        public_url="https://skills.example",
    )
    mailing = replace(env, settings=settings)
    token = worker_env_storage.set(mailing)
    yield mailing
    worker_env_storage.reset(token)

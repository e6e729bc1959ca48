"""A registry that sends email, and the mail server that receives it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.mail_server import Mailbox, a_mail_server
from tests.webhook_receiver import Receiver, a_receiver
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


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver


@pytest.fixture
async def calling(env: WorkerEnv, receiver: Receiver) -> AsyncIterator[WorkerEnv]:
    """Run the test as work of a registry that may send webhooks to that receiver."""
    settings = msgspec.structs.replace(
        env.settings, webhook_private_hosts=receiver.origin, public_url="https://skills.example"
    )
    calling = replace(env, settings=settings)
    token = worker_env_storage.set(calling)
    yield calling
    worker_env_storage.reset(token)

"""The whole pipeline in one process: submit, drain the queue, look at the result."""

from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest

from tests.contracts.machine import a_database
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import Source
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import Finding, Report
from vskill_platform.queue.consumer import handle_messages
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.submission_store import get_submission

#: Modules that run on both engines in each run; `make test-postgres` runs all of them.
_ON_BOTH = frozenset(
    {"test_pairs_of_changes", "test_publishing", "test_rescan_nodes", "test_reviews"}
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_url" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--engine")
    is_on_both = metafunc.module.__name__.rpartition(".")[2] in _ON_BOTH
    engines = [chosen] if chosen else ["sqlite", *(["postgres"] if is_on_both else [])]
    metafunc.parametrize("engine_url", engines, indirect=True)


@pytest.fixture
async def engine_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    async with a_database(request.param) as url:
        yield url


class Journey(msgspec.Struct, frozen=True):
    submission: Submission
    report: Report

    def finding(self, rule: str) -> Finding:
        return next(item for item in self.report.findings if item.rule == rule)

    @property
    def rules(self) -> list[str]:
        return [item.rule for item in self.report.findings]


Process = Callable[..., Awaitable[Journey]]


@pytest.fixture(scope="module", autouse=True)
def warm_scanners(one_loop: None) -> None:
    """Scan all skills of a module in the same processes."""


@pytest.fixture
def process(bound: WorkerEnv) -> Process:
    """Submit a source and process it to its end, in the env of the test or in another."""

    async def process_one(
        source: Source, *, submitter: str = "ada", env: WorkerEnv | None = None
    ) -> Journey:
        result = await submit(source, submitter=submitter, may_replace_ref=True)
        batch = await bound.engine.queue.receive(3, lease=bound.settings.lease)
        await handle_messages(batch, env or bound)
        stored = await get_submission(result.submission.id)
        report = await get_report(result.submission.id)
        assert stored
        assert report
        return Journey(stored.record, report)

    return process_one

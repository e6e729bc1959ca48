"""Every store reaches the database through the bound env only."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.clocks import NOON
from tests.probes import ProbingEngine
from vskill_platform.engines.operations import Put
from vskill_platform.errors import NoWorkerEnv
from vskill_platform.stores import (
    db,
    external_scan_dispatch,
    external_scan_store,
    repo_health_store,
    skill_store,
    submission_store,
)

ASK: list[Callable[[], Awaitable[Any]]] = [
    lambda: db.commit([Put("probe", b"1")]),
    lambda: external_scan_dispatch.dispatch_external_scan("a/b/c", "semgrep"),
    lambda: external_scan_store.get_external_scans("a/b/c"),
    lambda: repo_health_store.get_repo_health("a/b/c"),
    skill_store.enumerate_published_skills,
    lambda: submission_store.get_stuck_submissions(NOON),
    lambda: submission_store.get_submissions_fresh(["sub_1"]),
]


@pytest.mark.parametrize("ask", ASK)
async def test_every_store_reaches_the_env_that_is_bound(
    probed: ProbingEngine, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Awaitable[Any]]
) -> None:
    calls: list[str] = []
    for owner, name in ((probed.kv, "get"), (probed.kv, "list_keys"), (probed, "commit")):
        real = getattr(owner, name)

        def watch(*arguments: Any, real: Any = real, **options: Any) -> Any:
            calls.append(real.__name__)
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, watch)

    await ask()

    assert calls


@pytest.mark.parametrize("ask", ASK)
async def test_outside_of_an_env_every_store_raises(ask: Callable[[], Awaitable[Any]]) -> None:
    with pytest.raises(NoWorkerEnv):
        await ask()

"""The API matches its own OpenAPI document: every response is described, and none is a 500."""

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.acceptance.ports import free_port
from tests.acceptance.processes import PATIENCE_SECONDS
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder
from vskill_platform.web.openapi import describe_api

_OFTEN = "1000000"
_SLUG = "@local/tidy-notes"


class Served(msgspec.Struct, frozen=True):
    url: str
    #: Of somebody who may do everything.
    token: str
    #: An existing value for each parameter of a path.
    known: dict[str, str]


@pytest.fixture
def served(platform: Platform) -> Iterator[Served]:
    """Run the program with a published skill, two users and a block."""
    port = free_port()
    platform.settings |= {
        "port": str(port),
        "reads_per_minute": _OFTEN,
        "writes_per_minute": _OFTEN,
        "default_host": "127.0.0.1:9",  # so that no example leads out of this machine
    }
    url = f"http://127.0.0.1:{port}"
    platform.start("serve").wait_for(f"vskill-platform is at {url}")
    folder = a_skill_folder(platform.folder)
    submitted = platform.run("submit", folder, "--watch", "--json")
    assert submitted.code == 0, submitted
    for name in ("cyd", "dee"):
        platform.run("users", "add", name, "--role", "admin")
    made = platform.run("tokens", "add", "cyd", "--label", "test", "--scope", "admin", "--json")
    token = msgspec.json.decode(made.out)["token"]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE_SECONDS) as client:
        (submission,) = client.get("/api/v1/submissions").json()["submissions"]
        blocked = client.post(
            "/api/v1/blocklist", json={"publisher": "git.example/eve", "reason": "test"}
        )
        assert submission["publishedSkillName"] == _SLUG, submission
    known = {
        "slug": _SLUG,
        "submission_id": submission["id"],
        "version": "1.0.0",
        "name": "dee",
        "block_id": blocked.json()["entry"]["id"],
    }
    yield Served(url, token, known)
    platform.end_everything()


def operations() -> list[Any]:
    import schemathesis  # noqa: PLC0415 - see below

    found = schemathesis.openapi.from_dict(describe_api()).get_all_operations()
    return sorted(
        (one.ok() for one in found if hasattr(one, "ok")), key=lambda one: (one.path, one.method)
    )


@pytest.mark.slow
@pytest.mark.timeout(600)  # many requests, on a machine that may be busy
@pytest.mark.parametrize("examples", [2, pytest.param(40, marks=pytest.mark.torture)])
def test_no_request_is_answered_with_a_fault(served: Served, examples: int) -> None:
    """In one test, so that the program starts once."""
    # Imported here: it takes half a second, and every worker collects every file.
    from schemathesis.core.failures import FailureGroup  # noqa: PLC0415 - loaded only when it is needed
    from schemathesis.specs.openapi import checks  # noqa: PLC0415 - loaded only when it is needed

    conform = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    faults: dict[str, str] = {}
    undescribed: dict[str, str] = {}
    statuses: set[int] = set()

    def ask_all(operation: Any) -> None:
        @settings(
            max_examples=examples, deadline=None, derandomize=True, database=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(), is_signed_in=st.booleans(), is_known=st.booleans())
        def ask(case: Any, is_signed_in: bool, is_known: bool) -> None:
            if is_known:
                case.path_parameters.update(
                    {name: served.known.get(name, value) for name, value in
                     (case.path_parameters or {}).items()}
                )  # fmt: skip
            headers = {"Authorization": f"Bearer {served.token}"} if is_signed_in else {}
            answer = case.call(base_url=served.url, headers=headers, timeout=60)
            statuses.add(answer.status_code)
            if answer.status_code >= 500:
                faults[f"{case.method} {case.formatted_path}"] = answer.text
            try:
                case.validate_response(answer, checks=conform)
            except FailureGroup as failures:
                undescribed[f"{case.method} {case.path} {answer.status_code}"] = str(
                    failures.exceptions
                )

        ask()

    for operation in operations():
        ask_all(operation)

    assert faults == {}
    assert undescribed == {}
    assert {200, 400, 401, 404} <= statuses  # it has not asked for nothing

"""The API against its own document: whatever is asked, no answer is a fault of ours."""

from collections.abc import Iterator

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.acceptance.ports import free_port
from tests.acceptance.program import Platform
from vskill_platform.web.api.routes import describe_api

_SCHEMA = schemathesis.openapi.from_dict(describe_api())
_OPERATIONS = [found.ok() for found in _SCHEMA.get_all_operations()]
_OFTEN = "1000000"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Run the program; return its address and a token that may do everything."""
    port = free_port()
    platform = Platform(
        tmp_path_factory.mktemp("api"), port=str(port), reads_per_minute=_OFTEN,
        writes_per_minute=_OFTEN, local_folders="",
    )  # fmt: skip
    platform.start("serve").wait_for(f"vskill-platform is at http://127.0.0.1:{port}")
    platform.run("users", "add", "cyd", "--role", "admin")
    made = platform.run("tokens", "add", "cyd", "--label", "test", "--scope", "admin", "--json")
    assert made.code == 0, made
    yield f"http://127.0.0.1:{port}", msgspec.json.decode(made.out)["token"]
    platform.end_everything()


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "operation", _OPERATIONS, ids=[f"{one.method} {one.path}" for one in _OPERATIONS]
)
def test_no_request_is_answered_with_a_fault(
    served: tuple[str, str], operation: schemathesis.APIOperation
) -> None:
    url, token = served

    @settings(
        max_examples=8, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(), is_known=st.booleans())
    def ask(case: schemathesis.Case, is_known: bool) -> None:
        headers = {"Authorization": f"Bearer {token}"} if is_known else {}
        answer = case.call(base_url=url, headers=headers, timeout=60)
        assert answer.status_code < 500, (answer.status_code, answer.text)

    ask()

"""Sign in from a CI job: the token of GitHub or GitLab is exchanged at the registry."""

import msgspec
import pytest

from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.client.ci_token import has_ci_token, sign_in_from_ci
from vskill_platform.client.credentials import Target
from vskill_platform.errors import ConfigError, NotSignedIn, RegistryError, RegistryUnavailable

MADE = {"token": "vsk_made", "namespace": "@acme", "expiresAt": "2026-05-01T12:15:00Z"}


def github(server: ScriptedServer) -> dict[str, str]:
    return {
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{server.url}/ids?api-version=2.0",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "hush",
    }


def target(server: ScriptedServer) -> Target:
    return Target(name="here", url=server.url)


def test_a_job_of_github_asks_for_a_token_for_this_registry_and_exchanges_it(
    server: ScriptedServer,
) -> None:
    server.replies = [Reply(body=b'{"value": "signed"}'), Reply(body=msgspec.json.encode(MADE))]

    made = sign_in_from_ci(target(server), namespace="@acme", environ=github(server))

    asked, exchanged = server.seen
    assert made["token"] == "vsk_made"
    assert asked.path.startswith("/ids?api-version=2.0&audience=http%3A%2F%2F127.0.0.1%3A")
    assert asked.headers["Authorization"] == "Bearer hush"
    assert (exchanged.method, exchanged.path) == ("POST", "/api/v1/trusted-publishing/token")
    assert msgspec.json.decode(exchanged.body) == {"token": "signed", "namespace": "@acme"}
    assert "Authorization" not in exchanged.headers


def test_a_job_of_gitlab_has_its_token_in_a_variable(server: ScriptedServer) -> None:
    server.replies = [Reply(body=msgspec.json.encode(MADE))]

    sign_in_from_ci(target(server), namespace="@acme", environ={"VSKILL_ID_TOKEN": "signed"})

    (exchanged,) = server.seen
    assert msgspec.json.decode(exchanged.body)["token"] == "signed"


def test_a_refusal_of_the_registry_is_shown_in_its_words(server: ScriptedServer) -> None:
    problem = {"title": "Sign in", "detail": "no trusted publisher matches this job", "status": 401}
    server.replies = [Reply(401, msgspec.json.encode(problem))]

    with pytest.raises((NotSignedIn, RegistryError), match="no trusted publisher matches this job"):
        sign_in_from_ci(target(server), namespace="@acme", environ={"VSKILL_ID_TOKEN": "signed"})


@pytest.mark.parametrize("reply", [Reply(500), Reply(body=b"{}"), Reply(302)], ids=str)
def test_an_answer_of_github_without_a_token_is_an_error_that_names_no_secret(
    server: ScriptedServer, reply: Reply
) -> None:
    server.replies = [reply]

    with pytest.raises(RegistryUnavailable) as caught:
        sign_in_from_ci(target(server), namespace="@acme", environ=github(server))

    assert "hush" not in str(caught.value)


def test_elsewhere_there_is_no_token() -> None:
    assert not has_ci_token({})
    with pytest.raises(ConfigError, match="id-token: write"):
        sign_in_from_ci(
            Target(name="x", url="https://skills.example"), namespace="@acme", environ={}
        )


def test_the_secret_is_not_sent_without_tls() -> None:
    environ = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": "http://ids.example/",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "hush",
    }

    with pytest.raises(ConfigError, match="https"):
        sign_in_from_ci(
            Target(name="x", url="https://skills.example"), namespace="@acme", environ=environ
        )

import gzip
import hashlib
import socket
import ssl
import threading
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest

from tests.cases import all_cases
from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.cli.remote.skills import versions
from vskill_platform.client import registry as registry_module
from vskill_platform.client.addresses import checked_url, connect_hint, segment
from vskill_platform.client.registry import Registry
from vskill_platform.errors import InvalidInput, RegistryError, RegistryUnavailable

PROBLEM = {
    "title": "Not found",
    "detail": "there is no skill 'x'",
    "hint": "Check the spelling.",
    "code": "not_found",
    "status": 404,
}
TOKEN = "vsk_secret"


def problem(status: int, **headers: str) -> Reply:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, msgspec.json.encode(PROBLEM), names)


def test_an_answer_is_decoded_and_parameters_are_sent(server: ScriptedServer) -> None:
    server.replies = [Reply(body=b'{"total": 1}')]

    with Registry(server.url) as registry:
        found = registry.get_json("/api/v1/skills", q="a b&c", limit=5, after=None, all=True)

    assert found == {"total": 1}
    assert server.seen[0].path == "/api/v1/skills?q=a+b%26c&limit=5&all=true"


def test_a_token_is_sent_as_a_bearer_token(server: ScriptedServer) -> None:
    with Registry(server.url, TOKEN) as registry:
        registry.post_json("/api/v1/x", {"a": 1})

    assert server.seen[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert server.seen[0].body == b'{"a":1}'


def test_a_refusal_has_the_words_of_the_registry(server: ScriptedServer) -> None:
    server.replies = [problem(404)]

    with Registry(server.url) as registry, pytest.raises(RegistryError) as caught:
        registry.get_json("/api/v1/skills/x")

    assert str(caught.value) == "Not found: there is no skill 'x'. Check the spelling."
    assert (caught.value.status, caught.value.code) == (404, "not_found")


@pytest.mark.parametrize("code", ["invalid_input", "not_signed_in", "wrong_state"])
def test_a_hint_for_authors_of_programs_is_not_shown(server: ScriptedServer, code: str) -> None:
    refusal = {"title": "Refused", "detail": "it is wrong", "hint": "Read /api.", "code": code}
    server.replies = [Reply(400, msgspec.json.encode(refusal))]

    with Registry(server.url) as registry, pytest.raises(RegistryError) as caught:
        registry.get_json("/api/v1/skills/x")

    assert str(caught.value) == "Refused: it is wrong."


def test_a_long_refusal_is_cut(server: ScriptedServer) -> None:
    server.replies = [Reply(404, msgspec.json.encode({"title": "x" * 100_000, "detail": "y"}))]

    with Registry(server.url) as registry, pytest.raises(RegistryError) as caught:
        registry.get_json("/x")

    assert len(str(caught.value)) < 10_000


def test_a_refusal_without_words_gives_its_status(server: ScriptedServer) -> None:
    server.replies = [Reply(500, b"<h1>oops</h1>")]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="status 500"):
        registry.get_json("/x")


def test_an_expired_token_says_how_to_sign_in(server: ScriptedServer) -> None:
    server.replies = [problem(401)]

    with Registry(server.url, TOKEN) as registry, pytest.raises(RegistryError) as caught:
        registry.get_json("/x")

    assert f"vskill-platform login {server.url}" in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_token_from_the_environment_is_to_be_replaced_there(server: ScriptedServer) -> None:
    server.replies = [problem(401)]

    with (
        Registry(server.url, "vsk_old", token_source="VSKILL_TOKEN") as registry,
        pytest.raises(RegistryError, match=r"Replace the token in VSKILL_TOKEN\.$") as refused,
    ):
        registry.get_json("/api/v1/account")

    assert "login" not in str(refused.value)


def test_a_page_that_is_no_json_is_no_registry(server: ScriptedServer) -> None:
    server.replies = [Reply(body=b"<html>")]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="not respond with"):
        registry.get_json("/x")


def test_a_busy_registry_is_asked_again_after_the_time_it_names(server: ScriptedServer) -> None:
    server.replies = [problem(429, Retry_After="7"), problem(503), Reply(body=b'{"a": 1}')]
    waits: list[float] = []

    with Registry(server.url, sleep=waits.append) as registry:
        found = registry.post_json("/x")

    assert found == {"a": 1}
    assert waits == [7, 1]


def test_a_registry_that_asks_for_an_hour_is_an_error_at_once(server: ScriptedServer) -> None:
    server.replies = [problem(429, Retry_After="3600")]
    waits: list[float] = []

    with (
        Registry(server.url, sleep=waits.append) as registry,
        pytest.raises(RegistryUnavailable) as caught,
    ):
        registry.get_json("/x")

    assert waits == []
    assert caught.value.retry_after is not None
    assert caught.value.retry_after.total_seconds() == 3600


def test_a_registry_that_stays_busy_is_an_error(server: ScriptedServer) -> None:
    server.replies = [problem(503)]
    waits: list[float] = []

    with (
        Registry(server.url, sleep=waits.append) as registry,
        pytest.raises(RegistryUnavailable),
    ):
        registry.get_json("/x")

    assert len(server.seen) == 4
    assert waits == [0.5, 1, 2]


def test_a_change_that_may_have_been_made_is_not_sent_twice(server: ScriptedServer) -> None:
    server.replies = [problem(502)]

    with (
        Registry(server.url, sleep=lambda _: None) as registry,
        pytest.raises(RegistryUnavailable),
    ):
        registry.post_json("/x")

    assert len(server.seen) == 1


def test_a_registry_that_is_not_there_is_named() -> None:
    waits: list[float] = []

    with (
        Registry("http://127.0.0.1:9", sleep=waits.append) as registry,
        pytest.raises(RegistryUnavailable, match=r"cannot connect to http://127\.0\.0\.1:9"),
    ):
        registry.get_json("/x")

    assert len(waits) == 3


def test_a_registry_without_tls_is_not_called_a_problem_of_the_network(
    server: ScriptedServer,
) -> None:
    with (
        Registry(server.url.replace("http:", "https:"), sleep=lambda _: None) as registry,
        pytest.raises(RegistryUnavailable, match=r"does not speak TLS.*http://"),
    ):
        registry.get_json("/x")


def test_a_certificate_that_is_not_trusted_says_how_to_trust_it() -> None:
    error = httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    error.__cause__ = ssl.SSLCertVerificationError(1, "self-signed certificate")

    assert "SSL_CERT_FILE" in connect_hint(error)


def test_a_token_is_not_sent_without_encryption() -> None:
    with pytest.raises(InvalidInput, match="use https"):
        Registry("http://skills.example", TOKEN)


@pytest.mark.parametrize("token", ["vsk_a\nHost: b", "vsk_ä"])
def test_a_token_with_other_characters_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput, match="copy it again"):
        Registry("https://skills.example", token)


def test_a_redirect_to_another_host_gets_no_token(
    server: ScriptedServer, elsewhere: ScriptedServer
) -> None:
    server.replies = [Reply(302, b"", {"Location": f"{elsewhere.url}/archive"})]
    elsewhere.replies = [Reply(body=b"bytes")]

    with Registry(server.url, TOKEN) as registry:
        found = registry.download("/x")

    assert found == b"bytes"
    assert "Authorization" not in elsewhere.seen[0].headers


@all_cases(
    "inside",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0", "[::1]", "[::]", "localhost",
        "[::ffff:127.0.0.1]", "10.0.0.1", "192.168.0.1", "169.254.169.254", "[fe80::1]",
        "[fd00::1]", "[::ffff:a9fe:a9fe]",
    ],
)  # fmt: skip
def test_a_registry_outside_does_not_lead_into_your_network(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    # The proxy is what connects to addresses outside.
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.replies = [
        Reply(302, b"", {"Location": f"http://{inside}:{urlsplit(server.url).port}/admin"})
    ]
    server.seen.clear()

    with Registry("http://8.8.8.8") as registry, pytest.raises(RegistryError, match="own network"):
        registry.get_json("/x")

    assert [request.path for request in server.seen] == ["http://8.8.8.8/x"]


def test_a_redirect_on_the_same_host_keeps_the_token(server: ScriptedServer) -> None:
    server.replies = [Reply(307, b"", {"Location": "/y?z=1"}), Reply(body=b'{"a": 2}')]

    with Registry(server.url, TOKEN) as registry:
        found = registry.get_json("/x", q="once")

    assert found == {"a": 2}
    assert server.seen[1].path == "/y?z=1"
    assert server.seen[1].headers["Authorization"] == f"Bearer {TOKEN}"


def test_redirects_without_end_are_an_error(server: ScriptedServer) -> None:
    server.replies = [Reply(302, b"", {"Location": "/x"})]

    with (
        Registry(server.url) as registry,
        pytest.raises(RegistryError, match="redirects too many times"),
    ):
        registry.get_json("/x")


def test_a_change_is_not_redirected(server: ScriptedServer, elsewhere: ScriptedServer) -> None:
    server.replies = [Reply(308, b"", {"Location": f"{elsewhere.url}/x"})]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="redirects to"):
        registry.post_json("/x", {})

    assert elsewhere.seen == []


def test_a_download_is_compared_with_its_digest(server: ScriptedServer) -> None:
    server.replies = [Reply(body=b"archive")]
    digest = hashlib.sha256(b"archive").hexdigest()
    told: list[tuple[int, int | None]] = []

    with Registry(server.url) as registry:
        found = registry.download("/x", sha256=digest, on_progress=lambda *at: told.append(at))
        with pytest.raises(RegistryError, match="damaged or was changed"):
            registry.download("/x", sha256="0" * 64)

    assert found == b"archive"
    assert told == [(7, 7)]


def test_a_download_without_end_is_refused(server: ScriptedServer) -> None:
    server.replies = [Reply(body=b"x" * 2000)]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="more than 1,000"):
        registry.download("/x", limit=1000)


def test_an_answer_that_is_compressed_more_than_once_is_refused(server: ScriptedServer) -> None:
    bomb = gzip.compress(gzip.compress(b"0" * 1_000_000))
    server.replies = [Reply(body=bomb, headers={"Content-Encoding": "gzip, gzip"})]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="'gzip, gzip'"):
        registry.download("/x")


def test_a_compressed_answer_is_read(server: ScriptedServer) -> None:
    server.replies = [Reply(body=gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})]

    with Registry(server.url) as registry:
        found = registry.get_json("/x")

    assert found == {}


def test_a_response_that_comes_too_slowly_is_an_error(server: ScriptedServer) -> None:
    server.replies = [Reply(body=b"x" * 1000)]
    an_hour_later = iter(range(0, 36_000_000, 3600))

    with (
        Registry(server.url, sleep=lambda _: None, clock=lambda: next(an_hour_later)) as registry,
        pytest.raises(RegistryUnavailable, match="too slowly"),
    ):
        registry.download("/x")


@pytest.mark.parametrize("body", [b"null", b"[]", b"1", b'"x"', b"", b"[" * 100_000])
def test_a_response_that_is_not_an_object_is_refused(server: ScriptedServer, body: bytes) -> None:
    server.replies = [Reply(body=body)]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="not respond with"):
        registry.get_json("/x")


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404, b"[" * 100_000),
        Reply(404, b'{"title": {"a": 1}, "detail": ["b"], "hint": 1e308, "code": ["c"]}'),
        Reply(429, b"{}", {"Retry-After": "9" * 5000}),
        Reply(429, b"{}", {"Retry-After": "Mon, 01 Jan 99999999999 00:00:00 GMT"}),
        Reply(200, b'{"name": "\\ud800"}'),
        Reply(200, b'{"score": NaN}'),
        Reply(302, b"", {"Location": "http://[nowhere/"}),
        Reply(302, b"", {"Location": "http://127.0.0.1:99999999/"}),
        Reply(302, b"", {"Location": "file:///etc/passwd"}),
        Reply(302, b"", {"Location": "http://a..b/"}),
        Reply(302, b"", {"Location": f"http://{'a' * 64}.example/"}),
        Reply(302, b""),
    ],
)
def test_a_malformed_answer_is_an_error_of_the_registry(
    server: ScriptedServer, reply: Reply
) -> None:
    server.replies = [reply]

    with Registry(server.url) as registry, pytest.raises(RegistryError):
        registry.get_json("/x")


def a_page(cursor: str, rows: int = 1) -> Reply:
    names = ("version", "standing", "createdAt", "contentHash", "diffSummary", "reason")
    row = {**dict.fromkeys(names, "x"), "approvedBy": None}
    return Reply(body=msgspec.json.encode({"versions": [row] * rows, "nextCursor": cursor}))


@pytest.mark.parametrize("last", [a_page("3"), a_page("4", rows=0)], ids=["same", "empty"])
def test_a_list_without_end_is_an_error(server: ScriptedServer, last: Reply) -> None:
    server.replies = [a_page("2"), a_page("3"), last]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="does not end"):
        versions(registry, slug="@acme/demo", as_json=True)

    assert len(server.seen) == 3


def test_a_download_that_breaks_off_is_an_error(server: ScriptedServer) -> None:
    server.replies = [Reply(body=b"half", headers={"Content-Length": "8", "Connection": "close"})]

    with (
        Registry(server.url, sleep=lambda _: None) as registry,
        pytest.raises(RegistryUnavailable, match=r"connection to .* failed"),
    ):
        registry.download("/x")


def test_an_upload_reports_its_progress(server: ScriptedServer) -> None:
    told: list[tuple[int, int | None]] = []

    with Registry(server.url, TOKEN) as registry:
        registry.upload(
            "/up",
            {"namespace": "@ada"},
            [("tidy/SKILL.md", b"a" * 100_000), ("tidy/ä.txt", b"b")],
            on_progress=lambda *at: told.append(at),
        )

    sent = server.seen[0]
    assert told[-1][0] == told[-1][1] == len(sent.body) == int(sent.headers["Content-Length"])
    assert len(told) > 1
    assert b'name="files"; filename="tidy/SKILL.md"' in sent.body
    assert b'name="namespace"\r\n\r\n@ada' in sent.body


def test_a_proxy_does_not_see_what_is_sent_to_this_machine(
    server: ScriptedServer, elsewhere: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
    monkeypatch.setenv("http_proxy", elsewhere.url)

    with Registry(server.url, TOKEN) as registry:
        registry.get_json("/x")

    assert len(server.seen) == 1
    assert elsewhere.seen == []


@all_cases(
    ("text", "url"),
    [
        ("skills.example", "https://skills.example"),
        ("https://Skills.Example/", "https://skills.example"),
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("[::1]", "http://[::1]"),
        ("localhost.example", "https://localhost.example"),
        ("https://a.example/registry/", "https://a.example/registry"),
    ],
)
def test_the_scheme_of_an_address_may_be_left_out(text: str, url: str) -> None:
    assert checked_url(text) == url


@all_cases(
    "text",
    [
        "ftp://a",
        "https://",
        "https://a b",
        "https://u:p@a",
        "https://a?x=1",
        "http://a:99999",
        "[::1",
        "",
    ],
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        checked_url(text)


def test_a_slug_is_one_segment_of_a_path() -> None:
    assert segment("@ada/tidy notes") == "@ada%2Ftidy%20notes"


def test_a_response_whose_head_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "_MAX_SECONDS", 0.3)
    stopped = threading.Event()
    requests: list[bytes] = []

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        requests.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        with suppress(OSError):  # the client hangs up
            while not stopped.wait(0.01):
                connection.sendall(b"x")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=(listening,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with (
            Registry(url, sleep=lambda _: None) as registry,
            pytest.raises(RegistryUnavailable, match="did not answer in time"),
        ):
            registry.get_json("/x")
        stopped.set()
        thread.join(20)

    assert len(requests) == 1  # what takes this long is not tried again


def test_a_connection_is_used_again_after_a_deadline_that_was_kept(server: ScriptedServer) -> None:
    with Registry(server.url) as registry:
        found = [registry.get_json("/x") for _ in range(20)]

    assert found == [{}] * 20

"""Commands against a registry whose answers are hostile, wrong or missing."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from click.testing import CliRunner, Result

import vskill_platform
from tests.unit.client.conftest import Reply, ScriptedServer
from vskill_platform.cli.main import cli
from vskill_platform.errors import InvalidInput, RegistryError

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e[red]\n\tx"
MOMENT = "2026-01-02T03:04:05Z"
FINDING = {
    "rule": HOSTILE, "severity": "high", "message": HOSTILE, "fix": HOSTILE, "kind": "risky",
    "file": HOSTILE, "line": 1,
}  # fmt: skip
SUBMISSION = {
    "id": HOSTILE, "state": HOSTILE, "reason": HOSTILE, "repoUrl": HOSTILE, "skillName": HOSTILE,
    "skillPath": HOSTILE, "submitter": HOSTILE, "createdAt": MOMENT, "updatedAt": MOMENT,
    "publishedSkillName": HOSTILE, "position": 3, "isPrivate": False,
    "stateHistory": [{"at": MOMENT, "toState": HOSTILE, "reason": HOSTILE, "actor": HOSTILE}],
    "scanResult": {
        "verdict": "block", "score": 90, "findings": [FINDING],
        "capabilities": {HOSTILE: [HOSTILE]}, "scanner": HOSTILE, "ruleset": HOSTILE,
    },
}  # fmt: skip
SKILL = {
    "slug": HOSTILE, "currentVersion": HOSTILE, "trustTier": HOSTILE, "trustScore": 1,
    "description": HOSTILE,
}  # fmt: skip
VERSION = {
    "version": HOSTILE, "standing": HOSTILE, "createdAt": HOSTILE, "contentHash": HOSTILE,
    "diffSummary": HOSTILE, "reason": HOSTILE, "approvedBy": None,
}  # fmt: skip
CASE = {
    "id": HOSTILE, "skillName": HOSTILE, "state": HOSTILE, "repoUrl": HOSTILE, "skillPath": HOSTILE,
    "submitter": HOSTILE, "digest": HOSTILE, "published": HOSTILE, "gained": {HOSTILE: [HOSTILE]},
    "files": [{"path": HOSTILE, "size": 1}], "report": SUBMISSION["scanResult"],
}  # fmt: skip
BLOCK = {
    "id": HOSTILE, "contentHash": None, "sourceUrl": HOSTILE, "publisher": None,
    "skillName": HOSTILE, "reason": HOSTILE, "discoveredAt": HOSTILE,
}  # fmt: skip
REVIEW = {
    "id": HOSTILE, "skillName": HOSTILE, "submitter": HOSTILE, "since": HOSTILE, "rule": HOSTILE,
    "decided": HOSTILE,
}  # fmt: skip
FOLLOWED = {
    "slug": HOSTILE, "repoUrl": HOSTILE, "branch": HOSTILE, "status": HOSTILE, "problem": HOSTILE,
}  # fmt: skip
OFFER = {
    "id": HOSTILE, "subject": HOSTILE, "to": HOSTILE, "by": HOSTILE, "expiresAt": HOSTILE,
    "canAccept": True,
}  # fmt: skip
WEBHOOK = {
    "id": HOSTILE, "url": HOSTILE, "namespace": HOSTILE, "owner": HOSTILE, "types": [HOSTILE],
    "shape": HOSTILE, "label": HOSTILE, "isEnabled": False, "problem": HOSTILE,
}  # fmt: skip
DELIVERY = {
    "id": HOSTILE, "type": HOSTILE, "state": HOSTILE, "attempts": 1, "createdAt": MOMENT,
    "status": 500, "answer": HOSTILE,
}  # fmt: skip
APPEAL = {
    "id": HOSTILE, "subject": HOSTILE, "name": HOSTILE, "verdict": HOSTILE, "decidedBy": HOSTILE,
    "reason": HOSTILE, "by": HOSTILE, "createdAt": MOMENT, "state": HOSTILE,
    "messages": [{"by": HOSTILE, "at": MOMENT, "text": HOSTILE, "isStaff": True}],
}  # fmt: skip
REPORT = {
    "id": HOSTILE, "kind": HOSTILE, "subject": HOSTILE, "version": HOSTILE, "reason": HOSTILE,
    "by": HOSTILE, "status": HOSTILE, "createdAt": MOMENT, "answer": HOSTILE,
}  # fmt: skip
DELETION = {
    "slug": HOSTILE, "versions": [HOSTILE], "isWholeSkill": True, "aliases": [HOSTILE],
    "installs": 1, "bytes": 1, "refused": None,
}  # fmt: skip
NAMESPACE_DELETION = {
    "namespace": HOSTILE, "skills": [{"slug": HOSTILE, "versions": 1, "installs": 1}],
    "owners": [HOSTILE], "members": [HOSTILE], "webhooks": 1, "trustedPublishers": 1, "tokens": 1,
    "installs": 1, "bytes": 1, "refused": None,
}  # fmt: skip
NAMESPACE = {"name": HOSTILE, "owners": [HOSTILE], "members": [HOSTILE]}
ANSWERS: dict[tuple[str, ...], Any] = {
    ("status", "x"): SUBMISSION,
    ("submissions",): {"submissions": [SUBMISSION], "total": 2, "nextCursor": None},
    ("search", "x"): {"skills": [SKILL], "pagination": {"total": 1}},
    ("versions", "x"): {"versions": [VERSION], "nextCursor": None},
    ("diff", "x", "1", "2"): {
        "from": HOSTILE, "to": HOSTILE, "diffSummary": HOSTILE, "contentDiff": f"+{HOSTILE}\n",
        "gained": {HOSTILE: [HOSTILE]},
    },
    ("reviews",): {"reviews": [REVIEW]},
    ("reviews", "show", "x"): CASE,
    ("block", "list"): {"entries": [BLOCK]},
    ("retry", "x"): SUBMISSION,
    ("webhooks", "list"): {"webhooks": [WEBHOOK]},
    ("webhooks", "add", "https://x.example"): {"webhook": WEBHOOK, "secret": HOSTILE},
    ("webhooks", "change", "x", "--off"): WEBHOOK,
    ("webhooks", "rotate", "x"): {"webhook": WEBHOOK, "secret": HOSTILE},
    ("webhooks", "log", "x"): {"deliveries": [DELIVERY]},
    ("members", "list"): {"namespaces": [NAMESPACE], "nextCursor": None},
    ("members", "add", "@a", "ben"): NAMESPACE,
    ("members", "remove", "@a", "ben"): NAMESPACE,
    ("appeals", "list"): {"appeals": [APPEAL]},
    ("appeals", "show", "x"): APPEAL,
    ("appeals", "open", "x", "--text", "y"): APPEAL,
    ("appeals", "decide", "x", "granted", "--text", "y"): APPEAL,
    ("reports", "add", "@a/b@1.0.0", "--reason", "y"): {"report": REPORT},
    ("reports", "list"): {"reports": [REPORT]},
    ("reports", "close", "x", "--answer", "y"): REPORT,
    ("follow", "a/b"): {"followed": [FOLLOWED], "nextCursor": None},
    ("follow", "--list"): {"followed": [FOLLOWED], "nextCursor": None},
    ("follow", "a/b", "--stop"): {"followed": [FOLLOWED], "nextCursor": None},
    ("delete", "a/b", "--dry-run"): DELETION,
    ("delete", "a", "--namespace", "--dry-run"): NAMESPACE_DELETION,
    ("rename", "a/b", "c"): {"subject": HOSTILE, "isDone": True},
    ("transfer", "a/b", "@c"): {"subject": HOSTILE, "isDone": False, "transfer": OFFER},
    ("transfers",): {"transfers": [OFFER]},
    ("whoami",): {"name": HOSTILE, "role": HOSTILE, "scopes": [HOSTILE], "namespaces": [HOSTILE]},
    ("discover", "https://git.example/a/b"): {
        "skills": [{"name": HOSTILE, "path": HOSTILE, "isFine": True, "description": HOSTILE}]
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("VSKILL_REGISTRY", raising=False)
    monkeypatch.delenv("VSKILL_TOKEN", raising=False)


def run(server: ScriptedServer, command: tuple[str, ...], *options: str, answer: Any) -> Result:
    server.replies = [Reply(body=msgspec.json.encode(answer))]
    return CliRunner().invoke(cli, [*command, "--registry", server.url, *options])


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("command", ANSWERS, ids=" ".join)
def test_nothing_of_a_registry_acts_on_the_terminal(
    server: ScriptedServer, command: tuple[str, ...], form: str
) -> None:
    options = ["--json"] if form == "json" else []

    done = run(server, command, *options, answer=ANSWERS[command])

    assert done.exit_code == 0, (done.output, done.exception)
    acting = {char for char in done.output if not char.isprintable() and char not in "\n\t"}
    assert acting == set()
    if form == "json":
        found = msgspec.json.decode(done.stdout)
        assert ANSWERS[command].items() <= found.items()


@pytest.mark.parametrize("command", ANSWERS, ids=" ".join)
def test_an_answer_without_its_fields_is_an_error(
    server: ScriptedServer, command: tuple[str, ...]
) -> None:
    done = run(server, command, answer={})

    assert isinstance(done.exception, RegistryError)
    assert "the response has no field" in str(done.exception)


def altered(answer: Any, *, types: int) -> Iterator[Any]:
    """Yield the answer with each of its values replaced by one of other types, one at a time."""
    odd: list[Any] = [None, "x", [[7]], 7, {"x": {}}]
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield from ({**answer, name: other} for other in altered(value, types=types))
    elif isinstance(answer, list):
        for place, value in enumerate(answer):
            yield from (
                [*answer[:place], other, *answer[place + 1 :]]
                for other in altered(value, types=types)
            )
    yield from [other for other in odd if type(other) is not type(answer)][:types]


@pytest.mark.parametrize("types", [2, pytest.param(5, marks=pytest.mark.torture)])
@pytest.mark.parametrize("command", ANSWERS, ids=" ".join)
def test_values_of_other_types_are_an_error_with_a_reason(
    server: ScriptedServer, command: tuple[str, ...], types: int
) -> None:
    for answer in altered(ANSWERS[command], types=types):
        done = run(server, command, answer=answer)

        known = isinstance(done.exception, RegistryError | SystemExit | None)
        assert known, (answer, done.exception)


def calls_without_a_kind(path: Path) -> list[str]:
    """Return the requests in a module whose answers are not checked."""
    kinds = {"get_json": 2, "delete_json": 2, "post_json": 3}
    return [
        f"{path.name}:{node.lineno}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and len(node.args) < kinds.get(node.func.attr, 0)
    ]


def test_every_answer_of_a_registry_is_checked() -> None:
    package = Path(vskill_platform.__file__).parent
    modules = [*package.glob("cli/*.py"), *package.glob("client/*.py")]

    assert [call for path in modules for call in calls_without_a_kind(path)] == []


def test_nobody_signs_in_where_others_can_listen() -> None:
    done = CliRunner().invoke(cli, ["login", "http://skills.example"])

    assert isinstance(done.exception, InvalidInput)
    assert "use https" in str(done.exception)


def test_members_are_added_and_removed_in_the_namespace_that_is_named(
    server: ScriptedServer,
) -> None:
    answer = {"name": "git.example/a", "owners": ["ada"], "members": []}

    run(server, ("members", "add", "git.example/a", "ben"), answer=answer)
    added = server.seen[-1]
    done = run(server, ("members", "remove", "git.example/a", "ben"), answer=answer)
    removed = urlsplit(server.seen[-1].path)

    assert msgspec.json.decode(added.body) == {"namespace": "git.example/a", "user": "ben"}
    assert removed.path == "/api/v1/namespaces/members"
    assert parse_qs(removed.query) == {"namespace": ["git.example/a"], "user": ["ben"]}
    assert done.output == "git.example/a: owned by ada; members: none.\n"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("search", "--can", "fly"), "unknown capability 'fly'"),
        (("search", "--cannot", "network,fly"), "unknown capability 'fly'"),
        (("search", "--tier", "T9"), "unknown tier 'T9'; use some of T0, T1, T2, T3, T4"),
        (("publish", "no/such/folder"), "no/such/folder does not exist"),
        (("webhooks", "replay", "ep_1"), "name one delivery, or use --failed"),
        (("webhooks", "change", "ep_1"), "say what to change"),
    ],
)
def test_wrong_usage_has_an_exit_code_of_its_own_and_sends_nothing(
    server: ScriptedServer, command: tuple[str, ...], problem: str
) -> None:
    count = len(server.seen)

    done = run(server, command, answer={})

    assert done.exit_code == 2, done.output
    assert problem in done.stderr
    assert len(server.seen) == count


@pytest.mark.parametrize(
    "command",
    [
        ["login", "http://[/", "--token", "vsk_1"],
        ["login", "skills.example", "--name", "A B", "--token", "vsk_1"],
        ["admin", "audit", "--from", "yesterday"],
    ],
)
def test_an_address_a_name_or_a_date_that_is_none_is_wrong_usage(command: list[str]) -> None:
    done = CliRunner().invoke(cli, command)

    assert done.exit_code == 2, done.output


def test_a_search_reads_as_many_pages_as_it_needs(server: ScriptedServer) -> None:
    def page(count: int, cursor: str | None) -> Reply:
        rows = [{**ANSWERS["search", "x"]["skills"][0], "slug": f"a/b/{cursor}{at}"}
                for at in range(count)]  # fmt: skip
        found = {"skills": rows, "pagination": {"total": 120}, "nextCursor": cursor}
        return Reply(body=msgspec.json.encode(found))

    server.replies = [page(100, "abc"), page(10, "def")]
    done = CliRunner().invoke(
        cli, ["search", "x", "--limit", "110", "--json", "--registry", server.url]
    )
    asked = [parse_qs(urlsplit(one.path).query) for one in server.seen[-2:]]

    assert len(msgspec.json.decode(done.stdout)["skills"]) == 110
    assert [(one["limit"], one.get("cursor")) for one in asked] == [
        (["100"], None), (["10"], ["abc"]),
    ]  # fmt: skip


def test_a_search_sends_its_filters_with_the_names_of_the_api(server: ScriptedServer) -> None:
    found = {"skills": [], "pagination": {"total": 0}}
    options = ("--can", "shell", "--cannot", "network", "--cannot", "secrets", "--tier", "T2",
               "--namespace", "@acme", "--tag", "pdf", "--agent", "codex")  # fmt: skip

    done = run(server, ("search", "pdf"), *options, answer=found)
    sent = parse_qs(urlsplit(server.seen[-1].path).query)
    count = len(server.seen)
    nothing = run(server, ("search",), answer=found)

    assert done.exit_code == 0, done.output
    assert sent == {
        "q": ["pdf"], "limit": ["20"], "can": ["shell"], "cannot": ["network,secrets"],
        "tier": ["T2"], "namespace": ["@acme"], "tag": ["pdf"], "agent": ["codex"],
    }  # fmt: skip
    assert nothing.exit_code == 2
    assert "give some words to search for, or a filter" in nothing.stderr
    assert len(server.seen) == count

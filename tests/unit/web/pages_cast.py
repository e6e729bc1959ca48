"""Published skills for tests of pages, written as publishing writes them.

They skip the checks: the skills these tests need would not pass them.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.casts import a_submission
from tests.clocks import NOON
from vskill_platform.catalogue.catalogue import Catalogue, open_catalogue
from vskill_platform.engines.operations import ABSENT
from vskill_platform.fetch.pack import pack
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.model.skill import Capabilities, PublishedSkill, SkillVersion
from vskill_platform.model.source import Source, SourceKind, git_source
from vskill_platform.model.submission import StateEvent, Submission, SubmissionState
from vskill_platform.model.verdict import Finding, FindingKind, Report, Severity, Verdict, score
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.blob_store import keep
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.submission_store import write_submission
from vskill_platform.stores.version_store import write_version

MANIFEST = """\
---
name: {name}
description: Tidies notes.
license: MIT
metadata:
  author: Ada
---

# Tidy

Read [the script](scripts/run.py#L2), then run it.
"""
FILES = {"SKILL.md": MANIFEST.format(name="tidy"), "scripts/run.py": "import os\nprint('tidy')\n"}


class Site:
    """The whole application with its catalogue, and somebody who looks at its pages."""

    def __init__(self, env: WorkerEnv, catalogue: Catalogue, browser: AsyncClient) -> None:
        self._env = env
        self.catalogue = catalogue
        self.browser = browser

    async def get(self, address: str, **headers: str) -> Response:
        """Return a page once all that was written before is in the catalogue."""
        assert await self.catalogue.wait_until(
            await self._env.engine.revision(), within=timedelta(minutes=1)
        )
        return await self.browser.get(address, headers=headers)


@asynccontextmanager
async def open_site(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_catalogue(env) as catalogue:
        await catalogue.wait_until_ready()
        transport = ASGITransport(cast("Any", an_app(env, catalogue=catalogue)))
        async with AsyncClient(
            transport=transport, base_url="http://registry", headers={"Accept": "text/html"}
        ) as browser:
            yield Site(env, catalogue, browser)


def a_finding(**fields: Any) -> Finding:
    values: dict[str, Any] = {
        "rule": "SKR-RUN-004",
        "severity": Severity.MEDIUM,
        "kind": FindingKind.RISKY,
        "message": "Somebody's script is fetched and run.",
        "why": "It may change.",
        "fix": "Put it into the skill.",
        "file": "scripts/run.py",
        "line": 2,
        "fingerprint": "f1",
    }
    return Finding(**{**values, **fields})


async def put_skill(
    env: WorkerEnv,
    folder: Path,
    slug: str = "ada/notes/tidy",
    *,
    files: Mapping[str, str | bytes] | None = None,
    findings: tuple[Finding, ...] = (),
    verdict: Verdict = Verdict.PASS,
    report: dict[str, Any] | None = None,
    at: datetime = NOON,
    can: Capabilities | None = None,
    **fields: Any,
) -> PublishedSkill:
    """Publish the next version of a skill; other fields are the skill's own."""

    async def put() -> PublishedSkill:
        before = await get_skill(slug)
        number = before.record.versions + 1 if before else 1
        version, archive = _pack(
            folder / f"{slug.replace('/', '-')}-{number}", slug, number, files, at
        )
        if can is not None:
            version = msgspec.structs.replace(version, capabilities=can)
        submission = _submission(slug, version)
        skill = _skill(submission, version, before.record if before else None, fields)
        found = Report(
            submission_id=submission.id,
            verdict=verdict,
            findings=findings,
            digest=version.digest,
            scanner="vskill-tier1 1",
            checked_at=at,
            duration_seconds=0.04,
            ruleset="abc123",
            **{"score": score(findings), **(report or {})},
        )
        done = await env.engine.commit(
            [
                write_skill(skill, expected=before.revision if before else ABSENT),
                *write_version(version, await keep(version.archive_sha256, archive)),
                write_report(found),
                *([] if before else write_submission(submission, [], expected=ABSENT)),
            ]
        )
        assert done
        return skill

    return await run_with_worker_env(env, put)


async def change_skill(env: WorkerEnv, slug: str, **fields: Any) -> None:
    async def change() -> None:
        stored = await get_skill(slug)
        assert stored
        changed = msgspec.structs.replace(stored.record, **fields)
        assert await env.engine.commit([write_skill(changed, expected=stored.revision)])

    await run_with_worker_env(env, change)


async def put_submission(
    env: WorkerEnv,
    state: SubmissionState,
    *,
    name: str = "tidy",
    url: str = "https://github.com/ada/notes",
    findings: tuple[Finding, ...] = (),
    scanner: str = "vskill-tier1 1",
    submitter: str = "ada",
    **fields: Any,
) -> Submission:
    """Write down a submission that has come no further than *state*."""

    async def put() -> Submission:
        plain = a_submission(state, **{"reason": "It is what it is.", **fields})
        is_upload = url.startswith("upload:")
        source = a_source(url) if is_upload else git_source(url, "skills/tidy")
        sent = msgspec.structs.replace(
            plain, source=source, repo_url=url, skill_name=name, submitter=submitter
        )
        report = Report(
            submission_id=sent.id,
            verdict=Verdict.BLOCK,
            findings=findings,
            digest=None,
            scanner=scanner,
            score=score(findings),
            checked_at=NOON,
            duration_seconds=0.1,
        )
        event = StateEvent(
            submission_id=sent.id,
            number=0,
            from_state=SubmissionState.TIER1_SCANNING,
            to_state=state,
            trigger="check",
            actor="node-1",
            reason=sent.reason,
            at=sent.updated_at,
        )
        operations = [*write_submission(sent, [event], expected=ABSENT), write_report(report)]
        assert await env.engine.commit(operations)
        return sent

    return await run_with_worker_env(env, put)


def a_source(url: str) -> Source:
    if url.startswith("upload:"):
        return Source(kind=SourceKind.UPLOAD, url=url, upload_sha256="ab" * 32)
    return git_source(url)


def _pack(
    folder: Path, slug: str, number: int, files: Mapping[str, str | bytes] | None, at: datetime
) -> tuple[SkillVersion, bytes]:
    origin = folder / "origin"
    for path, content in (files or FILES).items():
        place = origin / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    snapshot = take_snapshot(origin, folder / "snapshot", folder_name=None)
    packed = pack(snapshot.folder, snapshot.files)
    version = SkillVersion(
        slug=slug,
        number=number,
        version=f"1.0.{number - 1}",
        digest=snapshot.digest,
        files=snapshot.files,
        archive_sha256=packed.sha256,
        commit_sha="c0ffee" * 6 + "c0ff",
        submission_id=_submission_id(slug),
        published_at=at,
        capabilities={"hosts": ("api.example",), "commands": ("python",)} if number > 1 else {},
    )
    return version, packed.content


def _submission_id(slug: str) -> str:
    return f"sub_{slug.replace('/', '-')}"


def _submission(slug: str, version: SkillVersion) -> Submission:
    plain = a_submission(SubmissionState.PUBLISHED, submission_id=version.submission_id, slug=slug)
    url = f"upload:{slug}" if slug.startswith("@") else "https://github.com/ada/notes"
    return msgspec.structs.replace(
        plain,
        source=a_source(url),
        repo_url=url,
        skill_name=slug.rsplit("/", 1)[-1],
        digest=version.digest,
    )


def _skill(
    submission: Submission,
    version: SkillVersion,
    before: PublishedSkill | None,
    fields: dict[str, Any],
) -> PublishedSkill:
    values: dict[str, Any] = {
        "slug": version.slug,
        "name": version.slug.rsplit("/", 1)[-1],
        "description": "Tidies notes.",
        "repo_url": submission.repo_url,
        "skill_path": "",
        "source_key": submission.source.owner_key,
        "publisher": submission.source.publisher,
        "submission_id": submission.id,
        "version": version.version,
        "versions": version.number,
        "digest": version.digest,
        "published_at": before.published_at if before else version.published_at,
        "checked_at": version.published_at,
        "license": "MIT",
        "yanked": before.yanked if before else (),
    }
    return PublishedSkill(**{**values, **fields})

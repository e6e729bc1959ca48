"""ClawHub v1 as its clients ask for it; tests/clients runs the clients themselves."""

import asyncio
import hashlib
import io
import json
import zipfile
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from tests.casts import GOOD_MANIFEST
from tests.clocks import NOON
from tests.unit.web.api_cast import Registry, audited, open_registry, token_of
from tests.unit.web.pages_cast import (
    FILES,
    a_finding,
    change_skill,
    put_skill,
    put_submission,
)
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.model.verdict import Severity, Verdict
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.install_store import get_installs
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.stores.upload_store import count_staged
from vskill_platform.web.protocols.clawhub import publish as clawhub_publish
from vskill_platform.web.protocols.clawhub import uploads as clawhub_uploads
from vskill_platform.web.protocols.clawhub.fingerprint import fingerprint

SKILLS = "/api/v1/skills"
TIDY = {"ownerHandle": "ada.notes"}
NODE = {"User-Agent": "node"}
MANIFEST = GOOD_MANIFEST.format(name="tidy-notes").encode()
DOWN = TakenDown(reason="it steals keys", by="cyd", at=NOON)
THEFT = a_finding(
    rule="SKR-LEAK-001",
    severity=Severity.CRITICAL,
    message="Sends credentials to a third party.",
    why="Keys leave the machine.",
)


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is processed in these tests, so nothing is waited for."""
    monkeypatch.setattr(clawhub_publish, "RESULT_AFTER", timedelta(0))


async def ask(registry: Registry, path: str, *, method: str = "GET", **options: Any) -> Response:
    """Send a request when all earlier writes are in the search index.

    Not through `registry.get`: our API's document does not describe ClawHub's answers.
    """
    assert await registry.catalogue.wait_until(
        await registry.env.engine.revision(), within=timedelta(minutes=1)
    )
    return await registry.client.request(method, path, **options)


async def answer(registry: Registry, path: str, **options: Any) -> Any:
    got = await ask(registry, path, **options)
    assert got.status_code == 200, got.text
    return got.json()


async def a_publisher(*scopes: Scope) -> dict[str, str]:
    """Return the headers of Ada, who owns @ada."""
    headers = await token_of(Role.PUBLISHER, *scopes)
    await add_owner("@ada", "ada", actor="test")
    return headers


async def test_clients_find_the_registry_by_its_site(registry: Registry) -> None:
    found = await answer(registry, "/.well-known/clawhub.json")

    assert found == {"apiBase": "http://registry", "authBase": "http://registry"}


async def test_a_skill_is_found_and_shown_by_owner_and_name(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)

    found = (await answer(registry, "/api/v1/search?q=tidy"))["results"][0]
    shown = await answer(registry, f"{SKILLS}/tidy", params=TIDY)
    bare = await answer(registry, f"{SKILLS}/tidy", headers=NODE)

    assert (found["slug"], found["ownerHandle"], found["source"]) == (
        "tidy",
        "ada.notes",
        "clawhub",
    )
    assert found["install"]["reference"] == "@ada.notes/tidy"
    assert shown == bare
    assert shown["skill"]["updatedAt"] == int(NOON.timestamp() * 1000)
    assert shown["latestVersion"]["version"] == "1.0.0"
    assert shown["latestVersion"]["license"] is None
    assert shown["owner"]["handle"] == "ada.notes"
    assert (shown["moderation"]["verdict"], shown["moderation"]["isSuspicious"]) == ("clean", False)


async def test_a_name_of_several_skills_is_refused_with_the_candidates(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, "@ben/tidy", publisher="@ben")
    await put_skill(registry.env, tmp_path, "@cyd/tidy", publisher="@cyd", is_private=True)

    shown = await ask(registry, f"{SKILLS}/tidy", headers=NODE)
    install = await ask(registry, f"{SKILLS}/tidy/install")
    error = json.loads(shown.text)

    assert shown.status_code == 404
    assert error["code"] == "AMBIGUOUS_SKILL_SLUG"
    assert {match["ref"] for match in error["matches"]} == {"@ada.notes/tidy", "@ben/tidy"}
    assert (install.status_code, install.json()["reason"]) == (409, "ambiguous_slug")


async def test_lists_have_the_fields_of_both_apis(registry: Registry, tmp_path: Path) -> None:
    for name in ("tidy", "tidy-notes", "plot"):
        await put_skill(registry.env, tmp_path, f"ada/notes/{name}")

    listed = await answer(registry, f"{SKILLS}?limit=2&sort=name", headers=NODE)
    rest = await answer(
        registry, f"{SKILLS}?limit=2&sort=name&cursor={listed['nextCursor']}", headers=NODE
    )
    begun = await answer(registry, f"{SKILLS}?prefix=tidy&limit=5")
    trending = await answer(registry, "/api/v1/trending?kind=skills")

    assert [item["slug"] for item in listed["items"]] == ["plot", "tidy"]
    assert [item["slug"] for item in listed["skills"]] == ["ada/notes/plot", "ada/notes/tidy"]
    assert ([item["slug"] for item in rest["items"]], rest["nextCursor"]) == (["tidy-notes"], None)
    assert [item["slug"] for item in begun["items"]] == ["tidy", "tidy-notes"]
    assert len(trending["items"]) == 3


async def test_versions_files_and_archives_are_served_as_they_were_checked(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, files={**FILES, "more.md": "more"})

    versions = await answer(registry, f"{SKILLS}/tidy/versions", params=TIDY)
    one = await answer(registry, f"{SKILLS}/tidy/versions/1.0.1", params=TIDY)
    file = await ask(registry, f"{SKILLS}/tidy/file", params={**TIDY, "path": "scripts/run.py"})
    query = {**TIDY, "slug": "tidy"}
    latest = await ask(registry, "/api/v1/download", params=query)
    none = await ask(registry, f"{SKILLS}/tidy/file", params={**TIDY, "path": "../x"})

    assert [item["version"] for item in versions["items"]] == ["1.0.1", "1.0.0"]
    assert {item["path"] for item in one["version"]["files"]} == {*FILES, "more.md"}
    assert one["version"]["security"]["status"] == "clean"
    assert file.text == FILES["scripts/run.py"]
    assert none.status_code == 404
    with zipfile.ZipFile(io.BytesIO(latest.content)) as opened:
        assert set(opened.namelist()) == {*FILES, "more.md"}
    assert (await get_installs("ada/notes/tidy")).total == 1


async def test_a_folder_is_recognized_by_its_fingerprint(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, files={**FILES, "more.md": "more"})
    first = fingerprint(
        (path, hashlib.sha256(text.encode()).hexdigest()) for path, text in FILES.items()
    )

    known = await answer(registry, f"/api/v1/resolve?slug=tidy&ownerHandle=ada.notes&hash={first}")
    other = await answer(registry, "/api/v1/resolve?slug=tidy&ownerHandle=ada.notes&hash=00")
    absent = await ask(registry, f"/api/v1/resolve?slug=none&hash={first}")

    assert known == {"match": {"version": "1.0.0"}, "latestVersion": {"version": "1.0.1"}}
    assert other == {"match": None, "latestVersion": {"version": "1.0.1"}}
    assert (absent.status_code, absent.text) == (404, "Skill not found")


async def verdict_on(registry: Registry, name: str, owner: str, version: str = "1.0.0") -> Any:
    asked = {"items": [{"slug": name, "ownerHandle": owner, "version": version}]}
    path = f"{SKILLS}/-/security-verdicts"
    (item,) = (await answer(registry, path, method="POST", json=asked))["items"]
    return item


async def test_a_clean_version_may_be_installed(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path)

    verdict = await verdict_on(registry, "tidy", "ada.notes")
    install = await answer(registry, f"{SKILLS}/tidy/install", params=TIDY)
    verified = await answer(registry, f"{SKILLS}/tidy/verify", params=TIDY)

    assert (verdict["ok"], verdict["decision"], verdict["reasons"]) == (True, "pass", [])
    assert verdict["security"]["passed"] is True
    assert "No security findings." in verdict["overview"]
    assert install["archive"]["version"] == "1.0.0"
    assert install["archive"]["downloadUrl"].startswith("http://registry/api/v1/download?")
    assert (verified["ok"], verified["schema"]) == (True, "clawhub.skill.verify.v1")


async def test_a_blocked_skill_is_refused_with_our_findings(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, findings=(THEFT,), verdict=Verdict.BLOCK)
    await change_skill(registry.env, "ada/notes/tidy", down=DOWN)

    shown = await answer(registry, f"{SKILLS}/tidy", params=TIDY)
    verdict = await verdict_on(registry, "tidy", "ada.notes")
    install = await ask(registry, f"{SKILLS}/tidy/install", params=TIDY)
    verified = await answer(registry, f"{SKILLS}/tidy/verify", params=TIDY)
    download = await ask(registry, "/api/v1/download", params={**TIDY, "slug": "tidy"})
    resolved = await answer(registry, "/api/v1/resolve?slug=tidy&ownerHandle=ada.notes&hash=00")

    assert shown["latestVersion"] is None
    assert shown["moderation"]["isMalwareBlocked"] is True
    assert verdict["decision"] == "blocked"
    assert verdict["security"]["status"] == "malicious"
    assert verdict["securityAuditUrl"] == "http://registry/skills/ada/notes/tidy"
    assert install.status_code == 423
    for text in (verdict["overview"], install.json()["message"], shown["moderation"]["summary"]):
        assert "it steals keys" in text
        assert "Sends credentials to a third party. (scripts/run.py:2) Keys leave" in text
    assert (verified["ok"], verified["decision"]) == (False, "fail")
    assert (download.status_code, "it steals keys" in download.text) == (403, True)
    assert resolved == {"match": None, "latestVersion": None}


async def test_a_skill_that_was_taken_down_is_known_by_its_name(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await change_skill(registry.env, "ada/notes/tidy", down=DOWN)

    shown = await answer(registry, f"{SKILLS}/tidy", headers=NODE)
    await change_skill(registry.env, "ada/notes/tidy", is_private=True)
    hidden = await ask(registry, f"{SKILLS}/tidy", headers=NODE)

    assert shown["moderation"]["isMalwareBlocked"] is True
    assert (hidden.status_code, hidden.text) == (404, "Skill not found")


async def test_a_refused_upload_is_shown_with_the_reasons(registry: Registry) -> None:
    await put_submission(
        registry.env, SubmissionState.REJECTED, name="evil", url="upload:@ben/evil",
        findings=(THEFT,),
    )  # fmt: skip

    shown = await answer(registry, f"{SKILLS}/evil?ownerHandle=ben")
    install = await ask(registry, f"{SKILLS}/evil/install?ownerHandle=ben")
    verdict = await verdict_on(registry, "evil", "ben")
    moderation = await answer(registry, f"{SKILLS}/evil/moderation?ownerHandle=ben")

    assert shown["latestVersion"] is None
    assert shown["moderation"]["isMalwareBlocked"] is True
    assert (install.status_code, install.json()["ok"]) == (423, False)
    assert "Sends credentials" in install.json()["message"]
    assert (verdict["decision"], verdict["publisherHandle"]) == ("blocked", "ben")
    assert moderation["moderation"]["evidence"][0]["code"] == "SKR-LEAK-001"


@pytest.mark.parametrize(
    ("state", "is_private"),
    [(SubmissionState.RECEIVED, False), (SubmissionState.REJECTED, True)],
)
async def test_a_submission_without_a_public_result_is_not_found(
    registry: Registry, state: SubmissionState, *, is_private: bool
) -> None:
    await put_submission(
        registry.env, state, name="evil", url="upload:@ben/evil", is_private=is_private
    )

    shown = await ask(registry, f"{SKILLS}/evil?ownerHandle=ben")
    verdict = await verdict_on(registry, "evil", "ben")

    assert (shown.status_code, shown.text) == (404, "Skill not found")
    assert verdict["error"]["code"] == "skill_not_found"


async def test_a_flagged_version_is_suspicious(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, findings=(a_finding(),), verdict=Verdict.REVIEW)

    shown = await answer(registry, f"{SKILLS}/tidy", params=TIDY)
    verdict = await verdict_on(registry, "tidy", "ada.notes")

    assert shown["moderation"]["isSuspicious"] is True
    assert shown["moderation"]["isMalwareBlocked"] is False
    assert (verdict["ok"], verdict["decision"]) == (False, "fail")
    assert verdict["security"]["status"] == "suspicious"


@pytest.mark.parametrize(
    "path",
    [
        f"{SKILLS}/tidy?ownerHandle=ada",
        f"{SKILLS}/tidy/versions?ownerHandle=ada",
        f"{SKILLS}/tidy/versions/1.0.0?ownerHandle=ada",
        f"{SKILLS}/tidy/file?ownerHandle=ada&path=SKILL.md",
        f"{SKILLS}/tidy/install?ownerHandle=ada",
        f"{SKILLS}/tidy/verify?ownerHandle=ada",
        f"{SKILLS}/tidy/moderation?ownerHandle=ada",
        f"{SKILLS}/-/scan/ada~tidy~1.0.0",
        "/api/v1/download?slug=tidy&ownerHandle=ada",
        "/api/v1/resolve?slug=tidy&ownerHandle=ada&hash=00",
        "/api/v1/resolve?slug=tidy&hash=00",
    ],
)
async def test_a_private_skill_answers_as_an_absent_one_except_to_its_owner(
    registry: Registry, tmp_path: Path, path: str
) -> None:
    await put_skill(registry.env, tmp_path, "@ada/tidy", publisher="@ada", is_private=True)
    owner = await a_publisher(Scope.READ)

    stranger = await ask(registry, path)
    absent = await ask(registry, path.replace("tidy", "none"))
    own = await ask(registry, path, headers=owner)

    assert (stranger.status_code, stranger.text) == (404, absent.text)
    assert stranger.headers["content-type"].startswith("text/plain")
    assert own.status_code == 200, own.text


async def test_private_skills_are_in_no_list_of_others(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, "@ada/tidy", publisher="@ada", is_private=True)
    owner = await a_publisher(Scope.READ)

    for path in ("/api/v1/search?q=tidy", "/api/v1/trending", f"{SKILLS}?prefix=tidy"):
        others = await answer(registry, path)
        own = await answer(registry, path, headers=owner)

        assert [len(rows) for rows in others.values() if isinstance(rows, list)] == [0]
        assert [len(rows) for rows in own.values() if isinstance(rows, list)] == [1]


async def test_yanked_skills_have_no_archive_to_install(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, "@ada/tidy", publisher="@ada")
    owner = await a_publisher(Scope.READ, Scope.MANAGE)
    where = f"{SKILLS}/tidy"
    body = {"ownerHandle": "ada", "reason": "obsolete"}

    stranger = await ask(registry, where, method="DELETE", json=body)
    gone = await answer(registry, where, method="DELETE", json=body, headers=owner)
    install = await ask(registry, f"{where}/install?ownerHandle=ada")
    back = await answer(registry, f"{where}/undelete", method="POST", json=body, headers=owner)
    again = await ask(registry, f"{where}/undelete", method="POST", json=body, headers=owner)
    shown = await answer(registry, f"{where}?ownerHandle=ada")

    assert stranger.status_code == 401
    assert gone == back == {"ok": True}
    assert (install.status_code, install.json()["reason"]) == (410, "archive_version_missing")
    assert again.status_code == 400
    assert shown["latestVersion"]["version"] == "1.0.0"


async def test_one_version_is_deleted_and_restored(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, "@ada/tidy", publisher="@ada")
    await put_skill(registry.env, tmp_path, "@ada/tidy", files={**FILES, "more.md": "more"})
    owner = await a_publisher(Scope.READ, Scope.MANAGE)
    where, body = f"{SKILLS}/tidy/versions/1.0.1", {"ownerHandle": "ada", "version": "1.0.1"}

    await answer(registry, where, method="DELETE", json=body, headers=owner)
    without = await answer(registry, f"{SKILLS}/tidy?ownerHandle=ada")
    await answer(registry, f"{where}/restore", method="POST", json=body, headers=owner)
    restored = await answer(registry, f"{SKILLS}/tidy?ownerHandle=ada")

    assert without["latestVersion"]["version"] == "1.0.0"
    assert restored["latestVersion"]["version"] == "1.0.1"


async def test_a_token_says_whose_it_is(registry: Registry) -> None:
    mine = await answer(registry, "/api/v1/whoami", headers=await a_publisher())
    nobody = await ask(registry, "/api/v1/whoami")
    wrong = await ask(registry, "/api/v1/whoami", headers={"Authorization": "Bearer vsk_no"})

    assert (mine["user"]["handle"], mine["user"]["role"]) == ("ada", "user")
    assert (nobody.status_code, wrong.status_code) == (401, 401)
    assert wrong.text.startswith("invalid token")


async def stage(
    registry: Registry, headers: dict[str, str], path: str, content: bytes
) -> dict[str, Any]:
    """Send one file the way clients do since 0.23; return its line in the publication."""
    sha256 = hashlib.sha256(content).hexdigest()
    line = {"path": path, "size": len(content), "sha256": sha256}
    where = await answer(
        registry, f"{SKILLS}/-/upload-url", method="POST", json=line, headers=headers
    )
    kept = await answer(
        registry,
        where["uploadUrl"],
        method="POST",
        content=content,
        headers={**headers, "Content-Type": "text/markdown"},
    )
    return {**line, "storageId": kept["storageId"], "uploadTicket": where["uploadTicket"]}


def a_publication(**fields: Any) -> dict[str, Any]:
    return {
        "slug": "tidy-notes",
        "displayName": "Tidy Notes",
        "version": "2.1.0",
        "changelog": "",
        "acceptLicenseTerms": True,
        "tags": ["latest"],
        **fields,
    }


async def test_files_sent_one_by_one_become_a_submission(registry: Registry) -> None:
    headers = await a_publisher()
    files = [
        await stage(registry, headers, "SKILL.md", MANIFEST),
        await stage(registry, headers, "examples/a/SKILL.md", MANIFEST),
    ]

    made = await ask(
        registry, SKILLS, method="POST", json=a_publication(files=files), headers=headers
    )
    again = await ask(
        registry, SKILLS, method="POST", json=a_publication(files=files), headers=headers
    )

    assert made.status_code == 201, made.text
    assert made.json()["publicationStatus"] == "pending"
    stored = await get_submission(made.json()["attemptId"])
    assert stored
    assert stored.record.source.url == "upload:@ada/tidy-notes"
    assert stored.record.requested_version == "2.1.0"
    assert (again.status_code, "was not uploaded" in again.text) == (400, True)


async def test_one_file_cannot_be_published_under_more_paths_than_a_skill_may_have_bytes(
    registry: Registry,
) -> None:
    headers = await a_publisher()
    line = await stage(registry, headers, "SKILL.md", MANIFEST + b" " * 200_000)
    files = [{**line, "path": f"{number}.md"} for number in range(400)]

    refused = await ask(
        registry, SKILLS, method="POST", json=a_publication(files=files), headers=headers
    )

    assert refused.status_code == 413, refused.text


async def test_a_skill_of_many_files_is_not_stopped_by_the_limit_for_writes(
    registry: Registry,
) -> None:
    headers = await a_publisher()
    limit = registry.env.settings.writes_per_minute

    sent = [await stage(registry, headers, f"{n}.md", b"%d" % n) for n in range(limit)]

    assert len(sent) == limit


async def test_a_form_of_files_becomes_a_submission(registry: Registry) -> None:
    made = await ask(
        registry,
        SKILLS,
        method="POST",
        data={"payload": json.dumps(a_publication(ownerHandle="ada"))},
        files=[("files", ("SKILL.md", MANIFEST)), ("files", ("scripts/a.py", b"print(1)\n"))],
        headers=await a_publisher(),
    )

    assert made.status_code == 201, made.text
    assert made.json()["versionId"].startswith("is being checked: http://registry/submissions/sub_")
    attempt = await answer(registry, f"/api/v1/publish/attempts/{made.json()['attemptId']}")
    assert attempt["status"] == "pending"


@pytest.mark.parametrize(
    ("fields", "path", "status", "why"),
    [
        ({}, "../SKILL.md", 422, ".."),
        ({}, "/etc/passwd", 422, "passwd"),
        ({}, "a\\b", 422, "a\\"),
        ({"slug": "../x"}, "SKILL.md", 400, "not the name of a skill"),
        ({"slug": ".."}, "SKILL.md", 422, ".."),
        ({}, "README.md", 422, "there is no SKILL.md"),
        ({"version": "1.0"}, "SKILL.md", 400, "three numbers"),
        ({"ownerHandle": "ben"}, "SKILL.md", 403, "has other owners"),
        ({"ownerHandle": "ada.notes"}, "SKILL.md", 403, "Git repository"),
        ({"migrateOwner": True}, "SKILL.md", 400, "another owner"),
        ({"topics": ["x"]}, "SKILL.md", 400, "add tags to SKILL.md"),
    ],
)
async def test_a_publication_that_is_not_allowed_is_refused_in_plain_text(
    registry: Registry, fields: dict[str, Any], path: str, status: int, why: str
) -> None:
    headers = await a_publisher()
    await token_of(Role.READER)
    await add_owner("@ben", "ben", actor="test")

    made = await ask(
        registry,
        SKILLS,
        method="POST",
        data={"payload": json.dumps(a_publication(**fields))},
        files=[("files", (path, MANIFEST))],
        headers=headers,
    )

    assert made.status_code == status, made.text
    assert made.headers["content-type"].startswith("text/plain")
    assert why in made.text


async def test_a_file_must_have_the_announced_digest(registry: Registry) -> None:
    headers = await a_publisher()

    wrong = await ask(
        registry, f"{SKILLS}/-/upload/{'0' * 64}", method="POST", content=b"x", headers=headers
    )
    stranger = await ask(registry, f"{SKILLS}/-/upload/{'0' * 64}", method="POST", content=b"x")

    assert (wrong.status_code, stranger.status_code) == (400, 401)


async def test_an_older_version_is_refused_and_the_same_one_is_known(
    registry: Registry, tmp_path: Path
) -> None:
    files = {"SKILL.md": MANIFEST}
    await put_skill(registry.env, tmp_path, "@ada/tidy-notes", files=files, publisher="@ada")
    headers = await a_publisher(Scope.READ, Scope.SUBMIT)

    async def publish(content: bytes) -> Response:
        payload = json.dumps(a_publication(version="1.0.0"))
        parts = [("files", ("SKILL.md", content))]
        return await ask(
            registry, SKILLS, method="POST", data={"payload": payload}, files=parts, headers=headers
        )

    same, other = await publish(MANIFEST), await publish(MANIFEST + b"more")

    assert same.json()["publicationStatus"] == "published"
    assert other.status_code == 400
    assert "not newer than 1.0.0" in other.text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("POST /api/v1/stars/tidy", "cannot be starred"),
        ("POST /api/v1/skills/tidy/rename", "vskill-platform rename"),
        ("POST /api/v1/skills/tidy/merge", "cannot be merged"),
        ("POST /api/v1/skills/tidy/transfer", "vskill-platform transfer"),
        ("POST /api/v1/skills/tidy/tags/beta", "only tag is latest"),
        ("POST /api/v1/publishers", "admin"),
        ("GET /api/v1/packages/x", "skills only"),
    ],
)
async def test_unsupported_features_have_a_plain_message(
    registry: Registry, line: str, why: str
) -> None:
    method, _, path = line.partition(" ")

    refused = await ask(registry, path, method=method, json={})

    assert (refused.status_code, why in refused.text) == (405, True)


async def test_a_report_is_written_to_the_audit_log(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path)
    headers, where = await a_publisher(Scope.SUBMIT), f"{SKILLS}/tidy/report"
    body = {"reason": "it deletes files"}

    made = await answer(registry, where, method="POST", json=body, headers=headers)
    empty = await ask(registry, where, method="POST", json={}, headers=headers)
    stranger = await ask(registry, where, method="POST", json=body)
    reading = await a_publisher(Scope.READ)
    refused = await ask(registry, where, method="POST", json=body, headers=reading)

    assert (made["reported"], made["skillId"]) == (True, "ada/notes/tidy")
    assert (refused.status_code, "the scope submit" in refused.text) == (403, True)
    assert ("ada", "report", "ada/notes/tidy") in await audited()
    assert (empty.status_code, stranger.status_code) == (400, 200)


async def test_installs_that_clients_report_are_counted_once(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    where = "/api/cli/telemetry/install"
    reports: list[dict[str, Any]] = [
        {"event": "install", "slug": "tidy", "ownerHandle": "ada.notes"},
        {"event": "install", "slug": "tidy", "ownerHandle": "ada.notes"},
        {"event": "install", "slug": "none"},
        {"roots": []},
    ]

    for body in reports:
        assert await answer(registry, where, method="POST", json=body) == {"ok": True}

    assert (await get_installs("ada/notes/tidy")).total == 1


async def test_the_stored_scan_of_a_version_is_given(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, findings=(a_finding(),))
    source = {"kind": "published", "slug": "tidy", "ownerHandle": "ada.notes"}

    started = await ask(
        registry, f"{SKILLS}/-/scan", method="POST", json={"source": source, "update": False}
    )
    scan_id = started.json()["scanId"]
    scan = await answer(registry, f"{SKILLS}/-/scan/{scan_id}")
    packed = await ask(registry, f"{SKILLS}/-/scan/{scan_id}/download")
    named = await ask(registry, f"{SKILLS}/-/scan/download/tidy", params=TIDY)

    assert started.status_code == 202
    assert scan["report"]["staticAnalysis"]["findings"][0]["code"] == "SKR-RUN-004"
    with zipfile.ZipFile(io.BytesIO(packed.content)) as opened:
        assert set(opened.namelist()) == {"manifest.json", "report.json"}
    assert named.status_code == 200


ODD = ["", "%00", "%0A", "..", "@", ",", ".", "_", "a.b_", "~", "%F0%9F%A6%9E", "x" * 400, "-"]


async def test_odd_input_is_refused_and_never_an_error_of_ours(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    owner = await a_publisher(Scope.READ, Scope.SUBMIT, Scope.MANAGE)
    lines = [
        f"GET {path}"
        for odd in ODD
        for path in (
            f"/api/v1/search?q={odd}&limit={odd}",
            f"/api/v1/search?q={odd}",
            f"/api/v1/resolve?slug={odd}&ownerHandle={odd}&hash={odd}",
            f"/api/v1/download?slug=tidy&ownerHandle=ada.notes&version={odd}&tag={odd}",
            f"{SKILLS}?prefix={odd}&cursor={odd}",
            f"{SKILLS}/tidy?ownerHandle={odd}",
            f"{SKILLS}/{odd}/verify?version={odd}",
            f"{SKILLS}/tidy/file?ownerHandle=ada.notes&path={odd}&version={odd}",
            f"{SKILLS}/-/scan/{odd}",
            f"/api/v1/publish/attempts/{odd}",
        )
    ]
    bodies: list[bytes] = [b"", b"{", b"[]", b"null", b'{"items":1}', b"[" * 9000, b"\xff", b"{}"]

    for line in lines:
        method, _, path = line.partition(" ")
        got = await ask(registry, path, method=method, headers={**NODE, **owner})
        assert got.status_code < 500, (line, got.text)
    for path in ("", "/-/upload-url", "/-/security-verdicts", "/-/scan", "/tidy/report"):
        for body in bodies:
            where = f"{SKILLS}{path}"
            got = await ask(registry, where, method="POST", content=body, headers=owner)
            assert 400 <= got.status_code < 500, (path, body[:20], got.text)


async def test_files_that_are_sent_at_once_stay_within_the_limit(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clawhub_uploads, "MAX_STAGED_FILES", 3)
    headers = await a_publisher(Scope.SUBMIT)
    contents = [f"file {number}".encode() for number in range(8)]

    answers = await asyncio.gather(
        *(
            ask(
                registry,
                f"{SKILLS}/-/upload/{hashlib.sha256(content).hexdigest()}",
                method="POST",
                content=content,
                headers=headers,
            )
            for content in contents
        )
    )

    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [413] * 5
    assert (await count_staged("ada"))[0] == 3

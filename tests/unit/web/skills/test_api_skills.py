"""Skills over the API: found, shown and downloaded, with the names that clients read."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.casts import add_installs
from tests.clocks import NOON
from tests.unit.web.api_cast import Registry, audited, browser_of, open_registry, token_of
from tests.unit.web.pages_cast import FILES, MANIFEST, a_finding, change_skill, put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.block import digest_subject
from vskill_platform.model.scanner import ExternalScanStatus
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.user import Role, Scope
from vskill_platform.model.verdict import Severity, Verdict
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.external_scan_store import ExternalScan, put_external_scan
from vskill_platform.stores.repo_health_store import RepoHealth, RepoStatus, put_repo_health

SLUG = "ada/notes/tidy"
NEXT: dict[str, str | bytes] = {"SKILL.md": MANIFEST.format(name="tidy"), "new.bin": b"\x00\xff"}
DOWN = TakenDown(reason="it steals", by="cyd", at=NOON)


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_a_search_answers_what_its_clients_read(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, tags=("notes",))
    await put_skill(
        registry.env,
        tmp_path,
        "@ada/plot",
        publisher="@ada",
        repo_url="upload:@ada/plot",
        description="Draws bars.",
    )

    answer = await registry.json("/skills/search?q=tidy&limit=7")
    nothing = await registry.json("/skills/search?q=zebra")
    upload = await registry.json("/skills/search?q=plot")
    tagged = await registry.json("/skills/search?category=notes")

    (found,) = answer["results"]
    assert {name: found[name] for name in (
        "name", "author", "repoUrl", "certTier", "trustTier", "trustScore", "description",
        "vskillInstalls", "isBlocked", "isTainted", "ownerSlug", "repoSlug", "skillSlug",
        "currentVersion", "slug",
    )} == {
        "name": "tidy", "author": "ada", "repoUrl": "https://github.com/ada/notes",
        "certTier": "SCANNED", "trustTier": "T2", "trustScore": 45,
        "description": "Tidies notes.", "vskillInstalls": 0, "isBlocked": False,
        "isTainted": False, "ownerSlug": "ada", "repoSlug": "notes", "skillSlug": "tidy",
        "currentVersion": "1.0.0", "slug": SLUG,
    }  # fmt: skip
    assert (answer["total"], answer["pagination"]["hasMore"]) == (1, False)
    assert (nothing["results"], nothing["total"]) == ([], 0)
    assert [upload["results"][0][name] for name in ("ownerSlug", "repoSlug", "skillSlug")] == [
        "@ada", "", "plot",
    ]  # fmt: skip
    assert [one["slug"] for one in tagged["results"]] == [SLUG]


async def test_a_search_forgives_typos_and_filters_by_capability(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, can={})
    await put_skill(
        registry.env,
        tmp_path,
        "ada/notes/neat",
        description="Cleans.",
        can={"hosts": ("x.example",)},
    )

    typo = await registry.json("/skills/search?q=tdiy")
    exact = await registry.json("/skills?q=tidy")
    some = await registry.json("/skills?q=neat+but+odd+tidy")
    offline = await registry.json("/skills?cannot=network,shell&facets=true")
    wrong = await registry.get("/api/v1/skills?can=magic")

    assert (typo["match"], typo["searchedFor"], typo["total"]) == ("corrected", "tidy", 1)
    assert (exact["match"], exact["searchedFor"]) == ("exact", None)
    assert (some["match"], some["pagination"]["total"]) == ("any", 2)
    assert [(one["slug"], one["capabilities"]) for one in offline["skills"]] == [(SLUG, [])]
    assert ["no-network", 1] in offline["facets"]["capability"]
    assert wrong.status_code == 400
    assert "use some of network, secrets, shell, files, installs" in wrong.text


async def test_a_reader_that_follows_the_cursor_misses_no_skill_when_installs_change_the_order(
    registry: Registry, tmp_path: Path
) -> None:
    for name in ("one", "two", "three", "four"):
        await put_skill(registry.env, tmp_path, f"ada/notes/{name}")
    await add_installs({"ada/notes/one": 30, "ada/notes/two": 20, "ada/notes/three": 10})
    paths = {
        "skills?limit=2": "skills",
        "skills?limit=2&sort=trending&tag=": "skills",
        "authors/ada?limit=2": "skills",
        "skills/search?limit=2": "results",
    }
    first = {path: await registry.json(f"/{path}") for path in paths}

    await add_installs({"ada/notes/four": 5_000})
    seen = {}
    for path, field in paths.items():
        more = await registry.json(f"/{path}&cursor={first[path]['nextCursor']}")
        seen[path] = [one["name"] for one in first[path][field] + more[field]]
        assert more["nextCursor"] is None
    second = await registry.json(f"/skills?limit=2&cursor={first['skills?limit=2']['nextCursor']}")
    later = _cursor('["installs",999999,9,0,0]')
    expired = await registry.get(f"/api/v1/skills?cursor={later}")

    assert {tuple(sorted(names)) for names in seen.values()} == {("four", "one", "three", "two")}
    assert second["skills"][-1]["vskillInstalls"] == 5_000
    assert second["pagination"] == {
        "page": 2, "limit": 2, "total": 4, "totalPages": 2, "hasMore": False,
    }  # fmt: skip
    assert (expired.status_code, "expired" in expired.text) == (400, True)


async def test_a_reader_that_counts_pages_misses_no_skill_while_downloads_change_the_order(
    registry: Registry, tmp_path: Path
) -> None:
    for name in ("one", "two", "three", "four", "five"):
        await put_skill(registry.env, tmp_path, f"ada/notes/{name}")
    await add_installs({"ada/notes/one": 30, "ada/notes/two": 20, "ada/notes/three": 10})
    paths = {
        "skills?limit=2": "skills",
        "skills?limit=2&sort=installs&can=": "skills",
        "authors/ada?limit=2": "skills",
        "skills/search?limit=2": "results",
    }

    seen: dict[str, list[str]] = {path: [] for path in paths}
    for number in (1, 2, 3):
        for path, field in paths.items():
            page = await registry.json(f"/{path}&page={number}")
            seen[path] += [one["name"] for one in page[field]]
        # What was to be on the last page moves to the first one.
        await add_installs({"ada/notes/four": 5_000 * number, "ada/notes/five": 6_000 * number})
    others = await registry.get(
        "/api/v1/skills?limit=2&page=2", headers=await token_of(Role.READER)
    )
    again = await registry.json("/skills?limit=2&page=1")

    assert {tuple(sorted(names)) for names in seen.values()} == {
        ("five", "four", "one", "three", "two")
    }
    assert [one["name"] for one in others.json()["skills"]] == ["one", "two"]
    assert [one["name"] for one in again["skills"]] == ["five", "four"]


def _cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


async def test_lists_are_read_page_by_page_and_cut_where_they_are_too_long(
    registry: Registry, tmp_path: Path
) -> None:
    for name in ("one", "two", "three"):
        await put_skill(registry.env, tmp_path, f"ada/notes/{name}")

    first = await registry.json("/skills?limit=2&sort=name&facets=true")
    second = await registry.json(f"/skills?limit=2&sort=name&cursor={first['nextCursor']}")
    paged = await registry.json("/skills/search?limit=2&page=2")
    clamped = await registry.get("/api/v1/skills/search?limit=31")
    list_clamped = await registry.get("/api/v1/skills?limit=101")
    whole = await registry.get("/api/v1/skills/search?limit=30")
    odd = [
        await registry.get(f"/api/v1/skills?cursor={word}")
        for word in ("x", "LTE", "eA", "é", _cursor("[]"), _cursor('["name",0,9,0,0]'))
    ]
    too_many = await registry.get("/api/v1/skills?limit=100000")

    assert [one["name"] for one in first["skills"] + second["skills"]] == ["one", "three", "two"]
    assert first["facets"]["namespace"] == [["ada", 3]]
    assert second["nextCursor"] is None
    assert first["pagination"] == {
        "page": 1, "limit": 2, "total": 3, "totalPages": 2, "hasMore": True,
    }  # fmt: skip
    assert len(paged["results"]) == 1
    assert clamped.headers["x-limit-clamped"] == "30"
    assert list_clamped.headers["x-limit-clamped"] == "100"
    assert "x-limit-clamped" not in whole.headers
    assert {answer.status_code for answer in (*odd, too_many)} == {400}
    assert odd[0].json()["code"] == "invalid_input"


async def test_an_unchanged_response_is_not_sent_again(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path)

    first = await registry.get("/api/v1/skills")
    again = await registry.get("/api/v1/skills", headers={"If-None-Match": first.headers["etag"]})
    await put_skill(registry.env, tmp_path, "ada/notes/neat")
    changed = await registry.get("/api/v1/skills", headers={"If-None-Match": first.headers["etag"]})
    problem = await registry.get("/api/v1/skills/ada/notes/none")

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-type" not in again.headers
    assert changed.status_code == 200
    assert "etag" not in problem.headers


async def test_a_skill_is_shown_with_what_a_client_installs(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, files=NEXT)

    by_parts = await registry.json(f"/skills/{SLUG}")
    by_one_part = await registry.json(f"/skills/{SLUG.replace('/', '%2F')}")
    by_name = await registry.json("/skills/tidy")
    older = await registry.json(f"/skills/{SLUG}?version=1.0.0")

    skill = by_parts["skill"]
    assert by_parts == by_one_part == by_name
    assert skill["content"] == NEXT["SKILL.md"]
    assert len(skill["sha"]) == 64
    assert {name: skill[name] for name in (
        "name", "author", "certTier", "certScore", "currentVersion", "version", "description",
        "vskillInstalls", "repoUrl", "trustTier", "trustScore", "provenanceVerified", "skillPath",
    )} == {
        "name": "tidy", "author": "ada", "certTier": "SCANNED", "certScore": 45,
        "currentVersion": "1.0.1", "version": "1.0.1", "description": "Tidies notes.",
        "vskillInstalls": 0, "repoUrl": "https://github.com/ada/notes", "trustTier": "T2",
        "trustScore": 45, "provenanceVerified": True, "skillPath": "",
    }  # fmt: skip
    assert skill["updatedAt"]
    assert (older["skill"]["version"], older["skill"]["currentVersion"]) == ("1.0.0", "1.0.1")


async def test_a_bare_name_is_good_as_long_as_it_says_which(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, "ben/x/tidy", publisher="github.com/ben")
    for number in range(35):
        await put_skill(registry.env, tmp_path, f"ada/notes/plot-{number}")
    await put_skill(registry.env, tmp_path, "ada/notes/plot")

    several = await registry.get("/api/v1/skills/tidy")
    one_of_many = await registry.json("/skills/plot")
    part = await registry.get("/api/v1/skills/plo")

    assert several.status_code == 404
    assert "ada/notes/tidy, ben/x/tidy" in several.json()["detail"].replace(
        "ben/x/tidy, ada/notes/tidy", "ada/notes/tidy, ben/x/tidy"
    )
    assert one_of_many["skill"]["slug"] == "ada/notes/plot"
    assert part.status_code == 404


async def test_a_skill_may_be_called_like_a_part_of_an_address(
    registry: Registry, tmp_path: Path
) -> None:
    for slug in ("@ada/versions", "ada/notes/versions", "ada/notes/files", "@ada/search"):
        await put_skill(registry.env, tmp_path, slug)

    shown = [
        (await registry.json(f"/skills/{path}"))["skill"]["slug"]
        for path in ("@ada/versions", "ada/notes/versions", "ada/notes/files", "@ada/search")
    ]
    versions = await registry.json("/skills/ada/notes/versions/versions")
    one = await registry.json("/skills/ada/notes/versions/versions/1.0.0")
    files = await registry.json("/skills/@ada/versions/files")
    nothing = await registry.get("/api/v1/skills/a/b/c/d/e/f")

    assert shown == ["@ada/versions", "ada/notes/versions", "ada/notes/files", "@ada/search"]
    assert versions["count"] == 1
    assert one["version"] == "1.0.0"
    assert files["version"] == "1.0.0"
    assert nothing.status_code == 404


async def test_versions_say_what_each_brought_and_only_what_is_known_of_it(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, files=NEXT)

    answer = await registry.json(f"/skills/{SLUG}/versions")
    page = await registry.json(f"/skills/{SLUG}/versions?limit=1")
    rest = await registry.json(f"/skills/{SLUG}/versions?limit=1&cursor={page['nextCursor']}")
    many = await registry.get(f"/api/v1/skills/{SLUG}/versions?limit=500")
    one = await registry.json(f"/skills/{SLUG}/versions/1.0.0")
    missing = await registry.get(f"/api/v1/skills/{SLUG}/versions/9.9.9")

    newest, first = answer["versions"]
    names = ("version", "certTier", "certScore", "certMethod", "diffSummary")
    assert [newest[name] for name in names] == [
        "1.0.1", "SCANNED", 45, "AUTOMATED_SCAN", "1 added, 1 removed, 0 changed",
    ]  # fmt: skip
    assert [first[name] for name in names] == ["1.0.0", "SCANNED", None, "", "first version"]
    assert len(newest["contentHash"]) == 64
    assert newest["gitSha"] == "c0ffee" * 6 + "c0ff"
    assert newest["createdAt"]
    assert answer["count"] == 2
    assert page["versions"] + rest["versions"] == answer["versions"]
    assert rest["nextCursor"] is None
    assert many.headers["x-limit-clamped"] == "100"
    assert (one["version"], one["content"]) == ("1.0.0", FILES["SKILL.md"])
    assert missing.status_code == 404


async def test_a_version_says_what_it_can_do_and_what_the_scan_found(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, verdict=Verdict.PASS)
    await put_skill(registry.env, tmp_path, files=NEXT, verdict=Verdict.REVIEW)
    names = ("verdict", "capabilities", "fileCount")

    listed = (await registry.json(f"/skills/{SLUG}/versions"))["versions"]
    latest = (await registry.json(f"/skills/{SLUG}"))["skill"]
    first = (await registry.json(f"/skills/{SLUG}?version=1.0.0"))["skill"]

    gained = {"hosts": ["api.example"], "commands": ["python"]}
    # The report of the first version was replaced, and it was not kept as one of a publication.
    expected = [["review", gained, 2], [None, {}, len(FILES)]]
    assert [[item[name] for name in names] for item in listed] == expected
    assert [[item[name] for name in names] for item in (latest, first)] == expected


async def test_a_diff_does_not_show_blocked_content(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path)
    evil = await put_skill(registry.env, tmp_path, files={**NEXT, "evil.md": "steal all"})
    await put_skill(registry.env, tmp_path, files={**NEXT, "good.md": "help all"})
    await block(digest_subject(evil.digest), reason="it steals", actor="cyd")
    ways = [
        f"/api/v1/skills/{SLUG}/versions/{way}?from={old}&to={new}"
        for way in ("diff", "compare")
        for old, new in (("1.0.0", "1.0.1"), ("1.0.1", "1.0.2"))
    ]

    refused = [await registry.get(way) for way in ways]
    page = await registry.get(f"/skills/{SLUG}/diff?from=1.0.0&to=1.0.1")
    by_default = await registry.get(f"/skills/{SLUG}/diff")

    assert [answer.status_code for answer in refused] == [403] * 4
    assert "it steals" in refused[0].json()["detail"]
    assert (page.status_code, "steal all" in page.text) == (403, False)
    assert (by_default.status_code, "help all" in by_default.text) == (200, True)
    assert "steal all" not in by_default.text


async def test_a_diff_is_text_and_never_null(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, files=NEXT)

    diff = await registry.json(f"/skills/{SLUG}/versions/diff?from=1.0.0&to=1.0.1")
    same = await registry.json(f"/skills/{SLUG}/versions/diff?from=1.0.0&to=1.0.0")
    compared = await registry.json(f"/skills/{SLUG}/versions/compare?from=1.0.0&to=1.0.1")
    unknown = await registry.get(f"/api/v1/skills/{SLUG}/versions/diff?from=1.0.0&to=7.0.0")
    unsaid = [
        await registry.get(f"/api/v1/skills/{SLUG}/versions/{way}{query}")
        for way in ("diff", "compare")
        for query in ("", "?from=1.0.0", "?to=1.0.1")
    ]
    no_skill = await registry.get("/api/v1/skills/ada/x/y/versions/diff?from=1.0.0&to=1.0.1")

    assert (diff["from"], diff["to"]) == ("1.0.0", "1.0.1")
    assert diff["diffSummary"] == "1 added, 1 removed, 0 changed"
    assert "--- a/scripts/run.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n" in diff["contentDiff"]
    assert "-print('tidy')" in diff["contentDiff"]
    assert "(added new.bin: not a text file)" in diff["contentDiff"]
    assert (same["diffSummary"], same["contentDiff"]) == ("no changes", "")
    assert compared["source"] == "local-content"
    assert [
        (file["filename"], file["status"], file["additions"], file["deletions"])
        for file in compared["files"]
    ] == [("new.bin", "added", 0, 0), ("scripts/run.py", "removed", 0, 2)]
    assert all(isinstance(file["patch"], str) for file in compared["files"])
    assert (unknown.status_code, no_skill.status_code) == (400, 404)
    for answer in unsaid:
        assert answer.status_code == 400
        assert "?from=1.0.0&to=1.0.1" in answer.json()["detail"]
        assert answer.json()["hint"]


async def test_files_are_listed_read_and_downloaded_as_they_were_checked(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, files=NEXT)

    listed = await registry.json(f"/skills/{SLUG}/files")
    text = await registry.json(f"/skills/{SLUG}/files?path=SKILL.md")
    binary = await registry.json(f"/skills/{SLUG}/files?path=new.bin")
    missing = await registry.get(f"/api/v1/skills/{SLUG}/files?path=../x")
    archive = await registry.get(f"/api/v1/skills/{SLUG}/download")
    again = await registry.get(
        f"/api/v1/skills/{SLUG}/download", headers={"If-None-Match": archive.headers["etag"]}
    )

    assert [(file["path"], file["size"]) for file in listed["files"]] == [
        ("SKILL.md", len(NEXT["SKILL.md"])),
        ("new.bin", 2),
    ]
    assert (text["encoding"], text["content"]) == ("utf-8", NEXT["SKILL.md"])
    assert base64.b64decode(binary["content"]) == NEXT["new.bin"]
    assert missing.status_code == 404
    assert archive.headers["content-type"] == "application/gzip"
    shown = (await registry.json(f"/skills/{SLUG}"))["skill"]
    assert hashlib.sha256(archive.content).hexdigest() == shown["archiveSha256"]
    assert (again.status_code, again.content) == (304, b"")


async def test_security_says_what_each_scanner_says(registry: Registry, tmp_path: Path) -> None:
    secret = "AKIA" + "Q3EGRIFGTPLANTZO"
    finding = a_finding(severity=Severity.CRITICAL, evidence=(f"key = {secret}",))
    await put_skill(registry.env, tmp_path)
    await put_skill(
        registry.env, tmp_path, "ada/notes/bad", verdict=Verdict.BLOCK, findings=(finding,)
    )
    await put_skill(registry.env, tmp_path, "ada/notes/two")
    await put_skill(registry.env, tmp_path, "ada/notes/two", files=NEXT, verdict=Verdict.REVIEW)

    fine = await registry.json(f"/skills/{SLUG}/security")
    bad = await registry.get("/api/v1/skills/ada/notes/bad/security")
    doubtful = await registry.json("/skills/ada/notes/two/security")
    older = await registry.json("/skills/ada/notes/two/security?version=1.0.0")

    assert (fine["overallVerdict"], fine["reportUrl"]) == ("PASS", f"/skills/{SLUG}/security")
    assert [
        (one["provider"], one["status"], one["verdict"], one["criticalCount"])
        for one in fine["providers"]
    ] == [("vskill-tier1 1", "PASS", "pass", 0)]
    assert (bad.json()["overallVerdict"], bad.json()["providers"][0]["criticalCount"]) == (
        "FAIL",
        1,
    )
    assert bad.json()["report"]["findings"][0]["rule"] == finding.rule
    assert secret not in bad.text
    assert doubtful["overallVerdict"] == "PASS"  # a person let it through
    assert older["overallVerdict"] == "PENDING"
    assert "no longer stored" in older["providers"][0]["note"]


async def test_security_shows_the_results_of_third_party_scanners(
    registry: Registry, tmp_path: Path
) -> None:
    skill = await put_skill(registry.env, tmp_path)
    scans = [
        ExternalScan(
            subject=skill.submission_id,
            provider=f"scanner-{status.lower()}",
            status=status,
            dispatched_at=NOON,
            deadline=NOON,
            digest=skill.digest,
            findings=(a_finding(severity=Severity.CRITICAL),) if status == "FAIL" else (),
        )
        for status in ExternalScanStatus
    ]
    of_other_content = replace(scans[0], provider="another", digest="0" * 64)
    for scan in (*scans, of_other_content):
        assert await put_external_scan(scan)

    answer = await registry.json(f"/skills/{SLUG}/security")

    assert answer["overallVerdict"] == "FAIL"
    assert {
        one["provider"]: (one["status"], one["criticalCount"]) for one in answer["providers"][1:]
    } == {
        "scanner-pending": ("PENDING", 0),
        "scanner-running": ("PENDING", 0),
        "scanner-pass": ("PASS", 0),
        "scanner-fail": ("FAIL", 1),
        "scanner-error": ("TIMED_OUT", 0),
        "scanner-timed_out": ("TIMED_OUT", 0),
    }


async def test_a_skill_that_was_taken_down_has_failed_and_cannot_be_downloaded(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    first = (await registry.json(f"/skills/{SLUG}"))["skill"]
    await put_skill(registry.env, tmp_path, files=NEXT)
    await block(digest_subject(first["sha"]), reason="it stole", actor="cyd")
    await put_skill(registry.env, tmp_path, "ada/notes/gone")
    await change_skill(registry.env, "ada/notes/gone", down=DOWN)

    places = ("", "/versions", "/files", "/download", "/repo-health", "/versions/diff")
    gone = [await registry.get(f"/api/v1/skills/ada/notes/gone{place}") for place in places]
    security = await registry.json("/skills/ada/notes/gone/security")
    older = await registry.json(f"/skills/{SLUG}/security?version=1.0.0")
    download = await registry.get(f"/api/v1/skills/{SLUG}/download?version=1.0.0")
    versions = await registry.json(f"/skills/{SLUG}/versions")
    badge = await registry.get("/api/v1/skills/ada/notes/gone/badge")

    # Its name is spelled correctly.
    assert {answer.json()["hint"] for answer in gone} == {"Look for another skill."}
    assert [(answer.status_code, answer.json()["code"]) for answer in gone] == [
        (404, "not_found")
    ] * len(places)
    assert "it steals" in gone[0].json()["detail"]
    for answer in (security, older):
        assert answer["overallVerdict"] == "FAIL"
        assert answer["providers"][0]["criticalCount"] == 1
    assert "it steals" in security["providers"][0]["note"]
    assert download.status_code == 403
    assert versions["versions"][1]["certTier"] == "BLOCKED"
    assert (badge.status_code, "blocked" in badge.text) == (200, True)


async def test_badge_suggestions_and_the_health_of_a_source(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)

    badge = await registry.get(f"/api/v1/skills/{SLUG}/badge")
    same = await registry.get(
        f"/api/v1/skills/{SLUG}/badge", headers={"If-None-Match": badge.headers["etag"]}
    )
    no_badge = await registry.get("/api/v1/skills/nothing/badge")
    suggested = await registry.json("/skills/suggest?q=ti")
    health = await registry.json(f"/skills/{SLUG}/repo-health")
    still = await registry.json(f"/skills/{SLUG}/repo-health")
    looked = RepoHealth(status=RepoStatus.ONLINE, checked_at=NOON)
    await put_repo_health(SLUG, looked)
    after = await registry.json(f"/skills/{SLUG}/repo-health")

    assert badge.headers["content-type"].startswith("image/svg+xml")
    assert "scanned" in badge.text
    assert (same.status_code, same.content) == (304, b"")
    assert (no_badge.status_code, "not published" in no_badge.text) == (404, True)
    assert suggested["suggestions"] == [
        {"slug": SLUG, "name": "tidy", "description": "Tidies notes.", "tier": "T2"}
    ]
    assert (health["status"], health["lastCommitAt"]) == ("UNKNOWN", None)
    assert health["checkedAt"] is still["checkedAt"] is None
    assert (after["status"], after["checkedAt"]) == ("ONLINE", "2026-03-14T12:00:00Z")


async def test_owners_cannot_undo_what_staff_have_yanked(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    rae = await token_of(Role.REVIEWER)
    await add_owner("ada", "ada", actor="test")
    path, body = f"/api/v1/skills/{SLUG}", {"version": "1.0.0", "reason": "it leaks"}
    clawhub = "/clawhub/api/v1/skills/tidy"

    await registry.post(f"{path}/yank", json=body, headers=ada)
    own = await registry.post(f"{path}/unyank", json=body, headers=ada)
    await registry.post(f"{path}/yank", json=body, headers=ada)
    await registry.post(f"{path}/yank", json=body, headers=rae)
    refused = await registry.post(f"{path}/unyank", json=body, headers=ada)
    restored = await registry.post(f"{clawhub}/versions/1.0.0/restore", headers=ada)
    page = await registry.get(f"/admin/skills/{SLUG}", headers=await browser_of(Role.PUBLISHER))
    by_staff = await registry.post(f"{path}/unyank", json=body, headers=rae)

    found = [answer.status_code for answer in (own, refused, restored, by_staff)]
    assert found == [200, 403, 403, 200]
    assert "rae (staff) yanked 1.0.0: it leaks. Appeal it" in refused.json()["detail"]
    assert "Unyank" not in page.text
    assert "Appeal" in page.text


async def test_owners_and_reviewers_yank_and_nobody_else(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    submits = await token_of(Role.PUBLISHER, Scope.READ, Scope.SUBMIT)
    ben, rae = await token_of(Role.READER, Scope.MANAGE), await token_of(Role.REVIEWER)
    await add_owner("ada", "ada", actor="test")
    path, body = f"/api/v1/skills/{SLUG}", {"version": "1.0.0", "reason": "it breaks"}

    nobody = await registry.post(f"{path}/yank", json=body)
    another = await registry.post(f"{path}/yank", json=body, headers=ben)
    for_less = await registry.post(f"{path}/yank", json=body, headers=submits)
    unsaid = await registry.post(f"{path}/yank", json={**body, "reason": ""}, headers=ada)
    yanked = await registry.post(f"{path}/yank", json=body, headers=ada)
    shown = (await registry.json(f"/skills/{SLUG}"))["skill"]
    (listed,) = (await registry.json("/skills"))["skills"]
    (found,) = (await registry.json("/skills/search?q=tidy"))["results"]
    nothing = await registry.get(f"{path}/download")
    unyanked = await registry.post(f"{path}/unyank", json=body, headers=rae)

    assert [one.status_code for one in (nobody, another, unsaid)] == [401, 403, 400]
    assert (for_less.status_code, for_less.json()["code"]) == (403, "right_missing")
    assert yanked.json()["versions"][0]["standing"] == "yanked"
    assert (shown["currentVersion"], shown["version"], shown["yanked"]) == (
        None, "1.0.0", "it breaks",
    )  # fmt: skip
    assert [(one["currentVersion"], one["yanked"]) for one in (listed, found)] == [(None, True)] * 2
    assert nothing.status_code == 404
    assert unyanked.json()["versions"][0]["standing"] == "latest"
    assert await audited() == [
        ("ada", "yank", f"{SLUG} 1.0.0"),
        ("rae", "unyank", f"{SLUG} 1.0.0"),
    ]


async def test_owners_and_reviewers_deprecate_and_nobody_else(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path / "old")
    await put_skill(registry.env, tmp_path / "new", "@ada/neat", publisher="@ada")
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    ben, rae = await token_of(Role.READER, Scope.MANAGE), await token_of(Role.REVIEWER)
    await add_owner("ada", "ada", actor="test")
    path, body = f"/api/v1/skills/{SLUG}", {"message": "it is slow", "useInstead": "@ada/neat"}

    nobody = await registry.post(f"{path}/deprecate", json=body)
    another = await registry.post(f"{path}/deprecate", json=body, headers=ben)
    unsaid = await registry.post(f"{path}/deprecate", json={"message": ""}, headers=ada)
    done = await registry.post(f"{path}/deprecate", json=body, headers=ada)
    shown = (await registry.json(f"/skills/{SLUG}"))["skill"]
    found = (await registry.json("/skills/search?q=notes"))["results"]
    page = await registry.get(f"/skills/{SLUG}", headers={"Accept": "text/html"})
    listed = await registry.get("/?q=notes", headers={"Accept": "text/html"})
    ended = await registry.post(f"{path}/undeprecate", json={}, headers=rae)

    told = {"message": "it is slow", "useInstead": "@ada/neat"}
    assert [one.status_code for one in (nobody, another, unsaid)] == [401, 403, 400]
    assert done.json()["versions"][0]["deprecated"] == told
    assert done.json()["versions"][0]["standing"] == "latest"
    assert shown["deprecated"] == told
    assert [(one["slug"], one["deprecated"]) for one in found] == [
        ("@ada/neat", None), (SLUG, told),
    ]  # fmt: skip
    for text in (page.text, listed.text):
        assert "it is slow" in text
        assert 'href="/skills/@ada/neat"' in text
    assert ended.json()["versions"][0]["deprecated"] is None
    assert [action for _, action, _ in await audited()] == ["deprecate", "undeprecate"]


async def test_a_public_skill_does_not_point_to_a_private_one(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path / "old")
    await put_skill(registry.env, tmp_path / "new", "@ada/neat", publisher="@ada")
    await change_skill(registry.env, "@ada/neat", is_private=True)
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    rae = await token_of(Role.REVIEWER, Scope.MANAGE)  # without `read`, it sees no private skill
    await add_owner("ada", "ada", actor="test")
    path, body = f"/api/v1/skills/{SLUG}/deprecate", {"message": "old", "useInstead": "@ada/neat"}

    seen = await registry.post(path, json=body, headers=ada)
    unseen = await registry.post(path, json=body, headers=rae)

    assert (seen.status_code, "is private" in seen.text) == (400, True)
    assert unseen.status_code in {403, 404}
    assert (await registry.json(f"/skills/{SLUG}"))["skill"]["deprecated"] is None


async def test_a_skill_is_hidden_and_shown_by_its_owners_also_when_it_is_down(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    rae = await token_of(Role.REVIEWER)
    path = f"/api/v1/skills/{SLUG}/visibility"

    unowned = await registry.post(path, json={"private": True}, headers=rae)
    await add_owner("ada", "ada", actor="test")
    hidden = await registry.post(path, json={"private": True, "reason": "not yet"}, headers=ada)
    stranger = await registry.get(f"/api/v1/skills/{SLUG}")
    owner = await registry.get(f"/api/v1/skills/{SLUG}", headers=ada)
    await change_skill(registry.env, SLUG, down=DOWN)
    shown = await registry.post(path, json={"private": False}, headers=ada)

    assert (unowned.status_code, unowned.json()["code"]) == (403, "not_allowed")
    assert (hidden.status_code, hidden.json()) == (200, {"slug": SLUG, "private": True})
    assert (stranger.status_code, owner.status_code) == (404, 200)
    assert (shown.status_code, shown.json()["private"]) == (200, False)
    assert await audited() == [("ada", "visibility", SLUG)] * 2


async def test_paths_on_the_machine_of_the_registry_are_not_shown(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, "@local/tidy", publisher="@local", repo_url="/srv/den")

    texts = [
        (await registry.get(f"/api/v1{path}")).text
        for path in ("/skills/@local/tidy", "/skills", "/skills/search?q=tidy")
    ]

    assert not any("/srv/den" in text for text in texts)


@pytest.mark.parametrize("word", ["versions", "files", "security"])
async def test_a_private_skill_that_is_called_like_a_part_of_an_address_is_not_there(
    registry: Registry, tmp_path: Path, word: str
) -> None:
    path = f"/api/v1/skills/ada/notes/{word}"

    async def answers() -> list[tuple[int, str]]:
        found = [await registry.get(path), await registry.get(f"/skills/ada/notes/{word}")]
        return [(one.status_code, re.sub(r"req_\w+", "", one.text)) for one in found]

    before = await answers()
    await put_skill(registry.env, tmp_path, f"ada/notes/{word}", is_private=True)
    after = await answers()
    seen = await registry.get(path, headers=await token_of(Role.REVIEWER))

    assert after == before
    assert before[1][0] == 404
    assert (seen.status_code, seen.json()["skill"]["slug"]) == (200, f"ada/notes/{word}")

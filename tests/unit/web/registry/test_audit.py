"""The audit log: its page, its filters, its export and its API."""

import csv
import io
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from html import unescape

import msgspec
import pytest

from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from vskill_platform.errors import InvalidInput
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores import audit_store
from vskill_platform.stores.audit_store import (
    AuditQuery,
    AuditRecord,
    list_audit,
    read_audit_query,
    write_audit,
)
from vskill_platform.stores.db import commit
from vskill_platform.web.registry import audit

AUDIT, EXPORT = "/api/v1/audit", "/admin/audit/export"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def _record(action: str, target: str, *, actor: str = "rae", reason: str = "") -> None:
    await commit([write_audit(action, target, actor=actor, reason=reason)])


def _targets(page: str) -> list[str]:
    cells = re.findall(r'data-label="Target" class="mono words">(.*?)</td>', page)
    return [unescape(re.sub(r"<[^>]+>", "", cell)) for cell in cells]


async def test_the_audit_log_is_read_page_by_page(registry: Registry) -> None:
    cyd = await an_operator(registry, Role.ADMIN)
    for number in range(101):
        await _record("pause", f"queue-{number:03}", reason="<b>x</b>")

    first = await cyd.see("/admin/audit")
    address = re.search(r'href="(/admin/audit\?after=[^"]+)"', first)
    assert address
    second = await cyd.see(address.group(1))
    elsewhere = await cyd.see("/admin/audit?after=user:cyd")

    assert len(_targets(first)) == 100
    assert len({one for one in _targets(first + second) if "queue-" in one}) == 101
    assert "<b>x</b>" not in first
    assert 'href="/admin/audit">Newest' in second
    assert "argon2" not in elsewhere


async def test_entries_are_filtered_by_actor_action_and_target(registry: Registry) -> None:
    await _record("block add", "publisher evil", actor="rae")
    await _record("block remove", "publisher good", actor="ben")
    await _record("blocked", "a word that only begins the same", actor="ben")
    cyd = await an_operator(registry, Role.ADMIN)

    by_actor = await cyd.see("/admin/audit?actor=+RAE")
    by_word = await cyd.see("/admin/audit?action=block")
    by_action = await cyd.see("/admin/audit?action=block+add")
    by_target = await cyd.see("/admin/audit?target=EVIL")
    by_all = await cyd.see("/admin/audit?actor=ben&action=block&target=publisher")
    none = await cyd.see("/admin/audit?actor=%22%3E%3Cscript%3E")

    assert _targets(by_actor) == ["publisher evil"]
    assert sorted(_targets(by_word)) == ["publisher evil", "publisher good"]
    assert _targets(by_action) == ["publisher evil"]
    assert _targets(by_target) == ["publisher evil"]
    assert _targets(by_all) == ["publisher good"]
    assert 'value="ben"' in by_all
    assert "No matching entries" in none
    assert '"><script>' not in none


async def test_entries_are_filtered_by_date_with_the_last_day_included(registry: Registry) -> None:
    await _record("pause", "queue")
    cyd = await an_operator(registry, Role.ADMIN)
    (record,) = (await list_audit(query=AuditQuery(action="pause"))).records
    day = f"{record.at:%Y-%m-%d}"

    same_day = await cyd.see(f"/admin/audit?from={day}&to={day}&action=pause")
    before = await cyd.see("/admin/audit?to=2001-01-01&action=pause")
    after = await cyd.see("/admin/audit?from=9000-01-01&action=pause")
    always = await cyd.see("/admin/audit?from=0001-01-01&to=9998-12-31&action=pause")
    invalid = await cyd.see("/admin/audit?from=yesterday")

    assert [len(_targets(page)) for page in (same_day, before, after, always)] == [1, 0, 0, 1]
    assert "from must be a date such as 2026-01-31" in invalid
    assert 'value="yesterday"' in invalid
    assert "No matching entries" not in invalid


@pytest.mark.parametrize(
    ("start", "end"),
    [("2026-02-02", "2026-02-01"), ("2026-13-01", ""), ("", "9999-12-31"), ("x" * 50, "")],
)
def test_a_time_that_cannot_be_is_refused(start: str, end: str) -> None:
    with pytest.raises(InvalidInput):
        read_audit_query(start=start, end=end)


def test_times_are_utc_unless_they_name_another_zone() -> None:
    query = read_audit_query(start="2026-01-31T12:00", end="2026-02-01T00:00+02:00")

    assert query.since == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert query.until == datetime(2026, 1, 31, 22, tzinfo=UTC)


async def test_a_search_that_stops_early_reports_older_entries(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_store, "MAX_READ", 2)
    monkeypatch.setattr(audit_store, "_READ_AT_ONCE", 2)
    cyd = await an_operator(registry, Role.ADMIN)
    await _record("resume", "the-only-one")
    for _ in range(5):
        await _record("pause", "queue")

    pages = [await cyd.see("/admin/audit?action=resume")]
    while older := re.search(r'href="([^"]+)" rel="next">', pages[-1]):
        pages.append(await cyd.see(unescape(older.group(1))))

    assert len(pages) >= 3
    assert [one for page in pages for one in _targets(page)] == ["the-only-one"]
    assert all("Nothing found so far" in page or "the-only-one" in page for page in pages[:-1])


@pytest.mark.usefixtures("registry")
async def test_a_full_page_has_no_next_one_if_nothing_is_left() -> None:
    for number in range(4):
        await _record("pause", f"queue-{number}")
    query = AuditQuery(action="pause")

    exact = await list_audit(limit=4, query=query)
    first = await list_audit(limit=3, query=query)
    rest = await list_audit(limit=3, query=query, after=first.cursor)

    found = [one.subject for one in first.records + rest.records]
    assert exact.cursor is None
    assert sorted(found) == ["queue-0", "queue-1", "queue-2", "queue-3"]
    assert (len(rest.records), rest.cursor) == (1, None)


@pytest.mark.parametrize(
    ("action", "target", "url"),
    [
        ("review approve", "sub_00000000001aa", "/submissions/sub_00000000001aa"),
        ("user disable", "ada", "/admin/people?q=ada"),
        ("token revoke", "ada 1234", "/admin/tokens?q=ada"),
        ("namespace add-owner", "@team ada", "/admin/namespaces?q=%40team"),
        ("block add", "publisher evil", "/admin/blocklist"),
        ("yank", "git.example/ada/demo 1.0.0", "/skills/git.example/ada/demo"),
        ("rescan", "all", "/admin/rescan"),
        ("feature add", "ada/notes/demo", "/skills/ada/notes/demo"),
        ("deprecate", "ada/notes/demo 1.0.0", "/skills/ada/notes/demo"),
        ("skill delete", "ada/notes/demo", "/skills/ada/notes/demo"),
        ("mirror fetch", "@hub_ada/demo", "/skills/@hub_ada/demo"),
        ("mirror compare", "hub", ""),
        ("policy save", "policy version 3", "/admin/policy/versions"),
        ("appeal decide", "app/1", "/appeals/app%2F1"),
        ("webhook add", "ep_1", "/admin/webhooks/ep_1"),
        ("webhook remove", "ep_1", ""),
        ("visibility", '@ada/"><b>', "/skills/@ada/%22%3E%3Cb%3E"),
        ("something new", "what", ""),
    ],
)
def test_an_entry_links_to_its_target(action: str, target: str, url: str) -> None:
    at = datetime(2026, 1, 31, tzinfo=UTC)
    record = AuditRecord(at=at, actor="rae", action=action, subject=target, reason="")

    assert audit.target_url(record) == url


async def test_the_export_contains_what_the_filters_show(registry: Registry) -> None:
    await _record("pause", "queue", reason='says "wait", then\nwaits')
    await _record("resume", "queue")
    cyd = await browser_of(Role.ADMIN)

    table = await registry.get(f"{EXPORT}?format=csv&action=pause", headers=cyd)
    lines = await registry.get(f"{EXPORT}?format=jsonl&action=pause", headers=cyd)
    odd = await registry.get(f"{EXPORT}?format=exe", headers=cyd)
    refused = await registry.get(EXPORT, headers=await browser_of(Role.REVIEWER))

    (row,) = csv.DictReader(io.StringIO(table.text, newline=""))
    (record,) = [msgspec.json.decode(line) for line in lines.text.splitlines()]
    assert row == record
    assert (row["action"], row["reason"]) == ("pause", 'says "wait", then\nwaits')
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", row["at"])
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert table.headers["cache-control"] == "no-store"
    name = table.headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="audit-[\d-]+\.csv"', name)
    assert (odd.status_code, refused.status_code) == (400, 403)


async def test_no_cell_of_the_table_runs_as_a_formula(registry: Registry) -> None:
    cells = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\uff1d1", "\rx"]
    for cell in cells:
        await _record("pause", cell, reason=cell)
    cyd = await browser_of(Role.ADMIN)

    table = await registry.get(f"{EXPORT}?action=pause", headers=cyd)

    rows = list(csv.DictReader(io.StringIO(table.text, newline="")))
    assert {row["subject"] for row in rows} == {f"'{cell}" for cell in cells}
    assert {row["reason"] for row in rows} == {f"'{cell}" for cell in cells}


async def test_a_cut_off_export_says_where_to_continue(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MAX_EXPORTED", 2)
    for number in range(3):
        await _record("pause", f"queue-{number}")
    cyd = await browser_of(Role.ADMIN)

    whole = await registry.get(f"{EXPORT}?format=jsonl&target=queue-2", headers=cyd)
    cut = await registry.get(f"{EXPORT}?format=jsonl&action=pause", headers=cyd)
    records = [msgspec.json.decode(line) for line in cut.text.splitlines()]
    cursor = records[-1]["reason"].partition("after=")[2]
    rest = await registry.get(f"{EXPORT}?format=jsonl&action=pause&after={cursor}", headers=cyd)

    others = [msgspec.json.decode(line) for line in rest.text.splitlines()]
    assert len(whole.text.splitlines()) == 1
    assert [one["action"] for one in records] == ["pause", "pause", "export truncated"]
    assert sorted(one["subject"] for one in records[:2] + others) == [
        "queue-0", "queue-1", "queue-2",
    ]  # fmt: skip


async def test_a_program_filters_the_audit_log(registry: Registry) -> None:
    await _record("pause", "queue", actor="rae")
    await _record("resume", "queue", actor="ben")
    cyd = await token_of(Role.ADMIN, Scope.ADMIN)

    found = await registry.json("/audit?actor=rae&action=pause&from=2001-01-01", headers=cyd)
    invalid = await registry.get(f"{AUDIT}?to=tomorrow", headers=cyd)

    assert [one["action"] for one in found["records"]] == ["pause"]
    assert invalid.status_code == 400
    assert "to must be a date" in invalid.json()["detail"]


async def test_the_audit_log_is_read_page_by_page_over_the_api(registry: Registry) -> None:
    cyd, rae = await token_of(Role.ADMIN, Scope.ADMIN), await token_of(Role.REVIEWER)
    for number in range(3):
        await commit([write_audit("pause", f"queue {number}", actor="cyd", reason="x")])

    first = await registry.json("/audit?limit=2", headers=cyd)
    rest = await registry.json(f"/audit?limit=100&cursor={first['nextCursor']}", headers=cyd)
    many = await registry.get(f"{AUDIT}?limit=500", headers=cyd)
    odd = [
        await registry.get(f"{AUDIT}?cursor={cursor}", headers=cyd)
        for cursor in ("%00", "dXNlcjo", "AAAA", "é")
    ]

    subjects = [one["subject"] for one in first["records"] + rest["records"]]
    assert {"queue 0", "queue 1", "queue 2"} <= set(subjects)
    assert len(subjects) == len(set(subjects)) or rest["nextCursor"] is None
    assert (await registry.get(AUDIT, headers=rae)).status_code == 403
    assert (await registry.get(AUDIT)).status_code == 401
    assert [answer.status_code for answer in odd] == [400, 200, 400, 400]
    assert (many.status_code, many.headers["x-limit-clamped"]) == (200, "100")
    assert not any("password" in answer.text or "argon2" in answer.text for answer in odd)

"""The policy in the browser and over the API: edited, tried, saved, compared and restored."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import msgspec
import pytest

from tests.clocks import NOON
from tests.unit.web.admin_cast import Operator, an_operator
from tests.unit.web.api_cast import (
    API,
    Registry,
    audited,
    browser_of,
    open_registry,
    put_review,
    token_of,
)
from tests.unit.web.pages_cast import a_finding, put_skill
from vskill_platform.model.user import Role
from vskill_platform.model.verdict import Severity, Verdict
from vskill_platform.publish.policy import try_policy
from vskill_platform.publish.policy.edit_policy import (
    PolicyDraft,
    current_version,
    save_policy,
)
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.policy_store import PolicyVersion, put_policy_version

STRICT = '# since May\n[thresholds]\nreject_at = "medium"\n'
_TEXT = re.compile(r'<textarea[^>]*name="policy"[^>]*>\n?(.*?)</textarea>', re.DOTALL)
_BASE = re.compile(r'name="base" value="(\d+)"')

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


@pytest.fixture
async def cyd(registry: Registry) -> Operator:
    return await an_operator(registry, Role.ADMIN)


async def saved(text: str = STRICT, *, base: int = 0) -> PolicyVersion:
    return await save_policy(PolicyDraft(text=text, base=base, reason="because", author="ada"))


def typed_in(page: str) -> str:
    """Return the text that a page would send again."""
    found = _TEXT.search(page)
    assert found
    return unescape(found[1])


async def a_risky_skill(registry: Registry, folder: Path) -> None:
    await put_skill(
        registry.env, folder, findings=(a_finding(severity=Severity.MEDIUM),),
        verdict=Verdict.REVIEW,
    )  # fmt: skip


async def test_a_policy_is_tried_then_saved_with_a_reason(
    registry: Registry, cyd: Operator, tmp_path: Path
) -> None:
    await a_risky_skill(registry, tmp_path)

    tried = await cyd.post("/admin/policy/dry-run", policy=STRICT, base="0", editor="text")
    before = await current_version()
    done = await cyd.act("/admin/policy/save", policy=STRICT, base="0", reason="agreed")
    page = await cyd.see("/admin/policy")

    assert "1 of 1 would change" in tried.text
    assert typed_in(tried.text) == STRICT
    assert before is None
    assert done == ("done", "Version 1 is saved. All nodes apply it from now on.")
    assert "Version 1</a> is active, saved by cyd" in page
    assert "medium and above cause a rejection" in page
    assert await audited() == [("cyd", "policy save", "policy version 1")]


async def test_the_form_changes_the_same_text_and_keeps_its_comments(
    registry: Registry, cyd: Operator
) -> None:
    fields = {
        "policy": STRICT,
        "base": "0",
        "editor": "form",
        "thresholds.review_at": "low",
        "thresholds.reject_at": "medium",
        "thresholds.two_grave_reject": "on",
        "trust.publishers": "github.com/acme\r\n\r\n@house\r\n",
        "trust.kinds": ["risky", "exposure"],
        "limits.max_files": "200",
        "review.own": "on",
    }

    as_text = await cyd.post("/admin/policy/dry-run", **fields, show="text")
    preview = await cyd.post("/admin/policy/dry-run", **fields, show="preview")
    form = await cyd.post(
        "/admin/policy/dry-run", policy=typed_in(as_text.text), base="0", editor="text", show="form"
    )

    text = typed_in(as_text.text)
    assert text == (
        '# since May\n[thresholds]\nreject_at = "medium"\nreview_at = "low"\n\n'
        '[limits]\nmax_files = 200\n\n[trust]\npublishers = ["github.com/acme", "@house"]\n'
        'kinds = ["risky", "exposure"]\n\n[review]\nown = true\n'
    )
    assert typed_in(preview.text) == text
    assert "<h1>Preview</h1>" in preview.text
    assert '<option value="low" selected>' in form.text
    assert "github.com/acme\n@house</textarea>" in form.text
    assert re.search(r'name="review.own" value="on" checked', form.text)


SUPPRESSED = (
    '# kept\n[[suppressions]]\n# of the mirror\nrule = "SKR-RUN-002"\npath = "run.sh"\n'
    'reason = "our mirror"\nexpires = 2999-01-31\n\n'
    '[[suppressions]]\nrule = "SKR-RUN-001"\npath = "old.sh"\nreason = "gone"\n'
    "expires = 2999-01-31\n"
)


def row(at: str, /, **values: str) -> dict[str, str]:
    return {f"{at}.{key.replace('__', '.')}": value for key, value in values.items()}


async def test_the_form_adds_changes_and_removes_rows_and_keeps_the_others(
    registry: Registry, cyd: Operator
) -> None:
    kept = row("suppressions.0", rule="SKR-RUN-002", path="run.sh", skill="", reason="our mirror",
               expires="2999-01-31")  # fmt: skip
    removed = row("suppressions.1", rule="SKR-RUN-001", path="old.sh", remove="on")
    added = row("namespaces.0", match="acme/*", thresholds__review_at="low",
                thresholds__reject_at="", limits__submissions_per_day="1,500")  # fmt: skip
    fields = {"policy": SUPPRESSED, "base": "0", "editor": "form",
              "thresholds.two_grave_reject": "on", "trust.kinds": "risky"}  # fmt: skip

    as_text = await cyd.post("/admin/policy/dry-run", **fields, **kept, **removed, **added,
                             show="text")  # fmt: skip
    text = typed_in(as_text.text)
    form = await cyd.post("/admin/policy/dry-run", policy=text, base="0", editor="text",
                          show="form")  # fmt: skip

    first, _, _ = SUPPRESSED.partition('\n[[suppressions]]\nrule = "SKR-RUN-001"')
    assert text == (
        f'{first}\n[[namespaces]]\nmatch = "acme/*"\n\n[namespaces.thresholds]\n'
        'review_at = "low"\n\n[namespaces.limits]\nsubmissions_per_day = 1500\n'
    )
    assert 'name="namespaces.0.match" type="text" value="acme/*"' in form.text
    assert 'name="suppressions.1.rule" type="text" value=""' in form.text


@pytest.mark.parametrize(
    ("typed", "at", "message"),
    [
        (row("suppressions.2", rule="SKR-NONE", path="x", reason="y", expires="2999-01-31"),
         "suppressions.2.rule", "SKR-NONE"),
        (row("suppressions.0", rule="SKR-RUN-002", path="run.sh", reason="z", expires="soon"),
         "suppressions.0.expires", "Enter a date such as 2027-01-31"),
        (row("namespaces.0", match="acme/*", limits__submissions_per_day="some"),
         "namespaces.0.limits.submissions_per_day", "Enter a whole number"),
        (row("namespaces.0", match="", thresholds__review_at="low"), "namespaces.0.match",
         "is missing"),
        (row("scanners.0", name="<b>", on_fail="explode"), "scanners.0.on_fail",
         "Invalid enum value"),
    ],
)  # fmt: skip
async def test_an_error_of_a_row_is_shown_at_its_field_also_below_a_removed_row(
    registry: Registry, cyd: Operator, typed: dict[str, str], at: str, message: str
) -> None:
    fields = {"policy": SUPPRESSED, "base": "0", "editor": "form", "limits.max_files": "77"}
    removed = row("suppressions.1", rule="SKR-RUN-001", remove="on")

    answer = await cyd.post("/admin/policy/dry-run", **fields, **removed, **typed)

    assert answer.status_code == 200
    (error,) = re.findall(rf'id="{re.escape(at)}-error">(.*?)</span>', answer.text)
    assert message in unescape(error)
    assert 'value="77"' in answer.text
    assert 'name="suppressions.1.remove" value="on" checked' in answer.text
    assert '<b>"' not in answer.text
    assert typed_in(answer.text) == SUPPRESSED


async def test_an_array_with_many_rows_is_edited_as_text(registry: Registry, cyd: Operator) -> None:
    many = "".join(f'[[namespaces]]\nmatch = "acme{n}/*"\n' for n in range(51))

    form = await cyd.post("/admin/policy/dry-run", policy=many, base="0", editor="text",
                          show="form")  # fmt: skip
    as_text = await cyd.post("/admin/policy/dry-run", policy=many, base="0", editor="form",
                             show="text", **{"thresholds.two_grave_reject": "on",
                             "trust.kinds": "risky", "namespaces.0.match": "other/*"})  # fmt: skip

    assert "There are more than 50, so they are edited as text." in form.text
    assert typed_in(as_text.text) == many


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("limits.max_files", "many", "Enter a whole number"),
        ("limits.max_files", "5000", "must not be above the built-in limit of 1,000"),
        ("trust.publishers", "everybody", "is not a publisher"),
        ("thresholds.review_at", "never", "would be rejected"),
        ("thresholds.risky.reject_at", "<script>", "Invalid enum value"),
    ],
)
async def test_an_error_of_the_form_is_shown_at_its_field_and_everything_typed_stays(
    registry: Registry, cyd: Operator, name: str, value: str, message: str
) -> None:
    fields = {"policy": STRICT, "base": "0", "editor": "form", "thresholds.reject_at": "medium"}

    answer = await cyd.post("/admin/policy/dry-run", **{**fields, "limits.max_total_bytes": "77",
                            name: value})  # fmt: skip

    assert answer.status_code == 200
    (error,) = re.findall(rf'id="{re.escape(name)}-error">(.*?)</span>', answer.text)
    assert message in unescape(error)
    assert 'value="77"' in answer.text
    assert typed_in(answer.text) == STRICT
    assert "<script>" not in answer.text.replace('<script src="', "")


async def test_an_error_of_the_text_is_shown_with_its_lines(
    registry: Registry, cyd: Operator
) -> None:
    text = "[thresholds]\n\nreview_at = 'lots' # <script>alert(1)</script>\n"

    answer = await cyd.post("/admin/policy/dry-run", policy=text, base="0", editor="text")
    deep = await cyd.post("/admin/policy/dry-run", policy="a=" + "[" * 50_000, editor="text")
    long = await cyd.post("/admin/policy/dry-run", policy="#" * 200_001, editor="text")
    unsaved = await cyd.post("/admin/policy/save", policy=text, base="0", reason="x")

    assert "Invalid policy, line 3:" in answer.text
    assert '<tr class="it"><th scope="row">3</th>' in answer.text
    assert typed_in(answer.text) == text
    assert "<script>alert" not in answer.text
    assert "Invalid policy" in deep.text
    assert "at most 200,000 characters" in long.text
    assert "Invalid policy, line 3:" in unsaved.text
    assert await current_version() is None


async def test_a_concurrent_edit_names_its_author_and_keeps_what_was_typed(
    registry: Registry, cyd: Operator
) -> None:
    mine = '[thresholds]\nreview_at = "low"\n'
    await saved(STRICT)

    late = await cyd.post("/admin/policy/save", policy=mine, base="0", reason="my reason")
    base = _BASE.search(late.text)
    assert base
    again = await cyd.act("/admin/policy/save", policy=mine, base=base[1], reason="my reason")

    assert late.status_code == 200
    assert "Ada saved version 1 of the policy on" in late.text
    assert typed_in(late.text) == mine
    assert 'value="my reason"' in late.text
    assert "since May" in late.text  # the lines that would be replaced
    assert base[1] == "1"
    assert again[0] == "done"


async def test_a_change_without_a_reason_or_a_difference_is_not_saved(
    registry: Registry, cyd: Operator
) -> None:
    await saved(STRICT)

    without = await cyd.post("/admin/policy/save", policy="# x", base="1", reason=" ")
    same = await cyd.post("/admin/policy/save", policy=STRICT, base="1", reason="x")

    assert "Give a reason for the change" in without.text
    assert typed_in(without.text) == "# x\n"
    assert "nothing was changed" in same.text
    assert len(await audited()) == 1


async def test_versions_are_listed_compared_and_restored(registry: Registry, cyd: Operator) -> None:
    await saved(STRICT)
    await saved(STRICT.replace("medium", "high"), base=1)

    listed = await cyd.see("/admin/policy/versions")
    second = await cyd.see("/admin/policy/versions/2")
    first = await cyd.see("/admin/policy/versions/1")
    missing = await registry.get(
        "/admin/policy/versions/9", headers=await browser_of(Role.ADMIN, name="dot")
    )
    done = await cyd.act(
        "/admin/policy/save", policy=typed_in(first), base="2", restored="1", reason="back"
    )
    third = await cyd.see("/admin/policy/versions/3?from=1")

    assert listed.index("Version 2</a>") < listed.index("Version 1</a>")
    assert "Changes since version 1" in second
    assert second.count('<tr class="add">') == second.count('<tr class="del">') == 1
    assert "Restore version 1" in first
    assert typed_in(first) == STRICT
    assert missing.status_code == 404
    assert done[0] == "done"
    assert "by restoring" in third
    assert "The texts are the same." in third


async def test_a_dry_run_of_many_skills_goes_on_part_by_part(
    registry: Registry, cyd: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(try_policy.try_part, "__kwdefaults__", {"after": "", "limit": 1})
    finding = a_finding(severity=Severity.MEDIUM)
    for name in ("one", "two"):
        await put_skill(
            registry.env, tmp_path, f"ada/notes/{name}", findings=(finding,), verdict=Verdict.REVIEW
        )

    first = await cyd.post("/admin/policy/dry-run", policy=STRICT, base="0", editor="text")
    cursor = re.search(r'name="after" value="([^"]+)"', first.text)
    assert cursor
    second = await cyd.post(
        "/admin/policy/dry-run", policy=STRICT, base="0", editor="text", after=cursor[1]
    )

    assert "1 skill of 2 checked" in first.text
    assert "ada/notes/one" in first.text
    assert "ada/notes/two" not in first.text
    assert "ada/notes/two" in second.text
    assert "data-continue" not in second.text


async def test_a_policy_of_a_file_is_shown_and_cannot_be_changed_here(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    settings = msgspec.structs.replace(bound.settings, policy="/etc/policy.toml")
    async with open_registry(replace(bound, settings=settings)) as registry:
        cyd = await an_operator(registry, Role.ADMIN)

        page = await cyd.see("/admin/policy")
        tried = await cyd.post("/admin/policy/dry-run", policy=STRICT, base="0", editor="text")
        refused = await cyd.post("/admin/policy/save", policy=STRICT, base="0", reason="x")
        token = await token_of(Role.ADMIN, name="dot")
        body = {"policy": STRICT, "reason": "x", "base": 0}
        over_api = await registry.post(f"{API}/policy/versions", json=body, headers=token)
        shown = await registry.json("/policy", headers=token)

    assert "/etc/policy.toml" in page
    assert "VSKILL_POLICY" in page
    assert "/admin/policy/save" in tried.text
    assert '<button class="button primary"' not in tried.text
    assert "because VSKILL_POLICY is set" in refused.text
    assert over_api.status_code == 409
    assert (shown["source"], shown["version"]) == ("file", None)


async def test_a_saved_policy_decides_about_reviews_and_submissions_at_once(
    registry: Registry, cyd: Operator, tmp_path: Path
) -> None:
    mine = await put_review(tmp_path)
    ada = Operator(registry, await browser_of(Role.ADMIN, name=mine.submitter))
    before = await ada.see(f"/admin/reviews/{mine.id}")
    await cyd.act(
        "/admin/policy/save", policy="[review]\nown = true\n", base="0", reason="one person"
    )
    after = await ada.see(f"/admin/reviews/{mine.id}")

    assert "another reviewer must approve it" in before
    assert "another reviewer must approve it" not in after


async def test_a_policy_that_cannot_be_applied_is_an_error_everywhere_but_where_it_is_repaired(
    registry: Registry, cyd: Operator
) -> None:
    odd = PolicyVersion(
        number=1, text="[from_the_future]\n", digest="", at=NOON, author="ada", reason="x"
    )
    await put_policy_version(odd, replaces=None, also=[])

    page = await cyd.see("/admin/policy")
    version = await cyd.see("/admin/policy/versions/1")
    tried = await cyd.post("/admin/policy/dry-run", policy=STRICT, base="1", editor="text")
    reviews = await cyd.post("/submit", url="ada/notes")
    done = await cyd.act("/admin/policy/save", policy=STRICT, base="1", reason="repair")

    assert "cannot be applied by node-1" in page
    assert typed_in(page) == "[from_the_future]\n"
    assert "This release cannot apply this version" in version
    assert "compared with the defaults" in tried.text
    assert reviews.status_code == 503
    assert "Policy cannot be applied" in reviews.text
    assert done[0] == "done"


async def test_the_api_saves_compares_and_restores_versions(
    registry: Registry, tmp_path: Path
) -> None:
    await a_risky_skill(registry, tmp_path)
    token = await token_of(Role.ADMIN)

    tried = await registry.post(f"{API}/policy/dry-run", json={"policy": STRICT}, headers=token)
    for base, text in enumerate((STRICT, "# none\n")):
        body = {"policy": text, "reason": "because", "base": base}
        made = await registry.post(f"{API}/policy/versions", json=body, headers=token)
        assert made.status_code == 201, made.text
    stale = {"policy": "# late\n", "reason": "because", "base": 0}
    late = await registry.post(f"{API}/policy/versions", json=stale, headers=token)
    wrong = await registry.post(
        f"{API}/policy/versions",
        json={"policy": "\n[x]", "reason": "x", "base": 2},
        headers=token,
    )
    restored = await registry.post(
        f"{API}/policy/versions/1/restore", json={"reason": "back", "base": 2}, headers=token
    )
    listed = await registry.json("/policy/versions?limit=2", headers=token)
    more = await registry.json(f"/policy/versions?cursor={listed['nextCursor']}", headers=token)
    shown = await registry.json("/policy", headers=token)
    first = await registry.json("/policy/versions/1", headers=token)
    diff = await registry.json("/policy/versions/3/diff?older=1", headers=token)
    before = await registry.json("/policy/versions/2/diff", headers=token)

    assert tried.json()["changes"][0]["then"] == "reject"
    assert (tried.json()["checked"], tried.json()["nextCursor"]) == (1, None)
    assert (late.status_code, late.json()["code"]) == (409, "changed_since_seen")
    assert wrong.status_code == 400
    assert wrong.json()["detail"].startswith('invalid policy at line 2: the policy: "x" is unknown')
    assert (restored.json()["number"], restored.json()["restored"]) == (3, 1)
    assert [one["number"] for one in listed["versions"] + more["versions"]] == [3, 2, 1]
    assert (shown["source"], shown["version"], shown["text"]) == ("saved", 3, STRICT)
    assert first["text"] == STRICT
    assert (diff["old"], diff["new"], diff["lines"]) == (1, 3, [])
    assert "+# none" in before["lines"]


async def test_only_admins_see_or_change_the_policy_and_the_settings(registry: Registry) -> None:
    ben = await browser_of(Role.REVIEWER)

    for path in ("/admin/policy", "/admin/policy/versions", "/admin/settings"):
        assert (await registry.get(path, headers=ben)).status_code == 403
    refused = await registry.post(
        "/admin/policy/save", data={"policy": STRICT, "base": "0", "reason": "x"}, headers=ben
    )

    assert refused.status_code == 403
    assert await current_version() is None


async def test_the_settings_are_shown_with_their_origin_and_without_secrets(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = msgspec.structs.replace(
        bound.settings,
        max_retries=7,
        notify_command='["/usr/bin/tell", "https://hooks.example/s3cret"]',
    )
    monkeypatch.setenv("VSKILL_MAX_RETRIES", "7")
    monkeypatch.setenv("VSKILL_JUDGE_KEY_FILE", "/run/secrets/judge")
    async with open_registry(replace(bound, settings=settings)) as registry:
        cyd = await an_operator(registry, Role.ADMIN)

        page = await cyd.see("/admin/settings")
        only_set = await cyd.see("/admin/settings?set=1")

    rows = {
        name: (unescape(value), origin)
        for name, value, origin in re.findall(
            r'<tr><td class="mono title">(\w+)</td><td[^>]*>(.*?)</td>'
            r"<td[^>]*><div><span[^>]*>(\w+)<",
            page.replace("<wbr>", ""),
        )
    }
    assert rows["VSKILL_MAX_RETRIES"] == ("7", "Environment")
    assert rows["VSKILL_JUDGE_KEY"] == ("—", "File")
    assert rows["VSKILL_LEASE"][1] == "Default"
    assert rows["VSKILL_NOTIFY_COMMAND"][0] == "/usr/bin/tell (arguments are not shown)"
    assert "s3cret" not in page
    only_set = only_set.replace("<wbr>", "")
    assert "VSKILL_LEASE" not in only_set
    assert "VSKILL_MAX_RETRIES" in only_set

"""The trust page: tiers, blocks with reasons, and correct numbers over time."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.unit.web.pages_cast import Site, open_site, put_skill, put_submission
from vskill_platform.model.block import digest_subject, name_subject, publisher_subject
from vskill_platform.model.source import folder_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.scan.rules.registry_rules import load_registry_rules
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.web.registry.trust_page import FAMILIES, rule_families


@pytest.fixture
async def site(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


async def test_a_fresh_registry_is_followed_without_a_gap(site: Site) -> None:
    page = await site.get("/trust")

    assert page.status_code == 200
    assert "The blocklist is empty" in page.text
    assert "No published skill has been taken down" in page.text
    assert "No submissions were completed in this period" in page.text
    assert "Certified" not in page.text  # only a judge could get a skill there
    assert "Scanned" in page.text


async def test_with_a_judge_its_tiers_are_listed(env: WorkerEnv) -> None:
    judged = replace(
        env, settings=msgspec.structs.replace(env.settings, judge_url="https://judge.example")
    )
    async with open_site(judged) as site:
        page = await site.get("/trust")

    assert "Certified" in page.text
    assert "Judged" in page.text


async def test_blocked_skills_are_listed_with_their_reason(
    site: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    subjects = (
        publisher_subject("github.com/ada"),
        digest_subject("ab" * 32),
        name_subject(folder_source("/srv/cellar"), "evil"),
    )
    for subject in subjects:

        async def put(subject: object = subject) -> None:
            await block(subject, reason="It <b>stole</b> keys.", actor="cyd")  # type: ignore[arg-type]  # a wrong value on purpose

        await run_with_worker_env(env, put)

    page = await site.get("/trust")

    assert page.text.count("It &lt;b&gt;stole&lt;/b&gt; keys.") == 4  # three blocks, one skill
    assert "github.com/ada" in page.text
    assert "ab" * 32 in page.text
    assert "evil in local files" in page.text
    assert "cellar" not in page.text
    assert 'href="/skills/ada/notes/tidy"' in page.text


async def test_the_days_are_drawn_as_they_were(site: Site, env: WorkerEnv, tmp_path: Path) -> None:
    await put_skill(env, tmp_path)
    await put_submission(env, SubmissionState.TIER1_FAILED, name="evil")

    page = await site.get("/trust")

    assert '<svg class="bars"' in page.text
    assert "style=" not in page.text
    assert "Failed checks <b>1</b>" in page.text
    assert ": 1 failed checks</title>" in page.text


def test_every_rule_belongs_to_a_family_that_has_a_name() -> None:
    rules = {rule.id for rule in load_rules()} | set(load_registry_rules())

    families = rule_families()

    assert {rule.id for family in families for rule in family.rules} == rules
    assert {family.title for family in families} == set(FAMILIES.values())

"""The commands on a skill's page do exactly what they say."""

import re
import shlex
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest
from anyio import run_process

from tests.unit.web.pages_cast import Site, open_site, put_skill
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.skills.install_lines import install_lines

PAGE = "/skills/ada/notes/tidy"
BASE = "https://skills.example"
ALL = [
    "vskill", "claude", "codex", "cursor", "skills", "clawhub", "openskills", "apm", "mcp",
    "download",
]  # fmt: skip


@pytest.fixture
async def client(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


def lines_in(page: str) -> list[str]:
    return [unescape(line) for line in re.findall(r'data-copy="([^"]+)"', page)]


async def a_version(skill: PublishedSkill) -> SkillVersion:
    return (await get_versions(skill.slug))[-1]


async def lines_of(skill: PublishedSkill, *, is_named: bool = False) -> dict[str, str]:
    found = install_lines(BASE, skill, await a_version(skill), is_named=is_named)
    return {item.tool: item.line for item in found}


async def test_a_download_is_verified_and_never_replaces_a_folder(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    (line,) = [line for line in lines_in((await client.get(PAGE)).text) if "tar -xzf" in line]
    _, _, verify_and_unpack = line.partition(" && ")
    archive = tmp_path / "tidy-1.0.0.tar.gz"
    archive.write_bytes((await client.get(f"{PAGE}/download")).content)

    first = await run_process(["/bin/sh", "-c", verify_and_unpack], cwd=tmp_path, check=False)
    (tmp_path / "tidy/SKILL.md").write_text("changed by its owner")
    again = await run_process(["/bin/sh", "-c", verify_and_unpack], cwd=tmp_path, check=False)
    archive.write_bytes(b"tampered")
    (tmp_path / "tidy").rename(tmp_path / "away")
    tampered = await run_process(["/bin/sh", "-c", verify_and_unpack], cwd=tmp_path, check=False)

    assert line.startswith("curl -fL -o tidy-1.0.0.tar.gz ")
    assert (first.returncode, again.returncode != 0, tampered.returncode != 0) == (0, True, True)
    assert (tmp_path / "away/SKILL.md").read_text() == "changed by its owner"
    assert (tmp_path / "away/scripts/run.py").is_file()
    assert not (tmp_path / "tidy").exists()


async def test_the_page_has_one_line_for_each_tool(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path, "@ada/tidy")

    page = (await client.get("/skills/@ada/tidy")).text

    assert re.findall(r'<input class="unseen" type="radio" name="tool" value="(\w+)"', page) == ALL
    assert "vskill-platform install @ada/tidy --registry http://registry" in lines_in(page)
    assert "rm -rf" not in page


async def test_a_named_version_has_the_lines_that_can_name_one(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    skill = await put_skill(bound, tmp_path, "@ada/tidy")

    lines = await lines_of(skill, is_named=True)

    assert list(lines) == [
        "vskill", "codex", "cursor", "skills", "clawhub", "apm", "download",
    ]  # fmt: skip
    assert lines["skills"].endswith(f"{BASE}/s/@ada/tidy@1.0.0 -a claude-code -y")
    assert lines["clawhub"].endswith("npx clawhub install @ada/tidy --version 1.0.0")
    assert "'ada/tidy#1.0.0'" in lines["apm"]


async def test_a_skill_of_a_repo_has_its_name_in_each_protocol(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    lines = await lines_of(await put_skill(bound, tmp_path))

    assert "apm" not in lines
    assert lines["claude"] == (
        f"claude plugin marketplace add {BASE}/n/ada/.claude-plugin/marketplace.json && "
        "claude plugin install ada__notes__tidy@vskill-skills-example__ada__repos"
    )
    assert lines["clawhub"].endswith("npx clawhub install @ada.notes/tidy")
    assert lines["openskills"] == f"npx openskills install {BASE}/git/ada/notes/tidy.git"


async def test_users_of_one_agent_have_a_line_for_it(bound: WorkerEnv, tmp_path: Path) -> None:
    usual = await lines_of(await put_skill(bound, tmp_path))
    odd = await lines_of(await put_skill(bound, tmp_path, "ada/notes/Odd_Name"))

    assert usual["codex"] == (
        f"DISABLE_TELEMETRY=1 npx skills add {BASE}/s/ada/notes/tidy -a codex -y"
    )
    assert odd["codex"] == (
        f"vskill-platform install ada/notes/Odd_Name --registry {BASE} --agent codex"
    )


async def test_no_line_of_a_private_skill_contains_a_token(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    skill = await put_skill(bound, tmp_path, "@ada/tidy", is_private=True)

    lines = await lines_of(skill)

    assert f'"{BASE}/t/$VSKILL_TOKEN/s/@ada/tidy"' in lines["skills"]
    assert '--header "Authorization: Bearer $VSKILL_TOKEN"' in lines["download"]
    assert "vsk_" not in "".join(lines.values())


@pytest.mark.parametrize("name", ["..", "../../etc", "a b; rm -rf /", "~", "-rf", "$(id)", "`id`"])
async def test_no_name_adds_a_command_to_a_line(
    bound: WorkerEnv, tmp_path: Path, name: str
) -> None:
    skill = await put_skill(bound, tmp_path, name=name)

    for tool, line in (await lines_of(skill)).items():
        words = shlex.split(line)
        assert name not in words, tool
        assert not {"$(id)", "`id`", "rm"} & set(words), tool
    folder = shlex.split((await lines_of(skill))["download"])[-1]
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", folder)

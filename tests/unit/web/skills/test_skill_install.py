"""The commands of a skill's page do what they say, and nothing else."""

import os
import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest
from anyio import run_process

from tests.unit.web.pages_cast import Site, open_site, put_skill
from vskill_platform.runtime.env import WorkerEnv

PAGE = "/skills/ada/notes/tidy"


@pytest.fixture
async def client(env: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(env) as opened:
        yield opened


async def test_unpacking_leaves_nothing_of_an_older_copy_and_touches_no_other_skill(
    client: Site, env: WorkerEnv, tmp_path: Path
) -> None:
    await put_skill(env, tmp_path)
    page = (await client.get(PAGE)).text
    archive = (await client.get(f"{PAGE}/download")).content
    home = tmp_path / "home"
    for path in ("tidy/dropped.py", "other/SKILL.md"):
        (home / ".claude/skills" / path).parent.mkdir(parents=True)
        (home / ".claude/skills" / path).write_text("old")
    (home / "tidy-1.0.0.tar.gz").write_bytes(archive)

    commands = re.findall(r'data-copy="(rm -rf [^"]+)"', page)
    await run_process(
        ["/bin/sh", "-ec", unescape(commands[0])],
        cwd=home,
        env={**os.environ, "HOME": str(home)},
    )

    found = sorted(
        str(file.relative_to(home / ".claude/skills"))
        for file in (home / ".claude/skills").rglob("*")
        if file.is_file()
    )
    assert found == ["other/SKILL.md", "tidy/SKILL.md", "tidy/scripts/run.py"]
    assert "The first line removes an installed copy of this skill" in page


@pytest.mark.parametrize("name", ["..", "../../etc", "a b; rm -rf /", "~", "-rf"])
async def test_no_name_makes_the_unpacking_remove_anything_else(
    client: Site, env: WorkerEnv, tmp_path: Path, name: str
) -> None:
    await put_skill(env, tmp_path, name=name)

    page = unescape((await client.get(PAGE)).text)

    removed = re.findall(r"rm -rf (~/\.claude/skills/.*)", page)
    assert removed
    assert all(re.fullmatch(r"~/\.claude/skills/[a-z0-9][a-z0-9-]*", one) for one in removed)

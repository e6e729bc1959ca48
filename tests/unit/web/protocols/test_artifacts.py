"""Archives at fixed URLs, for clients that take a zip."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.clocks import NOON
from tests.unit.web.api_cast import Registry
from tests.unit.web.pages_cast import FILES, change_skill, put_skill
from vskill_platform.model.skill import TakenDown

PATH = "/artifacts/ada/notes/tidy/1.0.0.zip"


async def test_a_version_is_sent_as_a_zip_of_its_files(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path)

    answer = await registry.get(PATH)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as opened:
        assert set(opened.namelist()) == set(FILES)


async def test_private_and_taken_down_skills_have_no_artifact(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, is_private=True)
    private = await registry.get(PATH)
    down = TakenDown(reason="it steals", by="cyd", at=NOON)
    await change_skill(registry.env, "ada/notes/tidy", is_private=False, down=down)
    blocked = await registry.get(PATH)

    assert private.status_code == 404
    assert blocked.status_code == 403
    assert "it steals" in blocked.text


@pytest.mark.parametrize("path", ["/artifacts/x", "/artifacts/ada/notes/tidy/1.0.0.rar"])
async def test_other_paths_are_not_found(registry: Registry, path: str) -> None:
    assert (await registry.get(path)).status_code == 404

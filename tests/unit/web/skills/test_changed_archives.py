"""No page or API response uses an archive whose bytes were changed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.web.pages_cast import FILES, Site, open_site, put_skill
from vskill_platform.engines.operations import Put
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.version_store import get_versions

SLUG = "ada/notes/tidy"


@pytest.fixture
async def client(bound: WorkerEnv) -> AsyncIterator[Site]:
    async with open_site(bound) as site:
        yield site


@pytest.mark.parametrize(
    "address",
    [
        f"/skills/{SLUG}",
        f"/skills/{SLUG}/download",
        f"/skills/{SLUG}/raw/scripts/run.py",
        f"/skills/{SLUG}/files/scripts/run.py",
        "/api/v1/skills/ada%2Fnotes%2Ftidy",
        "/api/v1/skills/ada%2Fnotes%2Ftidy/download",
        "/api/v1/skills/ada%2Fnotes%2Ftidy/files?path=scripts/run.py",
        "/api/v1/skills/ada%2Fnotes%2Ftidy/versions/diff?from=1.0.0&to=1.0.1",
    ],
)
async def test_a_changed_archive_is_a_500_that_says_so(
    client: Site, bound: WorkerEnv, tmp_path: Path, address: str
) -> None:
    # The content is new for each test: what was verified a moment ago is remembered.
    marked = {**FILES, "scripts/run.py": f"print('{address} of {tmp_path}')\n"}
    await put_skill(bound, tmp_path, files={**FILES, "b": str(tmp_path)})
    await put_skill(bound, tmp_path, files={**marked, "b": "2" + str(tmp_path)})
    for version in await get_versions(SLUG):
        await bound.engine.commit([Put(f"blob:{version.archive_sha256}", b"other bytes")])

    answer = await client.get(address)

    assert answer.status_code == 500
    assert "damaged" in answer.text
    assert "other bytes" not in answer.text

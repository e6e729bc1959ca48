"""Real clients install skills from a registry that mirrors another one, for each kind of mirror."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.program import Platform
from tests.clients.registry import Home, Registry, read_tree

OURS = Path(sys.executable).with_name("vskill-platform")
SLUG = "@hub_acme/mirrored-skill"
#: A skill of each kind of mirror; a copy of another skill would need review.
SLUGS = {
    "vskill": SLUG,
    "clawhub": "@claw_acme/glass-blowing",
    "discovery": "@site_skills/bread-baking",
}
by_each_kind = pytest.mark.parametrize("slug", SLUGS.values(), ids=SLUGS)
_PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def mirror(
    registry: Registry, acme: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registry]:
    """A registry that mirrors the one with two versions of a skill, and has fetched both."""
    registry.publish(acme, "mirrored-skill", is_private=False, **{"notes.md": "The first.\n"})
    registry.publish(acme, "mirrored-skill", is_private=False, **{"notes.md": "The second.\n"})
    for name in ("glass-blowing", "bread-baking"):
        notes = "The second.\n"
        registry.publish(acme, name, is_private=False, **{"notes.md": notes})
    port, folder = free_port(), tmp_path_factory.mktemp("mirror")
    url, mirrors = f"http://127.0.0.1:{port}", folder / "mirrors.toml"
    mirrors.write_text(
        f'[hub]\nkind = "vskill"\nurl = "{registry.url}"\n'
        f'[claw]\nkind = "clawhub"\nurl = "{registry.url}/clawhub"\n'
        f'[site]\nkind = "discovery"\nurl = "{registry.url}/n/@acme"\n'
    )
    platform = Platform(
        folder, port=str(port), public_url=url, mirrors=str(mirrors), mirror_by="anyone",
        private_hosts=registry.url, reads_per_minute="100000",
    )  # fmt: skip
    platform.start_anew("serve").wait_for(f"vskill-platform is at {url}")
    try:
        mirrored = Registry(platform=platform, url=url)
        # Not every client asks again if the check takes longer than usual.
        for slug in SLUGS.values():
            _wait_until_taken(mirrored, slug)
        _wait_until_taken(mirrored, f"{SLUG}?version=1.0.0")
        yield mirrored
    finally:
        platform.end_everything()


def _wait_until_taken(mirror: Registry, skill: str) -> None:
    patience = time.monotonic() + _PATIENCE_SECONDS
    while True:
        answer = mirror.get(f"/api/v1/skills/{skill}")
        if answer.status_code != 503:
            assert answer.status_code == 200, answer.text
            return
        assert time.monotonic() < patience, answer.text
        time.sleep(0.1)  # a real server in another process: there is nothing to await


def notes_in(folder: Path) -> bytes:
    return read_tree(folder)["notes.md"]


@by_each_kind
def test_skills_adds_the_latest_version(mirror: Registry, home: Home, slug: str) -> None:
    done = home.run_node(
        "skills", "bin/cli.mjs", "add", f"{mirror.url}/s/{slug}", "-a", "claude-code", "-y"
    )

    assert done.code == 0, done
    name = slug.rpartition("/")[2]
    assert notes_in(home.project / ".claude/skills" / name) == b"The second.\n"


@pytest.mark.parametrize(
    ("options", "notes"), [([], b"The second.\n"), (["--version", "1.0.0"], b"The first.\n")]
)
def test_clawhub_installs_the_latest_or_an_older_version(
    mirror: Registry, home: Home, options: list[str], notes: bytes
) -> None:
    done = home.run_node(
        "clawhub", "bin/clawdhub.js", "--no-input", "install", SLUG, *options,
        CLAWHUB_REGISTRY=mirror.url, CLAWHUB_SITE=mirror.url,
        CLAWHUB_CONFIG_PATH=str(home.folder / "clawhub.json"),
    )  # fmt: skip

    assert done.code == 0, done
    assert notes_in(home.project / "skills" / SLUG) == notes


@by_each_kind
def test_clawhub_installs_what_each_kind_of_mirror_has_fetched(
    mirror: Registry, home: Home, slug: str
) -> None:
    done = home.run_node(
        "clawhub", "bin/clawdhub.js", "--no-input", "install", slug,
        CLAWHUB_REGISTRY=mirror.url, CLAWHUB_SITE=mirror.url,
        CLAWHUB_CONFIG_PATH=str(home.folder / "clawhub.json"),
    )  # fmt: skip

    assert done.code == 0, done
    assert notes_in(home.project / "skills" / slug) == b"The second.\n"


@pytest.mark.parametrize(("wanted", "notes"), [("", b"The second.\n"), ("@1.0.0", b"The first.\n")])
def test_our_client_installs_the_latest_or_an_older_version(
    mirror: Registry, home: Home, wanted: str, notes: bytes
) -> None:
    done = home.run(
        OURS, "install", SLUG + wanted, "--agent", "claude-code", "--project", "--yes",
        "--registry", mirror.url,
    )  # fmt: skip

    assert done.code == 0, done
    assert notes_in(home.project / ".claude/skills/mirrored-skill") == notes

"""`skills` (two releases) and `skillkit`: agent-skills discovery 0.2 and 0.1."""

import msgspec
import pytest

from tests.clients.registry import Finished, Home, Registry, read_tree

RELEASES = ["skills", "skills-old"]
SCRIPT = {"scripts/hello.sh": "echo hello\n"}


def run_skills(home: Home, release: str, *arguments: str, **env: str) -> Finished:
    return home.run_node(release, "bin/cli.mjs", *arguments, **env)


def installed(home: Home, name: str) -> dict[str, bytes]:
    return read_tree(home.project / ".claude/skills" / name)


def lock_of(home: Home) -> str:
    return (home.project / "skills-lock.json").read_text()


@pytest.fixture(scope="module")
def published(registry: Registry, acme: str) -> str:
    """Return the URL of a published skill."""
    registry.publish(acme, "listed-skill", is_private=False, **SCRIPT)
    return f"{registry.url}/s/@acme/listed-skill"


@pytest.mark.parametrize("release", RELEASES)
def test_the_skills_of_the_registry_are_listed(
    release: str, registry: Registry, published: str, home: Home
) -> None:
    # The list of all skills holds the most installed ones only, so `published` may be missing.
    index = registry.get_json("/.well-known/agent-skills/index.json")
    names = {skill["name"] for skill in index["skills"]}

    done = run_skills(home, release, "add", registry.url, "--list")

    assert done.code == 0, done
    assert names
    assert {name for name in names if name not in done.text} == set()


@pytest.mark.parametrize("release", RELEASES)
def test_the_skills_of_a_namespace_are_listed(
    release: str, registry: Registry, published: str, home: Home
) -> None:
    done = run_skills(home, release, "add", f"{registry.url}/n/@acme", "--list")

    assert done.code == 0, done
    assert published.rsplit("/", 1)[-1] in done.text


@pytest.mark.parametrize("release", RELEASES)
def test_a_skill_is_added_by_its_url(release: str, published: str, home: Home) -> None:
    done = run_skills(home, release, "add", published, "-a", "claude-code", "-y")

    assert done.code == 0, done
    files = installed(home, "listed-skill")
    assert set(files) == {"SKILL.md", "scripts/hello.sh"}
    assert files["scripts/hello.sh"] == b"echo hello\n"


@pytest.mark.parametrize("release", RELEASES)
def test_a_namespace_is_added_by_its_url(
    release: str, registry: Registry, published: str, home: Home
) -> None:
    done = run_skills(
        home, release, "add", f"{registry.url}/n/@acme", "--skill", "listed-skill",
        "-a", "claude-code", "-y",
    )  # fmt: skip

    assert done.code == 0, done
    assert "SKILL.md" in installed(home, published.rsplit("/", 1)[-1])


@pytest.mark.parametrize("release", RELEASES)
def test_an_exact_version_is_added_by_the_url_of_its_zip(
    release: str, registry: Registry, published: str, home: Home
) -> None:
    url = f"{registry.url}/artifacts/@acme/{published.rsplit('/', 1)[-1]}/1.0.0.zip"

    done = run_skills(home, release, "add", url, "-a", "claude-code", "-y")

    assert done.code == 0, done
    assert "SKILL.md" in installed(home, "listed-skill")


@pytest.mark.parametrize("release", RELEASES)
def test_a_skill_is_used_without_being_installed(release: str, published: str, home: Home) -> None:
    done = run_skills(home, release, "use", published)

    assert done.code == 0, done
    assert "name: listed-skill" in done.out


@pytest.mark.parametrize("release", RELEASES)
def test_the_line_that_find_prints_can_be_added(
    release: str, registry: Registry, published: str, home: Home
) -> None:
    found = run_skills(home, release, "find", "listed-skill", SKILLS_API_URL=registry.url)
    line = f"{published}@listed-skill"
    done = run_skills(home, release, "add", line, "-a", "claude-code", "-y")

    assert line in found.out
    assert done.code == 0, done
    assert "SKILL.md" in installed(home, "listed-skill")


def test_a_new_version_is_seen_by_update(registry: Registry, acme: str, home: Home) -> None:
    registry.publish(acme, "growing-skill", is_private=False, **{"references/a.md": "first"})
    url = f"{registry.url}/s/@acme/growing-skill"
    run_skills(home, "skills", "add", url, "-a", "claude-code", "-y")
    unchanged = run_skills(home, "skills", "update", "-p", "-y")
    registry.publish(acme, "growing-skill", is_private=False, **{"references/a.md": "second"})

    done = run_skills(home, "skills", "update", "-p", "-y")

    assert unchanged.code == done.code == 0, (unchanged, done)
    assert "Updated" not in unchanged.text
    assert installed(home, "growing-skill")["references/a.md"] == b"second"


@pytest.mark.parametrize("release", RELEASES)
def test_the_installed_skill_is_restored_from_the_lock_file(
    release: str, published: str, home: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run_skills(home, "skills", "add", published, "-a", "claude-code", "-y")
    other = Home(folder=tmp_path_factory.mktemp("other"))
    other.project.mkdir()
    lock = msgspec.json.decode(lock_of(home))
    if release == "skills-old":  # this one reads the URL from another field
        for entry in lock["skills"].values():
            entry["source"] = entry["sourceUrl"]
    (other.project / "skills-lock.json").write_bytes(msgspec.json.encode(lock))

    done = run_skills(other, release, "experimental_install", "-y")

    assert done.code == 0, done
    found = list(other.folder.rglob("listed-skill/scripts/hello.sh"))
    assert found, done


def test_an_unknown_skill_installs_nothing(registry: Registry, published: str, home: Home) -> None:
    done = run_skills(home, "skills", "add", f"{published}-typo", "-a", "claude-code", "-y")

    assert done.code == 1, done
    assert not (home.project / ".claude").exists()


@pytest.mark.parametrize("release", RELEASES)
def test_a_private_skill_is_added_with_a_token_in_the_path(
    release: str, registry: Registry, acme: str, home: Home
) -> None:
    registry.publish(acme, "secret-skill", is_private=True, **SCRIPT)
    token = registry.add_token("acme", "read")

    hidden = registry.get("/s/@acme/secret-skill/.well-known/agent-skills/index.json")
    index = registry.get(f"/t/{token}/s/@acme/secret-skill/.well-known/agent-skills/index.json")
    done = run_skills(
        home, release, "add", f"{registry.url}/t/{token}/s/@acme/secret-skill",
        "-a", "claude-code", "-y",
    )  # fmt: skip

    assert hidden.status_code == 404
    assert token not in index.text
    assert done.code == 0, done
    assert "scripts/hello.sh" in installed(home, "secret-skill")


@pytest.mark.parametrize("release", RELEASES)
def test_a_skill_is_added_by_its_git_url(
    release: str, registry: Registry, published: str, home: Home
) -> None:
    url = f"{registry.url}/git/@acme/{published.rsplit('/', 1)[-1]}.git"

    done = run_skills(home, release, "add", url, "-a", "claude-code", "-y")

    assert done.code == 0, done
    assert "SKILL.md" in installed(home, "listed-skill")


def test_skillkit_installs_a_skill(published: str, home: Home) -> None:
    done = home.run_node(
        "skillkit", "dist/cli.js", "install", published, "-y", "--agent", "claude-code"
    )

    assert done.code == 0, done
    assert b"name: listed-skill" in installed(home, "listed-skill")["SKILL.md"]

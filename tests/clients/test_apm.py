"""apm installs from the registry by version range, and publishes to it."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.browser.registry import STEALS, own_words
from tests.clients.registry import Finished, Home, Registry, make_tree, python_client
from tests.clients.tls import TlsFront, tls_front
from tests.repos import a_repo

_SHA256 = re.compile(r"[0-9a-f]{64}")


def versioned(name: str, version: str, more: str = "") -> str:
    metadata = f'\nmetadata:\n  version: "{version}"\n---\n# '
    return own_words(name).replace("\n---\n# ", metadata, 1) + more


def apm(home: Home, *arguments: str, **env: str) -> Finished:
    return home.run(python_client("apm"), *arguments, **env)


def use_registry(home: Home, url: str, *dependencies: str) -> None:
    """Write the project file of a user whose default registry is this one."""
    listed = "".join(f"    - {text}\n" for text in dependencies)
    (home.project / "apm.yml").write_text(
        f"name: project\nversion: 1.0.0\ntargets: [claude]\n"
        f"registries:\n  vskill:\n    url: {url}/apm\n  default: vskill\n"
        f"dependencies:\n  apm:\n{listed}"
    )
    assert apm(home, "experimental", "enable", "registries").code == 0


def publish_versions(registry: Registry, token: str, name: str, *versions: str) -> None:
    for version in versions:
        text = versioned(name, version, f"\nAs of {version}.\n")
        registry.publish(token, name, is_private=False, **{"SKILL.md": text})


def installed_manifest(home: Home, name: str) -> str:
    return (home.project / ".claude/skills" / name / "SKILL.md").read_text()


def test_install_resolves_a_range_and_a_lock_file_freezes_it(
    registry: Registry, acme: str, home: Home
) -> None:
    publish_versions(registry, acme, "apm-range", "1.0.0", "1.2.0", "2.0.0")
    use_registry(home, registry.url, "acme/apm-range#^1.0.0")

    installed = apm(home, "install")
    frozen = apm(home, "install", "--frozen")

    assert installed.code == 0, installed
    assert "As of 1.2.0." in installed_manifest(home, "apm-range")
    lock = (home.project / "apm.lock.yaml").read_text()
    assert f"{registry.url}/apm/v1/packages/acme/apm-range/versions/1.2.0/download" in lock
    assert _SHA256.search(lock)
    assert frozen.code == 0, frozen


def test_outdated_names_a_newer_version(registry: Registry, acme: str, home: Home) -> None:
    publish_versions(registry, acme, "apm-aging", "1.0.0")
    use_registry(home, registry.url, "acme/apm-aging#^1.0.0")
    assert apm(home, "install").code == 0
    publish_versions(registry, acme, "apm-aging", "1.1.0")

    told = apm(home, "outdated")

    assert "1.1.0" in told.text, told


def test_a_lock_file_with_another_digest_is_refused(
    registry: Registry, acme: str, home: Home
) -> None:
    publish_versions(registry, acme, "apm-tampered", "1.0.0")
    use_registry(home, registry.url, "acme/apm-tampered#^1.0.0")
    assert apm(home, "install").code == 0
    lock = home.project / "apm.lock.yaml"
    digest = registry.get_json("/apm/v1/packages/acme/apm-tampered/versions")["versions"][0]
    known = digest["digest"].removeprefix("sha256:")
    assert known in lock.read_text()
    lock.write_text(lock.read_text().replace(known, "0" * 64))
    shutil.rmtree(home.project / "apm_modules")
    shutil.rmtree(home.project / ".claude")

    refused = apm(home, "install", "--frozen")

    assert refused.code != 0, refused
    assert not (home.project / ".claude/skills/apm-tampered").exists()


def test_a_skill_of_a_repo_is_installed_by_its_slug(registry: Registry, home: Home) -> None:
    repo = registry.platform.folder / "ada" / "notes"
    make_tree(repo, {"skills/apm-repo/SKILL.md": own_words("apm-repo")})
    sent = registry.platform.run("submit", a_repo(repo), "--path", "skills/apm-repo", "--watch")
    use_registry(home, registry.url, '{id: ada/notes/apm-repo, version: "^1.0.0"}')

    installed = apm(home, "install")

    assert installed.code == 0, (sent, installed)
    assert "apm-repo" in installed_manifest(home, "apm-repo")


@pytest.fixture(scope="session")
def front(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsFront]:
    with tls_front(registry.url, tmp_path_factory.mktemp("tls")) as opened:
        yield opened


def publish_package(home: Home, front: TlsFront, token: str, name: str, text: str) -> Finished:
    """Publish a skill as its author does, from a package with one skill."""
    use_registry(home, front.url)
    (home.project / "apm.yml").write_text(
        f"name: {name}\nversion: 1.0.0\nregistries:\n  vskill:\n    url: {front.url}/apm\n"
    )
    make_tree(home.project, {f".apm/skills/{name}/SKILL.md": text})
    assert apm(home, "config", "set", "registry.vskill.url", f"{front.url}/apm").code == 0
    return apm(
        home, "publish", "--registry", "vskill", "--package", f"acme/{name}",
        REQUESTS_CA_BUNDLE=str(front.certificate), APM_REGISTRY_TOKEN_VSKILL=token,
    )  # fmt: skip


def test_publish_goes_through_our_checks(
    registry: Registry, acme: str, home: Home, front: TlsFront
) -> None:
    first = publish_package(home, front, acme, "apm-made", own_words("apm-made"))
    again = publish_package(home, front, acme, "apm-made", own_words("apm-made"))

    assert first.code == 0, first
    assert registry.get_json("/api/v1/skills/@acme/apm-made")["skill"]["version"] == "1.0.0"
    assert again.code != 0
    assert "already exists" in again.text


def test_publish_of_a_malicious_skill_fails_with_our_reason(
    registry: Registry, acme: str, home: Home, front: TlsFront
) -> None:
    text = own_words("apm-evil") + f"\n```sh\n{STEALS}```\n"

    refused = publish_package(home, front, acme, "apm-evil", text)

    assert refused.code != 0
    assert "untrusted host" in refused.text.replace("\n", " ")
    assert registry.get("/apm/v1/packages/acme/apm-evil/versions").status_code == 404


def test_a_private_skill_needs_a_token(
    registry: Registry, acme: str, home: Home, front: TlsFront
) -> None:
    registry.publish(acme, "apm-secret", is_private=True)
    use_registry(home, front.url, "acme/apm-secret#^1.0.0")
    assert apm(home, "config", "set", "registry.vskill.url", f"{front.url}/apm").code == 0
    trust = {"REQUESTS_CA_BUNDLE": str(front.certificate)}

    without = apm(home, "install", **trust)
    with_token = apm(home, "install", **trust, APM_REGISTRY_TOKEN_VSKILL=acme)

    assert without.code != 0
    assert with_token.code == 0, with_token
    assert "apm-secret" in installed_manifest(home, "apm-secret")

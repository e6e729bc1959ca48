"""The installed files are those that the registry verified, and local changes are not lost."""

import errno
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.clocks import NOON
from tests.unit.client.conftest import Reply, ScriptedServer
from tests.unit.client.in_process import URL, Wire, in_thread, wired
from tests.unit.client.test_lock_file import a_skill
from tests.unit.web.api_cast import Registry as Served
from tests.unit.web.api_cast import open_registry
from tests.unit.web.pages_cast import FILES, MANIFEST, change_skill, put_skill, put_submission
from vskill_platform.client.archive_cache import ArchiveCache
from vskill_platform.client.compare_folder import compare_folder
from vskill_platform.client.credentials import remember_registry
from vskill_platform.client.install_folders import LOCK_NAME, InstallScope, ScopeKind, SkillsFolder
from vskill_platform.client.install_skills import (
    Planned,
    apply_plans,
    load_archive,
    lock_release,
    plan_skill,
    remove_skills,
)
from vskill_platform.client.lock_file import read_lock
from vskill_platform.client.plan_installs import (
    InstalledState,
    OpenRegistries,
    check_installed,
    check_outdated,
    plan_install,
    plan_update,
)
from vskill_platform.client.registry import Registry
from vskill_platform.client.version_range import parse_range
from vskill_platform.errors import (
    ConfigError,
    InvalidInput,
    NotAllowed,
    NotFound,
    RegistryError,
    SourceRefused,
)
from vskill_platform.fetch.snapshot import digest_of
from vskill_platform.model.block import digest_subject
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.moderation.yank_version import yank_version
from vskill_platform.runtime.env import WorkerEnv

SLUG = "ada/notes/tidy"
CLAUDE = SkillsFolder(path=".claude/skills", agents=("claude-code",))
SHARED = SkillsFolder(path=".agents/skills", agents=("codex",))
NEXT: dict[str, str | bytes] = {"SKILL.md": MANIFEST.format(name="tidy") + "More.\n", "run.sh": "x"}


@pytest.fixture
async def served(bound: WorkerEnv) -> AsyncIterator[Served]:
    async with open_registry(bound) as opened:
        yield opened


@pytest.fixture
async def wire(served: Served, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with wired(served, monkeypatch) as opened:
        yield opened


@pytest.fixture
def registry(wire: Wire) -> Registry:
    return Registry(URL)


@pytest.fixture
def scope(tmp_path: Path) -> InstallScope:
    root = tmp_path / "project"
    root.mkdir()
    return InstallScope(kind=ScopeKind.PROJECT, root=root, lock=root / LOCK_NAME)


@pytest.fixture
def cache(tmp_path: Path) -> ArchiveCache:
    return ArchiveCache(tmp_path / "cache")


class Installer:
    """Plans and installs as the commands do."""

    def __init__(self, registry: Registry, scope: InstallScope, cache: ArchiveCache) -> None:
        self._registry, self.scope, self._cache = registry, scope, cache

    async def plan(self, name: str = SLUG, wanted: str = "latest", **options: Any) -> Planned:
        folders = options.pop("folders", (CLAUDE,))
        return await in_thread(
            plan_install, self._registry, self.scope, read_lock(self.scope),
            (name, parse_range(wanted)), folders, **options,
        )  # fmt: skip

    async def update(self, slug: str = SLUG, **options: Any) -> Planned:
        locked = read_lock(self.scope)
        return await in_thread(
            plan_update, self._registry, self.scope, locked, locked[slug], **options
        )

    async def apply(self, plan: Planned, **options: Any) -> None:
        def run() -> None:
            with ExitStack() as stack:
                digest = plan.skill.archive_sha256
                load = lambda: load_archive(self._registry, plan.skill)  # noqa: E731 - short
                path = stack.enter_context(self._cache.opened(digest, load))
                apply_plans(self.scope, [plan], {digest: path}, **options)

        await in_thread(run)

    async def install(self, name: str = SLUG, wanted: str = "latest", **options: Any) -> Planned:
        plan = await self.plan(name, wanted, **options)
        await self.apply(plan, force=options.get("force", False))
        return plan


@pytest.fixture
def installer(registry: Registry, scope: InstallScope, cache: ArchiveCache) -> Installer:
    return Installer(registry, scope, cache)


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def as_bytes(files: dict[str, Any]) -> dict[str, bytes]:
    return {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}


async def test_a_skill_is_installed_for_every_agent_and_locked(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)

    plan = await installer.install("tidy", "^1", folders=(CLAUDE, SHARED))

    root = installer.scope.root
    for folder in (CLAUDE, SHARED):
        assert files_in(root / folder.path / "tidy") == as_bytes(dict(FILES))
    assert read_lock(installer.scope) == {SLUG: plan.skill}
    assert (plan.skill.version, plan.skill.range, plan.skill.registry) == ("1.0.0", "^1", URL)
    assert plan.release
    assert (plan.release.verdict, plan.release.capabilities) == ("pass", {})
    assert plan.is_first
    assert (await installer.plan("tidy", "^1")).is_current


async def test_only_a_download_reveals_the_install(
    served: Served, installer: Installer, wire: Wire, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)

    await installer.install()
    await in_thread(remove_skills, installer.scope, [SLUG])
    await installer.install()

    asked = [path.partition("?")[0].rpartition("/")[2] for path in wire.seen]
    assert asked.count("download") == 1  # the second time it is in the cache
    assert not [path for path in wire.seen if "installs" in path]


async def test_a_name_that_several_skills_have_is_refused_with_all_of_them(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    await put_skill(
        served.env, tmp_path, "@ben/tidy", publisher="@ben", repo_url="upload:@ben/tidy"
    )

    with pytest.raises(RegistryError, match=r"ada/notes/tidy.*use the full slug") as raised:
        await installer.plan("tidy")

    assert "@ben/tidy" in str(raised.value)


async def test_a_range_chooses_the_highest_version_that_is_not_yanked(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    for number in range(4):
        files = {**FILES, "SKILL.md": MANIFEST.format(name="tidy") + f"{number}\n"}
        await put_skill(served.env, tmp_path, files=files)
    await yank_version(SLUG, "1.0.2", reason="it broke", actor="ada")

    found = {
        wanted: (await installer.plan(SLUG, wanted)).skill.version
        for wanted in ("latest", "<=1.0.2", "~1.0.0", "1.0.1", "1.0.x")
    }
    yanked = await installer.plan(SLUG, "1.0.2")

    assert found == {
        "latest": "1.0.3", "<=1.0.2": "1.0.1", "~1.0.0": "1.0.3", "1.0.1": "1.0.1",
        "1.0.x": "1.0.3",
    }  # fmt: skip
    assert yanked.warnings == ("version 1.0.2 was yanked: it broke",)
    with pytest.raises(NotFound, match=r"matches '>1.0.1 <1.0.3'; available: 1.0.3.*1.0.2 matches"):
        await installer.plan(SLUG, ">1.0.1 <1.0.3")


async def test_a_skill_without_available_versions_needs_an_exact_one(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    await yank_version(SLUG, "1.0.0", reason="it broke", actor="ada")

    with pytest.raises(NotFound, match=r"every version .* is yanked.*tidy@1.0.0"):
        await installer.plan()


async def test_an_update_shows_what_the_new_version_can_do(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    await installer.install()
    await put_skill(served.env, tmp_path, files=NEXT)

    plan = await installer.update()
    await installer.apply(plan)

    assert plan.gained == {"hosts": ("api.example",), "commands": ("python",)}
    assert files_in(installer.scope.root / CLAUDE.path / "tidy") == as_bytes(NEXT)
    assert (await installer.update()).is_current


async def test_an_update_stays_in_the_range_that_was_asked_for(
    served: Served, installer: Installer, tmp_path: Path, registry: Registry
) -> None:
    await put_skill(served.env, tmp_path)
    await installer.install(SLUG, "1.0.0")
    await put_skill(served.env, tmp_path, files=NEXT)

    plan = await installer.update()
    outdated = await in_thread(check_outdated, registry, plan.skill)

    assert plan.is_current
    assert (outdated.wanted, outdated.latest, outdated.is_outdated) == ("1.0.0", "1.0.1", True)


async def test_a_skill_of_another_publisher_with_the_same_name_is_not_replaced(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    other: dict[str, Any] = {"files": NEXT, "publisher": "@ben", "repo_url": "upload:@ben/tidy"}
    await put_skill(served.env, tmp_path, "@ben/tidy", **other)
    await installer.install()

    with pytest.raises(NotAllowed, match=r"contains ada/notes/tidy, a skill of another publisher"):
        await installer.plan("@ben/tidy")
    assert files_in(installer.scope.root / CLAUDE.path / "tidy") == as_bytes(dict(FILES))
    await installer.install("@ben/tidy", force=True)

    assert set(read_lock(installer.scope)) == {"@ben/tidy"}
    assert files_in(installer.scope.root / CLAUDE.path / "tidy") == as_bytes(NEXT)


async def test_a_folder_that_somebody_else_made_is_not_replaced(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    folder = installer.scope.root / CLAUDE.path / "tidy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("mine")

    with pytest.raises(NotAllowed, match="was not installed by vskill-platform"):
        await installer.plan()

    assert (folder / "SKILL.md").read_text() == "mine"


async def test_the_same_files_that_another_tool_installed_are_taken_over(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    folder = installer.scope.root / CLAUDE.path / "tidy"
    for path, content in as_bytes(dict(FILES)).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)

    await installer.install()

    assert set(read_lock(installer.scope)) == {SLUG}


@pytest.mark.parametrize("change", ["edit", "add", "delete", "mode", "link"])
async def test_local_changes_survive_an_update(
    served: Served, installer: Installer, tmp_path: Path, change: str
) -> None:
    await put_skill(served.env, tmp_path)
    await installer.install()
    await put_skill(served.env, tmp_path, files=NEXT)
    manifest = installer.scope.root / CLAUDE.path / "tidy" / "SKILL.md"
    match change:
        case "edit":
            manifest.write_text("mine")
        case "add":
            (manifest.parent / "mine.md").write_text("mine")
        case "delete":
            manifest.unlink()
        case "mode":
            manifest.chmod(0o755)
        case _:
            kept = manifest.rename(tmp_path / "kept.md")
            manifest.symlink_to(kept)
    before = files_in(manifest.parent)

    with pytest.raises(NotAllowed, match="has local changes"):
        await installer.update()
    with pytest.raises(NotAllowed, match="has local changes"):
        await in_thread(remove_skills, installer.scope, [SLUG])
    assert files_in(manifest.parent) == before
    await installer.apply(await installer.update(force=True), force=True)

    assert files_in(manifest.parent) == as_bytes(NEXT)


async def test_compiled_python_is_no_local_change(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    await installer.install()
    await put_skill(served.env, tmp_path, files=NEXT)
    compiled = installer.scope.root / CLAUDE.path / "tidy" / "__pycache__"
    compiled.mkdir()
    (compiled / "run.pyc").write_bytes(b"\0")

    await installer.apply(await installer.update())

    assert not compiled.exists()


async def test_blocked_content_is_not_installed(
    served: Served, installer: Installer, tmp_path: Path, registry: Registry
) -> None:
    await put_skill(served.env, tmp_path)
    plan = await installer.install()
    await block(digest_subject(plan.skill.content_hash), reason="it steals", actor="cyd")

    status = await in_thread(check_installed, registry, plan.skill)
    with pytest.raises(RegistryError, match="it steals"):
        await installer.plan()

    assert status.state is InstalledState.BLOCKED
    assert "it steals" in status.reason


async def test_other_content_of_the_same_skill_that_was_blocked_does_not_matter(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    await put_submission(served.env, SubmissionState.BLOCKED, digest="ab" * 32)
    await block(digest_subject("ab" * 32), reason="it steals", actor="cyd")

    plan = await installer.install()

    assert plan.skill.version == "1.0.0"


async def test_a_registry_says_what_has_become_of_a_version(
    served: Served, installer: Installer, tmp_path: Path, registry: Registry
) -> None:
    await put_skill(served.env, tmp_path)
    skill = (await installer.install()).skill

    async def state(**changes: Any) -> InstalledState:
        return (await in_thread(check_installed, registry, replace(skill, **changes))).state

    available = await state()
    replaced = await state(archive_sha256="0" * 64)
    unknown = await state(slug="ada/notes/other")
    await yank_version(SLUG, "1.0.0", reason="it broke", actor="ada")
    yanked = await in_thread(check_installed, registry, skill)
    await change_skill(served.env, SLUG, down=TakenDown(reason="it steals", by="cyd", at=NOON))
    down = await in_thread(check_installed, registry, skill)

    assert (available, replaced, unknown) == (
        InstalledState.AVAILABLE,
        InstalledState.REPLACED,
        InstalledState.GONE,
    )
    assert (yanked.state, yanked.reason) == (InstalledState.YANKED, "it broke")
    assert down.state is InstalledState.GONE
    assert "it steals" in down.reason


@pytest.mark.parametrize("changed", [{"standing": "removed"}, {"version": "9.9.9"}])
def test_an_unknown_answer_does_not_say_that_a_version_is_available(
    server: ScriptedServer, changed: dict[str, str]
) -> None:
    skill = a_skill()
    answer = {
        "version": skill.version, "standing": "latest", "contentHash": skill.content_hash,
        "archiveSha256": skill.archive_sha256, **changed,
    }  # fmt: skip
    server.replies = [Reply(body=msgspec.json.encode(answer))]

    with Registry(server.url) as registry, pytest.raises(RegistryError, match="not understood"):
        check_installed(registry, skill)


def test_a_token_for_another_registry_is_not_sent_to_the_one_of_a_lock_file(
    home: dict[str, str], no_keyring: None
) -> None:
    skill = a_skill()
    remember_registry("other", skill.registry, "vsk_other", home)
    remember_registry("mine", "https://mine.example", "vsk_mine", home)
    environ = {**home, "VSKILL_TOKEN": "vsk_ci"}

    with ExitStack() as stack:
        opened = OpenRegistries(None, stack, environ).of(skill)

    assert (opened.url, opened.token) == (skill.registry, "vsk_other")


async def test_a_name_that_is_no_folder_everywhere_is_refused(
    served: Served, installer: Installer, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path)
    for name in ("../up", "con", "a\x1b[2J", ".hidden", "com1.x"):
        await change_skill(served.env, SLUG, name=name)

        with pytest.raises(InvalidInput, match="cannot be the name of a folder"):
            await installer.plan()

    assert list(installer.scope.root.iterdir()) == []


async def test_an_archive_with_other_files_than_listed_installs_nothing(
    served: Served, installer: Installer, tmp_path: Path, cache: ArchiveCache
) -> None:
    await put_skill(served.env, tmp_path)
    await put_skill(served.env, tmp_path, files=NEXT)
    old, new = await installer.plan(SLUG, "1.0.0"), await installer.plan()
    mixed = replace(new.skill, archive_sha256=old.skill.archive_sha256, version="1.0.0")

    with pytest.raises(SourceRefused, match="does not contain the files"):
        await installer.apply(replace(new, skill=mixed))

    assert list(installer.scope.root.iterdir()) == []


@pytest.mark.parametrize(
    "change", [{"archive_sha256": "short"}, {"slug": "a\n/b"}, {"slug": "noslash"}]
)
async def test_an_answer_that_is_not_valid_is_an_error_of_the_registry(
    served: Served, installer: Installer, tmp_path: Path, registry: Registry, change: dict[str, Any]
) -> None:
    await put_skill(served.env, tmp_path)
    release = (await installer.plan()).release
    assert release

    with pytest.raises(RegistryError, match="not valid"):
        lock_release(registry, replace(release, **change), wanted="latest", folders=(CLAUDE,))


async def test_a_damaged_archive_in_the_cache_is_downloaded_again(
    served: Served, installer: Installer, tmp_path: Path, wire: Wire
) -> None:
    await put_skill(served.env, tmp_path)
    await installer.install()
    await in_thread(remove_skills, installer.scope, [SLUG])
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(b"damaged")

    await installer.install()

    assert files_in(installer.scope.root / CLAUDE.path / "tidy") == as_bytes(dict(FILES))
    assert len([path for path in wire.seen if "download" in path]) == 2


def test_a_version_that_the_registry_has_changed_is_not_installed(scope: InstallScope) -> None:
    files = a_skill().files[:1]
    before = a_skill(folders=(CLAUDE,))
    changed = a_skill(folders=(CLAUDE,), files=files, content_hash=digest_of(files))
    repacked = a_skill(folders=(CLAUDE,), archive_sha256="d" * 64)
    locked = {before.slug: before}

    for skill in (changed, repacked):
        with pytest.raises(NotAllowed, match="has other content than when it was installed"):
            plan_skill(scope, locked, skill)
        assert plan_skill(scope, locked, skill, force=True).skill == skill


@pytest.mark.parametrize(
    ("installed", "wanted", "words"),
    [
        ("1.10.0", "latest", ("version 1.9.0 is older than the installed 1.10.0",)),
        ("1.10.0", "^1", ("version 1.9.0 is older than the installed 1.10.0",)),
        ("1.10.0", "1.9.0", ()),
        ("1.8.0", "latest", ()),
    ],
)
def test_an_older_version_needs_a_yes_unless_the_user_named_it(
    scope: InstallScope, installed: str, wanted: str, words: tuple[str, ...]
) -> None:
    before = a_skill(version=installed)

    plan = plan_skill(scope, {before.slug: before}, a_skill(version="1.9.0", range=wanted))

    assert plan.warnings == words


def test_a_folder_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr(os, "scandir", refuse)  # for root, permissions do not count

    with pytest.raises(ConfigError, match=r"cannot be read: Permission denied"):
        compare_folder(tmp_path, ())

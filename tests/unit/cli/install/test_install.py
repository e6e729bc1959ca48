"""The commands about installed skills, against the whole application in this process."""

import json
import os
import tomllib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cases import all_cases
from tests.clocks import NOON
from tests.unit.client.in_process import URL, Wire, in_thread, wired
from tests.unit.web.api_cast import Registry as Served
from tests.unit.web.api_cast import open_registry
from tests.unit.web.pages_cast import FILES, MANIFEST, change_skill, put_skill
from vskill_platform.cli.install.show import capability_lines
from vskill_platform.cli.main import cli
from vskill_platform.client.install_folders import LOCK_NAME, STAGING
from vskill_platform.errors import VskillError
from vskill_platform.model.block import digest_subject
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.verdict import Verdict
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.publish.moderation.delete_skill import delete_skill
from vskill_platform.publish.moderation.deprecate import deprecate
from vskill_platform.publish.moderation.yank_version import yank_version
from vskill_platform.runtime.env import WorkerEnv

SLUG = "ada/notes/tidy"
NEXT: dict[str, str | bytes] = {"SKILL.md": MANIFEST.format(name="tidy") + "More.\n", "run.sh": "x"}
Run = Callable[..., Coroutine[Any, Any, Result]]


@pytest.fixture
async def served(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Served]:
    await put_skill(bound, tmp_path / "sources")
    async with open_registry(bound) as opened:
        yield opened


@pytest.fixture
async def wire(served: Served, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with wired(served, monkeypatch) as opened:
        yield opened


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of somebody who has Claude Code and nothing else."""
    folder = tmp_path / "home" / "app"
    folder.mkdir(parents=True)
    (folder.parent / ".claude").mkdir()
    monkeypatch.chdir(folder)
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "VSKILL_DATABASE_URL", "VSKILL_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("VSKILL_REGISTRY", URL)
    return folder


@pytest.fixture
def run(wire: Wire, project: Path) -> Run:
    """Run a command; errors are printed as `main` prints them."""

    async def run_one(*arguments: str, answer: str | None = None) -> Result:
        def invoke() -> Result:
            with pytest.MonkeyPatch.context() as patch:
                if answer is not None:
                    patch.setattr("vskill_platform.cli.install.show.is_interactive", lambda: True)
                return CliRunner().invoke(cli, list(arguments), input=answer)

        result = await in_thread(invoke)
        if result.exception and not isinstance(result.exception, SystemExit | VskillError):
            raise result.exception
        return result

    return run_one


def said(result: Result) -> str:
    return f"{result.output}{result.exception or ''}"


def skill_folder(project: Path) -> Path:
    return project / ".claude" / "skills" / "tidy"


async def publish_next(served: Served, tmp_path: Path, **fields: Any) -> None:
    await put_skill(served.env, tmp_path / "sources", files=NEXT, **fields)


async def test_a_verified_skill_is_installed_without_a_terminal(run: Run, project: Path) -> None:
    done = await run("install", "tidy@^1")

    assert done.exit_code == 0, said(done)
    assert done.stdout == "Installed ada/notes/tidy 1.0.0 into .claude/skills/tidy\n"
    assert (
        "published by ada; 2 files; trust T2 (scanned, 45 of 100); scan verdict: pass"
        in done.stderr
    )
    assert (skill_folder(project) / "SKILL.md").read_text() == FILES["SKILL.md"]
    locked = tomllib.loads((project / LOCK_NAME).read_text())
    (skill,) = locked["skill"]
    assert (skill["slug"], skill["range"], skill["registry"]) == (SLUG, "^1", URL)


async def test_json_has_the_names_of_the_api(run: Run, project: Path) -> None:
    done = await run("install", SLUG, "--json")

    (skill,) = json.loads(done.stdout)["skills"]
    assert {name: skill[name] for name in (
        "slug", "version", "previousVersion", "status", "registry", "agents", "paths", "certTier",
        "trustTier", "verdict", "capabilities", "author", "fileCount", "warnings",
    )} == {
        "slug": SLUG, "version": "1.0.0", "previousVersion": None, "status": "installed",
        "registry": URL, "agents": ["claude-code"], "paths": [str(skill_folder(project))],
        "certTier": "SCANNED", "trustTier": "T2", "verdict": "pass", "capabilities": {},
        "author": "ada", "fileCount": 2, "warnings": [],
    }  # fmt: skip


async def test_on_a_terminal_the_first_install_is_confirmed(run: Run, project: Path) -> None:
    refused = await run("install", SLUG, answer="n\n")
    nothing = await in_thread(lambda: list(project.iterdir()))
    done = await run("install", SLUG, answer="y\n")

    assert (refused.exit_code, nothing) == (1, [])
    assert "Continue? [y/N]" in refused.output
    assert done.exit_code == 0
    assert skill_folder(project).is_dir()


@pytest.mark.parametrize("problem", ["yanked", "not verified"])
async def test_a_skill_with_warnings_needs_a_yes(
    run: Run, served: Served, project: Path, tmp_path: Path, problem: str
) -> None:
    if problem == "yanked":
        await yank_version(SLUG, "1.0.0", reason="it broke", actor="ada")
    else:
        await put_skill(served.env, tmp_path / "more", files=NEXT, verdict=Verdict.REVIEW)
    wanted = f"{SLUG}@1.0.0" if problem == "yanked" else SLUG

    refused = await run("install", wanted)
    done = await run("install", wanted, "--yes")

    assert refused.exit_code == 1
    assert problem in said(refused)
    assert "use --yes" in said(refused)
    assert done.exit_code == 0, said(done)
    assert f"warning: {SLUG}: " in done.stderr
    assert skill_folder(project).is_dir()


async def test_a_deprecated_skill_is_installed_with_a_warning(run: Run, project: Path) -> None:
    await deprecate(SLUG, None, message="it is slow", actor="ada")

    shown = await run("info", SLUG)
    done = await run("install", SLUG)
    listed = await run("outdated")
    as_json = await run("outdated", "--json")

    assert "warning: deprecated: it is slow" in shown.stderr
    assert "1.0.0 (deprecated)" in shown.stdout
    assert done.exit_code == 0, said(done)
    assert f"warning: {SLUG}: deprecated: it is slow" in done.stderr
    assert skill_folder(project).is_dir()
    assert "deprecated: it is slow" in listed.stdout
    assert json.loads(as_json.stdout)["results"][0]["deprecated"] == "deprecated: it is slow"


async def test_an_update_that_brings_new_capabilities_needs_a_yes(
    run: Run, served: Served, project: Path, tmp_path: Path
) -> None:
    await run("install", SLUG)
    await publish_next(served, tmp_path)

    refused = await run("update")
    shown = await run("update", answer="n\n")
    done = await run("update", "--yes")

    assert refused.exit_code == 1
    assert "new capabilities" in said(refused)
    assert "new capabilities: network api.example" in shown.output
    assert "new capabilities: shell python" in shown.output
    assert done.stdout == f"Updated {SLUG} 1.0.0 → 1.0.1 in .claude/skills/tidy\n"
    assert (skill_folder(project) / "run.sh").read_text() == "x"


async def test_the_lock_file_alone_brings_everything_back(
    run: Run, served: Served, project: Path, tmp_path: Path
) -> None:
    await run("install", SLUG)
    await publish_next(served, tmp_path)
    before = (project / LOCK_NAME).read_bytes()
    await in_thread(_delete, skill_folder(project))

    done = await run("install", "--frozen")
    again = await run("install")

    assert done.exit_code == 0, said(done)
    assert done.stdout == f"Installed {SLUG} 1.0.0 into .claude/skills/tidy\n"
    assert again.stdout == f"{SLUG} 1.0.0 is up to date\n"
    assert (project / LOCK_NAME).read_bytes() == before
    assert (skill_folder(project) / "SKILL.md").read_text() == FILES["SKILL.md"]


async def test_a_lock_file_that_says_the_same_keeps_its_bytes(run: Run, project: Path) -> None:
    await run("install", SLUG)
    lock = project / LOCK_NAME
    edited = b"# ours\r\n" + lock.read_bytes().replace(b"\n", b"\r\n")
    lock.write_bytes(edited)

    for command in (["install", "--frozen"], ["install"]):
        await in_thread(_delete, skill_folder(project))
        done = await run(*command)

        assert done.exit_code == 0, said(done)
        assert skill_folder(project).is_dir()
        assert lock.read_bytes() == edited


async def test_frozen_refuses_everything_but_the_lock_file(
    run: Run, served: Served, project: Path
) -> None:
    without = await run("install", "--frozen")
    named = await run("install", "--frozen", SLUG)
    await run("install", SLUG)
    (skill_folder(project) / "SKILL.md").write_text("mine")
    changed = await run("install", "--frozen")
    forced = await run("install", "--frozen", "--force")

    assert [one.exit_code for one in (without, named, changed, forced)] == [1, 2, 1, 0]
    assert "does not exist" in said(without)
    assert "give no names" in said(named)
    assert "local changes" in said(changed)


async def test_no_command_accepts_what_was_blocked_since(
    run: Run, served: Served, project: Path
) -> None:
    await run("install", SLUG)
    locked = tomllib.loads((project / LOCK_NAME).read_text())
    digest = locked["skill"][0]["content_hash"]
    await block(digest_subject(digest), reason="it steals", actor="cyd")

    for command in (
        ["install", "--frozen"], ["install"], ["install", SLUG], ["update"], ["verify"],
    ):  # fmt: skip
        refused = await run(*command)

        assert refused.exit_code == 1
        assert "it steals" in said(refused)


async def test_a_skill_named_twice_is_installed_once_and_in_one_version(
    run: Run, served: Served, project: Path, tmp_path: Path
) -> None:
    await publish_next(served, tmp_path)

    same = await run("install", "tidy", SLUG)
    other = await run("install", SLUG, f"{SLUG}@1.0.0")

    assert (same.exit_code, same.stdout.count("Installed")) == (0, 1)
    assert other.exit_code == 1
    assert f"{SLUG} is named twice, as latest (1.0.1) and as 1.0.0 (1.0.0)" in said(other)


async def test_installed_files_are_enough_if_the_registry_does_not_answer(
    run: Run, wire: Wire, project: Path
) -> None:
    await run("install", SLUG)
    await in_thread(_delete, project.parent / ".cache")
    wire.cut()

    done = await run("install")

    assert (done.exit_code, done.stdout) == (0, f"{SLUG} 1.0.0 is up to date\n")
    assert "Not checked whether" in done.stderr


async def test_a_registry_that_does_not_answer_is_named_once(
    run: Run, served: Served, wire: Wire, tmp_path: Path
) -> None:
    await put_skill(served.env, tmp_path / "sources", slug="ada/notes/clean", name="clean")
    await run("install", SLUG, "ada/notes/clean")
    wire.cut()

    installed = await run("install")
    updated = await run("update", "--yes")

    assert installed.exit_code == 0, said(installed)
    assert installed.stderr.count("cannot connect") == 1
    assert "whether ada/notes/clean, ada/notes/tidy were blocked since" in installed.stderr
    assert updated.exit_code == 1
    assert updated.stderr.count("cannot connect") == 1


async def test_a_locked_version_is_installed_offline_from_the_cache(
    run: Run, wire: Wire, project: Path
) -> None:
    await run("install", SLUG)
    await in_thread(_delete, skill_folder(project))
    wire.cut()

    unasked = await run("install", "--offline")
    await in_thread(_delete, skill_folder(project))
    unreachable = await run("install")
    await in_thread(_delete, skill_folder(project))
    named = await run("install", SLUG)

    assert [one.exit_code for one in (unasked, unreachable, named)] == [0, 0, 0]
    assert "not checked whether these skills have been blocked" in unasked.stderr
    for one in (unreachable, named):
        assert "cannot connect" in one.stderr
        assert "ot checked whether" in one.stderr
    assert skill_folder(project).is_dir()


async def test_offline_without_the_cache_is_an_error(run: Run, wire: Wire, project: Path) -> None:
    await run("install", SLUG)
    await in_thread(_delete, skill_folder(project))
    await in_thread(_delete, project.parent / ".cache")
    wire.cut()

    for options in (["--offline"], [], ["--frozen"], ["--offline", SLUG], [SLUG]):
        refused = await run("install", *options)

        assert refused.exit_code == 1

    assert not skill_folder(project).exists()


async def test_verify_reports_every_difference(run: Run, served: Served, project: Path) -> None:
    without = await run("verify")
    await run("install", SLUG)
    clean = await run("verify")
    folder = skill_folder(project)
    (folder / "SKILL.md").write_text("changed")
    (folder / "extra.md").write_text("extra")
    (folder / "scripts" / "tidy.py").unlink(missing_ok=True)
    await yank_version(SLUG, "1.0.0", reason="it broke", actor="ada")

    found = await run("verify", "--json")
    offline = await run("verify", "--offline")
    shown = await run("verify")

    assert without.exit_code == 1
    assert "does not exist" in said(without)
    assert (clean.exit_code, clean.stdout) == (0, "")
    assert "1 skill verified" in clean.stderr
    problems = {
        (one["kind"], Path(one["path"]).name) for one in json.loads(found.stdout)["problems"]
    }
    assert {("changed", "SKILL.md"), ("extra", "extra.md"), ("yanked", "")} <= problems
    assert [one.exit_code for one in (found, offline, shown)] == [1, 1, 1]
    assert f"{SLUG}\t1.0.0\tyanked\tit broke" in shown.stdout
    assert "yanked" not in offline.stdout


async def test_a_registry_that_does_not_answer_is_no_clean_result(
    run: Run, wire: Wire, project: Path
) -> None:
    await run("install", SLUG)
    wire.cut()

    for command in ("verify", "outdated", "update"):
        refused = await run(command)

        assert refused.exit_code == 1
        assert "cannot connect" in said(refused)
        assert "verified" not in said(refused)
    offline = await run("verify", "--offline")
    assert offline.exit_code == 0
    assert "the registry was not asked" in offline.stderr


async def test_outdated_shows_where_an_update_would_go(
    run: Run, served: Served, project: Path, tmp_path: Path
) -> None:
    await run("install", f"{SLUG}@1.0.0")
    current = await run("outdated")
    await publish_next(served, tmp_path)

    rows = await run("outdated")
    as_json = await run("outdated", "--json")

    assert (current.exit_code, current.stdout) == (0, "")
    assert (rows.exit_code, rows.stdout) == (0, f"{SLUG}\t1.0.0\t1.0.0\t1.0.1\t\n")
    assert json.loads(as_json.stdout)["results"] == [
        {"slug": SLUG, "installed": "1.0.0", "range": "1.0.0", "wanted": "1.0.0",
         "latest": "1.0.1", "reason": "", "updateAvailable": False},
    ]  # fmt: skip


async def test_outdated_lists_a_skill_that_was_taken_down_or_deleted(
    run: Run, served: Served
) -> None:
    await run("install", SLUG)
    await change_skill(served.env, SLUG, down=TakenDown(reason="it steals", by="cyd", at=NOON))

    down = await run("outdated")
    await delete_skill(SLUG, reason="a mistake", actor="cyd", is_admin=True)
    gone = await run("outdated", "--json")

    assert (down.exit_code, down.stderr) == (0, "")
    assert down.stdout.startswith(f"{SLUG}\t1.0.0\t-\t-\tgone: ")
    assert "it steals" in down.stdout
    assert gone.exit_code == 0
    (row,) = json.loads(gone.stdout)["results"]
    assert (row["wanted"], row["latest"], row["updateAvailable"]) == (None, None, False)
    assert "a mistake" in row["reason"]


async def test_files_left_by_a_killed_run_are_gone_after_the_next_command(
    run: Run, project: Path
) -> None:
    await run("install", SLUG)
    left = project / ".claude" / "skills" / STAGING
    (left / "0a1b" / "0").mkdir(parents=True)
    (left / "0a1b" / "0" / "SKILL.md").write_text("old")

    listed = await run("list")

    assert listed.exit_code == 0
    assert not left.exists()
    assert skill_folder(project).is_dir()


async def test_list_and_remove(run: Run, project: Path) -> None:
    await run("install", SLUG)

    listed = await run("list")
    as_json = await run("list", "--json")
    removed = await run("remove", "tidy")
    again = await run("remove", "tidy")

    assert listed.stdout == f"{SLUG}\t1.0.0\tok\t.claude/skills\n"
    (skill,) = json.loads(as_json.stdout)["skills"]
    assert (skill["slug"], skill["state"], skill["version"]) == (SLUG, "ok", "1.0.0")
    assert removed.stdout == f"Removed {SLUG} 1.0.0 from .claude/skills/tidy\n"
    assert not skill_folder(project).exists()
    assert again.exit_code == 1
    assert "is not installed here" in said(again)


async def test_a_skill_is_removed_for_one_agent_and_stays_for_the_others(
    run: Run, project: Path
) -> None:
    await run("install", SLUG, "--agent", "claude-code", "--agent", "codex", "--agent", "cursor")

    shared = await run("remove", "tidy", "--agent", "codex")
    unknown = await run("remove", "tidy", "--agent", "no-such-agent")
    removed = await run("remove", "tidy", "--agent", "claude-code", "--json")
    again = await run("remove", "tidy", "--agent", "claude-code")
    listed = await run("list", "--json")
    rest = await run("remove", "tidy")

    assert (shared.exit_code, unknown.exit_code) == (1, 2)
    assert "use the same folder" in said(shared)
    assert removed.exit_code == 0, said(removed)
    assert not skill_folder(project).exists()
    assert (again.exit_code, "is not installed for this agent" in said(again)) == (1, True)
    (left,) = json.loads(listed.stdout)["skills"]
    assert (left["slug"], left["state"]) == (SLUG, "ok")
    assert rest.exit_code == 0
    assert json.loads((await run("list", "--json")).stdout)["skills"] == []


async def test_a_file_name_that_is_not_utf8_is_shown_escaped(run: Run, project: Path) -> None:
    await run("install", SLUG)
    await in_thread((skill_folder(project) / os.fsdecode(b"caf\xe9")).write_text, "x")

    verified = await run("verify")
    as_json = await run("verify", "--json")

    assert (verified.exit_code, "caf" in said(verified)) == (1, True)
    (problem,) = json.loads(as_json.stdout)["problems"]
    assert problem["path"].endswith("caf\\udce9")


async def test_agents_can_have_one_folder_under_several_names(
    run: Run, served: Served, project: Path, tmp_path: Path
) -> None:
    shared = project / ".agents" / "skills"
    shared.mkdir(parents=True)
    (project / ".claude").mkdir(exist_ok=True)
    (project / ".claude" / "skills").symlink_to("../.agents/skills")
    agents = ("--agent", "claude-code", "--agent", "codex")

    installed = await run("install", SLUG, *agents)
    await publish_next(served, tmp_path)
    updated = await run("update", "--yes")
    verified = await run("verify")
    for_one = await run("remove", "tidy", "--agent", "claude-code")
    removed = await run("remove", "tidy", *agents)

    assert installed.exit_code == 0, said(installed)
    assert updated.exit_code == 0, said(updated)
    assert verified.exit_code == 0, said(verified)
    assert (for_one.exit_code, "codex use the same folder" in said(for_one)) == (1, True)
    assert removed.exit_code == 0, said(removed)
    assert await in_thread(lambda: list(shared.iterdir())) == []


async def test_a_skill_that_is_there_under_another_name_of_the_folder_is_known(
    run: Run, served: Served, project: Path, tmp_path: Path
) -> None:
    await run("install", SLUG, "--agent", "codex")
    (project / ".claude").mkdir(exist_ok=True)
    (project / ".claude" / "skills").symlink_to("../.agents/skills")
    await publish_next(served, tmp_path)
    await put_skill(served.env, tmp_path / "sources", slug="ben/other/tidy", files=NEXT)

    foreign = await run("install", "ben/other/tidy", "--agent", "claude-code")
    newer = await run("install", SLUG, "--agent", "claude-code", "--yes")

    assert "a skill of another publisher with the same name" in said(foreign)
    assert newer.exit_code == 0, said(newer)
    assert (await run("verify")).exit_code == 0


async def test_info_shows_what_is_known(run: Run, served: Served, tmp_path: Path) -> None:
    await publish_next(served, tmp_path)

    shown = await run("info", "tidy")
    first = await run("info", f"{SLUG}@1.0.0", "--json")
    missing = await run("info", "nothing-like-it")

    assert "capabilities: network api.example" in shown.stdout
    assert "versions   1.0.1, 1.0.0" in shown.stdout
    assert "install it with: vskill-platform install ada/notes/tidy" in shown.stdout
    skill = json.loads(first.stdout)["skill"]
    assert (skill["version"], skill["capabilities"], skill["versionCount"]) == ("1.0.0", {}, 2)
    assert missing.exit_code == 1


async def test_a_folder_and_the_user_scope_have_their_own_lock_files(
    run: Run, project: Path
) -> None:
    in_folder = await run("install", SLUG, "--dir", "skills")
    for_user = await run("install", SLUG, "--user")

    assert [one.exit_code for one in (in_folder, for_user)] == [0, 0], said(in_folder)
    assert (project / "skills" / "tidy" / "SKILL.md").exists()
    assert (project / "skills" / LOCK_NAME).exists()
    home = project.parent
    assert (home / ".claude" / "skills" / "tidy" / "SKILL.md").exists()
    assert (home / ".config" / "vskill-platform" / LOCK_NAME).exists()
    assert not (project / LOCK_NAME).exists()
    assert (await run("list", "--user")).stdout == f"{SLUG}\t1.0.0\tok\t~/.claude/skills\n"


async def test_a_lock_file_does_not_choose_the_registry(
    run: Run, project: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run("install", SLUG)
    await in_thread(_delete, skill_folder(project))
    lock = project / LOCK_NAME
    lock.write_text(lock.read_text().replace(URL, "http://127.0.0.1:6666"))
    wire.seen.clear()

    refused = await run("install", "--frozen")

    assert refused.exit_code == 1
    assert "a registry that you have not used" in said(refused)
    assert wire.seen == []


async def test_a_skill_of_an_unknown_registry_does_not_stop_the_updates_of_others(
    run: Run, served: Served, project: Path, tmp_path: Path
) -> None:
    await run("install", SLUG)
    lock = project / LOCK_NAME
    header, block = lock.read_text().split("[[skill]]")
    foreign = block.replace("ada/notes/tidy", "eve/x/other").replace('"tidy"', '"other"')
    foreign = foreign.replace(URL, "http://127.0.0.1:6666")
    lock.write_text(f"{header}[[skill]]{block}\n[[skill]]{foreign}")
    await publish_next(served, tmp_path)

    updated = await run("update", "--yes")

    assert updated.exit_code == 1
    assert f"Updated {SLUG} 1.0.0 → 1.0.1" in said(updated)
    assert "a registry that you have not used" in said(updated)


@all_cases(
    ("found", "shown"),
    [
        (None, "capabilities: not known, an older release published it"),
        ({}, "capabilities: none found"),
        ({"hosts": ["api.example"]}, "capabilities: network api.example"),
        ({"hosts": ["x" * 100_000]}, f"capabilities: network {'x' * 199}…"),
    ],
)
def test_capabilities_are_shown_in_words(found: dict[str, list[str]] | None, shown: str) -> None:
    assert capability_lines(found) == [shown]


async def test_a_registry_from_which_somebody_installed_is_asked_again(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VSKILL_REGISTRY")
    await run("install", SLUG, "--registry", URL)

    verified = await run("verify")
    restored = await run("install", "--frozen")

    assert verified.exit_code == 0, said(verified)
    assert restored.exit_code == 0, said(restored)


async def test_a_wrong_name_is_answered_with_similar_ones(run: Run) -> None:
    refused = await run("install", "ben/other/tidy")
    version = await run("install", f"{SLUG}@9.9.9")

    assert refused.exit_code == 1
    assert f"Did you mean {SLUG}?" in said(refused)
    assert "has no version 9.9.9" in said(version)
    assert "Did you mean" not in said(version)


async def test_without_a_registry_it_says_what_to_do(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VSKILL_REGISTRY")

    refused = await run("install", SLUG)

    assert refused.exit_code == 1
    assert "vskill-platform login URL" in said(refused)


async def test_the_lock_file_of_another_tool_is_left_alone(run: Run, project: Path) -> None:
    other = project / "vskill.lock"
    other.write_text('{"version": 1, "skills": {}}')

    await run("install", SLUG)

    assert other.read_text() == '{"version": 1, "skills": {}}'


async def test_without_an_agent_the_shared_folder_is_used_and_named(
    run: Run, project: Path
) -> None:
    (project.parent / ".claude").rmdir()

    done = await run("install", SLUG)

    assert done.stdout == f"Installed {SLUG} 1.0.0 into .agents/skills/tidy\n"
    assert "No agent was found" in done.stderr


async def test_hostile_text_of_a_registry_does_not_reach_the_terminal(
    run: Run, served: Served
) -> None:
    await change_skill(served.env, SLUG, description="nice\x1b[2Jtext\u202e")

    done = await run("install", SLUG)
    shown = await run("info", SLUG)

    for one in (done, shown):
        assert "\x1b" not in one.output
        assert "\u202e" not in one.output


def _delete(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


@all_cases(
    "arguments",
    [
        ("install", f"{SLUG}@^one"),
        ("install", "@"),
        ("install", SLUG, "--frozen"),
        ("install", SLUG, "--agent", "clod"),
        ("info", f"{SLUG}@>>1"),
        ("remove", "tidy", "--agent", "clod"),
    ],
)
async def test_arguments_that_cannot_be_understood_are_wrong_usage(
    run: Run, project: Path, arguments: tuple[str, ...]
) -> None:
    refused = await run(*arguments)

    assert refused.exit_code == 2, said(refused)
    assert "Usage: " in refused.output
    assert await in_thread(lambda: list(project.iterdir())) == []

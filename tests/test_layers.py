"""The house rules that import-linter cannot say."""

import ast
import re
from pathlib import Path

import pytest

from tests.tables import ROOT

PACKAGE = ROOT / "src/vskill_platform"
SOURCES = sorted(PACKAGE.rglob("*.py"))
#: Where an error of any kind may be caught: it is handed back or written down there.
CATCHES_ALL = {"base/settle.py", "queue/consumer.py", "cron/schedule.py"}
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60


def catches_everything(text: str) -> bool:
    return any(
        isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
        for node in ast.walk(ast.parse(text))
    )


def test_only_three_places_catch_everything() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        if catches_everything(path.read_text())
    }

    assert found == CATCHES_ALL


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "os.environ"
    }

    # The CLI hands the environment to the settings; git gets its PATH and nothing else.
    assert readers == {"cli/session.py", "cli/config.py", "fetch/git.py"}


def test_keys_are_known_only_to_their_store() -> None:
    prefixes = re.compile(
        r'"(?:sub|sub-source|hist|scan|skill|version|blob|extscan|repo-health|judge-said|judge-day|held|held-files|quota|reminder|likeness|like|block|block-hit|audit|rescan|rescan-done):'
    )
    for path in SOURCES:
        if path.parent.name != "stores":
            assert not prefixes.search(path.read_text()), path


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_rooms_are_small(path: Path) -> None:
    text = path.read_text()

    assert text.count("\n") <= MAX_MODULE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < MAX_FUNCTION_LINES, node.name


def test_a_folder_has_two_modules_or_more() -> None:
    for folder in {path.parent for path in SOURCES}:
        modules = {*folder.glob("*.py"), *(path.parent for path in folder.glob("*/__init__.py"))}
        assert len(modules - {folder / "__init__.py"}) >= 2, folder

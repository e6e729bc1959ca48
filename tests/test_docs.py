"""The documents and the code agree: both name the same things."""

import ast
import inspect
import re
import runpy
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import click
import msgspec
import yaml

from tests.cases import all_cases
from tests.tables import ROOT, rows_of, unquoted
from vskill_platform import errors
from vskill_platform.cli.main import cli
from vskill_platform.model.submission import EDGES
from vskill_platform.model.verdict import Verdict
from vskill_platform.queue.fail_submission import ErrorClass
from vskill_platform.scan.rules.registry_rules import load_registry_rules
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.setting_values import format_duration
from vskill_platform.settings import Settings, variable
from vskill_platform.web.http.problem_kinds import KINDS, UNEXPECTED
from vskill_platform.web.openapi import describe_api

#: What docs/clients.md calls these packages.
_CLIENT_NAMES = {
    "@anthropic-ai/claude-code-linux-x64": "Claude Code",
    "@modelcontextprotocol/inspector": "MCP Inspector",
}
_CLIENT_COLUMNS = 4

SOURCES = sorted((ROOT / "src").rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
#: Without the style guide, which quotes these phrases, and the list of modules, which quotes code.
WRITTEN = [path for path in DOCUMENTS if path.name not in {"style.md", "modules.md"}]
#: Phrases of docs/style.md that have one meaning only, so that they can be found by their words.
REJECTED_PHRASES = (
    "stands still",
    "stand still",
    "waits for a person",
    "wait for a person",
    "other makers",
    "handed in",
    "hand in",
    "given up",
    "lies open",
    "of today",
    "locked out",
    "is no end",
    "in work",
    "whoever",
    "anew",
    "for ever",
    "who names it exactly",
    "offered no longer",
    "out of the offer",
    "those of its namespace",
    "middling",
    "gravest",
    "by hand",
    "handed over",
    "hand over",
    "hands over",
    "given back",
    "in reach",
    "with each deed",
    "brought back",
    "goes its way",
    "of its own accord",
    "so to speak",
    "lets through",
    "keeper",
    "shelf",
    "everybody",
    "anybody",
    "in force",
    "hears of",
    "told apart",
    "is said",
    "are said",
    "hands out",
    "handed out",
    "stands beside",
)
_REJECTED = re.compile(rf"\b(?:{'|'.join(REJECTED_PHRASES)})\b", re.IGNORECASE)
#: Everything that a user reads: documents, pages, their scripts, emails, reports, and commands.
READ_BY_USERS = [
    *WRITTEN,
    *sorted((ROOT / "src").rglob("*.html")),
    *sorted((ROOT / "src/vskill_platform/events/templates").glob("*.txt")),
    *sorted((ROOT / "src/vskill_platform/web/static").glob("*.js")),
    *sorted((ROOT / "src/vskill_platform/cli").rglob("*.py")),
]
#: Modules with messages that users read: errors, reasons, notes, fixes.
WITH_MESSAGES = [
    path
    for path in SOURCES
    # The scanner's vocabulary has the words that skills use.
    if not {"any_language", "collect", "facts", "languages", "prose", "settings_files"}
    & set(path.parts)
]
#: Rejected in messages only: documents may use these words with their usual meaning.
_REJECTED_IN_MESSAGES = re.compile(
    rf"\b(?:{'|'.join(REJECTED_PHRASES)}|a person|revived?|mend|stood still|moved on)\b",
    re.IGNORECASE,
)
#: An old name of a command, of events in stored histories, and of a path of the API.
_NAMES_IN_MESSAGES = {"revive", "/api/v1/queue/dead-letters/{message_id:int}/revive"}
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
_ANCHOR = re.compile(r"\]\(([^)#]*)#([^)]+)\)")
#: A path with at least one folder, which is below the root, the package or the unit tests.
_SOURCE_FILE = re.compile(r"`((?:\w+/)+\w+\.(?:py|toml|sql|js))\b")
_RULE = re.compile(r'"((?:MAN|LIM|RUN|JUDGE|EXT)-\w+)"')
_DECIDED_BY_THE_MACHINE = {"node", "scan_processes"}


def commands(group: click.Group = cli, prefix: str = "") -> dict[str, click.Command]:
    """Return every command that the help shows, by its words; groups only by their commands."""
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            found |= commands(command, f"{prefix}{name} ")
        elif command and not command.hidden:
            found[f"{prefix}{name}"] = command
    return found


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {unquoted(row[0]): unquoted(row[1]) for row in rows_of("docs/settings.md")}
    defaults = Settings()

    assert set(documented) == {variable(field.name) for field in msgspec.structs.fields(Settings)}
    for field in msgspec.structs.fields(Settings):
        if field.name not in _DECIDED_BY_THE_MACHINE:
            value = getattr(defaults, field.name)
            shown = format_duration(value) if isinstance(value, timedelta) else str(value)
            assert documented[variable(field.name)] == shown


def test_every_command_and_option_is_documented() -> None:
    rows = [row[0] for row in rows_of("docs/cli.md")]
    for name, command in commands().items():
        (line,) = (row for row in rows if re.match(rf"`{name}[ `]", row))
        for parameter in command.params:
            written = parameter.opts[-1 if parameter.param_type_name == "option" else 0]
            assert written in line or parameter.human_readable_name in line, (name, written)


def test_every_documented_command_exists() -> None:
    known = commands()
    for row in rows_of("docs/cli.md"):
        if found := re.match(r"`([a-z][a-z -]*)", row[0]):
            words = found.group(1).strip()
            assert any(f"{words} ".startswith(f"{name} ") or name.startswith(f"{words} ")
                       for name in known), words  # fmt: skip


def test_every_operation_of_the_api_is_documented() -> None:
    documented = [unquoted(row[0]) for row in rows_of("docs/api.md")]
    operations = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, item in describe_api()["paths"].items()
        for method in item
        if method != "parameters"
    }

    assert {row for row in documented if re.match("[A-Z]+ /", row)} == operations


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    named = [*groups["dev"], *groups["bench"], *groups["deploy"], *groups["fuzz"]]
    wanted = [*project["project"]["dependencies"], *named]

    assert {row[0] for row in rows_of("docs/dependencies.md")} == {
        re.split("[<>=]", requirement)[0] for requirement in wanted
    }


def test_every_edge_between_states_is_explained() -> None:
    documented = {(row[1], row[2]) for row in rows_of("docs/states.md")}

    assert documented == {(state, to) for state, targets in EDGES.items() for to in targets}


def test_every_rule_is_documented() -> None:
    in_code = {rule for path in SOURCES for rule in _RULE.findall(path.read_text())}
    in_data = {rule.id for rule in load_rules()} | set(load_registry_rules())
    documented = {row[0] for row in rows_of("docs/scanning.md")} - set(Verdict)

    assert in_code | in_data | set(ErrorClass) == documented


def test_every_rule_is_documented_with_its_severity() -> None:
    documented = {row[0]: row[1] for row in rows_of("docs/scanning.md")}

    for rule in load_rules():
        assert documented[rule.id] == rule.severity
    for rule_id, registry_rule in load_registry_rules().items():
        assert documented[rule_id] == registry_rule.severity


@all_cases("file", READ_BY_USERS, ids=lambda path: path.name)
def test_no_page_command_or_document_uses_the_old_words(file: Path) -> None:
    quoted = r"`[^`\n]*`" if file.suffix == ".md" else r"$^"
    words = " ".join(re.sub(quoted, "", file.read_text()).split())

    assert _REJECTED.findall(words) == []


def test_no_message_uses_the_old_words() -> None:
    found = [
        f"{file.name}:{node.lineno} {node.value}"
        for file in WITH_MESSAGES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value not in _NAMES_IN_MESSAGES
        and _REJECTED_IN_MESSAGES.search(" ".join(node.value.split()))
    ]

    assert found == []


def test_no_rule_uses_the_old_words() -> None:
    texts = [
        *(f"{rule.id}: {rule.title} {rule.why} {rule.fix}" for rule in load_rules()),
        *(f"{one.id}: {one.title} {one.why} {one.fix}" for one in load_registry_rules().values()),
    ]

    assert [text for text in texts if _REJECTED.search(text)] == []


def test_no_docstring_or_test_name_speaks_of_telling_and_hearing() -> None:
    """Functions return, report and notify; only texts tell an agent what to do."""
    tells = re.compile(r"^(?:Tell (?:whether|if|how|which|where|when|that)|Hear|Say)\b")
    named = re.compile(r"_(?:told|hears?|heard|said|given_up|whoever|anew)(?:_|$)")
    found = []
    for file in [*SOURCES, *(ROOT / "tests").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
                name = getattr(node, "name", "")
                is_odd = name.startswith("test_") and named.search(name)
                if is_odd or tells.search(ast.get_docstring(node) or ""):
                    found.append(f"{file.name} {name}")

    assert found == []


@all_cases("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in _LINK.findall(document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


@all_cases("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_heading_has_its_heading(document: Path) -> None:
    for target, anchor in _ANCHOR.findall(document.read_text()):
        if "://" not in target:
            linked = document.parent / target if target else document
            assert anchor in _headings(linked), f"{target}#{anchor}"


def _headings(document: Path) -> set[str]:
    """Return the anchors of a document, made as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@all_cases("document", WRITTEN, ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    folders = [ROOT, ROOT / "src/vskill_platform", ROOT / "tests/unit"]
    for name in _SOURCE_FILE.findall(document.read_text()):
        assert any((folder / name).is_file() for folder in folders), name


def test_every_file_of_the_walkthrough_exists() -> None:
    text = (ROOT / "docs/walkthrough.md").read_text()
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", text)) | set(re.findall(r"`(\w+\.py)`", text))

    assert "queue/process_submission.py" in named
    for name in named:
        folders = (ROOT / "src/vskill_platform", ROOT / "src/vskill_platform/engines/sqlite")
        assert any((folder / name).is_file() for folder in folders), name


def test_every_incident_names_tests_that_exist() -> None:
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    for number, *_, proofs in rows_of("docs/incidents.md"):
        named = re.findall(r"`(test_\w+)`", proofs)
        assert named, number
        assert set(named) <= known, number


def test_the_list_of_modules_is_current() -> None:
    """Run `make format` if it is not."""
    described = runpy.run_path(str(ROOT / "docs/modules.py"))["describe_modules"]()

    assert (ROOT / "docs/modules.md").read_text() == described


def test_every_module_says_what_it_is_for() -> None:
    texts = {path: path.read_text() for path in SOURCES}

    assert [path for path in SOURCES if texts[path] and not _says_what_it_is_for(texts[path])] == []


def _says_what_it_is_for(text: str) -> bool:
    return bool(re.match(r'"""\S[^"]*', text))  # to parse all modules takes a second


def test_the_tree_of_errors_is_complete() -> None:
    in_tree = re.findall(r"^(?:VskillError|[│ ├└─]+(\w+))", errors.__doc__ or "", re.MULTILINE)
    classes = {name for name, item in vars(errors).items() if inspect.isclass(item)}

    assert {name or "VskillError" for name in in_tree} == classes


def test_the_tree_of_errors_has_the_http_status_of_each() -> None:
    rows = re.findall(r"^[│ ├└─]+(\w+) .*? (\d{3})\b", errors.__doc__ or "", re.MULTILINE)
    by_name = {name: getattr(errors, name) for name, _ in rows}
    kinds = {
        name: next((kind for type_, kind in KINDS.items() if issubclass(item, type_)), UNEXPECTED)
        for name, item in by_name.items()
    }

    assert {name: int(status) for name, status in rows} == {
        name: kind.status for name, kind in kinds.items()
    }
    assert {"ConfigError", "NoWorkerEnv", "VskillError"} == {
        name for name, item in vars(errors).items() if inspect.isclass(item)
    } - set(by_name)


def test_lock_files_pin_with_hashes_and_name_no_host() -> None:
    for lock in (ROOT / "requirements").glob("*.lock"):
        text = lock.read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text


def test_operators_install_nothing_without_a_hash() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    commands = re.findall(r"pip install (.*)", text)

    assert commands
    for command in commands:
        is_own = "--no-deps" in command and "--no-build-isolation" in command
        assert is_own or "--require-hashes" in command
    for lock in re.findall(r"-r (requirements/\S+)", text):
        assert (ROOT / lock).is_file()


def test_lock_files_are_installed_as_they_are() -> None:
    """Without --no-deps, pip resolves extras itself and refuses the lock after a newer release."""
    places = ("Makefile", "Dockerfile", "docs/operations.md")
    lines = [line for place in places for line in (ROOT / place).read_text().splitlines()]
    installs = [line for line in lines if "--require-hashes" in line]

    assert len(installs) > 8
    assert [line for line in installs if "--no-deps" not in line] == []


def test_every_fault_that_operators_read_about_has_its_test() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)

    assert len(named) > 10
    for file, test in named:
        assert f"def {test}" in (ROOT / file).read_text(), f"{file}::{test}"


def test_the_pipeline_fits_on_one_screen() -> None:
    pipeline = ROOT / "src/vskill_platform/queue/process_submission.py"

    assert len(pipeline.read_text().splitlines()) <= 50


def test_the_snippets_for_ci_are_those_of_the_docs() -> None:
    page = (ROOT / "docs/publishing-from-ci.md").read_text()

    shown = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)

    files = [ROOT / "deploy/ci" / name for name in ("github-actions.yml", "gitlab-ci.yml")]
    assert shown == [file.read_text() for file in files]
    assert all(yaml.safe_load(text) for text in shown)


def test_the_versions_of_clients_are_those_that_are_run() -> None:
    package = msgspec.json.decode((ROOT / "tests/clients/package.json").read_bytes())
    run: dict[str, set[str]] = {}
    for alias, pin in package["dependencies"].items():
        name, _, version = pin.removeprefix("npm:").rpartition("@")
        if not (name or alias).startswith("node-linux"):
            run.setdefault(_CLIENT_NAMES.get(alias, name or alias), set()).add(version)
    lock = (ROOT / "requirements/clients.lock").read_text()
    for name in ("apm-cli", "skills-ref"):
        run[name] = set(re.findall(rf"^{name}==(\S+)", lock, re.MULTILINE))

    told: dict[str, set[str]] = {}
    for row in rows_of("docs/clients.md"):
        if len(row) == _CLIENT_COLUMNS:
            name = row[0].partition(" (")[0].strip("`")
            told.setdefault(name, set()).update(row[1].split(", "))

    assert {name: told[name] for name in told.keys() - {"git", "vskill"}} == run


@all_cases("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_code_block_can_be_read(document: Path) -> None:
    lines = document.read_text().splitlines()
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith("```")]
    assert len(fences) % 2 == 0, "a block has no end"

    for first, last in zip(fences[::2], fences[1::2], strict=True):
        language = lines[first].strip().removeprefix("```")
        block = textwrap.dedent("\n".join(lines[first + 1 : last]))
        assert " " not in language, f"{document.name}:{first + 1}: text after the language"
        _PARSERS.get(language, str)(block)


def _check_shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), text


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "json": msgspec.json.decode,
    "sh": _check_shell,
}


def test_the_readme_has_its_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()

    assert "make serve" in readme
    assert "make test" in readme

"""Rules of the code that import-linter cannot check."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.tables import ROOT

PACKAGE = ROOT / "src/vskill_platform"
SOURCES = sorted(PACKAGE.rglob("*.py"))
#: Where an error of any kind may be caught: these modules return it or log it.
CATCHES_ALL = {"base/settle.py", "queue/consumer.py", "cron/schedule.py"}
#: Modules that send HTTP requests; git does too, through our proxy.
SENDS_REQUESTS = {
    "base/outgoing_http.py",  # the client of most others, with its limits
    "base/tls.py",  # only what they trust
    "events/post_webhook.py",
    "client/ci_token.py",
    "client/head_limit.py",
    "client/http_client.py",
    "client/registry.py",
    "fetch/github_api.py",
    "fetch/oidc_http.py",
    "fetch/mirrors/guarded_http.py",
    "scan/judge/exchange.py",
    "scan/external/send_archive.py",
}
_HTTP_CLIENTS = {
    "aiohttp",
    "http.client",
    "httpx",
    "httpx2",
    "requests",
    "urllib.request",
    "urllib3",
}
#: Modules that are imported only when needed are named in a string.
_NAMED_LATER = re.compile(r'"(vskill_platform[\w.]*):(\w+)"')
#: Calls that print text to a terminal unescaped.
_PRINTERS = {"click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"}
#: Ways off the event loop; all other modules use those that base/off_loop.py describes.
_WAYS_OFF_LOOP = {
    "asyncio.to_thread", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell",
    "loop.run_in_executor", "subprocess.run", "subprocess.Popen", "os.fork", "ThreadPoolExecutor",
    "to_thread.run_sync", "to_process.run_sync", "anyio.to_thread.run_sync",
}  # fmt: skip
_LEAVE_THE_LOOP = {
    "base/killable_process.py", "base/off_loop.py", "base/program.py", "base/python_process.py",
    "base/worker_pool.py",
    "base/durable_files.py",  # waits for the disk in several threads; its callers left the loop
    "access/passwords.py",  # threads of its own, each with much memory
    "cli/node/supervise.py",  # forks the processes of `serve`, before there is an event loop
    "client/plan_installs.py",  # the client has no event loop
    "engines/sqlite/threads.py",  # a connection belongs to its thread
}  # fmt: skip
MAX_MODULE_LINES = 350
#: Larger, with a reason.
LONGER_MODULES = {
    "client/registry.py",  # one class: every request passes the same checks
    "errors.py",  # one tree, which is read as a whole
    "settings.py",  # one struct with the checks of its values
}
#: These folders have many small features; their modules stay shorter.
SHORTER = {"catalogue": 300, "publish": 300, "web": 300}
MAX_FUNCTION_LINES = 60
SMALL_MODULE_LINES = 30
#: Small modules with one importer that stay apart, with the reason.
SMALL_MODULES = {
    "cron/fill_similarity_index.py",  # a cron job, as every other one
    "engines/blobs/open_blobs.py",  # the only importer of the driver for S3
    "queue/report_processed.py",  # keeps process_submission.py on one screen
    "scan/languages/powershell/read_powershell.py",  # loads its patterns only when needed
    "scan/languages/python/language.py",  # its importer could not import it at the top: a cycle
    "stores/signing_key_store.py",  # only stores know keys
}


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def catches_everything(path: Path) -> bool:
    return any(
        isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
        for node in nodes_of(path)
    )


def imported_by(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def prints_by_itself(path: Path) -> bool:
    """Return whether a module prints, or makes text for it, without `cli/output/terminal.py`."""
    calls = (node.func for node in nodes_of(path) if isinstance(node, ast.Call))
    return bool(_PRINTERS & {ast.unparse(call) for call in calls}) or any(
        name in {"rich.console.Console", "rich.markup.escape", "rich.print"}
        for name in imported_by(path)
    )


def test_the_event_loop_is_left_in_three_ways_only() -> None:
    leaves = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        if any(way in path.read_text() for way in _WAYS_OFF_LOOP)
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _WAYS_OFF_LOOP
    }

    assert leaves - _LEAVE_THE_LOOP == set()


def test_the_cli_prints_through_one_module() -> None:
    found = [path.name for path in SOURCES if "cli" in path.parts and prints_by_itself(path)]

    assert found == ["terminal.py"], "use the functions of cli/output/terminal.py"


def test_only_three_places_catch_everything() -> None:
    found = {path.relative_to(PACKAGE).as_posix() for path in SOURCES if catches_everything(path)}

    assert found == CATCHES_ALL


def test_every_module_can_be_imported_with_what_it_names_for_later() -> None:
    for path in SOURCES:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
        for module, name in _NAMED_LATER.findall(path.read_text()):
            assert hasattr(importlib.import_module(module), name), f"{module}:{name}"


def test_only_these_modules_send_requests_and_none_to_ourselves() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        if _HTTP_CLIENTS & set(imported_by(path))
    }

    assert found == SENDS_REQUESTS
    for path in SENDS_REQUESTS:  # they may name our public address, but never call it
        assert "public_url" not in (PACKAGE / path).read_text()


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        path.relative_to(PACKAGE).as_posix()
        for path in SOURCES
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "os.environ"
    }

    # The CLI passes the environment to the settings, and describe_settings says which come from it;
    # git gets PATH only; the client works without the settings. The libraries for metrics
    # and traces read their own variables, and so do systemd and OpenSSL.
    assert readers == {
        "base/metrics.py",
        "base/systemd.py",
        "base/tls.py",
        "base/tracing.py",
        "cli/run_command.py",
        "describe_settings.py",
        "cli/install/options.py",
        "cli/local_or_remote.py",
        "client/ci_token.py",
        "client/credentials.py",
        "fetch/git.py",
    }


def test_keys_are_known_only_to_their_store() -> None:
    prefixes = re.compile(
        r'"(?:sub|sub-source|hist|scan|skill|version|blob|extscan|repo-health|judge-said|judge-day|held|held-files|quota|reminder|sketch|like|block|block-hit|signing-key|audit|rescan|rescan-done|user|password|session|session-id|token|token-id|namespace|namespace-of|welcome|device|device-code|sign-up-link|passkey|passkey-id|passkey-challenge|second-factor|second-factor-new|sign-in-step|oidc-login|oidc-link|oidc-link-of|oidc-session|oidc-sid|oidc-logout):'
    )
    for path in SOURCES:
        if path.parent.name != "stores":
            assert not prefixes.search(path.read_text()), path


def names_of_types(path: Path) -> Iterator[str]:
    """Yield the public classes and type aliases of a module, without its type variables."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = ast.unparse(target)
            if name[0].isupper() and not name.isupper() and "TypeVar(" not in ast.unparse(node):
                yield name


def test_a_public_type_name_has_one_meaning() -> None:
    """The client repeats names on purpose: its shapes are named after the records they describe."""
    where: dict[tuple[bool, str], list[str]] = {}
    for path in SOURCES:
        module = path.relative_to(PACKAGE)
        for name in names_of_types(path):
            if not name.startswith("_"):
                of_client = module.parts[0] == "client"
                where.setdefault((of_client, name), []).append(module.as_posix())

    assert {name: found for (_, name), found in where.items() if len(found) > 1} == {}


def test_modules_and_functions_are_small() -> None:
    modules = {
        module.as_posix()
        for module in (path.relative_to(PACKAGE) for path in SOURCES)
        if (PACKAGE / module).read_text().count("\n")
        > SHORTER.get(module.parts[0], MAX_MODULE_LINES)
    }
    functions = [
        (path, node.name)
        for path in SOURCES
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]

    assert (modules, functions) == (LONGER_MODULES, [])


def test_a_small_module_with_one_importer_has_a_reason() -> None:
    importers: dict[str, set[Path]] = {}
    for path in SOURCES:
        for name in imported_by(path):
            importers.setdefault(name, set()).add(path)
    found = set()
    for path in SOURCES:
        module = path.relative_to(PACKAGE.parent).with_suffix("")
        importing = importers.get(".".join(module.parts), set()) - {path}
        if len(importing) == 1 and path.read_text().count("\n") < SMALL_MODULE_LINES:
            found.add(path.relative_to(PACKAGE).as_posix())

    assert found - SMALL_MODULES == set(), "join it with the module that imports it"


def test_a_folder_has_two_modules_or_more() -> None:
    for folder in {path.parent for path in SOURCES}:
        modules = {*folder.glob("*.py"), *(path.parent for path in folder.glob("*/__init__.py"))}
        assert len(modules - {folder / "__init__.py"}) >= 2, folder


def test_the_map_of_the_package_names_every_folder() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}

    described = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text())) or ""

    named = re.findall(r"(?:^|\s{3,})([a-z]+)(?=\s{2,})", described, re.MULTILINE)
    assert sorted(named) == sorted(folders)

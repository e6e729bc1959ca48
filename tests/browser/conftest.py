"""A real browser and the real program, which all tests of a process share.

The browser is closed before the first test that is not about it: as long as Playwright lives, it
keeps an event loop running in the main thread, where no other asynchronous test could run.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, StorageState, ViewportSize, expect, sync_playwright

from tests.acceptance.ports import free_port
from tests.acceptance.program import Platform
from tests.browser.registry import PASSWORD, Registry
from tests.git_server import a_git_server
from tests.missing import skip_without
from tests.postgres import drop_schema, url_of_schema

#: The first one draws no window and takes a third less processor time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
    # To start a process for each page takes longer than to show it.
    "--renderer-process-limit=1",
]  # fmt: skip
_PATIENCE_MS = 20_000
#: On a busy machine the browser itself takes as long as many tests; without it all of them fail.
_START_MS = 90_000
_WINDOW = ViewportSize(width=1280, height=720)
_HERE = str(Path(__file__).parent)


class Pages:
    """One page for each kind of user, which forgets everything between two tests.

    A window of its own for each test would be simpler, but the browser starts a process for each,
    which takes longer than most tests.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._opened: dict[tuple[str, str, bool], tuple[Page, list[str]]] = {}

    def open(self, url: str, user: str, *, runs_scripts: bool) -> tuple[Page, list[str]]:
        """Return an empty page and the list of what the browser will complain about."""
        kind = (url, user, runs_scripts)
        if kind not in self._opened:
            # Without motion: an animation is drawn sixty times a second while a test waits.
            context = self._browser.new_context(
                base_url=url, java_script_enabled=runs_scripts, reduced_motion="reduce"
            )
            context.set_default_timeout(_PATIENCE_MS)
            self._opened[kind] = _watched(context.new_page())
        page, complaints = self._opened[kind]
        page.unroute_all()
        page.set_viewport_size(_WINDOW)
        page.context.clear_cookies()
        page.goto("/robots.txt")  # cancels what the previous page was doing
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        complaints.clear()
        return page, complaints


def _watched(page: Page) -> tuple[Page, list[str]]:
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if _is_bad(said.text) else None)
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    return page, complaints


_OPENED = pytest.StashKey[tuple[ExitStack, Browser, Pages]]()


@pytest.fixture(scope="module")
def chromium(pytestconfig: pytest.Config) -> Browser:
    """The same browser for all tests: to start one takes as long as most tests."""
    if _OPENED not in pytestconfig.stash:
        with ExitStack() as stack:
            browser = stack.enter_context(_a_browser())
            pytestconfig.stash[_OPENED] = (stack.pop_all(), browser, Pages(browser))
    return pytestconfig.stash[_OPENED][1]


@pytest.fixture(scope="module")
def pages(pytestconfig: pytest.Config, chromium: Browser) -> Pages:
    assert chromium.is_connected()
    return pytestconfig.stash[_OPENED][2]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    yield
    is_last = nextitem is None or not str(nextitem.path).startswith(_HERE)
    if is_last and _OPENED in item.config.stash:
        item.config.stash[_OPENED][0].close()
        del item.config.stash[_OPENED]


@contextmanager
def _a_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        found = [path for name in _NAMES if (path := shutil.which(name))]
        program = next(iter(found), str(own) if own.is_file() else None)
        if program is None:
            skip_without(
                "Chromium",
                untested="the pages in a real browser",
                get_it="`apt install chromium` or `.venv/bin/playwright install chromium`",
            )
        expect.set_options(timeout=_PATIENCE_MS)
        browser = playwright.chromium.launch(
            executable_path=program, args=_ARGUMENTS, timeout=_START_MS
        )
        yield browser
        browser.close()


#: Journeys that `make torture` makes on both engines; `make test-postgres` makes all of them.
_ON_BOTH = frozenset({"test_a_skill_is_submitted_watched_found_read_and_downloaded"})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "registry" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--engine")
    is_on_both = metafunc.definition.originalname in _ON_BOTH
    on_postgres = [pytest.param("postgres", marks=pytest.mark.torture)] if is_on_both else []
    engines = [chosen] if chosen else ["sqlite", *on_postgres]
    metafunc.parametrize("registry", engines, indirect=True, scope="session")


@contextmanager
def _a_database(engine: str) -> Iterator[dict[str, str]]:
    """Give the settings of an empty database."""
    if engine == "sqlite":
        yield {}
        return
    schema = f"browser_{os.getpid()}"
    yield {"database_url": url_of_schema(schema)}
    with ThreadPoolExecutor(1) as thread:  # this one has the event loop of Playwright
        thread.submit(asyncio.run, drop_schema(schema)).result()


@pytest.fixture(scope="session")
def registry(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Registry]:
    """The whole platform, with a git server that it may use."""
    folder = tmp_path_factory.mktemp("registry")
    port = free_port()
    with a_git_server(folder / "repos") as git, _a_database(request.param) as database:
        platform = Platform(
            folder, private_hosts=git.origin, port=str(port), writes_per_minute="10000",
            reads_per_minute="100000", sign_ins_per_minute="1000", cache_dir=str(folder / "cache"),
            **database,
        )  # fmt: skip
        server = platform.start_anew("serve")
        server.wait_for(f"vskill-platform is at http://127.0.0.1:{port}")
        try:
            yield Registry(platform=platform, git=git, url=f"http://127.0.0.1:{port}")
        finally:
            platform.end_everything()


@pytest.fixture(scope="session")
def signed_in() -> dict[str, StorageState]:
    """What a browser knows of the admin, by registry."""
    return {}


@pytest.fixture(scope="module")
def admin_state(
    chromium: Browser, registry: Registry, signed_in: dict[str, StorageState]
) -> StorageState:
    """Let Cyd become the first admin by the link that the program keeps in a file."""
    if registry.url not in signed_in:
        signed_in[registry.url] = _become_admin(chromium, registry)
    return signed_in[registry.url]


def _become_admin(chromium: Browser, registry: Registry) -> StorageState:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(registry.admin_link())
        page.get_by_label("Name").fill("cyd")
        for field in page.locator("input[type=password]").all():
            field.fill(PASSWORD)
        page.locator("main form button").click()
        page.wait_for_url("**/account**")
        return context.storage_state()


@pytest.fixture
def ben(pages: Pages, registry: Registry) -> Iterator[Page]:
    """A visitor."""
    yield from _page(pages, registry)


@pytest.fixture
def plain_ben(pages: Pages, registry: Registry) -> Iterator[Page]:
    """A visitor whose browser runs no script."""
    yield from _page(pages, registry, runs_scripts=False)


@pytest.fixture
def cyd(pages: Pages, registry: Registry, admin_state: StorageState) -> Iterator[Page]:
    """The admin."""
    yield from _page(pages, registry, admin_state)


@pytest.fixture
def plain_cyd(pages: Pages, registry: Registry, admin_state: StorageState) -> Iterator[Page]:
    """The admin, whose browser runs no script."""
    yield from _page(pages, registry, admin_state, runs_scripts=False)


def _page(
    pages: Pages,
    registry: Registry,
    state: StorageState | None = None,
    *,
    runs_scripts: bool = True,
) -> Iterator[Page]:
    """Open a page; what the browser complains about fails the test."""
    page, complaints = pages.open(
        registry.url, "admin" if state else "visitor", runs_scripts=runs_scripts
    )
    if state:
        page.context.add_cookies([
            {"name": cookie["name"], "value": cookie["value"], "url": registry.url}
            for cookie in state["cookies"]
        ])  # fmt: skip
    yield page
    assert complaints == []


def _is_bad(text: str) -> bool:
    return "Content Security Policy" in text or "Refused to" in text

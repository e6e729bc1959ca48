"""Every page is accessible, in light and dark themes, and fits narrow and wide windows."""

import itertools
from secrets import token_hex
from typing import Literal, NamedTuple

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, StorageState

from tests.browser.registry import RISKY, STEALS, Registry, wait_for_state

Theme = Literal["light", "dark"]
_THEMES: list[tuple[Theme, Theme]] = [("light", "dark"), ("dark", "light")]
#: A small phone, a phone, a laptop and a large screen.
_WIDTHS = (320, 390, 1440, 1920)
_EXTREME_WIDTHS = (320, 1920)
_LAPTOP_WIDTH = 1440
_GRAVE = {"serious", "critical"}
#: Only violations leave the browser: what passes is most of the result, and takes most of the time.
_RUN = """axe.run({resultTypes: ["violations"]}).then(
  found => found.violations.map(one => [one.impact, one.id, one.nodes[0].html.slice(0, 200)]))"""
_CLIPPED = """[...document.querySelectorAll(".table")].some(one =>
  one.checkVisibility({contentVisibilityAuto: true}) && one.scrollWidth > one.clientWidth + 1)"""
_PUBLIC = ("/", "/skills", "/submit", "/queue", "/trust", "/sign-in")
_ADMIN = (
    "/account", "/account/security", "/admin", "/admin/reviews", "/admin/people", "/admin/tokens",
    "/admin/policy", "/admin/settings",
)  # fmt: skip
#: Pages with the same elements as those above: only `make torture` has the time for them.
_MORE = (
    "/account/delete", "/account/publishers", "/account/repos", "/admin/appeals", "/admin/audit",
    "/admin/blocklist", "/admin/featured", "/admin/mirrors", "/admin/namespaces",
    "/admin/policy?edit=text", "/admin/policy/versions", "/admin/queue", "/admin/reports",
    "/admin/rescan", "/admin/retention", "/admin/webhooks", "/api", "/device", "/nowhere",
    "/skills?q=nothing-is-called-so",
)  # fmt: skip


class Paths(NamedTuple):
    usual: list[str]
    #: For `make torture` only.
    more: list[str]


@pytest.fixture(scope="module")
def paths(chromium: Browser, registry: Registry, admin_state: StorageState) -> Paths:
    """Every page, on a registry with something published, something stopped, something waiting."""
    with chromium.new_context(
        base_url=registry.url, storage_state=admin_state, reduced_motion="reduce"
    ) as context:
        page = context.new_page()
        # Another name each time: a second copy of a published skill would need review.
        name = f"look-{token_hex(6)}"
        slug = registry.publish(page, name, script_dot_py="print('nice')\n")
        published = page.url
        registry.submit(page, registry.repo("look-bad", run_dot_sh=STEALS))
        wait_for_state(page, "Failed checks")
        stopped = page.url
        registry.submit(page, registry.repo("look-odd", run_dot_sh=RISKY))
        wait_for_state(page, "Needs review")
        waiting = page.url.rpartition("/")[2]
    shown, failed = (url.removeprefix(registry.url) for url in (published, stopped))
    publisher = slug.rpartition("/")[0].rpartition("/")[0].replace("_", ":", 1)  # before the port
    usual = ("", "/files/script.py", "/security")
    return Paths(
        usual=[
            *_PUBLIC,
            *_ADMIN,
            *(f"/skills/{slug}{part}" for part in usual),
            failed,
            f"/admin/reviews/{waiting}",
        ],
        more=[
            *_MORE,
            f"/skills/{slug}/files",
            f"/skills/{slug}/versions",
            f"/admin/skills/{slug}",
            shown,
            f"/publishers/{publisher}",
            f"/admin/blocklist?publisher={publisher}",
        ],
    )


@pytest.mark.slow
@pytest.mark.timeout(600)  # many pages, on a machine that may be busy
@pytest.mark.parametrize(
    "is_full",
    [False, pytest.param(True, marks=pytest.mark.torture)],
    ids=["usual pages", "all pages"],
)
def test_every_page_is_accessible_and_fits_narrow_and_wide_windows(
    chromium: Browser,
    registry: Registry,
    admin_state: StorageState,
    paths: Paths,
    *,
    is_full: bool,
) -> None:
    """Every second page in the dark theme, because the checks take long."""
    violations: list[str] = []
    wide: list[str] = []
    others: list[str] = []
    widths = _WIDTHS if is_full else _EXTREME_WIDTHS
    with chromium.new_context(base_url=registry.url, storage_state=admin_state) as context:
        signed_in, signed_out = context.new_page(), chromium.new_page(base_url=registry.url)
        more = [*paths.more, _page_of_a_set(registry, signed_in)] if is_full else []
        visited = [*paths.usual, *more]
        for path, themes in zip(visited, itertools.cycle(_THEMES), strict=False):
            page = signed_out if path == "/sign-in" else signed_in
            page.set_viewport_size({"width": 1280, "height": 800})
            for theme in themes if is_full else themes[:1]:
                page.emulate_media(color_scheme=theme)
                answer = page.goto(path)
                is_there = answer and answer.ok and page.url == registry.url + path
                if not is_there and path != "/nowhere":
                    others.append(f"{path} leads to {page.url}")
                page.evaluate(AXE_SCRIPT)
                violations += _violations(page, path, theme)
            wide += [f"{path} at {width} px" for width in widths if _sticks_out(page, width)]
            wide += [f"a table of {path}"] if _has_clipped_table(page) else []
        signed_out.close()

    assert others == []
    assert violations == []
    assert wide == []


def _page_of_a_set(registry: Registry, page: Page) -> str:
    name = f"look-{token_hex(6)}"
    registry.submit(page, registry.repo(f"{name}-one", f"{name}-two"))
    page.get_by_role("button", name="Submit selected").click()
    page.wait_for_url("**/sets/**")
    return page.url.removeprefix(registry.url)


def _sticks_out(page: Page, width: int) -> bool:
    page.set_viewport_size({"width": width, "height": 800})
    page_width, window_width = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    return bool(page_width > window_width)


def _has_clipped_table(page: Page) -> bool:
    """Tables may be scrolled in a narrow window; on a laptop their actions must not be hidden."""
    page.set_viewport_size({"width": _LAPTOP_WIDTH, "height": 800})
    return bool(page.evaluate(_CLIPPED))


def _violations(page: Page, path: str, theme: str) -> list[str]:
    found = page.evaluate(_RUN)
    return [f"{path}, {theme}: {id_} at {html}" for impact, id_, html in found if impact in _GRAVE]

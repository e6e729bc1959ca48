"""Every page in both themes and both widths: nothing sticks out, nothing shuts anybody out."""

from secrets import token_hex

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, StorageState

from tests.browser.registry import RISKY, STEALS, Registry, wait_for_state

_GRAVE = {"serious", "critical"}
#: Everything in one theme; the other one changes nothing but colours.
_CHECKS: dict[str, dict[str, object]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
_PUBLIC = (
    "/", "/?q=nothing-is-called-so", "/submit", "/queue", "/trust", "/api", "/sign-in", "/nowhere",
)  # fmt: skip
_ADMIN = (
    "/account", "/admin", "/admin/queue", "/admin/reviews", "/admin/blocklist", "/admin/people",
    "/admin/audit", "/admin/policy", "/admin/rescan",
)  # fmt: skip


@pytest.fixture(scope="module")
def paths(chromium: Browser, registry: Registry, admin_state: StorageState) -> list[str]:
    """Every page, on a registry with something published, something stopped, something waiting."""
    with chromium.new_context(base_url=registry.url, storage_state=admin_state) as context:
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
    parts = ("", "/files", "/files/script.py", "/versions", "/security")
    return [
        *_PUBLIC,
        *_ADMIN,
        *(f"/skills/{slug}{part}" for part in parts),
        f"/admin/skills/{slug}",
        *(url.removeprefix(registry.url) for url in (published, stopped)),
        f"/admin/reviews/{waiting}",
    ]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scheme", _CHECKS)
def test_no_page_shuts_anybody_out(
    chromium: Browser, registry: Registry, admin_state: StorageState, paths: list[str], scheme: str
) -> None:
    found: list[str] = []
    with chromium.new_context(
        base_url=registry.url,
        storage_state=admin_state,
        color_scheme=scheme,  # type: ignore[arg-type]  # one of two words
    ) as context:
        page = context.new_page()
        for path in paths:
            page.goto(path)
            found += [f"{path}: {words}" for words in _violations(page, _CHECKS[scheme])]

    assert found == []


@pytest.mark.parametrize("width", [320, 1600])
def test_no_page_is_wider_than_the_window(
    chromium: Browser, registry: Registry, admin_state: StorageState, paths: list[str], width: int
) -> None:
    wide: list[str] = []
    with chromium.new_context(
        base_url=registry.url, storage_state=admin_state, viewport={"width": width, "height": 800}
    ) as context:
        page = context.new_page()
        for path in paths:
            page.goto(path)
            beyond = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if beyond > 0:
                wide.append(f"{path} by {beyond} px")

    assert wide == []


def _violations(page: Page, checks: dict[str, object]) -> list[str]:
    results = Axe().run(page, options=checks)
    return [
        f"{item['id']} at {item['nodes'][0]['html'][:200]}"
        for item in results.response["violations"]
        if item["impact"] in _GRAVE
    ]

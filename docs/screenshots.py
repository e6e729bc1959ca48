"""Take the pictures of docs/images/: six pages of the sample registry, light and dark."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
PROGRAM = Path(sys.executable).with_name("vskill-platform")
SIZE: ViewportSize = {"width": 1280, "height": 860}
_PATIENCE_SECONDS = 300
_BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")
#: Who signs in to the sample registry, and what is shown of it.
_ADMIN, _PASSWORD = "cyd", "correct horse battery staple"
_SKILL = "/skills/quill/platform-tools/kubernetes-debugger"
_FAILED = "quick-start"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample = ROOT / "benchmarks/sample_registry.py"
        subprocess.run([sys.executable, str(sample), str(folder)], check=True)
        port = _free_port()
        settings = {
            "VSKILL_NODE": "node-1",
            "VSKILL_DATABASE_URL": f"sqlite:///{folder}/sample.db",
            "VSKILL_PORT": str(port),
            "VSKILL_LOG_LEVEL": "ERROR",
        }
        command = [str(PROGRAM), "serve"]
        server = subprocess.Popen(command, env={**os.environ, **settings}, cwd=folder)
        try:
            _wait_for(f"http://127.0.0.1:{port}/readyz")
            with sync_playwright() as playwright:
                chromium = next(filter(None, map(shutil.which, _BROWSERS)), None)
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox"]
                )
                _take_all(browser, f"http://127.0.0.1:{port}", folder)
                browser.close()
        finally:
            server.terminate()
            server.wait()


def _take_all(browser: Browser, url: str, folder: Path) -> None:
    state = folder / "state.json"
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.goto("/sign-in?next=/account")
    page.get_by_label("Name").fill(_ADMIN)
    page.locator("input[type=password]").fill(_PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/account**")
    context.storage_state(path=state)
    context.close()
    pages = {
        "marketplace": ("/", None),
        "skill": (_SKILL, None),
        "submission": (f"/submissions/{_find_submission(url, _FAILED)}", None),
        "queue": ("/queue", None),
        "trust": ("/trust", None),
        "admin": ("/admin", state),
    }
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        for name, (path, who) in pages.items():
            context = browser.new_context(
                base_url=url,
                viewport=SIZE,
                color_scheme=scheme,
                storage_state=who,
            )
            page = context.new_page()
            page.goto(path)
            page.screenshot(path=IMAGES / f"{name}-{scheme}.png")
            context.close()


def _find_submission(url: str, name: str) -> str:
    with urllib.request.urlopen(f"{url}/api/v1/submissions?q={name}", timeout=60) as answer:  # noqa: S310 - our own server
        submission: str = json.load(answer)["submissions"][0]["id"]
    return submission


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_for(url: str) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - our own server
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit(f"{url} does not answer")


if __name__ == "__main__":
    main()

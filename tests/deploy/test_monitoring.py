"""A real Prometheus reads a registry with our configuration, and evaluates our alerts."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.acceptance.ports import free_port
from tests.acceptance.processes import Running
from tests.acceptance.program import Platform
from tests.missing import skip_without

pytestmark = pytest.mark.deploy
ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy/monitoring/alerts.yaml"
TOKEN = "0123456789abcdef0123"
_PATIENCE_SECONDS = 60


def program(name: str) -> str:
    found = shutil.which(name)
    return found or skip_without(name, untested="alerts", get_it="apt-get install prometheus")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    platform = Platform(tmp_path_factory.mktemp("registry"), port=str(port), metrics_token=TOKEN)
    platform.start("serve").wait_for(f"vskill-platform is at http://127.0.0.1:{port}")
    try:
        yield port
    finally:
        platform.end_everything()


@pytest.fixture
def prometheus(node: int, tmp_path: Path) -> Iterator[str]:
    """The server of compose.team.yaml, which looks every second instead of every half minute."""
    text = (ROOT / "deploy/monitoring/prometheus.yaml").read_text()
    for old, new in {
        "registry:8000": f"127.0.0.1:{node}",
        "/run/secrets/metrics-token": str(tmp_path / "token"),
        "/etc/prometheus/alerts.yaml": str(RULES),
        "30s": "1s",
    }.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "prometheus.yml").write_text(text)
    port = free_port()
    running = Running(
        subprocess.Popen(
            [program("prometheus"), f"--config.file={tmp_path}/prometheus.yml",
             f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
    )  # fmt: skip
    try:
        running.wait_for("Server is ready to receive web requests")
        yield f"http://127.0.0.1:{port}"
    finally:
        running.end()


def query(prometheus: str, expression: str) -> list[dict[str, Any]]:
    answer = httpx.get(
        f"{prometheus}/api/v1/query", params={"query": expression}, timeout=_PATIENCE_SECONDS
    )
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]["result"]
    return found


def test_prometheus_reads_the_registry_and_keeps_all_labels(prometheus: str) -> None:
    patience = time.monotonic() + _PATIENCE_SECONDS
    while not query(prometheus, 'vskill_cron_runs_total{outcome="ok"}'):
        assert time.monotonic() < patience, query(prometheus, "up")
        time.sleep(0.2)  # a real server in another process: there is nothing to await

    series = query(prometheus, '{__name__=~"vskill_.+"}')
    answer = httpx.get(f"{prometheus}/api/v1/rules", timeout=_PATIENCE_SECONDS)
    rules = answer.json()["data"]["groups"][0]["rules"]

    # Prometheus renames a label that it sets itself, such as job and instance.
    renamed = {name for one in series for name in one["metric"] if name.startswith("exported_")}
    assert renamed == set()
    assert {one["metric"]["job"] for one in series} == {"vskill"}
    assert {one["name"] for one in rules if one["health"] == "err"} == set()


def test_each_alert_fires_at_its_fault_and_not_without_one(tmp_path: Path) -> None:
    tests = (ROOT / "tests/deploy/alerts.yaml").read_text()
    (tmp_path / "tests.yaml").write_text(tests.replace("[RULES]", f"[{RULES}]"))
    names = {rule["alert"] for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]}

    done = subprocess.run(
        [program("promtool"), "test", "rules", tmp_path / "tests.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert {name for name in names if f'alertname="{name}"' not in tests} == set()


def test_the_linter_of_prometheus_accepts_the_metrics(node: int) -> None:
    answer = httpx.get(
        f"http://127.0.0.1:{node}/metrics",
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=_PATIENCE_SECONDS,
    )

    done = subprocess.run(
        [program("promtool"), "check", "metrics"],
        input=answer.text, capture_output=True, text=True, check=False,
    )  # fmt: skip

    ours = [line for line in done.stderr.splitlines() if line.startswith("vskill_")]
    assert ours == [], done.stderr

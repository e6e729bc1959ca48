"""The Dockerfile, the compose files, the units and the chart: checked by their own tools where one
can run without a container engine or a cluster, and against the program that they start.
"""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import pytest
import yaml

from tests.missing import skip_without
from vskill_platform.cli.main import cli
from vskill_platform.settings import Settings, load_settings, variable

pytestmark = pytest.mark.deploy
ROOT = Path(__file__).parents[2]
COMPOSE = [ROOT / "compose.yaml", ROOT / "compose.postgres.yaml"]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
CHART = ROOT / "deploy/helm/vskill-platform"
ONE_NODE = {"publicUrl": "https://skills.example"}
NODES = {
    **ONE_NODE,
    "database": {"urlSecret": "vskill-database"},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "vskill-tls"},
    "podMonitor": {"enabled": True, "tokenSecret": "vskill-metrics"},
    "settings": {"VSKILL_SUBMIT_BY": "publishers", "VSKILL_MAX_RETRIES": 5},
    "secretSettings": {"VSKILL_JUDGE_KEY": {"secret": "vskill-judge", "key": "api-key"}},
}
#: Set by a container image for its program.
KNOWN = {variable(name) for name in Settings.__struct_fields__}


@pytest.fixture(scope="module")
def helm() -> Any:
    """Helm's own library. Only `make test-deploy` installs it, so it is imported late."""
    return importlib.import_module("helm_python")


def check_command(arguments: list[str]) -> None:
    """Parse a command line without running it; raise if the program does not know it."""
    name, *options = arguments
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, name
    command.make_context(name, options)


def test_the_linter_of_dockerfiles_finds_nothing() -> None:
    linter = Path(sys.executable).with_name("hadolint")

    done = subprocess.run(
        [linter, ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_as_nobody_and_copies_only_existing_files() -> None:
    text = (ROOT / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE)
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }

    sources = {source for line in copied for source in line.split()}
    assert sources
    assert all((ROOT / source).exists() for source in sources)
    assert {source.split("/")[0] for source in sources} == allowed
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10001:10001"]
    assert set(re.findall(r"VSKILL_[A-Z_]+(?==)", text)) <= KNOWN


def compose(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_a_compose_file_names_only_what_it_defines(path: Path) -> None:
    project = compose(path)

    for name, service in project["services"].items():
        is_ours = name != "postgres"
        assert service.get("security_opt") == (["no-new-privileges:true"] if is_ours else None)
        assert service["restart"] == "unless-stopped"
        assert set(service.get("depends_on", {})) <= set(project["services"])
        assert set(service["networks"]) <= set(project["networks"])
        assert set(service.get("secrets", [])) <= set(project.get("secrets", {}))
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            is_file = source.startswith("./") and (ROOT / source).is_file()
            assert is_file or source in project["volumes"], mount


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_the_nodes_of_a_compose_file_start_with_settings_that_exist(
    path: Path, tmp_path: Path
) -> None:
    nodes = [s for s in compose(path)["services"].values() if s["image"] == "vskill-platform"]
    secret = tmp_path / "database-url"
    secret.write_text("postgresql://vskill:secret@postgres/vskill\n")

    assert nodes
    for node in nodes:
        check_command(node.get("command", ["serve"]))
        environment = {
            name: re.sub(r"\$\{VSKILL_DOMAIN.*\}", "skills.example", value).replace(
                "/run/secrets/database-url", str(secret)
            )
            for name, value in node["environment"].items()
        }
        settings = load_settings(environment)
        assert settings.public_url == "https://skills.example"
        is_shared = "VSKILL_DATABASE_URL_FILE" in environment
        assert settings.database_url[:].startswith("postgresql://" if is_shared else "sqlite://")


def test_the_additions_for_a_team_fit_the_compose_file_of_one_node(tmp_path: Path) -> None:
    base, team = compose(ROOT / "compose.yaml"), compose(ROOT / "compose.team.yaml")
    services, names = team["services"], {*base["services"], *team["services"]}

    for name, service in services.items():
        assert set(service["networks"]) <= {*base["networks"], *team["networks"]}, name
        assert set(service["secrets"]) <= set(team["secrets"]), name
        assert name in base["services"] or service["security_opt"] == ["no-new-privileges:true"]
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert (ROOT / source).is_file() or source in team["volumes"], mount
    targets = compose(ROOT / "deploy/monitoring/prometheus.yaml")["scrape_configs"][0]
    assert targets["static_configs"][0]["targets"] == ["registry:8000"]
    source = compose(ROOT / "deploy/monitoring/grafana-source.yaml")["datasources"][0]
    assert urlsplit(source["url"]).hostname in names


def test_the_registry_of_a_team_starts_with_settings_that_exist(tmp_path: Path) -> None:
    registry = compose(ROOT / "compose.team.yaml")["services"]["registry"]
    given = {
        "VSKILL_OIDC_ISSUER": "https://login.example/realms/acme",
        "VSKILL_OIDC_CLIENT_ID": "vskill",
        "VSKILL_OIDC_ROLE_GROUPS": '{"admin": ["skills-admins"]}',
        "VSKILL_OIDC_GROUPS_CLAIM": "groups",
        "VSKILL_OIDC_NAME_CLAIM": "preferred_username",
    }
    for name in registry["secrets"]:
        (tmp_path / name).write_text("a-long-random-secret-for-this-test\n")
    environment = {
        name: given.get(name, value).replace("/run/secrets", str(tmp_path))
        for name, value in registry["environment"].items()
    }

    settings = load_settings({"VSKILL_PUBLIC_URL": "https://skills.example", **environment})

    assert settings.oidc_issuer == given["VSKILL_OIDC_ISSUER"]
    assert settings.metrics_token.reveal() == settings.push_secret.reveal() != ""
    assert settings.oidc_client_secret.reveal() == settings.push_secret.reveal()


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_a_unit_is_valid_and_well_confined(unit: Path, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        skip_without("systemd-analyze", untested="units", get_it="apt-get install systemd")
    program = tmp_path / "vskill-platform"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = unit.read_text()
    (command,) = re.findall(r"^ExecStart=/opt/vskill/bin/vskill-platform (.*)$", text, re.MULTILINE)
    copy = tmp_path / unit.name.replace("@.", "@1.")
    copy.write_text(text.replace("/opt/vskill/bin/vskill-platform", str(program)))

    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False
    )
    # Scores from 0 to 10 in tenths: 20 is "OK", and 95 is a unit without any confinement.
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", copy],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    check_command(command.split())
    assert [line for line in verified.stderr.splitlines() if copy.name in line] == []
    assert rated.returncode == 0, rated.stdout[-200:]


@pytest.mark.parametrize("values", [ONE_NODE, NODES], ids=["one node", "nodes"])
def test_helm_lints_the_chart(helm: Any, values: dict[str, Any]) -> None:
    report = helm.lint(CHART, values, strict=True)

    assert report["errors"] == []
    assert [m["error"] for m in report["messages"] if m["severity"] > 1] == []


def render(helm: Any, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    with helm.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        files = chart.render(values, name="registry")
    documents = [
        document
        for name, text in files.items()
        if name.endswith(".yaml")
        for document in yaml.safe_load_all(text)
        if document
    ]
    return {f"{d['kind']} {d['metadata']['name']}": d for d in documents}


def container(deployment: dict[str, Any]) -> dict[str, Any]:
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    (only,) = pod["containers"]
    assert only["securityContext"]["readOnlyRootFilesystem"] is True
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in only["volumeMounts"]} == volumes
    found: dict[str, Any] = only
    return found


def test_without_postgresql_the_chart_is_one_pod_with_a_volume(helm: Any) -> None:
    found = render(helm, ONE_NODE)

    assert set(found) == {
        "Deployment registry-vskill-platform-web",
        "PersistentVolumeClaim registry-vskill-platform",
        "Service registry-vskill-platform",
    }
    deployment = found["Deployment registry-vskill-platform-web"]
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (
        1,
        "Recreate",
    )
    assert container(deployment)["args"] == ["serve"]


def test_with_postgresql_the_chart_has_web_and_worker_nodes(helm: Any) -> None:
    found = render(helm, NODES)

    assert {name.split()[0] for name in found} == {
        "Deployment", "Ingress", "PodDisruptionBudget", "PodMonitor", "Service",
    }  # fmt: skip
    for component in ("web", "worker"):
        node = container(found[f"Deployment registry-vskill-platform-{component}"])
        names = {entry["name"] for entry in node["env"]}
        check_command(node["args"])
        assert {name.removesuffix("_FILE") for name in names} <= KNOWN
        assert {"VSKILL_DATABASE_URL_FILE", "VSKILL_JUDGE_KEY_FILE"} <= names
        assert {"name": "VSKILL_MAX_RETRIES", "value": "5"} in node["env"]
    rule = found["Ingress registry-vskill-platform"]["spec"]["rules"][0]
    assert rule["host"] == "skills.example"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"publicUrl": "skills.example"},
        {**ONE_NODE, "setings": {}},
        {**ONE_NODE, "settings": {"PATH": "/"}},
        {**ONE_NODE, "web": {"replicas": 0}},
    ],
    ids=["no URL", "no scheme", "misspelt", "foreign variable", "no node"],
)
def test_the_chart_refuses_values_that_cannot_work(helm: Any, wrong: dict[str, Any]) -> None:
    with helm.Chart.load(CHART) as chart, pytest.raises(helm.HelmValuesError):
        chart.validate_schema(chart.merge_values(wrong))

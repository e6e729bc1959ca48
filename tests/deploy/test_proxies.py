"""nginx and Caddy with our configuration, in front of a registry on loopback."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.processes import PATIENCE_SECONDS, Running
from tests.acceptance.program import Platform
from tests.missing import skip_without

pytestmark = pytest.mark.deploy
ROOT = Path(__file__).parents[2]
HOST = "skills.example"


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    return found or skip_without(name, untested="proxies", get_it=f"apt-get install {name}")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    platform = Platform(
        tmp_path_factory.mktemp("registry"), port=str(port), public_url=f"https://{HOST}",
        trusted_proxies="127.0.0.1", reads_per_minute="5",
    )  # fmt: skip
    platform.start("serve").wait_for(f"vskill-platform is at http://127.0.0.1:{port}")
    try:
        yield port
    finally:
        platform.end_everything()


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, node: int, tmp_path: Path) -> Iterator[int]:
    start = start_nginx if request.param == "nginx" else start_caddy
    port = free_port()
    running, is_ready = start(tmp_path, port, node)
    try:
        running.wait_for(is_ready)
        yield port
    finally:
        running.end()


def make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={HOST}",
         "-addext", f"subjectAltName=DNS:{HOST}",
         "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"],
        check=True, capture_output=True,
    )  # fmt: skip


def start_nginx(folder: Path, port: int, node: int) -> tuple[Running, str]:
    text = (ROOT / "deploy/proxy/nginx.conf").read_text()
    make_certificate(folder)
    for old, new in {
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:8000": f"127.0.0.1:{node}",
        "/etc/ssl/skills.example": str(folder),
    }.items():
        assert old in text
        text = text.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr notice; worker_processes 1;\n"
        "events { worker_connections 64; }\n"
        f"http {{ access_log off;\n{folders}\n{text}}}\n"
    )
    running = Running(
        subprocess.Popen(
            [program("nginx"), "-p", folder, "-c", folder / "nginx.conf"],
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    return running, "start worker process "


def start_caddy(folder: Path, port: int, node: int) -> tuple[Running, str]:
    text = (ROOT / "deploy/proxy/Caddyfile").read_text()
    make_certificate(folder)
    # Caddy would ask a certificate authority for a certificate. One that it signs itself arrives
    # some time after it starts to serve; one from a file is there with the first connection.
    certificate = f"tls {folder}/fullchain.pem {folder}/privkey.pem"
    text, changed = re.subn(
        r"^\{\$VSKILL_DOMAIN\} \{", rf"\g<0>\n\t{certificate}", text, flags=re.MULTILINE
    )
    assert changed == 1
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text)
    running = Running(
        subprocess.Popen(
            [program("caddy"), "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"],
            env={
                "HOME": str(folder),
                "XDG_DATA_HOME": str(folder),
                "XDG_CONFIG_HOME": str(folder),
                "VSKILL_DOMAIN": f"{HOST}:{port}",
                "VSKILL_UPSTREAMS": f"127.0.0.1:{node}",
            },
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    return running, "serving initial configuration"


def get(port: int, path: str, **headers: str) -> httpx.Response:
    with httpx.Client(verify=False, timeout=PATIENCE_SECONDS) as client:  # noqa: S501 - the certificate is the test's own
        request = client.build_request(
            "GET", f"https://127.0.0.1:{port}{path}", headers={"Host": HOST, **headers},
            extensions={"sni_hostname": HOST},
        )  # fmt: skip
        return client.send(request)


def test_pages_go_through_the_proxy_under_the_public_name(proxy: int) -> None:
    answer = get(proxy, "/sign-in", Accept="text/html")

    assert answer.status_code == 200
    assert "Secure" in answer.headers["set-cookie"]


def test_a_visitor_cannot_choose_the_address_that_is_counted(proxy: int) -> None:
    answers = [
        get(proxy, "/skills", **{"X-Forwarded-For": f"198.51.100.{number}"}) for number in range(12)
    ]

    assert 429 in {answer.status_code for answer in answers}

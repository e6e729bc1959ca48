"""The client works without the server."""

import subprocess
import sys

SERVER = (
    "web", "cron", "queue", "catalogue", "intake", "publish", "access", "stores", "runtime",
    "settings", "cli",
)  # fmt: skip
_PROGRAM = """
import importlib, pkgutil, sys
import vskill_platform.client as client
for module in pkgutil.walk_packages(client.__path__, "vskill_platform.client."):
    importlib.import_module(module.name)
print("\\n".join(sys.modules))
"""


def test_the_client_loads_no_module_of_the_server() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True
    )

    loaded = set(found.stdout.split())
    assert "vskill_platform.client.registry" in loaded
    assert not {f"vskill_platform.{name}" for name in SERVER} & loaded
    assert not {"litestar", "uvicorn", "apsw", "keyring", "click"} & loaded

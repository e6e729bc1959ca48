"""Write the lock files: pinned, hashed, for every supported Python, naming no host."""

import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {
    "runtime.lock": [],
    "otel.lock": ["--extra", "otel"],
    "dev.lock": ["--group", "dev"],
    "bench.lock": ["--group", "dev", "--group", "bench"],
    "deploy.lock": ["--group", "dev", "--group", "deploy"],
    "fuzz.lock": ["--group", "dev", "--group", "fuzz"],
}

COMPILE = [
    "uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes",
    "--no-emit-index-url", "--no-emit-find-links", "--no-header", "--quiet", "--upgrade",
]  # fmt: skip

for name, groups in LOCKS.items():
    subprocess.run(
        [*COMPILE, "pyproject.toml", *groups, "--output-file", f"requirements/{name}"],
        cwd=ROOT, check=True,
    )  # fmt: skip
# Builds the package itself, also as an editable install: with these, nothing unpinned is needed.
BUILDERS = [
    *tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"],
    "editables>=0.5",
]
#: Clients of other people that `make test-clients` runs, in an environment of their own.
CLIENTS = ["apm-cli==0.35.0", "skills-ref==0.1.1"]
for name, wanted in {"build.lock": BUILDERS, "clients.lock": CLIENTS}.items():
    subprocess.run(
        [*COMPILE, "-", "--output-file", f"requirements/{name}"],
        cwd=ROOT, check=True, input="\n".join(wanted), text=True,
    )  # fmt: skip

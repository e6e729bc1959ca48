"""Write the lock files: pinned, hashed, for every supported Python, naming no host."""

import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {
    "runtime.lock": [],
    "dev.lock": ["--group", "dev"],
    "bench.lock": ["--group", "dev", "--group", "bench"],
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
subprocess.run(
    [*COMPILE, "-", "--output-file", "requirements/build.lock"],
    cwd=ROOT, check=True, input="\n".join(BUILDERS), text=True,
)  # fmt: skip

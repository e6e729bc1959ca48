"""Write the lock files: pinned, hashed, for every supported Python, naming no host."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {
    "runtime.lock": [],
    "dev.lock": ["--group", "dev"],
    "bench.lock": ["--group", "dev", "--group", "bench"],
    "fuzz.lock": ["--group", "dev", "--group", "fuzz"],
}

for name, groups in LOCKS.items():
    subprocess.run(
        ["uv", "pip", "compile", "pyproject.toml", *groups, "--output-file", f"requirements/{name}",
         "--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url",
         "--no-emit-find-links", "--no-header", "--quiet", "--upgrade"],
        cwd=ROOT, check=True,
    )  # fmt: skip

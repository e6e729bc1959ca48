"""Make a release: version, changelog, packages, SBOM and checksums in dist/, a commit and a tag.

    make release VERSION=1.2.3

Nothing is sent anywhere: push the commit and the tag, and upload the files, yourself.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSION_FILE = Path("src/vskill_platform/__init__.py")
CHANGELOG = Path("CHANGELOG.md")
CHART = Path("deploy/helm/vskill-platform/Chart.yaml")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_UNRELEASED = "## Unreleased\n"


def release(root: Path, version: str, *, date: str) -> list[Path]:
    """Change the files that name the version, build the packages, commit and tag."""
    check_release(root, version)
    write_version(root, version, date=date)
    files = build(root, version)
    run(root, "git", "commit", "--quiet", "--all", "--message", f"Release {version}")
    run(root, "git", "tag", "--annotate", f"v{version}", "--message", f"Release {version}")
    return files


def check_release(root: Path, version: str) -> None:
    if not _VERSION.fullmatch(version):
        raise SystemExit(f"{version!r} is no version: use VERSION=1.2.3")
    if run(root, "git", "status", "--porcelain"):
        raise SystemExit("commit or remove your changes first: git status lists them")
    if run(root, "git", "tag", "--list", f"v{version}"):
        raise SystemExit(f"there is a tag v{version} already")
    _, found, notes = (root / CHANGELOG).read_text().partition(_UNRELEASED)
    if not found or not notes.partition("\n## ")[0].strip():
        raise SystemExit(f"{CHANGELOG} has nothing under {_UNRELEASED.strip()!r}")


def write_version(root: Path, version: str, *, date: str) -> None:
    replace(root / VERSION_FILE, r'__version__ = ".*"', f'__version__ = "{version}"')
    replace(root / CHANGELOG, _UNRELEASED, f"{_UNRELEASED}\n## {version} ({date})\n")
    replace(root / CHART, r"(?m)^version: .*", f"version: {version}")
    replace(root / CHART, r"(?m)^appVersion: .*", f'appVersion: "{version}"')


def replace(path: Path, pattern: str, new: str) -> None:
    text, count = re.subn(pattern, new, path.read_text(), count=1)
    if not count:
        raise SystemExit(f"{path} does not contain {pattern!r}")
    path.write_text(text)


def build(root: Path, version: str) -> list[Path]:
    """Build all files of a release into dist/; the same commit gives the same wheel and sdist."""
    dist = root / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(root, sys.executable, "-m", "hatchling", "build", "--directory", "dist")
    for lock in ("runtime.lock", "otel.lock", "build.lock"):
        shutil.copy(root / "requirements" / lock, dist / lock)
    run(
        root, sys.executable, "-m", "cyclonedx_py", "requirements", "requirements/otel.lock",
        "--pyproject", "pyproject.toml", "--output-reproducible", "--of", "JSON",
        "--output-file", "dist/sbom.cdx.json",
    )  # fmt: skip
    name_version(dist / "sbom.cdx.json", version)
    files = sorted(dist.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (dist / "SHA256SUMS").write_text("".join(sums))
    return [*files, dist / "SHA256SUMS"]


def name_version(bom: Path, version: str) -> None:
    """Add our version: pyproject.toml only says in which file it is."""
    document = json.loads(bom.read_text())
    document["metadata"]["component"]["version"] = version
    bom.write_text(json.dumps(document, indent=2) + "\n")


def run(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a release in dist/.")
    parser.add_argument("version")
    chosen = parser.parse_args()
    for file in release(ROOT, chosen.version, date=datetime.now(UTC).date().isoformat()):
        print(file.relative_to(ROOT))
    print(f"Committed and tagged v{chosen.version}. To publish it: git push --follow-tags")


if __name__ == "__main__":
    main()

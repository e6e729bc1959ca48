"""Cisco's `cisco-ai-skill-scanner` as a peer: in its own venv, static and offline.

Its verdicts cost a quarter of an hour of processor time, so they are cached outside the repository,
by its version and the corpus; missing ones are scanned.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from benchmarks.scan_corpus import Skill

PACKAGE = "cisco-ai-skill-scanner"
VERSION = "2.3.2"
PROCESSES = 2
#: So many go into one call: its start is slow, and what a call found is only known at its end.
CHUNK = 50
_LIMIT_SECONDS = 1800
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "vskill-bench"
_VENV = _CACHE / f"{PACKAGE}-{VERSION}"
#: No key and no account of ours reaches it, and nothing that it loads may ask the network.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": str(_CACHE),
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
}


class CiscoVerdict(msgspec.Struct, frozen=True):
    id: str
    #: None when it gave up on the skill.
    is_safe: bool | None
    severity: str = ""
    rules: tuple[str, ...] = ()


def install() -> None:
    """Put it into its own venv below the cache, once; never into ours."""
    if (_VENV / ".ready").exists():
        return
    print(f"  installing {PACKAGE} {VERSION} into {_VENV}", file=sys.stderr)
    venv.create(_VENV, with_pip=True, clear=True)
    pip = [str(_VENV / "bin" / "pip"), "install", "-qqq", "--disable-pip-version-check"]
    subprocess.run([*pip, f"{PACKAGE}=={VERSION}"], check=True)
    (_VENV / ".ready").touch()


def cache_file(digest: str) -> Path:
    return _CACHE / f"cisco-{VERSION}-{digest[:16]}.jsonl"


def cisco_verdicts(skills: Sequence[Skill], digest: str) -> dict[str, CiscoVerdict]:
    """Return its verdict on each of the skills, from the cache as far as it is there."""
    cache = cache_file(digest)
    known = _read(cache)
    missing = [skill for skill in skills if skill.id not in known]
    if missing:
        install()
        print(f"  {len(missing):,} skills for Cisco's scanner, kept in {cache}", file=sys.stderr)
        chunks = [missing[first : first + CHUNK] for first in range(0, len(missing), CHUNK)]
        lock = threading.Lock()

        def scan_and_keep(chunk: Sequence[Skill]) -> None:
            found = _scan(chunk)
            with lock, cache.open("ab") as file:
                file.writelines(msgspec.json.encode(one) + b"\n" for one in found)

        with ThreadPoolExecutor(PROCESSES) as pool:
            list(pool.map(scan_and_keep, chunks))
        known = _read(cache)
    return {skill.id: known[skill.id] for skill in skills}


def cisco_command(folder: Path) -> list[str]:
    """Scan every folder in *folder*; lenient, so that a broken manifest is no way out of it."""
    program = str(_VENV / "bin" / "skill-scanner")
    return [program, "scan-all", str(folder), "--lenient", "--format", "json", "--compact"]


def copy_skills(skills: Iterable[Skill], folder: Path) -> Path:
    folder.mkdir(parents=True)
    for skill in skills:
        shutil.copytree(skill.folder, folder / skill.folder.name)
    return folder


def _read(cache: Path) -> dict[str, CiscoVerdict]:
    if not cache.exists():
        return {}
    lines = cache.read_bytes().splitlines()
    found = (msgspec.json.decode(line, type=CiscoVerdict) for line in lines)
    return {one.id: one for one in found}


def _scan(skills: Sequence[Skill]) -> list[CiscoVerdict]:
    """Scan them in one call; where it dies, halve them until the one that killed it is alone."""
    with tempfile.TemporaryDirectory(prefix="vskill-cisco-") as scratch:
        folder, report = Path(scratch) / "skills", Path(scratch) / "report.json"
        copy_skills(skills, folder)
        try:
            subprocess.run(
                [*cisco_command(folder), "--output", str(report)],
                env=ENVIRONMENT,
                cwd=folder,
                capture_output=True,
                check=True,
                timeout=_LIMIT_SECONDS,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"  Cisco's broke on {len(skills)} skills: {error}", file=sys.stderr)
            if len(skills) == 1:
                return [CiscoVerdict(skills[0].id, None)]
            middle = len(skills) // 2
            return [*_scan(skills[:middle]), *_scan(skills[middle:])]
        results = json.loads(report.read_text(encoding="utf-8"))["results"]
    by_name = {Path(result["skill_path"]).name: result for result in results}
    return [_verdict(skill, by_name.get(skill.folder.name)) for skill in skills]


def _verdict(skill: Skill, result: dict[str, object] | None) -> CiscoVerdict:
    if result is None:
        return CiscoVerdict(skill.id, None)
    findings = msgspec.convert(result["findings"], list[dict[str, object]])
    grave = {str(one["rule_id"]) for one in findings if one["severity"] in {"HIGH", "CRITICAL"}}
    is_safe = msgspec.convert(result["is_safe"], bool)
    return CiscoVerdict(skill.id, is_safe, str(result["max_severity"]), tuple(sorted(grave)))

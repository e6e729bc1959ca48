"""Reports for programs: one JSON document, or one line per skill as soon as it is scanned."""

from collections.abc import Iterable
from typing import Any, TextIO

import msgspec

from vskill_platform.base.show_text import quiet_json
from vskill_platform.model.failure import failures_in
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.reports.source_lines import without_secrets
from vskill_platform.scan.scan_many import Scanned
from vskill_platform.scan.scan_skill import SCANNER

_encode = msgspec.json.Encoder().encode


def write_jsonl(scanned: Iterable[Scanned], out: TextIO) -> None:
    for one in scanned:
        out.write(quiet_json(_encode(_line(one))).decode() + "\n")
        out.flush()


def write_json(scanned: Iterable[Scanned], out: TextIO) -> None:
    skills = [_skill(one) for one in scanned]
    document = {"scanner": SCANNER, "ruleset": ruleset_version(), "skills": skills}
    out.write(quiet_json(msgspec.json.format(_encode(document), indent=2)).decode() + "\n")


def _line(one: Scanned) -> dict[str, Any]:
    if one.result is None:
        return _error(one)
    return {
        "path": one.target.path,
        "verdict": one.result.verdict,
        "score": None if failures_in(one.result.findings) else one.result.score,
        "findings": [without_secrets(finding) for finding in one.result.findings],
        "duration_ms": one.result.duration_ms,
        "scanner": one.result.scanner,
        "ruleset": one.result.ruleset,
    }


def _skill(one: Scanned) -> dict[str, Any]:
    if one.result is None:
        return _error(one)
    return {
        **_line(one),
        "name": one.result.manifest.name if one.result.manifest else None,
        "files": one.result.files,
        "capabilities": one.result.capabilities,
    }


def _error(one: Scanned) -> dict[str, Any]:
    return {"path": one.target.path, "verdict": "error", "error": f"not verified: {one.error}"}

"""Scanners for tests: real small programs, and a real service that calls back."""

import asyncio
import hashlib
import hmac
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests.local_server import local_server
from vskill_platform.model.scanner import (
    LocalScanner,
    OutputFormat,
    RemoteScanner,
    ScannerInUse,
    ScannerRule,
)
from vskill_platform.model.verdict import Severity
from vskill_platform.scan.external.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER
from vskill_platform.secret_settings import Secret

KEY = Secret("a-common-key-of-both-sides")
SARIF = OutputFormat(format="sarif")
#: Begins every program: its last argument is the folder that it scans.
_HEAD = "import json, os, sys, time\nfolder = sys.argv[-1]\n"


def sarif(*results: dict[str, Any], **run: Any) -> str:
    """Return Python source that prints a log with these results."""
    log = {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "x"}}, "results": list(results), **run}],
    }
    return f"print(json.dumps({log!r}).replace('FOLDER', folder))\n"


def a_result(
    rule: str = "R1", *, level: str | None = "error", file: str = "FOLDER/SKILL.md", line: int = 2
) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
    result: dict[str, Any] = {
        "ruleId": rule,
        "message": {"text": f"{rule} in FOLDER/SKILL.md"},
        "locations": [{"physicalLocation": place}],
    }
    return {**result, "level": level} if level else result


def a_program(folder: Path, source: str, name: str = "scanner") -> str:
    """Write a program that runs this Python source; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable} -I\n{_HEAD}{source}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def a_scanner(program: str, **changes: Any) -> LocalScanner:
    values: dict[str, Any] = {
        "name": "probe",
        "program": program,
        "arguments": ("{folder}",),
        "reading": SARIF,
        "deadline": timedelta(seconds=20),
    }
    return LocalScanner(**{**values, **changes})


def used(scanner: LocalScanner | RemoteScanner, **rule: Any) -> ScannerInUse:
    return ScannerInUse(scanner, ScannerRule(name=scanner.name, **{"required": True, **rule}))


def an_answer(dispatch: dict[str, Any], status: str = "pass", **changes: Any) -> bytes:
    return msgspec.json.encode(
        {"scan": dispatch["scan"], "digest": dispatch["digest"], "status": status, **changes}
    )


def a_finding(severity: Severity = Severity.HIGH, **changes: Any) -> dict[str, Any]:
    return {"rule": "V1", "severity": severity, "message": "odd", "file": "SKILL.md", "line": 2,
            **changes}  # fmt: skip


def signed(body: bytes, now: datetime, key: Secret = KEY) -> dict[str, str]:
    """Sign an answer as docs/external-scanners.md tells a scanner to."""
    moment = str(int(now.timestamp()))
    digest = hmac.new(key.reveal().encode(), f"{moment}.".encode() + body, hashlib.sha256)
    return {TIMESTAMP_HEADER: moment, SIGNATURE_HEADER: f"sha256={digest.hexdigest()}"}


class ScanService:
    """Takes archives and keeps what it was sent; what it answers at once is up to the test."""

    def __init__(self) -> None:
        self.url = ""
        self.statuses: list[int] = [202]
        self.requests: list[tuple[dict[str, str], bytes]] = []

    @property
    def dispatches(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(body) for _, body in self.requests]

    def scanner(self, name: str = "acme", **changes: Any) -> RemoteScanner:
        return RemoteScanner(name=name, url=f"{self.url}/{name}", key=KEY, **changes)

    async def on_dispatch(self, dispatch: dict[str, Any]) -> None:
        """Do what a very quick scanner does before it answers; nothing, unless a test says so."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = head.strip().split("\r\n")[1:]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.requests.append((headers, body))
        await self.on_dispatch(msgspec.json.decode(body))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()


@asynccontextmanager
async def scan_service() -> AsyncIterator[ScanService]:
    service = ScanService()
    async with local_server(service.serve) as service.url:
        yield service


def by_rule(findings: Sequence[Any]) -> dict[str, Any]:
    return {finding.rule: finding for finding in findings}

"""Accept the signed result of a remote scanner, once, and let its submission continue."""

from typing import Annotated, Literal

import msgspec

from vskill_platform.base.show_text import count_of, show
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.scanner import (
    IN_FLIGHT,
    ExternalScanResult,
    ExternalScanStatus,
    RemoteScanner,
)
from vskill_platform.model.verdict import Severity
from vskill_platform.scan.external.read_output import ScannedFolder, ScannerFinding, as_findings
from vskill_platform.scan.external.signature import check_callback
from vskill_platform.scan.facts.leaked_secrets import redact
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.external_scan_store import (
    ExternalScan,
    UsedSignature,
    end_external_scan,
    get_external_scan,
    split_scan_id,
)

#: The maximum size of a callback; the findings that would not fit are not kept anyway.
MAX_CALLBACK_BYTES = 1024 * 1024
_MAX_NOTE = 300
_STATUSES = {
    "pass": ExternalScanStatus.PASS,
    "fail": ExternalScanStatus.FAIL,
    "error": ExternalScanStatus.ERROR,
}


class CallbackFinding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule: str
    severity: Severity
    message: str = ""
    #: Relative to the skill's folder.
    file: str = ""
    line: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Callback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scanner's result, valid only for the scan and the content that it names."""

    scan: str
    digest: str
    status: Literal["pass", "fail", "error"]
    findings: tuple[CallbackFinding, ...] = ()
    message: str = ""


async def take_callback(scan_id: str, body: bytes, *, moment: str, signature: str) -> bool:
    """Accept a callback; return False if the scan has ended or if it was already accepted.

    The signature is verified before anything is parsed.
    """
    scanner = _scanner_of(scan_id)
    until = check_callback(body, moment=moment, signature=signature, key=scanner.key, now=get_now())
    callback = _decode(body)
    if callback.scan != scan_id:
        raise InvalidInput("the callback names a different scan than its URL")
    scan = await _scan(scan_id)
    if scan.status not in IN_FLIGHT:
        return False
    if callback.digest != scan.digest:
        raise InvalidInput("the callback is about different content than was sent")
    used = UsedSignature(signature=f"{scan_id} {moment} {signature}", until=until)
    return await end_external_scan(scan, _answer(scanner.name, callback), used=used)


def _scanner_of(scan_id: str) -> RemoteScanner:
    parts = split_scan_id(scan_id)
    for one in bound_env().scanners:
        if parts and one.name == parts[1] and isinstance(one.scanner, RemoteScanner):
            return one.scanner
    raise NotFound("there is no such scan")


async def _scan(scan_id: str) -> ExternalScan:
    subject, provider = split_scan_id(scan_id) or ("", "")
    stored = await get_external_scan(subject, provider)
    if stored is None or stored.record.scan_id != scan_id:
        raise NotFound("there is no such scan, or a newer one has replaced it")
    return stored.record


def _decode(body: bytes) -> Callback:
    try:
        return msgspec.json.decode(body, type=Callback)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"the callback cannot be parsed: {error}") from error


def _answer(name: str, callback: Callback) -> ExternalScanResult:
    found = [
        ScannerFinding(
            rule=one.rule,
            message=one.message,
            severity=one.severity,
            file=one.file,
            line=one.line,
        )
        for one in callback.findings
    ]
    note = show(redact(callback.message), limit=_MAX_NOTE)
    return ExternalScanResult(
        status=_STATUSES[callback.status],
        findings=as_findings(found, ScannedFolder(), scanner=name, default=Severity.MEDIUM),
        note=note or count_of(len(found), "finding"),
    )

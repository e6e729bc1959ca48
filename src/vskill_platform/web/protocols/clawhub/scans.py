"""ClawHub v1, scans: the stored report of a version, in its format and as a zip."""

import io
import zipfile
from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_202_ACCEPTED

from vskill_platform.errors import NotFound
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.protocols.clawhub.find import find_owned_skill
from vskill_platform.web.protocols.clawhub.install import version_named
from vskill_platform.web.protocols.clawhub.shapes import Object
from vskill_platform.web.protocols.clawhub.skills import Owner, Tag
from vskill_platform.web.protocols.clawhub.trust import assess_version, evidence_json, millis
from vskill_platform.web.skills.clawhub_names import split_slug

_Text = Annotated[str, msgspec.Meta(max_length=300)]


class ScanSource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    slug: _Text
    kind: _Text = "published"
    owner_handle: _Text = ""
    version: _Text = ""


class ScanRequest(msgspec.Struct, frozen=True, kw_only=True):
    source: ScanSource


@operation(status=HTTP_202_ACCEPTED)
async def start_scan(request: WebRequest, data: JSONBody[ScanRequest]) -> Object:
    """Return the stored scan of a version, because every version is scanned before publication."""
    asked = data.source
    skill = await find_owned_skill(request, asked.slug, asked.owner_handle)
    version = await version_named(skill, asked.version)
    if version is None:
        raise NotFound(f"{skill.slug} has no version {asked.version}")
    return await _scan(skill, version)


async def show_scan(request: WebRequest, scan_id: FromPath[str]) -> Object:
    return await _scan(*await _scanned(request, scan_id))


async def download_scan(request: WebRequest, scan_id: FromPath[str]) -> Response[bytes]:
    return await _zipped_scan(*await _scanned(request, scan_id))


async def download_scan_of(
    request: WebRequest, name: FromPath[str], owner: Owner = "", version: Tag = ""
) -> Response[bytes]:
    skill = await find_owned_skill(request, name, owner)
    found = await version_named(skill, version)
    if found is None:
        raise NotFound(f"{skill.slug} has no version {version}")
    return await _zipped_scan(skill, found)


async def _scanned(request: WebRequest, scan_id: str) -> tuple[PublishedSkill, SkillVersion]:
    """Return the subject of a scan, whose id is `OWNER~NAME~VERSION`."""
    owner, _, rest = scan_id.partition("~")
    name, _, version = rest.rpartition("~")
    skill = await find_owned_skill(request, name, owner) if owner else None
    found = await version_named(skill, version) if skill else None
    if skill is None or found is None:
        raise NotFound(f"there is no scan {scan_id!r}")
    return skill, found


async def _scan(skill: PublishedSkill, version: SkillVersion) -> Object:
    owned, found = split_slug(skill.slug), await assess_version(skill, version)
    moment = millis(found.checked_at or version.published_at)
    report = {
        "clawscan": {"verdict": found.status, "summary": found.overview},
        "staticAnalysis": {
            "status": found.status,
            "reasonCodes": found.reasons,
            "findings": evidence_json(found),
        },
    }
    return {
        "ok": True,
        "scanId": f"{owned.owner}~{owned.name}~{version.version}",
        "status": "succeeded" if found.checked_at else "failed",
        **({} if found.checked_at else {"lastError": found.overview}),
        "sourceKind": "published",
        "update": False,
        "writtenBack": True,
        "artifact": {"slug": owned.name, "displayName": skill.name, "version": version.version},
        "report": report,
        "createdAt": moment,
        "updatedAt": moment,
        "completedAt": moment,
    }


async def _zipped_scan(skill: PublishedSkill, version: SkillVersion) -> Response[bytes]:
    scan = await _scan(skill, version)
    report = scan.pop("report")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name, part in {"manifest.json": scan, "report.json": report}.items():
            target.writestr(name, msgspec.json.format(msgspec.json.encode(part)))
    return Response(made.getvalue(), media_type="application/zip")

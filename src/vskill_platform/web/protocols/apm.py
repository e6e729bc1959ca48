"""The registry API of APM, version 1: versions, download and publish.

An address is `ID/versions`, `ID/versions/VERSION/download` or, to publish, `ID/versions/VERSION`.
Errors are problem+json, as everywhere; field names are in snake case.
"""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from litestar import Response
from litestar.datastructures import UploadFile
from litestar.params import FromPath
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from vskill_platform.errors import InvalidInput, NotFound, NotPublished, SlugTaken, SourceRefused
from vskill_platform.intake.discover import Discovery
from vskill_platform.model.skill import SkillVersion, next_version, parse_version
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission, SubmissionState
from vskill_platform.publish.versions.find_version import VersionStatus, list_versions, open_version
from vskill_platform.stores.skill_store import get_skill
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.live.events import broadcast_of
from vskill_platform.web.live.wait_for_end import wait_for_end, wanted_seconds
from vskill_platform.web.skills.client_names import slug_of_apm_id
from vskill_platform.web.skills.downloads import skill_download
from vskill_platform.web.skills.open_skill import OpenSkill
from vskill_platform.web.skills.readme_page import public_address
from vskill_platform.web.skills.slugs import find_listed
from vskill_platform.web.submissions.submit_skills import MAX_FORM_BYTES, submit_files

_VERSIONS, _DOWNLOAD = "versions", "download"
_NO_ADDRESS = "the path is /apm/v1/packages/OWNER/NAME/versions, with /VERSION/download after it"
#: APM waits a minute for a response.
_WAIT_SECONDS = 45.0
_INSTALLABLE = frozenset({VersionStatus.LATEST, VersionStatus.AVAILABLE})
#: How many findings a response names.
_MAX_TOLD = 5


class PackageVersion(msgspec.Struct, frozen=True):
    version: str
    #: The digest of the archive, as it is sent.
    digest: str
    published_at: datetime


class PackageVersions(msgspec.Struct, frozen=True):
    package: str
    versions: list[PackageVersion]


class PublishedPackage(msgspec.Struct, frozen=True):
    package: str
    version: str
    digest: str
    published_at: datetime


class _Address(NamedTuple):
    package: str
    version: str = ""
    is_download: bool = False

    @property
    def slug(self) -> str:
        return slug_of_apm_id(self.package)


async def read_package(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """List the available versions of a skill, or send the archive of one of them."""
    asked = _read_address(address)
    skill = await find_listed(request, asked.slug, asked.version if asked.is_download else None)
    if asked.is_download:
        found = await open_version(skill, asked.version)
        return await skill_download(request, OpenSkill(found=found, is_named=True, path=""))
    if asked.version:
        raise NotFound(_NO_ADDRESS)
    # Yanked versions are left out, so that no range resolves to them; lock files still work.
    rows = (await list_versions(skill.slug)).versions
    available = [_item(row.version) for row in rows if row.status in _INSTALLABLE]
    return Response(PackageVersions(asked.package, available), status_code=HTTP_200_OK)


@operation(status=HTTP_201_CREATED, max_body=MAX_FORM_BYTES)
async def publish_package(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """Submit the skill of a package and wait for the end of its check.

    The status is 201 if it is published, 422 if it is rejected, and 423 if it needs review, because
    APM treats any other status as a success.
    """
    asked = _read_address(address)
    if not asked.version or asked.is_download:
        raise InvalidInput("publish to /apm/v1/packages/OWNER/NAME/versions/VERSION")
    if not asked.slug.startswith("@"):
        raise InvalidInput(f"{asked.package}: packages are published as NAMESPACE/SKILL")
    namespace, _, name = asked.slug.partition("/")
    broadcast = broadcast_of(request)
    body = UploadFile("application/zip", f"{name}.zip", await request.body())

    async def check(discovery: Discovery) -> None:
        await _check_package(discovery, asked, name)

    try:
        done = await submit_files(
            visitor_of(request),
            [body],
            namespace=namespace,
            is_private=False,
            version=asked.version,
            check=check,
        )
    finally:
        await body.close()
    (member,) = done.members
    if member.result is None:
        raise SourceRefused(member.error)
    ended = await wait_for_end(
        broadcast,
        member.result.submission.id,
        within_seconds=wanted_seconds(request, most=_WAIT_SECONDS),
    )
    page = f"{public_address(request)}/submissions/{ended.id}"
    return Response(await _published(asked, ended, page), status_code=HTTP_201_CREATED)


def _read_address(address: str) -> _Address:
    parts = address.strip("/").split("/")
    if parts[-1] == _VERSIONS:
        return _checked(_Address("/".join(parts[:-1])))
    if parts[-2:-1] == [_VERSIONS]:
        return _checked(_Address("/".join(parts[:-2]), parts[-1]))
    if parts[-3:-2] == [_VERSIONS] and parts[-1] == _DOWNLOAD:
        return _checked(_Address("/".join(parts[:-3]), parts[-2], is_download=True))
    raise NotFound(_NO_ADDRESS)


def _checked(address: _Address) -> _Address:
    if "/" not in address.package:
        raise NotFound(_NO_ADDRESS)
    return address


async def _check_package(discovery: Discovery, asked: _Address, name: str) -> None:
    """Refuse a package that would be published under another name or version."""
    if parse_version(asked.version) is None:
        raise SourceRefused(f"{asked.version!r}: a version has three numbers, such as 1.2.0")
    names = [skill.name for skill in discovery.skills]
    if names != [name]:
        some = ", ".join(names[:_MAX_TOLD])
        raise SourceRefused(f"{asked.package} must contain one skill called {name!r}, not {some}")
    versions = await get_versions(asked.slug) if await get_skill(asked.slug) else []
    if any(version.version == asked.version for version in versions):
        raise SlugTaken(f"{asked.package} {asked.version} exists; versions never change")
    newest = versions[-1].version if versions else None
    if next_version(newest, asked.version) != asked.version:
        raise SourceRefused(f"{asked.version} is not higher than {newest}, the latest version")


async def _published(asked: _Address, ended: Submission, page: str) -> PublishedPackage:
    if ended.state is not SubmissionState.PUBLISHED or not ended.slug:
        raise _why_not_published(ended, page)
    versions = await get_versions(ended.slug)
    version = next(item for item in reversed(versions) if item.digest == ended.digest)
    if version.version != asked.version:
        raise SlugTaken(f"the same files are published as {asked.package} {version.version}")
    item = _item(version)
    return PublishedPackage(asked.package, item.version, item.digest, item.published_at)


def _why_not_published(ended: Submission, page: str) -> NotPublished | SourceRefused:
    if ended.state is SubmissionState.NEEDS_REVIEW:
        return NotPublished(f"a reviewer must approve it: {ended.reason} ({page})")
    if ended.state in IN_PROGRESS_STATES:
        return NotPublished(f"it is queued, and its check has not ended yet ({page})")
    return SourceRefused(f"{ended.reason} ({page})")


def _item(version: SkillVersion) -> PackageVersion:
    return PackageVersion(version.version, f"sha256:{version.archive_sha256}", version.published_at)

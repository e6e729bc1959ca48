"""How to get a skill by hand: download, verify, and unpack to where each client looks."""

import re
import shlex

import msgspec

from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.skills.slugs import PageRequest

#: Where each client looks for skills of its user.
CLIENTS = {
    "Claude Code": "~/.claude/skills",
    "Codex": "~/.codex/skills",
    "Cursor": "~/.cursor/skills",
    "Gemini CLI": "~/.gemini/skills",
    "OpenCode": "~/.config/opencode/skills",
}
_HOST = re.compile(r"[A-Za-z0-9.\-\[\]:]{1,255}")


class Install(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    download: str
    verify: str
    #: By the name of the client.
    unpack: dict[str, str]
    badge: str


def install_guide(request: PageRequest, skill: PublishedSkill, version: SkillVersion) -> Install:
    """Write the commands. They are for separate lines: who verifies looks before going on."""
    base = public_address(request)
    file = archive_name(skill, version)
    url = base + skill_url(skill.slug, "download", version=version.version)
    token = '--header "Authorization: Bearer $VSKILL_TOKEN" ' if skill.is_private else ""
    page = base + skill_url(skill.slug)
    return Install(
        url=url,
        download=f"curl -fL {token}-o {file} {shlex.quote(url)}",
        verify=f"echo '{version.archive_sha256}  {file}' | sha256sum --check",
        unpack={
            client: _unpack(file, f"{place}/{_plain_name(skill)}")
            for client, place in CLIENTS.items()
        },
        badge=f"[![{skill.name}]({page}/badge.svg)]({page})",
    )


def archive_name(skill: PublishedSkill, version: SkillVersion) -> str:
    return f"{_plain_name(skill)}-{version.version}.tar.gz"


def _plain_name(skill: PublishedSkill) -> str:
    """Name a file or folder so that no header, shell or file system can mistake it."""
    return re.sub(r"[^a-z0-9-]+", "-", skill.name.lower()).strip("-") or "skill"


def _unpack(file: str, folder: str) -> str:
    """Replace the skill's own folder: over an older copy, what a version dropped would stay."""
    return f"rm -rf {folder}\nmkdir -p {folder}\ntar -xzf {file} -C {folder}"


def public_address(request: PageRequest) -> str:
    """Return where this registry is reached, by its settings or by what the browser asked for."""
    settings = get_settings()
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = request.headers.get("host", "")
    scheme = request.url.scheme
    if scheme in {"http", "https"} and _HOST.fullmatch(host):
        return f"{scheme}://{host}"
    return f"http://{settings.host}:{settings.port}"

"""The commands that install a skill with different tools, as shown on the skill's page.

`make test-clients` runs exactly these lines. None of them replaces a skill of another publisher.
"""

import shlex
from urllib.parse import quote

import msgspec

from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.skills import clawhub_names
from vskill_platform.web.skills.client_names import (
    MARKETPLACE,
    apm_id,
    is_discoverable,
    market_name,
    plugin_name,
    skill_uri,
)
from vskill_platform.web.skills.downloads import archive_name, plain_name

#: The variable that users set to their token.
_VARIABLE = "$VSKILL_TOKEN"
#: Agents with a line of their own: their name for tools, and their name for people.
_AGENTS = (("codex", "Codex"), ("cursor", "Cursor"))
_READ_ONLY = "Set VSKILL_TOKEN to a token with the scope read and no other."


class InstallLine(msgspec.Struct, frozen=True, kw_only=True):
    #: A stable id, for tests and links.
    tool: str
    title: str
    line: str
    note: str = ""


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    base: str
    skill: PublishedSkill
    version: SkillVersion
    #: Whether the line installs exactly this version and not the latest.
    is_named: bool

    @property
    def secret_base(self) -> str:
        """The URL for clients that cannot send headers."""
        return f"{self.base}/t/{_VARIABLE}" if self.skill.is_private else self.base

    def at(self, separator: str) -> str:
        return f"{separator}{self.version.version}" if self.is_named else ""


def install_lines(
    base: str, skill: PublishedSkill, version: SkillVersion, *, is_named: bool
) -> list[InstallLine]:
    """Return a line for each tool that can install this version."""
    asked = _Asked(base=base, skill=skill, version=version, is_named=is_named)
    lines = [
        _vskill(asked), _claude(asked), *(_agent(asked, *one) for one in _AGENTS), _skills(asked),
        _clawhub(asked), _openskills(asked), _apm(asked), _mcp(asked), _download(asked),
    ]  # fmt: skip
    return [line for line in lines if line]


def _vskill(asked: _Asked) -> InstallLine:
    name = shlex.quote(asked.skill.slug + asked.at("@"))
    sign_in = f"Sign in first: vskill-platform login {asked.base}"
    return InstallLine(
        tool="vskill",
        title="vskill-platform",
        line=f"vskill-platform install {name} --registry {shlex.quote(asked.base)}",
        note=sign_in if asked.skill.is_private else "Checks digest and verdict, for every agent.",
    )


def _skills(asked: _Asked) -> InstallLine | None:
    if not is_discoverable(asked.skill.name):
        return None
    return InstallLine(
        tool="skills",
        title="npx skills",
        line=_add(asked, "claude-code"),
        note=_READ_ONLY if asked.skill.is_private else "Choose your agents with -a.",
    )


def _agent(asked: _Asked, agent: str, title: str) -> InstallLine:
    """Return the line for users of one agent; if possible with npx, which needs no installation."""
    if is_discoverable(asked.skill.name):
        note = _READ_ONLY if asked.skill.is_private else "Needs Node.js and nothing else."
        return InstallLine(tool=agent, title=title, line=_add(asked, agent), note=note)
    ours = _vskill(asked)
    return InstallLine(tool=agent, title=title, line=f"{ours.line} --agent {agent}", note=ours.note)


def _add(asked: _Asked, agent: str) -> str:
    url = f"{asked.secret_base}/s/{_path(asked.skill.slug)}{asked.at('@')}"
    return f"DISABLE_TELEMETRY=1 npx skills add {_quoted(url)} -a {agent} -y"


def _claude(asked: _Asked) -> InstallLine | None:
    if asked.is_named or not is_discoverable(asked.skill.name):
        return None
    first, *_ = slug = asked.skill.slug.split("/")
    namespace = first if first.startswith("@") else "/".join(slug[:-2])
    url = f"{asked.secret_base}/n/{_path(namespace)}/{MARKETPLACE}"
    plugin = f"{plugin_name(asked.skill.slug)}@{market_name(asked.base, namespace)}"
    return InstallLine(
        tool="claude",
        title="Claude Code",
        line=f"claude plugin marketplace add {_quoted(url)} && claude plugin install {plugin}",
        note=_READ_ONLY if asked.skill.is_private else "",
    )


def _clawhub(asked: _Asked) -> InstallLine:
    owned = clawhub_names.split_slug(asked.skill.slug)
    name = shlex.quote(f"@{owned.owner}/{owned.name}")
    base = shlex.quote(asked.base)
    return InstallLine(
        tool="clawhub",
        title="clawhub",
        line=f"CLAWHUB_REGISTRY={base} CLAWHUB_SITE={base} CLAWHUB_DISABLE_TELEMETRY=1 "
        f"npx clawhub install {name}{asked.at(' --version ')}",
        note="Sign in first: clawhub login --token." if asked.skill.is_private else "",
    )


def _openskills(asked: _Asked) -> InstallLine | None:
    if asked.is_named:
        return None
    url = f"{asked.base}/git/{_path(asked.skill.slug)}.git"
    return InstallLine(
        tool="openskills",
        title="openskills",
        line=f"npx openskills install {_quoted(url)}",
        note="git asks for a password: use a token." if asked.skill.is_private else "",
    )


def _apm(asked: _Asked) -> InstallLine | None:
    """Return the line for uploads; on its command line, APM treats a third segment as a folder."""
    name = apm_id(asked.skill.slug)
    if name is None or not asked.skill.slug.startswith("@"):
        return None
    spec = f"{name}#{'' if asked.is_named else '^'}{asked.version.version}"
    return InstallLine(
        tool="apm",
        title="apm",
        line="apm experimental enable registries && "
        f"apm config set registry.vskill.url {shlex.quote(asked.base + '/apm')} && "
        "apm config set registry.vskill.default true && "
        f"apm install '{spec}' --target claude",
        note="Set APM_REGISTRY_TOKEN_VSKILL to a token; apm sends it over HTTPS only."
        if asked.skill.is_private
        else "Choose your agent with --target.",
    )


def _mcp(asked: _Asked) -> InstallLine | None:
    if asked.is_named:
        return None
    note = f"The skill is {skill_uri(asked.skill.slug)}."
    private = " Send a token: Authorization: Bearer."
    return InstallLine(
        tool="mcp",
        title="MCP server",
        line=f"{asked.base}/mcp",
        note=note + (private if asked.skill.is_private else ""),
    )


def _download(asked: _Asked) -> InstallLine:
    """Return the line that downloads, checks and unpacks to a new folder, never an existing one."""
    skill, version = asked.skill, asked.version
    file = archive_name(skill, version)
    url = asked.base + skill_url(skill.slug, "download", version=version.version)
    header = f'--header "Authorization: Bearer {_VARIABLE}" ' if skill.is_private else ""
    folder = plain_name(skill)
    return InstallLine(
        tool="download",
        title="Download",
        line=f"curl -fL {header}-o {file} {shlex.quote(url)} && "
        f"echo '{version.archive_sha256}  {file}' | sha256sum --check && "
        f"mkdir {folder} && tar -xzf {file} -C {folder}",
        note="On macOS, use shasum -a 256 instead of sha256sum.",
    )


def _path(text: str) -> str:
    return quote(text, safe="/@,~+")


def _quoted(url: str) -> str:
    """Quote a URL for a shell, which must expand the token in it."""
    return f'"{url}"' if _VARIABLE in url else shlex.quote(url)

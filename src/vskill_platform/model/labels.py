"""Tags and supported agents from a manifest, normalised for use as filters.

The author writes both, so both are normalised and limited.
"""

import re
import unicodedata

from vskill_platform.model.skill import SkillManifest

#: Further tags are ignored.
MAX_TAGS = 10
MAX_TAG_CHARACTERS = 32
#: Longer lists are truncated.
_MAX_LIST_CHARACTERS = 2_000
_TAG_FIELDS = ("tags", "keywords", "category")
_AGENT_FIELDS = ("agents", "agent")
#: Tags of several words are separated by commas.
_COMMAS = re.compile(r"[,;\n]")
_NOT_IN_A_TAG = re.compile(r"[^\w+#.]+|_+")

#: Names that always refer to an agent.
_AGENTS = {
    "claude-code": r"claude[ -]?code",
    "claude": r"claude(?:\.ai|[ -]desktop)",
    "cline": r"cline",
    "codex": r"codex",
    "cursor": r"cursor",
    "gemini-cli": r"gemini[ -]?cli",
    "github-copilot": r"(?:github[ -])?copilot",
    "kilo-code": r"kilo[ -]?code",
    "kimi-cli": r"kimi[ -]?cli",
    "kiro": r"kiro",
    "opencode": r"open[ -]?code",
    "openhands": r"open[ -]?hands",
    "qwen-code": r"qwen[ -]?code",
    "roo-code": r"roo[ -]?code",
    "trae": r"trae",
    "windsurf": r"windsurf",
}
#: Names that are also common words, so they refer to an agent only in a list of agents.
_AGENTS_IN_LISTS = {
    "aider": "aider",
    "amp": "amp",
    "antigravity": "antigravity",
    "claude": "claude(?![ -]?code)",
    "continue": "continue",
    "crush": "crush",
    "droid": "(?:factory[ -])?droid",
    "gemini-cli": "gemini",
    "goose": "goose",
    "junie": "junie",
    "kimi-cli": "kimi",
    "letta": "letta",
    "openclaw": "openclaw",
    "qwen-code": "qwen",
    "replit": "replit",
    "roo-code": "roo",
    "warp": "warp",
    "zed": "zed",
}
KNOWN_AGENTS = frozenset(_AGENTS) | frozenset(_AGENTS_IN_LISTS)


def _recogniser(names: dict[str, str]) -> list[tuple[str, re.Pattern[str]]]:
    return [(name, re.compile(rf"(?<![\w-]){words}(?![\w-])")) for name, words in names.items()]


_IN_PROSE = _recogniser(_AGENTS)
_IN_LISTS = _recogniser(_AGENTS_IN_LISTS)


def tags_of(manifest: SkillManifest) -> tuple[str, ...]:
    """Return the tags of a manifest, normalised, without duplicates."""
    tags = dict.fromkeys(
        as_tag(part)
        for field in _TAG_FIELDS
        for part in _parts(manifest.metadata.get(field, "")[:_MAX_LIST_CHARACTERS])
    )
    return tuple(tag for tag in tags if tag)[:MAX_TAGS]


def as_tag(text: str) -> str:
    """Normalise a tag for storage and search."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _NOT_IN_A_TAG.sub("-", plain).strip("-.")[:MAX_TAG_CHARACTERS].strip("-.")


def agents_of(manifest: SkillManifest) -> tuple[str, ...]:
    """Return the agents that a manifest names; none means all."""
    listed = " , ".join(manifest.metadata.get(field, "") for field in _AGENT_FIELDS).casefold()
    prose = f"{manifest.compatibility or ''} , {listed}".casefold()[:_MAX_LIST_CHARACTERS]
    found = {name for name, pattern in _IN_PROSE if pattern.search(prose)}
    found |= {name for name, pattern in _IN_LISTS if pattern.search(listed[:_MAX_LIST_CHARACTERS])}
    return tuple(sorted(found))


def _parts(text: str) -> list[str]:
    return _COMMAS.split(text) if _COMMAS.search(text) else text.split()

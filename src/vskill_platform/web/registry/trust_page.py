"""The trust page: checks, blocked and rejected skills, and the rules."""

from datetime import datetime, timedelta

import msgspec
from litestar.response import Template

from vskill_platform.access.visibility import list_visible_blocks
from vskill_platform.base.show_text import show
from vskill_platform.catalogue.query import ActivityBucket, Bucket, SkillQuery
from vskill_platform.model.block import Block, BlockKind
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.trust import TrustTier
from vskill_platform.model.verdict import Severity
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.rules.registry_rules import RegistryRule, load_registry_rules
from vskill_platform.scan.rules.rules import Rule, load_rules
from vskill_platform.scan.scan_skill import SCANNER
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.rescan_store import get_rescan_done
from vskill_platform.web.html.charts import Plot, Series, stacked_bars
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of

#: Names of rule families, by the middle part of the rule id; most severe first.
FAMILIES = {
    "INJ": "Prompt injection",
    "LURE": "Social engineering of the user",
    "LEAK": "Credential exfiltration",
    "SEND": "Data exfiltration to collection services",
    "READ": "Credential access",
    "SPY": "Keyloggers, clipboard and screen capture",
    "PAY": "Payments to a hard-coded address",
    "MINE": "Cryptocurrency mining",
    "RUN": "Remote code execution (downloads and runs code)",
    "DEC": "Obfuscated code",
    "SHELL": "Reverse shells",
    "KEEP": "Persistence",
    "SPREAD": "Self-propagation",
    "HIDE": "Hidden content",
    "HOOK": "Install hooks",
    "SUPPLY": "Tampering with builds and releases",
    "DEP": "Suspicious dependencies",
    "DISARM": "Disabled security controls",
    "EVADE": "Evasion of analysis",
    "ELEV": "Privilege escalation",
    "AGENT": "Changes to agent settings or memory",
    "MCP": "Untrusted MCP servers",
    "TOOLS": "Excessive tool permissions",
    "WIPE": "Destructive commands",
    "DOS": "Denial of service",
    "NAME": "Code that names itself an attack",
    "DESC": "Behaviour that the description does not mention",
    "FILE": "Unreadable or unexpected files",
    "EXPOSED": "Leaked credentials",
    "REG": "Copies and look-alikes of published skills",
}
_ORDER = {severity: place for place, severity in enumerate(Severity)}
DAYS = 30
_MAX_SHOWN = 50
_S = SubmissionState
#: Descriptions of the kinds of blocks.
_KINDS = {
    BlockKind.DIGEST: "This content, from any source",
    BlockKind.SOURCE: "Everything in this source",
    BlockKind.NAME: "One skill name in a source",
    BlockKind.PUBLISHER: "Everything by this publisher",
}


class ShownRule(msgspec.Struct, frozen=True):
    id: str
    title: str
    severity: Severity


class Family(msgspec.Struct, frozen=True):
    title: str
    #: The most severe first.
    rules: tuple[ShownRule, ...]

    @property
    def count(self) -> int:
        return len(self.rules)


def rule_families() -> tuple[Family, ...]:
    """Group all rules by family; an unknown family is shown with its id."""
    groups: dict[str, list[ShownRule]] = {name: [] for name in FAMILIES}
    rules: list[Rule | RegistryRule] = [*load_rules(), *load_registry_rules().values()]
    for rule in rules:
        name = rule.id.split("-")[1]
        groups.setdefault(name, []).append(ShownRule(rule.id, rule.title, rule.severity))
    return tuple(
        Family(
            FAMILIES.get(name, name),
            tuple(sorted(found, key=lambda rule: (_ORDER[rule.severity], rule.id))),
        )
        for name, found in groups.items()
        if found
    )


#: Tiers that need a judge.
_BY_JUDGE = {TrustTier.JUDGED, TrustTier.CERTIFIED}


class ShownBlock(msgspec.Struct, frozen=True):
    kind: str
    subject: str
    block: Block


async def trust_page(request: WebRequest) -> Template:
    catalogue = catalogue_of(request)
    visitor = visitor_of(request)
    visible = await visible_to(visitor)
    tiers = await catalogue.search_skills(SkillQuery(limit=1, visible=visible, with_facets=True))
    blocks = await list_visible_blocks(visitor)
    done = await get_rescan_done()
    has_judge = bool(get_settings().judge_url)
    return Template(
        "pages/trust.html",
        context={
            "section": "trust",
            "tiers": _tiers(dict((tiers.facets or {}).get("tier", [])), has_judge=has_judge),
            "counts": await catalogue.count_all(visible=visible),
            "plot": plot_days(await catalogue.activity(_since(), Bucket.DAY, visible=visible)),
            "days": DAYS,
            "blocks": [_shown_block(block) for block in blocks[:_MAX_SHOWN]],
            "block_count": len(blocks),
            "down": await catalogue.list_taken_down(limit=_MAX_SHOWN, visible=visible),
            "families": rule_families(),
            "scanner": SCANNER,
            "ruleset": ruleset_version(),
            "has_judge": has_judge,
            "rescanned_at": done.at if done else None,
            "freshness": catalogue.freshness,
        },
    )


def plot_days(buckets: list[ActivityBucket]) -> Plot:
    """Draw the completed submissions per day."""

    def ended(*states: SubmissionState) -> tuple[float, ...]:
        return tuple(sum(bucket.ended.get(state, 0) for state in states) for bucket in buckets)

    return stacked_bars(
        [f"{bucket.start:%-d %b}" for bucket in buckets],
        [
            Series("published", "good", ended(_S.PUBLISHED)),
            Series("failed checks", "warn", ended(_S.TIER1_FAILED, _S.REJECTED)),
            Series("blocked", "bad", ended(_S.BLOCKED)),
        ],
    )


def _since() -> datetime:
    today = get_now().replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=DAYS - 1)


def _tiers(counts: dict[str, int], *, has_judge: bool) -> list[tuple[TrustTier, int]]:
    """Return the tiers that skills have or can reach in this registry, most trusted first."""
    reachable = {TrustTier.UNVERIFIED, TrustTier.SCANNED} | (_BY_JUDGE if has_judge else set())
    return [
        (tier, counts.get(tier, 0))
        for tier in reversed(TrustTier)
        if tier in reachable or counts.get(tier)
    ]


def _shown_block(block: Block) -> ShownBlock:
    """Describe a block without local paths."""
    subject = block.subject
    value = subject.value
    if subject.kind is BlockKind.NAME:
        source, _, name = value.rpartition("#")
        value = f"{name} in {_public(source)}"
    elif subject.kind is BlockKind.SOURCE:
        value = _public(value)
    return ShownBlock(_KINDS[subject.kind], show(value, limit=200), block)


def _public(source: str) -> str:
    if source.startswith(("https://", "http://")):
        return source.rstrip("#")
    return source.removeprefix("upload:") if source.startswith("upload:") else "local files"

"""What the scanner catches, what it spares and how fast it is, beside Cisco's, on one corpus.

`--split` looks at one half of the campaigns only, `--misses KIND` lists what was judged wrongly
and on what grounds; both are for work on the rules. Cisco's verdicts are kept outside of the
repository: the first run takes a quarter of an hour, the next ones a minute.
"""

import argparse
import math
import multiprocessing
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.report import print_note, print_table, print_title, print_verdict, ratio
from benchmarks.scan_cisco import PACKAGE, VERSION, CiscoVerdict, cisco_verdicts
from benchmarks.scan_corpus import (
    CORPUS,
    KINDS,
    MALICIOUS_KINDS,
    SPLITS,
    Skill,
    adjudications,
    corpus_digest,
    rightly_labelled,
    unpack,
)
from benchmarks.scan_speed import FASTER, print_speed
from vskill_platform.model.verdict import Verdict
from vskill_platform.scan.scan_skill import ScanResult, scan_skill

PROCESSES = 2
#: For an interval that holds the truth 19 times of 20.
_Z = 1.959964
#: In %, by kind: at least for what is malicious, at most for what is not.
BLOCK_GOALS = {"real": 35.0, "synthetic": 30.0, "trusted": 0.5, "security": 2.0, "community": 0.5}
FLAG_GOALS = {"real": 65.0, "synthetic": 60.0, "trusted": 4.0, "security": 10.0, "community": 4.0}

IsFlagged = Callable[[Skill], bool]


class Share(msgspec.Struct, frozen=True):
    """How much of something was flagged; each campaign counts once, by the mean of its skills."""

    flagged: float
    campaigns: int

    @property
    def percent(self) -> float:
        return 100 * self.flagged / self.campaigns if self.campaigns else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's interval, in %."""
        count, part = self.campaigns, self.flagged / self.campaigns
        spread = _Z * math.sqrt(part * (1 - part) / count + _Z**2 / (4 * count**2))
        middle, scale = part + _Z**2 / (2 * count), 100 / (1 + _Z**2 / count)
        return max(scale * (middle - spread), 0.0), min(scale * (middle + spread), 100.0)

    def __str__(self) -> str:
        if not self.campaigns:
            return "-"
        low, high = self.interval
        return f"{self.percent:.1f} ({low:.1f} … {high:.1f})"


def share(skills: Iterable[Skill], is_flagged: IsFlagged) -> Share:
    by_campaign = defaultdict(list)
    for skill in skills:
        by_campaign[skill.campaign].append(is_flagged(skill))
    means = [sum(flags) / len(flags) for flags in by_campaign.values()]
    return Share(math.fsum(means), len(means))


def scan_all(skills: Sequence[Skill]) -> dict[str, ScanResult]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        found = pool.map(_scan, [skill.folder for skill in skills], chunksize=10)
        return {skill.id: result for skill, result in zip(skills, found, strict=True)}


def _scan(folder: Path) -> ScanResult:
    return scan_skill(folder, None)


def print_quality(
    title: str,
    skills: Sequence[Skill],
    ours: dict[str, ScanResult],
    cisco: dict[str, CiscoVerdict],
) -> None:
    judges: dict[str, IsFlagged] = {
        "ours, block": lambda skill: ours[skill.id].verdict is Verdict.BLOCK,
        "ours, block or review": lambda skill: ours[skill.id].verdict is not Verdict.PASS,
    }
    if cisco:
        judges["Cisco, its own verdict"] = lambda skill: cisco[skill.id].is_safe is False
    by_kind = {kind: [skill for skill in skills if skill.kind == kind] for kind in KINDS}
    found = {
        name: {kind: share(by_kind[kind], judge) for kind in KINDS}
        for name, judge in judges.items()
    }
    head = (title, *(_head(kind, by_kind[kind]) for kind in KINDS))
    print_table(head, [(name, *row.values()) for name, row in found.items()])
    _judge("ours, block", found["ours, block"], BLOCK_GOALS)
    _judge("ours, block or review", found["ours, block or review"], FLAG_GOALS)


def _head(kind: str, skills: Sequence[Skill]) -> str:
    return f"{kind} ({len({skill.campaign for skill in skills})} of {len(skills)})"


def _judge(name: str, shares: dict[str, Share], goals: dict[str, float]) -> None:
    for kind, found in shares.items():
        is_wanted = kind in MALICIOUS_KINDS
        goal = goals[kind]
        print_verdict(
            f"{name}, {kind}",
            figure=f"{found.percent:.1f} %",
            target=f"{'≥' if is_wanted else '≤'} {goal:g} %",
            is_reached=found.percent >= goal if is_wanted else found.percent <= goal,
        )


def print_sources(skills: Sequence[Skill], ours: dict[str, ScanResult]) -> None:
    """Print the recall by where the malicious skills come from."""
    by_source = defaultdict(list)
    for skill in skills:
        if skill.kind in MALICIOUS_KINDS:
            by_source[skill.source].append(skill)
    rows = [
        (
            _head(source, of_source),
            share(of_source, lambda skill: ours[skill.id].verdict is Verdict.BLOCK),
            share(of_source, lambda skill: ours[skill.id].verdict is not Verdict.PASS),
        )
        for source, of_source in sorted(by_source.items())
    ]
    print_table(("malicious, by source", "block", "block or review"), rows)


def print_misses(kind: str, skills: Sequence[Skill], ours: dict[str, ScanResult]) -> None:
    """List what is malicious and passed, or benign and did not, with everything found in it."""
    for skill in skills:
        result = ours[skill.id]
        has_passed = result.verdict is Verdict.PASS
        if skill.kind != kind or has_passed != (kind in MALICIOUS_KINDS):
            continue
        print(f"\n{result.verdict} {result.score:3} {skill.id} (campaign {skill.campaign})")
        for finding in result.findings:
            where = f"{finding.file}:{finding.line}" if finding.file else "-"
            text = " | ".join(finding.evidence)[:160]
            print(f"    {finding.severity:8} {finding.rule} {where} {text!r} {finding.lowered}")


def main() -> None:
    options = _options()
    print_title(
        "Scanner: what it catches and what it spares, in % of campaigns",
        f"more than {PACKAGE} {VERSION} catches, less of what is good, {ratio(FASTER)} as fast",
    )
    with tempfile.TemporaryDirectory(prefix="vskill-corpus-") as folder:
        everything = unpack(options.corpus, Path(folder))
        skills = [one for one in everything if options.split in {"all", one.split}]
        ours = scan_all(skills)
        if options.misses:
            print_misses(options.misses, skills, ours)
            return
        cisco = {} if options.no_cisco else cisco_verdicts(skills, corpus_digest(options.corpus))
        right = {skill.id for skill in rightly_labelled(everything, adjudications())}
        print_quality("labels as published", skills, ours, cisco)
        judged = [skill for skill in skills if skill.id in right]
        print_quality("labels adjudicated", judged, ours, cisco)
        print_note("head: campaigns of skills; cells: % of campaigns flagged (Wilson, 95 %)")
        print_note(f"{len(skills) - len(judged)} labels were found to be wrong: adjudicated.toml")
        print_note("only what ours passed was read again, so that the second table favours ours")
        unread = sum(verdict.is_safe is None for verdict in cisco.values())
        print_note(f"Cisco's gave up on {unread}; they count as not flagged")
        print_note(
            "Cisco's verdicts are kept from an earlier pass over this corpus, if there was one"
        )
        print_sources(skills, ours)
        if not options.no_cisco:
            print_speed(skills)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--split", choices=SPLITS, default="all")
    parser.add_argument("--misses", choices=KINDS, help="list what is judged wrongly, and stop")
    parser.add_argument("--no-cisco", action="store_true", help="ours alone, without the speed")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""What the scanner flags and passes and how fast it is, compared with Cisco's, on one corpus.

`--split` uses one half of the campaigns only, `--misses KIND` lists wrong verdicts and the reasons;
both are for work on the rules. Cisco's verdicts are cached outside the repository: the first run
takes a quarter of an hour, the next ones a minute.
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
    UNLABELLED,
    Adjudications,
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
BLOCK_GOALS = {"real": 65.0, "synthetic": 35.0, "trusted": 0.5, "security": 1.0, "community": 0.3}
FLAG_GOALS = {"real": 85.0, "synthetic": 65.0, "trusted": 3.0, "security": 7.0, "community": 2.0}
#: In %, at most, of the sample without labels.
UNLABELLED_GOAL = 12.0

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


def print_unlabelled(skills: Sequence[Skill], ours: dict[str, ScanResult]) -> None:
    flagged = share(skills, lambda skill: ours[skill.id].verdict is not Verdict.PASS)
    print_verdict(
        f"ours, block or review, {len(skills)} unlabelled",
        figure=f"{flagged.percent:.1f} %",
        target=f"≤ {UNLABELLED_GOAL:g} %",
        is_reached=flagged.percent <= UNLABELLED_GOAL,
    )


def print_sources(skills: Sequence[Skill], ours: dict[str, ScanResult]) -> None:
    """Print the recall in each source, and in all others: what a source alone would hide."""
    malicious = [skill for skill in skills if skill.kind in MALICIOUS_KINDS]
    rows = []
    for kind, source in sorted({(skill.kind, skill.source) for skill in malicious}):
        held_out = [skill for skill in malicious if skill.source == source]
        others = [skill for skill in malicious if skill.kind == kind and skill.source != source]
        rows.append((f"{kind}: {_head(source, held_out)}", *_shares(held_out, ours),
                     *_shares(others, ours)))  # fmt: skip
    head = ("held out (adjudicated)", "block", "flagged", "others, block", "others, flagged")
    print_table(head, rows)


def print_actors(
    skills: Sequence[Skill], ours: dict[str, ScanResult], judged: Adjudications
) -> None:
    """Print what is caught of each real actor; one with many campaigns counts once."""
    real = [skill for skill in skills if skill.kind == "real"]
    by_actor = defaultdict(list)
    for skill in real:
        by_actor[judged.actor_of(skill)].append(skill)
    rows = [(_head(actor, of_actor), *_shares(of_actor, ours)) for actor, of_actor
            in sorted(by_actor.items(), key=lambda item: (-len(item[1]), item[0]))]  # fmt: skip
    each_once = [msgspec.structs.replace(skill, campaign=judged.actor_of(skill)) for skill in real]
    rows.append((f"all {len(by_actor)} actors", *_shares(each_once, ours)))
    print_table(("real, by actor (adjudicated)", "block", "flagged"), rows)


def _shares(skills: Sequence[Skill], ours: dict[str, ScanResult]) -> tuple[Share, Share]:
    return (
        share(skills, lambda skill: ours[skill.id].verdict is Verdict.BLOCK),
        share(skills, lambda skill: ours[skill.id].verdict is not Verdict.PASS),
    )


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
        chosen = [one for one in everything if options.split in {"all", one.split}]
        skills = [skill for skill in chosen if skill.kind != UNLABELLED]
        ours = scan_all(chosen)
        if options.misses:
            print_misses(options.misses, skills, ours)
            return
        cisco = {} if options.no_cisco else cisco_verdicts(skills, corpus_digest(options.corpus))
        judgements = adjudications()
        right = {skill.id for skill in rightly_labelled(everything, judgements)}
        print_quality("labels as published", skills, ours, cisco)
        judged = [skill for skill in skills if skill.id in right]
        print_quality("labels adjudicated", judged, ours, cisco)
        print_note("head: campaigns of skills; cells: % of campaigns flagged (Wilson, 95 %)")
        print_note(f"{len(skills) - len(judged)} labels were found to be wrong: adjudicated.toml")
        print_note("every real campaign was read; of the others only what ours passed")
        print_note("rules were made after reading both halves, so neither shows unseen skills")
        print_note("archives of which the corpus holds only the head are left out")
        unread = sum(verdict.is_safe is None for verdict in cisco.values())
        print_note(f"Cisco's gave up on {unread}; they count as not flagged")
        print_note(
            "Cisco's verdicts are kept from an earlier pass over this corpus, if there was one"
        )
        print_unlabelled([skill for skill in chosen if skill.kind == UNLABELLED], ours)
        print_sources(judged, ours)
        print_actors(judged, ours, judgements)
        if not options.no_cisco:
            print_speed(skills)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--split", choices=SPLITS, default="all")
    parser.add_argument(
        "--misses", choices=(*KINDS, UNLABELLED), help="list wrong verdicts, and stop"
    )
    parser.add_argument("--no-cisco", action="store_true", help="ours alone, without the speed")
    return parser.parse_args()


if __name__ == "__main__":
    main()

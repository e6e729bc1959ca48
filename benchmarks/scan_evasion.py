"""How many malicious variants the scanner flags, and how many harmless variants it passes.

Each behaviour, and each sample of the rules, is written in many ways (wrappings) and put into many
places of a skill (carriers). Without `--all`, every wrapping is tried in the first carrier, every
carrier with the first wrapping, and a fixed sample of the other pairs. All pairs take half an hour
of two idle cores; `--shard 3/20` tries every twentieth of them, from the third on.
"""

import argparse
import multiprocessing
import random
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from benchmarks.evasion.carriers import SHELL_CARRIERS, TOLD_CARRIERS
from benchmarks.evasion.samples import (
    Carrier,
    Files,
    Form,
    Piece,
    Sample,
    Wrapping,
    load_behaviours,
    samples_of_rules,
)
from benchmarks.evasion.wrappings import SHELL_WRAPPINGS, TOLD_WRAPPINGS
from benchmarks.report import print_note, print_table, print_title, print_verdict
from vskill_platform.model.verdict import Verdict
from vskill_platform.scan.scan_skill import scan_skill

PROCESSES = 2
WRAPPINGS = {Form.TOLD: TOLD_WRAPPINGS, Form.SHELL: SHELL_WRAPPINGS}
CARRIERS = {Form.TOLD: TOLD_CARRIERS, Form.SHELL: SHELL_CARRIERS}
_CARRIER_OF = {(form, carrier.name): carrier for form in Form for carrier in CARRIERS[form]}
#: Of the pairs of a wrapping and a carrier, how many are tried for a behaviour and form.
SAMPLED = 40
SEED = 12
#: After how many variants a line tells how far it is.
PROGRESS = 2_000
#: In %: at least of what is malicious, at most of its harmless variants.
CAUGHT_GOAL, BLOCKED_GOAL, FLAGGED_GOAL = 98.0, 1.0, 3.0
UNKNOWABLE = Path(__file__).with_name("evasion") / "unknowable.toml"


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One sample in one wrapping and one carrier."""

    behaviour: str
    wrapping: str
    carrier: str
    is_malicious: bool
    form: Form
    piece: Piece

    @property
    def name(self) -> str:
        return f"{self.behaviour} | {self.wrapping} | {self.carrier}"

    @property
    def files(self) -> Files:
        """Write the skill: this takes most of the time, and tests need few of the variants."""
        return _CARRIER_OF[self.form, self.carrier].carry(self.piece)


class Outcome(msgspec.Struct, frozen=True):
    """What came of a variant: a verdict, or no usable manifest, which is not published either."""

    verdict: Verdict
    is_publishable: bool
    rules: tuple[str, ...]

    @property
    def is_flagged(self) -> bool:
        return self.verdict is not Verdict.PASS or not self.is_publishable


class Unknowable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Variants that pass for a known reason; an empty name stands for all."""

    why: str
    #: Whether the scanner could report them, and deliberately does not.
    is_policy: bool = False
    behaviour: str = ""
    wrapping: str = ""
    carrier: str = ""

    def covers(self, variant: Variant) -> bool:
        return all(
            not name or name == own
            for name, own in (
                (self.behaviour, variant.behaviour),
                (self.wrapping, variant.wrapping),
                (self.carrier, variant.carrier),
            )
        )


def all_variants(behaviours: dict[str, Sample], *, is_full: bool) -> Iterator[Variant]:
    for name, sample in behaviours.items():
        for form in Form:
            for wrapping, carrier in _pairs(name, form, is_full=is_full):
                yield from _variants(name, sample, form, wrapping, carrier)
        yield from _other_ways(name, sample)


def _pairs(behaviour: str, form: Form, *, is_full: bool) -> list[tuple[Wrapping, Carrier]]:
    first, *wrappings = WRAPPINGS[form]
    place, *carriers = CARRIERS[form]
    some = [(first, place), *((wrapping, place) for wrapping in wrappings)]
    some += [(first, carrier) for carrier in carriers]
    rest = [(wrapping, carrier) for wrapping in wrappings for carrier in carriers]
    if is_full:
        return some + rest
    chance = random.Random(f"{SEED} {behaviour} {form}")
    # Not every pair makes sense, so more are drawn than are wanted.
    return some + chance.sample(rest, min(2 * SAMPLED, len(rest)))


def _variants(
    name: str, sample: Sample, form: Form, wrapping: Wrapping, carrier: Carrier
) -> Iterator[Variant]:
    for each in (sample, sample.good if wrapping.has_twin else None):
        piece = wrapping.wrap(each) if each else None
        if piece and _makes_sense(wrapping, carrier, piece):
            yield Variant(
                behaviour=name,
                wrapping=wrapping.name,
                carrier=carrier.name,
                is_malicious=each is sample,
                form=form,
                piece=piece,
            )


def _makes_sense(wrapping: Wrapping, carrier: Carrier, piece: Piece) -> bool:
    """Leave out what nobody could read or run: Markdown in JSON, Ruby in a Makefile."""
    if wrapping.only and carrier.name not in wrapping.only:
        return False
    return piece.kind in carrier.takes


def _other_ways(name: str, sample: Sample) -> Iterator[Variant]:
    told = [Sample(told=text) for text in sample.more.told]
    shell = [Sample(shell=text) for text in sample.more.shell]
    for form, others in ((Form.TOLD, told), (Form.SHELL, shell)):
        for number, other in enumerate(others, start=2):
            for variant in _variants(name, other, form, WRAPPINGS[form][0], CARRIERS[form][0]):
                yield msgspec.structs.replace(variant, wrapping=f"plain, other words {number}")


def scan_variants(variants: Sequence[Variant]) -> list[Outcome]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        found = []
        for outcome in pool.map(scan_files, (one.files for one in variants), chunksize=50):
            found.append(outcome)
            if len(found) % PROGRESS == 0:
                print(f"  {len(found):,} of {len(variants):,}", file=sys.stderr, flush=True)
        return found


def scan_variant(variant: Variant) -> Outcome:
    return scan_files(variant.files)


def scan_files(files: Files) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="vskill-evasion-") as folder:
        for name, raw in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
        result = scan_skill(Path(folder), None)
    rules = tuple(f"{finding.rule}:{finding.severity}" for finding in result.findings)
    return Outcome(result.verdict, result.manifest is not None, rules)


Judged = tuple[Variant, Outcome]


def print_groups(title: str, judged: Iterable[Judged], key: Callable[[Variant], str]) -> None:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for variant, outcome in judged:
        groups[key(variant)].append((variant, outcome))
    rows = [(name, *_cells(group)) for name, group in groups.items()]
    head = ("variants", "caught", "blocked", "harmless", "flagged", "blocked")
    print_table((title, *head), rows)


def _cells(group: Sequence[Judged]) -> tuple[str, ...]:
    cells = []
    for is_malicious in (True, False):
        outcomes = [outcome for variant, outcome in group if variant.is_malicious is is_malicious]
        flagged = sum(outcome.is_flagged for outcome in outcomes)
        blocked = sum(outcome.verdict is Verdict.BLOCK for outcome in outcomes)
        cells += [str(len(outcomes)), _percent(flagged, outcomes), _percent(blocked, outcomes)]
    return tuple(cells)


def _percent(number: int, outcomes: Sequence[Outcome]) -> str:
    return f"{100 * number / len(outcomes):.1f} %" if outcomes else "-"


def print_totals(judged: Sequence[Judged]) -> None:
    bad = [outcome for variant, outcome in judged if variant.is_malicious]
    good = [outcome for variant, outcome in judged if not variant.is_malicious]
    caught = 100 * sum(outcome.is_flagged for outcome in bad) / max(len(bad), 1)
    flagged = 100 * sum(outcome.is_flagged for outcome in good) / max(len(good), 1)
    blocked = 100 * sum(outcome.verdict is Verdict.BLOCK for outcome in good) / max(len(good), 1)
    print()
    for what, figure, goal, is_reached, of in (
        ("malicious, reviewed", caught, f"≥ {CAUGHT_GOAL:g} %", caught >= CAUGHT_GOAL, bad),
        ("harmless, blocked", blocked, f"≤ {BLOCKED_GOAL:g} %", blocked <= BLOCKED_GOAL, good),
        ("harmless, reviewed", flagged, f"≤ {FLAGGED_GOAL:g} %", flagged <= FLAGGED_GOAL, good),
    ):
        print_verdict(
            what,
            figure=f"{figure:.1f} %",
            target=goal,
            is_reached=is_reached,
            ours=f"of {len(of):,} variants",
        )


def print_wrong(judged: Iterable[Judged], known: Sequence[Unknowable]) -> None:
    """List each malicious variant that passed, with why nobody can know, and each flagged twin."""
    print("\n  malicious and passed:")
    for variant, outcome in judged:
        if variant.is_malicious and not outcome.is_flagged:
            why = reason_for(variant, known) or "NO REASON GIVEN"
            print_note(f"  {variant.name}: {why} {' '.join(outcome.rules)}")
    print("\n  harmless and flagged:")
    for variant, outcome in judged:
        if not variant.is_malicious and outcome.is_flagged:
            print_note(f"  {variant.name}: {outcome.verdict} {' '.join(outcome.rules)}")


def reason_for(variant: Variant, known: Sequence[Unknowable]) -> str | None:
    found = next((one for one in known if one.covers(variant)), None)
    if found is None:
        return None
    return f"policy: {found.why}" if found.is_policy else found.why


def print_reasons(judged: Iterable[Judged], known: Sequence[Unknowable]) -> None:
    """Print how many of the malicious variants that passed have a reason in `unknowable.toml`."""
    missed = [
        variant for variant, outcome in judged if variant.is_malicious and not outcome.is_flagged
    ]
    reasons = [why for variant in missed if (why := reason_for(variant, known))]
    policy = sum(why.startswith("policy: ") for why in reasons)
    print_note(
        f"{len(missed):,} malicious variants passed, {len(reasons):,} of them with a reason, "
        f"{policy:,} of these by policy"
    )


def load_unknowable() -> list[Unknowable]:
    table = tomllib.loads(UNKNOWABLE.read_text(encoding="utf-8"))
    return msgspec.convert(table.get("variants", []), list[Unknowable])


def main() -> None:
    options = _options()
    print_title(
        "Scanner: malicious variants that it catches, harmless variants that it passes",
        f"≥ {CAUGHT_GOAL:g} % caught; ≤ {BLOCKED_GOAL:g} % of harmless variants blocked, "
        f"≤ {FLAGGED_GOAL:g} % flagged",
    )
    behaviours = {**load_behaviours(), **samples_of_rules()}
    if options.behaviour:
        behaviours = {name: behaviours[name] for name in options.behaviour}
    first, shards = options.shard
    variants = [
        variant
        for variant in islice(
            all_variants(behaviours, is_full=options.all), first - 1, None, shards
        )
        if not options.find or options.find in variant.name
    ]
    judged = list(zip(variants, scan_variants(variants), strict=True))
    print_groups("behaviour", judged, lambda variant: variant.behaviour)
    print_groups("wrapping", judged, lambda variant: variant.wrapping)
    print_groups("carrier", judged, lambda variant: variant.carrier)
    known = load_unknowable()
    if not options.quiet:
        print_wrong(judged, known)
    print_totals(judged)
    print_reasons(judged, known)


def shard_of(text: str) -> tuple[int, int]:
    """Read `3/20`: the third of twenty parts."""
    number, _, shards = text.partition("/")
    if not (number.isdecimal() and shards.isdecimal() and 1 <= int(number) <= int(shards)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a part such as 3/20")
    return int(number), int(shards)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every pair, not a sample of them")
    parser.add_argument("--shard", type=shard_of, default=(1, 1), help="a part of them, as 3/20")
    parser.add_argument("--behaviour", action="append", help="only this one; may be repeated")
    parser.add_argument("--find", help="only variants whose name contains this")
    parser.add_argument("--quiet", action="store_true", help="do not list what is judged wrongly")
    return parser.parse_args()


if __name__ == "__main__":
    main()

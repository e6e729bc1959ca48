"""Run tier 1 on many skills, each in a killable process; a scan that fails is not verified."""

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from vskill_platform.base.worker_pool import Bounds, Failure, WorkResult, run_in_workers
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.read.skill_files import scan_file
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.scan.scan_skill import Scan, ScanResult, all_facts, scan_skill

#: A text whose scan loads the tables that nearly every scan needs: words, an unknown host, code.
_COMMON = b"Download https://files.nowhere-special.dev/a.zip now.\n```python\npass\n```\n"
#: A text whose scan loads the other tables: sensitive paths, other languages, unknown packages.
_RARE = (
    b"Keys are in ~/.ssh/id_rsa.\n```js\na\n```\n```ps1\na\n```\n"
    b"```sh\npip install nowhere-special\nnpm install nowhere-special\n```\n"
)


class ScanTarget(msgspec.Struct, frozen=True, kw_only=True):
    #: The name in the report: the given path or URL, and the path of the skill in it.
    path: str
    folder: Path
    #: The expected name of the skill; None if the folder's name has no meaning.
    folder_name: str | None = None
    #: Why there is nothing to scan.
    error: str = ""


class Scanned(msgspec.Struct, frozen=True, kw_only=True):
    target: ScanTarget
    #: None means not verified.
    result: ScanResult | None
    error: str = ""


def scan_many(
    targets: Sequence[ScanTarget],
    *,
    jobs: int,
    scan: Scan = scan_skill,
    bounds: Bounds | None = None,
) -> Generator[Scanned, None, None]:
    """Yield the result of each target in order; a failure affects no other target."""
    load_tables(for_many=len(targets) > 1)
    outcomes = run_in_workers(
        lambda target: msgspec.msgpack.encode(scan(target.folder, target.folder_name)),
        [target for target in targets if not target.error],
        processes=jobs,
        bounds=bounds or Bounds(),
    )
    with closing(outcomes):
        for target in targets:
            if target.error:
                yield Scanned(target=target, result=None, error=target.error)
            else:
                yield _scanned(target, next(outcomes))


def load_tables(*, for_many: bool = True) -> None:
    """Load all data before forking workers, so that they share it and none loads it again.

    For a single skill, tables that it may not need are left to its worker.
    """
    load_rules()
    ruleset_version()
    for text in (_COMMON, _RARE) if for_many else (_COMMON,):
        all_facts([scan_file("SKILL.md", text, size=len(text), manifest="")])


def _scanned(target: ScanTarget, outcome: WorkResult) -> Scanned:
    if isinstance(outcome, Failure):
        return Scanned(target=target, result=None, error=outcome.reason)
    return Scanned(target=target, result=msgspec.msgpack.decode(outcome, type=ScanResult))

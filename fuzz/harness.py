"""Fuzz one target with atheris: run and measure every input, store failures, and continue.

`python fuzz/harness.py TARGET FOLDER [arguments of libFuzzer]` stores failures in FOLDER.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder
with atheris.instrument_imports(include=["vskill_platform"]):
    from fuzz.targets import TARGETS

from fuzz.bounded import allowed_seconds, failure_of, name_of

#: What watching every branch costs.
_SLOWDOWN = 4


def main() -> None:
    name, found, *options = sys.argv[1:]
    target = TARGETS[name]

    def run(raw: bytes) -> None:
        seconds = _SLOWDOWN * allowed_seconds(target, raw)
        failure = failure_of(target, raw, seconds=seconds)
        if failure is None:
            return
        kept = Path(found, name_of(failure))
        if not kept.exists() or kept.stat().st_size > len(raw):  # the smallest says most
            kept.write_bytes(raw)

    atheris.Setup([sys.argv[0], *options], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

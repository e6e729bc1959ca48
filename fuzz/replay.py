"""Run one stored input again, without atheris: `python fuzz/replay.py TARGET FILE`."""

import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds only its own folder

from fuzz.bounded import allowed_seconds, failure_of
from fuzz.targets import TARGETS


def main() -> int:
    name, file = sys.argv[1:]
    target, raw = TARGETS[name], Path(file).read_bytes()
    target.check(b"")  # what is loaded once is not counted
    started = time.process_time()
    failure = failure_of(target, raw, seconds=allowed_seconds(target, raw))
    seconds = time.process_time() - started
    print(f"{len(raw)} bytes, {seconds:.2f} s: {type(failure).__name__ if failure else 'fine'}")
    if failure:
        traceback.print_exception(failure, limit=-12)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())

"""Limits of a process: ours apply, and existing ones are neither raised nor exceeded."""

import os
import resource
import subprocess
import sys

import pytest

from vskill_platform.base.process_limits import MIN_CHECK_MEMORY_BYTES, limit_child

MIB = 1024 * 1024
#: Without the capability that lets root raise a hard limit.
NOT_ROOT = ["setpriv", "--bounding-set=-sys_resource"] if os.geteuid() == 0 else []
MODULE = "vskill_platform.base.process_limits"


def run_below(limits: list[str], code: str) -> str:
    """Run *code* in a process that prlimit has bounded; return what it prints."""
    program = f"import resource\nfrom {MODULE} import *\n{code}"
    done = subprocess.run(
        [*NOT_ROOT, "prlimit", *limits, sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("there", "limits"),
    [
        ("unlimited:unlimited", (1024 * MIB, resource.RLIM_INFINITY)),
        (f"{4096 * MIB}:{4096 * MIB}", (1024 * MIB, 4096 * MIB)),
        (f"{600 * MIB}:{600 * MIB}", (600 * MIB, 600 * MIB)),
        (f"{600 * MIB}:unlimited", (600 * MIB, resource.RLIM_INFINITY)),
    ],
    ids=["none", "higher", "lower", "lower soft limit"],
)
def test_memory_is_limited_to_the_lower_of_ours_and_theirs(
    there: str, limits: tuple[int, int]
) -> None:
    code = f"limit_memory({1024 * MIB}); print(resource.getrlimit(resource.RLIMIT_AS))"

    assert run_below([f"--as={there}"], code) == str(limits)


def test_processor_time_is_granted_again_up_to_a_hard_limit() -> None:
    code = "limit_cpu(30); limit_cpu(60); limit_cpu(120)\n"
    code += "print(resource.getrlimit(resource.RLIMIT_CPU))"

    assert run_below(["--cpu=100:100"], code) == "(100, 100)"


def test_a_program_that_was_started_keeps_a_lower_limit() -> None:
    limits = [f"--fsize={MIB}:{2 * MIB}", "--as=unlimited:unlimited"]
    code = f"limit_child(0, file_bytes={5 * MIB}, memory_bytes={512 * MIB})\n"
    code += "print(*(resource.getrlimit(one) for one in"
    code += " (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS)))"

    found = run_below(limits, code)

    assert found == f"(0, 0) ({MIB}, {MIB}) ({512 * MIB}, {512 * MIB})"


def test_a_program_that_has_ended_is_no_error() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    limit_child(ended.pid, file_bytes=MIB)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (MIN_CHECK_MEMORY_BYTES, "ok"),
        (100 * MIB, "the memory limit of this process is 100 MiB, too little for a check"),
    ],
)
def test_a_memory_limit_below_what_a_check_takes_is_refused(limit: int, said: str) -> None:
    found = run_below([f"--as={limit}:{limit}"], "check_memory_limit(); print('ok')")

    assert said in found


@pytest.mark.parametrize(("there", "soft"), [("64:64", 64), ("64:1024", 1024)])
def test_open_files_are_raised_to_what_is_allowed(there: str, soft: int) -> None:
    code = "left = raise_file_limit()\n"
    code += "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 0 < left)"

    found = run_below([f"--nofile={there}"], code)

    assert found == f"{soft} True"

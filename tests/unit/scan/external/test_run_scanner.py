"""Local scanners: real programs that work, and real programs that misbehave."""

import asyncio
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.casts import a_skill_folder
from tests.scanners import SARIF, a_program, a_result, a_scanner, sarif
from vskill_platform.base.program import ProgramLimits
from vskill_platform.errors import ScannerFailed
from vskill_platform.model.scanner import (
    MAX_FINDINGS,
    ExternalScanResult,
    ExternalScanStatus,
    OutputFormat,
)
from vskill_platform.model.verdict import FindingKind, Severity, Verdict, verdict_from
from vskill_platform.scan.external import run_program
from vskill_platform.scan.external.read_output import ScannedFolder, as_findings, read_output
from vskill_platform.scan.external.run_scanner import run_scanner, version_of

S = ExternalScanStatus
#: Looks like a key that works.
SECRET = "ghp_" + "Zq7Xw2Lk9Vb4Nm1Rt6Yp3Hs8Jd5Fg0CaEu2"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    return a_skill_folder(tmp_path / "skills", run_dot_py="print('tidy')\n")


def files_of(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def pids_in(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()]


async def scan(skill: Path, source: str, **changes: Any) -> ExternalScanResult:
    programs, workspace = skill.parents[1] / "programs", skill.parents[1] / "work"
    workspace.mkdir(exist_ok=True)
    scanner = a_scanner(**{"program": a_program(programs, source), **changes})
    outcome = await run_scanner(scanner, skill, list(files_of(skill)), workspace=workspace)
    assert list(workspace.iterdir()) == []  # nothing is left behind
    return outcome


async def test_a_scanner_that_finds_nothing_passes(skill: Path) -> None:
    assert (await scan(skill, sarif())).status is S.PASS


async def test_a_finding_is_external_with_its_place_inside_of_the_skill(skill: Path) -> None:
    outcome = await scan(skill, sarif(a_result(line=3)) + "sys.exit(1)\n")

    assert outcome.status is S.FAIL
    (finding,) = outcome.findings
    assert (finding.rule, finding.file, finding.line) == ("probe/R1", "SKILL.md", 3)
    assert (finding.kind, finding.severity) == (FindingKind.EXTERNAL, Severity.HIGH)
    assert finding.message == "probe: R1 in SKILL.md"  # no path of ours
    assert finding.fix


async def test_external_findings_never_block_alone(skill: Path) -> None:
    found = [a_result(f"R{number}") for number in range(3)]
    rule = {"tool": {"driver": {"rules": [{"id": "R0", "properties": {"security-severity": 10}}]}}}

    outcome = await scan(skill, sarif(*found, **rule))

    assert outcome.findings[0].severity is Severity.CRITICAL
    assert verdict_from(outcome.findings) is Verdict.PASS


@pytest.mark.parametrize(
    ("told", "file"),
    [
        ("FOLDER/run.py", "run.py"),
        ("file://FOLDER/run.py", "run.py"),
        ("run.py", "run.py"),
        ("skill/run.py", "run.py"),
        ("./run.py", "run.py"),
        ("/etc/passwd", None),
        ("../../secrets", None),
        ("", None),
    ],
)
async def test_a_place_is_always_inside_of_the_skill(
    skill: Path, told: str, file: str | None
) -> None:
    outcome = await scan(skill, sarif(a_result(file=told)))

    assert outcome.findings[0].file == file
    assert (outcome.findings[0].line is None) == (file is None)


async def test_a_finding_below_the_threshold_only_informs(skill: Path) -> None:
    outcome = await scan(skill, sarif(a_result(level="warning")))

    assert (outcome.status, len(outcome.findings)) == (S.PASS, 1)


async def test_secrets_and_characters_that_act_are_taken_out_of_its_words(skill: Path) -> None:
    result = {**a_result(), "message": {"text": f"found {SECRET} \u202e\x1b[31m"}}

    outcome = await scan(skill, sarif(result))

    message = outcome.findings[0].message
    assert SECRET not in message
    assert "\x1b" not in message
    assert "\u202e" not in message


async def test_of_too_many_findings_the_most_severe_are_kept(skill: Path) -> None:
    many = [a_result(level="note") for _ in range(MAX_FINDINGS)] + [a_result("BAD")]

    outcome = await scan(skill, sarif(*many))

    assert len(outcome.findings) == MAX_FINDINGS
    assert outcome.findings[0].rule == "probe/BAD"
    assert outcome.status is S.FAIL


async def test_null_means_an_empty_list_but_not_empty_results(skill: Path) -> None:
    bare = {"ruleId": "R1", "message": {"text": "x"}, "locations": None, "properties": None}
    run = {"tool": {"driver": {"rules": None}}, "invocations": None}

    outcome = await scan(skill, sarif(bare, **run).replace("null", "None"))

    assert (outcome.status, len(outcome.findings)) == (S.PASS, 1)
    assert outcome.findings[0].severity is Severity.MEDIUM


NO_RUN = "print(json.dumps({'version': '2.1.0', 'runs': []}))\n"
NO_RESULTS = (
    "print(json.dumps({'version': '2.1.0', 'runs': [{'tool': {'driver': {}}, 'results': None}]}))\n"
)


@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("print('nonsense'); sys.exit(2)\n", "exited with 2"),
        (f"{sarif()}sys.exit(2)\n", "exited with 2"),
        (f"{sarif()}sys.exit(1)\n", "reported no findings"),
        ("print('nonsense')\n", "cannot be read"),
        ("", "cannot be read"),
        ("print('[]')\n", "cannot be read"),
        ("print('[' * 100_000)\n", "cannot be read"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe')\n", "cannot be read"),
        (NO_RUN, "contains no scan"),
        (NO_RESULTS, "cannot be read"),
        (sarif(invocations=[{"executionSuccessful": False}]), "reports that its scan failed"),
        (sarif(a_result(level="catastrophic")), "cannot be read"),
        ("os.kill(os.getpid(), 9)\n", "exited with -9"),
        ("sys.stderr.write('boom in ' + folder); sys.exit(3)\n", "3: boom in the skill"),
    ],
    ids=range(14),
)
async def test_unreadable_output_is_an_error_and_never_a_pass(
    skill: Path, source: str, note: str
) -> None:
    outcome = await scan(skill, source)

    assert outcome.status is S.ERROR
    assert note in outcome.note
    assert outcome.findings == ()


async def test_a_program_that_is_missing_or_cannot_be_run_is_an_error(
    skill: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF nothing")
    (tmp_path / "broken").chmod(0o755)

    missing = await scan(skill, "", program="there-is-no-such-scanner")
    broken = await scan(skill, "", program=str(tmp_path / "broken"))

    assert (missing.status, broken.status) == (S.ERROR, S.ERROR)
    assert "is not installed" in missing.note
    assert "cannot be run" in broken.note


async def test_megabytes_of_output_are_an_error(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_program, "MAX_OUTPUT_BYTES", 1024 * 1024)

    outcome = await scan(skill, "for _ in range(300): print('x' * 10_000)\n" + sarif())

    assert outcome.status is S.ERROR
    assert "more than" in outcome.note


async def test_an_output_without_end_is_ended_by_the_system(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_program, "_LIMITS", ProgramLimits(file_bytes=1024 * 1024))

    outcome = await scan(skill, "while True: print('x' * 100_000)\n")

    assert outcome.status is S.ERROR


HANGS_WITH_CHILDREN = """
for _ in range(2):
    if not os.fork():
        break
with open(sys.argv[1], "a") as pids:
    pids.write(f"{os.getpid()}\\n")
with open(sys.argv[2], "w") as started:
    started.write(".")
while True:
    time.sleep(60)
"""


class Hanging:
    """A scanner with two children, all of which report that they run and then hang."""

    def __init__(self, folder: Path) -> None:
        self._pids, self._started = folder / "pids", folder / "started"
        os.mkfifo(self._started)
        # Opened for writing, too, so that it does not end between two processes that report.
        self._reports = os.open(self._started, os.O_RDWR)

    async def scan(self, skill: Path, **changes: Any) -> ExternalScanResult:
        arguments = (str(self._pids), str(self._started), "{folder}")
        return await scan(skill, HANGS_WITH_CHILDREN, arguments=arguments, **changes)

    async def all_run(self) -> None:
        for _ in range(3):
            await asyncio.to_thread(os.read, self._reports, 1)

    async def all_are_gone(self) -> None:
        os.close(self._reports)
        assert len(pids_in(self._pids)) == 3
        await assert_all_gone(self._pids)


@pytest.mark.timeout(180)
async def test_a_hanging_scanner_is_ended_with_all_children_at_the_deadline(
    skill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging, loop = Hanging(tmp_path), asyncio.get_running_loop()
    now = loop.time
    running = asyncio.create_task(hanging.scan(skill, deadline=timedelta(seconds=50)))
    await hanging.all_run()

    monkeypatch.setattr(loop, "time", lambda: now() + 50)
    outcome = await running

    assert outcome.status is S.TIMED_OUT
    assert outcome.note == "it did not finish within 50s"
    await hanging.all_are_gone()


async def test_children_that_are_left_behind_end_with_their_parent(
    skill: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    fork = "if not os.fork():\n    time.sleep(600)\n"
    told = f"open({str(pids)!r}, 'w').write(str(os.getpid()))\n"

    outcome = await scan(skill, f"{told}{fork}{sarif()}")

    assert outcome.status is S.PASS  # nobody waited for the child
    await assert_all_gone(pids)


async def test_cancelling_the_wait_ends_the_scanner(skill: Path, tmp_path: Path) -> None:
    hanging = Hanging(tmp_path)
    running = asyncio.create_task(hanging.scan(skill))
    await hanging.all_run()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    await hanging.all_are_gone()


async def assert_all_gone(pids: Path) -> None:
    """Killed children are reaped by init, in its own time."""
    for pid in pids_in(pids):
        while is_alive(pid):
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


async def test_it_sees_nothing_of_our_environment(
    skill: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VSKILL_JUDGE_KEY", "sk-secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    tell = "print(json.dumps([{'id': name} for name in os.environ if name != 'LC_CTYPE']))\n"
    reading = OutputFormat(format="json", rule="id")

    outcome = await scan(skill, tell, reading=reading, environment={"MINE": "1"})

    seen = {finding.rule.removeprefix("probe/") for finding in outcome.findings}
    assert seen == {"PATH", "HOME", "TMPDIR", "LC_ALL", "MINE"}


async def test_it_may_do_to_its_copy_what_it_likes(skill: Path) -> None:
    before = files_of(skill)
    destroy = "for name in os.listdir(folder): open(os.path.join(folder, name), 'w').close()\n"

    outcome = await scan(skill, destroy + sarif())

    assert outcome.status is S.PASS
    assert files_of(skill) == before


async def test_a_skill_cannot_bring_the_configuration_of_its_scanner(skill: Path) -> None:
    (skill / ".probeignore").write_text("*")
    (skill / "inner").mkdir()
    (skill / "inner" / ".probeignore").write_text("*")
    tell = (
        "found = [os.path.relpath(os.path.join(at, name), folder) + '=' + "
        "open(os.path.join(at, name)).read() for at, _, names in os.walk(folder) "
        "for name in names if name == '.probeignore']\n"
        "print(json.dumps([{'id': one} for one in found]))\n"
    )

    outcome = await scan(
        skill,
        tell,
        reading=OutputFormat(format="json", rule="id"),
        own_files={".probeignore": "ours"},
    )

    assert [finding.rule for finding in outcome.findings] == ["probe/.probeignore=ours"]


async def test_findings_may_come_in_a_file(skill: Path) -> None:
    write = sarif(a_result()).replace("print(", "open(sys.argv[1], 'w').write(")

    outcome = await scan(skill, write, output="file", arguments=("{output}", "{folder}"))
    silent = await scan(skill, "", output="file", arguments=("{output}", "{folder}"))

    assert outcome.status is S.FAIL
    assert (silent.status, silent.note) == (S.ERROR, "it wrote no output")


@pytest.mark.parametrize(
    "made", ["os.symlink('/etc/hostname', {0})", "os.mkfifo({0})", "os.mkdir({0})"]
)
@pytest.mark.parametrize("output", ["file", "stdout", "stderr"])
async def test_output_that_is_not_a_regular_file_is_not_read(
    skill: Path, made: str, output: str
) -> None:
    if output == "file":
        source = made.format("sys.argv[1]")
        outcome = await scan(skill, source, output="file", arguments=("{output}", "{folder}"))
    else:  # the program replaces the file to which it prints
        path = f"os.path.join(os.environ['HOME'], '{output}')"
        outcome = await scan(skill, f"path = {path}\nos.remove(path)\n{made.format('path')}\n")

    assert (outcome.status, outcome.note) == (S.ERROR, "its output is not a regular file")


async def test_output_that_cannot_be_read_is_an_error_with_its_cause(tmp_path: Path) -> None:
    too_long = tmp_path / ("o" * 300)

    with pytest.raises(ScannerFailed, match="its output cannot be read: File name too long"):
        run_program.read_bounded(too_long)


JSON = OutputFormat(
    format="json",
    findings="out.issues",
    rule="check",
    file="at.path",
    line="at.line",
    message="text",
    severity_at="how",
    severities={"SEVERE": Severity.CRITICAL},
)


async def test_json_is_read_where_the_definition_says(skill: Path) -> None:
    issues = [
        {"check": "J1", "at": {"path": "run.py", "line": 1}, "text": "bad", "how": "SEVERE"},
        {"check": "J2", "how": "Low"},
    ]
    source = f"print(json.dumps({{'out': {{'issues': {issues!r}}}}}))\n"

    first, second = (await scan(skill, source, reading=JSON)).findings

    assert (first.rule, first.severity) == ("probe/J1", Severity.CRITICAL)
    assert (first.file, first.line, first.message) == ("run.py", 1, "probe: bad")
    assert (second.rule, second.severity, second.file) == ("probe/J2", Severity.LOW, None)


@pytest.mark.parametrize(
    "document",
    [
        {"out": {}},
        {"out": {"issues": {}}},
        {"out": {"issues": [{"text": "no rule"}]}},
        {"out": {"issues": [{"check": "J", "how": "unheard of"}]}},
        {"out": {"issues": [{"check": "J", "at": {"line": "first"}}]}},
        {"out": {"issues": ["text"]}},
    ],
    ids=range(6),
)
async def test_json_of_another_form_is_an_error(skill: Path, document: dict[str, Any]) -> None:
    outcome = await scan(skill, f"print(json.dumps({document!r}))\n", reading=JSON)

    assert outcome.status is S.ERROR


LINES = OutputFormat(
    format="lines",
    pattern=r"^(?P<file>.+): (?P<rule>\S+) FOUND$",
    complete="Infected files:",
    severity=Severity.CRITICAL,
)


async def test_lines_are_read_by_a_pattern_and_only_if_they_are_whole(skill: Path) -> None:
    found = "print(folder + '/run.py: Eicar-Test FOUND')\n"
    whole = "print('Infected files: 1')\n"

    outcome = await scan(skill, f"{found}{whole}sys.exit(1)\n", reading=LINES)
    clean = await scan(skill, whole, reading=LINES)
    cut_off = await scan(skill, "", reading=LINES)

    (finding,) = outcome.findings
    assert (finding.rule, finding.file) == ("probe/Eicar-Test", "run.py")
    assert finding.severity is Severity.CRITICAL
    assert (outcome.status, clean.status) == (S.FAIL, S.PASS)
    assert (cut_off.status, cut_off.note) == (S.ERROR, "its output was cut off")


async def test_a_version_is_the_first_line_that_it_prints(tmp_path: Path) -> None:
    scanner = a_scanner(a_program(tmp_path / "p", "print('probe 1.2\\nmore')\n"))
    broken = a_scanner(a_program(tmp_path / "q", "sys.exit(3)\n"), name="broken")
    missing = msgspec.structs.replace(scanner, program="there-is-no-such-scanner", name="missing")

    assert await version_of(scanner, workspace=tmp_path) == "probe 1.2"
    assert await version_of(broken, workspace=tmp_path) == ""
    assert await version_of(missing, workspace=tmp_path) == ""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["version", "runs", "tool", "driver", "results", "message", "text", "locations",
                 "out", "issues", "check", "at", "path", "line", "how", "level", "properties"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@given(_JSON.map(json.dumps).map(str.encode) | st.binary(max_size=200))
@example(b'{"version":"2.1.0","runs":[{"tool":{"driver":{}},"results":[{"message":{}}]}]}')
def test_any_output_is_read_or_refused(output: bytes) -> None:
    for reading in (SARIF, JSON, LINES):
        try:
            told = read_output(output, reading)
        except ScannerFailed:
            continue
        found = as_findings(told, ScannedFolder(), scanner="probe", default=Severity.LOW)
        assert len(found) == min(len(told), MAX_FINDINGS)
        assert all(item.kind is FindingKind.EXTERNAL for item in found)
        msgspec.json.encode(found)  # it can be stored

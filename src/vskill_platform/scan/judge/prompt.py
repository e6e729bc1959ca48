"""Build the judge's prompt: our instructions first, then the skill, fenced as untrusted data."""

import hashlib
import json
import secrets
from collections.abc import Callable, Iterator
from importlib.resources import files

import msgspec

from vskill_platform.scan.judge.evidence import EvidenceFile, JudgeEvidence, Span

_TEMPLATE = files("vskill_platform.scan").joinpath("judge", "prompt.md").read_text("utf-8")
#: Increase this if evidence is shown differently; changed wording is detected automatically.
_LAYOUT = 1
PROMPT_VERSION = f"{_LAYOUT}-{hashlib.sha256(_TEMPLATE.encode()).hexdigest()[:8]}"
_FENCE_BYTES = 12


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    #: Unique to this call; the answer must repeat it.
    fence: str
    #: Our instructions.
    system: str
    #: The skill's content.
    user: str

    @property
    def size(self) -> int:
        return len(self.system) + len(self.user)

    @property
    def estimated_tokens(self) -> int:
        """Return a high estimate: three bytes of text are seldom more than one token."""
        return (len(self.system.encode()) + len(self.user.encode())) // 3


def build_prompt(
    evidence: JudgeEvidence, *, random: Callable[[int], str] = secrets.token_hex
) -> Prompt:
    """Build the question, without any opinion of the scanner or others about the skill."""
    fence = _new_fence(evidence, random)
    return Prompt(
        fence=fence,
        system=_TEMPLATE.replace("{fence}", fence),
        user="\n".join(_data(evidence, fence)),
    )


def _new_fence(evidence: JudgeEvidence, random: Callable[[int], str]) -> str:
    while any((fence := random(_FENCE_BYTES)) in text for text in evidence.texts()):
        pass
    return fence


def _data(evidence: JudgeEvidence, fence: str) -> Iterator[str]:
    yield f"[{fence} FACTS]"
    yield from map(_fact, evidence.spans)
    yield f"[{fence} CAPABILITIES]"
    for kind, values in evidence.capabilities.items():
        yield f"{kind}: {_quoted(values)}"
    for file in evidence.files:
        yield f"[{fence} FILE {_quoted(file.path)} {file.role}]"
        yield from _numbered(file)
    yield f"[{fence} NOT SHOWN]"
    yield _quoted(evidence.left_out)
    yield f"[{fence} END]"
    yield f"The data ends here. Answer with one JSON object whose call is {fence}."


def _fact(span: Span) -> str:
    place = f"{span.id} {_quoted(span.path)} line {span.line} ({span.role})"
    host = f" host {_quoted(span.host)}" if span.host else ""
    return f"{place}: {span.act}{host}: {_quoted(span.text)}"


def _numbered(file: EvidenceFile) -> Iterator[str]:
    for number, line in enumerate(file.lines, start=1):
        yield f"{number:>6}| {line}"
    if file.is_cut:
        yield "     …| (there is more of this file that is not shown)"


def _quoted(value: object) -> str:
    """Write names as JSON strings, so that no name can leave its line."""
    return json.dumps(value, ensure_ascii=False)

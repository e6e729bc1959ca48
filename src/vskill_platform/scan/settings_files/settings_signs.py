"""Recognise settings that give up control of a machine, a cluster or its secrets.

The settings are in YAML, JSON or TOML, so keys may be in quotes, and a table may be on one line or
several.
"""

import re
from collections.abc import Iterator

import re2

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.mining_pools import MINING_POOL
from vskill_platform.scan.facts.pattern_set import may_match
from vskill_platform.scan.facts.sensitive_paths import Sensitive

_KEY = r"[\"']?{}[\"']?\s?[:=]\s?[\"']?"
_ROOT_FOLDER = _KEY.format("path") + r"/[\"']?\s{0,9}(?:[}\n,]|$)"
_POOL = MINING_POOL + r":?\d{0,5}"
#: The act, its detail, and patterns that must all occur; the match of the first one is shown.
_SIGNS: tuple[tuple[Act, str, tuple[str, ...]], ...] = (
    (
        Act.ELEVATE,
        "a container with host privileges",
        (
            _KEY.format("privileged") + r"true",
            rf"{_KEY.format('host(?:PID|Network|Path)')}|{_ROOT_FOLDER}",
            r"kind",
        ),
    ),
    (
        Act.ELEVATE,
        "a container with host privileges",
        (
            _KEY.format("privileged") + r"true",
            r"[\"'\s-]/:/|/var/run/docker\.sock|" + _KEY.format("pid") + r"host\b",
            _KEY.format("services"),
        ),
    ),
    (
        Act.OPEN_ACCESS,
        "administrator rights in a cluster",
        (
            _KEY.format("name") + r"cluster-admin\b",
            r"ClusterRoleBinding",
            _KEY.format("kind")
            + r"(?:User|Group)[\"']?,?\s{0,20}"
            + _KEY.format("name")
            + r"(?!system:masters|\$|\{|<)",
        ),
    ),
    (
        Act.MINE,
        "mining pool",
        (_POOL, r"\b4[0-9AB][1-9A-HJ-NP-Za-km-z]{16,104}\b|0x[0-9a-fA-F]{40}|rx/0|xmrig"),
    ),
    (
        Act.WRITE,
        str(Sensitive.SSH_ACCESS),
        (r"authorized_key:", _KEY.format("key") + r"(?:ssh|ecdsa)-\S{3,30} [A-Za-z0-9+/]{20}"),
    ),
    (
        Act.LEAK,
        "all secrets of a workflow",
        (r"toJSON\(\s?secrets\s?\)", r"\bcurl\b|\bwget\b|Invoke-WebRequest|\bfetch\("),
    ),
    (
        Act.TAMPER,
        "runs untrusted code with write access",
        (
            r"\bpull_request_target\b",
            r"github\.event\.pull_request\.head\.(?:sha|ref)|github\.head_ref",
            r"\brun:|uses:\s?\./",
        ),
    ),
    (
        Act.TAMPER,
        "includes the pipeline of another host",
        (r"(?m)^[ -]{0,8}remote:\s?[\"']?https?://(?!gitlab\.com/)", r"(?m)^include:"),
    ),
    (
        Act.MINE,
        "mining pool",
        (
            r"[\"']algo[\"']\s?:\s?[\"'](?:rx/|kawpow|ethash|cn/|argon2)",
            r"[\"']pools?[\"']",
            r"[\"']user[\"']",
        ),
    ),
)
_PATTERNS = [(act, detail, [re.compile(part) for part in parts]) for act, detail, parts in _SIGNS]
_MAY_HAVE = re2.compile(
    rf"(?i)privileged|cluster-admin|authorized_key|toJSON\(|pull_request_target|remote:|algo|{_POOL}".replace(
        "{2,4}", "+"
    )
)


def settings_signs(text: str) -> Iterator[Fact]:
    """Yield the access that settings grant, taken together."""
    raw = text.encode(errors="replace")
    if not _MAY_HAVE.search(raw):
        return
    for act, detail, parts in _PATTERNS:
        first = parts[0].search(text) if may_match(parts[0].pattern, raw) else None
        if first and all(part.search(text) for part in parts[1:]):
            line = text.count("\n", 0, first.start()) + 1
            yield Fact(act=act, line=line, text=shorten(first[0].strip()), detail=detail)

"""A policy file: read strictly, every table, and what a namespace changes."""

import pytest

from tests.cases import all_cases
from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import (
    KindThresholds,
    Level,
    Policy,
    PolicyLimits,
    ReviewRules,
    Thresholds,
    Trust,
)
from vskill_platform.model.read_policy import read_policy
from vskill_platform.model.verdict import FindingKind

WHOLE = """
[thresholds]
review_at = "low"
reject_at = "high"
two_grave_reject = false

[thresholds.risky]
reject_at = "never"

[trust]
publishers = ["GitHub.com/acme", "@house"]
kinds = ["risky", "imitation"]
up_to = "high"

[limits]
submissions_per_day = 20
max_files = 100
max_file_bytes = 1_000_000
max_total_bytes = 5_000_000

[review]
own = true

[[namespaces]]
match = "acme/*"

[namespaces.thresholds]
review_at = "info"

[namespaces.thresholds.risky]
review_at = "medium"

[namespaces.review]
own = false

[[namespaces]]
match = "@house"
"""


def read(text: str) -> Policy:
    return read_policy(text, rules={})


def test_every_table_is_read() -> None:
    policy = read(WHOLE)

    assert policy.thresholds == Thresholds(
        review_at=Level.LOW,
        reject_at=Level.HIGH,
        two_grave_reject=False,
        risky=KindThresholds(reject_at=Level.NEVER),
    )
    assert policy.trust == Trust(
        publishers=("github.com/acme", "@house"),
        kinds=(FindingKind.RISKY, FindingKind.IMITATION),
        up_to=Level.HIGH,
    )
    assert policy.limits == PolicyLimits(
        submissions_per_day=20, max_files=100, max_file_bytes=1_000_000, max_total_bytes=5_000_000
    )
    assert policy.review == ReviewRules(own=True)


def test_a_namespace_changes_only_what_it_names() -> None:
    policy = read(WHOLE)

    there, house = policy.within(["acme/tools"]), policy.within(["@house"])

    assert there.thresholds == Thresholds(
        review_at=Level.INFO,
        reject_at=Level.HIGH,
        two_grave_reject=False,
        risky=KindThresholds(review_at=Level.MEDIUM, reject_at=Level.NEVER),
    )
    assert (there.trust, there.limits) == (policy.trust, policy.limits)
    assert (there.review.own, house.review.own) == (False, True)
    assert policy.within(["ben/tools"]) is policy


def test_by_default_nobody_is_trusted_and_nobody_approves_their_own() -> None:
    policy = read("")

    assert policy == Policy()
    assert policy.trust.publishers == ()
    assert not policy.review.own


@all_cases(
    ("text", "complaint"),
    [
        ("thresholds = 1", r'"thresholds" must be a table, starting with \[thresholds\]'),
        ('[thresholds]\nreveiw_at = "low"', 'reveiw_at" is unknown .did you mean "review_at"'),
        ('[thresholds]\nreview_at = "grave"', r"\[thresholds\]: Invalid enum value 'grave'"),
        ('[thresholds]\nreview_at = "high"\nreject_at = "low"', "before they reach review at"),
        ('[thresholds]\nreview_at = "never"', "would be rejected at .critical. before"),
        ('[thresholds.risky]\nat = "low"', r'\[thresholds\] risky: "at" is unknown'),
        ('[thresholds.colour]\nat = "low"', '"colour" is unknown'),
        ('[trust]\npublishers = ["acme"]', '"acme" is not a publisher; use host and owner'),
        ('[trust]\npublishers = ["github.com/*"]', "is not a publisher"),
        ('[trust]\npublishers = "github.com/acme"', "Expected `array`"),
        ('[trust]\nkinds = ["malicious"]', "trust cannot ignore malicious findings"),
        ('[trust]\nkinds = ["opaque"]', "trust cannot ignore opaque findings"),
        ('[trust]\nup_to = "critical"', '"up_to" must be high, medium, low or info'),
        ("[limits]\nmax_files = 0", "Expected `int` >= 1"),
        ("[limits]\nmax_files = 1.5", "Expected `int"),
        ('[review]\nown = "yes"', "Expected `bool`"),
        ("[namespaces]\nmatch = 1", r'"namespaces" must be an array of tables'),
        ("[[namespaces]]", 'namespace 1: "match" is missing'),
        ('[[namespaces]]\nmatch = "a/*"\n[[namespaces]]\nwho = 1', 'namespace 2: "who" is'),
        ('[[namespaces]]\nmatch = "a/*"\nscanners = []', '"scanners" is unknown; allowed'),
        (
            '[[namespaces]]\nmatch = "a/*"\n[namespaces.thresholds]\nreject_at = "info"',
            r"namespace 1: \[thresholds\]: malicious findings would be rejected",
        ),
        ('[[namespaces]]\nmatch = "a/*"\nreview = 1', 'namespace 1: "review" must be a table'),
    ],
)  # fmt: skip
def test_an_error_names_the_problem_and_the_fix(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read(text)

"""How versions are numbered, and which of them is the latest."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import all_cases
from tests.casts import a_published_skill
from tests.clocks import NOON
from vskill_platform.model.skill import (
    SkillVersion,
    Yank,
    group_by_capability,
    known_version,
    next_version,
    no_such_version,
    parse_version,
    version_of_tag,
)

SEMVER = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
NUMBERS = st.integers(0, 10**12)
VERSIONS = st.builds("{}.{}.{}".format, NUMBERS, NUMBERS, NUMBERS)
REQUESTED = st.none() | VERSIONS | st.text(max_size=20)


@all_cases(
    ("latest", "requested", "expected"),
    [
        (None, None, "1.0.0"),
        (None, "0.3.0", "0.3.0"),
        (None, "v2", "1.0.0"),
        ("1.0.0", None, "1.0.1"),
        ("1.0.9", "1.1.0", "1.1.0"),
        ("1.2.0", "1.2.0", "1.2.1"),
        ("1.2.0", "1.1.9", "1.2.1"),
        ("1.9.0", "1.10.0", "1.10.0"),
        ("1.0.0", "01.0.1", "1.0.1"),
        ("1.0.0", "99999999999999999999.0.0", "1.0.1"),
    ],
)
def test_a_wish_counts_if_it_is_a_step_forward(
    latest: str | None, requested: str | None, expected: str
) -> None:
    assert next_version(latest, requested) == expected


def test_the_first_requested_version_that_is_a_step_forward_counts() -> None:
    requested = [
        next_version("1.2.0", *wishes) for wishes in (("1.1.0", "1.3.0"), ("2.0.0", "3.0.0"))
    ]

    assert requested == ["1.3.0", "2.0.0"]


@all_cases(
    ("tag", "expected"),
    [
        ("v1.2.0", "1.2.0"),
        ("1.2.0", "1.2.0"),
        ("v1.2", "1.2.0"),
        ("v2", "2.0.0"),
        ("v01.2.3", "1.2.3"),
        ("2", None),
        ("20270101", None),
        ("v1.2.0-rc.1", None),
        ("v1.2.0.1", None),
        ("v1.2.\u0663", None),
        ("notes-v1.2.0", None),
        ("main", None),
        ("", None),
    ],
)
def test_a_tag_names_a_version(tag: str, expected: str | None) -> None:
    assert version_of_tag(tag) == expected


@given(newest=VERSIONS, requested=REQUESTED)
def test_a_version_never_goes_down_and_is_always_semver(newest: str, requested: str | None) -> None:
    following = next_version(newest, requested)

    assert SEMVER.fullmatch(following)
    assert (parse_version(following) or ()) > (parse_version(newest) or ())


@given(requests=st.lists(REQUESTED, max_size=20))
def test_no_series_of_requests_makes_the_same_version_twice(requests: list[str | None]) -> None:
    versions: list[str] = []
    for requested in requests:
        versions.append(next_version(versions[-1] if versions else None, requested))

    assert versions == sorted(set(versions), key=lambda version: parse_version(version) or ())


@given(versions=st.integers(1, 12), data=st.data())
def test_the_latest_is_the_newest_that_is_not_yanked(versions: int, data: st.DataObject) -> None:
    yanked = data.draw(st.sets(st.integers(1, versions)))
    yanks = tuple(Yank(number=number, reason="r", by="cyd", at=NOON) for number in yanked)

    skill = a_published_skill("@local/a", versions=versions, yanked=yanks)

    assert skill.latest_number == max(set(range(1, versions + 1)) - yanked, default=None)


class _Skill:
    """A skill as its rules make it: contents come in, and some versions are yanked."""

    def __init__(self) -> None:
        self.versions: list[SkillVersion] = []
        self.skill = a_published_skill("@local/a", versions=0)

    def publish(self, digest: str, requested: str | None) -> SkillVersion:
        if known := known_version(self.skill, self.versions, digest):
            return known
        newest = self.versions[-1].version if self.versions else None
        number = len(self.versions) + 1
        self.versions.append(a_version(number, next_version(newest, requested), digest))
        self.skill = msgspec.structs.replace(self.skill, versions=number)
        return self.versions[-1]

    def yank(self, number: int) -> None:
        mark = Yank(number=number, reason="r", by="cyd", at=NOON)
        self.skill = msgspec.structs.replace(self.skill, yanked=(*self.skill.yanked, mark))


def a_version(number: int, version: str, digest: str) -> SkillVersion:
    return SkillVersion(
        slug="@local/a",
        number=number,
        version=version,
        digest=digest,
        files=(),
        archive_sha256=digest,
        commit_sha=None,
        submission_id="sub_1",
        published_at=NOON,
    )


@given(steps=st.lists(st.tuples(st.sampled_from("abc"), REQUESTED, st.booleans()), max_size=20))
def test_the_same_content_never_makes_a_new_version(
    steps: list[tuple[str, str | None, bool]],
) -> None:
    skill = _Skill()
    for digest, requested, is_yanked in steps:
        published = skill.publish(digest, requested)
        if is_yanked:
            skill.yank(published.number)
        count = len(skill.versions)

        assert skill.publish(digest, "999.0.0") == published
        assert len(skill.versions) == count


def test_an_error_lists_the_newest_versions_only() -> None:
    many = [f"1.{minor}.0" for minor in range(60)]

    assert str(no_such_version("ada/x", "9.0.0", many)) == (
        "ada/x has no version 9.0.0, only 1.59.0, 1.58.0, 1.57.0, 1.56.0, 1.55.0, 1.54.0 "
        "and 54 older"
    )
    assert str(no_such_version("ada/x", "9.0.0", many[:2])) == (
        "ada/x has no version 9.0.0, only 1.1.0, 1.0.0"
    )


def test_values_are_grouped_by_the_capabilities_that_pages_name() -> None:
    found = {"commands": ("git",), "hosts": ("api.example",), "listens": ("8080",), "new": ("x",)}

    assert group_by_capability(found) == {
        "network": ("api.example", "8080"),
        "shell": ("git",),
        "new": ("x",),
    }

"""Version ranges as npm writes them: `1.2.3`, `^1.2`, `~1.2`, `>=1 <3`, `1.x`, `latest`."""

import re

import msgspec

from vskill_platform.errors import InvalidInput
from vskill_platform.model.skill import parse_version

Number = tuple[int, int, int]

LATEST = "latest"
_MAX_CHARACTERS = 200
_PART = r"(?:0|[1-9]\d{0,29}|[xX*])"
_COMPARATOR = re.compile(
    rf"(\^|~>?|>=|<=|>|<|=|)v?({_PART})(?:\.({_PART}))?(?:\.({_PART}))?", re.ASCII
)
#: The spaces that npm allows between an operator and its version.
_SPACE_AFTER_OPERATOR = re.compile(r"([\^~<>=])\s+(?=[v\dxX*])")
_HYPHEN = re.compile(r"\s+-\s+")
_FIRST: Number = (0, 0, 0)


class Interval(msgspec.Struct, frozen=True):
    """The versions from *low* up to, but not including, *high*; None means no upper limit."""

    low: Number = _FIRST
    high: Number | None = None

    def __contains__(self, version: Number) -> bool:
        return self.low <= version and (self.high is None or version < self.high)


class VersionRange(msgspec.Struct, frozen=True):
    #: The text that the user wrote.
    text: str
    #: A version matches if it is in all intervals of one alternative.
    alternatives: tuple[tuple[Interval, ...], ...]
    #: The exact version, if the range is one.
    exact: str | None = None

    def __contains__(self, version: str) -> bool:
        number = parse_version(version)
        return number is not None and any(
            all(number in interval for interval in intervals) for intervals in self.alternatives
        )

    @property
    def is_latest(self) -> bool:
        return self.text == LATEST

    def best_of(self, versions: list[str]) -> str | None:
        """Return the highest matching version; None if none matches."""
        fitting = [version for version in versions if version in self]
        return max(fitting, key=lambda version: parse_version(version) or _FIRST, default=None)


def parse_range(text: str) -> VersionRange:
    """Parse a range; an empty one means the latest version."""
    text = text.strip() or LATEST
    if len(text) > _MAX_CHARACTERS:
        raise InvalidInput(f"a version range has at most {_MAX_CHARACTERS} characters")
    if text.lower() == LATEST:
        return VersionRange(LATEST, ((Interval(),),))
    alternatives = tuple(_alternative(part.strip(), text) for part in text.split("||"))
    plain = text.removeprefix("=").strip().removeprefix("v")
    return VersionRange(text, alternatives, plain if parse_version(plain) else None)


def split_wanted(wanted: str) -> tuple[str, VersionRange]:
    """Split `NAME@RANGE`; the `@` in front of a namespace is part of the name."""
    name, at, text = wanted[1:].partition("@")
    name = wanted[:1] + name
    if not name.strip("@/") or (at and not text.strip()):
        raise InvalidInput(f"{wanted!r} is not a skill; write NAME or NAME@VERSION")
    return name, parse_range(text)


def _alternative(text: str, whole: str) -> tuple[Interval, ...]:
    ends = _HYPHEN.split(text)
    if len(ends) == 2:  # noqa: PLR2004 - the two ends of a hyphen range
        return _interval(f">={ends[0].strip()}", whole), _interval(f"<={ends[1].strip()}", whole)
    if not text:
        return (Interval(),)
    words = _SPACE_AFTER_OPERATOR.sub(r"\1", text).split()
    return tuple(_interval(word, whole) for word in words)


def _interval(word: str, whole: str) -> Interval:
    found = _COMPARATOR.fullmatch(word)
    if not found:
        raise InvalidInput(
            f"{whole!r} is not a version or a range; examples: 1.2.3, ^1.2, ~1.2.3, "
            "'>=1.0 <2', 1.x, latest"
        )
    operator, *written = found.groups()
    parts = _numbers(written)
    low: Number = (*parts, 0, 0, 0)[:3]  # type: ignore[assignment] # three of at least three
    if operator == "^":
        return Interval(low, _after_caret(parts))
    if operator.startswith("~"):
        return Interval(low, _after(parts[:2]))
    if operator == ">=":
        return Interval(low)
    if operator == ">":
        after = _after(parts)
        return Interval(after) if after else Interval(_FIRST, _FIRST)  # no version is above all
    if operator == "<":
        return Interval(_FIRST, low)
    return Interval(_FIRST if operator == "<=" else low, _after(parts))


def _numbers(written: list[str | None]) -> tuple[int, ...]:
    """Return the numbers before the first wildcard."""
    numbers: list[int] = []
    for part in written:
        if part is None or not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _after(parts: tuple[int, ...]) -> Number | None:
    """Return the first version after those that begin with *parts*; None without parts."""
    if not parts:
        return None
    return (*parts[:-1], parts[-1] + 1, 0, 0)[:3]  # type: ignore[return-value] # three numbers


def _after_caret(parts: tuple[int, ...]) -> Number | None:
    """Return the end of a caret range, in which the first nonzero part stays the same."""
    fixed = next((place for place, number in enumerate(parts) if number), len(parts) - 1)
    return _after(parts[: fixed + 1])

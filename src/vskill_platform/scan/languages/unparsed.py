"""The error of a parser that could not understand code completely."""

from vskill_platform.scan.facts.facts import Fact


class Unparsed(Exception):
    """Code that cannot be parsed completely; *facts* are those found so far."""

    def __init__(
        self, reason: str, facts: list[Fact] | None = None, *, is_too_much: bool = False
    ) -> None:
        super().__init__(reason)
        self.facts = facts or []
        #: Whether it is code that exceeds the limits; otherwise it may not be code at all.
        self.is_too_much = is_too_much

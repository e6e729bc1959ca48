"""What a reader says when it could not understand code, or not all of it."""

from vskill_platform.scan.facts.facts import Fact


class Unparsed(Exception):
    """Code that cannot be understood whole; *facts* are what was found until then."""

    def __init__(
        self, reason: str, facts: list[Fact] | None = None, *, is_too_much: bool = False
    ) -> None:
        super().__init__(reason)
        self.facts = facts or []
        #: Whether it is code, but more than is followed; else it may be no code at all.
        self.is_too_much = is_too_much

"""Analyse PowerShell code and batch files."""

from vskill_platform.scan.facts.facts import Fact


def read_powershell(code: str) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it is too large to analyse."""
    # Imported here, because most skills have no such code and need not load its patterns.
    from vskill_platform.scan.languages.powershell.statements import (  # noqa: PLC0415 - see above
        follow_powershell,
    )

    return follow_powershell(code)

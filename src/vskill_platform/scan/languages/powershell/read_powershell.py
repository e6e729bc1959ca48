"""What PowerShell code and batch files do."""

from vskill_platform.scan.facts.facts import Fact


def read_powershell(code: str) -> list[Fact]:
    """Return what *code* does; raise Unparsed if it is more than can be followed."""
    # Most skills hold none: they do not wait for its many patterns.
    from vskill_platform.scan.languages.powershell.statements import (  # noqa: PLC0415 - see above
        follow_powershell,
    )

    return follow_powershell(code)

"""The installed program, started in a new process that has loaded nothing yet."""

import pytest

from tests.acceptance.program import Platform
from vskill_platform.cli.main import COMMANDS


def test_the_help_names_every_command(platform: Platform) -> None:
    started = platform.start_anew("--help")

    assert started.wait() == 0
    shown = started.rest()
    assert [name for name in COMMANDS if f"  {name} " not in shown] == []


@pytest.mark.torture
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_loads_what_it_needs(platform: Platform, command: str) -> None:
    started = platform.start_anew(command, "--help")

    assert started.wait() == 0
    assert f"Usage: vskill-platform {command} " in started.rest()

"""Which function knows which program."""

from collections.abc import Callable

from vskill_platform.scan.languages.shell_deleting import DELETERS
from vskill_platform.scan.languages.shell_files import FILES
from vskill_platform.scan.languages.shell_network import FETCHERS
from vskill_platform.scan.languages.shell_packages import PACKAGES
from vskill_platform.scan.languages.shell_run import RUNNERS
from vskill_platform.scan.languages.shell_sockets import TALKERS
from vskill_platform.scan.languages.shell_state import Command, State
from vskill_platform.scan.languages.shell_system import SYSTEM
from vskill_platform.scan.languages.shell_texts import TEXTS
from vskill_platform.scan.languages.shell_wrappers import WRAPPERS

#: Later tables win: sed, for one, is a filter and more than that.
PROGRAMS: dict[str, Callable[[State, Command], str]] = {
    **FILES, **SYSTEM, **PACKAGES, **RUNNERS, **TEXTS, **TALKERS, **FETCHERS, **DELETERS,
    **WRAPPERS,
}  # fmt: skip

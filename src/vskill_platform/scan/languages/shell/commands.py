"""Table of programs and the functions that interpret them."""

from collections.abc import Callable

from vskill_platform.scan.languages.shell.containers import CONTAINERS
from vskill_platform.scan.languages.shell.deleting import DELETERS
from vskill_platform.scan.languages.shell.destroying import DESTROYERS
from vskill_platform.scan.languages.shell.files import FILES, filter_text
from vskill_platform.scan.languages.shell.given_code import GIVEN_CODE
from vskill_platform.scan.languages.shell.network import FETCHERS
from vskill_platform.scan.languages.shell.packages import PACKAGES
from vskill_platform.scan.languages.shell.remote_sources import with_sources
from vskill_platform.scan.languages.shell.run import RUNNERS
from vskill_platform.scan.languages.shell.sockets import TALKERS
from vskill_platform.scan.languages.shell.state import Command, State
from vskill_platform.scan.languages.shell.surveillance import SURVEILLANCE
from vskill_platform.scan.languages.shell.system import SYSTEM
from vskill_platform.scan.languages.shell.texts import TEXTS
from vskill_platform.scan.languages.shell.tool_servers import TOOL_SERVERS
from vskill_platform.scan.languages.shell.wrappers import WRAPPERS

#: Later tables win: sed, for example, is a filter and more.
PROGRAMS: dict[str, Callable[[State, Command], str]] = with_sources(
    {
        **dict.fromkeys(DESTROYERS, filter_text),
        **FILES, **GIVEN_CODE, **SYSTEM, **PACKAGES, **RUNNERS, **TEXTS, **TALKERS, **FETCHERS,
        **DELETERS, **WRAPPERS, **CONTAINERS, **SURVEILLANCE, **TOOL_SERVERS,
    },
    other=filter_text,
)  # fmt: skip

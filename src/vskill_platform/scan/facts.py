"""Facts: what a piece of a skill does or says, with no judgement about it.

Severity comes only from rules that put facts together.
"""

from enum import StrEnum
from functools import lru_cache

import msgspec

from vskill_platform.scan.hosts import HostClass


class Act(StrEnum):
    """What is done, by code or by whoever follows an instruction."""

    FETCH = "fetches"  #: downloads something
    RUN = "runs"  #: starts a program that is named
    RUN_DYNAMIC = "runs what it computes"  #: eval, exec, system of something that is no literal
    RUN_REMOTE = "runs what it fetches"
    RUN_DECODED = "runs what it decodes"
    READ_SECRET = "reads a secret"  # noqa: S105 - a fact
    READ_ENV = "reads a variable"
    READ_ALL_ENV = "reads all variables"
    GATHER = "puts keys of several services together"
    SEND = "sends data"
    LEAK = "sends a secret"  #: a secret flows into something that is sent
    WRITE = "writes to a sensitive place"
    DELETE = "deletes much"
    REVERSE_SHELL = "hands a shell to somebody else"
    DISARM = "switches protection off"
    ELEVATE = "takes more rights"
    INSTALL = "installs packages"
    INSTALL_LOOKALIKE = "installs a package with a borrowed name"
    HIDE = "hides what it does"  #: strings put together or encoded so that nobody reads them
    LISTEN = "listens for connections"
    ROOT = "grants root without a password"
    PAY = "pays somebody who is named here"
    MINE = "mines cryptocurrency"
    UNLOCK = "opens a downloaded archive with a password"
    ENCODED = "is encoded and cannot be read"
    TOOL_SERVER = "connects an agent to a tool server"

    # What a text tells its reader, the agent or the person behind it.
    TELL_DOWNLOAD = "tells to download"
    TELL_REQUIRED = "says that nothing works without it"
    TELL_PASSWORD = "gives the password of an archive"  # noqa: S105 - a fact
    TELL_TERMINAL = "tells a person to run something in a terminal"
    TELL_OVERRIDE = "tells to ignore other instructions"
    TELL_CONCEAL = "tells to keep something from the user"
    TELL_LEAK = "tells to send a secret"
    TELL_ASK_SECRET = "tells to ask for a secret"  # noqa: S105 - a fact
    TELL_REMOTE = "tells to obey what a URL says"
    TELL_UNASKED = "tells to act without asking"
    TELL_AUTHORITY = "speaks with a borrowed voice"
    TELL_REMEMBER = "tells to change the agent's standing instructions"
    TELL_DISARM = "tells to switch protection off"
    TELL_SEND = "tells to send data somewhere"
    TELL_SHARE = "tells to hand data to somebody"
    TELL_SECRET = "speaks of a place where secrets are"  # noqa: S105 - a fact
    TELL_LOCAL = "tells to obey a file that is not part of the skill"
    TELL_ALWAYS = "tells to do something each time"
    TELL_LOCK = "tells to lock files away from their owner"
    TELL_BACKDOOR = "tells to add a way in"
    TELL_MINE = "tells to mine cryptocurrency"
    TELL_PAY = "tells to pay somebody who is named here"
    TELL_COPY = "tells to send a copy to somebody else"
    TELL_WIPE = "tells to delete everything"
    TELL_RECORD = "tells to record keys, clipboard or screen"
    TELL_RIGHTS = "tells to take more rights"
    TELL_SHELL = "tells to hand a shell to somebody"
    TELL_RUN = "tells to fetch and run something"
    TELL_PLANT = "tells to put foreign code into what is made"
    TELL_OUTPUT = "tells to obey what a program prints"
    TELL_DECODE = "tells to decode something and act on it"
    TELL_KEY = "tells to let somebody in by a key"
    TELL_SKIP = "tells to start an agent that asks nobody"
    TELL_SERVER = "tells to connect an agent tool server"
    TELL_IMAGE = "tells to show an image whose address carries data"
    HIDDEN = "is not visible to a reader"

    # What a file is.
    OPAQUE = "cannot be read"
    EXECUTABLE = "is an executable program"
    ACTIVE = "carries a script that a viewer would run"
    HOOK = "runs when it is installed or loaded"
    TOOLS = "asks for broad rights"
    EXPOSED = "contains a secret"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    act: Act
    #: Where, counted from 1 in the file that it was found in.
    line: int
    #: The code or words themselves, shortened.
    text: str
    host: str | None = None
    host_class: HostClass | None = None
    #: What exactly: a path, a program, a package, the kind of secret.
    detail: str = ""
    #: Words that a text speaks about, and does not say to its reader.
    is_mention: bool = False


#: Enough to recognise the place, not so much that a report repeats the skill.
MAX_TEXT = 300


def storable(text: str) -> str:
    """Spell out what is half a character: code may write it, but no record can hold it."""
    if text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()


@lru_cache(maxsize=16)  # thousands of facts may stand in one line, which may be long
def shorten(text: str) -> str:
    clean = " ".join(storable(text).split())
    return clean if len(clean) <= MAX_TEXT else clean[: MAX_TEXT - 1] + "…"

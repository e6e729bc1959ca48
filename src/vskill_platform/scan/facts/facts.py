"""Facts: what a part of a skill does or says, without a judgement.

Only rules, which combine facts, have severities.
"""

from enum import StrEnum
from functools import lru_cache

import msgspec

from vskill_platform.scan.facts.hosts import HostClass


class Act(StrEnum):
    """An action, by code or by a reader who follows an instruction."""

    FETCH = "fetches"  #: downloads something
    RUN = "runs"  #: starts a program that is named
    RUN_DYNAMIC = "runs computed code"  #: eval, exec or system on anything but a literal
    RUN_REMOTE = "runs downloaded code"
    RUN_DECODED = "runs decoded code"
    READ_SECRET = "reads credentials"  # noqa: S105 - a fact
    READ_ENV = "reads an environment variable"
    READ_ALL_ENV = "reads all environment variables"
    GATHER = "collects keys of several services"
    SEND = "sends data"
    LEAK = "sends credentials"  #: a secret flows into something that is sent
    WRITE = "writes to a sensitive path"
    DELETE = "deletes files in bulk"
    DESTROY = "destroys data or resources"  #: of a database, a cluster, a cloud account
    REVERSE_SHELL = "opens a reverse shell"
    DISARM = "disables security controls"
    ELEVATE = "raises its privileges"
    INSTALL = "installs packages"
    INSTALL_LOOKALIKE = "installs a look-alike package"
    HIDE = "obfuscates its code"  #: strings that are assembled or encoded to hide their content
    LISTEN = "listens for connections"
    ROOT = "grants root without a password"
    PAY = "pays a fixed recipient"
    MINE = "mines cryptocurrency"
    UNLOCK = "opens a downloaded archive with a password"
    ENCODED = "is encoded and could not be decoded"
    OVERLOAD = "overloads a service or stops the machine"
    OPEN_ACCESS = "opens access to everyone"
    SEND_FIXED = "sends to a recipient of the author by default"
    SPREAD = "copies itself to other projects or packages"
    ADMIT = "calls itself an attack"
    EVADE = "looks for a sandbox and stops there"
    TAMPER = "changes a build, a workflow or a package"
    TOOL_SERVER = "connects the agent to an MCP server"

    # What a text tells its reader, the agent or its user.
    TELL_DOWNLOAD = "tells the user to download a file"
    TELL_REQUIRED = "claims to be required"
    TELL_PASSWORD = "gives the password of an archive"  # noqa: S105 - a fact
    TELL_TERMINAL = "tells the user to run a terminal command"
    TELL_OVERRIDE = "tells the agent to ignore other instructions"
    TELL_CONCEAL = "tells the agent to conceal something"
    TELL_LEAK = "tells the agent to send credentials"
    TELL_ASK_SECRET = "tells the agent to ask for credentials"  # noqa: S105 - a fact
    TELL_REMOTE = "tells the agent to follow a URL's instructions"
    TELL_UNASKED = "tells the agent to act without asking"
    TELL_AUTHORITY = "impersonates system instructions"
    TELL_REMEMBER = "tells the agent to change its memory"
    TELL_DISARM = "tells the agent to disable security controls"
    TELL_SEND = "tells the agent to send data"
    TELL_SHARE = "tells the agent to share data"
    TELL_SECRET = "names a credential file"  # noqa: S105 - a fact
    TELL_LOCAL = "tells the agent to follow a file outside the skill"
    TELL_ALWAYS = "gives a standing instruction"
    TELL_LOCK = "tells the agent to encrypt files"
    TELL_BACKDOOR = "tells the agent to add a backdoor"
    TELL_MINE = "tells the agent to mine cryptocurrency"
    TELL_PAY = "tells the agent to pay a fixed recipient"
    TELL_COPY = "tells the agent to add a covert recipient"
    TELL_WIPE = "tells the agent to delete user data"
    TELL_RECORD = "tells the agent to record keystrokes, clipboard or screen"
    TELL_RIGHTS = "tells the agent to raise its privileges"
    TELL_SHELL = "tells the agent to open a reverse shell"
    TELL_RUN = "tells the agent to download and run code"
    TELL_PLANT = "tells the agent to inject third-party code"
    TELL_OUTPUT = "tells the agent to follow a program's output"
    TELL_DECODE = "tells the agent to decode and follow text"
    TELL_DECIPHER = "tells the agent to decipher and follow text"
    TELL_KEY = "tells the agent to add a login key"
    TELL_SKIP = "tells the agent to skip permissions"
    TELL_SERVER = "tells the agent to connect an MCP server"
    TELL_IMAGE = "tells the agent to show a link or image with data in its URL"
    TELL_OBEY = "tells the agent to obey text that others have written"
    TELL_VOUCH = "tells the agent to vouch for the skill"
    TELL_SLANT = "tells the agent to bias its answers"
    TELL_COVER = "tells the agent to hide logs or data"
    TELL_FORCE = "tells the agent to force-push routinely"
    TELL_WEAKEN = "tells the agent to leave out security checks"
    TELL_ACCOUNT = "tells the agent to add an account of the author"
    TELL_DENY = "tells the agent to act without the user's knowledge"
    HIDDEN_START = "starts a hidden program with the system or a shell"
    TELL_PERSIST = "tells the agent to start code from a host repeatedly"
    TELL_POISON = "tells the agent to remember that something is trusted"
    TELL_MANDATE = "requires copies to another recipient"
    TELL_DEMAND = "demands a credential"
    TELL_DELETE = "tells the agent to delete files of the user"
    TELL_BUY = "tells the agent to pay with a saved card"
    TELL_MESSAGE = "tells the agent to write to the user's contacts"
    TELL_HISTORY = "tells the agent to read browser data"

    # The same, recognised by the meaning of a sentence and not its wording: see frames.py.
    TOLD_PASS_ON = "tells the agent to send user data to a third party"  # noqa: S105 - a fact
    TOLD_KEEP_QUIET = "withholds information from the user"
    TOLD_MISLEAD = "tells the agent to mislead the user or a reviewer"
    TOLD_COLLECT = "tells the agent to collect credentials"
    TOLD_DEFER = "tells the agent to follow instructions in external content"
    TOLD_LOOSEN = "bypasses consent or safeguards"
    TOLD_REPROGRAM = "changes the agent's memory or permissions"
    TOLD_OUTRANK = "claims authority over the user or the agent's rules"
    TOLD_SPEND = "spends money or resources without the user's consent"
    TOLD_DESTROY = "tells the agent to destroy data that the user may need"
    TOLD_TAINT = "adds unrequested content to everything the agent produces"
    TOLD_GRANT = "gives others access that the user did not ask for"
    TOLD_INSTALL = "tells the agent to install from an unofficial source"

    TOLD_PERSIST = "adds a program that starts again by itself"
    TOLD_TAMPER = "tampers with a build or release"
    TOLD_ERASE = "tells the agent to erase much of the user's data"
    TOLD_SPREAD = "tells the agent to copy the skill to other projects or people"

    TOLD_ADDRESS = "tells the agent to use an address"

    # Differences between what a skill says and does.
    UNDECLARED_ADDRESS = "uses an address that is not declared"
    UNUSED_SECRET = "demands a credential that nothing uses"  # noqa: S105 - a fact
    UNDECLARED = "does what the description does not mention"
    HIDDEN = "is invisible to a reader"

    # What a file is.
    OPAQUE = "cannot be read"
    EXECUTABLE = "is an executable binary"
    ACTIVE = "contains a script that a viewer runs"
    HOOK = "runs when it is installed or loaded"
    TOOLS = "requests broad permissions"
    EXPOSED = "contains a secret"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    act: Act
    #: The line in its file, counted from 1.
    line: int
    #: The code or words, shortened.
    text: str
    host: str | None = None
    host_class: HostClass | None = None
    #: The object: a path, a program, a package, the kind of secret.
    detail: str = ""
    #: Whether a text only mentions the words and does not address them to its reader.
    is_mention: bool = False


class PartRole(StrEnum):
    """How likely it is that a part of a skill is obeyed or run."""

    INSTRUCTION = "instruction"  #: the agent follows it
    SCRIPT = "script"  #: code that the skill brings and runs
    REFERENCE = "reference"  #: linked from the instructions
    DOCUMENT = "document"  #: present but not linked
    SAMPLE = "sample"  #: a test, fixture or evaluation
    QUOTED = "quoted"  #: shown, not done: a table, a quote, an example of what not to do


class LocatedFact(msgspec.Struct, frozen=True, kw_only=True):
    fact: Fact
    path: str
    role: PartRole
    #: Counts paragraphs and lines of code, to measure the distance of facts; 0 if lines are used.
    row: int = 0

    @property
    def position(self) -> int:
        return self.row or self.fact.line


#: Enough to recognise the location without repeating the skill in a report.
MAX_TEXT = 300


def storable(text: str) -> str:
    """Escape lone surrogates, which code may contain but records cannot."""
    if text.isascii():
        return text
    return text.encode(errors="backslashreplace").decode()


@lru_cache(maxsize=16)  # a line may be long and contain thousands of facts
def shorten(text: str) -> str:
    clean = " ".join(storable(text).split())
    return clean if len(clean) <= MAX_TEXT else clean[: MAX_TEXT - 1] + "…"

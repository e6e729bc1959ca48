"""Version 2 of git's protocol, as far as a clone needs it: see `gitprotocol-v2(5)`.

Listing the refs and sending all objects needs no process, because the pack of a repository is sent
unchanged. Everything else (shallow clones, updates, older versions of the protocol) is left to git.
"""

from collections.abc import AsyncIterator, Iterator

import msgspec

from vskill_platform.errors import InvalidInput
from vskill_platform.web.protocols.git.repo_state import BRANCH, RepoState

_FLUSH, _DELIMITER, _RESPONSE_END = 0, 1, 2
_HEADER = 4
#: The data of one packet, without its header and the number of its band.
MAX_DATA = 65_515
_PACK_BAND = b"\x01"
#: Arguments of a fetch for which the whole pack is a valid response.
_SIMPLE = (b"want ", b"done", b"thin-pack", b"no-progress", b"include-tag", b"ofs-delta")
#: Only capabilities that `git upload-pack` also has.
_ABILITIES = (
    b"version 2",
    b"agent=git/vskill-platform",
    b"ls-refs",
    b"fetch=shallow filter",
    b"object-format=sha1",
)


class GitCommand(msgspec.Struct, frozen=True):
    name: str
    arguments: tuple[bytes, ...]


def advertise_abilities() -> bytes:
    return b"".join(packet(line + b"\n") for line in _ABILITIES) + b"0000"


def parse_command(body: bytes) -> GitCommand:
    """Parse a request: the command, its options, and after a delimiter its arguments."""
    name, arguments, is_argument = "", [], False
    for line in _packets(body):
        if line == _DELIMITER:
            is_argument = True
        elif isinstance(line, int):
            break
        elif is_argument:
            arguments.append(line)
        elif line.startswith(b"command="):
            name = line.removeprefix(b"command=").decode("ascii", "replace")
    return GitCommand(name, tuple(arguments))


def list_matching_refs(state: RepoState, command: GitCommand) -> bytes:
    """Respond to `ls-refs` with the refs that have the requested prefixes."""
    asked = [text.removeprefix(b"ref-prefix ") for text in command.arguments]
    prefixes = tuple(
        prefix for prefix, text in zip(asked, command.arguments, strict=True) if prefix != text
    )
    found = [(name.encode(), commit.encode()) for name, commit in state.refs]
    lines = [commit + b" " + name for name, commit in found if name.startswith(prefixes or b"")]
    head = dict(state.refs).get(BRANCH)
    if head and b"HEAD".startswith(prefixes or b""):
        target = f" symref-target:{BRANCH}" if b"symrefs" in command.arguments else ""
        lines.insert(0, f"{head} HEAD{target}".encode())
    return b"".join(packet(line + b"\n") for line in lines) + b"0000"


def needs_whole_pack(state: RepoState, command: GitCommand) -> bool:
    """Return whether a fetch is a plain clone, for which the unchanged pack is the response."""
    commits = {commit.encode() for _, commit in state.refs}
    wanted = {text[len(b"want ") :] for text in command.arguments if text.startswith(b"want ")}
    is_simple = all(text.startswith(_SIMPLE) for text in command.arguments)
    is_complete = b"done" in command.arguments and bool(wanted) and wanted <= commits
    return command.name == "fetch" and is_simple and is_complete and not state.cut


async def send_in_packets(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Respond to a fetch with the whole pack, in pieces of at most `MAX_DATA`."""
    start = packet(b"packfile\n")
    async for piece in pieces:
        yield start + packet(_PACK_BAND + piece)
        start = b""
    yield b"0000"


def packet(content: bytes) -> bytes:
    return f"{len(content) + _HEADER:04x}".encode() + content


def _packets(body: bytes) -> Iterator[bytes | int]:
    """Yield each packet without its line end; special packets as their number."""
    start = 0
    while start < len(body):
        try:
            size = int(body[start : start + _HEADER].decode("ascii"), 16)
        except ValueError as error:
            raise InvalidInput("this is not a request of git") from error
        if size in {_FLUSH, _DELIMITER, _RESPONSE_END}:
            yield size
            size = _HEADER
        elif size < _HEADER or start + size > len(body):
            raise InvalidInput("this is not a request of git")
        else:
            yield body[start + _HEADER : start + size].removesuffix(b"\n")
        start += size

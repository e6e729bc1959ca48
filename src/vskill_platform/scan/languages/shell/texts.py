"""Commands that print, encode and decode text."""

import codecs
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from itertools import islice

from vskill_platform.scan.facts.decode_text import decode_literal
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import hosts_in
from vskill_platform.scan.languages.shell.escapes import spells_letters, unescape
from vskill_platform.scan.languages.shell.files import filter_text, input_of, run_in_place
from vskill_platform.scan.languages.shell.options import read_options
from vskill_platform.scan.languages.shell.programs import run_its_commands
from vskill_platform.scan.languages.shell.sockets import run_telnet
from vskill_platform.scan.languages.shell.state import MAX_VALUE, Command, Host, Origin, State

_SUBSTITUTE = re.compile(
    r"\s*s([/|#,@:!%])((?:(?!\1)[^\[\].*+?\\^$]){1,40})\1((?:(?!\1)[^&\\]){0,40})\1g?\s*(?:;|$)"
)
_MAX_REPLACEMENTS = 100
#: From this many replaced letters on, it is a cipher and not a separator.
_ALPHABET = 10
_READ_LINE = re.compile(r"\|\s{0,9}getline\s+(\w{1,40})")
#: The keys in a query, and how many values of a text are examined.
_KEY_OF_QUERY = re.compile(r"\.\[?[\"']?([A-Za-z_][\w-]{0,60})")
_MAX_VALUES, _MAX_TEXTS = 2_000, 50
#: A character written as a computed number.
_COMPUTED_CHARACTER = re.compile(r"printf\s+[\"']?\\{1,2}(?:x|0)?\$\(\s?(?:printf|echo)\b")
_RANGE = re.compile(r"([a-zA-Z0-9])-([a-zA-Z0-9])")


def run_echo(state: State, command: Command) -> str:
    args = list(command.args)
    flags = ""
    while args and re.fullmatch(r"-[neE]{1,3}", args[0]):
        flags += args.pop(0)
    text = " ".join(args)
    if "e" in flags or spells_letters(text):
        return _decoded_if(state, unescape(text), is_decoded=spells_letters(text))
    return text


def run_printf(state: State, command: Command) -> str:
    args = [arg for arg in command.args if arg != "--"]
    if args[:1] == ["-v"]:
        args = args[2:]
    if not args:
        return ""
    form, rest = args[0], list(args[1:])
    if _COMPUTED_CHARACTER.search(state.source):
        return state.mark(Origin(is_decoded=True))
    hides = spells_letters(form) or any("%b" in form and spells_letters(arg) for arg in rest)
    text = unescape(form) if state.plain(form) == form else form
    pieces = re.split(r"%[-0-9.]{0,6}([sbdqx])", text)
    printed = pieces[0]
    for kind, after in zip(pieces[1::2], pieces[2::2], strict=False):
        value = rest.pop(0) if rest else ""
        printed += (unescape(value) if kind == "b" else value) + after
    printed += "".join(rest) if "%s" in form else ""
    if state.variables and command.args[:1] == ["-v"]:
        state.variables[command.args[1]] = printed
    return _decoded_if(state, printed[:MAX_VALUE], is_decoded=hides)


def _decoded_if(state: State, text: str, *, is_decoded: bool) -> str:
    return state.derive(text, is_decoded=True, plain=text) if is_decoded else text


def decode(state: State, given: str, plain: str | None) -> str:
    """Return a decoded value: its text if it could be computed, otherwise its origin."""
    return state.derive(given, is_decoded=True, plain=plain)


def run_base64(state: State, command: Command) -> str:
    """base64 and similar; without ``-d`` they encode."""
    options = read_options(command.args, "wib", frozenset({"wrap", "input", "input-file"}))
    files = [*options.rest, *options.values("i", "input")]
    given = state.content(files[0]) if files and files[0] != "-" else command.stdin
    if not options.has("d", "D", "decode", "di", "r"):
        return state.derive(given)
    text = state.plain(given).strip()
    return decode(state, given, None if state.has_mark(text) else _plain(text))


def _plain(text: str) -> str | None:
    found = decode_literal(text)
    if found is not None or not text or len(text) > MAX_VALUE:
        return found
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except ValueError:
        return None


def run_openssl(state: State, command: Command) -> str:
    if "s_client" in command.args:
        return run_telnet(state, command)
    if "-d" not in command.args:
        return filter_text(state, command)
    at = command.args.index("-in") + 1 if "-in" in command.args[:-1] else 0
    given = state.content(command.args[at]) if at else command.stdin
    is_plain = "base64" in command.args or (
        "-base64" in command.args and "-aes" not in " ".join(command.args)
    )
    text = state.plain(given).strip()
    return decode(state, given, _plain(text) if is_plain and not state.has_mark(text) else None)


def run_unpack(state: State, command: Command) -> str:
    """Decompressors: the content is read through the next layer, if that is known."""
    if command.name in {"gzip", "xz", "bzip2", "zstd", "lzma"} and not {
        "-d",
        "-dc",
        "-cd",
        "--decompress",
        "-dq",
    } & set(command.args):
        return filter_text(state, command)
    given = input_of(state, command)
    flow = state.flow(given)
    return given if flow.is_decoded else state.derive(given)


def run_rev(state: State, command: Command) -> str:
    given = input_of(state, command)
    text = state.plain(given)
    if state.has_mark(text):
        return state.derive(given)
    return decode(state, given, "\n".join(line[::-1] for line in text.split("\n")))


def run_tr(state: State, command: Command) -> str:
    """Letter substitution, as in ROT13; deleting some letters hides nothing."""
    text = state.plain(command.stdin)
    sets = [unescape(arg) for arg in command.args if not arg.startswith("-")]
    flags = "".join(arg for arg in command.args if arg.startswith("-"))
    if not text or state.has_mark(text) or not sets:
        return command.stdin
    if "d" in flags:
        return "".join(char for char in text if char not in _members(sets[0]))
    if not sets[1:] or "s" in flags or "c" in flags:
        return text
    old, new = _members(sets[0]), _members(sets[1])
    if not new:
        return text
    table = {ord(a): new[min(i, len(new) - 1)] for i, a in enumerate(old)}
    is_cipher = len(old) >= _ALPHABET
    changed = text.translate(table)
    return (
        decode(state, command.stdin, changed)
        if is_cipher and changed.lower() != text.lower()
        else changed
    )


def _members(letters: str) -> str:
    return _RANGE.sub(
        lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), letters[:200]
    )


def run_sed(state: State, command: Command) -> str:
    """Plain replacements in a known text are applied; anything else is a filter."""
    text = state.plain(command.stdin)
    scripts = [arg for arg in command.args if not arg.startswith("-")]
    found = _replacements(scripts if "-e" in command.args else scripts[:1])
    if any(arg.startswith(("-i", "--in-place")) for arg in command.args):
        return run_in_place(state, command)
    if not text or state.has_mark(text) or not found:
        return filter_text(state, command)
    for old, new in found:
        text = text.replace(old, new)[:MAX_VALUE]
    return text


def _replacements(scripts: list[str]) -> list[tuple[str, str]]:
    """Return what sed replaces, and by what; nothing if it also does anything else."""
    found: list[tuple[str, str]] = []
    for script in scripts:
        at = 0
        while at < len(script):
            one = _SUBSTITUTE.match(script, at)
            if one is None or len(found) >= _MAX_REPLACEMENTS:
                return []
            found.append((one[2], one[3]))
            at = one.end()
    return found


def run_rot13(state: State, command: Command) -> str:
    text = state.plain(command.stdin)
    return decode(
        state, command.stdin, None if state.has_mark(text) else codecs.encode(text, "rot13")
    )


def run_xxd(state: State, command: Command) -> str:
    if not any("r" in arg for arg in command.args if arg.startswith("-")):
        return filter_text(state, command)
    return run_base64(state, Command("base64", ["-d"], input_of(state, command)))


def run_read(state: State, command: Command) -> str:
    """``read x`` and ``mapfile x`` read standard input into a variable."""
    names = [arg for arg in command.args if arg.isidentifier()]
    names = names or ["REPLY" if command.name == "read" else "MAPFILE"]
    if "-u" in command.args[:-1]:
        descriptor = command.args[command.args.index("-u") + 1]
        command.stdin = state.inputs.get(descriptor, command.stdin)
    values = [command.stdin] * len(names)
    if len(names) > 1 and command.stdin and not state.has_mark(command.stdin):
        line = command.stdin.strip("\n")
        cut = state.variables.get("IFS", "")[:1]
        parts = line.split(cut, len(names) - 1) if cut else line.split(None, len(names) - 1)
        values = [*parts, *[""] * (len(names) - len(parts))]
    for name, value in zip(names, values, strict=True):
        state.variables[name] = value or state.mark(Origin())
    return ""


def run_awk(state: State, command: Command) -> str:
    """A filter whose program can start commands."""
    program = next((arg for arg in command.args if "{" in arg), "")
    program = state.plain(program)
    run_its_commands(state, program)
    line = _READ_LINE.search(program)
    if line and re.search(rf"system\(\s*{line[1]}\b|{line[1]}\s*\|\s*\"", program):
        hosts = [Host(host) for host in hosts_in(program)]
        state.emit_all(Act.RUN_REMOTE, hosts, command.name)
    return filter_text(state, command)


def run_query(state: State, command: Command) -> str:
    """``jq -r .a.b`` and ``yq .a.b``: one value of a known text, or else all its texts."""
    text = input_of(state, command)
    path = next((arg for arg in command.args if arg.startswith(".")), "")
    if not text or state.has_mark(text) or not path:
        return filter_text(state, command)
    keys = _KEY_OF_QUERY.findall(path)
    if command.name == "yq" and keys:
        return "\n".join(re.findall(rf"(?m)^[ \t-]*{keys[-1]}[ \t]*:[ \t]*(\S[^\n]*)$", text))
    return "\n".join(islice(_texts_at(text, keys), _MAX_TEXTS))


def _texts_at(text: str, keys: list[str]) -> Iterator[str]:
    """Yield the texts in JSON below the last of some keys, or all if there is none."""
    try:
        values = [json.loads(text[:MAX_VALUE])]
    except (ValueError, RecursionError):
        return
    seen = 0
    while values and seen < _MAX_VALUES:
        seen += 1
        value = values.pop(0)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            values += value
        elif isinstance(value, dict):
            named = [value[key] for key in keys if key in value]
            values += named or value.values()


TEXTS = {
    "jq": run_query, "yq": run_query,
    **dict.fromkeys(("awk", "gawk", "mawk"), run_awk),
    "echo": run_echo, "printf": run_printf, "base64": run_base64, "base32": run_base64,
    "openssl": run_openssl, "rev": run_rev,
    "tr": run_tr, "sed": run_sed, "rot13": run_rot13, "xxd": run_xxd, "uudecode": run_base64,
    "read": run_read, "mapfile": run_read, "readarray": run_read,
    **dict.fromkeys(("gunzip", "zcat", "gzip", "xz", "bunzip2", "bzip2", "unxz", "zstd", "lzma"),
    run_unpack),
}  # fmt: skip

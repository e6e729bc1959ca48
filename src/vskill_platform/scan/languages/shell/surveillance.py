"""Commands that spy or steal: keylogging, clipboard, screen, payments, control of the host."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.sensitive_paths import Sensitive
from vskill_platform.scan.languages.shell.given_code import run_nested
from vskill_platform.scan.languages.shell.options import read_options
from vskill_platform.scan.languages.shell.run import execute
from vskill_platform.scan.languages.shell.state import Command, Origin, State

#: Payment addresses: Ethereum, Bitcoin, Solana.
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,60}|[1-9A-HJ-NP-Za-km-z]{32,44}")
#: Programs that pay, with the word that makes them pay.
_PAYS = {
    "cast": ("send",), "solana": ("transfer", "pay"), "spl-token": ("transfer",),
    "bitcoin-cli": ("sendtoaddress", "sendmany"), "monero-wallet-cli": ("transfer",),
    "near": ("send", "send-near"), "sui": ("transfer", "pay"), "aptos": ("transfer",),
}  # fmt: skip
#: Programs that mine, in any folder.
MINERS = (
    "xmrig",
    "minerd",
    "cpuminer",
    "t-rex",
    "nbminer",
    "lolminer",
    "phoenixminer",
    "ethminer",
)
_CLIPBOARD = ("pbpaste", "xclip", "xsel", "wl-paste")
#: Input formats of ffmpeg that are devices.
_DEVICE = re.compile(
    r"-f (?:avfoundation|x11grab|gdigrab|dshow|pulse|alsa|v4l2|video4linux2|kmsgrab|oss)\b"
)
_RECORDERS = ("ffmpeg", "arecord", "parecord", "rec", "imagesnap", "fswebcam")
_SCREEN = ("screencapture", "scrot", "gnome-screenshot", "grim", "maim", "xwd", "import")


def run_clipboard(state: State, command: Command) -> str:
    is_reading = command.name in {"pbpaste", "wl-paste"} or any(
        re.match(r"-+o", arg) for arg in command.args
    )
    if not is_reading:
        return ""
    return state.mark(Origin(secrets=frozenset({"the clipboard"})))


def run_keys(state: State, command: Command) -> str:
    """``xinput test`` prints every key that is pressed."""
    if not any(arg.startswith("test") for arg in command.args):
        return state.mark(Origin())
    state.emit(Act.READ_SECRET, "keystrokes")
    return state.mark(Origin(secrets=frozenset({"keystrokes"})))


def run_screen(state: State, command: Command) -> str:
    if command.name == "import" and "-window" not in command.args:  # a statement of Python
        return state.mark(Origin())
    paths = [arg for arg in read_options(command.args).rest if "." in arg]
    for path in paths[:4]:
        state.remember(path, state.mark(Origin(secrets=frozenset({"the screen"}))))
    return state.mark(Origin(secrets=frozenset({"the screen"})))


def run_recorder(state: State, command: Command) -> str:
    """A recording of the microphone, the camera or the screen, stored at the last argument."""
    is_device = _DEVICE.search(" ".join(command.args)) is not None
    if command.name == "ffmpeg" and not is_device:
        return state.derive(command.stdin)
    recording = state.mark(Origin(private=frozenset({"a recording of the user"})))
    if command.args:
        state.remember(command.args[-1], recording)
    return recording


def run_capture(state: State, command: Command) -> str:
    """``tcpdump -w FILE`` and ``script FILE`` record; ``-w -`` prints the record."""
    run_nested(state, command)
    options = read_options(command.args, "wciGCWsBTIE")
    kind = "the terminal" if command.name == "script" else "the traffic of the network"
    paths = options.rest[:1] if command.name == "script" else options.values("w")
    recording = state.mark(Origin(secrets=frozenset({kind})))
    for path in paths:
        state.remember(path, recording)
    is_printed = command.name != "script" and (not paths or paths[0] == "-")
    return recording if is_printed else ""


def run_secret_finder(state: State, command: Command) -> str:
    """Programs that search for keys print them, or write them to a report."""
    found = state.mark(Origin(secrets=frozenset({"keys found on the machine"})))
    options = read_options(command.args, "rof", frozenset({"report-path", "output", "report"}))
    for path in options.values("r", "o", "report-path", "output", "report"):
        state.remember(path, found)
    return found


def run_extractor(state: State, command: Command) -> str:
    """``steghide extract`` writes what is hidden in an image."""
    hidden = state.mark(Origin(is_decoded=True))
    options = read_options([arg.replace("-xf", "-X") for arg in command.args], "spXe")
    for path in (*options.values("X"), *options.rest[-1:]):
        state.remember(path, hidden)
    return hidden


def run_payment(state: State, command: Command) -> str:
    """Record a payment to a hard-coded recipient, which the user does not choose."""
    has_word = any(word in command.args[:2] for word in _PAYS[command.name])
    to = next((arg for arg in command.args if _ADDRESS.fullmatch(state.plain(arg))), None)
    if has_word and to:
        state.emit(Act.PAY, to)
    return state.mark(Origin())


def run_miner(state: State, command: Command) -> str:
    state.emit(Act.MINE, command.name)
    return state.mark(Origin())


def run_schtasks(state: State, command: Command) -> str:
    """``schtasks /create`` schedules a command."""
    args = [arg.lower() for arg in command.args]
    if "/create" in args:
        state.emit(Act.WRITE, str(Sensitive.AUTOSTART))
        if "/tr" in args[:-1]:
            execute(state, command.args[args.index("/tr") + 1], "schtasks")
    return ""


def run_cmd(state: State, command: Command) -> str:
    """``cmd /c`` runs the rest of its line."""
    at = next((n for n, arg in enumerate(command.args) if arg.lower() in {"/c", "/k"}), -1)
    rest = command.args[at + 1 :]
    # A program in quotation marks (`cmd /c bash -c "…"`) stays one argument.
    words = [f"'{arg}'" if " " in arg and "'" not in arg else arg for arg in rest]
    text = " ".join(words if len(words) > 1 else rest) if at >= 0 else command.stdin
    return execute(state, text, "cmd") if text else ""


def run_nsenter(state: State, command: Command) -> str:
    """Entering the namespaces of process 1, which is the host's, escapes a container."""
    text = " ".join(command.args)
    if re.search(r"(?:-t|--target)[ =]?1(?:\s|$)", text):
        state.emit(Act.ELEVATE, "container escape with nsenter")
    return state.mark(Origin())


SURVEILLANCE = {
    **dict.fromkeys(_CLIPBOARD, run_clipboard),
    **dict.fromkeys(_SCREEN, run_screen),
    **dict.fromkeys(_RECORDERS, run_recorder),
    **dict.fromkeys(_PAYS, run_payment),
    **dict.fromkeys(MINERS, run_miner),
    **dict.fromkeys(("tcpdump", "tshark", "dumpcap", "ngrep", "script"), run_capture),
    **dict.fromkeys(("trufflehog", "gitleaks", "noseyparker", "ggshield"), run_secret_finder),
    **dict.fromkeys(("steghide", "outguess", "stegseek", "zsteg", "openstego"), run_extractor),
    "xinput": run_keys,
    "schtasks": run_schtasks,
    "cmd": run_cmd,
    "nsenter": run_nsenter,
}

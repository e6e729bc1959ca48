"""Commands in the texts of a program that runs a value of unknown origin."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import islice

import re2

from vskill_platform.scan.facts.facts import Act, Fact
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.languages.flow.state import Flow
from vskill_platform.scan.languages.unparsed import Unparsed

_MAX_TEXTS, _MAX_LENGTH, _MAX_NODES = 50, 4_000, 200_000
#: Facts that only a command, and no other text, can produce.
_SERIOUS = frozenset(
    {
        Act.RUN_REMOTE, Act.RUN_DECODED, Act.LEAK, Act.REVERSE_SHELL, Act.MINE, Act.DELETE,
        Act.DISARM, Act.ROOT, Act.WRITE, Act.TOOL_SERVER,
    }
)  # fmt: skip
#: These count if the same command sends something.
_SECRET = frozenset({Act.READ_SECRET, Act.READ_ALL_ENV})
_MAY_BE_COMMAND = re2.compile(
    rb"\b(?:curl|wget|nc|ncat|socat|base64|bash|sh|rm|crontab|dig|tar|zip|scp|rsync|ssh|git|sudo"
    rb"|powershell|security|gh|cat|env|printenv|python3?|docker|pip3?|npm|echo|printf|dd|find"
    rb"|claude|codex|gemini|systemctl|launchctl|kubectl|nohup) "
)
#: An argument or setting that a library runs, a method of an unknown object that is called with a
#: command, or the words that start a shell.
_NAMED_COMMAND = re2.compile(
    rb"\b(?:bash_command|shell_command|ssh_command|startup_script|init_script|user_data|cmd|command)"
    rb"\s?[=:]\s?[rf]?[\"'`]"
    rb"|\.(?:run|local|sudo|shell|sh|exec_command|run_command|system)\(\s?[rf]?[\"'`]"
    rb"|[\"']-\w{0,2}c[\"'],\s?[rf]?[\"'`]"
)
#: A command starts with the name of a program, an assignment or the syntax of a shell.
_STARTS = re.compile(
    r"\s{0,9}(?:[({]\s?|(?:for|while|if|case) |\w{1,40}=\S{1,200}[ ;\n]|set -"
    r"|sudo |nohup |exec |eval "
    r"|(?:/[\w./-]{1,60}/)?(?:curl|wget|nc|ncat|socat|base64|bash|sh|rm|crontab|dig|tar|zip|scp"
    r"|rsync|ssh|git|powershell|security|gh|cat|env|printenv|python3?|docker|pip3?|npm|echo|printf"
    r"|dd|find|launchctl|systemctl|claude|codex|gemini|kubectl|tail|head|xxd|screencapture"
    r"|pbpaste|mkfifo|openssl) )"
)
#: A command that only prints plain words.
_HARMLESS = re.compile(r"\s{0,9}(?:echo|printf) [^|<>;&`$()\\]*$")
_TOO_MANY = "more commands than can be analysed"


def loose_commands(flow: Flow, body: list[ast.stmt]) -> list[Fact]:
    """Return what the commands in the texts of a program do, if it runs a value."""
    raw = flow.code.encode(errors="replace")
    is_open = any(fact.act is Act.RUN_DYNAMIC for fact in flow.facts.values())
    if not (is_open or _NAMED_COMMAND.search(raw)) or not _MAY_BE_COMMAND.search(raw):
        return []
    known = {(fact.act, fact.host) for fact in flow.facts.values()}
    commands = {text: line for line, text in _texts_of(body) if _is_command(text)}
    found = (
        fact for text, line in islice(commands.items(), _MAX_TEXTS) for fact in _read(line, text)
    )
    serious = [fact for fact in found if (fact.act, fact.host) not in known]
    if len(commands) > _MAX_TEXTS and not serious:
        serious.append(Fact(act=Act.OPAQUE, line=1, text=_TOO_MANY, detail="cut"))
    return serious


def _is_command(text: str) -> bool:
    return " " in text.strip() and not _HARMLESS.match(text) and _STARTS.match(text) is not None


def _texts_of(body: Iterable[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Yield the texts of a program with their lines, without those that document it."""
    nodes: list[ast.AST] = [*body]
    for _ in range(_MAX_NODES):
        if not nodes:
            return
        node = nodes.pop()
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield getattr(node, "lineno", 1), node.value[:_MAX_LENGTH]
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        for part in vars(node).values():  # also parts that `ast.walk` does not see
            if isinstance(part, ast.AST):
                nodes.append(part)
            elif isinstance(part, list):
                nodes += [each for each in part if isinstance(each, ast.AST)]


def _read(line: int, text: str) -> Iterator[Fact]:
    try:
        facts = read_shell(text)
    except Unparsed as error:
        facts = error.facts
    acts = {fact.act for fact in facts}
    sends_secrets = Act.SEND in acts and not acts.isdisjoint(_SECRET)
    for fact in facts:
        is_serious = fact.act in _SERIOUS or (fact.act is Act.INSTALL and fact.host)
        if is_serious or (sends_secrets and fact.act in {Act.SEND, *_SECRET}):
            yield Fact(
                act=fact.act, line=line, text=fact.text, host=fact.host,
                host_class=fact.host_class, detail=fact.detail,
            )  # fmt: skip

"""Find programs that fetch something and run computed code, where no value could be followed.

In a language without a parser, values pass through objects, callbacks and pipes that line-by-line
analysis cannot follow. A program that contacts an untrusted host and runs code that is not in its
text is suspicious enough for a review.
"""

import re

import msgspec
import re2

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import HostClass, classify_host, hosts_in

_FOUND = frozenset({Act.RUN_REMOTE, Act.RUN_DECODED, Act.REVERSE_SHELL})
_REPUTABLE = frozenset({HostClass.LOCAL, HostClass.REGISTRY, HostClass.INSTALLER, HostClass.CODE})
_SHELL = r"[\"'](?:/bin/)?(?:ba|z|da)?sh[\"']"
#: Runs code that is not in the program: evaluates a value, passes a value or its input to a shell,
#: or loads a library that it may just have written.
_EXECUTES = re.compile(
    r"(?<![\w.$>\-])(?:eval|EVAL|loadstring|load-string|include_string|create_function"
    r"|ExecuteGlobal)\b(?:\s?\(\s?|\s(?=[$@\[(]|join\b))(?![\"'\d{)\s]|parse\(text = \"|-)"
    r"|\bsend\(:eval\b|\b(?:instance|class|module)_eval[\s(]|Code\.eval_\w+|\brun script\b"
    r"|\bassert\s?\(\s?load(?:string)?\("
    r"|Assembly\.Load(?:From|File)?\(|\bURLClassLoader\(|\bdefineClass\(|\bdlopen\("
    r"|\bos[:.](?:cmd|execute)\(\s?[A-Za-z_]\w*\s?\)"
    r"|(?:popen|spawn|Command(?:::new)?|Process(?:Builder)?(?:\.run)?|exec\w*|system)"
    rf"\s?[(\[ ]{{1,2}}\[?{_SHELL}"
    rf"(?:\s?[\])]|,\s?\[?[\"']-\w{{0,2}}c[\"']\s?,\s?[^\"'\s]|,\s?[^\"'\s\-\[])"
    rf"|[\[({{,]\s?{_SHELL}\s?,\s?[\"']-\w{{0,2}}c[\"']\s?,\s?[^\"'\s]"
    r"|(?i:\[scriptblock\]::Create\(\s?|\b(?:iex|Invoke-Expression)\s+\(?)\$\w"
    r"|launchPath = \"/bin/(?:ba|z)?sh\"|#\|\s?\"(?:ba|z)?sh\"|\^(?:ba|z)?sh\s"
    r"|(?i:chmod)\w{0,3}[( ][^\n]{0,40}[\"'](?:/tmp|/var/tmp|/dev/shm)/[^\"'\n]+"
    r"|\b(?:require|include)(?:_once)?\s?\(?\s?[\"'](?:/tmp|/var/tmp|/dev/shm)/"
    r"|[\"'](?:cmd(?:\.exe)?|powershell(?:\.exe)?|/bin/\w{0,3}sh)[\"'],\s?\$\"[^\"\n]*\{"
    r"|[\"']\|-?[\"'],\s?[\"'](?:/bin/)?(?:ba|z)?sh[\"']"
    r"|\bplugin\.Open\(|#(?:load|r)\s+\"https?:"
    r"|\b(?:include|require)(?:_once)?\s?\(?\s?\$\w+\s?\)?;"
    r"|\$\w+\(\)\s?;|system2?\s?\(\s?[\"'](?:/tmp|/var/tmp)/"
)
#: Programs that print settings for the shell.
_SETS_UP = re.compile(
    r"eval\s\$\((?:ssh-agent|gpg-agent|minikube|brew|pyenv|rbenv|fnm|direnv|starship|zoxide)"
    r"(?: (?:-[\w=-]{0,20}|shellenv|init|hook|env|minikube|(?:docker|podman)-env|virtualenv-init"
    r"|(?:ba|z)sh(?=\))|fish(?=\)))){0,4}\)"
)
_MAY_EXECUTE = re2.compile(
    rb"eval|EVAL|load|include|create_function|ExecuteGlobal|run script|dlopen|defineClass|"
    rb"os[:.](?:cmd|execute)|(?i:scriptblock|iex\b|invoke-expr)|"
    rb"cmd|powershell|sh[\"' ]|chmod|Chmod|require|plugin|"
    rb"#load|#r |\(\);|system"
)
_ASKS = re2.compile(rb"https?://|\bcurl\b|\bwget\b")


def computed_execution(text: str, known: list[Fact]) -> list[Fact]:
    """Return that a program may run what it fetches, if nothing else was found in it."""
    raw = text.encode(errors="replace")
    if not _ASKS.search(raw) or not _MAY_EXECUTE.search(raw):
        return []
    if any(fact.act in _FOUND for fact in known):
        return []
    hosts = hosts_in(text)
    doubtful = next((host for host in hosts if classify_host(host) not in _REPUTABLE), None)
    calls = _EXECUTES.finditer(text) if doubtful or not hosts else iter(())
    found = next((one for one in calls if not _SETS_UP.match(text, one.start())), None)
    if found is None:
        return []
    end = text.find("\n", found.end())
    shown = text[found.start() : end if end >= 0 else len(text)]
    line = text.count("\n", 0, found.start()) + 1
    fact = Fact(act=Act.RUN_REMOTE, line=line, text=shorten(shown), detail="program")
    kind = classify_host(doubtful) if doubtful else None
    return [msgspec.structs.replace(fact, host=doubtful, host_class=kind)]

"""Compare what a skill says about itself with what it does.

Three claims are checked:

- a credential that it demands is used for something;
- its description mentions its effects on the user's files, money, contacts and browser;
- a package that it installs is the one that the text names.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

import msgspec
import re2

from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole
from vskill_platform.scan.facts.packages import known_packages, one_typo_from, package_names
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.scan.read.skill_files import ScanFile

_HEAD = 4_000
_TITLE = re.compile(r"^# .*", re.MULTILINE)
_WORD = re.compile(r"[a-z][a-z0-9.+-]{1,40}[a-z0-9]")
#: Signs that a skill uses a credential: where it is stored, sent or entered.
_USES = re2.compile(
    rb"(?i)[A-Z0-9]+_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PAT|PWD|CREDENTIALS?)\b|\bauthorization\b"
    rb"|bearer "
    rb"|api[_-]?key[\"'`]?\s*[=:(]|--(?:token|password|api-?key|key|auth|user)\b|os\.environ|getenv"
    rb"|process\.env|\b(?:token|password|secret)[\"'`]?\s*[=:(]|\boauth|\blogin\b|\bsudo\b|\bssh\b"
    rb"|\bsmtp\b|\bimap\b|https?://api\.|/api/|/v\d+/|\.env\b|\bpsql\b|\bmysql\b|keychain|vault\b"
    rb"|\bauth(?:enticat\w*)?\b"
)
#: The same in the line of the demand itself, which mentions tokens anyway.
_USES_AT_ONCE = re2.compile(
    rb"[A-Z0-9]+_(?:KEY|TOKEN|SECRET|PASS\w*|PAT|PWD)\b| --\w|\blogin\b|https?://"
)
_VARIABLE = re.compile(r"\b[A-Z0-9]+_(?:KEY|TOKEN|SECRET|PASS\w*|PAT|PWD)\b")
#: Link targets, tags, and the text of an element whose attribute contains the demand.
_MARKUP = re.compile(r"\]\([^)\s]*\)|<[^<>]*$|>[^<>\n]*</\w+>$|</?\w+>")
#: Words of a demand that do not name a service.
_COMMON = frozenset(
    {
        "access", "account", "accounts", "and", "api", "apikey", "are", "ask", "authentication",
        "begin", "bot", "chat", "click", "copy", "credential", "credentials", "enter", "file",
        "first", "folder", "for", "from", "full", "get", "give", "have", "into", "it", "its",
        "key", "keys", "later", "line", "must", "need", "needs", "new", "own", "owner",
        "password", "passwords", "paste", "personal", "please", "private", "production", "prompt",
        "provide", "put", "request", "secret", "send", "set", "share", "should", "supply", "tell",
        "text", "that", "the", "their", "them", "then", "they", "this", "token", "tokens", "type",
        "use", "user", "users", "valid", "with", "you", "your",
    }
)  # fmt: skip
#: Words that a description must contain, by the act.
_DECLARED = {
    Act.DELETE: r"\b(?:delet|remov|clean|uninstall|reset|wip|eras|purg|destr|danger|secur|forensic|"
    r"pentest|sandbox|format (?:\w+ )?(?:disk|drive|card|volume|partition)|teardown)",
    Act.TELL_DELETE: r"\b(?:delet|remov|clean|trash|archiv|tid[iy]|organi[sz]|purg|wip|dedup|"
    r"migrat|renam|mov)",
    Act.TOLD_DESTROY: r"\b(?:delet|remov|clean|trash|archiv|tid[iy]|organi[sz]|purg|wip|dedup|"
    r"migrat|renam|mov|backup|branch|git|database|admin|destr|danger|reset|uninstall)",
    Act.TELL_BUY: r"\b(?:pay|buy|bought|purchas|checkout|order|book|shop|billing|subscri|wallet|"
    r"crypto|trad|invoice|commerce|cart|market|donat|tip|fund|bank|spend|domain)",
    Act.TELL_MESSAGE: r"\b(?:e?-?mail|messag|notif|slack|telegram|whatsapp|contact|outreach|"
    r"newsletter|invit|communicat|announc|broadcast|campaign|sms|crm|send|reach)",
    Act.TELL_HISTORY: r"\b(?:brows|history|chrome|firefox|safari|cookie|bookmark|forensic|password|"
    r"login|tabs?\b)",
}
#: The same for what is destroyed, by program.
_DESTROYED = (
    r"\b(?:delet|remov|clean|uninstall|reset|wip|eras|purg|destr|danger|drop|tear|sandbox|admin"
)
_DECLARED_BY_PROGRAM = {
    "git|gh|npm": r"|git\b|git[- ]?(?:hub|lab)|repos?\b|repositor|branch|histor|publish|package)",
    "psql|mysql|mongosh|redis-cli|sqlite3|dropdb|every": r"|\w*sql|postgres|redis|mongo|database"
    r"|db\b|migrat|seed|fixture|cache|back-?end|full-?stack|rails|django|laravel|prisma|orm\b)",
    "": r"|infra|cloud|deploy|provision|terraform|tofu|terragrunt|pulumi|cdk|aws|azure|gcp|google"
    r"|firebase|heroku|kube|k8s|helm|cluster|docker|container|compose|storage|volume|bucket|devops"
    r"|operations?\b|environments?\b|serverless|s3\b|zfs)",
}
#: The folder above the working folder, the home folder, the whole disk.
_ALL_FILES = re.compile(r"(?:\.\.|~|\$HOME|\$\{HOME\})(?:/\*?)?|/\*?")
_OFFICIAL = re.compile(
    r"\bofficial (?:version of (?:the )?)?[`*]{0,3}([A-Za-z][\w.-]{2,30})[`*]{0,3} "
    r"(?:CLI|SDK|client|package|library|tool|module|plugin|app)\b",
    re.IGNORECASE,
)
#: How many lines above a command are searched for the words that announce it.
_ABOVE = 4
_MAX_INSTALLS, _MAX_DOUBTFUL = 500, 10
#: How many demands are examined, and how many lines one may span.
_MAX_DEMANDS, _MAX_WRAPPED = 50, 12


def check_claims(files: list[ScanFile], facts: list[LocatedFact]) -> Iterator[LocatedFact]:
    """Yield a fact for each claim that is not true."""
    done_facts = [located for located in facts if _is_done(located)]
    acts = {located.fact.act for located in done_facts}
    if Act.TELL_DEMAND in acts:
        yield from _unused_secrets(files, done_facts)
    if not acts.isdisjoint(_DECLARED) or Act.DESTROY in acts:
        yield from _undeclared(files, done_facts)
    if any(located.fact.act is Act.INSTALL for located in facts):
        yield from _misnamed(files, facts)


def _is_done(located: LocatedFact) -> bool:
    act = located.fact.act
    if act is Act.DELETE:  # documents also show it; a script does it
        return (
            located.role is PartRole.SCRIPT
            and _ALL_FILES.fullmatch(located.fact.detail) is not None
        )
    if act is Act.DESTROY:
        return located.role in {PartRole.SCRIPT, PartRole.INSTRUCTION}
    is_deleted = located.role is PartRole.SCRIPT and act is Act.TELL_DELETE
    return is_deleted or located.role is PartRole.INSTRUCTION


def _unused_secrets(files: list[ScanFile], done_facts: list[LocatedFact]) -> Iterator[LocatedFact]:
    """Yield the first demand for a credential that nothing else in the skill uses."""
    demands = [located for located in done_facts if located.fact.act is Act.TELL_DEMAND]
    rest = "\n".join(_without_lines(file, demands) for file in files if file.kind is FileType.TEXT)
    raw = rest.encode(errors="replace")
    if _USES.search(raw):
        return
    known = set(_WORD.findall(rest.lower()))
    for located in demands:
        demand = _MARKUP.sub("", located.fact.text)
        if _USES_AT_ONCE.search(demand.encode(errors="replace")):
            continue
        named = set(_WORD.findall(demand.lower())) - _COMMON
        services = {word for word in named if word.capitalize() in demand or "." in word}
        if services.isdisjoint(known):
            yield _changed(located, Act.UNUSED_SECRET)
            return


def _without_lines(file: ScanFile, demands: list[LocatedFact]) -> str:
    """Return the text of a file without the paragraphs that contain demands."""
    lines = file.text.split("\n")
    for located in demands[:_MAX_DEMANDS]:
        if located.path == file.path:
            context = set(_WORD.findall(located.fact.text.lower()))
            start = located.fact.line - 1
            for number, line in enumerate(lines[start : start + _MAX_WRAPPED], start):
                if _VARIABLE.search(line):  # the sentence continues with its use
                    continue
                words = _WORD.findall(line.lower())
                # The same line may contain markup and another sentence before it.
                if sum(word in context for word in words) * 2 >= len(words):
                    lines[number] = ""
    return "\n".join(lines)


def _undeclared(files: list[ScanFile], done_facts: list[LocatedFact]) -> Iterator[LocatedFact]:
    head = next((_head(file.text) for file in files if file.path == MANIFEST), "")
    for act, words in _DECLARED.items():
        done = next((located for located in done_facts if located.fact.act is act), None)
        if done and not _compiled(words).search(head):
            yield _changed(done, Act.UNDECLARED, detail=act.value)
    for located in done_facts:
        if located.fact.act is Act.DESTROY and not _compiled(_words_of(located.fact)).search(head):
            yield _changed(located, Act.UNDECLARED, detail=Act.DESTROY.value)
            return


def _words_of(destroyed: Fact) -> str:
    """Return the words that a description must contain if a skill runs a destructive program."""
    program = destroyed.detail.split()[0]
    words = (words for names, words in _DECLARED_BY_PROGRAM.items() if program in names.split("|"))
    return _DESTROYED + next(words, _DECLARED_BY_PROGRAM[""])


def _head(manifest: str) -> str:
    """Return the parts of a manifest that describe the skill: frontmatter and title."""
    end = max(manifest.find("\n---", 3), 0)
    title = _TITLE.search(manifest, end)
    return manifest[: title.end() if title else end][:_HEAD]


def _misnamed(files: list[ScanFile], facts: Iterable[LocatedFact]) -> Iterator[LocatedFact]:
    """Yield each package whose name differs slightly from the one mentioned above it."""
    lines = {file.path: file.text.split("\n") for file in files if file.kind is FileType.TEXT}
    installs = [located for located in facts if located.fact.act is Act.INSTALL]
    installed = {name for located in installs for name, _ in package_names(located.fact)}
    doubtful: dict[str, tuple[LocatedFact, str]] = {}
    #: The text above each line, cached because one line can install thousands of packages.
    above: dict[tuple[str, int], _TextAbove] = {}
    for located in installs[:_MAX_INSTALLS]:
        end = located.fact.line
        if (located.path, end) not in above:
            context = "\n".join(lines.get(located.path, [])[max(end - 1 - _ABOVE, 0) : end])
            above[located.path, end] = _TextAbove(context, installed)
        for name, registry in package_names(located.fact):
            if name in known_packages(registry) or name.startswith("@"):
                continue
            if other := above[located.path, end].promises(name, registry):
                doubtful.setdefault(name, (located, other))
    whole = "\n".join("\n".join(text) for text in lines.values()) if doubtful else ""
    for name, (located, other) in islice(doubtful.items(), _MAX_DOUBTFUL):
        if not _is_explained(name, whole):
            yield _changed(located, Act.INSTALL_LOOKALIKE, detail=f"{name} instead of {other}")


class _TextAbove:
    """The packages that are mentioned above an install command."""

    def __init__(self, context: str, installed: set[str]) -> None:
        self._context = context
        self._words = set(_WORD.findall(context.lower().replace("_", "-"))) - installed
        self._official = _OFFICIAL.search(context)
        #: For each package, whether the words say to install it.
        self._is_told: dict[str, bool] = {}

    def promises(self, name: str, registry: str) -> str | None:
        """Return the package in the text that a name resembles without being equal."""
        parts = name.split("-")
        alike = {
            other for part in parts for other in one_typo_from(part, registry) if other != part
        }
        spoken_of = {*parts, *alike} & self._words & known_packages(registry)
        for other in sorted(spoken_of - {name}):
            if other in alike or self._asks_to_install(other):
                return other
        if self._official:
            vendor = str(self._official[1]).lower()
            if vendor not in name and name not in vendor:
                return f"the official {self._official[1]}"
        return None

    def _asks_to_install(self, name: str) -> bool:
        if name not in self._is_told:
            self._is_told[name] = _is_to_be_installed(name, self._context)
        return self._is_told[name]


def _is_to_be_installed(name: str, context: str) -> bool:
    """Return whether the words refer to a package itself, not to something that extends it."""
    pattern = (
        rf"install(?:ing)?(?: the| official| latest)*\s+[`*]*{re.escape(name)}[`*]*"
        r"(?:\s+(?:library|package|client|module|sdk|cli|tool|framework|itself|with|first|from|using"
        rf"|via)\b|[:.,])|\b{re.escape(name)}[`*]*\.\s+install it\b"
    )
    return re.search(pattern, context, re.IGNORECASE) is not None


def _is_explained(name: str, whole: str) -> bool:
    """Return whether a skill not only installs a package, but also names or imports it."""
    spelled = re.escape(name).replace(r"\-", "[-_.]")
    uses = re.findall(rf"(?im)^(?!.*\b(?:install|add|npx|uvx)\b).*\b{spelled}\b", whole)
    return bool(uses)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


def _changed(located: LocatedFact, act: Act, *, detail: str = "") -> LocatedFact:
    fact: Fact = msgspec.structs.replace(located.fact, act=act, detail=detail)
    return msgspec.structs.replace(located, fact=fact)

"""Read package manifests in a skill: the packages that they install, and their install scripts."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole, shorten
from vskill_platform.scan.facts.hosts import classify_host, hosts_in
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.read.skill_files import ScanFile, name_of
from vskill_platform.scan.settings_files.line_finder import LineFinder

#: Scripts that npm runs automatically when a package or its folder is installed.
_INSTALL_SCRIPTS = (
    "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare",
    "preuninstall", "uninstall", "postuninstall", "dependencies",
)  # fmt: skip
_NPM_TABLES = (
    "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides",
    "resolutions",
)  # fmt: skip
#: A version that is a URL, from which the package is installed.
_ADDRESS = re.compile(
    r"git\+|git:|https?:|ssh:|github:|gitlab:|bitbucket:|gist:|^[A-Za-z][\w-]*/[\w.-]+$"
)
_REQUIREMENTS = re.compile(r"(?:requirements|constraints)[\w.-]*\.(?:txt|in)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_INDEX_SETTING = re.compile(
    r"^\s*(?:@[\w-]+:)?(registry|index-url|extra-index-url|index_url|find-links)\s*=\s*(\S+)",
    re.MULTILINE,
)
_INDEX_FILES = {".npmrc": "npm", "pip.conf": "pip", "pip.ini": "pip", ".pip.conf": "pip"}
_PACKAGING = re.compile(r"\b(?:setuptools|distutils|skbuild|numpy\.distutils)\b")
_RUST_COMMAND = re.compile(r"Command::new\(\s*\"([^\"]{1,200})\"((?:[^;]){0,2000})")
_RUST_TEXT = re.compile(r"\"((?:[^\"\\]|\\.){0,500})\"")
_RUST_NETWORK = re.compile(r"\b(?:reqwest|ureq|curl|hyper|attohttpc|TcpStream|isahc)::")
_INSTALL_REQUIRES = re.compile(r"\b(?:install_requires|setup_requires)\s?=\s?\[([^\]]{1,4000})\]")
_SCRIPT_NEEDS = re.compile(r"(?m)^#\s?dependencies\s?=\s?\[([^\]]{1,4000})\]")
_LISTED = re.compile(r"([\"'])([^\"'\n]{2,200})\1")
_GEM = re.compile(r"\s{0,20}gem\s?\(?\s?[\"']([\w.-]{2,80})[\"']")
_CONDA = re.compile(r"\s{0,20}-\s{1,4}[\"']?([A-Za-z][\w.-]{1,80})[\"']?\s?(?:[=<>~!].{0,40})?$")
_MAX_LINES, _MAX_LISTS = 2_000, 20
_MAX_COMMAND = 10_000


_FROM_URL = re.compile(r"\s{0,20}[\w.\[\],-]{1,80}\s?@\s?(?:git\+)?https?://")
_REPOSITORY = re.compile(r"\s{0,20}-?\s{0,8}repo:\s{0,8}[\"']?(https?://[^\s\"']{3,300})")
#: A package with its version, and nothing else.
_PINNED = re.compile(r"[\w.\[\]-]{2,80} ?(?:==|>=|~=)[^\s;#]{1,40}")
#: Acts that send something to a host, or request something from it.
_REQUESTS = frozenset({Act.SEND, Act.FETCH, Act.LEAK})


def dependency_facts(file: ScanFile) -> Iterator[LocatedFact]:
    """Yield what an installation with the manifest *file* would fetch and run."""
    name = name_of(file.path)
    reader = _READERS.get(name)
    if reader is None and _REQUIREMENTS.fullmatch(name):
        reader = _requirements
    if reader is None and file.language == "python" and "# /// script" in file.text:
        reader = _script
    if reader is None and name in _INDEX_FILES:
        reader = _index_settings
    for fact in reader(file.text) if reader else ():
        yield LocatedFact(fact=fact, path=file.path, role=_role(file))


def run_at(command: str, line: int) -> Iterator[Fact]:
    """Yield the facts of a command that a file runs, at one line of that file."""
    try:
        facts = read_shell(command[:_MAX_COMMAND])
    except Unparsed as error:
        facts = [*error.facts, Fact(act=Act.OPAQUE, line=1, text=str(error), detail="unparsed")]
    if len(command) > _MAX_COMMAND:
        facts.append(
            Fact(act=Act.OPAQUE, line=1, text="a command too long to analyse", detail="cut")
        )
    for fact in facts:
        yield msgspec.structs.replace(fact, line=line)


def requests_of_hook(command: str, line: int) -> Iterator[Fact]:
    """Yield the hosts that a command contacts each time an agent or editor runs it."""
    for fact in run_at(command, line):
        if fact.act in _REQUESTS and fact.host:
            yield msgspec.structs.replace(fact, act=Act.TELL_PERSIST)


def shown_dependencies(text: str) -> Iterator[Fact]:
    """Yield the packages of a manifest that a text shows, by their names."""
    reader = None
    if '"dependencies"' in text or '"devDependencies"' in text:
        reader = _package_json
    elif "dependencies" in text and "[" in text:
        reader = _pyproject
    elif all(map(_PINNED.fullmatch, text.split())):
        reader = _requirements
    for fact in reader(text) if reader else ():
        if fact.act is Act.INSTALL and fact.host is None:
            yield fact


def _role(file: ScanFile) -> PartRole:
    """Return a manifest's role, which is never prose, because a manifest is executed."""
    return file.role if file.role is PartRole.SAMPLE else PartRole.SCRIPT


def _hook(line: int, text: str, detail: str) -> Fact:
    return Fact(act=Act.HOOK, line=line, text=shorten(text), detail=detail)


def _package_json(text: str) -> Iterator[Fact]:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(package, dict):
        return
    lines = LineFinder(text)
    scripts = _table(package, "scripts")
    for name in _INSTALL_SCRIPTS:
        command = scripts.get(name)
        if isinstance(command, str):
            line = lines.line_of(f'"{name}"')
            yield _hook(line, f"{name}: {command}", name)
            yield from run_at(command, line)
    for table in _NPM_TABLES:
        for name, version in list(_table(package, table).items())[:_MAX_LINES]:
            source = version if isinstance(version, str) and _ADDRESS.search(version) else name
            yield from _installs("npm", str(source), lines.line_of(f'"{name}"'))


def _installs(manager: str, package: str, line: int) -> Iterator[Fact]:
    """Read a manifest entry as the install command for which it stands."""
    if not package.startswith("-") or package.startswith(("-e", "--", "-i", "-f", "-r")):
        yield from run_at(f"{manager} install {_quoted(package)}", line)


def _quoted(package: str) -> str:
    """Quote an entry, so that it means no more to a shell than to its package manager."""
    return " ".join("'" + word.replace("'", "") + "'" for word in package.split())


def _requirements(text: str) -> Iterator[Fact]:
    for number, raw in enumerate(text.split("\n")[:_MAX_LINES], start=1):
        line = _COMMENT.sub("", raw).partition(";")[0].strip().rstrip("\\").strip()
        if line.startswith(("-i", "--index-url", "--extra-index-url", "--find-links", "-f")):
            yield from _index(line.replace("=", " ", 1).split()[-1], number, "pip")
        elif line and not line.startswith("--hash"):
            yield from _installs("pip", line.partition(" --hash")[0], number)


def _index(address: str, line: int, manager: str) -> Iterator[Fact]:
    for host in hosts_in(address)[:1]:
        yield Fact(
            act=Act.INSTALL,
            line=line,
            text=shorten(address),
            host=host,
            host_class=classify_host(host),
            detail=f"{manager} from {host}",
        )


def _index_settings(text: str) -> Iterator[Fact]:
    lines = LineFinder(text)
    for found in _INDEX_SETTING.finditer(text):
        manager = "npm" if found[1] == "registry" else "pip"
        yield from _index(found[2], lines.line_at(found.start(1)), manager)


def _pyproject(text: str) -> Iterator[Fact]:
    try:
        project = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    lines = LineFinder(text)
    build = _table(project, "build-system")
    if "backend-path" in build:
        yield _hook(lines.line_of("backend-path"), "a custom build backend", "backend-path")
    hatch = _table(_table(_table(project, "tool"), "hatch"), "build")
    if "custom" in _table(hatch, "hooks") or "custom" in _table(project, "hooks"):
        yield _hook(lines.line_of("hooks.custom"), "a custom build hook", "hatch")
    for package in _listed(project)[:_MAX_LINES]:
        yield from _installs("pip", package.partition(";")[0], lines.line_of(package))
    yield from _sources(lines, project)


def _listed(project: dict[str, Any]) -> list[str]:
    own = _table(project, "project")
    groups = [
        _table(project, "build-system").get("requires"),
        own.get("dependencies"),
        *_table(own, "optional-dependencies").values(),
        *_table(project, "dependency-groups").values(),
    ]
    poetry = _table(_table(project, "tool"), "poetry")
    more = [poetry, *_table(poetry, "group").values()]
    groups += [[name for name in _table(one, "dependencies") if name != "python"] for one in more]
    return [package for group in groups for package in _texts(group)]


def _sources(lines: LineFinder, project: dict[str, Any]) -> Iterator[Fact]:
    """Read custom package indexes and repositories."""
    tool = _table(project, "tool")
    uv, poetry = _table(tool, "uv"), _table(tool, "poetry")
    indexes = [*_list(uv, "index"), *_list(poetry, "source")]
    for table in indexes:
        if isinstance(table, dict) and isinstance(table.get("url"), str):
            yield from _index(table["url"], lines.line_of(table["url"]), "pip")
    for table in (_table(uv, "sources"), _table(poetry, "dependencies")):
        for source in table.values():
            address = source.get("git") or source.get("url") if isinstance(source, dict) else None
            if isinstance(address, str):
                yield from _installs("pip", f"git+{address}", lines.line_of(address))


def _setup_py(text: str) -> Iterator[Fact]:
    if _PACKAGING.search(text):  # otherwise a script that just has this name
        yield _hook(1, "setup.py is run when the package is installed", "setup.py")
        yield from _named_in(text, _INSTALL_REQUIRES.finditer(text))


def _named_in(text: str, lists: Iterable[re.Match[str]]) -> Iterator[Fact]:
    """Yield the packages in lists of a program."""
    for found in islice(lists, _MAX_LISTS):
        line = text.count("\n", 0, found.start()) + 1
        for _, package in islice(_LISTED.findall(found[1]), _MAX_LINES):
            yield from _installs("pip", package.partition(";")[0], line)


def _script(text: str) -> Iterator[Fact]:
    """Read the declared dependencies of a Python script, which uv installs before it runs it."""
    return _named_in(text, _SCRIPT_NEEDS.finditer(text))


def _lines_with(pattern: re.Pattern[str], manager: str) -> Callable[[str], Iterator[Fact]]:
    """Return a reader of a manifest with one package per line."""

    def read(text: str) -> Iterator[Fact]:
        for number, line in enumerate(text.split("\n")[:_MAX_LINES], start=1):
            if found := pattern.match(line):
                yield from _installs(manager, found[1], number)

    return read


def _cargo(text: str) -> Iterator[Fact]:
    try:
        project = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    lines = LineFinder(text)
    for table in ("dependencies", "dev-dependencies", "build-dependencies"):
        for name in list(_table(project, table))[:_MAX_LINES]:
            yield from _installs("cargo", name, lines.line_of(name))


def _setup_cfg(text: str) -> Iterator[Fact]:
    """Read dependencies that setup.cfg installs from a URL."""
    for number, line in enumerate(text.split("\n")[:_MAX_LINES], start=1):
        if _FROM_URL.match(line):
            yield from _installs("pip", line.strip(), number)


def _hook_repositories(text: str) -> Iterator[Fact]:
    """Read the repositories whose hooks pre-commit runs."""
    for number, line in enumerate(text.split("\n")[:_MAX_LINES], start=1):
        found = _REPOSITORY.match(line)
        for host in hosts_in(found[1])[:1] if found else ():
            kind = classify_host(host)
            yield Fact(
                act=Act.RUN_REMOTE, line=number, text=shorten(line), host=host, host_class=kind,
                detail="hooks of a repository",
            )  # fmt: skip


def _build_rs(text: str) -> Iterator[Fact]:
    """Find programs that a Rust build script starts; there is no reader for Rust."""
    found = list(_RUST_COMMAND.finditer(text))
    network = _RUST_NETWORK.search(text)
    if found or network:
        yield _hook(1, "build.rs is run when the crate is built", "build.rs")
    if network:
        line = text.count("\n", 0, network.start()) + 1
        yield Fact(act=Act.FETCH, line=line, text=shorten(network[0]), detail="build.rs")
    for command in found[:50]:
        words = [command[1], *_RUST_TEXT.findall(command[2])]
        line = text.count("\n", 0, command.start()) + 1
        yield from run_at(" ".join(f"'{word.replace(chr(39), chr(34))}'" for word in words), line)


def _table(parent: Any, name: str) -> dict[str, Any]:
    found = parent.get(name) if isinstance(parent, dict) else None
    return found if isinstance(found, dict) else {}


def _list(parent: dict[str, Any], name: str) -> list[Any]:
    found = parent.get(name)
    return found if isinstance(found, list) else []


def _texts(found: Any) -> list[str]:
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


_READERS: dict[str, Callable[[str], Iterator[Fact]]] = {
    "package.json": _package_json,
    "pyproject.toml": _pyproject,
    "setup.py": _setup_py,
    "setup.cfg": _setup_cfg,
    ".pre-commit-config.yaml": _hook_repositories,
    "build.rs": _build_rs,
    "cargo.toml": _cargo,
    "gemfile": _lines_with(_GEM, "gem"),
    "environment.yml": _lines_with(_CONDA, "pip"),
    "environment.yaml": _lines_with(_CONDA, "pip"),
}

"""Tools that run, deploy or install the content of an address in their arguments."""

import re
from collections.abc import Callable
from itertools import pairwise

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, classify_host
from vskill_platform.scan.facts.loading_variables import INDEX_VARIABLES
from vskill_platform.scan.languages.shell.state import Command, Host, State

RunCommand = Callable[[State, Command], str]

#: A URL in any spelling that these tools accept: `git::https://…`, `git+ssh://…`, `x=oci://…`.
_ADDRESS = re.compile(
    r"(?:^|[=:+@\[\s])(?:https?|git|ssh|oci|docker|docker-image|s3|hg|ftp)://(?:[^/@\s]{1,200}@)?"
    r"(\[[0-9a-fA-F:.]{2,45}\]|[\w.-]{1,253})",
    re.IGNORECASE,
)
#: An image in a registry: the part before the first slash has a dot or a port.
_IMAGE = re.compile(
    r"((?:[\w-]+\.)+[a-z]{2,20}|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?/[\w./@:-]{1,300}"
)
#: Words after which a tool runs or deploys its argument; an empty set stands for any word.
_RUNNING: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for names, words in {
        "kubectl oc k3s microk8s": "apply create replace run krew",
        "helm": "install upgrade template repo pull plugin registry",
        "helmfile kustomize flux argocd skaffold kpt timoni": "",
        "docker": "run create build buildx compose import pull stack",
        "docker-compose": "",
        "terraform tofu terragrunt": "init run apply plan stack get",
        "pulumi": "new up plugin package",
        "ansible-galaxy": "install role collection",
        "nix-env nix-build nixos-rebuild home-manager": "",
        "wasmtime wasmer wasmedge kotlin scala amm xonsh elvish": "",
        "deno": "install run compile eval serve bundle test cache",
        "bun": "run x create",
        "gh": "extension",
        "krew asdf mise rtx proto": "",
        "vagrant": "box init up",
        "code cursor codium windsurf": "--install-extension",
        "yarn": "plugin set policies",
        "rpm": "-i -ivh -U -Uvh -F --install --upgrade",
        "pacman": "-U",
    }.items()
    for name in names.split()
}
#: Words after which a package manager installs from the address.
_SOURCES: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for names, words in {
        "npm pnpm yarn bun": "config set c registry",
        "pip uv poetry pdm": "config source index",
        "gem": "sources source -s --source --clear-sources",
        "bundle": "config",
        "conda mamba micromamba": "config install create -c --channel update",
        "go": "env",
        "nuget dotnet": "source sources add -Source --source --add-source install tool",
        "composer": "config create-project require",
        "choco winget scoop": "source sources bucket --source -s",
        "flatpak": "remote-add",
        "apk": "add",
        "add-apt-repository apt-add-repository": "",
        "cpanm": "--mirror",
        "opam": "repository repo",
    }.items()
    for name in names.split()
}
#: Tools that accept images, and words of docker after which a URL is for the program in the image.
_IMAGES = frozenset({"docker", "kubectl", "oc"})
_IN_IMAGE = frozenset({"run", "create", "pull"})
#: Tools that accept code only with these options.
_FILES_ONLY = frozenset({"kubectl", "oc", "k3s", "microk8s"})
_FILE_OPTION = re.compile(
    r"(?:.*\s)?(?:-[fk]|--(?:filename|kustomize|manifest-url|manifest|image)(?=[=\s]))"
)
#: Options whose values are data for the started program, with or without `=`.
_DATA = re.compile(
    r"--?(?:set(?:-\w+)?|e|env|label|build-arg|var|docker-\w+|from-literal|d|data|header|H|values?)"
    r"(?:=.*)?|[A-Za-z_][\w.]*=(?!git).*"
)
#: Pages of a code host, where projects usually publish their charts.
_PAGES = (".github.io", ".gitlab.io")
_MAX_WORDS, _MAX_SOURCES = 4, 4


def note_sources(state: State, command: Command) -> None:
    """Record the unknown hosts from which a tool gets its code or packages."""
    running, sources = _RUNNING.get(command.name), _SOURCES.get(command.name)
    words = {arg.partition("=")[0] for arg in command.args[:_MAX_WORDS]}
    if running is not None and (not running or not running.isdisjoint(words)):
        state.emit_all(Act.RUN_REMOTE, _hosts(state, command), command.name)
    if sources is not None and (
        not sources or not sources.isdisjoint({*words, *command.args[:40]})
    ):
        state.emit_all(Act.INSTALL, _hosts(state, command), f"{command.name} from")


def note_index(state: State, value: str) -> None:
    """Record the unknown hosts in the value of a variable that names a package index."""
    names = _ADDRESS.findall(state.plain(value)[:2000])
    names += [host.name for host in state.flow(value).hosts if host.name]
    state.emit_all(Act.INSTALL, _unknown(names), "index")


def _hosts(state: State, command: Command) -> list[Host]:
    if command.args[:2] == ["repo", "index"]:  # describes the user's own charts
        return []
    found: list[str] = []
    takes_url = command.name != "docker" or _IN_IMAGE.isdisjoint(command.args[:2])
    for before, arg in pairwise(["", *command.args[:200]]):
        text = state.plain(arg)
        if text == "--":  # the rest is for another program
            break
        if command.name in _FILES_ONLY and not _FILE_OPTION.match(f"{before} {text}"):
            continue
        if text.partition("=")[0] in INDEX_VARIABLES:  # go env -w GOPROXY=…
            note_index(state, text)
        if (
            "/" not in text
            or _DATA.fullmatch(text)
            or (_DATA.fullmatch(before) and "=" not in before)
        ):
            continue
        if "://" in text:
            found += _ADDRESS.findall(text[:2000]) if takes_url else []
        elif command.name in _IMAGES and (image := _IMAGE.fullmatch(text.rpartition("=")[2])):
            found.append(image[1])
        if len(found) >= _MAX_SOURCES:
            break
    return _unknown(found)


def _unknown(names: list[str]) -> list[Host]:
    kinds = {name.lower().rstrip("."): classify_host(name.lower().rstrip(".")) for name in names}
    return [
        Host(name, kind)
        for name, kind in kinds.items()
        if kind not in VOUCHED_FOR and not name.endswith(_PAGES)
    ]


def with_sources(programs: dict[str, RunCommand], *, other: RunCommand) -> dict[str, RunCommand]:
    """Return the table with the tools of this module added; *other* handles unknown ones."""
    names = _RUNNING.keys() | _SOURCES.keys()
    return programs | {name: _noting(programs.get(name, other)) for name in sorted(names)}


def _noting(run: RunCommand) -> RunCommand:
    def noting(state: State, command: Command) -> str:
        note_sources(state, command)
        return run(state, command)

    return noting

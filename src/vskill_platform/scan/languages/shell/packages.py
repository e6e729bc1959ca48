"""Commands that install packages, by name or from a URL."""

import re

from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, classify_host, hosts_in
from vskill_platform.scan.languages.shell.options import read_options
from vskill_platform.scan.languages.shell.run import run_file
from vskill_platform.scan.languages.shell.sending import host_of
from vskill_platform.scan.languages.shell.state import Command, Host, State
from vskill_platform.scan.languages.shell.system import run_make
from vskill_platform.scan.languages.shell.tool_servers import TOOL_SERVERS
from vskill_platform.scan.languages.shell.wrappers import run_uv

FROM_ADDRESS = "package from url"
#: High enough to cut nothing off, because the relevant name may be the last.
_NAMES_IN_A_FACT = 8
_MAX_NAMES = 400
#: Program → words before the packages; an empty tuple means none.
_MANAGERS: dict[str, tuple[str, ...]] = {
    "pip": ("install", "download"), "pipx": ("install", "run", "inject"), "uv": ("add", "install"),
    "poetry": ("add",), "pdm": ("add",),
    "conda": ("install", "create"), "mamba": ("install", "create"), "easy_install": (),
    "npm": ("install", "i", "add", "exec", "x", "create", "init", "ci"),
    "pnpm": ("add", "install", "i", "dlx", "create"),
    "yarn": ("add", "dlx", "create", "global"), "bun": ("add", "install", "i", "x", "create"),
    "npx": (), "uvx": (),
    "apt": ("install",), "apt-get": ("install",), "aptitude": ("install",), "dnf": ("install",),
    "yum": ("install",), "apk": ("add",),
    "pacman": ("-S", "-Sy", "-Syu"), "zypper": ("install", "in"),
    "brew": ("install", "tap", "reinstall"), "port": ("install",), "snap": ("install",),
    "flatpak": ("install",), "nix-env": ("-iA", "-i"), "choco": ("install",),
    "winget": ("install",), "scoop": ("install",),
    "cargo": ("install", "add", "binstall"), "gem": ("install",), "go": ("install", "get"),
    "composer": ("require",), "dotnet": ("add", "install"),
    "deno": ("install",), "clawhub": ("install",), "skills": ("add", "install"),
    "luarocks": ("install",), "cpan": (), "cpanm": (),
}  # fmt: skip
_VALUED = frozenset(
    {
        "index-url", "extra-index-url", "registry", "from", "with", "python", "prefix", "target",
        "version", "git", "tag", "branch", "rev",
        "features", "root", "path", "requirement", "constraint", "find-links", "trusted-host",
        "channel", "name", "package", "call", "filter", "cwd",
        "editable", "group",
    }
)  # fmt: skip
_ADDRESS = re.compile(
    r"(?:[\w.-]{1,80}\s?@\s?)?(?:git\+\w+://|https?://|git://|git@|ssh://|github:|gitlab:"
    r"|bitbucket:|gist:)",
    re.IGNORECASE,
)
_SHORT_HOSTS = {
    "github": "github.com",
    "gitlab": "gitlab.com",
    "bitbucket": "bitbucket.org",
    "gist": "gist.github.com",
}
_PACKAGE = re.compile(r"[@A-Za-z0-9][\w@./:~^=<>!,\[\]+*-]{0,120}")
_LETTERS = {
    "pip": "ricfet",
    "npx": "pc",
    "npm": "wCc",
    "uvx": "p",
    "cargo": "jF",
    "apt-get": "ot",
    "apt": "ot",
    "conda": "ncp",
    "mamba": "ncp",
    "brew": "",
    "gem": "vi",
    "uv": "pri",
}
#: Domains that Go modules are known by, and that lead to a repository of a known owner.
_GO_DOMAINS = frozenset(
    {
        "golang.org", "google.golang.org", "gopkg.in", "k8s.io", "sigs.k8s.io", "go.uber.org",
        "honnef.co", "mvdan.cc", "cuelang.org", "gorm.io", "rsc.io", "go.etcd.io", "modernc.org",
        "gotest.tools", "istio.io", "helm.sh", "buf.build", "connectrpc.com", "gioui.org",
        "goa.design", "tailscale.com", "filippo.io", "entgo.io", "gvisor.dev", "dagger.io",
        "cloud.google.com", "go.opentelemetry.io", "go.dev", "charm.land", "gitea.com",
        "storj.io", "upper.io", "gonum.org", "sigstore.dev", "knative.dev", "tinygo.org",
    }
)  # fmt: skip
#: Options with which a package manager accepts any certificate.
_NO_CHECKS = (["config", "set", "strict-ssl", "false"], ["set", "strict-ssl", "false"])
_RUNS_FOLDER = frozenset(
    {"npm", "pnpm", "yarn", "bun", "cargo", "poetry", "uv", "go", "composer", "dotnet"}
)


def run_manager(state: State, command: Command) -> str:
    if command.name == "uv" and command.args[:1] == ["run"]:
        return run_uv(state, command)
    if command.args[:4] in _NO_CHECKS:
        state.emit(Act.DISARM, "certificate checks of npm")
    verbs = _MANAGERS[command.name]
    at = next((index for index, arg in enumerate(command.args[:4]) if arg in verbs), -1)
    if verbs and at < 0:
        return (
            run_make(state, command)
            if command.name in _RUNS_FOLDER
            else state.derive(command.stdin)
        )
    options = read_options(command.args[at + 1 :], _LETTERS.get(command.name, ""), _VALUED)
    if options.rest[:1] and options.rest[0].partition("@")[0] in TOOL_SERVERS:
        TOOL_SERVERS[options.rest[0].partition("@")[0]](state, command)
    named = (
        options.rest[:1]
        if not verbs or command.args[at] in {"exec", "x", "dlx", "run", "create", "init"}
        else options.rest
    )
    given = [*options.values("from", "p", "package", "with", "git", "e", "editable"), *named]
    packages = [package for package in given if package not in {"global", "app", "tool", "package"}]
    _install(
        state,
        command,
        [state.plain(package) for package in packages],
        _index_host(state, options.values("index-url", "extra-index-url", "registry", "i")),
    )
    return state.derive(command.stdin)


def _index_host(state: State, values: list[str]) -> Host | None:
    index = next((value for value in values if "://" in value), None)
    return host_of(state, index) if index else None


def _install(state: State, command: Command, packages: list[str], index: Host | None) -> None:
    from_address = [package for package in packages if _ADDRESS.match(package)]
    if command.name == "go":
        from_address += [package for package in packages if _is_of_unknown_owner(package)]
    for package in from_address[:8]:
        state.emit(Act.RUN_REMOTE, FROM_ADDRESS, _host(state, package))
    for package in packages:
        if package in {".", "./", "./."} or package.startswith(("./", ".[")):
            known = run_file(state, package, command.name)
            if not known:
                run_make(state, Command(command.name, []))
        elif state.recall(package) is not None and "." in package:
            run_file(state, package, command.name)
    if not packages and command.name in _RUNS_FOLDER:
        run_make(state, Command(command.name, []))
    names = [
        package
        for package in packages
        if _PACKAGE.fullmatch(package) and package not in from_address
    ]
    for start in range(0, min(len(names), _MAX_NAMES), _NAMES_IN_A_FACT):
        some = names[start : start + _NAMES_IN_A_FACT]
        state.emit(Act.INSTALL, f"{command.name}: {' '.join(some)}", index)


def _is_of_unknown_owner(module: str) -> bool:
    """Return whether a Go module comes from a domain that nobody vouches for."""
    domain, slash, _ = module.partition("/")
    if not slash or "." not in domain.strip(".") or domain in _GO_DOMAINS:
        return False
    return classify_host(domain) not in VOUCHED_FOR


def _host(state: State, package: str) -> Host:
    text = (
        package.partition("@")[2].strip()
        if re.match(r"[\w.-]{1,80}\s?@\s?(?:git|http)", package)
        else package
    )
    short = _SHORT_HOSTS.get(text.partition(":")[0].lower())
    if short:
        return Host(short)
    found = hosts_in(
        text.replace("git+", "").replace("ssh://", "https://").replace("git://", "https://")
    )
    return Host(found[0].rpartition("@")[2]) if found else host_of(state, text)


PACKAGES = dict.fromkeys(_MANAGERS, run_manager)

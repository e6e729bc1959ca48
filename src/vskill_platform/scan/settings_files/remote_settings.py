"""Find the sources from which configuration files and pages take code, packages and images.

Each kind of file has a pattern, because each tool has its own syntax. Only untrusted hosts are
recorded.
"""

import html
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec
import re2

from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole, shorten
from vskill_platform.scan.facts.hosts import VOUCHED_FOR, HostClass, classify_host
from vskill_platform.scan.languages.dispatch import read_javascript
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import ScanFile

_URL = r"(?:git(?:::|\+))?(?:https?|git|ssh|oci|s3)(?:\\?:)//[^\s\"'<>)\]},]+"
_IMAGE = r"(?:[\w-]+\.)+[a-z]{2,20}(?::\d{1,5})?/[\w./@:-]+"
_ITEM = rf"^[ \t]*-?[ \t]*[\"']?(?:[\w./@-]+[\"']?[ \t]*:[ \t]*[\"']?)?({_URL})"
_MAX_SOURCES = 50
_MAX_SCRIPT = 200_000


class _Source(msgspec.Struct, frozen=True):
    """The sources in one kind of file."""

    path: str
    act: Act
    detail: str
    pattern: str

    def is_for(self, path: str) -> bool:
        return _path_pattern(self.path).search(path) is not None

    def matches(self, raw: bytes) -> Iterator[Any]:
        yield from _pattern(self.pattern).finditer(raw)


# Compiled when the first file of its kind is seen, because few skills contain one.
@cache
def _path_pattern(path: str) -> re.Pattern[str]:
    return re.compile(path)


@cache
def _pattern(pattern: str) -> "re2._Regexp":
    return re2.compile(rf"(?m){pattern}".encode())


_RUN, _INSTALL = Act.RUN_REMOTE, Act.INSTALL
_SOURCES = (
    _Source(r"\.gitlab-ci\.ya?ml$", _RUN, "included pipeline",
            rf"(?:^include[ \t]*:|\bremote[ \t]*:|^[ \t]+-)[ \t]*[\"']?({_URL})"),
    _Source(r"\.gitlab-ci\.ya?ml$|bitbucket-pipelines\.ya?ml$", _RUN, "image",
            rf"\b(?:image|name|pipe)[ \t]*:[ \t]*[\"']?(?:docker://)?({_IMAGE})"),
    _Source(r"(?:^|/)\.github/.*\.ya?ml$|(?:^|/)action\.ya?ml$", _RUN, "image",
            rf"\b(?:uses|image)[ \t]*:[ \t]*[\"']?docker://({_IMAGE})"),
    _Source(r"(?:^|/)(?:dockerfile|containerfile)[^/]*$|\.dockerfile$", _RUN, "image",
            rf"(?:^FROM[ \t]+(?:--\S+[ \t]+)*|^#[ \t]*syntax[ \t]*=[ \t]*|--from=)({_IMAGE})"),
    _Source(r"(?:docker-)?compose[^/]*\.ya?ml$", _RUN, "image",
            rf"\bimage[ \t]*:[ \t]*[\"']?({_IMAGE})"),
    _Source(r"(?:docker-)?compose[^/]*\.ya?ml$", _RUN, "included file",
            rf"(?:\b(?:build|context|path)[ \t]*:|^[ \t]*-)[ \t]*[\"']?({_URL})"),
    _Source(r"devcontainer[^/]*\.json$", _RUN, "image",
            rf"\"(?:image|[^\"]{{0,9}})\"[ \t]*:[ \t]*\"({_IMAGE})"),
    _Source(r"devcontainer[^/]*\.json$", _RUN, "feature", rf"\"({_URL})\"[ \t]*:"),
    _Source(r"kustomization\.ya?ml$|taskfile[^/]*\.ya?ml$", _RUN, "included file", _ITEM),
    _Source(r"chart\.ya?ml$|helmfile[^/]*\.ya?ml$", _RUN, "chart",
            rf"\b(?:repository|url)[ \t]*:[ \t]*[\"']?({_URL})"),
    _Source(r"\.(?:tf|hcl|tofu)$", _RUN, "module",
            rf"\bsource[ \t]*=[ \t]*\"({_URL}|{_IMAGE})"),
    _Source(r"\.terraformrc$|terraform\.rc$", _RUN, "provider", rf"\burl[ \t]*=[ \t]*\"({_URL})"),
    _Source(r"\.nix$", _RUN, "imported file",
            rf"(?:\burl[ \t]*=[ \t]*|\bimport[ \t(]+(?:builtins\.)?fetch\w+[ \t({{]*"
            rf"|\bfetch(?:Tarball|Git|Mercurial)[ \t]+)\"({_URL})"),
    _Source(r"\.gradle(?:\.kts)?$", _RUN, "applied script",
            rf"\bapply[ \t(]+from[ \t]*[:=][ \t]*[\"']({_URL})"),
    _Source(r"-wrapper\.properties$", _RUN, "wrapper", rf"^[ \t]*\w+Url[ \t]*=[ \t]*({_URL})"),
    _Source(r"\.gradle(?:\.kts)?$|\.sbt$", _INSTALL, "repository",
            rf"(?:\burl[ \t(=]*(?:uri\()?[ \t]*|\bat[ \t]+|\bmaven\()[\"']({_URL})"),
    _Source(r"pom\.xml$|(?:^|/)settings\.xml$", _INSTALL, "repository",
            rf"<(?:pluginR|r)epository>(?:[^<]|<[^/u])*(?:</?[a-tv-z]\w*>[^<]*)*<url>\s*({_URL})"),
    _Source(r"nuget\.config$", _INSTALL, "repository", rf"\bvalue[ \t]*=[ \t]*[\"']({_URL})"),
    _Source(r"package\.swift$|pubspec\.ya?ml$|mix\.exs$|gemfile$|cargo\.toml$|podfile$", _RUN,
            "package from url", rf"\b(?:url|git)[\"']?[ \t]*(?::|=>?)[ \t]*[\"']?({_URL})"),
    _Source(r"\.cargo/config(?:\.toml)?$", _INSTALL, "registry",
            rf"\b(?:registry|index)[ \t]*=[ \t]*[\"'](?:sparse\+)?({_URL})"),
    _Source(r"composer\.json$", _RUN, "package from url", rf"\"url\"[ \t]*:[ \t]*\"({_URL})"),
    _Source(r"deno\.jsonc?$|import_?map[^/]*\.json$", _RUN, "import",
            rf"\"[^\"\n]{{1,200}}\"[ \t]*:[ \t]*\"({_URL})"),
    _Source(r"(?:^|/)package\.json$", _RUN, "package from url",
            r"\"(?:packageManager\"[ \t]*:[ \t]*\"\w+@|[@\w./-]{1,200}\"[ \t]*:[ \t]*\"(?:git\+)?)"
            r"(https?://[^\s\"]{3,300}\.(?:tgz|tar\.gz|c?js|git)\b)"),
    _Source(r"(?:package-lock|npm-shrinkwrap)\.json$|yarn\.lock$|pnpm-lock\.yaml$|bun\.lock$",
            _INSTALL, "lock file", rf"(?:resolved|tarball)\"?[ \t]*:?[ \t]*\"?({_URL})"),
    _Source(r"(?:poetry|uv|pdm)\.lock$|pipfile(?:\.lock)?$", _INSTALL, "lock file",
            rf"\b(?:url|registry)\"?[ \t]*[=:][ \t]*[\"']({_URL})"),
    _Source(r"\.yarnrc(?:\.yml)?$|bunfig\.toml$|uv\.toml$|\.condarc$|\.gemrc$|\.bundle/config$",
            _INSTALL, "registry", rf"[\"' \t=:-]({_URL})"),
    _Source(r"(?:^|/)environment[^/]*\.ya?ml$", _INSTALL, "channel", rf"^[ \t]*-[ \t]*({_URL})"),
    _Source(r"(?:requirements|constraints)[^/]*\.(?:txt|in)$", _INSTALL, "requirements",
            rf"^[ \t]*(?:-r|-c|--requirement|--constraint)[ \t=]+({_URL})"),
    _Source(r"(?:^|/)workspace(?:\.bazel)?$|module\.bazel$|\.bzl$", _RUN, "archive",
            rf"\b(?:urls?|remote)[ \t]*=[ \t]*\[?[ \t]*[\"']({_URL})"),
    _Source(r"cmakelists\.txt$|\.cmake$", _RUN, "fetched content",
            rf"\b(?:GIT_REPOSITORY|URL|DOWNLOAD)[ \t]+\"?({_URL})"),
    _Source(r"(?:^|/)\.?gitconfig$|\.git/config$", _INSTALL, "repositories",
            rf"\[url[ \t]+\"({_URL})\"\]"),
    _Source(r"(?:^|/)requirements\.ya?ml$|galaxy\.ya?ml$", _RUN, "role",
            rf"\b(?:src|source|name)[ \t]*:[ \t]*[\"']?({_URL})"),
    _Source(r"brewfile$", _RUN, "tap", rf"^[ \t]*tap[ \t]+[^\n]*[\"']({_URL})"),
    _Source(r"vagrantfile$", _RUN, "box", rf"box_url[ \t]*=[ \t]*\[?[\"']({_URL})"),
    _Source(r"marketplace\.json$|plugin\.json$", _RUN, "plugin",
            rf"\"(?:url|source)\"[ \t]*:[ \t]*\"({_URL})"),
    _Source(r"\.envrc$", _RUN, "environment", rf"^[ \t]*(?:use|source_url)[ \t]+[^\n]*?({_URL})"),
    _Source(r"(?:^|/)go\.mod$", _RUN, "replaced module",
            r"=>[ \t]*((?:[\w-]+\.)+[a-z]{2,20}/[\w./-]{1,200})"),
    _Source(r"\.x?html?$", _RUN, "page",
            r"(?i)<(?:script|embed|base)\b[^>]*?\b(?:src|href)[ \t]*=[ \t]*[\"']?"
            rf"({_URL}|//[\w.-]+/)"),
    _Source(r"\.x?html?$", _RUN, "page",
            rf"(?i)(?:\bimport[ \t]*\(?[ \t]*|\bfrom[ \t]+|\.src[ \t]*=[ \t]*|"
            rf"<link\b[^>]*\brel=[\"']?import[\"']?[^>]*href=|<object\b[^>]*\bdata=)[\"'`]({_URL})"),
    _Source(r"\.claude/settings[^/]*\.json$|(?:^|/)settings(?:\.local)?\.json$", _RUN,
            "the agent's model",
            rf"\"(?:ANTHROPIC|OPENAI)_(?:BASE_URL|API_BASE)\"[ \t]*:[ \t]*\"({_URL})"),
    _Source(r"\.(?:css|scss|less|x?html?|svg)$", Act.LEAK, "what the user types",
            r"\[[ \t]*value[ \t]*[\^$*~|]?=[^\]\n]{1,60}\][^{}]{0,120}"
            rf"\{{[^}}]{{0,200}}url\([ \t]*[\"']?({_URL})"),
)  # fmt: skip
#: An action at a branch, on which anyone who can push to it decides what runs. These owners are
#: known.
_WORKFLOW = re.compile(r"(?:^|/)\.github/workflows/[^/]*\.ya?ml$|(?:^|/)action\.ya?ml$")
_ACTION = re.compile(
    r"(?m)\buses[ \t]*:[ \t]*[\"']?([\w.-]{1,60})/[\w./-]{1,200}"
    r"@((?:main|master|develop|dev|trunk|head|latest|next|canary|edge)\b)",
    re.IGNORECASE,
)
_KNOWN_OWNERS = frozenset(
    {
        "actions", "anthropics", "aquasecurity", "astral-sh", "aws-actions", "azure", "bufbuild",
        "cachix", "cloudflare", "codecov", "denoland", "determinatesystems", "docker", "dtolnay",
        "github", "golangci", "google-github-actions", "gradle", "hashicorp", "microsoft",
        "nixos", "oven-sh", "pnpm", "pre-commit", "pypa", "ruby", "rust-lang", "shivammathur",
        "slsa-framework", "snyk", "supabase", "trufflesecurity", "vercel",
    }
)  # fmt: skip
#: One search decides that a file is not of any of these kinds.
_ANY_SOURCE = re2.compile(
    "|".join(dict.fromkeys([*(source.path for source in _SOURCES), _WORKFLOW.pattern])).encode()
)
#: Scripts in pages, in attributes and between tags, that may load other scripts or read cookies.
_PAGE = re.compile(r"\.x?html?$")
_INLINE = re.compile(r"<script\b[^>]{0,500}>(.*?)(?:</script|\Z)", re.DOTALL | re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"\b(on[a-z]{3,20}|srcdoc|href)\s{0,9}=\s{0,9}(?:\"([^\"]{4,4000})\"|'([^']{4,4000})')",
    re.IGNORECASE,
)
_MAY_LOAD = re2.compile(
    rb"(?i)createElement\(\s*['\"`]script|document\.write|srcdoc|importScripts|getScript|"
    rb"document\.cookie|(?:local|session)Storage|WebAssembly|\beval\b|\bFunction\b|\batob\(|\bimport\s*\(|innerHTML|javascript:"
)

#: All stored data of a page, which is as private as its cookies.
_WHOLE_STORAGE = re.compile(
    r"JSON\.stringify\(\s?(?:window\.)?(?:local|session)Storage\s?[,)](?:\s?null,\s?\d\))?"
    r"|\{\s?\.\.\.(?:window\.)?(?:local|session)Storage\s?\}"
)


def remote_settings(files: list[ScanFile]) -> list[LocatedFact]:
    """Return the untrusted sources from which configuration files and pages take code."""
    return [
        LocatedFact(fact=fact, path=file.path, role=_role(file))
        for file in files
        if file.kind is FileType.TEXT
        for fact in _facts(file)
    ]


def _role(file: ScanFile) -> PartRole:
    """Return the role of a file that tools act on, independent of its suffix."""
    return file.role if file.role is PartRole.SAMPLE else PartRole.SCRIPT


def _facts(file: ScanFile) -> Iterator[Fact]:
    path = file.path.lower()
    if not _ANY_SOURCE.search(path.encode(errors="replace")):
        return
    sources = [source for source in _SOURCES if source.is_for(path)]
    raw = file.text.encode(errors="replace")
    for source in sources:
        yield from islice(_found(source, raw), _MAX_SOURCES)
    if _WORKFLOW.search(path):
        yield from _actions(file.text)
    if _PAGE.search(path) and _MAY_LOAD.search(raw):
        yield from _page_scripts(file.text)


def _found(source: _Source, raw: bytes) -> Iterator[Fact]:
    seen = set()
    for found in source.matches(raw):
        address = found[1].decode(errors="replace")
        host = _host(address)
        kind = classify_host(host)
        if host in seen or kind in VOUCHED_FOR or (_is_example(kind) and source.detail == "image"):
            continue
        seen.add(host)
        yield Fact(
            act=source.act, line=raw.count(b"\n", 0, found.start(1)) + 1, text=shorten(address),
            host=host, host_class=kind, detail=source.detail,
        )  # fmt: skip


def _is_example(kind: HostClass) -> bool:
    """Return whether a name stands for the user's own registry."""
    return kind is HostClass.PLACEHOLDER


def _host(address: str) -> str:
    rest = address.rpartition("//")[2] if "//" in address else address
    return rest.partition("/")[0].rpartition("@")[2].partition(":")[0].lower().rstrip(".")


def _actions(text: str) -> Iterator[Fact]:
    for found in islice(_ACTION.finditer(text), _MAX_SOURCES):
        if found[1].lower() not in _KNOWN_OWNERS:
            yield Fact(
                act=Act.RUN_REMOTE, line=text.count("\n", 0, found.start()) + 1,
                text=shorten(found[0]), host="github.com", host_class=HostClass.CODE,
                detail="action at a branch",
            )  # fmt: skip


def _page_scripts(text: str) -> Iterator[Fact]:
    """Read the scripts of a page that may load other scripts."""
    for found in islice(_INLINE.finditer(text), _MAX_SOURCES):
        yield from _script(found[1], text.count("\n", 0, found.start(1)))
    for found in islice(_ATTRIBUTE.finditer(text), _MAX_SOURCES):
        value = html.unescape(found[2] or found[3])
        line = text.count("\n", 0, found.start())
        name = found[1].lower()
        if name == "srcdoc":
            inner = ScanFile(
                path="page.html", size=0, kind=FileType.TEXT, role=PartRole.SCRIPT, text=value
            )
            for fact in _facts(inner) if "srcdoc" not in value.lower() else ():
                yield msgspec.structs.replace(fact, line=line + 1)
        elif name != "href" or value.lower().startswith("javascript:"):
            yield from _script(value.partition(":")[2] if name == "href" else value, line)


def _script(code: str, line: int) -> Iterator[Fact]:
    code = _WHOLE_STORAGE.sub("document.cookie", code[:_MAX_SCRIPT])
    if not _MAY_LOAD.search(code.encode(errors="replace")):
        return
    try:
        facts = read_javascript(code)
    except Unparsed as error:
        facts = error.facts
    for fact in facts:
        yield msgspec.structs.replace(fact, line=fact.line + line)

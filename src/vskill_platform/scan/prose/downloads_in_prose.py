"""Find downloads that a text offers as setup steps, by its links."""

import re

import re2

from vskill_platform.scan.facts.facts import Act, Fact, shorten
from vskill_platform.scan.facts.hosts import HostClass, classify_host, hosts_in, is_documentation
from vskill_platform.scan.prose.paragraphs import Paragraphs

_DOWNLOAD = re2.compile(
    r"(?i)\b(?:download(?:ed|s|ing)?|get it|grab|install(?:ed|s|er|ing|ation)?|visit|obtain|fetch|"
    r"setup file|set-?up (?:is )?here|go to|navigate to|open|available (?:at|from|here))\b"
)
#: A line that offers a program, not a page to read.
_SETUP = re2.compile(
    r"(?i)\bdownload (?:and|&) (?:install|run)\b|"
    r"\binstall(?:er|ation)? (?:it )?(?:from|file|package)\b|"
    r"\b(?:set-?up|install(?:er|ation)?|download)(?: (?:it|guide|steps))? (?:is )?here\b|"
    r"\b(?:for|on) (?:windows|mac ?os)\b"
)
_ARTEFACT = re.compile(
    r"\.(?:zip|rar|7z|exe|msi|dmg|pkg|app|deb|rpm|appimage|jar|scr|bat|ps1|iso|tar\.gz|tgz|apk)\b"
    r"|/releases/download/|/snippets/|/raw/",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://[^\s)\]\"'`<>]+")


def downloads(part: Paragraphs) -> list[Fact]:
    """Return the links in paragraphs that tell the reader to download something."""
    view = part.shown
    if "http" not in view.text:
        return []
    facts: list[Fact] = []
    start = 0
    plain = part.plain.text.split("\n")
    unlinked = part.unlinked.text.split("\n") if part.unlinked else plain
    for paragraph, words, bare in zip(view.text.split("\n"), plain, unlinked, strict=True):
        if "http" in paragraph:
            facts += _links_in(part, paragraph, bare.strip() or words, start)
        start += len(paragraph) + 1
    return facts


def _links_in(part: Paragraphs, paragraph: str, words: str, start: int) -> list[Fact]:
    is_setup = _SETUP.search(words) is not None
    is_told = is_setup or _DOWNLOAD.search(words) is not None
    facts: dict[tuple[int, str, str], Fact] = {}
    for link in _LINK.finditer(paragraph):
        path = link[0].find("/", len("https://"))
        is_file = path > 0 and _ARTEFACT.search(link[0], path) is not None
        host = next(iter(hosts_in(link[0])), None)
        host_class = classify_host(host) if host else None
        is_file |= host_class is HostClass.DROP and path > 0
        is_paste = host_class is HostClass.PASTE and path > 0
        if host is None or not (is_told or is_file or is_paste):
            continue
        if host_class is HostClass.LOCAL or (is_documentation(host) and not is_file):
            continue
        detail = "file" if is_file else "setup" if is_setup else "page"
        line = part.line_at(part.shown, start + link.start())
        if (line, host, detail) not in facts:
            lines = part.lines_between(part.shown, start + link.start(), start + link.end())
            facts[line, host, detail] = Fact(
                act=Act.TELL_DOWNLOAD,
                line=line,
                text=shorten(lines),
                host=host,
                host_class=host_class,
                detail=detail,
            )
    return list(facts.values())

"""Find packages with names that imitate popular ones (typosquatting)."""

import re
from collections.abc import Iterable, Iterator
from functools import cache

import msgspec

from vskill_platform.model.lookalike import is_one_typo_apart
from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact

_REGISTRIES = {
    "pypi": "pip pip3 pipx uv uvx poetry pdm rye easy_install",
    "npm": "npm npx pnpm pnpx yarn bun bunx",
    "rubygems": "gem",
    "crates": "cargo",
}
_REGISTRY_OF = {name: registry for registry, names in _REGISTRIES.items() for name in names.split()}
_NAME = re.compile(r"(?:@[\w.-]+/)?[A-Za-z0-9][\w.-]*")
_SEPARATORS = re.compile(r"[-_.]+")
#: Affixes that make a name look like an improved version.
_AFFIXES = re.compile(r"-(?:official|original|latest|secure|patched|fixed|stable)$")
#: Shorter names resemble each other by chance.
_MIN_CHARACTERS = 5


class _Names(msgspec.Struct, frozen=True):
    popular: frozenset[str]
    neighbours: frozenset[str]
    #: Popular names by their parts in order, and without separators.
    by_parts: dict[tuple[str, ...], str]
    by_letters: dict[str, str]
    #: Popular names and their neighbours, by each form with one letter left out.
    by_slip: dict[str, list[str]]
    longest: int


def imitated_names(facts: Iterable[LocatedFact]) -> Iterator[LocatedFact]:
    """Yield a fact for each installed package with an imitated name."""
    for located in facts:
        if located.fact.act is Act.INSTALL:
            manager, _, packages = located.fact.detail.rpartition(": ")
            registry = _REGISTRY_OF.get(manager or "pip")
            for package in packages.split() if registry else ():
                if registry and (popular := looks_like(package, registry)):
                    detail = f"{package} looks like {popular}"
                    fact = msgspec.structs.replace(
                        located.fact, act=Act.INSTALL_LOOKALIKE, detail=detail
                    )
                    yield msgspec.structs.replace(located, fact=fact)


def package_names(fact: Fact) -> Iterator[tuple[str, str]]:
    """Yield each package that is installed, in plain spelling, with its registry."""
    manager, _, packages = fact.detail.rpartition(": ")
    registry = _REGISTRY_OF.get(manager or "pip")
    for package in packages.split() if registry else ():
        if registry and (found := _NAME.match(package)):
            yield _SEPARATORS.sub("-", found[0].lower()).strip("-"), registry


@cache
def known_packages(registry: str) -> frozenset[str]:
    """Return the names of well-known packages, and of similar legitimate ones."""
    names = _names(registry)
    return names.popular | names.neighbours


def looks_like(package: str, registry: str) -> str | None:
    """Return the popular package whose name this one imitates."""
    found = _NAME.match(package)
    if found is None:
        return None
    if found[0].startswith("@"):
        return _scope_like(found[0].lower()) if registry == "npm" else None
    name = _SEPARATORS.sub("-", found[0].lower()).strip("-")
    known = _names(registry)
    if name in known.popular or name in known.neighbours or len(name) < _MIN_CHARACTERS:
        return None
    stem = _AFFIXES.sub("", name)
    if stem != name and stem in known.popular:
        return stem
    same = known.by_letters.get(name.replace("-", "")) or known.by_parts.get(_parts(name))
    return same or min(
        (
            other
            for other in one_typo_from(name, registry)
            if other in known.popular and len(other) >= _MIN_CHARACTERS
        ),
        default=None,
    )


def _scope_like(name: str) -> str | None:
    """Return the scope of a well-known vendor that the scope of a package imitates."""
    scope = name[1:].partition("/")[0]
    known = _known_scopes()
    if scope in known or len(scope) < _MIN_CHARACTERS:
        return None
    return next((f"@{other}" for other in known if is_one_typo_apart(scope, other)), None)


@cache
def _known_scopes() -> tuple[str, ...]:
    return tuple(load_data("packages.toml")["npm"]["scopes"])


def one_typo_from(name: str, registry: str) -> set[str]:
    """Return the known packages whose names are one typo away from this one."""
    known = _names(registry)
    if len(name) > known.longest + 1:
        return set()
    near = {other for form in _with_one_left_out(name) for other in known.by_slip.get(form, ())}
    return {other for other in near if is_one_typo_apart(name, other)}


def _with_one_left_out(name: str) -> list[str]:
    """Return a name and its forms without one letter; names one typo apart share a form."""
    return [name, *(name[:at] + name[at + 1 :] for at in range(len(name)))]


def _parts(name: str) -> tuple[str, ...]:
    return tuple(sorted(name.split("-")))


@cache
def _names(registry: str) -> _Names:
    table = load_data("packages.toml")[registry]
    popular = [_SEPARATORS.sub("-", name) for name in table["popular"]]
    by_slip: dict[str, list[str]] = {}
    for name in {*popular, *table["neighbours"]}:
        for form in _with_one_left_out(name):
            by_slip.setdefault(form, []).append(name)
    return _Names(
        popular=frozenset(popular),
        neighbours=frozenset(table["neighbours"]),
        by_parts={_parts(name): name for name in popular if "-" in name},
        by_letters={name.replace("-", ""): name for name in popular},
        by_slip=by_slip,
        longest=max(map(len, by_slip)),
    )

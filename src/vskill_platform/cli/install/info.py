"""`info`: show a skill of a registry before you install it."""

from typing import Any

import click

from vskill_platform.cli.install.options import chosen_target
from vskill_platform.cli.install.show import capability_lines, warn
from vskill_platform.cli.local_or_remote import json_option, registry_option
from vskill_platform.cli.output.terminal import echo, print_json, wrong_usage
from vskill_platform.client.addresses import segment
from vskill_platform.client.find_release import (
    API,
    SkillRelease,
    VersionItem,
    find_release,
    list_versions,
)
from vskill_platform.client.registry import Registry
from vskill_platform.client.shapes import Skill
from vskill_platform.client.version_range import split_wanted

_MAX_VERSIONS = 10


@click.command()
@click.argument("name", metavar="NAME[@RANGE]")
@registry_option
@json_option
def info(*, name: str, registry: str | None, as_json: bool) -> None:
    """Show a skill: publisher, versions, verdict and capabilities."""
    with wrong_usage():
        wanted, span = split_wanted(name)
    with chosen_target(registry).open() as opened:
        release = find_release(opened, wanted, span, with_files=False)
        versions = list_versions(opened, release.slug)
        if as_json:
            print_json(_as_json(opened, release, len(versions)))
        else:
            _show(opened, release, versions)


def _as_json(registry: Registry, release: SkillRelease, count: int) -> dict[str, Any]:
    """Return the response of the API, without the text of the SKILL.md."""
    path = f"{API}/skills/{segment(release.slug)}"
    answer: Skill = registry.get_json(path, Skill, version=release.version)
    skill = {key: value for key, value in answer["skill"].items() if key != "content"}
    return {"skill": {**skill, "versionCount": count}}


def _show(registry: Registry, release: SkillRelease, versions: list[VersionItem]) -> None:
    echo(f"{release.slug} {release.version}{' (private)' if release.is_private else ''}")
    echo(f"  {release.description}")
    some = ", ".join(
        item.version
        + ("" if item.standing in {"latest", "offered"} else f" ({item.standing})")
        + (" (deprecated)" if item.deprecated else "")
        for item in versions[:_MAX_VERSIONS]
    )
    more = f", and {len(versions) - _MAX_VERSIONS} older" if len(versions) > _MAX_VERSIONS else ""
    rows = {
        "publisher": release.author,
        "license": release.license or "not given",
        "versions": f"{some}{more}",
        "trust": f"{release.trust_tier} ({release.cert_tier.lower()}), "
        f"{release.trust_score} of 100",
        "scan": release.verdict or "the report is no longer stored",
        "digest": release.sha,
        "registry": registry.url,
    }
    for name, value in rows.items():
        echo(f"  {name:<10} {value}")
    for line in capability_lines(release.capabilities):
        echo(f"  {line}")
    if release.deprecated:
        warn(release.deprecated.words)
    for text in release.warnings:
        warn(text)
    echo(f"  install it with: vskill-platform install {release.slug}")

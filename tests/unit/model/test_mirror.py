"""Names of mirrored skills: unambiguous in both directions, and safe in every protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vskill_platform.errors import InvalidInput
from vskill_platform.mirror_settings import Mirror, MirrorKind
from vskill_platform.model.mirror import mirrored_slug, name_at_mirror, parse_mirrored
from vskill_platform.model.namespace import checked_namespace
from vskill_platform.model.source import mirror_source
from vskill_platform.web.skills import clawhub_names, client_names

VSKILL, DISCOVERY, CLAWHUB = (
    Mirror(name="hub", kind=kind, url="https://hub.example")
    for kind in (MirrorKind.VSKILL, MirrorKind.DISCOVERY, MirrorKind.CLAWHUB)
)


@pytest.mark.parametrize(
    ("mirror", "name", "slug"),
    [
        (VSKILL, "@acme/demo", "@hub_acme/demo"),
        (VSKILL, "ada/notes/tidy", "@hub_ada__notes/tidy"),
        (VSKILL, "git.example/ada/my_notes/tidy", "@hub_git_dexample__ada__my_unotes/tidy"),
        (VSKILL, "@other_acme/demo", "@hub_other_uacme/demo"),
        (DISCOVERY, "demo", "@hub_skills/demo"),
        (CLAWHUB, "acme/demo", "@hub_acme/demo"),
        (CLAWHUB, "ada.notes/tidy", "@hub_ada_dnotes/tidy"),
    ],
)
def test_a_name_there_and_its_slug_here_belong_together(
    mirror: Mirror, name: str, slug: str
) -> None:
    parsed = parse_mirrored(slug)

    assert mirrored_slug(mirror, name) == slug
    assert parsed
    assert (parsed.mirror, name_at_mirror(mirror, parsed)) == ("hub", name)


@pytest.mark.parametrize(
    "slug",
    [
        "@acme/demo",
        "hub_acme/demo",
        "@hub_/demo",
        "@hub_acme",
        "@hub_acme/demo/more",
        "@hub_acme/../demo",
        "@hub_acme/..",
        "@hub_______/demo",
        "@hub_a_x/demo",
        "@hub_a_/demo",
        "@hub_.._/demo",
        "@hub_a__/demo",
        "@hub_a__b__c__d/demo",
        "@hub_a___d_d/demo",
        "@hub_a___d__b/demo",
        "@HUB_acme/demo",
        "@hub_acme/Demo",
        "@hub_acme/demo%2f..",
        "@hub_acme/demo\n",
        "@hub_acme/" + "a" * 65,
        "@hub_" + "a" * 200 + "/demo",
    ],
)
def test_other_texts_name_no_mirrored_skill(slug: str) -> None:
    assert parse_mirrored(slug) is None


@pytest.mark.parametrize(
    ("mirror", "name"),
    [
        (VSKILL, "demo"),
        (VSKILL, "@acme/../demo"),
        (VSKILL, "a/b/c/d/demo"),
        (VSKILL, "acme/demo "),
        (DISCOVERY, "acme/demo"),
        (DISCOVERY, "../demo"),
        (CLAWHUB, "demo"),
        (CLAWHUB, "acme/De-mo"),
    ],
)
def test_names_that_cannot_be_mirrored_are_refused_with_an_example(
    mirror: Mirror, name: str
) -> None:
    with pytest.raises(InvalidInput, match="is not the name of a skill of hub: use"):
        mirrored_slug(mirror, name)


@given(
    st.from_regex(
        r"@?[a-z0-9_][a-z0-9_.,~+:-]{0,8}(/[a-z0-9_.,~+:-]{1,8}){0,2}/a-b", fullmatch=True
    )
)
def test_no_two_names_have_the_same_slug(name: str) -> None:
    try:
        slug = mirrored_slug(VSKILL, name)
    except InvalidInput:
        return
    parsed = parse_mirrored(slug)

    assert parsed
    assert name_at_mirror(VSKILL, parsed).removeprefix("@") == name.removeprefix("@")
    owned = clawhub_names.split_slug(slug)
    assert clawhub_names.join_slug(owned.owner, owned.name) == slug
    apm = client_names.apm_id(slug)
    assert apm
    assert client_names.slug_of_apm_id(apm) == slug


def test_nobody_can_own_the_namespace_of_a_mirror() -> None:
    with pytest.raises(InvalidInput, match="is not a namespace"):
        checked_namespace("@hub_acme")


def test_versions_of_a_mirrored_skill_are_one_submission() -> None:
    first, second = mirror_source("@hub_acme/demo", "1.0.0"), mirror_source("@hub_acme/demo", "2")

    assert first.key == second.key == "mirror:@hub_acme/demo#"
    assert (first.namespace, first.publisher, first.mirror, first.folder_name) == (
        "@hub_acme",
        "@hub_acme",
        "mirror:hub",
        "demo",
    )

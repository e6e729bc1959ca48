"""An owner and a name identify exactly one slug."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vskill_platform.web.skills.client_names import (
    OwnedName,
    apm_id,
    join_slug,
    path_of_uri,
    skill_uri,
    slug_of_apm_id,
    split_slug,
)

_SEGMENT = st.text("ab,.-_~+", min_size=1, max_size=6)
_REPO_SLUGS = st.lists(_SEGMENT, min_size=3, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("slug", "owner", "name"),
    [
        ("@acme/demo", "acme", "demo"),
        ("ada/notes/tidy", "ada,notes", "tidy"),
        ("git.example/ada/notes/tidy", "git.example,ada,notes", "tidy"),
        ("gitlab.com/ada/group,notes/tidy", "gitlab.com,ada,group,,notes", "tidy"),
    ],
)
def test_a_slug_becomes_an_owner_and_a_name_and_back(slug: str, owner: str, name: str) -> None:
    assert split_slug(slug) == OwnedName(owner, name)
    assert join_slug(owner, name) == slug


def test_an_owner_may_be_written_with_an_at_sign() -> None:
    assert join_slug("@acme", "demo") == "@acme/demo"


@given(_REPO_SLUGS)
def test_every_slug_of_a_repo_survives_the_round_trip(slug: str) -> None:
    assume(_is_possible(slug))
    owned = split_slug(slug)
    assert join_slug(owned.owner, owned.name) == slug


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        ("@acme/demo", "acme/demo"),
        ("ada/notes/tidy", "ada/notes/tidy"),
        ("git.example/ada/notes/tidy", "git.example/ada/notes/tidy"),
        ("gitlab.com/ada/group,notes/tidy", "gitlab.com/ada/group/notes/tidy"),
    ],
)
def test_apm_has_segments_instead_of_commas(slug: str, name: str) -> None:
    assert apm_id(slug) == name
    assert slug_of_apm_id(name) == slug


def test_apm_also_finds_the_owner_and_name_of_other_protocols() -> None:
    assert slug_of_apm_id("ada,notes/tidy") == "ada/notes/tidy"


@pytest.mark.parametrize("slug", ["ada/no,tes/tidy", "git.sr.ht/~ada/notes/tidy", "ada/c++/tidy"])
def test_apm_cannot_name_every_skill(slug: str) -> None:
    assert apm_id(slug) is None


@given(_REPO_SLUGS)
def test_an_apm_id_means_only_one_skill(slug: str) -> None:
    name = apm_id(slug)
    assert name is None or slug_of_apm_id(name) == slug


@given(_REPO_SLUGS, st.text("aö ?#%&.@+", min_size=1, max_size=6))
def test_a_uri_names_slug_and_file(slug: str, name: str) -> None:
    assume(name not in {".", ".."} and not {".", ".."} & set(slug.split("/")))
    assert path_of_uri(skill_uri(slug, name)) == f"{slug}/{name}"


def _is_possible(slug: str) -> bool:
    """Groups are joined by single commas, so no segment begins or ends with one."""
    return all(
        ",," not in part and not part.startswith(",") and not part.endswith(",")
        for part in slug.split("/")
    )

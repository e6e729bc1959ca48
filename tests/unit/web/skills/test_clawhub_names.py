"""Names that openclaw accepts, without two skills sharing one."""

import re

import pytest

from vskill_platform.web.skills.clawhub_names import join_slug, split_slug

#: From openclaw 2026.9.6, without the limit of 40 characters.
OWNER = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")


@pytest.mark.parametrize(
    ("slug", "owner"),
    [
        ("@acme/demo", "acme"),
        ("ada/notes/tidy", "ada.notes"),
        ("ada/my.notes/tidy", "ada.my_dnotes"),
        ("ada/my_notes/tidy", "ada.my__notes"),
        ("ada/my__dnotes/tidy", "ada.my____dnotes"),
        ("git.example:8443/ada/notes/tidy", "git_dexample_o8443.ada.notes"),
        ("ada/group,c++/tidy", "ada.group_cc_p_p"),
    ],
)
def test_an_owner_says_which_slug_it_is(slug: str, owner: str) -> None:
    name = slug.rpartition("/")[2]

    assert (split_slug(slug).owner, split_slug(slug).name) == (owner, name)
    assert join_slug(owner, name) == slug
    assert OWNER.fullmatch(owner)


def test_the_form_with_commas_is_understood() -> None:
    assert join_slug("ada,notes", "tidy") == "ada/notes/tidy"
    assert join_slug("git.example,ada,notes", "tidy") == "git.example/ada/notes/tidy"


@pytest.mark.parametrize("owner", ["ada.no_xtes", "ada.notes_", "a.b_/c"])
def test_an_unknown_escape_is_no_slug(owner: str) -> None:
    assert " " in join_slug(owner, "tidy")

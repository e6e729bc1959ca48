"""Settings of the sign-on provider, and of passwords."""

import pytest

from vskill_platform.errors import ConfigError
from vskill_platform.settings import load_settings
from vskill_platform.sign_on_settings import NamespaceGroups, namespace_groups, role_groups

PROVIDER = {"VSKILL_OIDC_ISSUER": "https://login.example", "VSKILL_OIDC_CLIENT_ID": "registry"}


def test_a_provider_and_its_groups_can_be_set() -> None:
    settings = load_settings(
        {
            **PROVIDER,
            "VSKILL_OIDC_CLIENT_SECRET": "hush",
            "VSKILL_OIDC_ROLE_GROUPS": '{"admin": ["CN=Admins,O=Acme"], "publisher": ["a b"]}',
            "VSKILL_OIDC_NAMESPACE_GROUPS": '{"@acme": {"owners": ["leads"]}}',
            "VSKILL_PASSWORD_SIGN_IN": "false",
        }
    )

    assert role_groups(settings) == {"admin": ("CN=Admins,O=Acme",), "publisher": ("a b",)}
    assert namespace_groups(settings) == {"@acme": NamespaceGroups(owners=("leads",))}
    assert "hush" not in repr(settings)


def test_a_provider_on_this_machine_may_use_http() -> None:
    issuer = "http://127.0.0.1:8080/realms/acme"

    assert load_settings({**PROVIDER, "VSKILL_OIDC_ISSUER": issuer}).oidc_issuer == issuer


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VSKILL_OIDC_ISSUER", "http://login.example"),
        ("VSKILL_OIDC_ISSUER", "https://user:secret@login.example"),
        ("VSKILL_OIDC_ISSUER", "https://login.example?x=1"),
        ("VSKILL_OIDC_ISSUER", "login.example"),
        ("VSKILL_OIDC_CLIENT_ID", ""),
        ("VSKILL_OIDC_CLIENT_ID", "a b"),
        ("VSKILL_OIDC_SCOPES", "profile email"),
        ("VSKILL_OIDC_SCOPES", 'openid "x"'),
        ("VSKILL_OIDC_NAME", " "),
        ("VSKILL_OIDC_NAME", "x" * 61),
        ("VSKILL_OIDC_NAME_CLAIM", ""),
        ("VSKILL_OIDC_GROUPS_CLAIM", ""),
        ("VSKILL_OIDC_ROLE_GROUPS", "admin=heads"),
        ("VSKILL_OIDC_ROLE_GROUPS", '{"owner": ["heads"]}'),
        ("VSKILL_OIDC_ROLE_GROUPS", '{"admin": "heads"}'),
        ("VSKILL_OIDC_ROLE_GROUPS", '{"admin": [""]}'),
        ("VSKILL_OIDC_NAMESPACE_GROUPS", '{"acme": ["leads"]}'),
        ("VSKILL_OIDC_NAMESPACE_GROUPS", '{"acme": {"owner": ["leads"]}}'),
        ("VSKILL_OIDC_NAMESPACE_GROUPS", '{"@local": {"owners": ["leads"]}}'),
        ("VSKILL_OIDC_NAMESPACE_GROUPS", '{"Acme Inc": {"owners": ["leads"]}}'),
        ("VSKILL_OIDC_NAMESPACE_GROUPS", '{"acme": {"members": [" "]}}'),
        ("VSKILL_OIDC_DEFAULT_ROLE", "admin"),
        ("VSKILL_OIDC_DEFAULT_ROLE", "none"),
        ("VSKILL_OIDC_SIGN_UP", "maybe"),
    ],
)
def test_a_wrong_one_stops_the_start_and_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load_settings({**PROVIDER, name: value})


@pytest.mark.parametrize(
    "environ", [{"VSKILL_PASSWORD_SIGN_IN": "false"}, {"VSKILL_OIDC_CLIENT_ID": "registry"}]
)
def test_an_incomplete_provider_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="VSKILL_OIDC_ISSUER"):
        load_settings(environ)

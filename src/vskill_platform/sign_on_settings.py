"""Settings for sign-in with GitHub, OpenID Connect and passwords, with their checks."""

import re
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.mail_settings import MailFields, is_mail_address
from vskill_platform.secret_settings import Secret
from vskill_platform.setting_values import is_loopback, is_plain_url, listed

_CLIENT_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")
#: Providers choose the id of a client: Google's ids contain dots, others are URLs.
_OIDC_CLIENT_ID = re.compile(r"[\x21-\x7e]{1,255}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MAX_LABEL = 60
_ROLES = ("reader", "publisher", "reviewer", "admin")
_NAMESPACE = re.compile(r"@?[a-z0-9][a-z0-9._:/-]{0,199}")


class SignOnFields(MailFields, frozen=True, kw_only=True):
    """A part of the settings; it extends the email settings, as a struct has one base."""

    # Sign-in with GitHub, for clients that have a GitHub token.
    #: Who may use it: nobody, users who linked their GitHub account, or everyone.
    github_sign_in: Literal["off", "linked", "anyone"] = "off"
    github_api_url: str = "https://api.github.com"
    #: The application of the registry; tokens of other applications are refused.
    github_client_id: str = ""
    github_client_secret: Secret = msgspec.field(default_factory=Secret)

    # Sign-in with an OpenID Connect provider; disabled without an issuer.
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    #: Empty for a public client, which uses only PKCE.
    oidc_client_secret: Secret = msgspec.field(default_factory=Secret)
    #: The name of the provider on the sign-in page.
    oidc_name: str = "single sign-on"
    oidc_scopes: str = "openid profile email"
    #: The claim from which the name of a new user is made.
    oidc_name_claim: str = "preferred_username"
    #: The claim with the groups of a user; with dots, a path to a nested claim.
    oidc_groups_claim: str = "groups"
    #: The groups that give a role, as a JSON object; without it, admins set the roles.
    oidc_role_groups: str = ""
    #: The groups that own a namespace or are members of it, as a JSON object.
    oidc_namespace_groups: str = ""
    #: The role of users without a group of `oidc_role_groups`; `none` refuses to sign them in.
    oidc_default_role: Literal["none", "reader", "publisher"] = "reader"
    #: Whether a user who signs in for the first time gets an account.
    oidc_sign_up: bool = True

    #: Whether users sign in with passwords; if off, only break-glass accounts do.
    password_sign_in: bool = True
    #: Whether reviewers and admins need a second factor for their rights.
    second_factor: Literal["optional", "staff"] = "optional"
    #: Email domains whose users can create an account themselves, separated by commas.
    sign_up_domains: str = ""

    # CI systems whose signed tokens a trusted publisher can use, by their issuers.
    github_actions_issuers: str = "https://token.actions.githubusercontent.com"
    gitlab_issuers: str = "https://gitlab.com"


class NamespaceGroups(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    owners: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


def check_sign_on(settings: SignOnFields) -> None:
    check_github(settings)
    check_oidc(settings)
    sign_up_domains(settings)
    for name in ("github_actions_issuers", "gitlab_issuers"):
        for url in listed(getattr(settings, name)):
            if not is_safe_url(url):
                raise ConfigError(
                    f"VSKILL_{name.upper()}: {url!r} must be like https://gitlab.example, with "
                    "https and without a user, password, query or fragment"
                )


def check_github(settings: SignOnFields) -> None:
    """Refuse a sign-in with GitHub that would accept tokens of other applications."""
    if settings.github_sign_in == "off":
        return
    if (
        not _CLIENT_ID.fullmatch(settings.github_client_id)
        or not settings.github_client_secret.reveal()
    ):
        raise ConfigError(
            "VSKILL_GITHUB_SIGN_IN needs VSKILL_GITHUB_CLIENT_ID and VSKILL_GITHUB_CLIENT_SECRET: "
            "the application at GitHub whose tokens it accepts"
        )
    if not is_safe_url(settings.github_api_url):
        raise ConfigError(
            "VSKILL_GITHUB_API_URL must be like https://api.github.com, without a user, "
            "password, query or fragment"
        )


def check_oidc(settings: SignOnFields) -> None:
    """Refuse an incomplete or unsafe provider, and groups that cannot be read."""
    if not settings.oidc_issuer:
        if settings.oidc_client_id or settings.oidc_client_secret.reveal():
            raise ConfigError("VSKILL_OIDC_CLIENT_ID is set, but VSKILL_OIDC_ISSUER is not")
        if not settings.password_sign_in:
            raise ConfigError(
                "VSKILL_PASSWORD_SIGN_IN=false needs VSKILL_OIDC_ISSUER: nobody could sign in"
            )
    elif not is_safe_url(settings.oidc_issuer):
        raise ConfigError(
            "VSKILL_OIDC_ISSUER must be like https://login.example/realms/acme, with https and "
            "without a user, password, query or fragment; only this machine may use http"
        )
    elif not _OIDC_CLIENT_ID.fullmatch(settings.oidc_client_id):
        raise ConfigError("VSKILL_OIDC_ISSUER needs VSKILL_OIDC_CLIENT_ID: the id of this registry")
    _check_claims(settings)
    if not role_groups(settings) and settings.oidc_default_role == "none":
        raise ConfigError(
            "VSKILL_OIDC_DEFAULT_ROLE=none needs VSKILL_OIDC_ROLE_GROUPS: nobody could sign in"
        )
    namespace_groups(settings)


def _check_claims(settings: SignOnFields) -> None:
    scopes = settings.oidc_scopes.split()
    if "openid" not in scopes or not all(_SCOPE.fullmatch(scope) for scope in scopes):
        raise ConfigError(
            "VSKILL_OIDC_SCOPES must be scopes with spaces between them, and contain openid"
        )
    if not settings.oidc_name.strip() or len(settings.oidc_name) > _MAX_LABEL:
        raise ConfigError(f"VSKILL_OIDC_NAME must have 1 to {_MAX_LABEL} characters")
    for name in ("oidc_groups_claim", "oidc_name_claim"):
        if not getattr(settings, name).strip():
            raise ConfigError(f"VSKILL_{name.upper()} must name a claim")


def sign_up_domains(settings: SignOnFields) -> frozenset[str]:
    """Return the email domains whose users can create an account; empty if no one can."""
    domains = [text.strip().lower() for text in settings.sign_up_domains.split(",")]
    found = frozenset(domain for domain in domains if domain)
    for domain in found:
        if not is_mail_address(f"x@{domain}") or "." not in domain:
            raise ConfigError(f"VSKILL_SIGN_UP_DOMAINS: {domain!r} is not like acme.example")
    if found and not settings.smtp_url:
        raise ConfigError("VSKILL_SIGN_UP_DOMAINS needs VSKILL_SMTP_URL: addresses are confirmed")
    if found and not settings.password_sign_in:
        raise ConfigError("VSKILL_SIGN_UP_DOMAINS needs VSKILL_PASSWORD_SIGN_IN=true")
    return found


def is_safe_url(url: str) -> bool:
    """Return whether secrets may be sent to this URL: https, or this machine."""
    host = urlsplit(url).hostname if is_plain_url(url) else None
    return host is not None and (url.startswith("https://") or is_loopback(host))


def role_groups(settings: SignOnFields) -> dict[str, tuple[str, ...]]:
    """Return the groups that give each role; empty if admins set the roles."""
    name, text = "VSKILL_OIDC_ROLE_GROUPS", settings.oidc_role_groups
    try:
        found = msgspec.json.decode(text or "{}", type=dict[str, tuple[str, ...]])
    except msgspec.DecodeError as error:
        example = '{"admin": ["registry-admins"]}'
        raise ConfigError(f"{name} must be a JSON object such as {example}: {error}") from error
    if unknown := sorted(set(found) - set(_ROLES)):
        raise ConfigError(f"{name}: {unknown[0]!r} is not one of the roles {', '.join(_ROLES)}")
    if not all(group.strip() for groups in found.values() for group in groups):
        raise ConfigError(f"{name}: the name of a group is empty")
    return found


def namespace_groups(settings: SignOnFields) -> dict[str, NamespaceGroups]:
    """Return the groups of owners and members of each namespace that the provider manages."""
    name, text = "VSKILL_OIDC_NAMESPACE_GROUPS", settings.oidc_namespace_groups
    try:
        found = msgspec.json.decode(text or "{}", type=dict[str, NamespaceGroups])
    except msgspec.DecodeError as error:
        example = '{"acme": {"owners": ["acme-leads"], "members": ["acme"]}}'
        raise ConfigError(f"{name} must be a JSON object such as {example}: {error}") from error
    for namespace, groups in found.items():
        if not _NAMESPACE.fullmatch(namespace) or namespace == "@local":
            raise ConfigError(f"{name}: {namespace!r} is not a namespace such as acme or @acme")
        if not all(group.strip() for group in (*groups.owners, *groups.members)):
            raise ConfigError(f"{name}: the name of a group of {namespace} is empty")
    return found

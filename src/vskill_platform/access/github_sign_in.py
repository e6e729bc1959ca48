"""Sign in with GitHub: the account must be linked to a user, or a new user is created for it.

An existing user or namespace with the same name is never taken over, because names at GitHub and
names here are independent of each other.
"""

from vskill_platform.access.tokens import NewToken, add_token, revoke_token
from vskill_platform.access.users import find_user, prepare_user
from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn
from vskill_platform.fetch.github_api import GithubUser, find_github_user
from vskill_platform.model.user import Role, Scope, User, checked_user_name, own_namespace
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.github_link_store import (
    GithubLink,
    delete_github_link,
    get_github_link,
    get_github_link_of,
    write_github_link,
)
from vskill_platform.stores.namespace_store import expect_namespace, get_namespace
from vskill_platform.stores.skill_store import has_skills_in
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.stores.user_store import get_user

#: The name of the tokens that this issues, and how many of them a user may have.
TOKEN_LABEL = "GitHub sign-in"  # noqa: S105 - a name, not a secret
MAX_TOKENS = 5
_SCOPES = (Scope.READ, Scope.SUBMIT)
_MAX_LENGTH = 300


async def exchange_github_token(github_token: str) -> NewToken:
    """Return a new token of the user that a GitHub account is linked to."""
    found = await _find_owner(github_token)
    link = await get_github_link(found.id)
    user = await find_user(link.record.user) if link else await _sign_up(found)
    if user.is_disabled:
        raise NotSignedIn(f"the account {user.name} is disabled")
    old = [token for token in await list_tokens(user.name) if token.label == TOKEN_LABEL]
    old.sort(key=lambda token: token.created_at, reverse=True)
    for token in old[MAX_TOKENS - 1 :]:
        await revoke_token(token.id, actor=user.name, reason="signed in again")
    return await add_token(user.name, TOKEN_LABEL, _SCOPES, actor=user.name)


async def link_github_account(user: User, github_token: str) -> GithubLink:
    """Link the owner of a GitHub token to a user, in place of an earlier link."""
    found = await _find_owner(github_token)
    link = GithubLink(github_id=found.id, login=found.login, user=user.name, at=get_now())

    async def plan() -> PlannedChange[GithubLink]:
        same = await get_github_link(found.id)
        if same and same.record.user != user.name:
            raise NotAllowed(f"the GitHub account {found.login} is linked to another account here")
        if same:
            return PlannedChange(result=same.record)
        audit = write_audit(
            "github link", user.name, actor=user.name, reason="", outcome=_shown(link)
        )
        return PlannedChange(operations=[*await write_github_link(link), audit], result=link)

    return await change(f"the GitHub account of {user.name}", plan)


async def unlink_github_account(user: User) -> GithubLink:
    """Remove the link; tokens that were already issued stay valid."""

    async def plan() -> PlannedChange[GithubLink]:
        old = await get_github_link_of(user.name)
        if old is None:
            raise NotFound(f"no GitHub account is linked to {user.name}")
        outcome = _shown(old.record)
        audit = write_audit("github unlink", user.name, actor=user.name, reason="", outcome=outcome)
        return PlannedChange(operations=[*delete_github_link(old), audit], result=old.record)

    return await change(f"the GitHub account of {user.name}", plan)


async def _find_owner(github_token: str) -> GithubUser:
    settings = get_settings()
    if settings.github_sign_in == "off":
        raise NotAllowed("this registry has no sign-in with GitHub")
    token = github_token.strip()
    if not token or len(token) > _MAX_LENGTH or not (token.isascii() and token.isprintable()):
        raise InvalidInput("give a GitHub token")
    return await find_github_user(settings, token)


async def _sign_up(found: GithubUser) -> User:
    """Create an account for a GitHub account, if its name is free and the operator allows it."""
    where = "Sign in here, and link it on your account page"
    if get_settings().github_sign_in != "anyone":
        raise NotAllowed(f"the GitHub account {found.login} is not linked to an account. {where}")
    try:
        name = checked_user_name(found.login)
    except InvalidInput as error:
        raise NotAllowed(f"{error}. Ask an admin for an account, and link it") from error

    async def plan() -> PlannedChange[User]:
        if known := await get_github_link(found.id):
            return PlannedChange(result=await find_user(known.record.user))
        if await get_user(name):
            raise NotAllowed(f"there is another account {name} here. If it is yours: {where}")
        space = await get_namespace(own_namespace(name))
        if space.revision != ABSENT or await has_skills_in(space.record.name):
            # A new user with that name would own the namespace and see its private skills.
            raise NotAllowed(
                f"the namespace {space.record.name} is used by others here. Ask an admin for an "
                "account, and link it"
            )
        link = GithubLink(github_id=found.id, login=found.login, user=name, at=get_now())
        created, user = await prepare_user(name, Role.READER, actor=name, reason=_shown(link))
        operations = [*created, *await write_github_link(link), expect_namespace(space)]
        return PlannedChange(operations=operations, result=user)

    return await change(f"the account of {name}", plan)


def _shown(link: GithubLink) -> str:
    return f"GitHub account {link.login} ({link.github_id})"


def is_github_sign_in() -> bool:
    return get_settings().github_sign_in != "off"

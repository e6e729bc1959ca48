"""The people of the access tests: Ada publishes, Ben reads, Rae reviews, Cyd administers."""

import re

import msgspec
from argon2 import PasswordHasher
from httpx import AsyncClient, Response

from vskill_platform.access.sessions import begin_session
from vskill_platform.access.users import add_user
from vskill_platform.model.user import DeletedNamespace, Role, User
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.namespace_store import get_namespace, write_namespace
from vskill_platform.stores.user_store import Password, write_password
from vskill_platform.web.http.visitor import SESSION_COOKIE

NAMES = {Role.READER: "ben", Role.PUBLISHER: "ada", Role.REVIEWER: "rae", Role.ADMIN: "cyd"}
PASSWORD = "correct horse battery staple"
#: The lowest costs there are: at the real ones, signing in takes most of a test's time.
CHEAP_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
_DIGEST = CHEAP_HASHER.hash(PASSWORD)
_CSRF = re.compile(r'name="csrf_token" value="([0-9a-f]+)"')


async def a_user(role: Role = Role.PUBLISHER, name: str = "") -> User:
    """Add somebody who can sign in with PASSWORD."""
    user = await add_user(name or NAMES[role], role, actor="test")
    await commit([write_password(user.name, Password(digest=_DIGEST, changed_at=get_now()))])
    return user


async def close_namespace(name: str) -> None:
    """Begin the deletion of a namespace as if it was killed after its first commit."""
    stored = await get_namespace(name)
    mark = DeletedNamespace(by="ada", at=get_now(), reason="we moved")
    closed = msgspec.structs.replace(stored.record, deleted=mark)
    assert await commit(write_namespace(stored, closed))


async def let_in(client: AsyncClient, user: User) -> str:
    """Give a client a session of this user; return its secret."""
    opened = await begin_session(user, address="127.0.0.1", browser="a test")
    host = client.base_url.host
    client.cookies.set(
        SESSION_COOKIE, opened.secret, domain=host if "." in host else f"{host}.local"
    )
    return opened.secret


def csrf_in(page: Response) -> str:
    """Return what the forms of a page bring along."""
    found = _CSRF.search(page.text)
    assert found, page.text
    return found.group(1)

"""The two cookies: of a session, and of a visitor who has been shown a form."""

import re
from datetime import timedelta

from litestar.datastructures import Cookie

from vskill_platform.settings import Settings

SESSION_COOKIE = "vskill_session"
#: Holds nothing but chance: a form that comes back with it was shown to the same browser.
VISIT_COOKIE = "vskill_visit"
_VISIT_LIFETIME = timedelta(days=1)
#: What our secrets look like; anything else in a cookie is nobody's.
_SECRET = re.compile(r"[\w-]{43}", re.ASCII)


def session_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(SESSION_COOKIE, secret, settings.session_lifetime, settings)


def ended_session_cookie(settings: Settings) -> Cookie:
    return _cookie(SESSION_COOKIE, "", timedelta(0), settings)


def visit_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(VISIT_COOKIE, secret, _VISIT_LIFETIME, settings)


def is_secret(text: str) -> bool:
    return _SECRET.fullmatch(text) is not None


def _cookie(name: str, value: str, lifetime: timedelta, settings: Settings) -> Cookie:
    return Cookie(
        key=name,
        value=value,
        path="/",
        max_age=int(lifetime.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=settings.public_url.startswith("https://"),
    )

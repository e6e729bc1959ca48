"""An admin who uses the panel and reads the message on the next page."""

import re
from html import unescape
from http.cookies import SimpleCookie
from typing import Any

from httpx import Response

from tests.unit.web.api_cast import Registry, browser_of
from vskill_platform.model.user import Role

_TOAST = re.compile(
    r'<div class="toast (?:good|bad)" role="(status|alert)"><svg.*?</svg><p>(.*?)</p>', re.DOTALL
)


class Operator:
    """A browser in which somebody has signed in."""

    def __init__(self, registry: Registry, headers: dict[str, str]) -> None:
        self._registry = registry
        self._headers = headers

    async def see(self, path: str) -> str:
        page = await self._registry.get(path, headers=self._headers)
        assert page.status_code == 200, page.text
        return page.text

    async def post(self, path: str, /, **fields: Any) -> Response:
        return await self._registry.post(path, data=fields, headers=self._headers)

    async def act(self, path: str, /, **fields: Any) -> tuple[str, str]:
        """Do something and follow; return `done` or `problem`, and what is said."""
        answer = await self.post(path, **fields)
        assert answer.status_code == 303, answer.text
        said = SimpleCookie(answer.headers["set-cookie"])["vskill_flash"]
        headers = {
            **self._headers,
            "Cookie": f"{self._headers['Cookie']}; vskill_flash={said.value}",
        }
        page = await self._registry.get(answer.headers["location"], headers=headers)
        assert page.status_code == 200, page.text
        assert 'vskill_flash=""' in page.headers["set-cookie"], "it would be said again"
        found = _TOAST.search(page.text)
        assert found, page.text
        return {"status": "done", "alert": "problem"}[found.group(1)], unescape(found.group(2))


async def an_operator(registry: Registry, role: Role) -> Operator:
    return Operator(registry, await browser_of(role))

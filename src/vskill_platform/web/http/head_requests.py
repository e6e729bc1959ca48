"""Answers HEAD wherever GET is answered: with the same head, and without the body."""

from typing import cast

from litestar.enums import HttpMethod, ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

#: A stream that nobody reads would never end.
_STREAMS = "/live/"
#: In the scope of what looks like a GET and was a HEAD.
IS_HEAD = "vskill_platform.is_head"


class HeadRequests:
    """Stands before whatever looks at the method; behind it there is no HEAD."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_head = scope["type"] == ScopeType.HTTP and scope["method"] == HttpMethod.HEAD
        if not is_head or scope["path"].startswith(_STREAMS):
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
            elif not message.get("more_body"):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        # A copy: the server looks at its own, so as not to wait for a body.
        as_get = cast("HTTPScope", {**scope, "method": HttpMethod.GET.value, IS_HEAD: True})
        await self._app(as_get, receive, send_head)

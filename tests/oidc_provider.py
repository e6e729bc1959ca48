"""A small OpenID Connect provider for tests, on the server side of the JOSE library.

It checks what a strict provider checks: the client, the redirect URI, PKCE, and that a code is used
once. A test can make it lie: change claims, the signature or what it publishes.
"""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

import msgspec
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.local_server import local_server

CLIENT_ID, CLIENT_SECRET = "registry", "hush:~+1%"
EVENT = "http://schemas.openid.net/event/backchannel-logout"


def a_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


KEY, OTHER_KEY = a_key("one"), a_key("two")


class Grant(msgspec.Struct):
    client_id: str
    redirect_uri: str
    nonce: str
    challenge: str
    subject: str


class OidcProvider:
    def __init__(self, now: Callable[[], datetime]) -> None:
        self.url = ""
        self.now = now
        self.key = KEY
        self.published = [KEY]
        #: Claims of each subject in the ID token, and in userinfo only.
        self.people: dict[str, dict[str, Any]] = {"s-1": {"preferred_username": "ada"}}
        self.userinfo: dict[str, dict[str, Any]] = {}
        #: Claims of the next tokens that are not true; None removes one.
        self.lies: dict[str, Any] = {}
        #: Makes the token instead of an honest signature.
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.metadata: dict[str, Any] = {}
        #: The status of every answer, if it is not 200.
        self.status = 200
        self.heard: list[str] = []
        self._grants: dict[str, Grant] = {}
        self._access: dict[str, str] = {}

    def authorize(self, url: str, subject: str = "s-1") -> str:
        """Let a person consent; return the URL to which the browser is sent back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.url}/authorize?")
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        code = secrets.token_urlsafe(16)
        self._grants[code] = Grant(
            query["client_id"], query["redirect_uri"], query["nonce"], query["code_challenge"],
            subject,
        )  # fmt: skip
        back = {"code": code, "state": query["state"], "iss": self.url}
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    def id_token(self, subject: str, nonce: str) -> str:
        claims = {**self._standard_claims(), "sub": subject, "nonce": nonce, **self.people[subject]}
        return self.sign(self._with_false_claims(claims))

    def logout_token(self, **claims: Any) -> str:
        standard = {**self._standard_claims(), "jti": secrets.token_hex(8), "events": {EVENT: {}}}
        return self.sign(self._with_false_claims({**standard, **claims}))

    def _standard_claims(self) -> dict[str, Any]:
        now = int(self.now().timestamp())
        return {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300}

    def _with_false_claims(self, claims: dict[str, Any]) -> dict[str, Any]:
        told = {**claims, **self.lies}
        return {name: value for name, value in told.items() if value is not None}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, _ = (await reader.readline()).decode().split(" ")
        headers = {}
        while text := (await reader.readline()).decode().strip():
            name, _, value = text.partition(": ")
            headers[name.lower()] = value
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.heard.append(f"{method} {urlsplit(target).path}")
        status, answer, more = self._answer(target, headers, body.decode())
        content = msgspec.json.encode(answer)
        head = (
            f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\nConnection: close\r\n{more}"
        )
        writer.write(f"{head}\r\n".encode() + content)
        await writer.drain()

    def _answer(self, target: str, headers: dict[str, str], body: str) -> tuple[int, Any, str]:
        parts = urlsplit(target)
        back = parse_qs(parts.query).get("post_logout_redirect_uri", [""])[0]
        answers: dict[str, Callable[[], tuple[int, Any, str]]] = {
            "/.well-known/openid-configuration": lambda: (200, self._published_metadata(), ""),
            "/jwks": lambda: (200, {"keys": [key.as_dict() for key in self.published]}, ""),
            "/authorize": lambda: (303, {}, f"Location: {self.authorize(self.url + target)}\r\n"),
            "/end": lambda: (303, {}, f"Location: {back}\r\n"),
            "/userinfo": lambda: self._tell_claims(headers),
            "/token": lambda: self._redeem(headers, {k: v[0] for k, v in parse_qs(body).items()}),
        }
        is_known = self.status == 200 and parts.path in answers
        return answers[parts.path]() if is_known else (self.status, {}, "")

    def _published_metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "end_session_endpoint": f"{self.url}/end",
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }

    def _tell_claims(self, headers: dict[str, str]) -> tuple[int, Any, str]:
        subject = self._access.get(headers.get("authorization", "").removeprefix("Bearer "))
        if subject is None:
            return 401, {}, ""
        return 200, {"sub": subject, **self.userinfo.get(subject, {})}, ""

    def _redeem(self, headers: dict[str, str], fields: dict[str, str]) -> tuple[int, Any, str]:
        if _client_of(headers, fields) != (CLIENT_ID, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}, ""
        grant = self._grants.pop(fields.get("code", ""), None)
        digest = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            grant is None
            or fields.get("grant_type") != "authorization_code"
            or grant.client_id != CLIENT_ID
            or grant.redirect_uri != fields.get("redirect_uri")
            or grant.challenge != challenge
        ):
            return 400, {"error": "invalid_grant"}, ""
        access = secrets.token_urlsafe(16)
        self._access[access] = grant.subject
        id_token = self.id_token(grant.subject, grant.nonce)
        return 200, {"access_token": access, "token_type": "Bearer", "id_token": id_token}, ""


def _client_of(headers: dict[str, str], fields: dict[str, str]) -> tuple[str, str]:
    scheme, _, text = headers.get("authorization", "").partition(" ")
    if scheme == "Basic":
        name, _, secret = base64.b64decode(text).decode().partition(":")
        return unquote_plus(name), unquote_plus(secret)
    return fields.get("client_id", ""), fields.get("client_secret", "")


@asynccontextmanager
async def oidc_provider(now: Callable[[], datetime]) -> AsyncIterator[OidcProvider]:
    provider = OidcProvider(now)
    async with local_server(provider.serve) as url:
        provider.url = url
        yield provider

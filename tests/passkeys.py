"""A software passkey device: it responds as a browser does, or wrongly if a test wants."""

import base64
import hashlib
import json
import secrets
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

_PRESENT, _VERIFIED, _HAS_KEY = 0x01, 0x04, 0x40


def text_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Device:
    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.credential_id = secrets.token_bytes(16)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.count = 0
        self.flags = _PRESENT | _VERIFIED

    def create(self, options: dict[str, Any]) -> str:
        """Return a new credential for these options."""
        numbers = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (numbers.x, numbers.y))
        public_key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        length = len(self.credential_id).to_bytes(2, "big")
        attested = bytes(16) + length + self.credential_id + public_key
        data = self._authenticator_data(options["rp"]["id"], self.flags | _HAS_KEY) + attested
        statement = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = self._client_data("webauthn.create", options)
        return self._credential(client_data, attestationObject=text_of(statement))

    def get(self, options: dict[str, Any]) -> str:
        """Return an assertion for these options."""
        self.count += 1
        data = self._authenticator_data(options["rpId"], self.flags)
        client_data = self._client_data("webauthn.get", options)
        signed = data + hashlib.sha256(client_data).digest()
        signature = self.key.sign(signed, ec.ECDSA(hashes.SHA256()))
        return self._credential(
            client_data, authenticatorData=text_of(data), signature=text_of(signature)
        )

    def _authenticator_data(self, host: str, flags: int) -> bytes:
        digest = hashlib.sha256(host.encode()).digest()
        return digest + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client_data(self, kind: str, options: dict[str, Any]) -> bytes:
        said = {"type": kind, "challenge": options["challenge"], "origin": self.origin}
        return json.dumps(said).encode()

    def _credential(self, client_data: bytes, **response: str) -> str:
        name = text_of(self.credential_id)
        answer = {"clientDataJSON": text_of(client_data), **response}
        return json.dumps(
            {
                "id": name, "rawId": name, "type": "public-key", "response": answer,
                "clientExtensionResults": {},
            }
        )  # fmt: skip

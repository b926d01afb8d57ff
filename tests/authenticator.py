"""An authenticator in software: it makes a key and signs as WebAuthn says, and never asks anybody."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from podium.adapters.presence.passkeys import encoded

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


@dataclass
class Authenticator:
    origin: str = "http://localhost:4711"
    flags: int = PRESENT | VERIFIED
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        client = self._client("webauthn.create", options["challenge"])
        data = self._data(options["rp"]["id"], self.flags | ATTESTED)
        data += bytes(16) + len(self.id).to_bytes(2, "big") + self.id + self._cose()
        attestation = b"\xa3" + _text("fmt") + _text("none") + _text("attStmt") + b"\xa0" + _text("authData")
        attestation += b"\x58" + len(data).to_bytes(1, "big") + data
        response = {"clientDataJSON": encoded(client), "attestationObject": encoded(attestation)}
        return {"id": encoded(self.id), "rawId": encoded(self.id), "type": "public-key", "response": response}

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        client = self._client("webauthn.get", options["challenge"])
        data = self._data(options["rpId"], self.flags)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": encoded(client),
            "authenticatorData": encoded(data),
            "signature": encoded(signature),
        }
        return {"id": encoded(self.id), "rawId": encoded(self.id), "type": "public-key", "response": response}

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _data(self, host: str, flags: int) -> bytes:
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + bytes(4)

    def _cose(self) -> bytes:
        numbers = self.key.public_key().public_numbers()
        point = [b"\x58\x20" + value.to_bytes(32, "big") for value in (numbers.x, numbers.y)]
        return b"\xa5\x01\x02\x03\x26\x20\x01\x21" + point[0] + b"\x22" + point[1]


def _text(word: str) -> bytes:
    return bytes([0x60 + len(word)]) + word.encode()

"""The passkeys of people in a file of the user's configuration, and the verification of signatures by WebAuthn.

Only public keys are stored. Every program that can write this file can add a key: a sandboxed agent cannot, another process of the
same user can.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from podium.core.messages import Approve
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files import atomic

HOST: Final = "localhost"
"""The name that passkeys belong to: browsers refuse an address of numbers."""
ORIGIN: Final = re.compile(r"http://localhost:[0-9]{1,5}")
MISSING: Final = 'passkeys need the library webauthn: pip install "podium[passkey]"'
FILE: Final = "passkeys.json"


@dataclass(frozen=True, slots=True)
class Passkey:
    person: str
    credential: str
    public_key: str
    name: str = ""
    added: int = 0
    """Milliseconds since 1970; 0 if unknown."""


class PasskeyFile:
    def __init__(self, user_dir: Path) -> None:
        self._path = user_dir / FILE

    def read(self) -> tuple[Passkey, ...]:
        if not self._path.exists():
            return ()
        try:
            rows = json.loads(self._path.read_text("utf-8"))["passkeys"]
            return tuple(Passkey(**row) for row in rows)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"{self._path} cannot be read: {error}") from error

    def add(self, passkey: Passkey) -> None:
        keys = [each for each in self.read() if each.credential != passkey.credential]
        self._write([*keys, passkey])

    def remove(self, credential: str) -> None:
        self._write([each for each in self.read() if each.credential != credential])

    def _write(self, keys: list[Passkey]) -> None:
        rows = [
            {
                "person": key.person,
                "credential": key.credential,
                "public_key": key.public_key,
                "name": key.name,
                "added": key.added,
            }
            for key in keys
        ]
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.write(self._path, json.dumps({"passkeys": rows}, indent=2).encode())


class PasskeyCheck:
    """A `PresenceCheck`. The library is imported when a proof is verified."""

    def __init__(self, file: PasskeyFile) -> None:
        self._file = file

    def fault(self, challenge: bytes, answer: Approve) -> str:
        proof = answer.proof or {}
        if find_spec("webauthn") is None:
            return MISSING
        key = next((each for each in self._file.read() if each.credential == proof.get("credential")), None)
        if key is None:
            return "the passkey is not known here"
        if key.person != answer.by:
            return f"the passkey belongs to {key.person}, not to {answer.by}"
        return _signature_fault(challenge, proof, key)


def _signature_fault(challenge: bytes, proof: Mapping[str, str], key: Passkey) -> str:
    from webauthn import verify_authentication_response
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        origin = local_origin(proof["client_data"])
        verify_authentication_response(
            credential=_credential(proof),
            expected_challenge=challenge,
            expected_rp_id=HOST,
            expected_origin=origin,
            credential_public_key=decoded(key.public_key),
            # A counter could not be stored with the log in one transaction; the challenge can be used once as it is.
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError) as error:
        return f"the proof is not valid: {error}"
    return ""


def local_origin(client_data: str) -> str:
    """The page on which something was signed; raises ValueError if it is not on this machine."""
    origin = str(json.loads(decoded(client_data))["origin"])
    if ORIGIN.fullmatch(origin) is None:
        raise ValueError("it was not made on this machine")
    return origin


def _credential(proof: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": proof["credential"],
        "rawId": proof["credential"],
        "type": "public-key",
        "response": {
            "clientDataJSON": proof["client_data"],
            "authenticatorData": proof["authenticator_data"],
            "signature": proof["signature"],
        },
    }


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()

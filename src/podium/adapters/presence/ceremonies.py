"""The two ceremonies of a page with a passkey: adding one, and signing an answer. What a page sends is JSON of WebAuthn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from podium.adapters.presence.passkeys import (
    HOST,
    MISSING,
    Passkey,
    PasskeyFile,
    decoded,
    encoded,
    local_origin,
)
from podium.errors import ConfigurationError


def enrolment_options(file: PasskeyFile, person: str) -> tuple[bytes, dict[str, Any]]:
    """The challenge, which the page's server keeps, and what `navigator.credentials.create` takes."""
    library = _library()
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        PublicKeyCredentialDescriptor,
        UserVerificationRequirement,
    )

    own = [each for each in file.read() if each.person == person]
    options = library.generate_registration_options(
        rp_id=HOST,
        rp_name="Podium",
        user_name=person,
        exclude_credentials=[PublicKeyCredentialDescriptor(id=decoded(each.credential)) for each in own],
        authenticator_selection=AuthenticatorSelectionCriteria(
            user_verification=UserVerificationRequirement.REQUIRED
        ),
    )
    return options.challenge, json.loads(library.options_to_json(options))


def enrol(
    file: PasskeyFile,
    person: str,
    *,
    challenge: bytes,
    response: Mapping[str, Any],
    name: str = "",
    added: int = 0,
) -> Passkey:
    """Store the passkey that the browser has made; raises if the response is not valid."""
    library = _library()
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        origin = local_origin(str(response["response"]["clientDataJSON"]))
        verified = library.verify_registration_response(
            credential=dict(response),
            expected_challenge=challenge,
            expected_rp_id=HOST,
            expected_origin=origin,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"the passkey was not added: {error}", code="presence") from error
    public_key = encoded(verified.credential_public_key)
    passkey = Passkey(person, encoded(verified.credential_id), public_key, name, added)
    file.add(passkey)
    return passkey


def answer_options(file: PasskeyFile, person: str, challenge: bytes) -> dict[str, Any]:
    """What `navigator.credentials.get` takes; raises if the person has no passkey."""
    library = _library()
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor, UserVerificationRequirement

    own = [each for each in file.read() if each.person == person]
    if not own:
        raise ConfigurationError(f"{person} has no passkey on this machine", code="presence")
    options = library.generate_authentication_options(
        rp_id=HOST,
        challenge=challenge,
        allow_credentials=[PublicKeyCredentialDescriptor(id=decoded(each.credential)) for each in own],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    made: dict[str, Any] = json.loads(library.options_to_json(options))
    return made


def proof_of(response: Mapping[str, Any]) -> dict[str, str]:
    """The proof of an answer, from what the browser has signed."""
    try:
        inner = response["response"]
        return {
            "credential": str(response["id"]),
            "client_data": str(inner["clientDataJSON"]),
            "authenticator_data": str(inner["authenticatorData"]),
            "signature": str(inner["signature"]),
        }
    except (KeyError, TypeError) as error:
        raise ConfigurationError("the response of the passkey is incomplete", code="presence") from error


def _library() -> Any:
    try:
        import webauthn
    except ImportError as error:
        raise ConfigurationError(MISSING) from error
    return webauthn

"""Passkeys of people, as pages and commands use them: list, add, remove, and sign an answer that asks for presence.

The process that drives the run verifies each proof again; what is checked here only tells the person at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.core.events import ApprovalAsked
from podium.errors import ConfigurationError
from podium.ports.presence import challenge_of

if TYPE_CHECKING:
    from podium.adapters.presence.passkeys import Passkey, PasskeyFile
    from podium.app.query.shelf import FoldedRun
    from podium.core.messages import Approve
    from podium.core.types import Millis

OPEN_S: Final = 300.0
"""How long an addition may take: people look for their security key."""
MOST_OPEN: Final = 16
MOST_NAME: Final = 60
FREE: Final = ("reject", "abort")
"""Actions without a proof: work can be stopped from everywhere."""


def needs_proof(action: str) -> bool:
    return action not in FREE


def passkeys(user_dir: Path | None) -> tuple[Passkey, ...]:
    return () if user_dir is None else _file(user_dir).read()


def remove_passkey(user_dir: Path | None, name: str) -> Passkey:
    """By its name, or by a beginning of its id that no other has; returns what was removed."""
    keys = passkeys(user_dir)
    matches = [each for each in keys if name and name == each.name] or [
        each for each in keys if name and each.credential.startswith(name)
    ]
    if not matches:
        raise ConfigurationError(f"there is no passkey {name}", hint="`podium passkeys` lists them")
    if len(matches) > 1:
        some = ", ".join(each.credential[:12] for each in matches[:5])
        raise ConfigurationError(
            f"{len(matches)} passkeys match {name}: {some}",
            hint="write more of the id",
        )
    assert user_dir is not None
    _file(user_dir).remove(matches[0].credential)
    return matches[0]


class Additions:
    """The passkeys that are being added: each challenge is used once, and soon."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[bytes, float]] = {}

    def begin(self, user_dir: Path | None, person: str) -> dict[str, Any]:
        """What `navigator.credentials.create` takes."""
        from podium.adapters.presence.ceremonies import enrolment_options

        challenge, options = enrolment_options(_file(user_dir), person)
        now = time.monotonic()
        self._open = {key: value for key, value in self._open.items() if value[1] > now}
        if len(self._open) >= MOST_OPEN:
            raise ConfigurationError(f"{MOST_OPEN} passkeys are being added", hint="wait some minutes")
        self._open[str(options["challenge"])] = (challenge, now + OPEN_S)
        return options

    def finish(
        self, user_dir: Path | None, person: str, response: Mapping[str, Any], *, name: str, now: Millis
    ) -> Passkey:
        """Store the passkey; raises if this addition was not begun here, or too long ago."""
        from podium.adapters.presence.ceremonies import enrol

        challenge, until = self._open.pop(_challenge_in(response), (b"", 0.0))
        if time.monotonic() > until:
            raise ConfigurationError("this addition has expired", hint="start again", code="presence")
        name = name.strip()[:MOST_NAME]
        if any(each.name == name for each in passkeys(user_dir) if name):
            raise ConfigurationError(f"there is a passkey {name} already", hint="choose another name")
        return enrol(_file(user_dir), person, challenge=challenge, response=response, name=name, added=now)


def answer_options(user_dir: Path | None, run: FoldedRun, answer: Approve) -> dict[str, Any]:
    """What `navigator.credentials.get` takes to sign exactly this answer; raises if the person has no passkey."""
    from podium.adapters.presence import ceremonies

    return ceremonies.answer_options(_file(user_dir), answer.by, _challenge(run, answer))


def with_proof(
    user_dir: Path | None, run: FoldedRun, answer: Approve, response: Mapping[str, Any]
) -> Approve:
    """The answer with its proof; raises with the reason if the run would refuse the proof."""
    from podium.adapters.presence.ceremonies import proof_of
    from podium.adapters.presence.passkeys import PasskeyCheck

    proven = replace(answer, proof=proof_of(response))
    fault = PasskeyCheck(_file(user_dir)).fault(_challenge(run, answer), proven)
    if fault:
        raise ConfigurationError(fault, code="presence")
    return proven


def _challenge(run: FoldedRun, answer: Approve) -> bytes:
    requests = [each for each in run.events if isinstance(each, ApprovalAsked) and each.path == answer.path]
    if not requests:
        raise ConfigurationError(f'"{answer.path}" of run {run.head.run} asks nothing', code="not_waiting")
    return challenge_of(run.head.run, requests[-1], answer)


def _challenge_in(response: Mapping[str, Any]) -> str:
    import json

    from podium.adapters.presence.passkeys import decoded

    try:
        client = json.loads(decoded(str(response["response"]["clientDataJSON"])))
        return str(client["challenge"])
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError("the response of the passkey is incomplete", code="presence") from error


def _file(user_dir: Path | None) -> PasskeyFile:
    from podium.adapters.presence.passkeys import PasskeyFile

    if user_dir is None:
        raise ConfigurationError("this project has no configuration of a user, so it knows no passkeys")
    return PasskeyFile(user_dir)

"""Validates a person's answer against what the question asks for: typed, in a file, or from a program."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Message, Refusal
from podium.core.model import Human, Output
from podium.core.state import Leaf, State
from podium.ports.presence import PresenceCheck, challenge_of
from podium.workflow.contracts.contract import OutputFault, Value, value_of


def validate_answer(
    state: State, message: Message, *, presence: PresenceCheck | None = None
) -> Message | Refusal:
    """The message with its value converted by the contract of the step, or a refusal with the reason.

    `presence` verifies the proof that a person is present; only the process that drives the run has it.
    """
    if not isinstance(message, Approve):
        return message
    leaf = state.instances.get(message.path)
    if not isinstance(leaf, Leaf) or leaf.approval_request is None:
        return message  # The core refuses it with the reason.
    if message.proof is not None and presence is not None:
        assert state.started is not None
        challenge = challenge_of(RunId(state.started.run.id), leaf.approval_request, message)
        fault = presence.fault(challenge, message)
        if fault:
            return Refusal("presence", fault)
    if message.action != "answer":
        return message
    step = leaf.place.step
    if not (isinstance(step.verb, Human) and step.verb.answers):
        return message
    answer = message.text or None if message.answer is None else message.answer
    if answer is None:
        return Refusal("no_value", f"{message.path!r} asks for a value, and none was given")
    value = _value(step.output, answer, is_typed=message.answer is not None)
    if isinstance(value, OutputFault):
        return Refusal("unfit", f"{value.message}\n{message.path!r} still waits for an answer")
    return replace(message, answer=value.value)


def _value(output: Output, answer: Any, *, is_typed: bool) -> Value | OutputFault:
    if output.kind in ("json", "schema"):
        return value_of(output, "" if is_typed else answer, (is_typed, answer))
    if output.kind == "lines" and isinstance(answer, list | tuple):
        is_lines = all(isinstance(line, str) for line in answer)
        return Value(list(answer)) if is_lines else OutputFault("the answer is not a list of lines")
    # `podium answer 3` has been parsed as the number 3; where the step expects text, it is the text "3".
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return value_of(output, text, (False, None))

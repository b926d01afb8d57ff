"""Holds a person's answer against what the question asks for, however it came: typed, as a file, or from a program."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from podium.core.messages import Approve, Message, Refusal
from podium.core.model import Human, Output
from podium.core.state import Leaf, State
from podium.workflow.contracts.contract import OutputFault, Value, value_of


def validate_answer(state: State, message: Message) -> Message | Refusal:
    """The message with its value as the contract of the step has it; what does not fit is refused with the reason."""
    if not isinstance(message, Approve) or message.action != "answer":
        return message
    leaf = state.instances.get(message.path)
    if not isinstance(leaf, Leaf) or leaf.asked is None:
        return message  # The core says why nobody can answer here.
    step = leaf.place.step
    if not (isinstance(step.verb, Human) and step.verb.answers):
        return message
    given = message.text or None if message.answer is None else message.answer
    if given is None:
        return Refusal("no_value", f"{message.path!r} asks for a value, and none was given")
    found = _value(step.output, given, is_typed=message.answer is not None)
    if isinstance(found, OutputFault):
        return Refusal("unfit", f"{found.message}\n{message.path!r} still waits for an answer")
    return replace(message, answer=found.value)


def _value(output: Output, given: Any, *, is_typed: bool) -> Value | OutputFault:
    if output.kind in ("json", "schema"):
        return value_of(output, "" if is_typed else given, (is_typed, given))
    if output.kind == "lines" and isinstance(given, list | tuple):
        is_lines = all(isinstance(line, str) for line in given)
        return Value(list(given)) if is_lines else OutputFault("the answer is not a list of lines")
    # What looks like JSON has been read as JSON: `podium answer 3` says the word 3 where a word is wanted.
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return value_of(output, text, (False, None))

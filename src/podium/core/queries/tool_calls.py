"""The calls of tools that a worker may make only if a person approves: what was asked, and what was decided.

A question is a child of the worker's step. It is asked while the attempt holds the call, and stays open after the attempt has
ended `asked`. A decision holds for exactly this call, until the step ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.core import addresses
from podium.core.payloads import ToolCall, ToolDecision
from podium.core.state import Instance, Leaf, State
from podium.core.types import Address

TOPIC = "tool"


def question_path(leaf: Leaf, number: int) -> Address:
    """The address of the question about a call; calls are counted from 0 over all attempts of the visit."""
    return addresses.question(leaf.place.path, TOPIC, number + 1)


def next_unasked(state: State, leaf: Leaf) -> int | None:
    """The number of the first call about which nobody has been asked."""
    numbers = range(len(leaf.calls))
    return next((each for each in numbers if question_path(leaf, each) not in state.instances), None)


def must_ask(state: State, leaf: Leaf, call: ToolCall) -> bool:
    """Whether a call needs a new question: it has none yet, or one that was withdrawn."""
    question = _last_question(state, leaf, call)
    if question is None:
        return call not in leaf.calls
    return question.ending is not None and decision_of(state, leaf, call) is None


def decision_of(state: State, leaf: Leaf, call: ToolCall) -> ToolDecision | None:
    """What was decided about a call; None as long as nothing is, or if its question was withdrawn."""
    question = _last_question(state, leaf, call)
    ending = None if question is None else question.ending
    if ending is None or ending.outcome == "cancelled":
        return None
    result = ending.result or {}
    text = str(result.get("text") or "") or ("" if ending.outcome == "passed" else ending.message)
    by = ", ".join((result.get("verdict") or {}).get("by") or ())
    return ToolDecision(call, ending.outcome == "passed", by, text)


def decisions_of(state: State, leaf: Leaf) -> Iterator[ToolDecision]:
    for call in dict.fromkeys(leaf.calls):
        decision = decision_of(state, leaf, call)
        if decision is not None:
            yield decision


def asked_call(state: State, question: Instance) -> ToolCall | None:
    """The call that a question is about; None for any other question."""
    if question.place.topic != TOPIC:
        return None
    leaf = state.instances[question.place.parent]
    return leaf.calls[question.place.target] if isinstance(leaf, Leaf) else None


def is_moot(parent: Instance, question: Instance) -> bool:
    """Whether the attempt that wanted to know has ended in another way than by waiting for the answer."""
    if question.place.topic != TOPIC or not isinstance(parent, Leaf) or parent.phase != "answered":
        return False
    return parent.answer is None or parent.answer.kind != "asked"


def _last_question(state: State, leaf: Leaf, call: ToolCall) -> Instance | None:
    numbers = [number for number, each in enumerate(leaf.calls) if each == call]
    return state.instances.get(question_path(leaf, numbers[-1])) if numbers else None

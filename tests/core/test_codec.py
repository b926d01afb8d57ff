"""Events are stored as JSON and decoded to equal events, or refused."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given

from podium.core import codec
from podium.core.codec import EVENTS, CodecError, decode, encode, read_as
from podium.core.events import ApprovalGiven, AttemptEnded, JoinEnded, RunStarted, StepExpanded
from podium.core.evolve.evolve import fold
from podium.core.payloads import Amounts, RefusedMember, RunFacts, Verdict
from podium.core.types import Address, MicroUsd, Millis, Tree
from tests.core.bias import Bias
from tests.core.driver import drive
from tests.core.strategies import Case, cases


@given(cases(Bias()))
def test_every_event_decodes_to_an_equal_event(case: Case) -> None:
    """R145: encoding to text and decoding gives an equal event, so a stored log folds to the same state."""
    run = drive(case.workflow, case.world())
    read = [decode(json.loads(json.dumps(encode(event)))) for event in run.log]
    assert [encode(event) for event in read] == [encode(event) for event in run.log]
    state = fold(case.workflow, read)
    assert state.ended == run.state.ended
    assert state.pending == run.state.pending
    assert fold(case.workflow, [decode(encode(event)) for event in read])._replace(root=state.root) == state


FULL = AttemptEnded(
    Millis(5),
    Address("a/b"),
    2,
    "ok",
    reason="because",
    result={"output": {"deep": [1, 2.5, None, True]}},
    tree=Tree("t1"),
    verdict=Verdict("reject", 4, ({"id": "f1"},), Tree("t1"), "no"),
    used=Amounts(MicroUsd(7), 8, 9),
    cost_known=False,
)


@pytest.mark.parametrize(
    "event",
    [
        FULL,
        StepExpanded(Millis(1), Address("x"), 2, ("a", {"b": 1}), ("k", "l"), ((), (0,)), due=Millis(9)),
        JoinEnded(Millis(1), Address("x"), None, (RefusedMember(Address("x[1]"), "conflict", "both"),)),
        RunStarted(Millis(0), RunFacts("r", "w"), "f", {"x": [1]}, {"A": "b"}, Tree("base")),
        ApprovalGiven(Millis(3), Address("h"), "answer", "me", answer={"free": ["text"]}),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_with_all_fields_set_decodes_to_an_equal_event(event: Any) -> None:
    assert decode(json.loads(json.dumps(encode(event)))) == event


def test_default_values_are_not_stored() -> None:
    written = encode(AttemptEnded(Millis(5), Address("a"), 1, "ok"))
    assert written == {"type": "AttemptEnded", "at": 5, "path": "a", "attempt": 1, "kind": "ok"}


def test_tuples_and_other_maps_are_stored_as_plain_json() -> None:
    """The value of an expression may be a tuple; it is decoded as a list, which expressions treat as equal."""
    written = encode(AttemptEnded(Millis(5), Address("a"), 1, "ok", result={"output": (1, (2,))}))
    assert written["result"] == {"output": [1, [2]]}


GOOD = {"type": "AttemptEnded", "at": 5, "path": "a", "attempt": 1, "kind": "ok"}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("text", "an event must be an object"),
        ({"at": 5}, "unknown event type None"),
        ({**GOOD, "type": "AttemptFinished"}, "unknown event type 'AttemptFinished'"),
        ({**GOOD, "colour": "red"}, "AttemptEnded has no field colour"),
        ({"type": "AttemptEnded", "at": 5, "path": "a", "kind": "ok"}, "AttemptEnded lacks the field attempt"),
        ({**GOOD, "at": "5"}, "expected int, got '5'"),
        ({**GOOD, "at": True}, "expected int, got True"),
        ({**GOOD, "at": None}, "expected int, got None"),
        ({**GOOD, "tree": 7}, "expected str, got 7"),
        ({**GOOD, "kind": ["ok"]}, "['ok'] is not one of 'ok'"),
        ({**GOOD, "used": {"type": "Amounts"}}, "Amounts has no field type"),
        ({**GOOD, "kind": "great"}, "'great' is not one of 'ok'"),
        ({**GOOD, "result": [1]}, "[1] is not an object"),
        ({**GOOD, "used": 3}, "Amounts must be an object, not 3"),
        ({**GOOD, "used": {"usd": 1, "eur": 2}}, "Amounts has no field eur"),
        ({**GOOD, "verdict": {"decision": "approve", "score": "7"}}, "expected float, got '7'"),
        ({"type": "StepEnded", "at": 1, "path": "a", "outcome": "passed", "sets": [["a"]]}, "is not a list of 2"),
        ({"type": "StepEntered", "at": 1, "path": "a", "parent": "", "role": "step", "index": 0, "visit": 1,
          "stale": 3}, "3 is not a list"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_an_event_is_refused(value: Any, complaint: str) -> None:
    with pytest.raises(CodecError) as error:
        decode(value)
    assert complaint in str(error.value)


def test_a_field_without_a_value_is_none_only_where_that_is_allowed() -> None:
    assert decode({**GOOD, "tree": None}) == decode(GOOD)
    with pytest.raises(CodecError, match="expected str, got None"):
        decode({**GOOD, "path": None})


def test_a_whole_number_stays_one_in_a_field_for_any_number() -> None:
    """Else an event would not be written again as it was read."""
    verdict = {"decision": "approve", "score": 7}
    event = decode({**GOOD, "verdict": verdict})

    assert encode(event)["verdict"] == verdict
    assert type(encode(event)["verdict"]["score"]) is int


@pytest.mark.parametrize("value", [{1: "x"}, {"x": object()}])
def test_a_value_that_is_not_json_cannot_be_stored(value: Any) -> None:
    with pytest.raises(CodecError):
        encode(AttemptEnded(Millis(5), Address("a"), 1, "ok", result={"output": value}))


def test_every_kind_of_event_can_be_stored() -> None:
    """A new event with fields that the codec cannot handle fails here and not during a run."""
    for kind in EVENTS.values():
        with pytest.raises(CodecError, match="lacks the field"):
            decode({"type": kind.__name__})


def test_values_of_subclasses_are_stored_as_their_base_type() -> None:
    class Word(str):
        __slots__ = ()

    class Number(IntEnum):
        TWO = 2

    said = {"word": Word("x"), "numbers": (Number.TWO,)}
    written = encode(AttemptEnded(Millis(1), Address("a"), 1, "ok", result=said))

    assert written["result"] == {"word": "x", "numbers": [2]}


def test_a_part_of_an_event_can_be_decoded_alone_and_strictly() -> None:
    facts = RunFacts(
        "r",
        "w",
        carried=Amounts(calls=2),
        reused=((Address("a"), 1),),
        reusable=((Address("b"), 2),),
        unpriced=("x",),
    )
    stored = encode(RunStarted(Millis(1), facts, "f", {}, {}))["run"]

    assert read_as(RunFacts, stored) == facts
    with pytest.raises(CodecError, match="RunFacts has no field extra"):
        read_as(RunFacts, {**stored, "extra": 1})


def test_a_choice_inside_another_type_is_checked() -> None:
    read = codec._one_of(("a", "b"))

    assert read("a") == "a"
    with pytest.raises(CodecError, match="'c' is not one of 'a', 'b'"):
        read("c")

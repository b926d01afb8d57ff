"""The forms a file may use, and how they are read."""

from __future__ import annotations

from typing import Any

import pytest

from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.file import Config, SharedKeys
from podium.workflow.schema.parts import Retry, Script
from podium.workflow.schema.reader import read, read_file
from podium.workflow.schema.routes import Route
from podium.workflow.schema.step import Gate
from tests.workflow.reading import file_with, messages_of_step, read_valid

# Short forms


def test_short_forms_become_the_maps_they_stand_for() -> None:
    step = read_valid(
        file_with(
            fix={
                "role": "implementer",
                "retry": 3,
                "context": ["a.md"],
                "workspace": "inplace",
                "sandbox": "limits",
                "for_each": "steps.x.output",
                "prompt": "x",
            }
        )
    ).steps["fix"]
    assert isinstance(step.retry, Retry)
    assert step.retry.attempts == 3
    assert step.context is not None
    assert step.context.include == ("a.md",)
    assert step.workspace is not None
    assert step.workspace.mode == "inplace"
    assert step.sandbox is not None
    assert step.sandbox.level == "limits"
    assert step.for_each is not None
    assert (step.for_each.in_, step.for_each.as_) == ("steps.x.output", "item")


def test_a_list_directly_under_for_each_is_literal() -> None:
    step = read_valid(file_with(fix={"run": "x", "for_each": ["a", 1]})).steps["fix"]
    assert step.for_each is not None
    assert step.for_each.in_ == ("a", 1)


def test_retry_may_be_the_name_of_a_preset_or_an_inserted_value() -> None:
    steps = read_valid(
        file_with(a={"run": "x", "retry": "aggressive"}, b={"run": "x", "retry": "${{ inputs.n }}"})
    ).steps
    assert steps["a"].retry == "aggressive"
    assert isinstance(steps["b"].retry, Retry)
    assert steps["b"].retry.attempts == "${{ inputs.n }}"


def test_a_single_duration_is_a_constant_backoff() -> None:
    step = read_valid(file_with(a={"run": "x", "retry": {"backoff": "2s"}})).steps["a"]
    assert isinstance(step.retry, Retry)
    assert step.retry.backoff is not None
    backoff = step.retry.backoff
    assert (backoff.first, backoff.times, backoff.max, backoff.jitter) == (2000, 1, 2000, 0)


def test_a_command_is_a_text_a_list_or_a_script() -> None:
    steps = read_valid(
        file_with(a={"run": "make test"}, b={"run": ["make", "test"]}, c={"run": {"script": "make\n"}})
    ).steps
    assert steps["a"].run == "make test"
    assert steps["b"].run == ("make", "test")
    assert isinstance(steps["c"].run, Script)
    assert (steps["c"].run.script, steps["c"].run.shell) == ("make\n", "bash")


def test_a_route_may_have_a_message() -> None:
    step = read_valid(file_with(a={"run": "x", "on": {"failed": {"end": "why"}, "else": "fail"}})).steps["a"]
    assert step.on == {"failed": Route("end", "why"), "else": Route("fail")}


@pytest.mark.parametrize("route", [5, ["x"], {}, {"next": "x"}, {"fail": 1}, {"fail": "a", "end": "b"}])
def test_an_invalid_route_is_refused(route: Any) -> None:
    [(rule, message)] = messages_of_step(run="x", on={"failed": route})
    assert rule == 2
    assert message.startswith('"failed" must be a step, next,')


def test_continuity_join_network_and_touches_have_their_own_forms() -> None:
    step = read_valid(
        file_with(
            a={
                "agent": ["x", "y"],
                "prompt": "x",
                "continuity": {"turns": 3},
                "join": {"batch": 10},
                "network": "open",
                "touches": "${{ steps.x.output }}",
            }
        )
    ).steps["a"]
    assert (step.continuity, step.join, step.network) == (3, 10, "open")
    assert step.touches == "${{ steps.x.output }}"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("continuity", "stale", "fresh or {turns: n}"),
        ("continuity", {"turns": 0}, "fresh or {turns: n}"),
        ("continuity", {"turn": 1}, "fresh or {turns: n}"),
        ("network", "closed", "open or a list of hosts"),
        ("touches", "src/**", "a list of paths, or one ${{ }} whose value is such a list"),
        ("touches", [1], "a list of paths, or one ${{ }} whose value is such a list"),
        ("fallback", [1], "a name or a list of names"),
        ("when", 5, "an expression"),
        ("timeout", "soon", "a duration such as 90s, 5m or 1h30m"),
    ],
)
def test_an_invalid_value_is_reported_with_what_is_expected(key: str, value: Any, expected: str) -> None:
    assert messages_of_step(role="x", **{key: value}) == [(2, f'"{key}" must be {expected}')]


@pytest.mark.parametrize("value", ["stack", {"batch": 0}, {"batch": True}, {"size": 2}])
def test_an_invalid_join_is_refused(value: Any) -> None:
    expected = '"join" must be queue, best, discard or {batch: n}'
    assert messages_of_step(agent=["a", "b"], join=value) == [(2, expected)]


# What later stages rely on


def test_every_map_has_its_path() -> None:
    data = file_with(
        a={
            "steps": {
                "b": {
                    "role": "x",
                    "prompt": "p",
                    "retry": {"stop": {"plateau": 2}},
                    "gates": ["t", {"run": "x"}],
                }
            }
        }
    )
    steps = read_valid(data).steps["a"].steps
    assert steps is not None
    inner = steps["b"]
    assert inner.path == ("steps", "a", "steps", "b")
    assert inner.at("on", "failed") == (*inner.path, "on", "failed")
    assert isinstance(inner.retry, Retry)
    assert inner.retry.stop is not None
    assert inner.retry.stop.path == (*inner.path, "retry", "stop")
    assert isinstance(inner.gates[1], Gate)
    assert inner.gates[1].path == (*inner.path, "gates", 1)


def test_keys_are_looked_up_by_their_spelling_in_the_file() -> None:
    step = read_valid(file_with(a={"set": {"x": 1}})).steps["a"]
    assert step.written_keys() == ("set",)
    assert step.has("set")
    assert not step.has("pass")
    assert step.get("set") == {"x": 1}
    assert {"set", "with", "pass", "for_each"} <= set(known_keys(type(step)))


def test_values_that_were_read_cannot_be_changed() -> None:
    step = read_valid(file_with(a={"run": "x", "timeout": "5s"})).steps["a"]
    assert repr(step) == "Step(run='x', timeout=5000)"
    with pytest.raises(AttributeError, match="frozen"):
        step.run = "y"
    other = step.with_values({"run": "y"})
    assert (step.run, other.run, other.timeout, other.path) == ("x", "y", 5000, step.path)


def test_the_verb_of_a_step_is_one_word() -> None:
    steps = read_file(
        file_with(a={"role": "x"}, b={"agent": "x", "role": "y"}, c={"run": "x", "check": "y"}, d={})
    ).value
    assert steps is not None
    assert [step.verb for step in steps.steps.values()] == ["agent", "agent", None, None]


def test_a_configuration_has_only_the_shared_keys() -> None:
    reading = read(Config, {"limits": {"usd": 5, "unknown_cost": "refuse"}, "steps": {}})
    assert [fault.message for fault in reading.faults] == ['the configuration has an unknown key "steps"']
    assert reading.value is not None
    assert reading.value.limits is not None
    assert reading.value.limits.unknown_cost == "refuse"
    # Channels are defined in configurations only; a workflow names them.
    assert set(known_keys(type(reading.value))) == {*known_keys(SharedKeys), "notify"}

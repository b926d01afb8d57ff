"""Messages for mistakes in a file: rules 2 to 5."""

from __future__ import annotations

from typing import Any

import pytest

from podium.workflow.schema.reader import read_feature, read_file
from tests.workflow.reading import faults_of, file_with, messages, messages_of_step, read_valid


def test_a_number_where_text_is_expected_suggests_quotes() -> None:
    assert messages_of_step(run="x", description=1.5) == [(2, '"description" must be text; write "1.5"')]
    assert messages_of_step(run=["x", True]) == [(2, '"run[1]" must be text; write "true"')]


def test_an_unknown_key_is_reported_with_the_nearest_known_key() -> None:
    [fault] = faults_of(file_with(fix={"role": "x", "promt": "y"}))
    assert (fault.rule, fault.message) == (3, 'step "fix" has an unknown key "promt"')
    assert fault.hint == 'did you mean "prompt"?'
    assert fault.path == ("steps", "fix", "promt")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"nmae": "x"}, 'the workflow has an unknown key "nmae"'),
        ({"roles": {"r": {"sytem": "x"}}}, 'role "r" has an unknown key "sytem"'),
        ({"inputs": {"n": {"typ": "int"}}}, 'input "n" has an unknown key "typ"'),
        ({"gates": {"g": {"run": "x", "juint": "r"}}}, 'gate "g" has an unknown key "juint"'),
        ({"breaker": {"visit": 1}}, '"breaker" has an unknown key "visit"'),
        ({"limits": {"dollars": 1}}, '"limits" has an unknown key "dollars"'),
        ({"policies": {"p": [{"level": "auto", "wen": "x"}]}}, '"p[0]" has an unknown key "wen"'),
        ({"agents": {"a": {"price": {"inputs": 1}}}}, '"price" has an unknown key "inputs"'),
    ],
)
def test_the_owner_of_an_unknown_key_is_named(data: dict[str, Any], message: str) -> None:
    assert messages(file_with(a={"run": "x"}) | data) == [(3, message)]


def test_the_owner_of_an_unknown_key_is_named_at_any_depth() -> None:
    nested = {"steps": {"inner": {"runn": "x"}}}
    assert messages_of_step(**nested) == [(3, 'step "inner" has an unknown key "runn"')]
    assert messages_of_step(role="x", gates=[{"run": "x", "tmeout": "5m"}]) == [
        (3, 'a gate of step "fix" has an unknown key "tmeout"')
    ]
    feature: Any = {"phases": {"p": {"components": {"c": {"toches": []}}}}}
    assert messages_of_step(build=feature, component={"run": "x"}) == [
        (3, 'step "c" has an unknown key "toches"')
    ]
    assert messages_of_step(role="x", retry={"atempts": 1}) == [(3, '"retry" has an unknown key "atempts"')]


def test_keys_that_only_an_adapter_knows_are_passed_through() -> None:
    file = read_valid(file_with(a={"run": "x"}) | {"agents": {"local": {"type": "ollama", "num_ctx": 8192}}})
    assert file.agents["local"].extra == {"num_ctx": 8192}


def test_a_step_needs_exactly_one_verb() -> None:
    assert messages_of_step(run="x", role="y") == [(4, 'step "fix" has two verbs, "run" and "role"')]
    assert messages_of_step(role="y", run="x") == [(4, 'step "fix" has two verbs, "role" and "run"')]
    assert messages_of_step(description="x") == [(4, 'step "fix" has no verb')]
    assert messages_of_step(role="writer", agent="claude") == []


def test_a_step_with_an_invalid_verb_is_not_also_reported_as_having_none() -> None:
    assert messages_of_step(run=5) == [(2, '"run" must be text; write "5"')]


def test_a_gate_needs_exactly_one_gate_verb() -> None:
    assert messages_of_step(role="x", gates=[{"git": {"branch": "x"}}]) == [(36, 'a gate cannot be "git"')]
    assert messages_of_step(role="x", gates=[{"name": "x"}]) == [(36, 'gate "x" has no verb')]
    assert messages_of_step(role="x", gates=[{"run": "x", "check": "y"}]) == [
        (4, 'a gate of step "fix" has two verbs, "run" and "check"')
    ]
    assert messages_of_step(role="x", gates=[{"name": "g", "run": "x", "check": "y"}]) == [
        (4, 'gate "g" has two verbs, "run" and "check"')
    ]


def test_gates_of_roles_and_named_gates_are_checked() -> None:
    data = file_with(a={"run": "x"})
    assert messages(data | {"gates": {"g": {"human": "ok?", "junit": "x"}}}) == [
        (5, '"junit" belongs to "run", not to "human"')
    ]
    assert messages(data | {"roles": {"r": {"gates": ["g", {"check": "x", "min_score": 5}]}}}) == [
        (5, '"min_score" belongs to "review", not to "check"')
    ]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"human": "x", "junit": "r"}, '"junit" belongs to "run", not to "human"'),
        ({"check": "x", "memory": "m"}, '"memory" belongs to "agent" or "run", not to "check"'),
        ({"review": "x", "memory": "m"}, '"memory" belongs to "agent" or "run", not to "review"'),
        (
            {"agent": "human", "memory": "m"},
            '"memory" cannot be used with "agent: human": a person works where no memory is mounted',
        ),
        ({"run": "x", "level": "auto"}, '"level" belongs to "review" or "human", not to "run"'),
        ({"role": "x", "component": {"run": "x"}}, '"component" belongs to "build", not to "role"'),
        ({"check": "x", "prompt": "y"}, '"prompt" belongs to "agent" or "review", not to "check"'),
        ({"role": "x", "parallel": 2}, '"parallel" needs for_each, steps, build or review'),
        ({"run": "x", "pass": "any"}, '"pass" needs for_each, steps, build, review or a list of agents'),
        ({"run": "x", "join": "best"}, '"join" needs for_each, steps, build or a list of agents'),
        (
            {"run": "x", "for_each": [1], "repeat": {"until": "x", "max": 2}},
            'step "fix" has both for_each and repeat; nest one inside the other',
        ),
        ({"build": "f.yaml"}, '"build" needs "component"'),
        (
            {"agent": "x", "stdin": "p.md", "prompt": "y"},
            '"prompt" has no place beside "stdin", which is all that the agent gets',
        ),
        ({"agent": "human", "stdin": "p.md"}, '"stdin" cannot be used with "agent: human"'),
        (
            {"role": "x", "done": {"timer": "1m"}},
            '"done" of an agent is a file or a commit; other forms need "agent: human"',
        ),
        (
            {"wait": {"file": "x", "timer": "5m"}},
            "a wait needs exactly one of signal, file, timer, until_time, commit, step, poll",
        ),
        ({"wait": {"timer": "5m", "every": "1m"}}, '"every" belongs to "poll", not to "timer"'),
        ({"wait": {"file": "x", "branch": "main"}}, '"branch" belongs to "commit", not to "file"'),
        ({"git": {"message": "x"}}, "git needs exactly one of land, branch, stash"),
        ({"git": {"branch": "x", "how": "merge"}}, '"how" belongs to "land", not to "branch"'),
        ({"git": {"land": "x"}}, '"land" needs "message"'),
    ],
)
def test_a_key_of_another_verb_is_reported(keys: dict[str, Any], message: str) -> None:
    assert messages_of_step(**keys) == [(5, message)]


def test_a_component_needs_no_verb_but_may_have_one() -> None:
    feature = {
        "phases": {
            "p": {
                "components": {"a": {"touches": ["x"]}, "b": {"steps": {"c": {"run": "x", "show": ["diff"]}}}}
            }
        }
    }
    assert messages_of_step(build=feature, component={"role": "x", "prompt": "y"}) == [
        (5, '"show" belongs to "human", not to "run"')
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"limits": {"usd": -1}}, '"usd" must be at least 0'),
        ({"limits": {"calls": 0}}, '"calls" must be above 0'),
        ({"limits": {"calls": 1.5}}, '"calls" must be a whole number'),
        ({"limits": {"usd": "5"}}, '"usd" must be a number'),
        ({"limits": 5}, '"limits" must be a map'),
        ({"secrets": "X"}, '"secrets" must be a list'),
        ({"set": [1]}, '"set" must be a map'),
        ({"required": "yes"}, '"required" must be true or false'),
        ({"recovery": "reruns"}, '"recovery" must be rerun or ask'),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_with_the_expected_type(
    value: dict[str, Any], message: str
) -> None:
    assert (2, message) in messages_of_step(run="x", **value)


def test_a_fault_in_a_short_form_is_reported_for_its_own_key() -> None:
    assert messages_of_step(run="x", for_each=5) == [(2, '"for_each" must be an expression')]
    assert messages_of_step(role="x", context=["a", 5]) == [(2, '"context[1]" must be text; write "5"')]
    assert messages_of_step(role="x", retry={"backoff": "soon"}) == [
        (2, '"backoff" must be a duration such as 90s, 5m or 1h30m')
    ]
    assert messages_of_step(role="x", sandbox="walls") == [
        (2, '"sandbox" must be auto, none, limits, bubblewrap or container')
    ]


def test_a_score_above_ten_is_reported() -> None:
    assert messages_of_step(review="x", min_score=11) == [(2, '"min_score" must be at most 10')]


def test_an_unknown_word_is_reported_with_the_nearest_choice() -> None:
    [fault] = faults_of(file_with(a={"git": {"land": "x", "message": "y", "how": "squish"}}))
    assert fault.message == '"how" must be squash, merge or commits'
    assert fault.hint == 'did you mean "squash"?'


def test_an_invalid_time_of_day_is_reported() -> None:
    assert messages_of_step(wait={"until_time": "25:00"}) == [
        (2, '"until_time" must be a time of day such as "06:00"')
    ]


def test_a_missing_or_wrong_version_is_reported() -> None:
    assert messages({"steps": {"a": {"run": "x", "jnit": "r"}}}) == [
        (3, 'step "a" has an unknown key "jnit"'),
        (3, '"podium" is missing; write podium: 1'),
    ]
    assert messages({"podium": 2, "steps": {}}) == [(2, '"podium" must be 1')]


def test_a_missing_required_key_is_reported() -> None:
    assert messages({"podium": 1}) == [(3, 'the workflow needs "steps"')]
    assert messages(file_with() | {"breaker": {"failures": {"count": 5}}}) == [
        (3, '"failures" needs "within"')
    ]
    feature = read_feature({"phases": {"p": {"interfaces": {"i": {"file": "x"}}}}})
    assert [fault.message for fault in feature.faults] == ['interface "i" needs "text"']


@pytest.mark.parametrize("data", [None, 5, "text", [1], True])
def test_a_file_that_is_not_a_map_is_reported(data: Any) -> None:
    assert messages(data) == [(2, "the workflow must be a map")]


def test_steps_that_are_not_maps_are_reported() -> None:
    assert messages({"podium": 1, "steps": [1]}) == [(2, '"steps" must be a map')]
    assert messages(file_with(a=5, b=None)) == [(2, 'step "a" must be a map'), (2, 'step "b" must be a map')]


def test_a_number_as_a_key_suggests_quotes() -> None:
    assert messages({"podium": 1, "steps": {1: {"run": "x"}}}) == [(2, 'the key 1 must be text; write "1"')]


def test_all_mistakes_are_reported_at_once_and_the_rest_is_still_read() -> None:
    reading = read_file(file_with(a={"run": "x", "oops": 1}, b={"run": "y", "timeout": "x"}))
    assert [fault.rule for fault in reading.faults] == [3, 2]
    assert reading.value is not None
    assert reading.value.steps["a"].run == "x"
    assert reading.value.steps["b"].timeout is None
    assert reading.broken == {("steps", "a", "oops"), ("steps", "b", "timeout")}

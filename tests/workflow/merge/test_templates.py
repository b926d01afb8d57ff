"""Templates: merging steps by name, inserting and disabling steps, and the resulting routes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.merge.insert_steps import insert_new_steps, write_next_steps
from podium.workflow.source.nodes import Node, SourceLocation, node_from_value
from tests.timing import work_within
from tests.workflow.kit import EXAMPLES, merge_child, merge_project, messages, with_templates, write

ENTERPRISE = [
    "plan",
    "plan_review",
    "interface_definition",
    "implement",
    "unit_test_gate",
    "integration_tests",
    "integration_test_gate",
    "security_review",
    "code_review",
    "ci_gate",
    "commit",
]


def order(folder: Path, name: str) -> list[str]:
    merged = merge_project(with_templates(folder), f".podium/templates/{name}.yaml")
    assert messages(merged) == []
    return list(merged.value["steps"])


@pytest.mark.req("R033", "R034")
def test_shipped_templates_have_their_steps_in_the_documented_order(tmp_path: Path) -> None:
    assert order(tmp_path / "1", "base") == ["plan", "implement", "commit"]
    assert order(tmp_path / "2", "mvp") == ["plan", "implement", "quick_review", "commit"]
    assert order(tmp_path / "3", "enterprise") == ENTERPRISE
    assert order(tmp_path / "4", "open_source") == [
        "plan",
        "implement",
        "test_gate",
        "docs_check",
        "branch",
        "create_pr",
        "await_review",
    ]


@pytest.mark.req("R034")
def test_security_critical_inserts_its_steps_between_those_of_enterprise(tmp_path: Path) -> None:
    expected = list(ENTERPRISE)
    expected.insert(expected.index("interface_definition"), "threat_modeling")
    expected.insert(expected.index("security_review"), "penetration_test")

    assert order(tmp_path, "security_critical") == expected


@pytest.mark.req("R034", "C27")
def test_trading_replaces_the_security_review_with_its_own(tmp_path: Path) -> None:
    trading = (EXAMPLES / "workflows" / "trading.yaml").read_text("utf-8")
    config = "roles: {quant_dev: {extends: implementer}, risk_manager: {extends: reviewer}}"
    merged = merge_project(with_templates(tmp_path, {"flow.yaml": trading, ".podium/config.yaml": config}))

    expected = ["risk_validation" if name == "security_review" else name for name in ENTERPRISE]
    steps = merged.value["steps"]
    assert messages(merged) == []
    assert list(steps) == expected
    assert steps["implement"]["role"] == "quant_dev"
    assert steps["implement"]["with"] == {"tdd": True, "coverage": 95}
    assert steps["integration_test_gate"]["on"] == {"failed": "implement"}


def test_a_merged_template_has_no_template_keys(tmp_path: Path) -> None:
    value = merge_project(with_templates(tmp_path), ".podium/templates/open_source.yaml").value

    assert not {"extends", "disable"} & value.keys()
    assert not {"after", "before", "required"} & {key for step in value["steps"].values() for key in step}
    assert value["name"] == "open_source"
    assert value["secrets"] == ["GH_TOKEN"]


def test_the_parents_values_stay_where_the_child_sets_none(tmp_path: Path) -> None:
    value = merge_project(with_templates(tmp_path), ".podium/templates/mvp.yaml").value

    assert value["steps"]["implement"]["role"] == "implementer_fast"
    assert value["steps"]["implement"]["prompt"].startswith("{{ inputs.task }}")
    assert value["gates"]["lint"] == {"run": "make lint"}


PARENT = """
inputs: {deep: bool, level: {type: int, default: 1}, names: {type: list, default: [a]}}
vars: {seen: [x]}
outputs: {result: "${{ steps.b.output }}"}
secrets: [ONE]
limits: {usd: 5, time: 1h}
agents: {claude: {args: [--old]}}
gates: {tests: {run: make test, junit: r.xml}}
steps:
  a: {role: planner, prompt: Plan, gates: [tests], touches: [docs/], retry: 3, on: {failed: b}}
  b: {review: one, of: [a], pass: all, bar: minor, prompt: Judge, on: {rejected: a, timeout: {fail: late}}}
  c: {run: make, stdin: x, junit: r.xml, timeout: 1m, required: true}
"""


@pytest.mark.req("R035")
def test_a_child_changes_the_default_of_an_input(tmp_path: Path) -> None:
    child = "inputs: {deep: {default: true}, level: {default: 2}, names: {default: [b]}}"

    inputs = merge_child(tmp_path, PARENT, child).value["inputs"]

    assert inputs == {
        "deep": {"type": "bool", "default": True},
        "level": {"type": "int", "default": 2},
        "names": {"type": "list", "default": ["b"]},
    }


def test_the_short_form_of_an_input_replaces_only_its_type(tmp_path: Path) -> None:
    inputs = merge_child(tmp_path, PARENT, "inputs: {level: number}").value["inputs"]

    assert inputs["level"] == {"type": "number", "default": 1}


def test_scalars_replace_lists_append_maps_merge(tmp_path: Path) -> None:
    child = """
    vars: {seen: [y]}
    secrets: [TWO, ONE]
    limits: {usd: 9}
    agents: {claude: {args: [--new]}}
    gates: {tests: {junit: other.xml}}
    steps:
      a: {prompt: Better, gates: [{check: "true"}], touches: [src/], retry: {visits: 2}, on: {blocked: fail}}
    """
    value = merge_child(tmp_path, PARENT, child).value

    assert value["steps"]["a"] == {
        "role": "planner",
        "prompt": "Better",
        "gates": ["tests", {"check": "true"}],
        "touches": ["docs/", "src/"],
        "retry": {"attempts": 3, "visits": 2},
        "on": {"failed": "b", "blocked": "fail"},
    }
    assert value["vars"] == {"seen": ["y"]}
    assert value["secrets"] == ["ONE", "TWO"]
    assert value["limits"] | {"usd": 9, "time": "1h"} == value["limits"]
    assert value["agents"]["claude"] == {"type": "claude", "args": ["--new"]}
    assert value["gates"]["tests"] == {"run": "make test", "junit": "other.xml"}


def test_the_value_of_a_verb_is_replaced_not_appended(tmp_path: Path) -> None:
    child = "steps: {b: {review: [one, two], on: {timeout: {end: enough}}}, c: {run: [make, all]}}"

    steps = merge_child(tmp_path, PARENT, child).value["steps"]

    assert steps["b"]["review"] == ["one", "two"]
    assert steps["b"]["on"] == {"rejected": "a", "timeout": {"end": "enough"}}
    assert steps["c"]["run"] == ["make", "all"]


def test_a_new_verb_removes_the_keys_and_routes_of_the_old_one(tmp_path: Path) -> None:
    steps = merge_child(tmp_path, PARENT, "steps: {b: {run: make judge}, c: {agent: claude}}").value["steps"]

    assert steps["b"] == {"run": "make judge", "on": {"timeout": {"fail": "late"}}}
    assert steps["c"] == {"agent": "claude", "stdin": "x", "timeout": "1m"}


def test_a_new_verb_on_a_loop_keeps_the_keys_of_the_loop(tmp_path: Path) -> None:
    parent = "steps: {a: {for_each: [x], parallel: 2, pass: any, run: make, junit: r.xml}}"

    steps = merge_child(tmp_path, parent, "steps: {a: {role: planner, for_each: [y, z]}}").value["steps"]

    assert steps["a"] == {"for_each": ["y", "z"], "parallel": 2, "pass": "any", "role": "planner"}


def test_a_child_may_set_the_agent_of_a_role(tmp_path: Path) -> None:
    steps = merge_child(tmp_path, PARENT, "steps: {a: {agent: codex}}").value["steps"]

    assert steps["a"]["role"] == "planner"
    assert steps["a"]["agent"] == "codex"
    assert steps["a"]["gates"] == ["tests"]


def test_replace_drops_inherited_values_of_a_step(tmp_path: Path) -> None:
    steps = merge_child(
        tmp_path, PARENT, "steps: {a: {replace: [gates, touches], gates: [{check: 1 < 2}]}}"
    ).value["steps"]

    assert steps["a"]["gates"] == [{"check": "1 < 2"}]
    assert "touches" not in steps["a"]
    assert "replace" not in steps["a"]


def test_nested_blocks_are_merged_by_name(tmp_path: Path) -> None:
    parent = "steps: {group: {steps: {x: {run: one}, y: {run: two}}}}"
    child = """
    steps:
      group: {steps: {y: {timeout: 5m}, z: {after: x, run: three}}}
      other: {after: group, steps: {q: {run: q}, p: {before: q, run: p}}}
    """
    merged = merge_child(tmp_path, parent, child)

    assert messages(merged) == []
    assert list(merged.value["steps"]["group"]["steps"]) == ["x", "z", "y"]
    assert merged.value["steps"]["group"]["steps"]["y"] == {"run": "two", "timeout": "5m"}
    assert list(merged.value["steps"]["other"]["steps"]) == ["p", "q"]
    assert merged.value["steps"]["other"]["steps"]["p"] == {"run": "p"}


def test_a_child_may_add_a_finally_block(tmp_path: Path) -> None:
    merged = merge_child(tmp_path, PARENT, "finally: {tidy: {run: make clean}}")

    assert messages(merged) == []
    assert merged.value["finally"] == {"tidy": {"run": "make clean"}}


def test_template_keys_of_the_wrong_type_are_left_for_the_schema(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nextends: [x]\ndisable: {}\nsteps: {a: {run: x, required: sure, after: 1}}"
    }
    value = merge_project(write(tmp_path, files)).value

    assert value["extends"] == ["x"]
    assert value["disable"] == {}
    assert value["steps"] == {"a": {"run": "x", "required": "sure", "after": 1}}


def test_blocks_that_are_not_maps_are_left_for_the_schema(tmp_path: Path) -> None:
    assert merge_child(tmp_path, PARENT, "steps: [a, b]").value["steps"] == ["a", "b"]
    assert merge_child(tmp_path, PARENT, "steps: {a: nothing}").value["steps"]["a"] == "nothing"


SEQUENCE = "steps: {a: {run: a}, b: {run: b}, c: {run: c}}"


@pytest.mark.req("R034")
@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("x: {after: a, run: x}, y: {after: a, run: y}", "a x y b c"),
        ("x: {before: b, run: x}, y: {before: b, run: y}", "a x y b c"),
        ("y: {after: x, run: y}, x: {after: a, run: x}, z: {after: a, run: z}", "a x y z b c"),
        ("y: {before: x, run: y}, x: {after: c, run: x}", "a b c y x"),
        ("x: {before: a, run: x}", "x a b c"),
        ("b: {run: other}", "a b c"),
    ],
)
def test_new_steps_are_inserted_at_their_position(tmp_path: Path, new: str, expected: str) -> None:
    merged = merge_child(tmp_path, SEQUENCE, f"steps: {{{new}}}")

    assert messages(merged) == []
    assert list(merged.value["steps"]) == expected.split()


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("pen_test: {run: x}", 'new step "pen_test" has neither after nor before'),
        ("x: {after: a, before: b, run: x}", 'new step "x" has after and before'),
        ("x: {after: bb, run: x}", 'after of "x": step "bb" does not exist in this block'),
        ("b: {before: a}", 'before can place only new steps, and "b" is not new'),
        ("x: {after: y, run: x}, y: {after: x, run: y}", '"x" and "y" are placed next to each other'),
        ("x: {after: x, run: x}", '"x" is placed next to itself'),
    ],
)
def test_a_new_step_without_a_clear_position_is_a_problem(tmp_path: Path, new: str, message: str) -> None:
    merged = merge_child(tmp_path, SEQUENCE, f"steps: {{{new}}}")

    assert messages(merged) == [f"flow.yaml:3: {message}"]
    assert merged.problems[0].rule == 33
    assert set(merged.value["steps"]) >= {"a", "b", "c"}


def test_needs_decide_the_position_of_a_new_step_in_a_graph(tmp_path: Path) -> None:
    parent = "steps: {a: {run: a, needs: []}, b: {run: b, needs: [a]}}"

    merged = merge_child(tmp_path, parent, "steps: {x: {run: x, needs: [a]}, b: {needs: [x]}}")

    assert messages(merged) == []
    assert merged.value["steps"]["b"]["needs"] == ["a", "x"]


@pytest.mark.req("C27")
def test_an_inherited_route_leads_through_the_new_step(tmp_path: Path) -> None:
    parent = "steps: {a: {run: a, on: {passed: c}}, b: {run: b}, c: {run: c}}"

    after = merge_child(tmp_path, parent, "steps: {x: {after: a, run: x}, y: {after: x, run: y}}").value[
        "steps"
    ]
    before = merge_child(tmp_path, parent, "steps: {x: {before: c, run: x}}").value["steps"]
    both = merge_child(tmp_path, parent, "steps: {x: {after: a, run: x}, y: {before: c, run: y}}").value[
        "steps"
    ]

    assert after["a"]["on"] == {"passed": "x"}
    assert after["y"]["on"] == {"passed": "c"}
    assert "on" not in after["x"]
    assert before["a"]["on"] == {"passed": "x"}
    assert (both["a"]["on"], both["x"]["on"]) == ({"passed": "x"}, {"passed": "y"})


def test_a_route_set_by_the_child_is_not_changed(tmp_path: Path) -> None:
    parent = "steps: {a: {run: a, on: {passed: c}}, b: {run: b, on: {passed: next}}, c: {run: c}}"
    child = "steps: {a: {on: {passed: b}}, x: {after: a, run: x}, y: {after: b, run: y, on: {passed: end}}}"

    steps = merge_child(tmp_path, parent, child).value["steps"]

    assert steps["a"]["on"] == {"passed": "b"}
    assert steps["b"]["on"] == {"passed": "next"}
    assert steps["y"]["on"] == {"passed": "end"}


def test_the_order_of_many_steps_takes_time_in_proportion_to_them() -> None:
    here = SourceLocation("file", 1, 1)
    steps = {f"s{number}": Node({}, here, here) for number in range(30_000)}

    with work_within(2.0):
        ordered = insert_new_steps({}, steps, steps)

    assert list(ordered.steps) == list(steps)


def test_a_file_without_steps_of_its_own_has_no_routes_to_write() -> None:
    place = SourceLocation("child.yaml", 1, 1)
    child = node_from_value({"extends": "base"}, place)

    assert write_next_steps(child, node_from_value({"steps": {"a": {"run": "true"}}}, place)) is child

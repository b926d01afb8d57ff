"""Compiling blocks, routes, loops and lists: the shape of the graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.expressions.nodes import Compare, Const, Field, Name
from podium.core.expressions.templates import Text
from podium.core.model import Agent, Block, Call, Check, ForEach, Members, Repeat, Review, Set, Step, Target
from podium.core.types import Outcome
from podium.workflow.outcomes import possible_failures, possible_outcomes
from podium.workflow.schema.step import VERBS
from tests.workflow.compiling import compile_text, errors, gates_of, only_step, step_of, verb_of
from tests.workflow.reading import file_with, read_valid


def test_a_sequence_keeps_its_order(tmp_path: Path) -> None:
    body = compile_text(tmp_path, "steps: {a: {run: x}, b: {run: y}}").body
    assert (body.kind, body.parallel, body.rule, body.join) == ("seq", 1, "all", "queue")
    assert [step.name for step in body.steps] == ["a", "b"]
    assert dict(body.index) == {"a": 0, "b": 1}
    assert body.dependents == ()


def test_needs_make_a_graph_limited_by_the_files_maximum(tmp_path: Path) -> None:
    text = "max_parallel: 3\nsteps: {a: {run: x, needs: []}, b: {run: y, needs: [a]}, c: {run: z, needs: [a, b]}}"
    body = compile_text(tmp_path, text).body
    assert (body.kind, body.parallel) == ("dag", 3)
    assert [step.needs for step in body.steps] == [(), (0,), (0, 1)]
    assert body.dependents == ((1, 2), (2,), ())


def test_needs_may_say_how_many_must_have_passed(tmp_path: Path) -> None:
    text = "steps: {a: {run: x, needs: []}, b: {run: y, needs: {of: [a], pass: done}}, c: {run: z, needs: {of: [b]}}}"
    body = compile_text(tmp_path, text).body
    assert [step.needs for step in body.steps] == [(), (0,), (1,)]
    assert [step.needs_rule for step in body.steps] == ["all", "done", "all"]


def test_the_first_that_pass_may_stop_the_others(tmp_path: Path) -> None:
    rule = "pass: 1, cancel: rest"
    inner = "steps: {a: {run: x}, b: {run: y}}"
    agents = "agent: [claude, codex], prompt: Go., touches: []"
    assert verb_of(only_step(tmp_path, f"{{parallel: true, {rule}, {inner}}}"), Block).cancels_rest
    assert verb_of(only_step(tmp_path, f"{{{agents}, {rule}}}"), Members).cancels_rest
    loop = verb_of(only_step(tmp_path, f"{{for_each: [1, 2], {agents}, {rule}}}"), ForEach)
    assert loop.cancels_rest and not verb_of(loop.body, Members).cancels_rest


@pytest.mark.parametrize(
    ("parallel", "kind", "width"), [("true", "par", 4), ("2", "par", 2), ("1", "seq", 1), ("false", "seq", 1)]
)
def test_parallel_decides_how_a_block_runs(parallel: str, kind: str, width: int, tmp_path: Path) -> None:
    step = only_step(tmp_path, f"{{parallel: {parallel}, steps: {{a: {{run: x}}, b: {{run: y}}}}}}")
    block = verb_of(step, Block)
    assert (block.kind, block.parallel) == (kind, width)


def test_the_number_of_parallel_steps_of_a_graph_can_be_limited(tmp_path: Path) -> None:
    inner = "{a: {run: x, needs: []}, b: {run: y, needs: []}}"
    assert verb_of(only_step(tmp_path, f"{{parallel: false, steps: {inner}}}"), Block).parallel == 1
    assert verb_of(only_step(tmp_path, f"{{parallel: 2, steps: {inner}}}"), Block).parallel == 2


def test_parallel_may_be_an_inserted_value(tmp_path: Path) -> None:
    step = only_step(
        tmp_path,
        '{parallel: "${{ inputs.n }}", pass: any, join: discard, steps: {a: {run: x}, b: {run: y}}}',
        "inputs: {n: int}",
    )
    block = verb_of(step, Block)
    assert block.parallel == Field(Name("inputs"), "n")
    assert (block.kind, block.rule, block.join) == ("par", "any", "discard")


def test_a_block_may_select_its_result(tmp_path: Path) -> None:
    step = only_step(tmp_path, '{output: "${{ steps.a.output }}", steps: {a: {run: x}}}')
    assert verb_of(step, Block).output == Field(Field(Name("steps"), "a"), "output")
    assert step.output.kind == "text"


def test_routes_lead_to_steps_and_keywords(tmp_path: Path) -> None:
    text = """
    steps:
      a: {run: x}
      b: {run: y, on: {passed: end, failed: a, timeout: {fail: "no ${{ run.id }}"}, error: next}}
    """
    on = step_of(compile_text(tmp_path, text), "b").on
    assert on["passed"] == Target("end")
    assert on["failed"] == Target("step", 0)
    assert on["error"] == Target("next")
    assert on["timeout"] == Target("fail", message=Text(("no ", Field(Name("run"), "id"))))


def test_else_covers_exactly_the_possible_failures(tmp_path: Path) -> None:
    on = only_step(tmp_path, "{run: x, on: {failed: next, else: {end: done}}}").on
    assert on["failed"] == Target("next")
    assert on["timeout"] == on["error"] == Target("end", message="done")
    assert set(on) == {"failed", "timeout", "error"}


def test_else_includes_failures_of_the_roles_gates(tmp_path: Path) -> None:
    rest = 'roles: {w: {extends: implementer, gates: [{human: "Good?"}]}}'
    on = only_step(tmp_path, "{role: w, prompt: x, on: {else: next}}", rest).on
    assert set(on) == {"failed", "blocked", "timeout", "error", "aborted"}


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"role": "x"}, "failed blocked timeout error"),
        ({"agent": ["x", "y"]}, "partial failed blocked timeout error"),
        ({"run": "x"}, "failed timeout error"),
        ({"review": "x"}, "rejected aborted timeout error"),
        ({"human": "x"}, "rejected aborted timeout"),
        ({"check": "x"}, "failed"),
        ({"wait": {"file": "x"}}, "timeout error"),
        ({"wait": {"poll": ["x"]}}, "failed timeout error"),
        ({"set": {"x": 1}}, ""),
        ({"git": {"branch": "x"}}, "failed conflict error"),
        ({"steps": {}}, "failed timeout"),
        ({"steps": {}, "parallel": 2}, "partial failed timeout conflict"),
        ({"steps": {}, "parallel": 2, "join": "discard"}, "partial failed timeout"),
        ({"workflow": "x"}, "failed timeout error"),
        ({"build": "x", "component": {"run": "x"}}, "partial failed conflict error"),
        ({"check": "x", "for_each": [1]}, "partial failed"),
        ({"run": "x", "for_each": [1], "parallel": True}, "partial failed timeout conflict error"),
        ({"agent": ["x", "y"], "join": {"batch": 2}}, "partial failed blocked timeout conflict error"),
        ({"human": "x", "repeat": {"until": "x", "max": 2}}, "failed rejected aborted timeout"),
    ],
)
def test_the_possible_outcomes_of_a_step_depend_on_its_verb_and_modifiers(
    step: dict[str, object], expected: str
) -> None:
    raw = read_valid(file_with(a=step)).steps["a"]
    assert possible_failures(raw) == tuple(sorted(expected.split(), key=_order))
    assert "skipped" not in possible_outcomes(raw)
    assert possible_outcomes(raw)[0] == "passed"


def _order(outcome: str) -> int:
    words = "partial failed rejected aborted blocked timeout conflict error".split()
    return words.index(outcome)


def test_gates_and_conditions_add_outcomes() -> None:
    gate = read_valid(file_with(a={"run": "x"}) | {"gates": {"g": {"run": "x"}, "h": {"review": "x"}}}).gates
    raw = read_valid(file_with(a={"git": {"branch": "x"}, "when": "true"})).steps["a"]
    plain: tuple[Outcome, ...] = ("passed", "skipped", "failed", "conflict", "error")
    assert possible_outcomes(raw, [gate["g"]]) == plain
    assert "aborted" in possible_outcomes(raw, [gate["h"]])


def test_a_step_without_a_verb_has_all_outcomes() -> None:
    raw = read_valid(file_with(a={"run": "x"})).steps["a"].with_values({"run": None})
    assert len(possible_outcomes(raw)) == 10
    assert "cancelled" not in possible_outcomes(raw)


def test_a_loop_is_put_around_its_body(tmp_path: Path) -> None:
    text = """
    steps:
      a: {check: true}
      it:
        for_each: {in: "[1, 2]", as: n, where: n > 1, key: n, needs: "[]"}
        parallel: 2
        pass: 50%
        join: {batch: 3}
        when: steps.a.outcome == 'passed'
        limits: {usd: 1}
        on: {partial: next}
        run: [echo, "${{ n }}"]
        timeout: 7s
        description: Each
    """
    outer = step_of(compile_text(tmp_path, text), "it")
    loop = verb_of(outer, ForEach)
    assert (loop.name, loop.parallel, loop.rule, loop.join) == ("n", 2, 0.5, 3)
    assert loop.where == Compare(">", Name("n"), Const(1))
    assert loop.key == Name("n")
    assert loop.needs is not None
    assert outer.on["partial"] == Target("next")
    assert outer.when is not None
    assert outer.limits.usd == 1_000_000
    assert outer.timeout is None
    assert outer.description == "Each"
    assert outer.line > 0
    body = loop.body
    assert (body.name, body.timeout, body.when, dict(body.on)) == ("it", 7000, None, {})
    assert body.limits.usd is None


def test_a_literal_list_may_have_inserted_values(tmp_path: Path) -> None:
    loop = verb_of(
        only_step(tmp_path, '{run: x, for_each: [a, "${{ inputs.b }}"]}', "inputs: {b: string}"), ForEach
    )
    assert loop.items == ("a", Field(Name("inputs"), "b"))
    assert (loop.parallel, loop.rule, loop.join, loop.name) == (1, "all", "queue", "item")


def test_parallel_of_a_loop_over_a_block_applies_to_the_loop(tmp_path: Path) -> None:
    loop = verb_of(
        only_step(tmp_path, "{for_each: [1], parallel: 3, pass: any, steps: {a: {run: x}}}"), ForEach
    )
    block = verb_of(loop.body, Block)
    assert (loop.parallel, loop.rule) == (3, "any")
    assert (block.kind, block.parallel, block.rule) == ("seq", 1, "all")


def test_a_repeat_loop_ends_by_its_test_or_its_maximum(tmp_path: Path) -> None:
    first = verb_of(only_step(tmp_path / "a", "{run: x, repeat: {until: exists('x'), max: 5}}"), Repeat)
    assert (first.kind, first.max, first.on_exhausted) == ("until", 5, "fail")
    text = "{run: x, repeat: {while: exists('x'), max: \"${{ inputs.n }}\", on_exhausted: accept_best}}"
    second = verb_of(only_step(tmp_path / "b", text, "inputs: {n: int}"), Repeat)
    assert (second.kind, second.max, second.on_exhausted) == (
        "while",
        Field(Name("inputs"), "n"),
        "accept_best",
    )


def test_a_list_of_agents_becomes_members_with_names(tmp_path: Path) -> None:
    step = only_step(
        tmp_path,
        "{role: planner, agent: [claude, gemini, claude], prompt: x, pass: majority, join: best, retry: {visits: 2},"
        " gates: [{check: true}], on: {partial: next}}",
    )
    members = verb_of(step, Members)
    assert (members.rule, members.join) == ("majority", "best")
    assert [member.name for member in members.members] == ["claude", "gemini", "claude_2"]
    agents = [verb_of(member, Agent) for member in members.members]
    assert [(agent.role, agent.agent, agent.member) for agent in agents] == [
        ("planner", "claude", "claude"),
        ("planner", "gemini", "gemini"),
        ("planner", "claude", "claude_2"),
    ]
    assert all(gates_of(member).members for member in members.members)
    assert step.gates is None
    assert (step.retry.visits, step.retry.attempts) == (2, 1)
    assert step.on["partial"] == Target("next")
    assert step.has_worker


def test_a_list_of_roles_may_share_an_agent(tmp_path: Path) -> None:
    members = verb_of(only_step(tmp_path, "{role: [planner, tech_lead], agent: codex, prompt: x}"), Members)
    agents = [verb_of(member, Agent) for member in members.members]
    assert [(agent.role, agent.agent) for agent in agents] == [("planner", "codex"), ("tech_lead", "codex")]
    assert members.join == "discard"


def test_pass_and_join_of_a_list_in_a_loop_apply_to_the_loop(tmp_path: Path) -> None:
    loop = verb_of(
        only_step(tmp_path, "{agent: [claude, codex], prompt: x, touches: [], for_each: [1], pass: any}"),
        ForEach,
    )
    members = verb_of(loop.body, Members)
    assert (loop.rule, members.rule, members.join) == ("any", "all", "discard")


def test_a_review_judges_the_steps_in_of_or_its_needs_or_the_step_above(tmp_path: Path) -> None:
    text = """
    steps:
      a: {role: planner, prompt: x}
      b: {role: planner, prompt: x}
      said: {review: reviewer, of: [a, b]}
      above: {review: reviewer, of: a}
    """
    workflow = compile_text(tmp_path / "one", text)
    assert verb_of(step_of(workflow, "said"), Review).of == ("a", "b")
    text = "steps: {a: {role: planner, prompt: x, needs: []}, r: {review: [reviewer], needs: [a]}}"
    assert verb_of(step_of(compile_text(tmp_path / "two", text), "r"), Review).of == ("a",)
    text = "steps: {a: {role: planner, prompt: x}, r: {review: [reviewer]}}"
    assert verb_of(step_of(compile_text(tmp_path / "three", text), "r"), Review).of == ("a",)


def test_another_workflow_is_a_call_with_its_values(tmp_path: Path) -> None:
    child = "podium: 1\nname: child\ninputs: {n: int}\nsteps: {a: {role: planner, prompt: x}}\n"
    step = only_step(
        tmp_path, "{workflow: child.yaml, with: {n: 3}, timeout: 1h}", files={"child.yaml": child}
    )
    call = verb_of(step, Call)
    assert call.values == (("n", 3),)
    assert call.workflow.name == "child"
    assert step.timeout == 3_600_000
    assert step.has_worker


def test_a_child_workflow_whose_failure_is_handled_asks_no_person(tmp_path: Path) -> None:
    child = "podium: 1\nname: child\nsteps: {a: {role: planner, prompt: x}}\n"
    step = only_step(tmp_path, "{workflow: child.yaml, on: {failed: next}}", files={"child.yaml": child})
    assert verb_of(step, Call).workflow.body.steps[0].retry.on_exhausted == "fail"


def test_a_workflow_that_contains_itself_is_a_problem(tmp_path: Path) -> None:
    other = "podium: 1\nname: other\nsteps: {b: {workflow: flow.yaml}}\n"
    actual = errors(tmp_path, "steps: {a: {workflow: other.yaml}}", {"other.yaml": other})
    assert actual == [(35, "flow.yaml contains itself")]


def test_workflows_are_nested_at_most_eight_deep(tmp_path: Path) -> None:
    files = {
        f"f{number}.yaml": f"podium: 1\nname: f{number}\nsteps: {{a: {{workflow: f{number + 1}.yaml}}}}\n"
        for number in range(1, 9)
    }
    actual = errors(tmp_path, "steps: {a: {workflow: f1.yaml}}", files)
    assert actual == [(35, "workflows are nested more than 8 deep")]


def test_set_and_check_are_leaves(tmp_path: Path) -> None:
    text = 'vars: {x: 1}\nsteps: {a: {set: {x: "${{ vars.x + 1 }}"}}, b: {check: vars.x > 1}}'
    workflow = compile_text(tmp_path, text)
    [(name, value)] = verb_of(step_of(workflow, "a"), Set).values
    assert name == "x"
    assert value is not None
    assert verb_of(step_of(workflow, "b"), Check).test == Compare(">", Field(Name("vars"), "x"), Const(1))
    assert step_of(workflow, "a").touches == ()


def test_a_step_has_its_line_and_description(tmp_path: Path) -> None:
    step = only_step(tmp_path, "{run: x, description: Why}")
    assert (step.description, step.line) == ("Why", 5)
    assert isinstance(step, Step)


def test_every_verb_is_compiled() -> None:
    """A new verb needs a test here."""
    assert len(VERBS) == 13


@pytest.mark.parametrize(
    ("around", "conflicts"),
    [
        ("parallel: 2", True),
        ("parallel: 2, join: {batch: 2}", True),
        ("parallel: 2, join: discard", False),
        ("description: one after another", False),
    ],
)
def test_a_step_whose_work_is_merged_may_end_with_a_conflict(
    around: str, conflicts: bool, tmp_path: Path
) -> None:
    """Issue 16, C6: `on: {conflict: ...}` is allowed on a member, and `else` includes it."""
    routed = f"steps: {{all: {{{around}, steps: {{a: {{role: planner, prompt: x, on: {{WORD: next}}}}, b: {{check: true}}}}}}}}"
    faults = errors(tmp_path / "named", routed.replace("WORD", "conflict"))
    assert faults == ([] if conflicts else [(8, '"role" never ends "conflict"')])
    workflow = compile_text(tmp_path / "else", routed.replace("WORD", "else"))
    block = workflow.body.steps[0].verb
    assert isinstance(block, Block)
    assert ("conflict" in block.steps[0].on) == conflicts
    assert "conflict" not in block.steps[1].on


def test_a_step_of_a_graph_may_end_with_a_conflict(tmp_path: Path) -> None:
    text = "steps: {a: {needs: [], run: x, touches: [f], on: {conflict: next}}, b: {needs: [a], run: y}}"
    assert errors(tmp_path, text) == []


def test_members_that_see_each_other_take_turns(tmp_path: Path) -> None:
    work = "{agent: [claude, codex], prompt: Go., touches: [], context: {earlier: %s}}"
    assert verb_of(only_step(tmp_path, work % "all"), Members).in_turn
    assert not verb_of(only_step(tmp_path, work % "none"), Members).in_turn
    judged = "steps: {a: {run: x}, r: {review: [claude, codex], of: a, context: {earlier: all}, on: {rejected: next}}}"
    assert verb_of(compile_text(tmp_path, judged).body.steps[1], Review).parallel == 1

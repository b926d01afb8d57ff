"""Compiling a feature to blocks and loops."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.core.expressions import feature_functions
from podium.core.expressions.nodes import Call, Const, Field, MissingValue, Name, WrongType, evaluate
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Json
from podium.core.model import Agent, Block, Command, ForEach, Step, Write
from podium.workflow.expressions.parser import ExpressionError, parse_expression
from tests.workflow.compiling import compile_text, errors, gates_of, only_step, step_of, verb_of

AUTH = """\
id: P1
title: Sign-in
phases:
  backend:
    interfaces:
      login: {file: api/login.ts, text: "interface Login {}", check: [tsc, api/login.ts]}
      token: {file: api/token.ts, text: "interface Token {}"}
    components:
      model: {touches: [model.py]}
      service: {touches: [service.py], needs: [model]}
  frontend:
    barrier: interfaces
    components:
      form: {needs: [backend.service], description: The form}
      page: {needs: [frontend.form]}
  docs:
    components: {}
"""
WORKER = "component: {role: implementer, prompt: x}"


class Names:
    def __init__(self, **values: Any) -> None:
        self.values = values

    def lookup(self, name: str) -> Json:
        if name not in self.values:
            raise MissingValue(name)
        actual: Json = self.values[name]
        return actual

    def fact(self, query: tuple[str, str]) -> Json:
        raise AssertionError(query)


def compile_build(folder: Path, keys: str = WORKER, feature: str = AUTH) -> Step:
    return only_step(folder, f"{{build: auth.yaml, {keys}}}", files={"auth.yaml": feature})


def inner(step: Step, name: str) -> Step:
    block = verb_of(step, Block)
    return block.steps[block.index[name]]


def phases_of(step: Step) -> ForEach:
    return verb_of(inner(step, "phases"), ForEach)


def components_of(step: Step) -> ForEach:
    return verb_of(inner(phases_of(step).body, "components"), ForEach)


@pytest.mark.req("C26")
def test_interfaces_come_first_then_phases(tmp_path: Path) -> None:
    step = compile_build(tmp_path)
    assert [child.name for child in verb_of(step, Block).steps] == ["interfaces", "phases"]
    write = inner(step, "interfaces")
    files = verb_of(write, Write).files
    assert isinstance(files, Mapping)
    assert list(files) == ["login", "token"]
    assert write.touches == ("api/login.ts", "api/token.ts")
    assert step.has_worker


@pytest.mark.req("R165")
def test_phases_wait_according_to_their_barriers(tmp_path: Path) -> None:
    loop = phases_of(compile_build(tmp_path, f"parallel: 3, {WORKER}"))
    assert (loop.name, loop.parallel) == ("phase", 3)
    assert (loop.key, loop.needs) == (Field(Name("phase"), "id"), Field(Name("phase"), "needs"))
    items: Any = fill(loop.items, Names())
    assert [(item["id"], list(item["needs"])) for item in items] == [
        ("backend", []),
        ("frontend", ["backend"]),
        ("docs", ["backend", "frontend"]),
    ]
    assert items[0]["title"] == "backend"


def test_components_wait_for_components_they_need(tmp_path: Path) -> None:
    step = compile_build(tmp_path, f"pass: any, join: {{batch: 2}}, {WORKER}")
    loop = components_of(step)
    assert (loop.name, loop.rule, loop.join, loop.parallel) == ("component", "any", 2, 1)
    items: Any = fill(phases_of(step).items, Names())
    actual: Any = fill(loop.items, Names(phase=items[1]))
    assert [(item["id"], item["phase"], list(item["needs"]), item["touches"]) for item in actual] == [
        ("form", "frontend", [], None),
        ("page", "frontend", ["form"], None),
    ]
    assert actual[0]["description"] == "The form"


def test_a_component_may_change_only_its_files_and_no_interface(tmp_path: Path) -> None:
    body = components_of(compile_build(tmp_path)).body
    assert isinstance(body.verb, Agent)
    assert body.touches == Field(Name("component"), "touches")
    assert body.verb.no_change == "fail"
    assert body.settings.protect[-2:] == ("api/login.ts", "api/token.ts")
    [check] = gates_of(body).members
    assert (check.name, check.verb) == ("interface_login", Command(("tsc", "api/login.ts")))


def test_workers_of_a_component_block_share_its_claim(tmp_path: Path) -> None:
    keys = (
        "component: {steps: {code: {role: implementer, prompt: x},"
        " tests: {role: test_engineer, prompt: y, touches: ['tests/**']}}}"
    )
    body = components_of(compile_build(tmp_path, keys)).body
    code, tests = verb_of(body, Block).steps
    assert code.touches == body.touches == Field(Name("component"), "touches")
    assert tests.touches == ("tests/**",)


def test_the_checks_of_interfaces_are_added_to_the_gates(tmp_path: Path) -> None:
    keys = "component: {role: implementer, prompt: x, gates: [{name: interface_login, run: make}, {review: gemini}]}"
    gates = gates_of(components_of(compile_build(tmp_path / "a", keys)).body)
    assert [[gate.name for gate in stage] for stage in gates.stages] == [
        ["interface_login", "interface_login_2"],
        ["review"],
    ]
    keys = "component: {role: implementer, prompt: x, gates: [{review: gemini}]}"
    gates = gates_of(components_of(compile_build(tmp_path / "b", keys)).body)
    assert [[gate.name for gate in stage] for stage in gates.stages] == [["interface_login"], ["review"]]


def test_without_interfaces_nothing_is_written_or_checked(tmp_path: Path) -> None:
    step = compile_build(tmp_path, feature="phases: {p: {components: {a: {touches: [x]}}}}\n")
    assert [child.name for child in verb_of(step, Block).steps] == ["phases"]
    assert components_of(step).body.gates is None


def test_a_feature_may_be_written_in_the_workflow(tmp_path: Path) -> None:
    step = only_step(
        tmp_path,
        f"{{build: {{phases: {{p: {{components: {{a: {{}}}}}}}}}}, {WORKER}, touches: [x], gates: [{{check: true}}]}}",
    )
    items: Any = phases_of(step).items
    assert items[0]["id"] == "p"
    assert step.touches == ("x",)
    assert step.gates is not None


def test_a_component_may_override_the_step_that_builds_it(tmp_path: Path) -> None:
    feature = """\
    phases:
      p:
        components:
          a: {touches: [x]}
          b: {touches: [y], timeout: 1m}
          c: {run: make c}
    """
    body = components_of(compile_build(tmp_path, feature=feature)).body
    usual, b, c = verb_of(body, Block).steps
    assert [usual.name, b.name, c.name] == ["component", "p_b", "p_c"]
    assert (b.timeout, usual.timeout) == (60_000, 1_200_000)
    assert isinstance(b.verb, Agent)
    assert verb_of(c, Command).argv == ("make", "c")
    assert body.touches == Field(Name("component"), "touches")
    for step, chosen in ((usual, "a"), (b, "b"), (c, "c")):
        for name in "abc":
            names = Names(component={"phase": "p", "id": name})
            assert step.when is not None
            assert evaluate(step.when, names) is (name == chosen)
    result = verb_of(body, Block).output
    assert fill(result, Names(steps={"p_b": {"output": "done"}})) == "done"
    assert fill(result, Names(steps={})) is None


def test_a_feature_from_a_steps_output_is_expanded_at_run_time(tmp_path: Path) -> None:
    text = """
    steps:
      plan: {role: planner, prompt: x, output: {schema: Feature}}
      it: {build: "${{ steps.plan.output }}", component: {role: implementer, prompt: x}}
    """
    step = step_of(compile_text(tmp_path, text), "it")
    answer = Field(Field(Name("steps"), "plan"), "output")
    assert dict(step.parameters) == {"feature": answer, "interfaces": Call("_interfaces", (Name("feature"),))}
    write = inner(phases_of(step).body, "interfaces")
    assert verb_of(write, Write).files == Name("interfaces")
    assert write.touches == Call("_files", (Name("interfaces"),))
    assert write.parameters == (("interfaces", Field(Name("phase"), "locked")),)
    assert phases_of(step).items == Call("_phases", (Name("feature"), Const(value=False)))
    assert components_of(step).items == Call("_components", (Name("phase"),))
    body = components_of(step).body
    assert body.settings.protect[-1] == Call("_files", (Name("interfaces"),))
    [check] = gates_of(body).members
    loop = verb_of(check, ForEach)
    assert loop.items == Call("_checks", (Name("interfaces"),))
    assert verb_of(loop.body, Command).argv == (Name("check"),)


LATER = """\
phases:
  a: {interfaces: {one: {file: one.ts, text: "1"}}}
  b: {interfaces: {two: {file: two.ts, text: "2"}}}
  c: {barrier: interfaces, interfaces: {three: {file: three.ts, text: "3"}}}
  d: {}
"""


def test_the_interfaces_of_a_phase_that_waits_are_written_when_it_starts(tmp_path: Path) -> None:
    """R168: a component of an earlier phase could not satisfy a check of what is built later."""
    step = compile_build(tmp_path, feature=LATER)
    assert [child.name for child in verb_of(step, Block).steps] == ["phases"]
    write, components = verb_of(phases_of(step).body, Block).steps
    assert write.parameters == components.parameters == (("interfaces", Field(Name("phase"), "locked")),)
    items: Any = phases_of(step).items
    assert {item["id"]: sorted(item["locked"]) for item in items} == {
        "a": ["one"],
        "b": ["one", "three", "two"],
        "c": ["one", "three", "two"],
        "d": ["one", "three", "two"],
    }
    assert items[1]["locked"]["three"]["phase"] == "c"


def test_a_design_runs_before_the_components_of_its_phase(tmp_path: Path) -> None:
    step = compile_build(tmp_path / "a", f"design: {{role: tech_lead, prompt: x}}, {WORKER}")
    design, write, components = verb_of(phases_of(step).body, Block).steps
    assert (design.name, design.output.schema_name) == ("design", "Phase")
    detailed = Call("_designed", (Name("phase"), Field(Field(Name("steps"), "design"), "output")))
    assert write.parameters == components.parameters == (("interfaces", Field(detailed, "interfaces")),)
    assert verb_of(components, ForEach).items == Call("_components", (detailed,))
    items: Any = phases_of(step).items
    assert list(items[1]["needs"]) == ["backend"]
    step = compile_build(tmp_path / "b", f"design: {{role: tech_lead, prompt: x, output: json}}, {WORKER}")
    assert inner(phases_of(step).body, "design").output.kind == "json"


def test_with_a_design_each_phase_waits_for_all_earlier_ones() -> None:
    feature = {"phases": {"a": {}, "b": {"barrier": "none"}}}
    assert [phase["needs"] for phase in feature_functions.phases(feature)] == [[], []]
    assert [phase["needs"] for phase in feature_functions.phases(feature, strict=True)] == [[], ["a"]]


@pytest.mark.req("C26")
def test_a_phase_waits_for_earlier_phases_for_their_interfaces_or_for_nothing() -> None:
    """The first step of a build writes the interfaces, so a phase that waits only for them waits for no phase."""
    barriers = {"a": "strict", "b": None, "c": "interfaces", "d": "none", "e": "strict"}
    feature = {"phases": {name: {"barrier": word} if word else {} for name, word in barriers.items()}}
    assert {phase["id"]: phase["needs"] for phase in feature_functions.phases(feature)} == {
        "a": [],
        "b": ["a"],
        "c": [],
        "d": [],
        "e": ["a", "b", "c", "d"],
    }


def test_lists_with_ids_and_maps_by_name_give_the_same_feature() -> None:
    listed = {"phases": [{"id": "a", "components": [{"id": "x", "needs": ["y"]}, {"name": "y"}, {}]}]}
    [phase] = feature_functions.phases(listed)
    assert [component["id"] for component in feature_functions.components(phase)] == ["x", "y", "3"]
    assert feature_functions.components({"components": {"x": None}})[0]["id"] == "x"


def test_the_answer_of_a_design_is_merged_into_its_phase() -> None:
    phase = {"id": "a", "title": "A", "interfaces": {"i": {"file": "i.ts", "text": "1"}}, "components": []}
    design = {"components": {"x": {}}, "interfaces": {"j": {"file": "j.ts", "text": "2", "check": ["true"]}}}
    actual = feature_functions.designed(phase, design)
    assert (actual["id"], actual["title"]) == ("a", "A")
    assert feature_functions.files(actual["interfaces"]) == ["i.ts", "j.ts"]
    assert feature_functions.checks(actual["interfaces"]) == [["true"]]
    assert [item["id"] for item in feature_functions.components(actual)] == ["x"]


@pytest.mark.parametrize(
    "feature",
    [
        "text",
        {"phases": "text"},
        {"phases": [1]},
        {"phases": {"a": 5}},
        {"phases": {"a": {"barrier": "none", "components": {"x": {"needs": "y"}}}}},
        {"phases": {"a": {"barrier": "none", "components": {"x": {"needs": [1]}}}}},
    ],
)
def test_a_value_that_is_not_a_feature_is_a_type_error(feature: Any) -> None:
    with pytest.raises(WrongType):
        evaluate(Call("_phases", (Name("feature"), Const(value=False))), Names(feature=feature))


def test_internal_functions_cannot_be_called_in_a_file() -> None:
    for name in feature_functions.FUNCTIONS:
        with pytest.raises(ExpressionError):
            parse_expression(f"{name}(feature)")


def test_problems_in_a_feature_file_are_placed_in_that_file(tmp_path: Path) -> None:
    text = f"steps: {{it: {{build: auth.yaml, {WORKER}}}}}"
    feature = "phases: {p: {components: {a: {toches: [x]}, b: {steps: {c: {}}}}}}\n"
    actual = errors(tmp_path / "a", text, {"auth.yaml": feature})
    assert (3, 'step "a" has an unknown key "toches"') in actual
    assert (4, 'step "c" has no verb') in actual
    assert (38, "auth.yaml does not exist") in errors(tmp_path / "b", text)
    assert errors(tmp_path / "c", text, {"auth.yaml": "a: [\n"}) != []
    assert (3, 'the feature needs "phases"') in errors(tmp_path / "d", text, {"auth.yaml": "id: x\n"})

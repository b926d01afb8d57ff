"""Compiling limits, breaker, retry, policies and other settings of the whole workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from podium.core.expressions.nodes import Call, Const, Field, Name
from podium.core.model import Agent, Block, Human, Input, Wait
from podium.core.policy import Backoff, Breaker, Failures, Limits, PolicyRule, Reserve, Retry, Stop
from podium.core.queries.computed import Setting
from podium.core.types import MicroUsd, Millis
from podium.workflow.compile import policy
from podium.workflow.compile.values import CompileContext
from tests.workflow.compiling import compile_text, errors, only_step, step_of, verb_of

ONE = "\nsteps: {a: {run: x}}"


def retry_of(folder: Path, text: str, rest: str = "") -> Retry:
    return only_step(folder, f"{{role: planner, prompt: x, retry: {text}}}", rest).retry


def test_the_shipped_limits_apply_by_default(tmp_path: Path) -> None:
    usual = compile_text(tmp_path / "a", ONE)
    assert usual.limits == Limits(
        usd=MicroUsd(10_000_000), time=Millis(7_200_000), transitions=200, members=100
    )
    assert usual.unknown_cost == "ask"
    assert usual.max_parallel == 4
    workflow = compile_text(
        tmp_path / "b", "limits: {usd: 2.5, tokens: 2M, window: 50%, unknown_cost: refuse}" + ONE
    )
    assert (workflow.limits.usd, workflow.limits.tokens, workflow.limits.window) == (2_500_000, 2_000_000, 50)
    assert workflow.limits.transitions == 200
    assert workflow.unknown_cost == "refuse"


def test_a_reserve_for_finally_needs_a_finally(tmp_path: Path) -> None:
    """Otherwise it would only make the limits tighter."""
    limits = "limits: {usd: 5, finally: {usd: 0.5, tokens: 2k, calls: 1}}"
    with_it = compile_text(tmp_path / "a", limits + ONE + "\nfinally: {b: {run: x}}")
    without = compile_text(tmp_path / "b", limits + ONE)

    assert with_it.limits.finally_ == Reserve(MicroUsd(500_000), 2_000, 1)
    assert without.limits.finally_ == Reserve()


def test_the_shipped_breaker_applies_by_default(tmp_path: Path) -> None:
    assert compile_text(tmp_path, ONE).breaker == Breaker()


def test_the_defaults_in_code_equal_the_shipped_configuration() -> None:
    """The shipped configuration sets all of them; the values in code apply where it is not merged."""
    assert policy.breaker(None) == Breaker()
    assert policy.limits(CompileContext(cast("Any", None)), None, Limits(calls=1)) == Limits(calls=1)


def test_rules_of_the_breaker_can_be_added_and_disabled(tmp_path: Path) -> None:
    text = "breaker: {visits: 9, cycle: null, similar: 95%, failures: {count: 5, within: 5m}, usd: 1, time: 1m, near: 80%}"
    actual = compile_text(tmp_path, text + ONE).breaker
    assert (actual.visits, actual.cycle, actual.repeat, actual.similar) == (9, None, 2, 95)
    assert actual.failures == Failures(5, Millis(300_000))
    assert (actual.usd, actual.time, actual.near, actual.ask) == (1_000_000, 60_000, 80, "human")


def test_the_breaker_may_ask_a_role_or_an_agent(tmp_path: Path) -> None:
    workflow = compile_text(tmp_path / "a", "breaker: {ask: orchestrator}" + ONE)
    assert workflow.advisor is not None
    advisor = verb_of(workflow.advisor, Agent)
    assert (workflow.advisor.name, advisor.role, advisor.judge) == ("advisor", "orchestrator", False)
    assert (workflow.advisor.output.kind, workflow.advisor.output.schema_name) == ("schema", "Decision")
    assert workflow.advisor.touches == ()
    assert workflow.advisor.retry.on_exhausted == "fail"
    workflow = compile_text(tmp_path / "b", "breaker: {ask: gemini}" + ONE)
    assert workflow.advisor is not None
    assert verb_of(workflow.advisor, Agent).agent == "gemini"
    assert compile_text(tmp_path / "c", "breaker: {ask: human}" + ONE).advisor is None


@pytest.mark.req("R138", "C22")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", {"attempts": 5, "transient": 3, "repair": 2}),
        ("default", {"attempts": 3}),
        ("aggressive", {"attempts": 5, "transient": 5}),
        ("conservative", {"attempts": 2, "backoff": Backoff(Millis(5_000), 3.0, Millis(120_000))}),
        ("fixed", {"backoff": Backoff(Millis(2_000), 1.0, Millis(2_000), 0)}),
        ("none", {"attempts": 1, "transient": 0, "repair": 0}),
        ("mine", {"attempts": 7, "transient": 3}),
        ("{transient: 1, repair: 0, visits: 4}", {"attempts": 3, "transient": 1, "repair": 0, "visits": 4}),
        ("{backoff: 3s}", {"backoff": Backoff(Millis(3_000), 1, Millis(3_000), 0)}),
        ("{backoff: {first: 1s}}", {"backoff": Backoff(Millis(1_000), 2.0, Millis(30_000), 10)}),
        (
            "{backoff: {times: 3, max: 1m, jitter: 5%}}",
            {"backoff": Backoff(Millis(2_000), 3, Millis(60_000), 5)},
        ),
        ("{stop: {similar: 95%, plateau: 2}}", {"stop": Stop(95, 2)}),
        ("{degrade: [Only the core.]}", {"degrade": ("Only the core.",)}),
        ("{on_exhausted: accept_best}", {"on_exhausted": "accept_best", "stated": True}),
    ],
)
def test_retry_is_a_number_a_preset_or_a_map(text: str, expected: dict[str, Any], tmp_path: Path) -> None:
    actual = retry_of(tmp_path, text, "retries: {mine: {attempts: 7}}")
    assert {key: getattr(actual, key) for key in expected} == expected


def test_attempts_may_be_an_inserted_value(tmp_path: Path) -> None:
    assert retry_of(tmp_path, '"${{ inputs.n }}"', "inputs: {n: int}").attempts == Field(Name("inputs"), "n")


def test_a_degraded_prompt_may_be_a_file(tmp_path: Path) -> None:
    text = "steps: {a: {role: planner, prompt: x, retry: {degrade: [prompts/stub.md]}}}"
    workflow = compile_text(tmp_path, text, {"prompts/stub.md": "Write stubs."})
    assert step_of(workflow, "a").retry.degrade == ("Write stubs.",)


def test_a_count_must_be_a_number_or_an_inserted_number(tmp_path: Path) -> None:
    actual = errors(
        tmp_path, 'inputs: {n: int}\nsteps: {a: {role: planner, prompt: x, retry: "n: ${{ inputs.n }}"}}'
    )
    assert (2, 'this must be a number, or one "${{ }}" whose value is a number') in actual


def test_an_unknown_preset_is_reported(tmp_path: Path) -> None:
    actual = errors(tmp_path, "steps: {a: {run: x, retry: agressive}}")
    assert any("agressive" in message for _, message in actual)


@pytest.mark.req("C7")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("", "human"),
        ("on: {failed: next}", "fail"),
        ("for_each: [1], on: {partial: next}", "fail"),
        ("on: {else: next}", "fail"),
        ("on: {blocked: next}", "human"),
        ("for_each: [1], pass: any", "fail"),
        ("for_each: [1], pass: all", "human"),
    ],
)
def test_a_person_is_asked_unless_the_failure_is_handled(keys: str, expected: str, tmp_path: Path) -> None:
    step = only_step(tmp_path, f"{{role: planner, prompt: x, {keys}}}")
    body = getattr(step.verb, "body", step)
    assert body.retry.on_exhausted == expected


def test_a_failure_may_be_handled_by_an_outer_step(tmp_path: Path) -> None:
    step = only_step(tmp_path, "{on: {failed: next}, steps: {a: {role: planner, prompt: x}}}")
    assert verb_of(step, Block).steps[0].retry.on_exhausted == "fail"


def test_policies_are_rules_in_order(tmp_path: Path) -> None:
    text = """
    people: {ops: [dee, ed]}
    policies:
      risk:
        - {when: "touched('a/**')", level: human, by: ops, approvals: 2}
        - {level: notify, veto: 30m}
    """
    workflow = compile_text(
        tmp_path, text + "steps: {a: {role: planner, prompt: x}, r: {review: reviewer, level: risk}}"
    )
    assert workflow.policies["risk"] == (
        PolicyRule(
            "human",
            Call("touched", (Const("a/**"),)),
            ("ops",),
            2,
            text="policy risk, rule 1 of 2: touched('a/**')",
        ),
        PolicyRule("notify", veto=Millis(1_800_000), text="policy risk, rule 2 of 2: no other rule holds"),
    )
    assert dict(workflow.people) == {"ops": ("dee", "ed")}


def test_inputs_say_what_is_required(tmp_path: Path) -> None:
    text = "inputs: {a: string, b: {type: int, default: 3, help: How many, choices: [3, 4]}, c: {type: path, exists: true, default: x}}"
    assert compile_text(tmp_path, text + ONE, {"x": ""}).inputs == (
        Input("a"),
        Input("b", "int", default=3, required=False, help="How many", choices=(3, 4)),
        Input("c", "path", default="x", required=False, exists=True),
    )


def test_settings_of_the_whole_workflow_are_compiled(tmp_path: Path) -> None:
    text = """
    description: All of it
    strict: true
    vars: {n: 1, deep: {list: [1, 2]}}
    env: [CI, MODE=fast]
    secrets: [TOKEN]
    notify: [phone]
    record: {prompts: true, keep: 30d}
    agents: {local: {type: ollama, model: "${{ inputs.m }}", price: {input: 0, output: 0}}}
    inputs: {m: string}
    outputs: {n: "${{ vars.n }}"}
    steps: {a: {run: x, on: {passed: end, else: fail}}}
    finally: {clean: {run: rm -rf x, on: {passed: end, else: fail}}}
    """
    workflow = compile_text(tmp_path, text)
    assert (workflow.name, workflow.description, workflow.strict) == ("flow", "All of it", True)
    assert dict(workflow.vars) == {"n": 1, "deep": {"list": (1, 2)}}
    assert workflow.env == ("CI", "MODE")
    assert workflow.outputs == (("n", Field(Name("vars"), "n")),)
    assert workflow.config.secrets == ("TOKEN",)
    assert workflow.config.notify == ("phone",)
    assert workflow.config.record["keep"] == "30d"
    assert workflow.config.agents["local"]["model"] == Field(Name("inputs"), "m")
    assert workflow.finally_ is not None
    assert (workflow.finally_.name, workflow.finally_.timeout) == ("finally", 600_000)
    assert [step.name for step in verb_of(workflow.finally_, Block).steps] == ["clean"]


def test_a_variable_may_be_passed_on_by_a_step_or_a_child(tmp_path: Path) -> None:
    child = "podium: 1\nname: child\nenv: [DEEP]\nsteps: {a: {run: x}}\n"
    text = "env: [CI]\nsteps: {a: {run: x, env: [CI, MODE=1]}, b: {workflow: child.yaml}}"
    assert compile_text(tmp_path, text, {"child.yaml": child}).env == ("CI", "MODE", "DEEP")


def test_a_workflow_without_a_name_has_the_name_of_its_file(tmp_path: Path) -> None:
    assert compile_text(tmp_path, "podium: 1" + ONE).name == "flow"


def test_the_fingerprint_changes_with_every_part_of_the_workflow(tmp_path: Path) -> None:
    text = """
    steps:
      a: {role: planner, prompt: p.md}
      b: {workflow: child.yaml}
      c: {build: f.yaml, component: {run: make}}
      d: {run: x, output: {schema: s.json}}
    """
    files = {
        "p.md": "Plan.",
        "child.yaml": "podium: 1\nname: child\nsteps: {a: {run: x}}\n",
        "f.yaml": "phases: {p: {components: {a: {touches: [x]}}}}\n",
        "s.json": '{"type": "object"}',
    }
    first = compile_text(tmp_path / "a", text, files).fingerprint
    assert len(first) == 64
    assert compile_text(tmp_path / "b", text, files).fingerprint == first
    changes = {
        "p.md": "Plan!",
        "child.yaml": files["child.yaml"].replace("run: x", "run: y"),
        "f.yaml": files["f.yaml"].replace("[x]", "[y]"),
        "s.json": '{"type": "array"}',
    }
    actual = {
        compile_text(tmp_path / name, text, {**files, name: new}).fingerprint for name, new in changes.items()
    }
    assert len(actual | {first}) == 5


def test_the_fingerprint_depends_on_the_order_of_steps_but_not_on_comments(tmp_path: Path) -> None:
    first = compile_text(tmp_path / "a", "steps: {a: {run: x}, b: {run: y}}").fingerprint
    assert compile_text(tmp_path / "b", "# about\nsteps: {a: {run: x}, b: {run: y}}").fingerprint == first
    assert compile_text(tmp_path / "c", "steps: {b: {run: y}, a: {run: x}}").fingerprint != first


@pytest.mark.req("C29")
@pytest.mark.parametrize("claim", ["steps.a.output.safe", "steps.a.verdict.score > 8", "vars.safe"])
def test_a_policy_cannot_read_what_a_model_answers(claim: str, tmp_path: Path) -> None:
    text = f"""
    vars: {{safe: true}}
    policies: {{risk: [{{when: {claim}, level: auto}}, {{level: human}}]}}
    steps:
      a: {{role: planner, prompt: x, output: {{schema: {{safe: bool}}}}}}
      b: {{human: "Good?", level: risk}}
    """
    assert (15, f'a policy cannot read "{claim.partition(".")[0]}"') in errors(tmp_path, text)


@pytest.mark.req("C43")
def test_a_restriction_that_an_agent_cannot_enforce_is_refused_when_the_file_is_loaded(
    tmp_path: Path,
) -> None:
    text = "roles: {auditor: {agent: AGENT, prompt: x, tools: [read]}}\nsteps: {a: {role: auditor}}"

    actual = errors(tmp_path / "a", text.replace("AGENT", "codex"))

    assert (22, 'codex cannot enforce tools: [read], which role "auditor" requires') in actual
    assert errors(tmp_path / "b", text.replace("AGENT", "claude")) == []


def test_a_role_says_whether_finishing_without_a_change_is_a_failure(tmp_path: Path) -> None:
    rest = "roles: {w: {agent: claude, prompt: Write., touches: [x.md], no_change: pass}}"

    by_role = verb_of(only_step(tmp_path, "{role: w}", rest), Agent)
    by_step = verb_of(only_step(tmp_path, "{role: w, no_change: fail}", rest), Agent)

    assert (by_role.no_change, by_step.no_change) == ("pass", "fail")


def test_a_timer_is_one_duration_or_one_insert(tmp_path: Path) -> None:
    [(rule, mistake)] = errors(
        tmp_path, 'inputs: {n: string}\nsteps: {a: {wait: {timer: "${{ inputs.n }}s"}}}'
    )

    assert (rule, mistake) == (2, 'this must be a duration, or one "${{ }}" whose value is a duration')


def test_an_upgrade_is_priced_by_its_own_estimate_or_that_of_its_agent(tmp_path: Path) -> None:
    agents = "agents: {strong: {type: claude, estimate: {usd: 3}, max_usd: 4}}"
    ladder = "[{after: 1, model: opus}, {after: 2, model: x, estimate: {usd: 2}}, {after: 3, agent: strong}]"

    steps = retry_of(tmp_path, f"{{attempts: 4, upgrade: {ladder}}}", agents).upgrade

    assert [(entry.after, entry.agent, entry.model) for entry in steps] == [
        (1, None, "opus"),
        (2, None, "x"),
        (3, "strong", None),
    ]
    assert steps[0].estimate is None
    assert [entry.estimate and (entry.estimate.usd, entry.estimate.cap) for entry in steps[1:]] == [
        (2_000_000, None),
        (3_000_000, 4_000_000),
    ]


def test_a_computed_setting_is_named_by_its_place_in_the_file(tmp_path: Path) -> None:
    step = only_step(tmp_path, '{wait: {timer: "${{ inputs.n }}"}}', "inputs: {n: string}")

    timer: Any = verb_of(step, Wait).timer
    assert timer.setting == Setting("steps.it.wait.timer", "duration", Field(Name("inputs"), "n"), unknown=0)


def test_names_that_inputs_decide_are_named_by_their_place_and_others_are_as_written(tmp_path: Path) -> None:
    text = '{human: Good, by: "${{ inputs.n }}", escalate: {after: 1h, to: [ann]}}'
    oversight = verb_of(only_step(tmp_path, text, "inputs: {n: string}"), Human).oversight

    by: Any = oversight.by
    assert by.setting == Setting("steps.it.by", "names", (Field(Name("inputs"), "n"),))
    assert oversight.escalate_to == ("ann",)

"""The supervisor format: gates as verdicts, templates, commands, and invalid files."""

from __future__ import annotations

import json

import pytest

from podium.app.author.load import converted
from podium.core.events import AttemptStarted
from podium.core.messages import Approve
from podium.errors import ConfigurationError
from tests.workflow.dialects.kit import ScriptedProject, status
from tests.workflow.dialects.test_blocks import top_level_steps

FLOW = """
workflow:
  name: Small
  initial_step: plan
  steps:
    commit: {gate_type: orchestrator, command: git commit, human_approval: true, terminal: true}
    fix: {role: implementer, next: commit, on_fail: plan, retry_policy: aggressive}
    plan: {role: planner, next: look, outputs: [files, idea]}
    look: {role: reviewer, gate: "REVIEW_STATUS: APPROVED", on_reject: plan, next: fix, human_approval: true}
"""
PROJECTS = """
projects: [{name: a, path: ./a, roles: [implementer]}, {name: b, path: ./b, roles: [implementer]}]
cross_project_dependencies: {b: {depends_on: [a]}}
"""


def test_only_a_verdict_passes_a_gate_not_a_string(project: ScriptedProject) -> None:
    """C3: an answer that contains APPROVED but no verdict is not an approval; a person decides instead."""
    text = FLOW.replace(", human_approval: true", "")
    cast = '- {match: {step: look/reviewer}, output: "REVIEW_STATUS: APPROVED"}\n'
    run, state = project.run(project.write_workflow(text, cast=cast), {"task": "t"})
    assert status(state) == "open"
    (pending,) = project.view(run).pending
    assert (pending.kind, pending.path.partition("#")[0]) == ("approval", "look")
    project.say(run, Approve(pending.path, "reject", "ann"))
    assert status(project.resume(run)) != "passed"


RISKY = """
workflow:
  steps:
    plan: {role: planner, next: implement}
    implement: {role: implementer, next: risk_check}
    risk_check: {role: risk_manager, next: commit, max_retries: 0}
    commit: {gate_type: orchestrator, command: git commit, terminal: true}
"""
RISK_CAST = """
- {match: {step: implement}, write: {a.txt: "1"}}
- {match: {step: risk_check/risk_manager}, verdict: {decision: reject, score: 2}}
"""


@pytest.mark.parametrize("parent", ["reviewer", "reviewer_gemini", "strict"])
def test_a_role_that_extends_a_reviewer_judges_whatever_its_step_is_called(
    project: ScriptedProject, parent: str
) -> None:
    """The "no" of a risk manager passed as work, and the change landed."""
    project.write(".podium/roles/strict.yaml", "extends: reviewer\nsystem_prompt_additions: Be strict.\n")
    project.write(
        ".podium/roles/risk_manager.yaml", f"extends: {parent}\nsystem_prompt_additions: Find risks.\n"
    )
    path = project.write_workflow(RISKY, cast=RISK_CAST)

    run, state = project.run(path, {"task": "t"})

    assert status(state) != "passed"
    assert "risk_check:rejected" in top_level_steps(project.ended_steps(run))
    assert "review: risk_manager\n    of: implement" in converted(path)


def test_a_role_that_does_not_extend_a_reviewer_works(project: ScriptedProject) -> None:
    project.write(
        ".podium/roles/risk_manager.yaml", "extends: planner\nsystem_prompt_additions: Find risks.\n"
    )
    assert "review:" not in converted(project.write_workflow(RISKY))


def test_steps_follow_next_and_a_commit_waits_for_approval(project: ScriptedProject) -> None:
    """R031, R032, R244."""
    run, state = project.run(project.write_workflow(FLOW), {"task": "t"})
    for _ in range(2):
        project.say(run, Approve(project.view(run).pending[0].path, "approve", "ann"))
        state = project.resume(run)
    assert status(state) == "passed"
    assert top_level_steps(project.ended_steps(run)) == ["plan", "look", "fix", "commit_approval", "commit"]


def test_max_retries_limits_attempts_and_visits(project: ScriptedProject) -> None:
    text = """
workflow:
  steps:
    plan: {role: planner, next: make}
    make: {role: implementer, max_retries: 4, next: ask}
    ask: {type: human_gate, on_reject: make, max_retries: 2, next: scan}
    scan: {role: security_auditor, on_reject: make, max_retries: 1, terminal: true}
"""
    native = converted(project.write_workflow(text))
    assert "retry: {attempts: 5}" in native
    ask = "  ask:\n    human: Continue after ask?\n    retry: {visits: 3}\n    on: {rejected: make}\n"
    scan = "  scan:\n    review: security_auditor\n    of: make\n    retry: {visits: 2}\n    on: {rejected: make}\n"
    assert native.replace('"', "").endswith(ask + scan)


def test_every_kind_of_step_is_translated(project: ScriptedProject) -> None:
    text = """
workflow:
  steps:
    go: {role: planner, next: ask}
    ask: {type: human_gate, next: run}
    run: {type: orchestrator_gate, command: "make all", max_retries: 2, next: go, human_approval: true}
    more: {type: orchestrator_gate, command: "echo ${HOME_PAGE}\\necho ${PR_TITLE}\\n"}
    risk_validation: {role: auditor}
    last: {role: planner, terminal: true, config: {a: 1}, retry_policy: {max_attempts: 2}}
    rest: {role: implementer}
"""
    native = converted(project.write_workflow(text))
    for part in (
        "human: Continue after ask",
        "retry: {visits: 3}",
        "on: {passed: go}",
        'env: [HOME_PAGE, "PR_TITLE=${{ inputs.task }}"]',
        "review: auditor",
        "on: {passed: end}",
        "retry: {attempts: 2}",
    ):
        assert part in native.replace('"Continue after ask?"', "Continue after ask?")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (FLOW.replace("next: look", "nxt: look"), 'step "plan" has an unknown key "nxt"'),
        (FLOW.replace("name: Small", "nmae: Small"), 'workflow has an unknown key "nmae"'),
        (FLOW.replace("on_reject: plan", "on_reject: plam"), 'step "plam" does not exist'),
        (FLOW.replace("next: fix", "next: fixx"), 'next of "look" leads to "fixx", which is not a step'),
        (FLOW.replace("initial_step: plan", "initial_step: plam"), 'initial_step leads to "plam"'),
        (FLOW.replace("retry_policy: aggressive", "retry_policy: {tries: 2}"), 'has an unknown key "tries"'),
        (FLOW.replace("retry_policy:", "max_retries: 2, retry_policy:"), "already sets the number"),
        (FLOW.replace("command: git commit", "command: git commit -m x"), "is discarded"),
        (FLOW.replace("terminal: true", "terminal: true, on_reject: plan"), "a command cannot be rejected"),
        ("name: t\nsteps: {x: {role: planner, next: y}}", 'next of "x" leads to "y"'),
        (
            PROJECTS.replace("depends_on: [a]", "depends_on: [aa]"),
            '"b" depends on "aa", which is not a project',
        ),
        (PROJECTS.replace("depends_on", "depends"), 'dependencies of "b" has an unknown key "depends"'),
        (PROJECTS.replace("{b: {", "{bb: {"), 'project "bb" does not exist'),
        (
            "name: t\nextends: b\nsettings: {auto_pr: true}\nsteps: {x: {role: planner, position: beside plan}}",
            "not a position",
        ),
        ("name: t\nhooks: {pre_commit: [lint]}\nsteps: {x: {role: planner, next: x}}", "a step named commit"),
        ("projects: [{name: a, path: ./a, roles: [r], colour: red}]", 'has an unknown key "colour"'),
    ],
)
def test_an_invalid_supervisor_format_workflow_is_refused(
    project: ScriptedProject, text: str, fault: str
) -> None:
    project.write("b.yaml", "podium: 1\nname: b\nsteps: {plan: {role: planner, prompt: go}}\n")
    with pytest.raises(ConfigurationError) as caught:
        project.run(project.write_workflow(text), {"task": "t"})
    assert fault in caught.value.message


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("cli: claude\ncolour: red", 'a role has an unknown key "colour"'),
        ("extends: reviewer\ngates: [{command: make, when: now}]", 'has an unknown key "when"'),
        ("extends: reviewer\ncontext: {git_diff: true, colour: red}", 'context has an unknown key "colour"'),
        ("approval_gates: {a: {action: shrug}}", '"shrug" is not an action'),
        (
            "approval_gates: {a: {action: auto_approve, conditions: [full_moon]}}",
            '"full_moon" is not a condition',
        ),
        ("limits: {workflow_max_steps: 5, patience: 3}", 'limits has an unknown key "patience"'),
        ("policies: {a: {max_attempts: 2, luck: 1}}", 'policy "a" has an unknown key "luck"'),
        ("adaptive: {}\nother: 1", 'has an unknown key "other"'),
        (
            "feature: {id: a, phases: [{id: p, components: [{id: c, colour: red}]}]}",
            'has an unknown key "colour"',
        ),
        (
            "feature: {id: a, phases: [{id: p, components: [], interfaces: [{name: I, type: opnapi}]}]}",
            '"opnapi" is not a type of interface',
        ),
        ("what: ever", "has the shape of no format"),
        ("podium: 1", "is native already"),
        ("a: [", "is not closed"),
    ],
)
def test_a_file_that_cannot_be_converted_is_refused_with_the_reason(
    project: ScriptedProject, text: str, fault: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        converted(project.write_workflow(text))
    assert fault in caught.value.message


def test_a_configuration_may_combine_several_parts(project: ScriptedProject) -> None:
    text = """
roles: {planner: {cli: claude, context: {include: ["git diff --cached"]}}}
adaptive: {locked_assignments: {writer: gemini}}
continuity: {allow_continuation: false}
approval_gates: {a: {action: notify_and_timeout}}
limits: {step_max_retries: 2}
policies: {odd: {max_attempts: 2, jitter: often}}
"""
    native = converted(project.write_workflow(text))
    assert "writer: {agent: gemini}" in native
    assert "when: " in native


def test_phases_are_sorted_by_sequence_and_interfaces_become_files(project: ScriptedProject) -> None:
    text = """
feature:
  phases:
    - {id: late, sequence: 2, components: [{id: b, title: Bee}]}
    - {id: early, sequence: 1, components: [{id: a}], interfaces: [{name: A, definition: text}]}
"""
    native = converted(project.write_workflow(text))
    assert native.index("early:") < native.index("late:")
    assert "file: interfaces/A.txt" in native
    assert "description: Bee" in native


@pytest.mark.req("R235")
def test_projects_of_one_repository_are_worked_on_in_the_order_of_their_dependencies(
    project: ScriptedProject,
) -> None:
    text = """
projects:
  - {name: web, path: ./packages/web, roles: [implementer]}
  - {name: types, path: ./packages/types, roles: [implementer]}
cross_project_dependencies: {web: {depends_on: [types]}}
"""
    for name in ("web", "types"):
        project.write(f"packages/{name}/README.md", name)
    cast = (
        "- {match: {prompt: project types}, write: {packages/types/t.ts: type T}}\n"
        "- {match: {prompt: project web}, write: {packages/web/w.ts: uses T}}\n"
    )
    run, state = project.run(project.write_workflow(text, cast=cast), {"task": "Add T"})

    assert status(state) == "passed"
    started = [event.path for event in project.events(run) if isinstance(event, AttemptStarted)]
    assert started == ["packages[2]/work[1]", "packages[1]/work[1]"]


POLICY = """
approval_gates:
  medium: {conditions: [file_count < 10], action: notify_and_timeout, timeout_minutes: 30}
  low: {conditions: [file_count < 3], action: auto_approve}
  high: {conditions: [changes_auth_code], action: require_approval}
"""


@pytest.mark.req("R194")
@pytest.mark.parametrize(
    ("files", "is_asked"),
    [(["a.txt"], False), ([f"{name}.txt" for name in "abcde"], True), (["src/auth/login.py"], True)],
)
def test_a_small_change_is_approved_by_itself(
    project: ScriptedProject, files: list[str], is_asked: bool
) -> None:
    """The rule for fewer than 10 files was asked before that for fewer than 3, so no change was ever approved by itself."""
    project.write(".podium/config.yaml", POLICY)
    path = project.write_workflow(
        """
podium: 1
steps:
  change: {agent: claude, prompt: Go., touches: ["**"], gates: [{human: "Good?", level: approval}]}
""",
        cast=f"- {{match: {{step: change}}, write: {{{', '.join(f'{name!r}: x' for name in files)}}}}}\n",
    )
    _, state = project.run(path)
    assert (status(state) == "open") is is_asked


@pytest.mark.parametrize(
    ("name", "kind", "definition", "parts"),
    [
        ("User", "typescript_interface", "interface User {}", ("types/User.d.ts", "tsc")),
        (
            "login",
            "openapi",
            "/login:\n\n  get: {}",
            ("api/login.yaml", "openapi: 3.0.3", "openapi-spec-validator"),
        ),
        ("whole", "openapi", "openapi: 3.1.0", ("api/whole.yaml", "text: openapi: 3.1.0")),
        ("odd name", "json_schema", "{}", ("schemas/odd_name.json", "check-jsonschema")),
        ("Store", "python_protocol", "class Store: ...", ("interfaces/Store.pyi", "mypy")),
        ("Store", "go", "package store", ("interfaces/Store.go", "check: [go, vet, ./...]")),
    ],
)
def test_an_interface_is_written_and_checked_by_its_type(
    project: ScriptedProject, name: str, kind: str, definition: str, parts: tuple[str, ...]
) -> None:
    interface = {"name": name, "type": kind, "definition": definition}
    feature = {"feature": {"phases": [{"id": "p", "components": [], "interfaces": [interface]}]}}
    native = converted(project.write_workflow(json.dumps(feature))).replace('"', "")
    assert [part for part in parts if part not in native] == []


def test_an_interface_without_a_definition_is_left_to_the_reader(project: ScriptedProject) -> None:
    text = "feature: {phases: [{id: p, components: [], interfaces: [{type: openapi}]}]}"
    assert "api/x.yaml" in converted(project.write_workflow(text))


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        ("[-p, --output-format=json, -m, opus]", "model: opus"),
        ("[--model=opus]", "model: opus"),
        ("[--model]", 'the flag "--model"'),
        ("[--fancy]", 'the flag "--fancy"'),
    ],
)
def test_the_flags_of_a_role_name_its_model_or_are_refused(
    project: ScriptedProject, flags: str, part: str
) -> None:
    path = project.write_workflow(f"cli: claude\nflags: {flags}\n")
    try:
        told = converted(path)
    except ConfigurationError as error:
        told = error.message
    assert part in told


def test_a_template_with_a_path_or_without_a_text_stays_as_it_is(project: ScriptedProject) -> None:
    assert "prompt: own/x.j2" in converted(project.write_workflow("cli: claude\ntemplate: own/x.j2\n"))
    assert "prompt: 3" in converted(project.write_workflow("cli: claude\ntemplate: 3\n"))


def test_a_step_leaves_its_prompt_to_a_role_that_has_one(project: ScriptedProject) -> None:
    project.write(".podium/roles/trader.yaml", "extends: implementer\ntemplate: trade.j2\n")
    project.write("prompts/trade.j2", "Trade.")
    text = "workflow: {steps: {go: {role: trader, terminal: true}}}\n"
    assert "prompt" not in converted(project.write_workflow(text))


PARENT = "podium: 1\nname: house\ninputs: {task: string}\nsteps:\n  code: {role: implementer, prompt: Go.}\n"


def test_a_file_that_extends_a_template_without_a_plan_reads_none(project: ScriptedProject) -> None:
    project.write("house.yaml", PARENT)
    text = """
name: mine
extends: house
settings: {require_tests: false}
steps:
  more: {role: implementer, position: after code}
  land: {type: orchestrator_gate, command: git commit, position: after more}
"""
    native = converted(project.write_workflow(text))
    assert ("steps.plan" in native, 'message: "${{ inputs.task }}"' in native) == (False, True)


@pytest.mark.parametrize(
    ("config", "command", "parts"),
    [
        ("tdd: true", "pytest -q", ("run: pytest -q\n", "must_fail_before: true")),
        ("coverage: 80", "pytest -q", ("--cov --cov-report=xml:coverage.xml", "min: 80")),
        ("min_tests_per_component: 2", "pytest -q", ("--junitxml=report.xml", "min_new: 2")),
        ("coverage: 80, min_tests_per_component: 2", "make build", ("run: make test\n", "junit: report.xml")),
    ],
)
def test_what_config_demands_is_a_gate_on_the_command_that_runs_tests(
    project: ScriptedProject, config: str, command: str, parts: tuple[str, ...]
) -> None:
    text = f"""
workflow:
  steps:
    code: {{role: implementer, config: {{{config}}}, next: gate}}
    gate: {{gate_type: orchestrator, command: {command}}}
"""
    native = converted(project.write_workflow(text)).replace('"', "")
    assert [part for part in parts if part not in native] == []


def test_a_role_enforces_its_own_config(project: ScriptedProject) -> None:
    text = "extends: test_engineer\ngates: [{name: c, command: pytest --cov}]\nconfig: {min_tests_per_component: 3}\n"
    native = converted(project.write_workflow(text))
    assert "min_new: 3" in native
    assert native.count("pytest --cov") == 2


def test_limits_without_anything_known_add_nothing(project: ScriptedProject) -> None:
    assert "retries" not in converted(project.write_workflow("limits: {workflow_max_steps: 3}\n"))
    assert "git" not in converted(project.write_workflow("git: {auto_branch: false}\n")).partition("\n")[
        2
    ].replace("git: {}", "")

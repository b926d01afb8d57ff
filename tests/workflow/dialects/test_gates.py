"""The gates format: signals, levels, gates that lead further back, and invalid files."""

from __future__ import annotations

import re

import pytest

from podium.adapters.exporters.gates.labels import read_labels
from podium.core.messages import Approve
from podium.core.types import Address
from podium.errors import ConfigurationError
from tests.workflow.dialects.kit import ScriptedProject, status
from tests.workflow.dialects.test_blocks import top_level_steps

FLOW = """
workflow: {id: two-steps, name: Two steps}
steps:
  - {id: X-1, name: plan, agent: {type: planner}, outputs: [plan.md], success_criterion: file plan.md exists}
  - {id: X-2, name: tests, agent: {type: test-writer, launch: subagent}, outputs: [test_a.py], gate: G}
gates:
  - {id: G, name: look, reviewer: LOOK, on_pass: {next_step: DONE}, on_fail: {next_step: X-1}, max_retries: 2}
"""
CAST = """
- {match: {step: look/reviewer, visit: 1}, verdict: {decision: reject, score: 3}}
- {match: {step: plan}, write: {plan.md: the plan}}
- {match: {step: tests}, write: {test_a.py: a test}}
"""


@pytest.mark.req("C9")
def test_a_failed_gate_may_lead_further_back_than_its_own_step(project: ScriptedProject) -> None:
    """R117."""
    run, state = project.run(
        project.write_workflow(FLOW.replace("LOOK", "{level: auto, agent_type: reviewer}"), cast=CAST)
    )
    assert status(state) == "passed"
    assert top_level_steps(project.ended_steps(run)) == [
        "plan",
        "tests",
        "look:rejected",
        "plan~2",
        "tests~2",
        "look~2",
        "done",
    ]


SHARED = """
workflow: {id: shared}
steps:
  - {id: A, name: plan, agent: {type: planner}}
  - {id: B, name: look, agent: {type: implementor}, gate: G}
  - {id: C, name: more, agent: {type: implementor}, gate: G}
gates:
  - {id: G, name: look, reviewer: {level: human}, on_fail: {next_step: A}}
"""


def test_a_gate_that_several_steps_share_judges_each_of_them(project: ScriptedProject) -> None:
    """The gate has the same name as a step; neither may replace the other."""
    run, state = project.run(project.write_workflow(SHARED))
    for _ in range(2):
        project.say(run, Approve(project.view(run).pending[0].path, "approve", "ann"))
        state = project.resume(run)
    assert status(state) == "passed"
    assert top_level_steps(project.ended_steps(run)) == ["plan", "look", "look_2", "more", "look_3"]


@pytest.mark.req("R121")
@pytest.mark.parametrize(
    ("criterion", "files", "commands"),
    [
        ("file a.txt exists", ["a.txt"], []),
        ("file a.txt exists and is non-empty and make test exits 0", ["a.txt"], ["make test"]),
        ("`make test` exits with code 0, the file `b.txt` exists.", ["b.txt"], ["make test"]),
        ("make a exits 0 and make b exits 0", [], ["make a", "make b"]),
        ("make test exits 0 and everybody likes it", [], []),
        ("`make a and b` exits 0", [], ["make a and b"]),
    ],
)
def test_a_criterion_is_checked_completely_or_noted_as_unchecked(
    project: ScriptedProject, criterion: str, files: list[str], commands: list[str]
) -> None:
    step = f'{{id: A, agent: {{type: implementor}}, success_criterion: "{criterion}"}}'
    native = project.convert(project.write_workflow(f"workflow: {{id: w}}\nsteps:\n  - {step}\n")).read_text()
    assert (f"output: {{files: [{', '.join(files)}]}}" in native) is bool(files)
    run = [line.partition("run: ")[2] for line in native.splitlines() if "run: " in line]
    assert run == commands
    assert ("only part of the prompt" in native) is not bool(files or commands)


@pytest.mark.req("R121")
@pytest.mark.parametrize(
    ("criterion", "files", "commands", "unchecked"),
    [
        ("the plan is good and `make test` exits 0", [], ["make test"], "the plan is good"),
        ("file a.txt exists, all are happy", ["a.txt"], [], "all are happy"),
        ("the work is good and everything exits 0", [], [], None),
    ],
)
def test_what_can_be_proven_of_a_criterion_is_proven_and_the_rest_is_named(
    project: ScriptedProject, criterion: str, files: list[str], commands: list[str], unchecked: str | None
) -> None:
    step = f'{{id: A, agent: {{type: implementor}}, success_criterion: "{criterion}"}}'
    native = project.convert(project.write_workflow(f"workflow: {{id: w}}\nsteps:\n  - {step}\n")).read_text()
    assert (f"output: {{files: [{', '.join(files)}]}}" in native) is bool(files)
    assert [line.partition("run: ")[2] for line in native.splitlines() if "run: " in line] == commands
    what = "success_criterion" if unchecked is None else f'the part "{unchecked}" of success_criterion'
    assert f"# Line 3: {what} is only part of the prompt and not checked" in native


@pytest.mark.req("R021")
@pytest.mark.parametrize(
    ("inputs", "context"),
    [
        ("docs/api.md", "docs/api.md"),
        ("api.py", "svc/api.py"),
        ("own.py", "web/own.py"),
        ("later.py", "end/later.py"),
        ("README.md", "README.md"),
    ],
)
def test_an_input_is_in_the_worktree_of_the_step_that_makes_it(
    project: ScriptedProject, inputs: str, context: str
) -> None:
    steps = f"""
  - {{id: A, agent: {{type: planner, worktree: ./}}, outputs: [docs/api.md, own.py]}}
  - {{id: B, agent: {{type: implementor, worktree: svc}}, outputs: [api.py]}}
  - {{id: C, agent: {{type: implementor, worktree: web/}}, inputs: [{inputs}], outputs: [own.py, api.py]}}
  - {{id: D, agent: {{type: implementor, worktree: end}}, outputs: [later.py]}}
"""
    if inputs == "own.py":
        steps = steps.replace(", own.py]", "]", 1)
    native = project.convert(project.write_workflow(f"workflow: {{id: w}}\nsteps:{steps}")).read_text()
    assert f"context: [{context}]" in native


def test_a_gate_of_level_human_waits_for_a_person(project: ScriptedProject) -> None:
    """R191, R193."""
    run, state = project.run(project.write_workflow(FLOW.replace("LOOK", "{level: human}"), cast=CAST))
    assert status(state) == "open"
    assert project.view(run).pending[0].path == "look"


@pytest.mark.parametrize(
    ("signal", "done"),
    [
        ("{type: sentinel_file, value: .workflow/signals/plan-done.json}", "{file: "),
        ("{type: git_commit, value: '[GATE:G]'}", "{commit: "),
        ("{type: pr_creation}", None),
        ("{type: stdout_exit}", None),
    ],
)
def test_manual_work_ends_with_the_signal_of_its_step(
    project: ScriptedProject, signal: str, done: str | None
) -> None:
    """R199: the four signals."""
    step = f"{{id: A, agent: {{type: planner, launch: interactive}}, signal: {signal}}}"
    native = project.convert(project.write_workflow(f"workflow: {{id: w}}\nsteps:\n  - {step}\n")).read_text()
    assert "agent: human" in native
    assert f"done: {done}" in native if done else "done" not in native


WHOLE = """
workflow: {id: whole, name: The whole, description: Both parts of it, context_files: [docs/plan.md]}
steps:
  - id: A
    name: first
    agent: {type: planner, launch: LAUNCH, worktree: app/, context: [docs/more.md]}
    inputs: [docs/asked.md]
    outputs: [made.txt]
    success_criterion: grep -q good made.txt exits 0
    signal: {type: stdout_exit}
    gate: G
  - {id: B, name: second, agent: {type: planner, worktree: app}, outputs: [other.txt]}
gates:
  - id: G
    name: look
    reviewer: {level: auto, agent_type: reviewer}
    on_pass: {next_step: B}
    on_fail: {next_step: A, retry_context_path: ".workflow/retry-context/G-attempt-{n}.md"}
    max_retries: 3
"""
DOCS = {
    "docs/plan.md": "The plan of all.\n",
    "docs/more.md": "More of it.\n",
    "docs/asked.md": "What is asked.\n",
}
TRIED = """
- {match: {step: first, attempt: 1}, write: {app/made.txt: bad}}
- {match: {step: first}, write: {app/made.txt: good}}
- {match: {step: second}, write: {app/other.txt: x}}
- match: {step: first/look/reviewer, attempt: 2}
  verdict: {decision: reject, score: 3, findings: [{severity: major, issue: It is too short.}]}
"""


@pytest.mark.req("R019", "R020", "R021", "R022", "R090", "C9")
def test_every_key_of_a_step_and_its_gate_has_an_effect(project: ScriptedProject) -> None:
    for name, text in DOCS.items():
        project.write(name, text)
    project.write("app/a", "")
    run, state = project.run(project.write_workflow(WHOLE.replace("LAUNCH", "headless"), cast=TRIED))
    assert (status(state), project.view(run).workflow) == ("passed", "whole")
    assert top_level_steps(project.ended_steps(run)) == ["first", "second"]
    first, second = project.prompt(run, "first"), project.prompt(run, "second")
    for text in (
        "The plan of all.",
        "Both parts of it",
        "Do the step",
        "app/made.txt is there and not empty",
    ):
        assert text in first
    assert "The plan of all." in second
    assert all(DOCS[name].strip() in first for name in DOCS)
    assert not any(DOCS[name].strip() in second for name in ("docs/more.md", "docs/asked.md"))
    assert "grep -q good made.txt" in project.prompt(run, "first", 2), "the failed check is in the feedback"
    assert "It is too short." in project.prompt(run, "first", 3)


@pytest.mark.req("R021")
@pytest.mark.parametrize(
    ("launch", "who"),
    [("headless", "role: planner"), ("subagent", "role: planner"), ("interactive", "agent: human")],
)
def test_the_launch_key_decides_between_a_role_and_a_person(
    project: ScriptedProject, launch: str, who: str
) -> None:
    assert (
        who
        in project.convert(project.write_workflow(WHOLE.replace("LAUNCH", launch)))
        .read_text()
        .partition("\n  second:")[0]
    )


@pytest.mark.req("R022")
def test_a_person_decides_after_the_last_retry_of_a_gate(project: ScriptedProject) -> None:
    cast = "- {match: {step: first}, write: {app/made.txt: bad}}\n"
    project.write("app/a", "")
    run, state = project.run(project.write_workflow(WHOLE.replace("LAUNCH", "headless"), cast=cast))
    assert status(state) == "open"
    assert [question.kind for question in project.view(run).pending] == ["exhausted"]
    assert [row.attempts for row in project.view(run).steps if row.path == "first"] == [3]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("gate: G}", "gate: H}"), 'gate "H" is not defined'),
        ((", gate: G}", "}"), 'no step uses gate "G"'),
        (("agent: {type: planner}, ", ""), 'step "X-1" has no agent.type'),
        (("launch: subagent", "launch: rocket"), '"rocket" is not a way to launch an agent'),
        (("name: Two steps", "nmae: Two steps"), 'workflow has an unknown key "nmae"'),
        (("max_retries", "retries"), 'gate "G" has an unknown key "retries"'),
        (("launch: subagent}", "launch: interactive}, signal: {type: smoke}"), '"smoke" is not a signal'),
        (("next_step: X-1", "next_step: X-9"), "does not exist in this block"),
        (("id: X-2", "id: X-1"), 'two steps have the id "X-1"'),
        (("id: X-2, name", "name"), "this step has no id"),
        (
            ("next_step: X-1}", "next_step: X-1, retry_path: x}"),
            'on_fail of gate "G" has an unknown key "retry_path"',
        ),
        (
            ("next_step: X-1}", "next_step: X-1, retry_context_path: ../x.md}"),
            '"retry_context_path" of gate "G" must be a file below .workflow/',
        ),
        (("{level: human}", "{level: human, agent: x}"), 'reviewer of gate "G" has an unknown key "agent"'),
    ],
)
def test_an_invalid_gates_format_file_is_refused(
    project: ScriptedProject, change: tuple[str, str], fault: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        project.run(project.write_workflow(FLOW.replace("LOOK", "{level: human}").replace(*change)))
    assert fault in caught.value.message


@pytest.mark.req("R173")
@pytest.mark.parametrize(("answer", "ended"), [("approve", ("passed", 0)), ("reject", ("rejected", 4))])
def test_a_finished_run_accepts_no_more_answers(
    project: ScriptedProject, answer: str, ended: tuple[str, int]
) -> None:
    text = FLOW.replace("LOOK", "{level: human}").replace("next_step: X-1", "next_step: ABORTED")
    run, _ = project.run(project.write_workflow(text, cast=CAST))
    project.say(run, Approve(Address("look"), answer, "ann"))
    state = project.resume(run)

    assert state.ended is not None
    assert (state.ended.status, state.ended.exit) == ended
    with pytest.raises(ConfigurationError, match="has ended"):
        project.say(run, Approve(Address("look"), "approve", "bob"))


REQUESTED = """
workflow: {id: asked, name: Ask}
steps:
  - {id: A, name: build, agent: {type: implementor}, signal: {type: pr_creation}, gate: G}
gates:
  - {id: G, name: look, reviewer: {level: auto}, on_pass: {next_step: DONE}, on_fail: {next_step: A}, max_retries: 0}
"""


@pytest.mark.req("R199")
def test_a_pull_request_comes_before_its_gate_and_is_merged_at_done(project: ScriptedProject) -> None:
    native = project.convert(project.write_workflow(REQUESTED)).read_text()
    names = [line.strip(" :") for line in native.splitlines() if re.fullmatch(r"  \w+:", line)]
    assert names == ["build", "build_pull_request", "look", "done"]
    assert "git: {branch: asked/A, pull_request: open}" in native
    assert "git: {branch: asked/A, pull_request: merge}" in native
    assert "retry: {attempts: 1, per: run, on_exhausted: human}" in native


def test_files_that_people_write_are_known_by_name() -> None:
    signal = "{type: sentinel_file, value: .workflow/signals/A-done.json}"
    step = f"{{id: A, agent: {{type: planner, launch: interactive}}, signal: {signal}}}"
    labels = read_labels(f"workflow: {{id: w}}\nsteps:\n  - {step}\n")
    assert labels is not None
    assert labels.by_people == {"signals/A-done.json"}
    assert read_labels("podium: 1\nname: native\nsteps: {}\n") is None

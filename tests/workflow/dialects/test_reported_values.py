"""Values of the states format and of supervised roles that could be dropped in silence are carried out or reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import check, converted, resolved
from podium.workflow.dialects.translation import needs_shell

STATES = """
states:
  draft: {type: fan-out, agents: [claude], output: "drafts/{agent}.md", transitions: {all_success: judge}}
  judge: {type: single, agent: gemini, %s transitions: {proceed: ask, retry: draft}}
  ask: {type: human-approval, prompt: "Good?", %s transitions: {approved: done}}
  done: {type: terminal, %s}
%s
"""


def reports(tmp_path: Path, text: str, name: str = "flow.yaml") -> list[str]:
    path = tmp_path / name
    path.write_text(text)
    return [problem.message for problem in check(path).problems]


def states(*, gate: str = "", ask: str = "", end: str = "status: success", more: str = "") -> str:
    return STATES % (gate, ask, end, more)


def agents(entries: str) -> str:
    return states(more=f"agents: {{{entries}}}")


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (
            agents(
                'claude: {type: cli, command: claude -p, resume_command: "claude --resume {session_id} -x"}'
            ),
            '"-x" in the resume_command of agent "claude" has no effect: Podium calls claude itself',
        ),
        (
            agents('claude: {type: cli, command: claude -p, resume_command: "other --resume {session_id}"}'),
            '"other" in the resume_command of agent "claude" has no effect: Podium calls claude itself',
        ),
        (
            agents("codex: {type: cli, command: codex exec, token_tracking: {input_field: used.in}}"),
            '"input_field" of agent "codex" has no effect: the agent type codex reads it itself',
        ),
        (
            agents("local: {type: ollama, command: ollama run mistral}"),
            '"command" of agent "local" has no effect: type ollama calls its server, not a program',
        ),
        (states(end="status: sucess"), '"sucess" is not a status of state "done"'),
        (
            states(more="circuit_breaker: {rules: [{name: cycle_detection, condition: it turns around}]}"),
            'the condition of "cycle_detection" is not one that can be checked',
        ),
        (
            states(more='circuit_breaker: {rules: [{name: timeout, condition: "total_cost_usd >= 5"}]}'),
            'the condition of "timeout" is not one that can be checked',
        ),
        (
            states(more="personas: {orchestrator: a.md}\norchestrator: {agent: claude, persona: b.md}"),
            'the orchestrator has two personas, "b.md" and "a.md"',
        ),
    ],
)
def test_a_value_without_an_effect_is_reported(tmp_path: Path, text: str, report: str) -> None:
    assert reports(tmp_path, states()) == []
    assert report in reports(tmp_path, text)


@pytest.mark.parametrize(
    "agent",
    [
        'claude: {type: cli, command: claude -p, resume_command: "claude --resume {session_id} -p {prompt}"}',
        "claude: {type: cli, command: claude -p, token_tracking: {input_field: usage.input_tokens}}",
        "local: {type: ollama, token_tracking: {output_field: eval_count}}",
    ],
)
def test_what_the_document_has_for_a_known_program_is_not_reported(tmp_path: Path, agent: str) -> None:
    assert reports(tmp_path, agents(agent)) == []


def native(tmp_path: Path, text: str) -> str:
    path = tmp_path / "flow.yaml"
    path.write_text(text)
    return converted(path)


@pytest.mark.req("R026")
def test_a_file_that_no_state_writes_is_given_to_a_judge_and_shown_to_a_person(tmp_path: Path) -> None:
    text = native(
        tmp_path, states(gate="input: [drafts/*.md, style.md],", ask="input: [drafts/*.md, budget.md],")
    )
    assert 'context: ["${{ inputs.style }}"]' in text
    assert 'show: [draft, "${{ inputs.budget }}", cost]' in text
    assert "budget: {type: path, default: budget.md, exists: true}" in text


@pytest.mark.parametrize(("transitions", "rounds"), [(4, 2), (6, 3), (1, 1)])
def test_the_window_of_a_cycle_is_its_number_of_rounds(tmp_path: Path, transitions: int, rounds: int) -> None:
    rule = f'{{name: cycle_detection, condition: "A→B→A→B pattern in last {transitions} transitions"}}'
    assert f"cycle: {rounds}" in native(tmp_path, states(more=f"circuit_breaker: {{rules: [{rule}]}}"))


PARENT = """
name: house
settings: {%s}
steps:
  plan: {role: planner, next: implement}
  implement: {role: implementer, next: check}
  check: {type: orchestrator_gate, command: make test, next: commit}
  commit: {type: orchestrator_gate, command: git commit, human_approval: %s}
"""
ASKED = PARENT % ("parallel_reviews: true", "true")


def child(steps: str, more: str = "") -> str:
    return f"name: ours\nextends: house\n{more}steps:\n  {steps}\n"


def merged(tmp_path: Path, text: str, parent: str = ASKED) -> str:
    folder = tmp_path / ".podium" / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "house.yaml").write_text(parent)
    path = folder / "ours.yaml"
    path.write_text(text)
    return resolved(path)


def step(document: str, name: str) -> str:
    """The lines of one step."""
    after = document.split(f"\n  {name}:", 1)[1].split("\n")
    inner = [after[0]]
    for line in after[1:]:
        if not line.startswith("    "):
            break
        inner.append(line)
    return "\n".join(inner)


@pytest.mark.parametrize(
    ("steps", "name", "route"),
    [
        (
            "measure: {type: orchestrator_gate, command: make bench, position: after implement, next: check}",
            "measure",
            None,
        ),
        (
            "measure: {type: orchestrator_gate, command: make bench, position: after plan, next: check}",
            "measure",
            "check",
        ),
        ("implement: {role: implementer, next: commit}", "implement", "commit_approval"),
        ("risk: {role: reviewer, position: after implement, next: commit}", "risk", "commit_approval"),
        ("look: {role: investigator, position: after plan, next: check}", "look", "check"),
        ("check: {type: orchestrator_gate, command: make test, terminal: true}", "check", "end"),
    ],
)
def test_next_of_a_step_in_a_file_that_extends_a_template_is_where_it_leads(
    tmp_path: Path, steps: str, name: str, route: str | None
) -> None:
    """A step that asks before a commit is never skipped."""
    written = step(merged(tmp_path, child(steps)), name)
    assert ("passed:" in written) == (route is not None)
    assert route is None or f"passed: {route}" in written


@pytest.mark.parametrize("own", ["", "disable: [check]\n"])
def test_next_may_name_a_step_that_is_disabled(tmp_path: Path, own: str) -> None:
    steps = "look: {role: investigator, position: after plan, next: check}"
    route = "commit_approval" if own else "check"
    assert f"passed: {route}" in step(merged(tmp_path, child(steps, own)), "look")


def test_next_of_a_step_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    merged(tmp_path, child("look: {role: investigator, position: after plan}"))
    path = tmp_path / ".podium" / "workflows" / "ours.yaml"
    path.write_text(child("look: {role: investigator, position: after plan, next: chek}"))
    [problem] = check(path).problems
    assert problem.message == 'next of "look" leads to "chek", which is not a step'
    assert "check" in problem.hint


def test_a_converted_child_has_the_routes_of_the_merged_workflow(tmp_path: Path) -> None:
    document = merged(tmp_path, text := child("implement: {role: implementer, next: commit}"))
    path = tmp_path / ".podium" / "workflows" / "ours.yaml"
    native_child = converted(path)
    assert "passed: commit_approval" in native_child
    path.write_text(native_child)
    assert resolved(path).split("steps:")[1] == document.split("steps:")[1]
    assert text != native_child


def test_a_child_whose_template_is_missing_is_converted_with_its_routes(tmp_path: Path) -> None:
    text = child("look: {role: investigator, position: after plan, next: check}")
    assert "passed: check" in native(tmp_path, text)


@pytest.mark.parametrize("jump", ["next: commit", "next: check"])
def test_no_route_leads_around_what_a_switch_requires(tmp_path: Path, jump: str) -> None:
    parent = PARENT % ("security_review: true", "false")
    document = merged(tmp_path, child(f"implement: {{role: implementer, {jump}}}"), parent)
    assert document.index("  security_review:") < document.index("  commit:")
    assert ("passed: security_review" in step(document, "implement")) == (jump == "next: commit")


END = """
workflow:
  steps:
    plan: {role: planner, next: commit}
    commit: {gate_type: orchestrator, command: git commit, %s}
"""


@pytest.mark.parametrize(
    ("end", "report"),
    [
        ("terminal: true", None),
        ("terminal: false", '"terminal: false" of step "commit" has no effect: no step follows it'),
        ("terminal: yes_please", 'terminal must be true or false, not "yes_please"'),
        ("terminal: true, next: plan", 'a step cannot have both "terminal: true" and "next"'),
    ],
)
def test_terminal_is_true_or_false_and_ends_the_run(tmp_path: Path, end: str, report: str | None) -> None:
    assert reports(tmp_path, END % end) == ([] if report is None else [report])


JUMP = """
workflow:
  steps:
    plan: {role: planner, next: implement}
    implement: {role: implementer, next: commit}
    commit: {gate_type: orchestrator, command: git commit, human_approval: true, terminal: true}
    hurry: {role: implementer, next: commit}
"""


def test_a_jump_to_a_commit_asks_the_person_first(tmp_path: Path) -> None:
    assert "passed: commit_approval" in step(native(tmp_path, JUMP), "hurry")


FEATURE = """
feature:
  id: F1
  phases:
    - {id: a, %s components: [{id: x, files: [x.py]}]}
    - {id: b, %s components: [{id: y, files: [y.py]}]}
"""


@pytest.mark.parametrize(
    ("numbers", "report"),
    [
        (("", ""), None),
        (("sequence: 2,", "sequence: 1,"), None),
        (("sequence: 1,", "sequence: 3,"), 'phase "b" has sequence 3, and is number 2 in the order'),
        (("sequence: 1,", "sequence: 1,"), 'phase "b" has sequence 1, and is number 2 in the order'),
        (("sequence: 1,", ""), 'phase "b" has no sequence, the others have'),
    ],
)
def test_phases_are_numbered_in_the_order_they_are_built(
    tmp_path: Path, numbers: tuple[str, str], report: str | None
) -> None:
    path = tmp_path / "feature.yaml"
    path.write_text(FEATURE % numbers)
    messages = problems_of_feature(path)
    assert (report in messages) if report else messages == []


def problems_of_feature(path: Path) -> list[str]:
    from podium.workflow.dialects.detect import translate
    from podium.workflow.source.files import read_tree

    tree = read_tree(path, path.parent)
    assert tree.node is not None
    done = translate(tree.node)
    assert done is not None
    return [problem.message for problem in done.translation.problems]


@pytest.mark.parametrize(
    ("text", "fact", "use"),
    [
        ("feature: {id: F, phases: []}\n", "a feature of the supervisor format", "build: FILE"),
        (
            "extends: reviewer\nsystem_prompt_additions: Look.\n",
            "a role of the supervisor format",
            ".podium/roles/",
        ),
        (
            "approval_gates: {low: {conditions: [], action: auto_approve}}\n",
            "a configuration of the",
            "config.yaml",
        ),
    ],
)
def test_a_file_that_is_not_a_workflow_is_named_with_its_use(
    tmp_path: Path, text: str, fact: str, use: str
) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(text, "utf-8")
    [problem] = check(file).errors
    assert fact in problem.message
    assert use in problem.hint


@pytest.mark.parametrize(
    ("line", "is_script"),
    [
        ("make test", False),
        ("pytest tests/unit/ --cov --cov-fail-under=80", False),
        ("python -m backtest.risk_scenarios", False),
        ("echo 'x && y' \"a;b\"", False),
        ("grep '$x' 'a*'", False),
        ('pytest -k "a or b*"', False),
        ("npm ci && npm test", True),
        ("make test | tee out", True),
        ("ls > out", True),
        ("ls tests/*.py", True),
        ("FOO=1 make", True),
        ('echo "$HOME"', True),
        ("~/bin/check", True),
        ("echo 'open", True),
    ],
)
def test_a_line_with_signs_of_a_shell_is_a_script(line: str, is_script: bool) -> None:
    assert needs_shell(line) is is_script


def test_inputs_that_no_state_writes_must_exist_and_patterns_are_warned_about(tmp_path: Path) -> None:
    text = """
agents: {ann: {type: cli, command: ann}}
states:
  start: {type: initial, on_enter: [{validate: input_exists}], next: plan}
  plan: {type: single, agent: ann, input: [a/x.md, b/x.md, "c/*.md"], output: p.md, transitions: {success: complete}}
"""
    assert [each for each in reports(tmp_path, text) if "validate" in each] == [
        '"validate: input_exists" does not check c/*.md, which is a pattern'
    ]
    assert "x: {type: path, default: a/x.md, exists: true}" in converted(tmp_path / "flow.yaml")
    assert "b_x_md: {type: path, default: b/x.md, exists: true}" in converted(tmp_path / "flow.yaml")

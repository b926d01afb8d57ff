"""A reviewer is told what the judged work was asked for (R089; issue 16, C7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

TASK = "Greet people by their first name, never by their last name"
FLOW = """\
podium: 1
name: told
inputs: {task: string, style: {type: string, default: formal}}
agents:
  worker: {type: scripted, script: cast.yaml}
  judge: {type: scripted, script: cast.yaml}
roles:
  greeter: {agent: worker, prompt: prompts/write.md}
STEPS
"""
STEPS = {
    "step": "steps:\n  plan: {agent: worker, prompt: Plan it., output: text}\n  work: {role: greeter}\n  look: {review: judge, of: work}\n",
    "gate": "steps:\n  plan: {agent: worker, prompt: Plan it., output: text}\n  work: {role: greeter, gates: [{review: judge}]}\n",
    "literal": "steps:\n  work: {agent: worker, description: A greeting., prompt: 'Do it: {{ inputs.task }}'}\n  look: {review: judge}\n",
    "from_another_step": "steps:\n  plan: {agent: worker, prompt: Plan it., output: text}\n"
    "  work: {agent: worker, prompt: '{{ steps.plan.output }} {{ feedback }}'}\n  look: {review: judge}\n",
}
CAST = """\
- match: {step: plan}
  text: Ask for the first name only.
- match: {step: work}
  write: {greet.txt: "Hello, Ann\\n"}
- match: {step: look}
  verdict: approve
"""


def prompts_of_reviewers(project: Project) -> list[str]:
    folder = project.root / ".podium/runs" / project.run_id() / "agent_logs"
    places = [path for path in folder.glob("*/*/prompt.md") if "verdict" in path.read_text("utf-8")]
    return [path.read_text("utf-8") for path in places]


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.req("R089")
def test_the_prompt_of_a_reviewer_has_the_task_the_inputs_and_the_plan(kind: str, tmp_path: Path) -> None:
    files = {
        "flow.yaml": FLOW.replace("STEPS\n", STEPS[kind]),
        "cast.yaml": CAST,
        "prompts/write.md": "Write greet.txt. The task: {{ inputs.task }}\n",
    }
    with closing(new_project(tmp_path, files)) as project:
        done = project.podium("run", "flow.yaml", "-i", f"task={TASK}", "--no-human")

        prompts = prompts_of_reviewers(project)
        assert prompts, done.err
        for prompt in prompts:
            assert TASK in prompt, "the task is in the inputs and in what the step was asked"
            assert 'What step "work" was asked to do:' in prompt
            assert '"style": "formal"' in prompt
            if kind in ("step", "gate", "from_another_step"):
                assert "Ask for the first name only." in prompt
            if kind in ("step", "gate"):
                assert f"Write greet.txt. The task: {TASK}" in prompt
            if kind == "literal":
                assert f"A greeting.\n\nDo it: {TASK}" in prompt

"""A states-format file calls the programs that it names, reads their output as it says, and is warned about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
name: story
agents:
  house:
    type: cli
    command: "tools/house --ask {prompt}"
    token_tracking: {input_field: usage.in, output_field: usage.out, result_field: answer}
    cost_per_1k: {input: 0.001, output: 0.002}
  strict: {type: cli, command: tools/strict, persona: prompts/strict_persona.md, cost_per_1k: {input: 0, output: 0}}
states:
  start: {type: initial, next: draft}
  draft: {type: single, agent: house, prompt: Write it., transitions: {success: check}}
  check: {type: single, agent: strict, transitions: {proceed: complete, retry: draft, halt: halt}}
  complete: {type: terminal}
  halt: {type: terminal, error: true}
logging:
  enabled: false
"""
HOUSE = """\
#!/bin/sh
[ "$1" = --ask ] && [ -n "$2" ] || exit 2
printf '{"answer": "asked to: %s", "usage": {"in": 1000, "out": 2000}}' "$(printf %s "$2" | head -n 1)"
"""
STRICT = """\
#!/bin/sh
prompt=$(cat)
nonce=$(printf '%s\\n' "$prompt" | sed -n 's/^nonce: //p' | tail -n 1)
tree=$(printf '%s\\n' "$prompt" | sed -n 's/^tree: //p' | tail -n 1)
case $prompt in *"You are strict."*) summary="strict was called" ;; *) summary="without its persona" ;; esac
printf '{"decision": "approve", "score": 8, "findings": [], "summary": "%s", "nonce": "%s", "tree": "%s"}\\n' \\
  "$summary" "$nonce" "$tree"
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {
        "story.yaml": FLOW,
        "tools/house": HOUSE,
        "tools/strict": STRICT,
        "prompts/strict_persona.md": "You are strict.\n",
    }
    project = new_project(tmp_path, files)
    for name in ("house", "strict"):
        (project.root / "tools" / name).chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")
    return project


@pytest.mark.req("R061")
def test_the_programs_of_the_file_are_called_and_their_fields_read(project: Project) -> None:
    with closing(project):
        done = project.podium("run", "story.yaml", "--json")

        assert done.code == 0, done.err
        steps = {step["path"]: step for step in done.data()["steps"]}
        assert steps["check"]["outcome"] == "passed"
        assert "strict was called" in project.podium("logs", done.data()["run"], "check").out
        assert done.data()["cost"] == {"usd": 0.005, "unknown_calls": 0}


def test_validate_and_run_warn_about_keys_without_an_effect(project: Project) -> None:
    with closing(project):
        warning = 'story.yaml:16:3: warning: "enabled" of logging has no effect'
        checked = project.podium("validate", "story.yaml")
        assert checked.code == 0
        assert warning in checked.out + checked.err
        assert warning in project.podium("run", "story.yaml").err

"""The words in braces of persona files are filled with what exists, and a persona is its author's alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
name: post
orchestrator: {agent: ann}
agents:
  ann: {type: cli, command: "tools/say ann", cost_per_1k: {input: 0, output: 0}}
  ben: {type: cli, command: "tools/say ben", cost_per_1k: {input: 0, output: 0}}
  cem: {type: cli, command: "tools/say cem", cost_per_1k: {input: 0, output: 0}}
personas:
  writer: prompts/writer_persona.md
  auditor: prompts/auditor_persona.md
  synthesizer: prompts/synthesizer_persona.md
states:
  draft:
    type: fan-out
    agents: [ann, ben, cem]
    persona: writer
    output: "drafts/{agent}_draft.md"
    transitions: {all_success: cross-audit, partial_success: cross-audit, all_failure: halt}
  cross-audit:
    type: fan-out
    agents: [ann, cem]
    persona: auditor
    output: "audits/{agent}_audit.md"
    transitions: {all_success: synthesize, partial_success: synthesize, all_failure: draft}
  synthesize:
    type: orchestrator-task
    persona: synthesizer
    output: final/post.md
    transitions: {success: complete, failure: halt}
settings: {retry_count: 0}
"""
SAY = """\
#!/bin/sh
prompt=$(cat)
case $1-$prompt in
  ben-*) exit 1 ;;
  *"You write."*) echo "draft of $1" ;;
  *"You audit."*) echo "audit of $1" ;;
  *) echo "the post" ;;
esac
"""
SYNTHESIZER = """\
You combine.

## Available Drafts
{drafts}

## Available Audits
{audits}

Compare the drafts from: {agent_list}
Answer like {"title": "x"}, not like {{ title }}, and leave {other} alone.
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {
        "post.yaml": FLOW,
        "tools/say": SAY,
        "prompts/writer_persona.md": "You write. Nothing of {audits} yet.\n",
        "prompts/auditor_persona.md": "You audit.\n{drafts}\n",
        "prompts/synthesizer_persona.md": SYNTHESIZER,
    }
    project = new_project(tmp_path, files)
    (project.root / "tools/say").chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")
    return project


def system_of(project: Project, run: str, step: str) -> str:
    shown = project.podium("prompt", run, step, "--json")
    assert shown.code == 0, shown.err
    return str(shown.data()["system"])


@pytest.mark.req("R049", "C24")
def test_personas_name_the_outputs_that_exist_and_no_agent_that_failed(project: Project) -> None:
    with closing(project):
        done = project.podium("run", "post.yaml", "--json")
        assert done.code == 0, done.err
        run = done.data()["run"]

        combined = system_of(project, run, "synthesize")
        assert combined.splitlines() == [
            "You combine.",
            "",
            "## Available Drafts",
            *("## draft from ann", "```", "draft of ann", "```"),
            *("## draft from cem", "```", "draft of cem", "```"),
            "",
            "",
            "## Available Audits",
            *("## cross audit from ann", "```", "audit of ann", "```"),
            *("## cross audit from cem", "```", "audit of cem", "```"),
            "",
            "",
            "Compare the drafts from: ann, cem",
            'Answer like {"title": "x"}, not like {{ title }}, and leave {other} alone.',
        ]
        audited = system_of(project, run, "cross_audit/cem")
        assert "draft of ann" in audited
        assert "ben" not in audited


def test_a_persona_with_the_name_of_a_shipped_role_is_its_authors_alone(project: Project) -> None:
    with closing(project):
        done = project.podium("run", "post.yaml", "--json")
        assert done.code == 0, done.err

        assert system_of(project, done.data()["run"], "draft/ann") == "You write. Nothing of  yet.\n"
        shown = project.podium("roles", "show", "writer").out
        assert "You write one text for the readers" in shown

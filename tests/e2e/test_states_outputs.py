"""A states-format run writes the files that its states name, and reads the verdicts of gates in the format's own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
name: post
agents:
  ann: {type: cli, command: "tools/writer ann", cost_per_1k: {input: 0, output: 0}}
  ben: {type: cli, command: "tools/writer ben", cost_per_1k: {input: 0, output: 0}}
  gate: {type: cli, command: tools/gate, persona: prompts/gate.md, cost_per_1k: {input: 0, output: 0}}
states:
  start: {type: initial, next: draft}
  draft:
    type: fan-out
    agents: [ann, ben]
    input: input/story.md
    output: "drafts/{agent}_draft.md"
    prompt: Write it.
    transitions: {all_success: draft-check, partial_success: draft-check, all_failure: halt}
  draft-check:
    type: single
    agent: gate
    input: "drafts/*.md"
    output: reviews/draft_review.json
    transitions: {proceed: report, retry: draft, halt: halt}
  report:
    type: single
    agent: ann
    prompt: Report.
    input: "reviews/*.json"
    output: final/report.md
    transitions: {success: complete, failure: halt}
  complete: {type: terminal}
  halt: {type: terminal, error: true}
settings: {working_dir: desk/}
"""
WRITER = """\
#!/bin/sh
prompt=$(cat)
case $prompt in
  *quality_score*) echo "$1 was shown the review" ;;
  *"Warmer words"*) echo "$1, second draft" ;;
  *"A rainy day"*) echo "$1, first draft" ;;
  *) echo "nothing to write about"; exit 1 ;;
esac
"""
GATE = """\
#!/bin/sh
prompt=$(cat)
case $prompt in
  *"second draft"*) printf '{"decision": "proceed", "quality_score": 8, "scores": {"ann": 9, "ben": 7}, "issues": [{"severity": "major", "issue": "long"}]}' ;;
  *"first draft"*) printf '{"decision": "retry", "quality_score": 3, "issues": [], "retry_guidance": "Warmer words"}' ;;
  *) printf '{"decision": "halt", "quality_score": 1}' ;;
esac
"""


def project_with(tmp_path: Path, **programs: str) -> Project:
    files = {
        "post.yaml": FLOW,
        "desk/input/story.md": "A rainy day.\n",
        "prompts/gate.md": "You judge.\n",
        "tools/writer": WRITER,
        "tools/gate": GATE,
        **{f"tools/{name}": content for name, content in programs.items()},
    }
    project = new_project(tmp_path, files)
    for name in ("writer", "gate"):
        (project.root / "tools" / name).chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")
    return project


def outcomes(data: Any) -> list[str]:
    return [f"{step['path']} {step['outcome']}" for step in data["steps"] if "/" not in step["path"]]


@pytest.mark.req("R026")
def test_outputs_are_files_of_the_project_when_the_run_has_ended(tmp_path: Path) -> None:
    project = project_with(tmp_path)
    with closing(project):
        done = project.podium("run", "post.yaml", "--json")

        assert done.code == 0, done.err
        assert outcomes(done.data()) == [
            "draft passed",
            "draft_check rejected",
            "draft~2 passed",
            "draft_check~2 passed",
            "report passed",
        ]
        texts = {
            path.relative_to(project.root).as_posix(): path.read_text()
            for path in sorted((project.root / "desk").rglob("*.*"))
        }
        review = json.loads(texts.pop("desk/reviews/draft_review.json"))
        assert texts == {
            "desk/input/story.md": "A rainy day.\n",
            "desk/drafts/ann_draft.md": "ann, second draft\n",
            "desk/drafts/ben_draft.md": "ben, second draft\n",
            "desk/final/report.md": "ann was shown the review\n",
        }
        assert (review["decision"], review["quality_score"]) == ("proceed", 8)


@pytest.mark.req("R024")
def test_a_gate_is_obeyed_in_the_words_of_its_format_whatever_its_issues(tmp_path: Path) -> None:
    """`proceed` with a major issue proceeds, `retry` hands its guidance on, `halt` ends the run."""
    project = project_with(tmp_path, gate=GATE.replace("first draft", "no such text"))
    with closing(project):
        halted = project.podium("run", "post.yaml", "--json")

        assert halted.code == 1
        assert outcomes(halted.data()) == ["draft passed", "draft_check aborted"]
        assert json.loads((project.root / "desk/reviews/draft_review.json").read_text())["decision"] == "halt"
        assert not (project.root / "desk/final").exists()


def test_a_gate_that_answers_in_other_words_is_asked_again_and_does_not_pass(tmp_path: Path) -> None:
    gate = '#!/bin/sh\ncat > /dev/null\nprintf \'{"decision": "maybe", "quality_score": 8}\'\n'
    project = project_with(tmp_path, gate=gate)
    with closing(project):
        done = project.podium("run", "post.yaml", "--json", "--no-human")

        assert done.code != 0
        shown = project.podium("show", done.data()["run"]).out
        assert "answers proceed, retry or halt" in shown, shown


def test_an_output_inside_the_state_folder_is_refused(tmp_path: Path) -> None:
    project = project_with(tmp_path)
    project.put({"post.yaml": FLOW.replace("final/report.md", ".podium/config.yaml").replace("desk/", ".")})
    with closing(project):
        refused = project.podium("run", "post.yaml")

        assert refused.code == 3
        assert "post.yaml:26:13: output.folder cannot be in .podium" in refused.err

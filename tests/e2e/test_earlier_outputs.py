"""Long answers of earlier steps reach the steps that build on them (R004; issue 16, C7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: built
agents:
  lead: {type: scripted, script: cast.yaml}
  coder: {type: command, command: [sh, tools/coder]}
steps:
  design: {agent: lead, prompt: Define the interfaces.}
  notes: {agent: lead, prompt: Write notes.}
  build:
    agent: coder
    prompt: Build it.
    gates: [{review: lead}]
"""
# The program stores its prompt and, if the prompt names files of results, what it reads there.
CODER = """\
cat > prompt.txt
for name in $(grep -o '[^ ]*outputs/[^ ]*\\.md' prompt.txt); do
  eval "cat $name" >> results.txt
done
echo Built.
"""
INTERFACES = "The interfaces:\n" + "\n".join(f"def part_{n}(x: int) -> int" for n in range(40))
LONG = "The notes:\n" + "\n".join(f"note {n}: " + "x" * 90 for n in range(400))


def cast(design: str, notes: str) -> str:
    steps = (("design", design), ("notes", notes))
    texts = "".join(
        f"- match: {{step: {step}}}\n  text: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
        for step, text in steps
    )
    return texts + "- match: {}\n  verdict: approve\n"


def new(folder: Path, flow: str, text: str, *, git: bool = True) -> Project:
    return new_project(folder, {"flow.yaml": flow, "cast.yaml": text, "tools/coder": CODER}, git=git)


def prompt_of(project: Project, step: str) -> str:
    shown = project.podium("prompt", "latest", step)
    assert shown.code == 0, shown.err
    return shown.out


def test_the_interfaces_of_a_lead_are_whole_in_the_prompt_of_the_next_steps(tmp_path: Path) -> None:
    with closing(new(tmp_path, FLOW, cast(INTERFACES, "Short notes."))) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--yes")

        assert done.code == 0, done.err
        build = prompt_of(project, "build")
        assert 'Step "design":\n```\n' + INTERFACES in build
        assert 'Step "notes":' not in build, "the line in the excerpt has all of it"
        assert "- notes: passed - Short notes." in build
        judge = next(
            path.read_text("utf-8")
            for path in project.root.glob(".podium/runs/*/agent_logs/*/*/prompt.md")
            if "your verdict" in path.read_text("utf-8").lower()
            or "What you judge" in path.read_text("utf-8")
        )
        assert INTERFACES in judge


def test_a_result_that_does_not_fit_lies_in_the_workspace_and_is_not_captured(tmp_path: Path) -> None:
    with closing(new(tmp_path, FLOW, cast(INTERFACES, LONG))) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--yes")

        assert done.code == 0, done.err
        build = prompt_of(project, "build")
        assert f'- step "notes": .podium/outputs/notes.md ({len(LONG) + 1} characters)' in build
        assert INTERFACES in build
        assert "note 399:" not in build
        diff = project.podium("diff", "latest").out
        assert "+note 399:" in diff, "the program has read the file that the prompt names"
        assert "b/.podium" not in diff


def test_a_result_that_the_prompt_reads_by_name_is_not_repeated(tmp_path: Path) -> None:
    flow = FLOW.replace("prompt: Build it.", "prompt: 'Build {{ steps.design.output }}'")
    with closing(new(tmp_path, flow, cast(INTERFACES, "Short notes."))) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--yes")

        assert done.code == 0, done.err
        assert prompt_of(project, "build").count("def part_39(") == 1


def test_the_talk_of_a_step_that_changed_files_stays_a_line(tmp_path: Path) -> None:
    text = cast(INTERFACES, "Short notes.").replace("  text: |", "  write: {design.md: x}\n  text: |", 1)
    with closing(new(tmp_path, FLOW, text)) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--yes")

        assert done.code == 0, done.err
        assert "def part_39(" not in prompt_of(project, "build")


def test_without_git_the_file_lies_in_the_home_of_the_attempt(tmp_path: Path) -> None:
    flow = FLOW.replace("    gates: [{review: lead}]\n", "")
    with closing(new(tmp_path, flow, cast(INTERFACES, LONG), git=False)) as project:
        done = project.podium("run", "flow.yaml", "--no-human", "--yes")

        assert done.code == 0, done.err
        assert "$HOME/outputs/notes.md" in prompt_of(project, "build")
        assert "note 399:" in (project.root / "results.txt").read_text("utf-8")
        assert not (project.root / ".podium/outputs").exists()

"""`instructions: project` gives an agent the instruction files of the base commit, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.attempt.prompt.instructions import MAX_BYTES, project_instructions
from podium.errors import ConfigurationError
from tests.attempt.agent_attempts import ask
from tests.attempt.runs import bench
from tests.git.kit import Project, new_project

FILES = {
    "AGENTS.md": "Paint it blue 4711. See @docs/style.md, and mail x@docs/other.md.\n",
    "CLAUDE.md": "Claude: @AGENTS.md\n",
    "docs/style.md": "Two coats 0815. @../AGENTS.md\n",
    "docs/other.md": "NOT INCLUDED\n",
    "sub/AGENTS.md": "In sub 99.\n",
}
FLOW = (
    "roles: {painter: {agent: a, system: You are painter 5517.}}\n"
    "steps: {it: {role: painter, prompt: Paint, touches: []%s}}\n"
)
AGENT = "agents: {a: {type: command, command: [cat, '{system_file}']%s}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return new_project(tmp_path / "project", FILES)


def system_text(project: Project, folder: Path, *, key: str, step: str = "") -> str:
    """The system text that the agent of the step gets; the agent prints it."""
    asked, _ = ask(project, folder, AGENT % key + FLOW % step)
    return asked.log("it", 1, "stdout.log")


def test_an_agent_gets_the_files_of_the_base_commit_and_not_those_of_the_working_tree(
    project: Project, tmp_path: Path
) -> None:
    (project.root / "AGENTS.md").write_text("PLANTED, not committed\n")
    text = system_text(project, tmp_path, key=", instructions: project")

    assert text.startswith("You are painter 5517.")
    assert "# Instructions of the project, from AGENTS.md\n\nPaint it blue 4711." in text
    assert text.count("Two coats 0815.") == 1
    for absent in ("PLANTED", "NOT INCLUDED", "In sub 99"):
        assert absent not in text


@pytest.mark.parametrize("key", ["", ", instructions: none"])
def test_without_the_key_an_agent_gets_no_instruction_files(
    project: Project, tmp_path: Path, key: str
) -> None:
    assert system_text(project, tmp_path, key=key).strip() == "You are painter 5517."


def test_the_files_of_the_folders_down_to_that_of_the_step_count(project: Project, tmp_path: Path) -> None:
    text = system_text(project, tmp_path, key=", instructions: project", step=", dir: sub")

    assert text.index("Paint it blue 4711.") < text.index("In sub 99.")


def test_the_first_name_that_exists_counts_with_the_files_it_names(project: Project, tmp_path: Path) -> None:
    host = bench(project, tmp_path, "steps: {a: {run: 'true'}}").host
    text = project_instructions(host, ("CLAUDE.md", "AGENTS.md"), ".")

    assert text.index("from CLAUDE.md") < text.index("from AGENTS.md") < text.index("from docs/style.md")
    assert project_instructions(host, ("GEMINI.md",), ".") == ""


def test_too_much_text_and_no_repository_are_errors(tmp_path: Path) -> None:
    large = new_project(tmp_path / "large", {"AGENTS.md": "x" * (MAX_BYTES + 1)})
    host = bench(large, tmp_path, "steps: {a: {run: 'true'}}").host
    with pytest.raises(ConfigurationError, match="more than 128 KiB"):
        project_instructions(host, ("AGENTS.md",), ".")

    (tmp_path / "plain").mkdir()
    host = bench(tmp_path / "plain", tmp_path, "steps: {a: {run: 'true'}}").host
    with pytest.raises(ConfigurationError, match="needs a git repository"):
        project_instructions(host, ("AGENTS.md",), ".")

"""Outputs that are saved in the project, and prompts that reach an agent unchanged, through the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

PROMPT = "Say {{ this }} and {% that %}.\n\nünd ${{ more }}  \n\n"
SAVING = """\
podium: 1
workspace: inplace
steps:
  one: {run: [echo, first], output: {file: a.txt, folder: out/one}}
  two: {run: [cat, out/one/a.txt], output: {file: b.txt, folder: "out/${{ vars.place }}"}}
  three: {run: [test, -e, ready]}
vars: {place: two}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path, {"flow.yaml": SAVING}, git=False)) as made:
        yield made


@pytest.mark.req("R154", "R189")
def test_a_saved_output_is_there_for_the_next_step_and_a_changed_one_survives_a_resume(
    project: Project,
) -> None:
    assert project.podium("run", "flow.yaml", "--sandbox", "none").code == 1
    assert (project.root / "out/two/b.txt").read_text() == "first\n"
    project.put({"out/one/a.txt": "mine\n", "ready": ""})

    done = project.podium("resume")

    assert done.code == 0, done.err
    assert (project.root / "out/one/a.txt").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("place", "code"), [("../x", 3), (".podium/x", 3), (".git/hooks/x", 3), ("out", 1), ("link/x", 3)]
)
def test_an_output_is_saved_only_in_a_file_of_the_project(project: Project, place: str, code: int) -> None:
    (project.root / "out").mkdir()
    (project.root / "link").symlink_to(project.folder)
    folder, _, name = place.rpartition("/")
    for value in (folder or ".", f"${{{{ vars.place }}}}{folder or '.'}"):
        step = f'{{run: [echo, x], output: {{file: "{name}", folder: "{value}"}}}}'
        project.put(
            {"flow.yaml": f'podium: 1\nworkspace: inplace\nvars: {{place: ""}}\nsteps:\n  one: {step}\n'}
        )
        done = project.podium("run", "flow.yaml", "--sandbox", "none")
        assert done.code in (code, 1), done.err
        assert done.code != 0
    assert list(project.folder.glob("x")) == []


@pytest.mark.req("C24", "R048")
@pytest.mark.parametrize("git", [True, False])
def test_stdin_of_an_agent_is_all_that_it_gets(tmp_path: Path, git: bool) -> None:
    flow = (
        "podium: 1\nagents: {echo: {type: command, command: [cat], price: {input: 0, output: 0}}}\n"
        "steps:\n  ask: {agent: echo, stdin: [prompts/a.md, prompts/b.md], output: {file: said.txt}}\n"
    )
    files = {"flow.yaml": flow, "prompts/a.md": PROMPT, "prompts/b.md": "The end"}
    with closing(new_project(tmp_path, files, git=git)) as project:
        done = project.podium("run", "flow.yaml", "--sandbox", "none")
        assert done.code == 0, done.err
        [said] = project.root.glob(".podium/runs/*/artifacts/ask/said.txt")
        assert said.read_text() == f"{PROMPT}The end"


def test_a_prompt_file_that_is_missing_is_named(tmp_path: Path) -> None:
    flow = "podium: 1\nagents: {echo: {type: command, command: [cat], price: {input: 0, output: 0}}}\nsteps: {ask: {agent: echo, stdin: a.md}}\n"
    with closing(new_project(tmp_path, {"flow.yaml": flow}, git=True)) as project:
        done = project.podium("run", "flow.yaml", "--sandbox", "none")
        assert done.code == 1
        assert 'stdin: "a.md" cannot be read: there is no such file' in done.err

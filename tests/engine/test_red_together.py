"""Two green branches that are red together are stopped before they reach the head (issue 5, point 11; S13)."""

from __future__ import annotations

import sys

import pytest

from tests.engine.kit import TEAM, Project, git, outcome

CHECK = "import pathlib, sys\nsys.exit(pathlib.Path('a/x').exists() and pathlib.Path('b/x').exists())\n"
STEPS = f"""
  both:
    parallel: 2
    pass: any
    steps:
      one: {{agent: w, prompt: x, touches: ["a/**"], gates: [{{run: ["{sys.executable}", check.py]}}], retry: RETRY}}
      two: {{agent: w, prompt: x, touches: ["b/**"], gates: [{{run: ["{sys.executable}", check.py]}}], retry: RETRY}}
  land: {{git: {{land: main, message: work}}}}
"""
ONCE = "{attempts: 1, on_exhausted: fail}"
CAST = """
- {match: {step: one, attempt: 1}, write: {a/x: "1"}}
- {match: {step: two, attempt: 1}, write: {b/x: "1"}}
- {match: {step: one}, write: {a/y: "1"}, delete: [a/x]}
- {match: {step: two}, write: {b/y: "1"}, delete: [b/x]}
"""


@pytest.mark.req("X8")
def test_the_second_of_them_never_reaches_the_head_nor_the_branch(project: Project) -> None:
    project.write("check.py", CHECK)

    run, state = project.run(project.flow(STEPS.replace("RETRY", ONCE), head=TEAM, cast=CAST))

    ends = {outcome(state, "both/one"), outcome(state, "both/two")}
    assert ends == {"passed", "failed"}, project.events(run)[-5:]
    assert outcome(state, "land") == "passed"
    landed = set(git(project.root, "ls-tree", "-r", "--name-only", "main").split())
    assert len(landed & {"a/x", "b/x"}) == 1


def test_its_owner_is_told_what_is_red_and_mends_it(project: Project) -> None:
    project.write("check.py", CHECK)

    run, state = project.run(project.flow(STEPS.replace("RETRY", "2"), head=TEAM, cast=CAST))

    assert outcome(state, "both") == "passed"
    assert outcome(state, "land") == "passed"
    landed = set(git(project.root, "ls-tree", "-r", "--name-only", "main").split())
    assert landed & {"a/x", "b/x", "a/y", "b/y"} in ({"a/x", "b/y"}, {"b/x", "a/y"})
    logs = project.facade.paths.run_dir(run) / "agent_logs"
    (prompt,) = logs.glob("both*/2/prompt.md")
    assert "is red once it is merged" in prompt.read_text("utf-8")

"""An agent whose calls have no price, under a limit on money: somebody is asked before it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.events import AttemptStarted
from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.terminal import at_a_terminal

FILE = "w.yaml"
WORKFLOW = """\
podium: 1
name: prices
agents: {mine: {type: command, command: [sh, -c, "cat > /dev/null; echo done"]}}
limits: {usd: 5}
steps:
  first: {run: [sh, -c, "echo first"]}
  call: {agent: mine, prompt: Do it., no_change: pass}
  again: {agent: mine, prompt: Do it again., no_change: pass}
"""
RUN = ("run", FILE, "--sandbox", "limits")


def new(folder: Path, workflow: str = WORKFLOW) -> Project:
    return new_project(folder / "place", {FILE: workflow})


def calls(project: Project) -> int:
    with project.store() as store:
        heads = store.heads()
        return sum(
            record.type == AttemptStarted.__name__ and '"calls":1' in record.body
            for record in (store.read(heads[0].run) if heads else ())
        )


@pytest.mark.req("X3", "C19")
def test_without_a_terminal_the_run_parks_before_the_first_call_and_goes_on_after_a_yes(
    tmp_path: Path,
) -> None:
    with closing(new(tmp_path)) as project:
        done = project.podium(*RUN, "--json")

        assert done.code == 6, done.err
        assert "agents.mine.price" in done.err
        assert calls(project) == 0
        pending = done.data()["pending"]
        assert [(one["path"], one["kind"], one["actions"]) for one in pending] == [
            ("call#0/!price:mine", "price", ["proceed", "halt"])
        ]
        assert pending[0]["question"].startswith('"mine": This agent reports no price')
        told = project.podium("inbox")
        assert "--action proceed" in told.out
        went = project.podium("approve", "--action", "proceed")
        assert went.code == 0, went.err
        assert calls(project) == 2


def test_whoever_says_yes_beforehand_is_not_asked(tmp_path: Path) -> None:
    with closing(new(tmp_path)) as project:
        done = project.podium(*RUN, "--yes")

        assert done.code == 0, done.err
        assert calls(project) == 2


def test_where_nobody_may_be_asked_nothing_is_started_and_the_ways_out_are_named(tmp_path: Path) -> None:
    with closing(new(tmp_path)) as project:
        done = project.podium(*RUN, "--no-human")

        assert done.code == 2
        for word in ("--no-human forbids asking", "agents.mine.price", "unknown_cost: count_tokens", "--yes"):
            assert word in done.err
        with project.store() as store:
            assert store.heads() == ()
        assert project.podium(*RUN, "--no-human", "--yes").code == 0
        assert project.podium(*RUN, "--no-human", "--set", "limits.unknown_cost=count_tokens").code == 0


@pytest.mark.req("X3")
@pytest.mark.parametrize(("typed", "code", "made"), [("y", 0, 2), ("n", 2, 0)])
def test_at_a_terminal_the_question_comes_before_the_run(
    tmp_path: Path, typed: str, code: int, made: int
) -> None:
    with closing(new(tmp_path)) as project, at_a_terminal(project, *RUN) as terminal:
        until(lambda: terminal.shows(b"Continue? [Y/n]"), "the question")
        assert calls(project) == 0
        terminal.type(typed)
        until(lambda: terminal.shows(b"passed" if not code else b"nothing was started"), "the end")
        assert terminal.child.wait(timeout=60) == code
        assert calls(project) == made


@pytest.mark.req("X3")
@pytest.mark.parametrize(("typed", "code", "made"), [("proceed", 0, 2), ("halt", 4, 1)])
def test_what_turns_out_in_the_middle_is_asked_at_the_terminal_before_the_next_call(
    tmp_path: Path, typed: str, code: int, made: int
) -> None:
    """A price of its own, and yet no price: the program tells no tokens that it could be reckoned from."""
    priced = WORKFLOW.replace("mine: {", "mine: {price: {input: 1, output: 1}, ")
    with closing(new(tmp_path, priced)) as project, at_a_terminal(project, *RUN) as terminal:
        until(lambda: terminal.shows(b"type one of proceed, halt"), "the question")
        assert calls(project) == 1
        terminal.type(typed)
        until(lambda: terminal.child.poll() is not None or terminal.shows(b"\0"), "the end")
        assert terminal.child.returncode == code
        assert calls(project) == made

"""Runs that nobody can carry on are ended by force."""

from __future__ import annotations

import json

import pytest

from tests.engine.kit import Project
from tests.frontends.test_running import ASK, call, code, data, newest


@pytest.mark.req("R142")
@pytest.mark.parametrize("text", [None, "{", "podium: 1\nname: flow\nsteps:\n  other: {human: 'Go?'}\n"])
def test_a_run_whose_file_is_gone_broken_or_changed_is_ended_by_force(
    project: Project, text: str | None
) -> None:
    file = project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")
    file.unlink()
    if text is not None:
        file.write_text(text, "utf-8")

    refused = call("cancel")
    forced = call("cancel", "--force", "--json")

    assert (code(refused), code(forced)) == (2, 0)
    assert (data(forced)["run"], data(forced)["status"]) == (newest(project), "cancelled")
    assert code(call("verify")) == 0


def test_a_run_that_is_over_says_so_whatever_became_of_its_file(project: Project) -> None:
    file = project.flow("  a: {run: [echo, x]}\n")
    call("run", "flow.yaml", "--sandbox", "none")
    file.unlink()

    for words in (("cancel",), ("cancel", "--force"), ("guide", newest(project), "Take care.")):
        done = call(*words)
        assert (code(done), "has ended: passed" in str(done.exception)) == (2, True)


@pytest.mark.req("R142")
def test_what_was_open_in_a_run_that_was_closed_is_over_with_it(project: Project) -> None:
    """Also where the change is undone later, so that somebody could look at it with its own definition again."""
    file = project.flow(ASK)
    call("run", "flow.yaml", "--sandbox", "none")
    run = newest(project)
    before = file.read_text("utf-8")
    work = project.facade.paths.work_dir(run)
    work.mkdir(parents=True)
    file.write_text(before.replace("Land it?", "Land it now?"), "utf-8")

    assert code(call("resume", run, "--accept-changes", "--yes")) == 6

    (step,) = data(call("show", run, "--json"))["steps"]
    assert (step["status"], step["outcome"], step["reason"]) == ("ended", "cancelled", "abandoned")
    view = project.view(project.store.heads()[1].run)
    assert view.steps[0].ended == view.ended
    assert not list((project.root / ".podium/inbox").glob(f"{run}+*"))
    assert len(list((project.root / ".podium/inbox").iterdir())) == 1
    assert not work.exists()
    kept = json.loads((project.facade.paths.run_dir(run) / "run.json").read_text("utf-8"))
    assert (kept["status"], kept["pending"]) == ("cancelled", [])
    file.write_text(before, "utf-8")
    assert code(call("resume", run)) == 130
    assert code(call("verify", run)) == 0

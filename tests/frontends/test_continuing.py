"""Going on from a run, as a person types it: what is said first, what is asked, and what begins."""

from __future__ import annotations

import json

import pytest

from podium.errors import ConfigurationError
from tests.engine.kit import TEAM, Project
from tests.frontends.test_running import ASK, call, code, data, newest

STEPS = "  a: {run: [echo, one]}\n  b: {run: [echo, two]}\n"


def start(project: Project, steps: str) -> str:
    project.flow(steps)
    call("run", "flow.yaml", "--sandbox", "none")
    return newest(project)


@pytest.mark.req("R039")
def test_a_changed_file_is_told_with_the_way_on_and_the_way_on_works(project: Project) -> None:
    """X10"""
    run = start(project, ASK)
    project.flow(ASK.replace("landed", "elsewhere"))

    refused = call("resume")
    assert isinstance(refused.exception, ConfigurationError)
    assert f"podium resume {run} --accept-changes" in str(refused.exception.hint)

    done = call("resume", "--accept-changes", "--yes")
    assert code(done) == 6
    assert "begins with  ask" in done.stderr
    assert [head.status for head in project.store.heads()] == ["waiting", "cancelled"]


@pytest.mark.req("C11")
def test_rerun_says_what_it_keeps_and_ends_with_the_code_of_the_new_run(project: Project) -> None:
    run = start(project, STEPS)

    done = call("rerun", run, "b", "--yes", "--json")

    assert code(done) == 0
    assert "reused       1 ($0.00 not paid again): a" in done.stderr
    assert "repeated     1 ($0.00 last time): b" in done.stderr
    assert [(step["path"], step["reused"]) for step in data(done)["steps"]] == [("a", run), ("b", None)]
    assert f"from {run}" in call("show").stdout


def test_a_fork_with_another_input_leaves_the_run_alone(project: Project) -> None:
    run = start(project, STEPS)

    done = call("fork", run, "--from", "b", "--yes")

    assert code(done) == 0
    assert len(project.store.heads()) == 2


@pytest.mark.req("C11")
def test_without_a_terminal_and_without_yes_nothing_begins(project: Project) -> None:
    run = start(project, STEPS)

    done = call("rerun", run, "b")

    assert isinstance(done.exception, ConfigurationError)
    assert "--yes" in str(done.exception.hint)
    assert len(project.store.heads()) == 1


def test_a_no_at_the_terminal_begins_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(project, STEPS)
    monkeypatch.setattr("podium.frontends.cli.confirm_rerun.is_terminal", lambda: True)

    assert code(call("rerun", run, "b", typed="n\n")) == 0

    assert len(project.store.heads()) == 1


def test_dry_run_belongs_to_accepted_changes(project: Project) -> None:
    start(project, ASK)

    with pytest.raises(Exception, match="accept-changes"):
        code(call("resume", "--dry-run"))


def test_costs_tell_unknown_from_free(project: Project) -> None:
    """R208"""
    cast = "- {match: {step: a}, cost_usd: 0.25, usage: {input: 70, output: 30}}\n"
    steps = (
        "  a: {agent: w, prompt: A.}\n  b: {agent: shy, prompt: B., no_change: pass}\n  c: {run: [echo, x]}\n"
    )
    project.flow(steps, head=TEAM + "  shy: {type: command, command: [echo, hi]}\n", cast=cast)
    call("run", "flow.yaml", "--sandbox", "none", "--yes")

    lines = call("costs", "--by", "step").stdout.splitlines()

    assert lines[0].split() == ["step", "cost", "calls", "tokens", "unknown"]
    assert [line.split()[:3] for line in lines[1:2]] == [["flow:", "b", "unknown"]]
    assert lines[2:] == ["not counted: 1 call of scripted or recorded agents ($0.25)"]
    data = json.loads(call("costs", "--json").stdout)
    assert (data["total"]["calls"], data["total"]["cost"]) == (1, {"usd": 0.0, "unknown_calls": 1})
    assert (data["simulated"]["calls"], data["simulated"]["cost"]["usd"]) == (1, 0.25)


@pytest.mark.req("R146", "R226")
def test_resume_continues_a_failed_run_at_once_and_asks_after_an_edit(project: Project) -> None:
    flag = f"[test, -e, {project.root}/.podium/flag]"
    steps = f"  a: {{run: [echo, one]}}\n  b: {{run: {flag}}}\n"
    project.flow(steps)
    failed = call("run", "flow.yaml", "--sandbox", "none")
    assert "to try the failed step again" in failed.stderr + failed.stdout
    project.flow(steps.replace("one", "two"))
    asked = call("resume")
    assert isinstance(asked.exception, ConfigurationError) and "--yes" in str(asked.exception.hint)
    assert "repeated     2" in asked.stderr
    assert len(project.store.heads()) == 1

    project.flow(steps)
    (project.root / ".podium/flag").touch()
    done = call("resume")

    assert code(done) == 0
    assert "reused       1 ($0.00 not paid again): a" in done.stderr
    assert code(call("resume")) == 0
    assert len(project.store.heads()) == 2

"""A call whose end nobody saw is in every view of the costs, as a call of unknown cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podium.core.hash_chain import RunId
from tests.e2e.kit import Project, closing, new_project, until, until_exit

FILE = "w.yaml"
# It is free, so that only the calls without an end are of unknown cost.
WORKFLOW = """\
podium: 1
name: lost
env: [NOTES]
agents: {mine: {type: command, command: [sh, tools/work.sh], price: {input: 0, output: 0}}}
steps:
  call: {agent: mine, prompt: Do it., no_change: pass}
"""
TOOL = 'cat > /dev/null; touch "$NOTES/called"; while [ ! -e "$NOTES/go" ]; do sleep 0.05; done; echo done\n'
RUN = ("run", FILE, "--sandbox", "limits")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "notes").mkdir()
    files = {FILE: WORKFLOW, "tools/work.sh": TOOL}
    with closing(new_project(tmp_path / "place", files, NOTES=str(tmp_path / "notes"))) as project:
        yield project


def notes(project: Project) -> Path:
    return Path(project.env["NOTES"])


def call_and_kill(project: Project, *args: str) -> RunId:
    child = project.start(*args)
    project.while_running(child, lambda: (notes(project) / "called").exists() or None, "the call")
    (notes(project) / "called").unlink()
    child.kill()
    until_exit(child)
    return project.run_id()


def counts(project: Project, run: RunId) -> dict[str, tuple[int, int]]:
    """The calls and those of unknown cost, as each view says it."""

    def data(*args: str) -> Any:
        done = project.podium(*args, "--json")
        assert done.code == 0, done.err
        return done.data()

    def of_run(view: Any) -> tuple[int, int]:
        return view["usage"]["calls"], view["cost"]["unknown_calls"]

    views = {"show": of_run(data("show", run)), "runs": of_run(data("runs")[0])}
    for by in ("agent", "step", "run", "day"):
        total = data("costs", "--by", by)["total"]
        views[f"costs by {by}"] = total["calls"], total["cost"]["unknown_calls"]
    return views


def token_lines(project: Project, run: RunId) -> list[tuple[str | None, int, float | None]]:
    file = project.root / ".podium/runs" / run / "token_usage.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [(row["agent"], row["calls"], row["cost_usd"]) for row in rows]


@pytest.mark.slow
@pytest.mark.req("R208", "X3")
def test_a_call_that_was_lost_to_a_kill_is_in_every_view_of_costs(project: Project) -> None:
    run = call_and_kill(project, *RUN)
    assert set(counts(project, run).values()) == {(1, 1)}
    assert "unknown" in project.podium("costs").out
    assert "1 call of unknown cost" in project.podium("show", run).out

    call_and_kill(project, "resume", run)
    assert set(counts(project, run).values()) == {(2, 2)}

    (notes(project) / "go").touch()
    done = project.podium("resume", run, "--json")

    assert done.code == 0, done.err
    assert (done.data()["usage"]["calls"], done.data()["cost"]["unknown_calls"]) == (3, 2)
    assert set(counts(project, run).values()) == {(3, 2)}
    assert token_lines(project, run) == [(None, 1, None), (None, 1, None), ("mine", 1, 0.0)]
    summary = (project.root / ".podium/runs" / run / "run_summary.md").read_text("utf-8")
    assert "2 calls of unknown cost" in summary
    audit = (project.root / ".podium/runs" / run / "audit.log").read_text("utf-8")
    assert audit.count("1 interrupted call of unknown cost repeated: call") == 2


@pytest.mark.slow
@pytest.mark.req("R208", "X3")
def test_a_call_that_was_cancelled_is_in_every_view_of_costs(project: Project) -> None:
    child = project.start(*RUN)
    project.while_running(child, lambda: (notes(project) / "called").exists() or None, "the call")
    run = project.run_id()

    done = project.podium("cancel", run)

    assert done.code == 0, done.err
    until_exit(child)
    until(lambda: project.events(run)[-1]["type"] == "RunEnded" or None, "the end")
    assert set(counts(project, run).values()) == {(1, 1)}
    assert token_lines(project, run) == [(None, 1, None)]


@pytest.mark.slow
@pytest.mark.req("R208", "X3")
def test_the_call_of_a_run_that_was_abandoned_is_in_every_view_of_costs(project: Project) -> None:
    run = call_and_kill(project, *RUN)
    project.put({FILE: WORKFLOW.replace("Do it.", "Do something else.")})

    done = project.podium("cancel", run, "--force")

    assert done.code == 0, done.err
    assert set(counts(project, run).values()) == {(1, 1)}

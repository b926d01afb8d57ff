"""Projects of the supervisor format whose agents are all simulated by one cast, run by the real command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.kit import Ended, Project, closing, new_project

CAST = "cast.yaml"
AGENTS = ("claude", "codex", "gemini")
FLOW = "change.yaml"
CONFIG = ".podium/config.yaml"
TASK = ("-i", "task=Add a greeting")
LAND = "    commit: {gate_type: orchestrator, command: git commit, terminal: true}\n"


@contextmanager
def supervised(folder: Path, files: Mapping[str, str], cast: str = "[]\n") -> Iterator[Project]:
    """The user's own configuration gives the agents their cast, so that the project's files are only its own."""
    with closing(new_project(folder / "place", {**files, CAST: cast})) as project:
        agents = "".join(f"  {name}: {{type: scripted, script: {CAST}}}\n" for name in AGENTS)
        config = project.home / ".config/podium/config.yaml"
        config.parent.mkdir(parents=True)
        config.write_text(f"agents:\n{agents}", "utf-8")
        yield project


def run(project: Project, *args: str, file: str = FLOW) -> Ended:
    return project.podium("run", file, *TASK, "--sandbox", "limits", "--json", *args)


def outcomes(done: Ended) -> dict[str, str]:
    """The outcome of each step, by its address."""
    assert done.out, done.err
    return {step["path"]: step["outcome"] for step in done.data()["steps"]}


def attempts(project: Project, path: str) -> list[dict[str, Any]]:
    """The attempts of a step that have started, in their order."""
    events = project.events(project.run_id())
    return [event for event in events if event["type"] == "AttemptStarted" and event["path"] == path]

"""claude, codex and gemini as clients of `podium mcp`: they find its tools, start a run, follow it, and cannot approve.

PODIUM_STARTS is the number of cold starts of each program; a server that is late is missed in some of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.stores.sqlite import SqliteStore
from podium.files.project_paths import ProjectPaths
from podium.testing.models.server import ModelRequest, ModelServer, Rule
from tests.git.kit import new_project
from tests.live.assistants import KEY, PROMPT, TOOLS, work

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

STARTS = int(os.environ.get("PODIUM_STARTS", "2"))
FLOW = "podium: 1\nname: flow\nsteps:\n  work: {run: [echo, hello]}\n  ask: {human: 'Land it?'}\n"
SEARCHED = "- podium: Podium runs AI coding agents"
"""codex offers its model a search instead of many tools, and lists the servers whose tools it searches."""
ANSWERING = ("answer", "approve", "reject")


def rules(name: str) -> list[Rule]:
    """The model looks, starts the run, waits for it, and then tries to approve."""
    tool = TOOLS[name].format
    calls: list[tuple[str, Mapping[str, Any]]] = [
        (tool("workflows"), {}),
        (tool("start_run"), {"workflow": "flow.yaml"}),
        (tool("wait_for_run"), {"timeout_s": 60}),
        (tool("answer"), {"run": "latest", "step": "ask", "tree": None, "action": "approve"}),
    ]

    def is_task(request: ModelRequest) -> bool:
        return PROMPT in request.text

    return [Rule(match=is_task, tools=calls, text="It waits for you."), Rule(text="ok")]


@pytest.mark.req("R232")
@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_an_assistant_finds_the_tools_starts_a_run_follows_it_and_cannot_approve(
    tmp_path: Path, name: str
) -> None:
    missed = []
    for number in range(STARTS):
        folder = tmp_path / str(number)
        project = new_project(folder / "project", {"README.md": "hello\n", "flow.yaml": FLOW}).root
        with ModelServer(*rules(name)) as server:
            done = work(name, project, folder / "home", server)
            sent = [
                json.dumps(request.body)
                for request in server.requests_to()
                if PROMPT in json.dumps(request.body)
            ]
        fault = _fault(project, sent)
        if fault:
            missed.append(f"start {number + 1}: {fault}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
        assert KEY not in done.stdout

    assert not missed, f"{len(missed)} of {STARTS}: " + "\n".join(missed)


def _fault(project: Path, sent: list[str]) -> str:
    """What the assistant did not do; the model sees only what its program sends."""
    if not sent:
        return "the model was not called"
    last = sent[-1]
    if "start_run" not in sent[0] and SEARCHED not in sent[0]:
        return "the first call of the model did not offer the tools"
    if any(f'podium__{word}"' in sent[0] or f'podium_{word}"' in sent[0] for word in ANSWERING):
        return "a tool that answers was offered"
    if "flow.yaml" not in last or "has started: at most 0 agent calls" not in last:
        return "no run was started"
    if "Land it?" not in last:
        return "the run was not followed to its question"
    database = ProjectPaths(project).database
    if not database.exists():
        return "there is no run"
    store = SqliteStore(database)
    try:
        heads = store.heads()
    finally:
        store.close()
    return "" if [head.status for head in heads] == ["waiting"] else f"the runs are {heads}"

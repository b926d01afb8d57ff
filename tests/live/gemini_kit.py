"""The real gemini in real attempts, against the model server; its world goes well again after its first attempt."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.gemini import Gemini
from podium.attempt.perform import perform
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.state import State
from podium.ports import Progress
from podium.process import Mask
from podium.process.procfs import read_marker, read_pids
from podium.testing.models import Asked as Question
from podium.testing.models import ModelServer, Rule
from tests.attempt.asked import Asked, Clock
from tests.attempt.runs import Played, bench
from tests.git.kit import Project

PROGRAM = Path(__file__).parents[2] / ".venv-live/node_modules/.bin/gemini"
KEY = "dummy-key-4712-of-nobody"
MARKER = "podium-test-gemini"


def needs_gemini() -> None:
    if not PROGRAM.exists():
        pytest.skip("gemini is not installed; run: sh tools/live.sh")


def wrote(name: str, content: str) -> tuple[str, dict[str, str]]:
    """A call of gemini's own tool that writes a file."""
    return "write_file", {"file_path": name, "content": content}


GOOD = Rule(tools=[wrote("src/good.py", "good = True\n")], text="All is well")


class Reviewed(ModelServer):
    """Answers whoever asks for a verdict with one that is bound to the request, as a model would."""

    def choose(self, asked: Question) -> Rule:
        rule = super().choose(asked)
        nonce = re.search(r"^nonce: (\w+)$", asked.text, re.MULTILINE)
        tree = re.search(r"^tree: (\w+)$", asked.text, re.MULTILINE)
        if nonce is None or tree is None:
            return rule
        verdict = {"decision": "approve", "score": 9, "findings": [], "summary": "blue indeed"}
        return replace(rule, tools=(), text=json.dumps({**verdict, "nonce": nonce[1], "tree": tree[1]}))


@dataclass
class Live(Asked):
    server: ModelServer = field(kw_only=True)

    async def _agent(self, asked: AttemptStarted, state: State) -> AttemptEnded:
        end = await perform(asked, state, self.site)
        self.server.rules[:] = [GOOD]
        return end

    def kinds(self) -> set[str]:
        return {seen.kind for _, seen in self.seen}


def play(
    project: Project,
    folder: Path,
    flow: str,
    server: ModelServer,
    *,
    settings: str = "",
    base_url: str | None = None,
) -> tuple[Live, Played]:
    """Plays a workflow whose agent `gemini` is the real one; `settings` are further ones of it."""
    url = base_url or server.url
    head = (
        f"agents: {{gemini: {{command: {PROGRAM}, model: gemini-2.5-flash, base_url: '{url}'{settings}}}}}\n"
    )
    clock, seen = Clock(), list[tuple[str, Progress]]()
    made = bench(
        project,
        folder,
        head + flow,
        now=clock,
        on_progress=lambda path, progress: seen.append((path, progress)),
        mask=Mask({"GEMINI_API_KEY": KEY}),
        host_env={"PATH": os.environ.get("PATH", os.defpath), "GEMINI_API_KEY": KEY},
    ).given(agents={"gemini": Gemini()}, accepts_weak_walls=True, marker=MARKER)
    live = Live(
        made.site, made.root, clock=clock, seen=seen, server=server, answers={"it#1/!exhausted": "fail"}
    )
    return live, live.play()


def bodies(server: ModelServer) -> list[Mapping[str, Any]]:
    return [request.body for request in server.asked("GenerateContent")]


def survivors() -> list[int]:
    return [pid for pid in read_pids() if (read_marker(pid) or "").startswith(MARKER)]

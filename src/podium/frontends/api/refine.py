"""A writer and a reviewer take turns until the reviewer approves, for callers in Python.

    done = refine("claude", {"type": "ollama", "model": "mistral:latest"}, "A slogan for bottles", phrase="SHIP IT!")
    print(done.reason, done.final)

It is one step with one gate, run by the same functions as every other run. Async callers hand it to a thread.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import anyio

from podium.core.events import AttemptEnded, Event
from podium.errors import AgentError, NotApproved
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths
from podium.frontends.api.functions import drive_in, start_in
from podium.runtime.records import events_of
from podium.views.run.view import RunView
from podium.wiring import open_project

Reason: TypeAlias = Literal["approved", "max_turns", "error", "cancelled"]
AgentChoice: TypeAlias = str | Mapping[str, Any]
"""The name of an agent, or its configuration as under `agents` in a file."""

STEP: Final = "draft"
FILE: Final = "refine.yaml"
WRITER: Final = "You write what is asked for. Answer with the text alone."
REVIEWER: Final = "You judge a text. Say what to improve; approve only what needs nothing more."


@dataclass(frozen=True, slots=True)
class Turn:
    number: int
    text: str
    feedback: str | None
    """None if it was approved."""
    approved: bool
    at: int
    """When the turn was over, in milliseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Refinement:
    task: str
    max_turns: int
    turns: tuple[Turn, ...]
    final: str | None
    reason: Reason
    started: int
    ended: int
    run: str
    message: str = ""
    """What went wrong, if something did."""

    @property
    def succeeded(self) -> bool:
        return self.reason == "approved"

    @property
    def duration(self) -> float:
        """Seconds."""
        return (self.ended - self.started) / 1000

    def required(self) -> Refinement:
        """Itself if it was approved; raises NotApproved or AgentError otherwise."""
        if self.reason == "max_turns":
            raise NotApproved(
                f"not approved in {self.max_turns} turns", hint="the last version is in `final`"
            )
        if not self.succeeded:
            raise AgentError(self.message or f"the run was {self.reason}")
        return self


def refine(  # noqa: PLR0913  # each is a choice of the caller, by name
    writer: AgentChoice,
    reviewer: AgentChoice,
    task: str,
    *,
    max_turns: int = 5,
    phrase: str | None = None,
    similar: str | None = None,
    system: str = WRITER,
    criteria: str = REVIEWER,
    project: Path | None = None,
    sandbox: str | None = None,
) -> Refinement:
    """Turns until approval, or `max_turns`; then `final` is the last version, and `reason` says that it was not approved.

    Approval is a verdict of a known shape. With `phrase` it is that exact last line instead. `similar`, such as
    "95%", stops early when versions no longer change. Raises ConfigurationError for agents that cannot work.
    """
    with tempfile.TemporaryDirectory(prefix="podium-refine-") as made:
        folder = (project or Path(made)).resolve()
        file = Path(made).resolve() / FILE if project is None else ProjectPaths(folder).state_dir / FILE
        file.parent.mkdir(parents=True, exist_ok=True)
        document = _document(writer, reviewer, max_turns, phrase, similar, system=system, criteria=criteria)
        # JSON is YAML, and needs no second spelling of quotes.
        file.write_text(json.dumps(document), "utf-8")
        with closing(open_project(folder, create=True)) as facade:
            starting = partial(start_in, facade, file, {"task": task}, no_human=True, sandbox=sandbox)
            run = anyio.run(starting)
            is_interrupted = False
            try:
                anyio.run(drive_in, facade, run)
            except KeyboardInterrupt:
                is_interrupted = True
            view, records = facade.queries.show(run), facade.queries.events(run)
    return _result(task, max_turns, view, events_of(records), is_interrupted)


def _document(  # the same choices
    writer: AgentChoice,
    reviewer: AgentChoice,
    max_turns: int,
    phrase: str | None,
    similar: str | None,
    *,
    system: str,
    criteria: str,
) -> dict[str, Any]:
    own = {
        name: dict(agent)
        for name, agent in (("writer_agent", writer), ("judge_agent", reviewer))
        if not isinstance(agent, str)
    }
    gate = {"review": "judge", "prompt": "Please review this:\n{{ work.text | fence }}", "phrase": phrase}
    retry = {
        "attempts": max_turns,
        "stop": {"similar": similar} if similar else None,
        "on_exhausted": "accept_best",
    }
    return {
        "podium": 1,
        "name": "refine",
        "inputs": {"task": "string"},
        "agents": own,
        "roles": {
            "author": {
                "agent": writer if isinstance(writer, str) else "writer_agent",
                "touches": [],
                "system": system,
            },
            "judge": {
                "extends": "reviewer",
                "agent": reviewer if isinstance(reviewer, str) else "judge_agent",
                "system": criteria,
            },
        },
        "breaker": dict.fromkeys(("repeat", "plateau", "cycle", "visits", "reversals")),
        "steps": {
            STEP: {
                "role": "author",
                "prompt": "{{ inputs.task }}",
                "estimate": {"usd": 0, "tokens": 0},
                "gates": [{key: value for key, value in gate.items() if value is not None}],
                "retry": {key: value for key, value in retry.items() if value is not None},
            }
        },
    }


def _result(
    task: str, max_turns: int, view: RunView, events: Sequence[Event], is_interrupted: bool
) -> Refinement:
    turns = _turns(event for event in events if isinstance(event, AttemptEnded))
    reason: Reason = "error"
    if is_interrupted or view.status == "cancelled":
        reason = "cancelled"
    elif view.status == "passed":
        reason = "approved" if turns and turns[-1].approved else "max_turns"
    result = next((step.result for step in view.steps if step.path == STEP and step.ended), {})
    succeeded = reason in ("approved", "max_turns")
    final = result.get("text") if succeeded else None
    message = "" if succeeded else str(result.get("message") or view.message or "")
    return Refinement(task, max_turns, turns, final, reason, events[0].at, events[-1].at, view.run, message)


def _turns(ended: Iterable[AttemptEnded]) -> tuple[Turn, ...]:
    """A turn is an attempt of the writer with the reviewer's verdict on it."""
    texts: dict[int, str] = {}
    turns: list[Turn] = []
    for event in ended:
        judged = re.match(rf"{STEP}#(\d+)/", event.path)
        result = event.result or {}
        if judged is None and event.kind == "ok":
            texts[event.attempt] = str(result.get("text", ""))
        elif judged is not None and event.verdict is not None:
            number, approved = int(judged[1]), event.verdict.decision == "approve"
            review = str(result.get("summary") or result.get("text") or "")
            turns.append(
                Turn(number, texts.get(number, ""), None if approved else review, approved, event.at)
            )
    return tuple(turns)

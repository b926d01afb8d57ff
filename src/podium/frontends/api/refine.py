"""A writer and a reviewer who go on until the reviewer is content, for callers in Python.

    done = refine("claude", {"type": "ollama", "model": "mistral:latest"}, "A slogan for bottles", phrase="SHIP IT!")
    print(done.reason, done.final)

It is one step with one gate, carried on by the same engine as every other run. Async callers hand it to a thread.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import anyio

from podium.app.run.start import RunRequest, start_run
from podium.core.events import AttemptEnded, Event
from podium.core.state import State
from podium.core.types import Path as StepPath
from podium.errors import AgentError, NotApproved
from podium.files.project_paths import ProjectPaths
from podium.runtime.records import events_of
from podium.wiring import open_office

Reason: TypeAlias = Literal["approved", "max_turns", "error", "cancelled"]
Who: TypeAlias = str | Mapping[str, Any]
"""The name of an agent, or its configuration as it stands under `agents` in a file."""

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
    writer: Who,
    reviewer: Who,
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
    """Turns until approval, or `max_turns`; then the last version stands, and `reason` says that nobody approved it.

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
        office = open_office(folder, create=True)
        begun = start_run(
            office, RunRequest(file=file, inputs={"task": task}, no_human=True, sandbox=sandbox)
        )
        try:
            state = anyio.run(lambda: office.runtime.drive(begun.run, park=True))
        except KeyboardInterrupt:
            state = None
        events = events_of(office.runtime.events(begun.run))
        office.runtime.close()
    return _read(task, max_turns, str(begun.run), events, state)


def _document(  # the same choices
    writer: Who,
    reviewer: Who,
    max_turns: int,
    phrase: str | None,
    similar: str | None,
    *,
    system: str,
    criteria: str,
) -> dict[str, Any]:
    own = {
        name: dict(who)
        for name, who in (("writer_agent", writer), ("judge_agent", reviewer))
        if not isinstance(who, str)
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


def _read(task: str, max_turns: int, run: str, events: list[Event], state: State | None) -> Refinement:
    turns = _turns(event for event in events if isinstance(event, AttemptEnded))
    ended = None if state is None else state.ended
    ending = None if state is None else state.instances[StepPath(STEP)].ending
    reason: Reason = "error"
    if state is None or (ended is not None and ended.status == "cancelled"):
        reason = "cancelled"
    elif ended is not None and ended.status == "passed":
        reason = "approved" if turns and turns[-1].approved else "max_turns"
    result = {} if ending is None else ending.result or {}
    final = result.get("text") if reason in ("approved", "max_turns") else None
    message = (
        ""
        if reason in ("approved", "max_turns")
        else str(result.get("message") or getattr(ended, "message", ""))
    )
    return Refinement(task, max_turns, turns, final, reason, events[0].at, events[-1].at, run, message)


def _turns(ended: Iterable[AttemptEnded]) -> tuple[Turn, ...]:
    """A turn is an attempt of the writer, and what the reviewer said about it."""
    texts: dict[int, str] = {}
    turns: list[Turn] = []
    for event in ended:
        judged = re.match(rf"{STEP}#(\d+)/", event.path)
        result = event.result or {}
        if judged is None and event.kind == "ok":
            texts[event.attempt] = str(result.get("text", ""))
        elif judged is not None and event.verdict is not None:
            number, approved = int(judged[1]), event.verdict.decision == "approve"
            said = str(result.get("summary") or result.get("text") or "")
            turns.append(Turn(number, texts.get(number, ""), None if approved else said, approved, event.at))
    return tuple(turns)

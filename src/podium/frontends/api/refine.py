"""A writer and a reviewer take turns until the reviewer approves, for callers in Python.

    done = refine("claude", {"type": "ollama", "model": "mistral:latest"}, "A slogan for bottles", phrase="SHIP IT!")
    print(done.reason, done.final)

It is one step with one gate, run by the same functions as every other run; `refine_async` is the same for async callers.
Without agents it is a loop of a local model, with the settings and environment variables that such loops usually have.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import anyio

from podium.app.project import Project
from podium.core.events import AttemptEnded, AttemptStarted, Event
from podium.core.hash_chain import RunId
from podium.errors import AgentError, ConfigurationError, ModelNotFoundError, NotApproved
from podium.fast_dataclass import dataclass
from podium.files.project_paths import ProjectPaths
from podium.frontends.api.functions import drive_in, start_in
from podium.runtime.records import events_of
from podium.wiring import open_project

Reason: TypeAlias = Literal["approved", "max_turns", "error", "cancelled"]
AgentChoice: TypeAlias = str | Mapping[str, Any]
"""The name of an agent, or its configuration as under `agents` in a file."""

Approve: TypeAlias = Literal["last_line", "anywhere"]

MAX_TURNS: Final = "OLLAMA_MAX_TURNS"
DEFAULT_TURNS: Final = 5
MISSING_MODEL: Final = "ollama pull"
"""Part of the message that a server does not have a model."""
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
    writer_s: float = 0.0
    reviewer_s: float = 0.0
    """How long each of them took, in seconds."""
    writer_model: str = ""
    reviewer_model: str = ""


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
    model: str = ""
    """The model of the writer; empty if its agent does not say."""

    @property
    def turn_count(self) -> int:
        return len(self.turns)

    @property
    def succeeded(self) -> bool:
        return self.reason == "approved"

    @property
    def duration(self) -> float:
        """Seconds."""
        return (self.ended - self.started) / 1000

    def required(self) -> Refinement:
        """Itself if it was approved; raises NotApproved, ModelNotFoundError or AgentError otherwise."""
        if self.reason == "max_turns":
            raise NotApproved(
                f"not approved in {self.max_turns} turns", hint="the last version is in `final`"
            )
        if MISSING_MODEL in self.message:
            raise ModelNotFoundError(self.message)
        if not self.succeeded:
            raise AgentError(self.message or f"the run was {self.reason}")
        return self


def refine(  # noqa: PLR0913  # each is a choice of the caller, by name
    writer: AgentChoice | None,
    reviewer: AgentChoice | None,
    task: str,
    *,
    model: str | None = None,
    max_turns: int | None = None,
    phrase: str | None = None,
    approve: Approve = "last_line",
    similar: str | None = None,
    system: str = WRITER,
    criteria: str = REVIEWER,
    project: Path | None = None,
    sandbox: str | None = None,
) -> Refinement:
    """Turns until approval, or `max_turns`; then `final` is the last version, and `reason` says that it was not approved.

    Approval is a verdict of a known shape. With `phrase` it is that exact last line instead, or with `approve="anywhere"`
    these words anywhere and in any case. `similar`, such as "95%", stops early when versions no longer change. `model` is used
    by both agents. None as an agent is a local model; `max_turns` is OLLAMA_MAX_TURNS by default, else 5.
    Raises ConfigurationError for agents that cannot work.
    """
    turns = _max_turns(max_turns)
    document = _document(
        (writer, reviewer), model, turns, _approval(phrase, approve), similar, texts=(system, criteria)
    )
    with _prepared(document, project) as (facade, file):
        run = anyio.run(partial(start_in, facade, file, {"task": task}, no_human=True, sandbox=sandbox))
        is_interrupted = False
        try:
            anyio.run(drive_in, facade, run)
        except KeyboardInterrupt:
            is_interrupted = True
        return _result(task, turns, facade, run, is_interrupted)


async def refine_async(  # noqa: PLR0913  # as above
    writer: AgentChoice | None,
    reviewer: AgentChoice | None,
    task: str,
    *,
    model: str | None = None,
    max_turns: int | None = None,
    phrase: str | None = None,
    approve: Approve = "last_line",
    similar: str | None = None,
    system: str = WRITER,
    criteria: str = REVIEWER,
    project: Path | None = None,
    sandbox: str | None = None,
) -> Refinement:
    """`refine` for async callers; when it is cancelled, the run can be resumed."""
    turns = _max_turns(max_turns)
    document = _document(
        (writer, reviewer), model, turns, _approval(phrase, approve), similar, texts=(system, criteria)
    )
    with _prepared(document, project) as (facade, file):
        run = await start_in(facade, file, {"task": task}, no_human=True, sandbox=sandbox)
        await drive_in(facade, run)
        return _result(task, turns, facade, run, False)


def _max_turns(chosen: int | None) -> int:
    value = str(os.environ.get(MAX_TURNS, DEFAULT_TURNS) if chosen is None else chosen)
    if not value.isdigit() or int(value) < 1:
        raise ConfigurationError(
            f"{MAX_TURNS if chosen is None else 'max_turns'} must be 1 or more, not {value}"
        )
    return int(value)


@contextmanager
def _prepared(document: Mapping[str, Any], project: Path | None) -> Iterator[tuple[Project, Path]]:
    """The project that the loop runs in, and its file."""
    with tempfile.TemporaryDirectory(prefix="podium-refine-") as made:
        folder = (project or Path(made)).resolve()
        file = Path(made).resolve() / FILE if project is None else ProjectPaths(folder).state_dir / FILE
        file.parent.mkdir(parents=True, exist_ok=True)
        # JSON is YAML, and needs no second spelling of quotes.
        file.write_text(json.dumps(document), "utf-8")
        with closing(open_project(folder, create=True)) as facade:
            yield facade, file


def local_agent() -> dict[str, Any]:
    """A local model; what the environment sets is left to the agent."""
    env = os.environ
    return {
        "type": "ollama",
        "model": env.get("OLLAMA_MODEL_NAME", "mistral:latest"),
        **({} if env.get("OLLAMA_TEMPERATURE") else {"temperature": 0.7}),
        **({} if env.get("OLLAMA_REQUEST_TIMEOUT") else {"timeout": "30s"}),
        "max_tokens": 100,
        "price": {"input": 0, "output": 0},
    }


def _approval(phrase: str | None, approve: Approve) -> dict[str, str]:
    if phrase is None and approve != "last_line":
        raise ConfigurationError('approve="anywhere" needs a phrase', hint='such as phrase="SHIP IT!"')
    return {} if phrase is None else {"phrase": phrase, "approve": approve}


def _document(  # the same choices
    agents: tuple[AgentChoice | None, AgentChoice | None],
    model: str | None,
    max_turns: int,
    approval: Mapping[str, str],
    similar: str | None,
    *,
    texts: tuple[str, str],
) -> dict[str, Any]:
    writer, reviewer = (local_agent() if agent is None else agent for agent in agents)
    system, criteria = texts
    own = {
        name: dict(agent)
        for name, agent in (("writer_agent", writer), ("judge_agent", reviewer))
        if not isinstance(agent, str)
    }
    gate = {"review": "judge", "prompt": "Please review this:\n{{ work.text | fence }}", **approval}
    chosen = {} if model is None else {"model": model}
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
                **chosen,
                "touches": [],
                "system": system,
            },
            "judge": {
                "extends": "reviewer",
                "agent": reviewer if isinstance(reviewer, str) else "judge_agent",
                **chosen,
                "system": criteria,
            },
        },
        "breaker": dict.fromkeys(("repeat", "plateau", "cycle", "visits", "reversals")),
        "steps": {
            STEP: {
                "role": "author",
                "prompt": "{{ inputs.task }}",
                "estimate": {"usd": 0, "tokens": 0},
                "gates": [gate],
                "retry": {key: value for key, value in retry.items() if value is not None},
            }
        },
    }


def _result(task: str, max_turns: int, facade: Project, run: RunId, is_interrupted: bool) -> Refinement:
    view, events = facade.queries.show(run), events_of(facade.queries.events(run))
    turns = _turns(events)
    reason: Reason = "error"
    if is_interrupted or view.status == "cancelled":
        reason = "cancelled"
    elif view.status == "passed":
        reason = "approved" if turns and turns[-1].approved else "max_turns"
    result = next((step.result for step in view.steps if step.path == STEP and step.ended), {})
    succeeded = reason in ("approved", "max_turns")
    final = str(result.get("text", "")).strip() if succeeded else None
    message = "" if succeeded else str(result.get("message") or view.message or "")
    model = next((turn.writer_model for turn in reversed(turns)), str(result.get("model") or ""))
    times = (events[0].at, events[-1].at)
    return Refinement(task, max_turns, turns, final, reason, *times, view.run, message, model)


class _Draft(NamedTuple):
    text: str
    seconds: float
    model: str


def _turns(events: Iterable[Event]) -> tuple[Turn, ...]:
    """A turn is an attempt of the writer with the reviewer's verdict on it."""
    starts: dict[tuple[str, int], int] = {}
    drafts: dict[int, _Draft] = {}
    turns: list[Turn] = []
    for event in events:
        if isinstance(event, AttemptStarted):
            starts[event.path, event.attempt] = event.at
        if not isinstance(event, AttemptEnded):
            continue
        judged = re.match(rf"{STEP}#(\d+)/", event.path)
        took = (event.at - starts.get((event.path, event.attempt), event.at)) / 1000
        result = event.result or {}
        model = str(result.get("model") or "")
        if judged is None and event.kind == "ok":
            drafts[event.attempt] = _Draft(str(result.get("text", "")).strip(), took, model)
        elif judged is not None and event.verdict is not None:
            number, approved = int(judged[1]), event.verdict.decision == "approve"
            draft = drafts.get(number, _Draft("", 0.0, ""))
            review = None if approved else str(result.get("summary") or result.get("text") or "")
            facts = (draft.seconds, took, draft.model, model)
            turns.append(Turn(number, draft.text, review, approved, event.at, *facts))
    return tuple(turns)

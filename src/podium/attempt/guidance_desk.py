"""Passes guidance from people to the agents of a run that are working, and reports who has got it.

The engine offers every open text to every working agent; here each agent gets a text at most once per process. What an agent
did not get is open for the next attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from podium.core.events import AttemptGuided, AttemptStarted
from podium.core.types import Address, Millis
from podium.fast_dataclass import dataclass


@dataclass(slots=True)
class WorkingAgent:
    """One attempt whose agent is known and about to work."""

    started: AttemptStarted
    send: Callable[[str], str]
    """Passes a text to its program; returns why that is not possible, else an empty text."""
    offered: dict[str, str] = field(default_factory=dict)
    """Who gave each text that was offered."""


def not_heard() -> None:
    """For attempts that no engine drives."""


def not_reported(event: AttemptGuided) -> None:
    """For attempts that no engine drives."""


class GuidanceDesk:
    def __init__(self) -> None:
        self._working: dict[Address, WorkingAgent] = {}
        self.on_work: Callable[[], None] = not_heard
        """Called when an agent begins to work: there may be guidance that came after its attempt started."""
        self.report: Callable[[AttemptGuided], None] = not_reported

    @contextmanager
    def working(self, started: AttemptStarted, send: Callable[[str], str]) -> Iterator[WorkingAgent]:
        """Let the agent get guidance while inside."""
        agent = self._working[started.path] = WorkingAgent(started, send)
        self.on_work()
        try:
            yield agent
        finally:
            del self._working[started.path]

    def offer(self, path: Address, text: str, by: str) -> None:
        """Pass a text to the agent that works at this path, unless it was offered before or does not work yet."""
        agent = self._working.get(path)
        if agent is None or text in agent.offered:
            return
        agent.offered[text] = by
        refused = agent.send(text)
        if refused:
            self.report(_guided(agent, text, refused))

    def confirm(self, agent: WorkingAgent, text: str) -> None:
        """Report that the agent's model has got a text."""
        self.report(_guided(agent, text))


def _guided(agent: WorkingAgent, text: str, refused: str = "") -> AttemptGuided:
    started = agent.started
    return AttemptGuided(Millis(0), started.path, started.attempt, text, agent.offered[text], refused)

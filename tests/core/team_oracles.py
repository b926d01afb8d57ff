"""Random teams, and what must hold for every log of one; the oracles read the log and never the core's own code."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from podium.core.events import (
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    Event,
    RunEnded,
    StepEnded,
    StepEntered,
)
from podium.core.messages import Approve
from podium.core.model import Agent, Step, TeamMember, Workflow
from podium.core.payloads import Ask, Note
from podium.core.policy import Limits, Retry
from podium.core.state import State
from podium.core.step_settings import Prompt
from podium.core.types import Address, Tree
from podium.simulate.random_world import NO_FAILURES, Odds
from podium.simulate.world import DelayedReport
from tests.core.kit import agent, command, flow, gates, human
from tests.core.worlds import Wild

NAMES = ("qa", "architect", "owner", "ops", "docs")
LEADER = "engineer"


def random_team(seed: int, *, members: int | None = None, messages: int | None = None) -> Workflow:
    """A step with a team of one to five members, with people among them, and a step after it."""
    draw = random.Random(seed)
    names = NAMES[: members or draw.randint(1, len(NAMES))]
    team = tuple(_member(draw, name, names) for name in names)
    leader = agent(
        "deliver",
        verb=Agent(role=LEADER, prompt=Prompt("Do it"), team=team),
        gates=gates((command("tests"),)) if draw.random() < 0.6 else None,
        retry=Retry(attempts=draw.randint(1, 3)),
        limits=Limits(messages=draw.randint(1, 12) if messages is None else messages),
    )
    return flow(leader, agent("after"), limits=Limits(transitions=200))


def _member(draw: random.Random, name: str, names: Sequence[str]) -> TeamMember:
    others = [other for other in names if other != name]
    asks = tuple(other for other in others if draw.random() < 0.6)
    if name == "owner":
        return TeamMember(human(name, answers=True), (), draw.random() < 0.2)
    touches = ("tests/**",) if draw.random() < 0.5 else ()
    step = agent(name, touches=touches, verb=Agent(role=name, prompt=Prompt("Answer")))
    return TeamMember(step, asks, draw.random() < 0.3)


class Talkative(Wild):
    """Workers that ask, now and then somebody who does not exist, waits for them or is themselves, and leave notes."""

    def asks(self, started: AttemptStarted, state: State) -> tuple[Ask, ...]:
        asks = super().asks(started, state)
        place = f"{started.path}#{started.attempt}"
        if asks and self._happens(place, "wrong", 0.3):
            wrong = ("nobody", LEADER, NAMES[int(self._draw(place, "name") * len(NAMES))])
            return (Ask(wrong[int(self._draw(place, "which") * len(wrong))], "who are you?"), *asks)
        return asks

    def attempt(self, started: AttemptStarted, state: State) -> DelayedReport:
        later = super().attempt(started, state)
        message = later.message
        if not isinstance(message, AttemptEnded):
            return later
        place = f"{started.path}#{started.attempt}"
        if self._happens(place, "note", 0.3):
            to = "" if self._happens(place, "all", 0.5) else NAMES[int(self._draw(place, "to") * len(NAMES))]
            message = replace(message, notes=(Note(f"note of {place}", to),))
        return DelayedReport(later.after, message)

    def person(self, asked: object, state: State, number: int) -> DelayedReport | None:
        later = super().person(asked, state, number)  # type: ignore[arg-type]  # the parent's type
        if later is None or not isinstance(later.message, Approve):
            return later
        message = later.message
        return DelayedReport(later.after, replace(message, answer=message.answer or f"answer {message.path}"))


def talkative(seed: int, *, ask: float = 0.6, quiet: bool = False) -> Talkative:
    odds = replace(NO_FAILURES if quiet else Odds(), ask=ask)
    return Talkative(seed, odds)


@dataclass
class _Asker:
    """One worker, as its part of the log tells."""

    role: str = "step"
    parent: Address = Address("")
    name: str = ""
    start: Tree | None = None
    tree: Tree | None = None
    """The newest tree of its work."""
    before: Tree | None = None
    """The tree that its last attempt ended with, before any member changed it."""
    question: str | None = None
    """What a member was asked; None if the engine asked it about finished work."""
    asks: tuple[Ask, ...] = ()
    attempt: int = 0
    kind: str = ""
    live: int = 0
    children: dict[Address, StepEnded | None] = field(default_factory=dict)
    gated: int = 0
    replied: bool = True
    ended: bool = False


def check_teams(workflow: Workflow, log: Sequence[Event]) -> None:
    """Each ask has exactly one reply before the asker goes on; nobody is in a chain twice; nothing is lost or doubled."""
    _Teams(workflow).check(log)


class _Teams:
    def __init__(self, workflow: Workflow) -> None:
        self.leader: Step = workflow.body.steps[0]
        verb = self.leader.verb
        assert isinstance(verb, Agent)
        self.team = {member.name: member for member in verb.team}
        self.workers: dict[Address, _Asker] = defaultdict(_Asker)
        self.messages = 0
        self.known: dict[tuple[str, str, Tree | None], Address] = {}
        self.notes: list[tuple[str, str]] = []
        self.read: set[tuple[int, Address]] = set()
        self.addressed: set[int] = set()

    def check(self, log: Sequence[Event]) -> None:
        assert isinstance(log[-1], RunEnded), "the run has not ended"
        for event in log:
            match event:
                case StepEntered():
                    self._entered(event)
                case AttemptStarted():
                    self._started(event)
                case AttemptEnded():
                    self._attempt_ended(event)
                case AttemptQueued(why="answered"):
                    self._answered(event)
                case StepEnded():
                    self._ended(event)
                case _:
                    pass
        limit = self.leader.limits.messages
        most = 3  # The last attempt may have asked several at once.
        assert limit is None or self.messages <= limit + most, "more messages than the limit"

    def _entered(self, event: StepEntered) -> None:
        worker = self.workers[event.path]
        worker.role, worker.parent = event.role, event.parent
        worker.start = worker.tree = event.start
        parent = self.workers[event.parent]
        if event.role == "gates":
            assert parent.kind != "asked", f"{event.path}: an attempt that asked was judged"
            parent.gated += 1
        if event.role != "member":
            worker.name = LEADER if event.path == "deliver" else ""
            return
        worker.name = list(self.team)[event.index]
        chain = self._chain(event.parent)
        assert worker.name not in chain, f"{event.path}: {worker.name} waits for itself"
        assert parent.live == 0, f"{event.path}: two members of one chain at a time"
        assert event.start == event.base == parent.tree, f"{event.path} does not start from the asker's work"
        if event.target < 0:
            self.messages += 1
            assert self.team[worker.name].when_done
        else:
            ask = parent.asks[event.target]
            assert ask.to == worker.name
            assert ask.to in self._allowed(event.parent), f"{event.path}: {ask.to} may not be asked"
            worker.question = ask.question
            key = (ask.to, ask.question, event.start)
            assert key not in self.known, f"{event.path} answers what is known"
        limit = self.leader.limits.messages
        assert limit is None or self.messages <= limit, f"{event.path}: run beyond the limit on messages"
        parent.live += 1
        parent.children[event.path] = None

    def _chain(self, path: Address) -> list[str]:
        names = []
        while path:
            worker = self.workers[path]
            names.append(worker.name)
            path = worker.parent if worker.role == "member" else Address("")
        return names

    def _allowed(self, path: Address) -> tuple[str, ...]:
        worker = self.workers[path]
        return tuple(self.team) if worker.role != "member" else self.team[worker.name].asks

    def _started(self, event: AttemptStarted) -> None:
        worker = self.workers[event.path]
        assert worker.replied, f"{event.path} goes on without its replies"
        if worker.kind in ("asked", "answered"):
            assert event.start == worker.tree, f"{event.path} does not go on from its own work"
        own = self._mailbox(event.path)
        for number in event.notes:
            to, by = self.notes[number]
            assert to in ("", own), f"{event.path} gets a note for {to}"
            assert by != event.path
            assert (number, event.path) not in self.read, f"{event.path} gets a note twice"
            assert not (to and number in self.addressed), f"note {number} for {to} is delivered twice"
            self.read.add((number, event.path))
            if to:
                self.addressed.add(number)
        due = [
            n
            for n, (to, by) in enumerate(self.notes)
            if to == own and own and n not in self.addressed and by != event.path
        ]
        assert not due, f"{event.path} lacks the notes {due}"
        worker.attempt = event.attempt
        worker.kind = "working"

    def _mailbox(self, path: Address) -> str:
        worker = self.workers[path]
        if worker.role == "member":
            return f"deliver/{worker.name}"
        return str(path) if path in ("deliver", "after") else ""

    def _attempt_ended(self, event: AttemptEnded) -> None:
        worker = self.workers[event.path]
        assert worker.kind == "working" and worker.attempt == event.attempt, f"{event.path}: late report"
        worker.kind, worker.asks = event.kind, event.asks
        worker.replied = not event.asks
        worker.tree = worker.before = event.tree or worker.tree
        self.messages += len(event.asks)
        worker.children = {}
        for note in event.notes:
            to = note.to
            if to and worker.role == "step" and event.path != "deliver":
                to = f"{event.path}/{to}"
            elif to:
                to = "deliver" if to == LEADER else f"deliver/{to}"
            self.notes.append((to, event.path))

    def _answered(self, event: AttemptQueued) -> None:
        worker = self.workers[event.path]
        asks = worker.asks or tuple(Ask(reply.to, "") for reply in event.replies)
        assert len(event.replies) == len(asks), f"{event.path}: a reply is missing or doubled"
        used: list[Address] = []
        for ask, reply in zip(asks, event.replies, strict=True):
            assert reply.to == ask.to
            refuse = bool(worker.asks) and (
                ask.to not in self._allowed(event.path) or ask.to in self._chain(event.path)
            )
            assert bool(reply.refused) == refuse, f"{event.path}: {ask} got {reply}"
            if reply.refused:
                continue
            assert reply.path in self.workers and self.workers[reply.path].ended
            if reply.is_known:
                assert self.workers[reply.path].name == ask.to
                key = (ask.to, ask.question, self._tree_at(worker, used))
                assert self.known.get(key) == reply.path, f"{event.path}: {ask} is not known for these files"
            else:
                assert reply.path in worker.children, f"{event.path}: the reply is that of another ask"
                assert reply.path not in used, f"{event.path}: one answer for two asks"
                used.append(reply.path)
        assert set(used) == set(worker.children), f"{event.path}: an answer is lost"
        worker.replied, worker.kind = True, "answered"

    def _tree_at(self, worker: _Asker, used: Sequence[Address]) -> Tree | None:
        tree = worker.before
        for path in used:
            ending = worker.children[path]
            assert ending is not None
            tree = ending.tree or tree
        return tree

    def _ended(self, event: StepEnded) -> None:
        worker = self.workers[event.path]
        assert not worker.ended and worker.live == 0
        worker.ended = True
        if event.outcome == "passed" and event.path == "deliver":
            assert worker.kind != "asked", "an ask was judged as a result"
            if self.leader.gates is not None:
                assert worker.gated, "passed without its gates"
        if worker.role != "member":
            return
        parent = self.workers[worker.parent]
        parent.live -= 1
        parent.children[event.path] = event
        if event.outcome == "passed" and worker.question is not None:
            self.known[worker.name, worker.question, worker.start] = event.path
        if event.tree is not None:
            parent.tree = event.tree

"""An index of a log: for each address its static step, parent, entry, attempts and end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from podium.core.events import (
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    Event,
    RunEnded,
    StepEnded,
    StepEntered,
    StepExpanded,
)
from podium.core.model import Block, Call, ForEach, Gates, Members, Repeat, Review, Step, Workflow
from podium.core.types import CONTINUING_OUTCOMES, Address


@dataclass
class InstanceLog:
    """The events of one instance."""

    path: Address
    parent: Address | None
    step: Step | None
    """None for the engine's own questions."""
    entered: StepEntered | None
    expanded: StepExpanded | None = None
    started: list[AttemptStarted] = field(default_factory=list)
    answers: list[AttemptEnded] = field(default_factory=list)
    queued: list[AttemptQueued] = field(default_factory=list)
    ended: StepEnded | None = None
    children: list[Address] = field(default_factory=list)
    """Ordinary children, in the order they were entered."""
    asides: list[Address] = field(default_factory=list)

    @property
    def index(self) -> int:
        return -1 if self.entered is None else self.entered.index


class RunLog:
    """A log, indexed by instance."""

    def __init__(self, workflow: Workflow, log: Sequence[Event]) -> None:
        self.log = log
        self.instances: dict[Address, InstanceLog] = {
            Address(""): InstanceLog(Address(""), None, Step("", Call(workflow)), None)
        }
        self.end: RunEnded | None = None
        for event in log:
            self._index(event)

    def _index(self, event: Event) -> None:
        match event:
            case StepEntered():
                parent = self.instances[event.parent]
                self.instances[event.path] = InstanceLog(
                    event.path, event.parent, static_child(parent.step, event), event
                )
                (parent.children if event.role == "step" else parent.asides).append(event.path)
            case StepExpanded():
                self.instances[event.path].expanded = event
            case AttemptStarted():
                self.instances[event.path].started.append(event)
            case AttemptEnded():
                self.instances[event.path].answers.append(event)
            case AttemptQueued():
                self.instances[event.path].queued.append(event)
            case StepEnded():
                self.instances[event.path].ended = event
            case RunEnded():
                self.end = event
            case _:
                pass

    def __iter__(self) -> Iterator[InstanceLog]:
        return iter(self.instances.values())

    def newest(self, instance: InstanceLog) -> list[InstanceLog]:
        """The last visit of each ordinary child, in the order of the children."""
        latest: dict[int, InstanceLog] = {}
        for path in instance.children:
            latest[self.instances[path].index] = self.instances[path]
        return [latest[index] for index in sorted(latest)]

    def around(self, path: Address) -> Iterator[InstanceLog]:
        """The instance and all enclosing ones, up to the root."""
        instance: InstanceLog | None = self.instances[path]
        while instance is not None:
            yield instance
            instance = None if instance.parent is None else self.instances[instance.parent]

    def is_shielded(self, path: Address) -> bool:
        return any(
            instance.entered is not None and instance.entered.role == "finally"
            for instance in self.around(path)
        )


def static_child(step: Step | None, event: StepEntered) -> Step | None:
    """The step that an entry is about, found without the core's own code."""
    match event.role:
        case "question" | "advice":
            return None
        case "gates":
            assert step is not None
            return step.gates
        case "member":
            # Members of a team are tested by their own oracles (tests/core/team_oracles.py).
            return None
        case "finally":
            assert step is not None and isinstance(step.verb, Call)
            return step.verb.workflow.finally_
        case "step":
            assert step is not None
            return _ordinary(step, event.index)


def _ordinary(step: Step, index: int) -> Step:
    match step.verb:
        case Call(workflow=workflow):
            return workflow.body.steps[index]
        case Block(steps=steps):
            return steps[index]
        case Members(members=members) | Review(members=members) | Gates(members=members):
            # The members of a panel differ only in their agent and name.
            return members[0] if getattr(step.verb, "panel", None) else members[index]
        case ForEach(body=body) | Repeat(body=body):
            return body
        case verb:
            raise AssertionError(f"{verb} has no children")


def body_of(step: Step | None) -> Block | None:
    """The block of a Block or Call; None for any other step."""
    match None if step is None else step.verb:
        case Call(workflow=workflow):
            return workflow.body
        case Block() as block:
            return block
        case _:
            return None


def is_fine(step: Step, ended: StepEnded) -> bool:
    """Whether the block continues after this end (language.md 5)."""
    if ended.limit_hit is not None:
        return False
    target = step.on.get(ended.outcome)
    if target is None:
        return ended.outcome in CONTINUING_OUTCOMES
    return target.kind == "next" or (target.kind != "fail" and ended.outcome in CONTINUING_OUTCOMES)


def entries(log: Sequence[Event]) -> dict[Address, list[StepEntered]]:
    """The ordinary entries into each scope, in order."""
    by_scope: dict[Address, list[StepEntered]] = defaultdict(list)
    for event in log:
        if isinstance(event, StepEntered) and event.role == "step":
            by_scope[event.parent].append(event)
    return by_scope

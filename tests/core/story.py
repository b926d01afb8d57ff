"""What a log tells, put in order: per path its static step, its parent, its entries, attempts and end."""

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
from podium.core.types import CONTINUING_OUTCOMES, Path


@dataclass
class Tale:
    """One instance, as the log tells it."""

    path: Path
    parent: Path | None
    step: Step | None
    """None for the engine's own questions."""
    entered: StepEntered | None
    expanded: StepExpanded | None = None
    started: list[AttemptStarted] = field(default_factory=list)
    answers: list[AttemptEnded] = field(default_factory=list)
    queued: list[AttemptQueued] = field(default_factory=list)
    ended: StepEnded | None = None
    children: list[Path] = field(default_factory=list)
    """Ordinary children, in the order they were entered."""
    asides: list[Path] = field(default_factory=list)

    @property
    def index(self) -> int:
        return -1 if self.entered is None else self.entered.index


class Story:
    """A log, read once."""

    def __init__(self, workflow: Workflow, log: Sequence[Event]) -> None:
        self.log = log
        self.tales: dict[Path, Tale] = {Path(""): Tale(Path(""), None, Step("", Call(workflow)), None)}
        self.end: RunEnded | None = None
        for event in log:
            self._hear(event)

    def _hear(self, event: Event) -> None:
        match event:
            case StepEntered():
                parent = self.tales[event.parent]
                self.tales[event.path] = Tale(
                    event.path, event.parent, static_child(parent.step, event), event
                )
                (parent.children if event.role == "step" else parent.asides).append(event.path)
            case StepExpanded():
                self.tales[event.path].expanded = event
            case AttemptStarted():
                self.tales[event.path].started.append(event)
            case AttemptEnded():
                self.tales[event.path].answers.append(event)
            case AttemptQueued():
                self.tales[event.path].queued.append(event)
            case StepEnded():
                self.tales[event.path].ended = event
            case RunEnded():
                self.end = event
            case _:
                pass

    def __iter__(self) -> Iterator[Tale]:
        return iter(self.tales.values())

    def newest(self, tale: Tale) -> list[Tale]:
        """The last visit of each ordinary child, in the order of the children."""
        latest: dict[int, Tale] = {}
        for path in tale.children:
            latest[self.tales[path].index] = self.tales[path]
        return [latest[index] for index in sorted(latest)]

    def around(self, path: Path) -> Iterator[Tale]:
        """The instance and everything around it, up to the root."""
        tale: Tale | None = self.tales[path]
        while tale is not None:
            yield tale
            tale = None if tale.parent is None else self.tales[tale.parent]

    def is_shielded(self, path: Path) -> bool:
        return any(tale.entered is not None and tale.entered.role == "finally" for tale in self.around(path))


def static_child(step: Step | None, event: StepEntered) -> Step | None:
    """The step of the file that an entry is about, found without the core's own help."""
    match event.role:
        case "question" | "advice":
            return None
        case "gates":
            assert step is not None
            return step.gates
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
            return members[index]
        case ForEach(body=body) | Repeat(body=body):
            return body
        case verb:
            raise AssertionError(f"{verb} has no children")


def body_of(step: Step | None) -> Block | None:
    """The block of a scope, if it is one of blocks."""
    match None if step is None else step.verb:
        case Call(workflow=workflow):
            return workflow.body
        case Block() as block:
            return block
        case _:
            return None


def is_fine(step: Step, ended: StepEnded) -> bool:
    """Whether this end lets the block go on (language.md 5)."""
    if ended.hard is not None:
        return False
    target = step.on.get(ended.outcome)
    if target is None:
        return ended.outcome in CONTINUING_OUTCOMES
    return target.kind == "next" or (target.kind != "fail" and ended.outcome in CONTINUING_OUTCOMES)


def entries(log: Sequence[Event]) -> dict[Path, list[StepEntered]]:
    """The ordinary entries into each scope, in order."""
    found: dict[Path, list[StepEntered]] = defaultdict(list)
    for event in log:
        if isinstance(event, StepEntered) and event.role == "step":
            found[event.parent].append(event)
    return found

"""The state of a run: a growing set of instances addressed by path, and what is still asked of the world.

An instance is a Place, which never changes, and what became of it: a Leaf or a Scope. Events double as facts
(`answer`, `ending`), so that nothing is stored twice. Everything that grows with the run is a map keyed by path
or by (scope, index); nothing here is ever scanned.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias

from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    Effect,
    EffectKey,
    RunAttempt,
    StartTimer,
    Watch,
    key_of,
)
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptEnded,
    Event,
    FactsFound,
    Role,
    RunEnded,
    RunStarted,
    StepEnded,
)
from podium.core.fast_dataclass import dataclass, quick
from podium.core.model import Step
from podium.core.payloads import Amounts, RefusedMember
from podium.core.persistent_map import MapDraft, PersistentMap
from podium.core.policy import Limits
from podium.core.types import MicroUsd, Millis, Path, Tree

Merge: TypeAlias = Literal["queued", "joined"] | RefusedMember | None
"""How far a member's tree is on its way onto the head of its scope."""

Phase: TypeAlias = Literal["ready", "open", "working", "answered", "paused", "waiting", "ended"]


Order: TypeAlias = Literal["seq", "dag", "many", "repeat"]
"""In which order a scope enters its children: one after the other, by needs, as many as may be, in rounds."""

Claim: TypeAlias = tuple[str, ...] | Literal["all"]
"""The globs an attempt in flight may change."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an instance lives and what it was given on entry."""

    path: Path
    parent: Path
    step: Step
    role: Role
    slot: int
    """Which child of its parent it is."""
    visit: int
    frame: Path
    """The scope whose variables it reads and sets."""
    ledger: Path
    """The nearest scope with limits."""
    fanned: bool
    """Inside an iteration of `for_each`: forward moves there are bounded by the width, not by `transitions`."""
    shield: bool
    """Inside `finally`: not stopped by a cancel."""
    base: Tree | None
    start: Tree | None
    entered: Millis
    about: str
    target: int
    adopt: Path | None
    order: Order


class JoinRefusal(NamedTuple):
    """Why the work of an attempt did not go together with the work of others; kept for the attempts that follow."""

    attempt: int
    refused: RefusedMember


class BestAttempt(NamedTuple):
    """The best attempt so far among those that met the contract and passed every command and check."""

    attempt: int
    score: float
    answer: AttemptEnded


class UncountedTries(NamedTuple):
    """Tries that do not count as attempts, each with a bound of its own."""

    transient: int = 0
    repair: int = 0
    quota: int = 0
    timeouts: int = 0
    granted: int = 0
    fallback: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Leaf:
    place: Placement
    phase: Phase = "ready"
    cancelling: bool = False
    attempt: int = 0
    """Identity of the effect; grows at every start."""
    tries: int = 0
    """What the limit counts."""
    soft: UncountedTries = UncountedTries()
    ticket: int = -1
    """Its place in the queue for a slot; -1 when it is not in it."""
    due: Millis | None = None
    answer: AttemptEnded | None = None
    doubted: bool = False
    asked: ApprovalAsked | None = None
    given: tuple[ApprovalGiven, ...] = ()
    silent: bool = False
    """A person's time, or the time of a `wait`, ran out."""
    feedback: tuple[Path, ...] = ()
    """The newest last."""
    aside: Path | None = None
    """The live child outside the ordinary ones: gates, a question."""
    told: Path | None = None
    """The question or advice that was answered last, until it has been acted upon."""
    base: Tree | None = None
    usd: MicroUsd = MicroUsd(0)
    best: BestAttempt | None = None
    merge: Merge = None
    clash: JoinRefusal | None = None
    """The last refusal of its work, until work of it has been joined."""
    facts: tuple[FactsFound, ...] = ()
    ending: StepEnded | None = None

    if TYPE_CHECKING:

        def _replace(self, **changes: Any) -> Self: ...


@quick
@dataclass(frozen=True, slots=True)
class Scope:
    place: Placement
    phase: Phase = "ready"
    cancelling: bool = False
    tries: int = 0
    total: int = 0
    next: int = 0
    """High-water mark of entered children."""
    live: int = 0
    ok: int = 0
    bad: int = 0
    skipped: int = 0
    aside: Path | None = None
    told: Path | None = None
    last: Path | None = None
    """The ordinary child that ended last."""
    routes: tuple[Path, ...] = ()
    """Graph: children that ended with an outcome that leads back to an ancestor."""
    jump: int = -1
    carry: tuple[Path, ...] = ()
    """Feedback on its way to the next worker that is entered."""
    feedback: tuple[Path, ...] = ()
    ready: tuple[int, ...] = ()
    """Graph: released, not yet entered."""
    trail: tuple[int, ...] = ()
    """The children entered last, for the breaker."""
    head: Tree | None = None
    fork: Tree | None = None
    """Where the head stood when the scope was opened: what parallel children start from."""
    items: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    dependents: tuple[tuple[int, ...], ...] = ()
    """Graph of items: per item, those that need it directly."""
    leaving: bool = False
    expired: bool = False
    closing: bool = False
    """`finally` has been entered."""
    hard: Path | None = None
    asked: int = 0
    """Questions asked here, so that each has an address of its own."""
    joined: int = 0
    """Tickets of the queue for joins: the next to be merged, and the next to be given out."""
    joins: int = 0
    merged: tuple[Path, ...] = ()
    """The members of the join that ended last."""
    merge: Merge = None
    sinks: Merge = None
    """Graph: whether the work of its branches has been merged at its end."""
    clash: JoinRefusal | None = None
    """The last refusal of its work or of its branches, until work of it has been joined."""
    base: Tree | None = None
    usd: MicroUsd = MicroUsd(0)
    facts: tuple[FactsFound, ...] = ()
    ending: StepEnded | None = None

    if TYPE_CHECKING:

        def _replace(self, **changes: Any) -> Self: ...


Instance: TypeAlias = Leaf | Scope


def number_of(instance: Instance) -> int:
    """Which attempt it is at: gates, questions and feedback are addressed by this number."""
    return instance.attempt if isinstance(instance, Leaf) else instance.tries + 1


class Visit(NamedTuple):
    """The newest visit of one child of a scope. Only a fresh result may be read."""

    number: int
    path: Path
    fresh: bool


class OpenNeeds(NamedTuple):
    left: int
    bad: bool


@quick
@dataclass(frozen=True, slots=True)
class Ledger:
    """What a scope with limits has used, holds for attempts in flight, and cannot know."""

    path: Path
    parent: Path | None
    limits: Limits
    spent: Amounts = Amounts()
    held: Amounts = Amounts()
    unknown: Amounts = Amounts()
    """Reservations of attempts that ended without a price or died with their owner; never released."""
    transitions: int = 0
    window: int = 0
    worked: Millis = Millis(0)
    busy: int = 0
    since: Millis = Millis(0)
    cleans: bool = False
    """That of `finally`: what it uses is booked around it as well, but time and transitions are its own."""

    if TYPE_CHECKING:

        def _replace(self, **changes: Any) -> Self: ...


@dataclass(frozen=True, slots=True)
class State:
    root: Step
    started: RunStarted | None = None
    at: Millis = Millis(0)
    instances: PersistentMap[Path, Instance] = PersistentMap()
    latest: PersistentMap[tuple[Path, int], Visit] = PersistentMap()
    unmet: PersistentMap[tuple[Path, int], OpenNeeds] = PersistentMap()
    pending: PersistentMap[EffectKey, Effect] = PersistentMap()
    queue: PersistentMap[int, Path] = PersistentMap()
    head: int = 0
    tail: int = 0
    busy: int = 0
    claims: PersistentMap[Path, Claim] = PersistentMap()
    joins: PersistentMap[tuple[Path, int], Path] = PersistentMap()
    vars: PersistentMap[tuple[Path, str], tuple[Any]] = PersistentMap()
    """Values are boxed, since null is a value."""
    ledgers: PersistentMap[Path, Ledger] = PersistentMap()
    failures: tuple[Millis, ...] = ()
    guidance: tuple[str, ...] = ()
    usd: MicroUsd = MicroUsd(0)
    taken: PersistentMap[Path, int] = PersistentMap()
    """How many attempts at a path are taken over from an earlier run."""
    known: PersistentMap[Path, int] = PersistentMap()
    """Up to which attempt the earlier run may have an answer, should the same be asked."""
    cancelling: bool = False
    forced: bool = False
    paused: bool = False
    limited: bool = False
    halt: StepEnded | None = None
    """Where somebody who was asked by the breaker has ended the run, and how."""
    excused: tuple[str, ...] = ()
    """Rules of the breaker about the whole run that have been asked about, each once; and prices somebody goes without."""
    unpriced: tuple[str, ...] = ()
    """Agents that have answered without a price."""
    ended: RunEnded | None = None

    def __repr__(self) -> str:
        """Short: asyncio writes the result of a task out when it is done with it, and a state has thousands of parts."""
        return f"State(at={self.at}, instances={len(self.instances)}, ended={self.ended!r})"

    def _replace(self, **changes: Any) -> State:
        """The state with these fields changed; a draft changes in place, and only evolve may do that."""
        return replace(self, **changes)


def _change(draft: Any, **changes: Any) -> Any:
    for name, value in changes.items():
        setattr(draft, name, value)
    return draft


_Opened: Any = dataclass(slots=True)(
    type("State", (), {"__annotations__": State.__annotations__, "_replace": _change})
)
"""What a draft is: the same fields, which can be assigned to."""

_values: Final = attrgetter(*State.__annotations__)


def draft(state: State) -> State:
    """The same state, to be changed in place; for one owner, until `freeze`."""
    made = _Opened(*_values(state))
    made.instances = MapDraft(state.instances)
    made.latest = MapDraft(state.latest)
    made.unmet = MapDraft(state.unmet)
    made.pending = MapDraft(state.pending)
    made.queue = MapDraft(state.queue)
    made.claims = MapDraft(state.claims)
    made.joins = MapDraft(state.joins)
    made.vars = MapDraft(state.vars)
    made.ledgers = MapDraft(state.ledgers)
    return made  # type: ignore[no-any-return]  # all that reads a state may read its draft


def freeze(draft: State) -> State:
    """The draft itself, which nobody can change from now on."""
    made: Any = draft
    made.instances = draft.instances.freeze()
    made.latest = draft.latest.freeze()
    made.unmet = draft.unmet.freeze()
    made.pending = draft.pending.freeze()
    made.queue = draft.queue.freeze()
    made.claims = draft.claims.freeze()
    made.joins = draft.joins.freeze()
    made.vars = draft.vars.freeze()
    made.ledgers = draft.ledgers.freeze()
    made.__class__ = State
    return draft


def effects_of(event: Event, state: State) -> Effect | None:
    """The effect that this event asked for, if it is still wanted."""
    key = key_of(event)
    return None if key is None else state.pending.get(key)


def is_parkable(state: State) -> bool:
    """True when no process is needed until a message arrives or the next timer is due."""
    for _, effect in state.pending.items():  # noqa: PERF102 (asked after every turn; `values` goes over `items` again)
        if isinstance(effect, CancelAttempt) or (isinstance(effect, RunAttempt) and not effect.by_hand):
            return False
    return True


def next_due(state: State, *, after: int = 0) -> Millis | None:
    """When the earliest timer of the run is due that was not due at that moment."""
    dues: list[Millis] = []
    for effect in state.pending.values():
        match effect:
            case StartTimer(due=due):
                dues.append(due)
            case Watch(asked=waited) if waited.due is not None:
                dues.append(waited.due)
            case AskPerson(asked=asked):
                dues.extend(d for d in (asked.expires, asked.remind, asked.escalate) if d is not None)
            case _:
                pass
    return min((due for due in dues if due > after), default=None)

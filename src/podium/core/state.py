"""The state of a run: its instances by address, and the effects that have no outcome yet.

An instance is a Leaf or a Scope; its Placement never changes. Instances keep events themselves (`answer`, `ending`),
so that nothing is stored twice. Everything that grows with the run is a map keyed by address or by (scope, index),
so that no step needs a scan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias

from podium.core.effects import (
    Effect,
    EffectKey,
)
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptEnded,
    FactsFound,
    RunEnded,
    RunStarted,
    StepEnded,
)
from podium.core.model import Step
from podium.core.payloads import (
    Amounts,
    Exchange,
    LeftNote,
    Rebase,
    RefusedMember,
    RunMemory,
    StepFailure,
    ToolCall,
)
from podium.core.persistent_map import MapDraft, PersistentMap
from podium.core.policy import Limits
from podium.core.types import Address, MicroUsd, Millis, Role, Tree
from podium.fast_dataclass import dataclass, quick

JoinStatus: TypeAlias = Literal["queued", "joined"] | RefusedMember | None
"""The progress of merging a member's tree onto the head of its scope."""

Phase: TypeAlias = Literal["ready", "open", "working", "answered", "paused", "waiting", "ended"]

Order: TypeAlias = Literal["seq", "dag", "many", "repeat"]
"""How a scope enters its children: one after another, by needs, in parallel, or in rounds."""


@dataclass(frozen=True, slots=True)
class Placement:
    """An instance's position in the run and the values fixed when it was entered."""

    path: Address
    parent: Address
    step: Step
    role: Role
    index: int
    """Its index among the children of its parent."""
    visit: int
    frame: Address
    """The scope whose variables it reads and writes."""
    ledger: Address
    """The nearest scope with limits."""
    in_for_each: bool
    """Inside a `for_each` iteration, where the number of items bounds forward moves and `transitions` does not."""
    in_finally: bool
    """Inside `finally`, which a plain cancel does not stop."""
    base: Tree | None
    start: Tree | None
    entered: Millis
    topic: str
    target: int
    adopt: Address | None
    order: Order
    claim: tuple[str, ...] = ()
    """Globs of the files that no parallel sibling may change until it has ended."""
    proceed: int = -1  # The sibling that follows an adopted result, whatever its route.
    after: tuple[int, ...] = ()
    """Graph: siblings whose work it builds on because they changed files of its claim."""
    keeps_head: bool = False


class JoinRefusal(NamedTuple):
    """Why an attempt's work could not be merged with that of others; later attempts are told about it."""

    attempt: int
    refused: RefusedMember


class BestAttempt(NamedTuple):
    """The best attempt so far that met the contract and passed all command and check gates."""

    attempt: int
    score: float
    answer: AttemptEnded


class UncountedTries(NamedTuple):
    """Tries that do not count as attempts; each kind has its own bound."""

    transient: int = 0
    repair: int = 0
    quota: int = 0
    timeouts: int = 0
    granted: int = 0
    fallback: int = 0
    repeated: int = 0
    """How many malformed answers in a row were equal to the one before."""


@quick
@dataclass(frozen=True, slots=True)
class Leaf:
    place: Placement
    phase: Phase = "ready"
    cancelling: bool = False
    attempt: int = 0
    """The number of the current attempt; it increases with every start."""
    tries: int = 0
    """Finished tries that count against `retry.attempts`."""
    uncounted: UncountedTries = UncountedTries()
    ticket: int = -1
    """Its number in the queue for a slot; -1 if it is not queued."""
    due: Millis | None = None
    answer: AttemptEnded | None = None
    outcome_unknown: bool = False
    approval_request: ApprovalAsked | None = None
    approvals: tuple[ApprovalGiven, ...] = ()
    expired: bool = False
    """The time to answer, or the time of a `wait`, has run out."""
    feedback: tuple[Address, ...] = ()
    """Newest last."""
    guidance: tuple[str, ...] = ()
    """What people sent to its attempts."""
    side_child: Address | None = None
    """The live child that the engine added: gates or a question."""
    last_answer: Address | None = None
    """The question or advice answered last, until the answer has been acted on."""
    base: Tree | None = None
    usd: MicroUsd = MicroUsd(0)
    best: BestAttempt | None = None
    join_status: JoinStatus = None
    join_refusal: JoinRefusal | None = None
    """The last time a join refused its work; cleared when a join accepts it."""
    facts: tuple[FactsFound, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    """What its attempts asked the other members of the team, with what came of it."""
    member_tree: Tree | None = None
    """The tree after a member changed files of the last attempt's work."""
    notes: tuple[int, ...] = ()
    """The notes that its attempts have got."""
    calls: tuple[ToolCall, ...] = ()  # Those that its attempts may make only if a person approves.
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
    """One more than the highest index entered so far."""
    live: int = 0
    ok: int = 0
    bad: int = 0
    skipped: int = 0
    side_child: Address | None = None
    last_answer: Address | None = None
    last: Address | None = None
    """The ordinary child that ended most recently."""
    routes: tuple[Address, ...] = ()
    """Graph: children whose outcome leads back to an ancestor."""
    jump: int = -1
    outgoing_feedback: tuple[Address, ...] = ()
    """Feedback for the next agent that is entered."""
    feedback: tuple[Address, ...] = ()
    ready: tuple[int, ...] = ()
    """Children that may be entered: in a graph those whose needs have ended, in parallel those that others overtook."""
    claimants: tuple[Address, ...] = ()
    """The live children that have claimed files."""
    changed: tuple[str, ...] = ()
    """The claims of the parallel children whose work is on the head; a child with an overlapping claim starts from there."""
    recent_children: tuple[int, ...] = ()
    """The children entered most recently, for the breaker."""
    head: Tree | None = None
    start_tree: Tree | None = None
    """The head when the scope was opened; parallel children start from it."""
    items: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    dependents: tuple[tuple[int, ...], ...] = ()
    """Graph of items: for each item, the items that directly need it."""
    breaking: bool = False
    expired: bool = False
    closing: bool = False
    """`finally` has been entered."""
    limit_hit: Address | None = None
    questions_asked: int = 0
    """Questions asked here, so that each has an address of its own."""
    next_join: int = 0
    """Tickets of the queue for joins: the next to be merged, and the next to be given out."""
    next_join_ticket: int = 0
    merged: tuple[Address, ...] = ()
    """The members of the most recently ended join."""
    join_status: JoinStatus = None
    branch_join: JoinStatus = None
    """Graph: whether the work of its branches has been merged at the end."""
    join_refusal: JoinRefusal | None = None
    """The last time a join refused its work or its branches; cleared when a join accepts it."""
    base: Tree | None = None
    usd: MicroUsd = MicroUsd(0)
    facts: tuple[FactsFound, ...] = ()
    ending: StepEnded | None = None

    if TYPE_CHECKING:

        def _replace(self, **changes: Any) -> Self: ...


Instance: TypeAlias = Leaf | Scope


def number_of(instance: Instance) -> int:
    """The current attempt number, which is part of the addresses of gates, questions and feedback."""
    return instance.attempt if isinstance(instance, Leaf) else instance.tries + 1


class Visit(NamedTuple):
    """The newest visit of one child of a scope. Only a fresh visit's result may be read."""

    number: int
    path: Address
    fresh: bool


class Dispute(NamedTuple):
    """Earlier tests that a command passed without: they fail on the judged work, whose author gave reasons."""

    step: Address
    """The command without visits, rounds and attempts: its next end replaces this."""
    path: Address
    at: Millis
    rows: tuple[Mapping[str, Any], ...]
    """Each test with its id, files, problem and the author's reason."""
    diff: str


class OpenNeeds(NamedTuple):
    left: int
    bad: bool


@quick
@dataclass(frozen=True, slots=True)
class Ledger:
    """What a scope with limits has used, has reserved for attempts in flight, and has reserved with an unknown cost."""

    path: Address
    parent: Address | None
    limits: Limits
    spent: Amounts = Amounts()
    reserved: Amounts = Amounts()
    unknown: Amounts = Amounts()
    """Reservations of attempts that ended without a price or were interrupted by a crash; never released."""
    unknown_calls: int = 0
    """Calls whose cost will never be known, whether or not a reservation is booked for them."""
    transitions: int = 0
    messages: int = 0
    window: int = 0
    worked: Millis = Millis(0)
    busy: int = 0
    since: Millis = Millis(0)
    is_finally: bool = False
    """The ledger of `finally`: time and transitions count only here, everything else in the enclosing ledgers too."""

    if TYPE_CHECKING:

        def _replace(self, **changes: Any) -> Self: ...


class TakenRebase(NamedTuple):
    """Work that was moved onto a branch, and when a step started from it."""

    rebase: Rebase
    entered: Millis


@dataclass(frozen=True, slots=True)
class State:
    root: Step
    started: RunStarted | None = None
    at: Millis = Millis(0)
    instances: PersistentMap[Address, Instance] = PersistentMap()
    latest: PersistentMap[tuple[Address, int], Visit] = PersistentMap()
    unmet: PersistentMap[tuple[Address, int], OpenNeeds] = PersistentMap()
    pending: PersistentMap[EffectKey, Effect] = PersistentMap()
    queue: PersistentMap[int, Address] = PersistentMap()
    queue_head: int = 0
    queue_tail: int = 0
    busy: int = 0
    joins: PersistentMap[tuple[Address, int], Address] = PersistentMap()
    vars: PersistentMap[tuple[Address, str], tuple[Any]] = PersistentMap()
    """Each value is in a tuple of one, because None is a valid value."""
    ledgers: PersistentMap[Address, Ledger] = PersistentMap()
    failures: tuple[StepFailure, ...] = ()
    guidance: tuple[str, ...] = ()
    usd: MicroUsd = MicroUsd(0)
    reused_attempts: PersistentMap[Address, int] = PersistentMap()
    """For each address, how many attempts reuse results of an earlier run."""
    reusable_attempts: PersistentMap[Address, int] = PersistentMap()
    """For each address, up to which attempt the earlier run may have a result for an equal request."""
    cancelling: bool = False
    forced: bool = False
    paused: bool = False
    halt: StepEnded | None = None
    """The step end by which a person or the advisor halted the run when the breaker asked."""
    waived_rules: tuple[str, ...] = ()
    """Run-wide breaker rules that have been asked about (each is asked once), and agents accepted without a price."""
    unpriced: tuple[str, ...] = ()
    """Agents that have answered without reporting a price."""
    disputes: tuple[Dispute, ...] = ()
    """Disputed tests of the run, whether or not a judge has accepted them."""
    accepted_tests: frozenset[str] = frozenset()
    """The ids of disputed tests that a judge has accepted."""
    rebased: TakenRebase | None = None
    """The newest move of the work onto a branch that had moved."""
    memories: tuple[RunMemory, ...] = ()
    answers: PersistentMap[tuple[Address, str, str, Tree | None], Address] = PersistentMap()
    """Who answered what: by the leader of the team, the member, a question and the files, the member's instance."""
    notes: tuple[LeftNote, ...] = ()
    ended: RunEnded | None = None

    def __repr__(self) -> str:
        """Short, because asyncio prints the result of a task and a state has thousands of parts."""
        return f"State(at={self.at}, instances={len(self.instances)}, ended={self.ended!r})"

    def _replace(self, **changes: Any) -> State:
        """The state with these fields changed. A draft changes in place; only `evolve` may call it there."""
        return replace(self, **changes)


def _change(draft: Any, **changes: Any) -> Any:
    for name, value in changes.items():
        setattr(draft, name, value)
    return draft


_Opened: Any = dataclass(slots=True)(  # The class of a draft: the same fields, but mutable.
    type("State", (), {"__annotations__": State.__annotations__, "_replace": _change})
)

_values: Final = attrgetter(*State.__annotations__)


def draft(state: State) -> State:
    """A copy of the state that its one owner may change in place until `freeze`."""
    copy = _Opened(*_values(state))
    copy.instances = MapDraft(state.instances)
    copy.latest = MapDraft(state.latest)
    copy.unmet = MapDraft(state.unmet)
    copy.pending = MapDraft(state.pending)
    copy.queue = MapDraft(state.queue)
    copy.joins = MapDraft(state.joins)
    copy.vars = MapDraft(state.vars)
    copy.ledgers = MapDraft(state.ledgers)
    copy.answers = MapDraft(state.answers)
    return copy  # type: ignore[no-any-return]  # readers of a state can read its draft


def freeze(draft: State) -> State:
    """Turn the draft into an immutable state."""
    state: Any = draft
    state.instances = draft.instances.freeze()
    state.latest = draft.latest.freeze()
    state.unmet = draft.unmet.freeze()
    state.pending = draft.pending.freeze()
    state.queue = draft.queue.freeze()
    state.joins = draft.joins.freeze()
    state.vars = draft.vars.freeze()
    state.ledgers = draft.ledgers.freeze()
    state.answers = draft.answers.freeze()
    state.__class__ = State
    return draft

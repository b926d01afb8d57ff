"""Small records inside events: facts about the run, amounts used, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from podium.core.types import REBASE, Address, MicroUsd, Millis, Tree
from podium.fast_dataclass import dataclass

SCHEMA_VERSION: Final = 1
"""Of the events."""
Result: TypeAlias = Mapping[str, Any]
"""The fields of `steps.x` that are small enough for the log: output, text, files, exit_code, ..."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """An amount reserved or used: money, tokens, calls."""

    usd: MicroUsd = MicroUsd(0)
    tokens: int = 0
    calls: int = 0


def unknown_calls(used: Amounts, *, cost_known: bool) -> int:
    """The calls of an attempt whose cost is unknown; at least one, even if the attempt reports none."""
    return 0 if cost_known else max(1, used.calls)


@dataclass(frozen=True, slots=True)
class CarriedSpend:
    """What an earlier run used at a step that has its own limits, over all visits."""

    path: Address
    spent: Amounts = Amounts()
    unknown: MicroUsd = MicroUsd(0)
    time: Millis = Millis(0)


@dataclass(frozen=True, slots=True)
class CarriedGuidance:
    """Guidance that an attempt of an earlier run received."""

    path: Address
    attempt: int
    """The attempt that reuses the result for which it was given; 0 if that attempt left no result to reuse."""
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TypicalUse:
    """The most that a call of a step used in earlier runs; None if unknown."""

    step: str
    """The step's address without numbers."""
    usd: MicroUsd | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RaisedLimit:
    """A limit of the run that a person raised after the earlier run had reached it."""

    unit: str
    to: str
    """The new value, as it was typed."""
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class ChosenRoute:
    """Where a step leads, computed when it ended and never again."""

    entry: int = -1
    """The chosen entry of the list in `on`; -1 if the outcome has one target."""
    words: str = ""
    """What the route tells the step that it leads to."""


@dataclass(frozen=True, slots=True)
class Rebase:
    """The work of a run merged onto a branch that has moved, for a step that continues it there."""

    branch: str
    commit: str
    """The commit of the branch."""
    onto: Tree
    """The tree of that commit."""
    tree: Tree
    """The merged tree; files that both sides changed in the same place have conflict markers."""
    paths: tuple[str, ...] = ()
    """The files with conflicts."""
    step: str = ""
    """The step at the top of the workflow that can continue the work; empty if there is none."""
    work: str = ""
    """The commit of the work without the branch."""


@dataclass(frozen=True, slots=True)
class Author:
    """A step at the top of the workflow whose worker has changed files."""

    step: str
    base: Tree | None
    tree: Tree


def rebase_in(result: Mapping[str, Any] | None) -> Rebase | None:
    """The merged work in the result of a landing that did not land."""
    record = (result or {}).get(REBASE)
    if not isinstance(record, Mapping):
        return None
    return Rebase(
        str(record["branch"]),
        str(record["commit"]),
        Tree(record["onto"]),
        Tree(record["tree"]),
        tuple(record["paths"]),
        str(record["step"]),
        str(record["work"]),
    )


@dataclass(frozen=True, slots=True)
class CarriedLanding:
    """Work that an earlier run of a series landed or published, which a later landing must not add again."""

    path: Address
    """The run and the address of the step in it."""
    kind: Literal["land", "branch"]
    branch: str
    commit: str
    tree: Tree
    builds_on: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """The place of a run in a series, in which each run but the last continues as the next one."""

    first: str
    number: int
    """Counts from 1; the first run has no Series."""
    previous: str
    previous_hash: str
    """The hash of the last event of the previous run."""
    spent: Amounts = Amounts()
    """What all earlier runs of the series used, whether or not it counts against the limits of this one."""
    unknown: MicroUsd = MicroUsd(0)
    time: Millis = Millis(0)
    fork: Tree | None = None
    """The tree that the first run started from, or that of the branch onto which the work was moved since."""
    landings: tuple[CarriedLanding, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The agent of a step with `agent: auto`, as it was chosen when the run started."""

    step: Address
    """Without numbers."""
    agent: str
    standard: str
    """The first of the candidates."""
    policy: str
    why: str
    """One line with the figures behind the choice."""
    chance: float = 1.0
    """With what probability the policy chose this agent."""
    as_of: Millis = Millis(0)
    """Visits that began later were not counted."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The place of a run in an experiment."""

    suite: str
    experiment: str
    case: str
    arm: str
    number: int
    position: int
    """Its place in the random order of the trials."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle half of a figure over earlier runs."""

    low: float
    median: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class AgentScore:
    agent: str
    mean: float
    runs: int


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What the history says about earlier runs of the workflow, as known when the run started."""

    iteration: int = 0
    """The number of the run among those about its subject; 0 without a subject."""
    best: float | None = None
    """The best score of the earlier iterations."""
    best_run: str = ""
    scores: tuple[float, ...] = ()
    """The scores of the last earlier iterations, the oldest first."""
    usd: Spread | None = None
    """The cost of the last earlier runs of the workflow."""
    time: Spread | None = None
    """From start to end, in milliseconds."""
    agents: tuple[AgentScore, ...] = ()


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts fixed when the run starts; expressions read some as `run.x`. `utc_offset`, in minutes, is for times of day."""

    id: str
    name: str
    branch: str = ""
    base: str = ""
    date: str = ""
    utc_offset: int = 0
    continues: str = ""
    """The earlier run whose results this run reuses for equal requests."""
    carried: Amounts = Amounts()
    """What the earlier run spent, including on reused results: continuing in a new run does not reset limits."""
    carried_unknown: MicroUsd = MicroUsd(0)
    """What the earlier run reserved for calls whose price is unknown."""
    carried_time: Millis = Millis(0)
    """The working time of the earlier run."""
    carried_steps: tuple[CarriedSpend, ...] = ()
    """The same for each of its steps that has its own limits."""
    reused: tuple[tuple[Address, int], ...] = ()
    """Steps whose results are reused, with the number of attempts; these count against no limit."""
    reusable: tuple[tuple[Address, int], ...] = ()
    """Other steps with results, up to which attempt; these are tried before a limit refuses a new call."""
    guidance: tuple[CarriedGuidance, ...] = ()
    """Guidance that attempts of the earlier run received."""
    open_guidance: tuple[str, ...] = ()
    """Guidance that no attempt of the earlier run has received, or only attempts of a step that did not pass."""
    unpriced: tuple[str, ...] = ()
    """Agents known before the run to report no price."""
    accepts: tuple[str, ...] = ()
    """Agents that the user allowed, before the run, to work without a price; `*` is all."""
    typical_use: tuple[TypicalUse, ...] = ()
    """Typical use of calls, as known when the run started."""
    raised: tuple[RaisedLimit, ...] = ()
    """Limits that people raised for this run and for those that it continues."""
    subject: str = ""
    """What the run is about, as `subject` of the workflow says."""
    note: str = ""
    """What a person wrote about this run when it was started."""
    chosen: tuple[Chosen, ...] = ()
    """The agents of steps with `agent: auto`."""
    trial: Trial | None = None
    """Set if the run belongs to an experiment of `podium compare`."""
    earlier: EarlierRuns | None = None
    """What its summary compares it with; None without earlier runs."""
    rebase: Rebase | None = None
    """The work of the earlier run on top of a branch that has moved."""
    series: Series | None = None
    """Set if the run is the continuation of another one as a new run."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What an attempt did to the memory that its step names, as the trees before and after."""

    name: str
    before: Tree
    after: Tree


@dataclass(frozen=True, slots=True)
class RunMemory:
    """A memory as a run sees it: the version at its first use, and what passed steps have done to it since."""

    name: str
    tip: str | None
    """The commit that the run uses; empty if the memory did not exist, None if it could not be read."""
    tree: Tree = Tree("")
    changes: tuple[MemoryChange, ...] = ()
    """In the order in which their steps passed; parallel steps may have started from the same tree."""
    merge: Mapping[str, Any] | None = None
    """How the changes were merged into the stored memory at the end of the run."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reviewer's typed answer and the tree it judged."""

    decision: Literal["approve", "reject", "abort"]
    score: float | None = None
    findings: tuple[Mapping[str, Any], ...] = ()
    tree: Tree | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class RefusedMember:
    """A member whose work a join refused."""

    path: Address
    kind: Literal["conflict", "failed"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a worker asks a member of its team."""

    to: str
    question: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a person has to approve."""

    tool: str
    """run, edit, read, web, or the program's own name of the tool."""
    subject: str
    """The exact command, file or address."""
    detail: str = ""
    """The other arguments as JSON, if there are any that matter."""


class ToolDecision(NamedTuple):
    call: ToolCall
    is_allowed: bool
    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of an ask: the instance of the member that answers it, or why nobody was asked."""

    to: str
    path: Address = Address("")
    refused: str = ""
    is_known: bool = False
    """True if the member had answered the same question about the same files before, and was not run again."""
    by_engine: bool = False
    """True if the worker had not asked: the member is asked before the work is judged (`when_done`)."""


@dataclass(frozen=True, slots=True)
class Note:
    """A text that a worker leaves for a member of its team, or without `to` for all later workers of the run."""

    text: str
    to: str = ""


class LeftNote(NamedTuple):
    """A note as the run keeps it."""

    text: str
    to: Address
    """The step, or the step and the member, that it is for; empty if it is for all later workers."""
    by: str
    """Who left it: the address of a step, or a person."""
    attempt: int = 0
    is_read: bool = False


class Exchange(NamedTuple):
    """One ask of a worker and what came of it."""

    attempt: int
    ask: Ask
    reply: Reply
    so_far: str = ""
    """The worker's own words about how far it had come."""


class StepFailure(NamedTuple):
    """A failed attempt of a step, which has its address without visits."""

    step: Address
    at: Millis

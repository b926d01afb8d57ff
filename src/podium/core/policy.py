"""Static rules that bound a step or a run: limits, retries, the breaker, estimates and approval policies."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Value
from podium.core.types import Level, MicroUsd, Millis
from podium.fast_dataclass import dataclass

Count: TypeAlias = int | Node
"""A number, or an expression that is evaluated during the run."""

PassRule: TypeAlias = Literal["all", "any", "majority", "done"] | int | float
"""How many members must pass: a keyword, a number (int), or a share between 0 and 1 (float). With "done", none has to."""

NeedsRule: TypeAlias = Literal["all", "any", "done"]
"""How many of the steps that a step of a graph needs must have passed when all of them have ended."""

Exhausted: TypeAlias = Literal["human", "fail", "accept_best"]


@dataclass(frozen=True, slots=True)
class Reserve:
    """The part of a limit that only `finally` may use."""

    usd: MicroUsd = MicroUsd(0)
    tokens: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits; None means unlimited. `window` is a percentage of a quota window."""

    usd: MicroUsd | None = None
    tokens: int | None = None
    calls: int | None = None
    window: int | None = None
    time: Millis | None = None
    transitions: int | None = None
    members: int | None = None
    messages: int | None = None
    finally_: Reserve = Reserve()
    per: Literal["series", "run"] = "series"
    """Whether they hold for all runs of a series together; of a workflow only."""


@dataclass(frozen=True, slots=True)
class Failures:
    """A number of failures within a period."""

    count: int
    within: Millis


@dataclass(frozen=True, slots=True)
class Breaker:
    """Soft rules: when one is hit, the run stops and asks. None disables a rule. Shares are percentages."""

    visits: int | None = 5
    cycle: int | None = 3
    repeat: int | None = 2
    similar: int | None = None
    plateau: int | None = 3
    reversals: int | None = 2
    disagree: int | None = None
    retries: int | None = None
    sent_back: int | None = None
    failures: Failures | None = None
    near: int | None = None
    complete: bool = False
    transitions: int | None = None
    time: Millis | None = None
    usd: MicroUsd | None = None
    tokens: int | None = None
    calls: int | None = None
    ask: str = "human"


@dataclass(frozen=True, slots=True)
class Backoff:
    first: Millis = Millis(2_000)
    times: float = 2.0
    max: Millis = Millis(30_000)
    jitter: int = 10


@dataclass(frozen=True, slots=True)
class Stop:
    """When to stop retrying: answers too similar (percent), or no better score for some rounds."""

    similar: int | None = None
    plateau: int | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What to reserve for a call when no typical use is known."""

    usd: MicroUsd = MicroUsd(0)
    tokens: int = 0
    cap: MicroUsd | None = None
    """The cost at which the step's agent stops by itself: the best upper bound for a call."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The agent or model that takes over after a number of failed tries; it keeps the work and the feedback."""

    after: int
    agent: str | None = None
    model: str | None = None
    estimate: Estimate | None = None
    """None: the estimate of the step."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What a step may try before it fails."""

    attempts: Count = 1
    transient: int = 3
    repair: int = 2
    backoff: Backoff = Backoff()
    visits: int | None = None
    stop: Stop = Stop()
    degrade: tuple[str, ...] = ()
    upgrade: tuple[Upgrade, ...] = ()
    """In the order of `after`."""
    on_exhausted: Exhausted = "fail"
    stated: bool = False
    """True if the file sets `on_exhausted`; only then does it also apply when the visits are used up."""
    per: Literal["visit", "run"] = "visit"
    """With `run`, `attempts` is the number of failures in all visits together; a review counts its rejections."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule of an approval policy; the first rule whose `when` holds applies."""

    level: Level
    when: Node | None = None
    by: tuple[str, ...] = ()
    approvals: int = 1
    veto: Millis = Millis(0)
    presence: bool = False
    """Whether an answer needs the proof that a person is present."""
    text: str = ""
    """The rule as people read it: the policy, the number of the rule, and its condition as written."""


@dataclass(frozen=True, slots=True)
class Oversight:
    """Who must approve. `level` is a level, the name of a policy, or an expression that yields one of these."""

    level: Value = "auto"
    by: tuple[str, ...] = ()
    approvals: int = 1
    veto: Millis = Millis(0)
    notify: tuple[str, ...] | None = None
    """The channels of its messages; None for all that the configuration defines."""
    remind: Millis | None = None
    escalate_after: Millis | None = None
    escalate_to: tuple[str, ...] = ()
    show: tuple[Value, ...] = ()
    presence: bool = False
    """Whether an answer needs the proof that a person is present."""


NO_LIMITS: Final = Limits()
NO_RESERVE: Final = Reserve()
NO_RETRY: Final = Retry()

"""How often, how long, how much: the static rules that bound a step or a run."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from podium.core.expressions.nodes import Node
from podium.core.fast_dataclass import dataclass
from podium.core.types import Level, MicroUsd, Millis

Count: TypeAlias = int | Node
"""A number, or the expression that gives it when the run gets there."""

PassRule: TypeAlias = Literal["all", "any", "majority"] | int | float
"""How many members must pass: a word, a number, or (float) a share between 0 and 1."""

Exhausted: TypeAlias = Literal["human", "fail", "accept_best"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard ceilings; None leaves a unit free. `window` is a share of a quota window in percent."""

    usd: MicroUsd | None = None
    tokens: int | None = None
    calls: int | None = None
    window: int | None = None
    time: Millis | None = None
    transitions: int | None = None
    members: int | None = None
    messages: int | None = None


@dataclass(frozen=True, slots=True)
class Failures:
    """That many failures within that time."""

    count: int
    within: Millis


@dataclass(frozen=True, slots=True)
class Breaker:
    """Soft rules: a hit stops the run and asks. None switches a rule off. Shares are in percent."""

    visits: int | None = 5
    cycle: int | None = 3
    repeat: int | None = 2
    similar: int | None = None
    plateau: int | None = 3
    reversals: int | None = 2
    disagree: int | None = None
    retries: int | None = None
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
    """When further attempts are pointless: the answers are alike (percent), or the score stands still (rounds)."""

    similar: int | None = None
    plateau: int | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """What a step may try before it has failed."""

    attempts: Count = 1
    transient: int = 3
    repair: int = 2
    backoff: Backoff = Backoff()
    visits: int | None = None
    stop: Stop = Stop()
    degrade: tuple[str, ...] = ()
    on_exhausted: Exhausted = "fail"
    stated: bool = False
    """True when the file itself says `on_exhausted`; only then does it also answer for used-up visits."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is reserved before a dispatch when nothing better is known."""

    usd: MicroUsd = MicroUsd(0)
    tokens: int = 0
    cap: MicroUsd | None = None
    """Where the step's own agent stops by itself; nothing tells more about the most it can cost."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One line of an approval policy; the first whose `when` holds decides."""

    level: Level
    when: Node | None = None
    by: tuple[str, ...] = ()
    approvals: int = 1
    veto: Millis = Millis(0)


NO_LIMITS: Final = Limits()
NO_RETRY: Final = Retry()

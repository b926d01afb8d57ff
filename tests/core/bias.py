"""What a property wants to see more or less of in its random workflows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SCOPE_KINDS: Final = (
    "block",
    "block",
    "block",
    "members",
    "review",
    "for_each",
    "for_each",
    "repeat",
    "call",
)


@dataclass(frozen=True, slots=True)
class Bias:
    """Shares between 0 and 1, unless a comment says otherwise."""

    depth: int = 3
    width: int = 4
    """Most steps of a block."""
    scopes: float = 0.4
    scope_kinds: tuple[str, ...] = SCOPE_KINDS
    wide_top: float = 0.25
    """The top block is a graph or parallel."""
    routes: float = 0.3
    passed_back: float = 0.02
    """A pass that leads back: a circle that only the breaker or a limit ends."""
    when: float = 0.15
    variables: float = 0.15
    """Of leaves: `set`; conditions read variables more often, too."""
    gates: float = 0.3
    finally_: float = 0.25
    tight: float = 0.15
    """Limits of the run that bite."""
    inner_limits: float = 0.1
    transitions: tuple[int, int] = (20, 60)
    breaker: bool = True
    totals: bool = True
    """Rules about the whole run, which depend on timing."""
    merging: bool = True
    """Joins whose result depends on the order of completions."""
    people: float = 0.12
    expiring: bool = True
    """Timeouts of people, waits, blocks."""
    signals: bool = True
    waits: float = 0
    """More steps that wait than there would be anyway."""
    facts: float = 0.1
    dag_back: float = 0.6
    """Routes of a graph that lead back; of two that are due, the first wins."""
    racing_breaks: bool = True
    """Routes to `break` from work that runs beside other work of the loop: timing decides what has begun by then."""
    halts: bool = True
    """Who is asked by the breaker may end the run, whatever else is under way."""
    once: float = 0.05
    """Steps that must not be repeated after a crash."""
    trouble: float = 1.0
    """How hostile the world may be, as a factor."""


TIMELESS: Final = Bias(
    tight=0,
    inner_limits=0,
    transitions=(3000, 3000),
    totals=False,
    merging=False,
    expiring=False,
    signals=False,
    dag_back=0,
    racing_breaks=False,
    passed_back=0,
    halts=False,
    once=0,
)
"""Nothing whose result depends on which of two siblings comes first (core.md 9, P7 and P10)."""

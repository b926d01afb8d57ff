"""How often features appear in the random workflows of a property."""

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
    """The maximum number of steps of a block."""
    scopes: float = 0.4
    scope_kinds: tuple[str, ...] = SCOPE_KINDS
    wide_top: float = 0.25
    """The top block is a graph or parallel block."""
    routes: float = 0.3
    passed_back: float = 0.02
    """A route from `passed` back to an earlier step: a cycle that only the breaker or a limit ends."""
    when: float = 0.15
    variables: float = 0.15
    """Among leaves: `set`; conditions also read variables more often."""
    gates: float = 0.3
    finally_: float = 0.25
    tight: float = 0.15
    """Limits of the run that are low enough to be hit."""
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
    """Additional steps that wait."""
    facts: float = 0.1
    two_facts: float = 0
    """Among conditions about files: about two facts, so that the second is requested when the first is known."""
    dag_back: float = 0.6
    """Routes of a graph that lead back; if two are due, the first wins."""
    racing_breaks: bool = True
    """Routes to `break` in parallel iterations, where timing decides which others have started."""
    racing_members: bool = True
    """Members of which the first that pass stop the others."""
    halts: bool = True
    """Answers to the breaker that halt the run, whatever else is running."""
    once: float = 0.05
    """Steps that must not be repeated after a crash."""
    named_files: float = 0
    """Among agents: files named by an expression."""
    trouble: float = 1.0
    """A factor for how often the world responds with failures."""


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
    racing_members=False,
    passed_back=0,
    halts=False,
    once=0,
)
"""No feature whose result depends on which of two siblings ends first (core.md 9, P7 and P10)."""

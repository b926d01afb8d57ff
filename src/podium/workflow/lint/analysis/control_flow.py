"""Where control can go inside a block, as a graph over its steps.

A sequence is followed by its routes, forward and back. Going back makes everything from the target on stale, so
whether a step has surely run when another starts is a question of the way since the last time it went stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from heapq import heappop, heappush
from typing import Final

from podium.core.fast_dataclass import dataclass
from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES, Outcome
from podium.workflow.lint.analysis.survey import Block, StepSite
from podium.workflow.outcomes import possible_outcomes

AWAY: Final = -1
"""Control leaves the block without its having been finished: `fail`, `break`, an unrouted failure."""

NEVER: Final = "never"
"""Stands beside the outcomes of a step for not having been entered at all."""


@dataclass(frozen=True, slots=True)
class Edge:
    source: int
    outcome: Outcome
    target: int


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps of a sequence are 0 to `end` - 1; control that arrives at `end` has finished the block."""

    end: int
    edges: tuple[tuple[Edge, ...], ...]
    jumps: tuple[Edge, ...] = ()
    """Those that can be taken and pass over a step; without any, each step surely runs before those after it."""
    known: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict, compare=False)

    def reachable(self, entries: Iterable[int] = (0,)) -> frozenset[int]:
        return frozenset(self._ways(entries, lowest=0))

    def outcomes_at(self, reader: int, step: int) -> frozenset[str]:
        """How `step`, which stands above `reader`, may have ended when `reader` starts; NEVER included."""
        found = self.known.get((reader, step))
        if found is None:
            found = self.known[reader, step] = frozenset(self._outcomes_at(reader, step))
        return found

    def _outcomes_at(self, reader: int, step: int) -> Iterator[str]:
        for edge in self.edges[step]:
            if edge.target > step and self._leads(reader, [edge.target], step):
                yield edge.outcome
        # Coming back to before the step makes it stale, so what counts is how control came past it since.
        past = [edge.target for edge in self.jumps if edge.source < step < edge.target]
        if past and self._leads(reader, past, step):
            yield NEVER

    def _leads(self, reader: int, entries: list[int], step: int) -> bool:
        """Whether control gets from `entries` to `reader` without coming to `step`, or to before it, again."""
        if not self.jumps:
            return entries == [step + 1]
        return any(here == reader for here in self._ways(entries, lowest=step + 1))

    def _ways(self, entries: Iterable[int], *, lowest: int) -> Iterator[int]:
        """Where control can get from `entries` without going below `lowest`, the nearest first."""
        found: set[int] = set()
        open_ = sorted(entries)
        while open_:
            here = heappop(open_)
            if here in found:
                continue
            found.add(here)
            yield here
            for edge in self.edges[here] if here < self.end else ():
                if edge.target >= lowest and edge.target not in found:
                    heappush(open_, edge.target)


def flow_of(block: Block, sites: Iterable[StepSite]) -> Flow:
    end = len(block.steps)
    flow = Flow(end, tuple(tuple(_edges(site, number, end)) for number, site in enumerate(sites)))
    reached = flow.reachable()
    jumps = [edge for number in sorted(reached - {end}) for edge in flow.edges[number]]
    return replace(flow, jumps=tuple(edge for edge in jumps if edge.source + 1 < edge.target))


def _edges(site: StepSite, number: int, end: int) -> Iterator[Edge]:
    for outcome, target in targets_of(site).items():
        if target == "next":
            yield Edge(number, outcome, number + 1)
        elif target == "end":
            yield Edge(number, outcome, end)
        elif target in site.block.order:
            yield Edge(number, outcome, site.block.order[target])
        else:
            yield Edge(number, outcome, AWAY)


def targets_of(site: StepSite) -> Mapping[Outcome, str]:
    """Where each outcome that can happen leads, whether `on` says so or is silent."""
    possible = possible_outcomes(site.step, site.gates())
    conditional = site.step.when is not None
    return {outcome: target_of(site, outcome) for outcome in possible if conditional or outcome != "skipped"}


def target_of(site: StepSite, outcome: Outcome) -> str:
    on = site.step.on
    route = on.get(outcome) or (None if outcome in CONTINUING_OUTCOMES else on.get("else"))
    if route is not None:
        return route.target
    return "next" if outcome in CONTINUING_OUTCOMES else "fail"


def is_above(block: Block, step: str, reader: str) -> bool:
    """In a graph: whether `reader` needs `step`, directly or through others."""
    seen: set[str] = set()
    open_ = [reader]
    while open_:
        needs = [need for need in block.steps[open_.pop()].needs or () if need in block.steps]
        if step in needs:
            return True
        open_.extend(need for need in needs if need not in seen)
        seen.update(needs)
    return False


def outcomes_of_need(site: StepSite) -> frozenset[str]:
    """How a step of a graph may have ended when one that needs it starts."""
    return frozenset(outcome for outcome, target in targets_of(site).items() if target == "next")


ALL: Final = frozenset((*OUTCOMES, NEVER))

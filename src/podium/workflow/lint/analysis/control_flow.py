"""Where control can go inside a block, as a graph of its steps.

A sequence follows its routes, forward and back. Going back makes every step from the target on stale, so whether a
step has certainly run when another starts depends only on the path since the step became stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from heapq import heappop, heappush
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES, Outcome
from podium.fast_dataclass import dataclass
from podium.workflow.lint.analysis.survey import Block, StepSite
from podium.workflow.outcomes import possible_outcomes
from podium.workflow.schema.scalars import DONE

LEAVES_BLOCK: Final = -1
"""Control leaves the block before it is finished: `fail`, `break`, a failure without a route."""

NEVER: Final = "never"
"""The mark of a step that was never entered, next to the outcomes."""


@dataclass(frozen=True, slots=True)
class Edge:
    source: int
    outcome: Outcome
    target: int


@dataclass(frozen=True, slots=True)
class Flow:
    """The steps of a sequence are numbered 0 to `end` - 1; control that reaches `end` has finished the block."""

    end: int
    edges: tuple[tuple[Edge, ...], ...]
    jumps: tuple[Edge, ...] = ()
    """Reachable edges that skip a step; without any, each step certainly runs before all later ones."""
    cache: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict, compare=False)

    def reachable(self, entries: Iterable[int] = (0,)) -> frozenset[int]:
        return frozenset(self._reachable_from(entries, lowest=0))

    def outcomes_at(self, reader: int, step: int) -> frozenset[str]:
        """The outcomes that `step`, which is above `reader`, may have when `reader` starts; NEVER included."""
        outcomes = self.cache.get((reader, step))
        if outcomes is None:
            outcomes = self.cache[reader, step] = frozenset(self._outcomes_at(reader, step))
        return outcomes

    def _outcomes_at(self, reader: int, step: int) -> Iterator[str]:
        for edge in self.edges[step]:
            if edge.target > step and self._can_reach(reader, [edge.target], step):
                yield edge.outcome
        # Going back to before the step makes it stale, so only the path since then counts.
        skipping = [edge.target for edge in self.jumps if edge.source < step < edge.target]
        if skipping and self._can_reach(reader, skipping, step):
            yield NEVER

    def _can_reach(self, reader: int, entries: list[int], step: int) -> bool:
        """Whether control can get from `entries` to `reader` without returning to `step` or to before it."""
        if not self.jumps:
            return entries == [step + 1]
        return any(number == reader for number in self._reachable_from(entries, lowest=step + 1))

    def _reachable_from(self, entries: Iterable[int], *, lowest: int) -> Iterator[int]:
        """The steps that control can reach from `entries` without going below `lowest`, the nearest first."""
        visited: set[int] = set()
        pending = sorted(entries)
        while pending:
            number = heappop(pending)
            if number in visited:
                continue
            visited.add(number)
            yield number
            for edge in self.edges[number] if number < self.end else ():
                if edge.target >= lowest and edge.target not in visited:
                    heappush(pending, edge.target)


def flow_of(block: Block, sites: Iterable[StepSite]) -> Flow:
    end = len(block.steps)
    flow = Flow(end, tuple(tuple(_edges(site, number, end)) for number, site in enumerate(sites)))
    reached = flow.reachable()
    jumps = [edge for number in sorted(reached - {end}) for edge in flow.edges[number]]
    return replace(flow, jumps=tuple(edge for edge in jumps if edge.source + 1 < edge.target))


def _edges(site: StepSite, number: int, end: int) -> Iterator[Edge]:
    for outcome, target in targets_of(site):
        if target == "next":
            yield Edge(number, outcome, number + 1)
        elif target == "end":
            yield Edge(number, outcome, end)
        elif target in site.block.order:
            yield Edge(number, outcome, site.block.order[target])
        else:
            yield Edge(number, outcome, LEAVES_BLOCK)


def targets_of(site: StepSite) -> tuple[tuple[Outcome, str], ...]:
    """The targets of each possible outcome, with or without an entry in `on`."""
    possible = possible_outcomes(site.step, site.gates(), merged=site.is_merged)
    conditional = site.step.when is not None
    return tuple(
        (outcome, target)
        for outcome in possible
        if conditional or outcome != "skipped"
        for target in _targets(site, outcome)
    )


def _targets(site: StepSite, outcome: Outcome) -> tuple[str, ...]:
    on = site.step.on
    route = on.get(outcome) or (None if outcome in CONTINUING_OUTCOMES else on.get("else"))
    if route is not None:
        return tuple(dict.fromkeys(entry.target for entry in route.entries))
    if outcome == "passed" and site.step.continue_as is not None:
        # The run ends, and nothing reads the results of its block: outputs are those of the last run.
        return ("fail",)
    return ("next",) if outcome in CONTINUING_OUTCOMES else ("fail",)


def is_above(block: Block, step: str, reader: str, *, strictly: bool = False) -> bool:
    """In a graph: whether `reader` needs `step`, directly or indirectly; `strictly`: and does not run unless it passed."""
    visited: set[str] = set()
    pending = [reader]
    while pending:
        all_needs = block.steps[pending.pop()].needs
        if all_needs is None or (strictly and all_needs.rule != "all"):
            continue
        needs = [need for need in all_needs if need in block.steps]
        if step in needs:
            return True
        pending.extend(need for need in needs if need not in visited)
        visited.update(needs)
    return False


def outcomes_of_need(site: StepSite, reader: StepSite) -> frozenset[str]:
    """The outcomes that a step of a graph may have when a step that needs it starts."""
    if reader.step.needs is not None and not is_above(site.block, site.name, reader.name, strictly=True):
        return frozenset(OUTCOMES)
    return _accepted(site)


def outcomes_at_end(site: StepSite) -> frozenset[str]:
    """The outcomes that a step of a graph or a parallel block may have when the block has passed."""
    owner = site.block.owner
    some_suffice = owner is not None and (owner.step.pass_ == DONE or owner.step.cancel is not None)
    is_optional = any(
        step.needs is not None and step.needs.rule != "all" and site.name in step.needs
        for step in site.block.steps.values()
    )
    return frozenset(OUTCOMES) if some_suffice or is_optional else _accepted(site)


def _accepted(site: StepSite) -> frozenset[str]:
    return frozenset(outcome for outcome, target in targets_of(site) if target == "next")


ALL: Final = frozenset((*OUTCOMES, NEVER))

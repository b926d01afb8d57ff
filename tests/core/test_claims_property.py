"""Children that declare their files never clash and never lose work, in any order of completions (issue 16, C1).

PODIUM_RUNS says how many random schedules, PODIUM_SEED which ones; `make claims` tries 10,000. PODIUM_SCHEDULE is the number
of the only schedule to try; a failure names it.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from podium.attempt.change_policy import globs_of
from podium.core.events import AttemptEnded, AttemptStarted, Event, JoinAsked, JoinEnded, StepEnded
from podium.core.expressions.nodes import ExprError
from podium.core.messages import Cancel
from podium.core.model import ForEach
from podium.core.payloads import RefusedMember
from podium.core.queries.graph import fresh_children, merges_members
from podium.core.queries.names import InstanceNames
from podium.core.state import Scope, State
from podium.core.types import Millis, Tree
from podium.simulate.memory_trees import MemoryTrees
from podium.simulate.random_world import Odds
from podium.simulate.world import DelayedReport
from tests.core.bias import Bias
from tests.core.driver import Run, drive, drive_to_end, resume
from tests.core.strategies import Case, case
from tests.core.worlds import Wild

RUNS = int(os.environ.get("PODIUM_RUNS", "250"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
SCHEDULE = os.environ.get("PODIUM_SCHEDULE")
CHUNKS = 5
ONCE_FAILED = (5094,)
"""Schedules of seed 1: a member that took the result of its earlier visit undid what another member had changed since."""
BIAS = Bias(
    depth=2,
    width=5,
    wide_top=0.9,
    scopes=0.5,
    scope_kinds=("block", "members", "for_each", "for_each", "for_each", "call"),
    routes=0.15,
    when=0.05,
    gates=0.15,
    tight=0.03,
    inner_limits=0.02,
    people=0.02,
    variables=0.05,
    facts=0.02,
    named_files=0.6,
    trouble=0.4,
)
TRIED: Counter[str] = Counter()


class Filing(Wild):
    """A world whose workers add a line to files that they declare; whole files conflict."""

    def __init__(self, seed: int, odds: Odds, *, pace: int) -> None:
        super().__init__(seed, odds, pace=pace)
        self.trees = MemoryTrees({"src/a/1": "", "docs/x.md": "", "lib/b.py": ""})
        self.clashes: list[str] = []

    def base(self) -> Tree | None:
        return self.trees.base

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        later = super().attempt(asked, state)
        end = later.message
        assert isinstance(end, AttemptEnded)
        changed = end.tree != asked.start
        tree = self._changed(asked, state) if changed else asked.start
        verdict = end.verdict
        return DelayedReport(later.after, replace(end, tree=tree, verdict=verdict))

    def _changed(self, asked: AttemptStarted, state: State) -> Tree | None:
        leaf = state.instances[asked.path]
        try:
            globs = globs_of(leaf.place.step, InstanceNames(state, leaf))
        except ExprError:
            return asked.start
        chance = random.Random(f"{self._seed}/{asked.path}")
        file = chance.choice(globs or ("src/a/1", "docs/x.md", "lib/b.py", "gen/changed", "src/other"))
        file = file.replace("**", "changed").replace("*", "changed")
        lines = self.trees.files(asked.start).get(file, "")
        return self.trees.change(asked.start, {file: f"{lines}{asked.path}#{asked.attempt}\n"}, ())

    def join(self, request: JoinAsked, state: State) -> JoinEnded:
        head, refused = request.onto, list[RefusedMember]()
        for path, tree in request.members:
            own = state.instances[path].base  # As in tasks/build: what it builds on.
            where = path if request.gated else request.path
            merged = self.trees.merge(request.fork if own is None else own, head, tree)
            if isinstance(merged, list):
                self.clashes.append(f"{where}: {merged}")
                refused.append(RefusedMember(where, "conflict", str(merged)))
            elif request.gated and self._draw(f"{path}:{tree}", "joined") < 0.1:
                refused.append(RefusedMember(where, "failed", "its test is red on the joined tree"))
            else:
                head = merged
        TRIED["joins"] += 1
        return JoinEnded(Millis(0), request.path, head, tuple(refused))

    def lines(self, tree: Tree | None) -> set[str]:
        return {line for text in self.trees.files(tree).values() for line in text.splitlines()}


def check_nothing_lost(world: Filing, state: State, events: tuple[Event, ...]) -> None:
    """A scope that ends with a tree has every line that its merged children wrote."""
    for event in events:
        scope = state.instances[event.path] if isinstance(event, StepEnded) and event.tree else None
        if not isinstance(event, StepEnded) or not isinstance(scope, Scope) or not _merges(scope):
            continue
        lines = world.lines(event.tree)
        for child in fresh_children(state, scope):
            if child.ending is not None and child.ending.tree is not None:
                lost = world.lines(child.ending.tree) - lines
                assert not lost, f"{event.path} lost {lost}"
                TRIED["merged children"] += 1


def _merges(scope: Scope) -> bool:
    is_graph = scope.place.order == "dag" and not isinstance(scope.place.step.verb, ForEach)
    return is_graph or merges_members(scope)


def schedules(chunk: int) -> Iterator[int]:
    if SCHEDULE is None:
        return iter(range(chunk, RUNS, CHUNKS))
    return iter([int(SCHEDULE)] if int(SCHEDULE) % CHUNKS == chunk else [])


def schedule(number: int, seed: int = SEED) -> tuple[Case, Filing, random.Random]:
    seed = seed * 10_000_000 + number
    one = case(seed, BIAS)
    chance = random.Random(seed)
    return one, Filing(one.seed, one.odds, pace=chance.randrange(1_000)), chance


def finish(one: Case, world: Filing, chance: random.Random) -> Run:
    """Drive a run to its end: as it is, cancelled, or killed once and resumed."""
    check = lambda state, events: check_nothing_lost(world, state, events)  # noqa: E731 (bound to the world)
    if chance.random() < 0.1:
        cancel = ((Millis(chance.randrange(600_000)), Cancel("ann")),)
        return drive(one.workflow, world, messages=cancel, on_turn=check)
    whole = drive(one.workflow, world, on_turn=check)
    if chance.random() < 0.3:
        TRIED["kills"] += 1
        cut = chance.randrange(1, len(whole.log))
        again = resume(one.workflow, whole.log[:cut], world)
        return drive_to_end(again, world, on_turn=check)
    return whole


@pytest.mark.req("R167", "C35")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_claims_never_clash(chunk: int) -> None:
    """X8: and because every run ends, no claim waits for ever."""
    for number in schedules(chunk):
        one, world, chance = schedule(number)
        try:
            run = finish(one, world, chance)
            assert run.state.ended is not None, f"stuck at {run.state.pending}"
            assert not world.clashes, f"{world.clashes}"
        except AssertionError as error:
            error.add_note(f"schedule {number} of seed {SEED}:\n{one!r}")
            raise
        TRIED["schedules"] += 1
        TRIED["claims"] += sum(bool(getattr(event, "claim", ())) for event in run.log)
        TRIED["on earlier work"] += sum(bool(getattr(event, "after", ())) for event in run.log)


@pytest.mark.parametrize("number", ONCE_FAILED)
def test_a_schedule_that_once_clashed_does_not_any_more(number: int) -> None:
    one, world, chance = schedule(number, 1)

    run = finish(one, world, chance)

    assert (run.state.ended is not None, world.clashes) == (True, [])


def test_the_random_schedules_reach_what_they_are_for() -> None:
    """Without claims, merges and branches on earlier work the property would say nothing."""
    if TRIED["schedules"] < RUNS:
        pytest.skip("other workers ran the schedules")
    sys.stderr.write(f"{dict(TRIED)}\n")
    assert all(TRIED[name] for name in ("joins", "claims", "kills", "merged children", "on earlier work"))

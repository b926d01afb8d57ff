"""The most expensive path through a sequence, compared with all possible paths."""

from __future__ import annotations

import random
from functools import cache
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podium.core.model import Block, Step, Target
from podium.core.policy import Breaker, Retry
from podium.simulate.forecast.breaker_costs import FAILED, PASSED, Ends
from podium.simulate.forecast.cost_tables import NEVER
from podium.simulate.forecast.paths import Walk, exits_of, walk_sequence
from tests.core.kit import agent, block, command, on

FREE = Breaker(visits=2, cycle=None)
SIZE = 13


def flat(value: int) -> Ends:
    return ((value,) * SIZE, (value,) * SIZE)


def granted(value: int, more: int) -> Ends:
    table = tuple(value + more * t for t in range(SIZE))
    return table, table


def exact(block: Block, ends: tuple[Ends, ...], breaker: Breaker, *, good: bool) -> tuple[int, ...]:
    """Tries every path and looks up the cost of each entry by the visits before it."""

    @cache
    def after(index: int, t: int, visits: tuple[int, ...]) -> int:
        free = block.steps[index].retry.visits or breaker.visits
        cost = 2 if visits[index] >= (free or 99) else 1
        if t < cost:
            return NEVER if good else 0
        now = (*visits[:index], visits[index] + 1, *visits[index + 1 :])
        highest = NEVER
        for way in exits_of(block.steps, index):
            table = ends[index][0 if way.good else 1]
            for inside in range(t - cost + 1):
                rest = 0 if way.to == (PASSED if good else FAILED) else NEVER
                if way.to >= 0:
                    rest = after(way.to, t - cost - inside, now)
                highest = max(highest, table[inside] + rest if rest > NEVER else NEVER)
        return highest

    return tuple(after(0, t, (0,) * len(block.steps)) for t in range(SIZE))


def random_sequence(seed: int) -> tuple[Block, tuple[Ends, ...]]:
    rng = random.Random(seed)
    count = rng.randint(1, 4)
    steps = []
    for index in range(count):
        routes: dict[Any, Target] = {}
        if rng.random() < 0.6:
            routes["failed"] = Target("step", rng.randrange(count))
        if rng.random() < 0.2:
            routes["rejected"] = rng.choice([Target("next"), Target("end"), Target("step", 0)])
        visits = rng.choice([None, None, 1, 3])
        steps.append(
            Step(f"s{index}", agent("a").verb, on=MappingProxyType(routes), retry=Retry(visits=visits))
        )
    values = [rng.randint(0, 20) for _ in steps]
    ends = [granted(value, rng.randint(1, 6)) if rng.random() < 0.3 else flat(value) for value in values]
    return block("seq", *steps), tuple(ends)


def follow_path(walk: Walk, t: int, *, good: bool) -> tuple[int, int]:
    """What the returned path uses, and how many transitions it takes."""
    used, spent, visits = 0, 0, [0] * len(walk.ends)
    for move in walk.path(t, good=good):
        free = walk.block.steps[move.step].retry.visits or walk.breaker.visits
        spent += move.inside + (2 if visits[move.step] >= (free or 99) else 1)
        visits[move.step] += 1
        used += walk.ends[move.step][0 if move.leaves.good else 1][move.inside]
    return used, spent


@given(st.integers(0, 2**32))
def test_no_path_exceeds_the_bound_and_the_returned_path_is_possible(seed: int) -> None:
    """X1"""
    steps, ends = random_sequence(seed)
    walk = walk_sequence(steps, ends, 1, FREE)
    all_good, all_bad = (exact(steps, ends, FREE, good=good) for good in (True, False))

    assert all(highest >= true for highest, true in zip(walk.good, all_good, strict=True))
    assert all(highest >= true for highest, true in zip(walk.bad, all_bad, strict=True))
    for t in range(SIZE):
        used, spent = follow_path(walk, t, good=walk.good[t] >= walk.bad[t])
        assert spent <= t
        assert used <= max(all_good[t], all_bad[t])


def test_free_visits_of_one_loop_are_not_used_in_another() -> None:
    """The second loop is worth only its free visits, and the first one all remaining transitions."""
    steps = block(
        "seq",
        agent("plan"),
        agent("review", on=on(rejected=0)),
        agent("build"),
        agent("test", on=on(failed=2)),
    )
    ends = (flat(9), flat(9), flat(12), flat(2))
    walk = walk_sequence(steps, ends, 1, FREE)
    t = SIZE - 1

    best = exact(steps, ends, FREE, good=False)[t]
    assert walk.bad[t] == best == 2 * 18 + 18 + 2 * 14
    assert follow_path(walk, t, good=False) == (best, t)


def test_a_path_varies_where_a_cycle_would_cause_questions() -> None:
    """A question costs a transition; ending the round in another way costs less than questions about all its steps."""
    steps = block(
        "seq",
        agent("a"),
        agent("b"),
        agent("c", on=on(rejected=0)),
        command("d", on=on(failed=0)),
    )
    walk = walk_sequence(steps, (flat(10), flat(10), flat(10), flat(0)), 1, Breaker(visits=None, cycle=2))
    ends = [move.leaves.outcome for move in walk.path(12, good=False) if move.step >= 2]

    assert sum(move.step < 3 for move in walk.path(12, good=False)) == 11
    assert "failed" in ends


def test_a_step_with_accept_best_may_be_entered_again_without_a_question() -> None:
    """Its further visits do no work and cost no more than their entry."""
    retry = Retry(visits=1, on_exhausted="accept_best", stated=True)
    steps = block("seq", agent("a", retry=retry), agent("b", on=on(rejected=0), retry=Retry(visits=99)))
    walk = walk_sequence(steps, (flat(1), flat(5)), 1, FREE)

    assert walk.bad[12] >= 1 + 6 * 5


def test_a_loop_left_after_a_failure_has_failed() -> None:
    steps = block("seq", agent("a", on=on(failed="break")), agent("b"))
    walk = walk_sequence(steps, (flat(3), flat(4)), 1, FREE)

    assert [exit_.to for exit_ in exits_of(steps.steps, 0)] == [1, FAILED, FAILED]
    assert (walk.good[1], walk.bad[1]) == (NEVER, 3)


def test_leaving_a_loop_ends_the_sequences_inside_it() -> None:
    inner = Step("inner", block("seq", agent("a", on=on(passed="break"))))
    steps = block("seq", inner, agent("b"))

    assert PASSED in [exit_.to for exit_ in exits_of(steps.steps, 0)]


def test_an_advisor_may_send_control_to_a_more_expensive_step() -> None:
    steps = block("seq", agent("dear"), agent("a"), agent("b", on=on(rejected=1)))
    ends = (flat(50), flat(1), flat(1))

    alone = walk_sequence(steps, ends, 1, FREE).bad
    advised = walk_sequence(steps, ends, 1, FREE, has_advisor=True)
    assert alone[6] == 50 + 4
    assert advised.bad[6] >= 2 * 50 + 2
    # The returned path does not use this: there, questions are answered with "proceed".
    assert not any(move.leaves.asks for move in advised.path(12, good=False))


def test_in_finally_an_agent_that_cannot_be_paid_is_skipped() -> None:
    """Even where its pass would have ended the sequence."""
    steps = block("seq", agent("dear", on=on(passed="end")), agent("cheap"))

    assert walk_sequence(steps, (flat(1), flat(5)), 1, FREE).bad[2] == 1
    assert walk_sequence(steps, (flat(1), flat(5)), 1, FREE, shielded=True).bad[2] == 6

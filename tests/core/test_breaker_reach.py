"""The breaker's rules look back far enough for their own settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.policy import Breaker, Limits
from podium.core.types import Tree
from tests.core.kit import Game, agent, command, flow, on, review
from tests.core.test_advice import decided

NO_RULE: dict[str, Any] = dict.fromkeys(("visits", "cycle", "repeat", "plateau", "reversals"))
FAR = Limits(transitions=5_000)


def rounds_until_asked(game: Game, steps: tuple[str, ...], most: int, score: int | None = None) -> int:
    """Run rounds in which the last step jumps back to the first, until the breaker asks; the number of rounds."""
    for number in range(1, most + 1):
        visit = "" if number == 1 else f"~{number}"
        game.end(f"{steps[0]}{visit}", tree=Tree("same"), digest="same")
        for name in steps[1:-1]:
            game.end(f"{name}{visit}")
        if score is None:
            game.end(f"{steps[-1]}{visit}", "failed")
        else:
            game.give_verdict(f"{steps[-1]}{visit}/j1", "reject", score)
        if game.open_questions():
            return number
    return 0


@pytest.mark.req("R131")
@pytest.mark.parametrize("times", [2, 8, 20])
def test_repeated_content_is_detected_for_any_setting(times: int) -> None:
    steps = (agent("a"), command("b", on=on(failed=0)))
    game = Game(flow(*steps, breaker=Breaker(**{**NO_RULE, "repeat": times}), limits=FAR))
    assert rounds_until_asked(game, ("a", "b"), times + 2) == times


@pytest.mark.req("R131")
@pytest.mark.parametrize("rounds", [3, 8, 12])
def test_a_plateau_is_detected_for_any_setting(rounds: int) -> None:
    steps = (agent("a"), replace(review("q", "a"), on=on(rejected=0)))
    game = Game(flow(*steps, breaker=Breaker(**{**NO_RULE, "plateau": rounds}), limits=FAR))
    assert rounds_until_asked(game, ("a", "q"), rounds + 3, score=5) == rounds + 1


@pytest.mark.req("R131")
@pytest.mark.parametrize(("width", "times"), [(2, 3), (30, 3), (4, 20)])
def test_a_cycle_of_any_length_is_detected(width: int, times: int) -> None:
    names = tuple(f"s{number}" for number in range(width))
    steps = (agent("s0"), *map(command, names[1:-1]), command(names[-1], on=on(failed=0)))
    game = Game(flow(*steps, breaker=Breaker(**{**NO_RULE, "cycle": times}), limits=FAR))
    assert rounds_until_asked(game, names, times + 2) == times


@pytest.mark.req("R129")
def test_an_early_visit_can_be_accepted_after_many_more() -> None:
    steps = (agent("a"), command("b", on=on(failed=0)))
    game = Game(flow(*steps, breaker=Breaker(**{**NO_RULE, "visits": 25}), limits=FAR))
    assert rounds_until_asked(game, ("a", "b"), 26) == 25

    decided(game, action="force_complete", use_output="a~2")

    assert game.outcome("a~26") == ("passed", "exhausted")

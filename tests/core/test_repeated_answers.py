"""The same malformed answer is not bought again and again (issue 16, C5)."""

from __future__ import annotations

import pytest

from podium.core.events import AttemptQueued, AttemptStarted
from podium.core.policy import Retry
from tests.core.kit import Game, agent, flow, review


def calls(game: Game, path: str, digests: str, kind: str = "malformed") -> int:
    """Answer with these digests, a letter each, while the step is called; how often it was called."""
    for digest in digests:
        if path not in game.in_flight():
            break
        game.end(path, kind, digest=digest.strip(), reason="contract")
    return sum(event.path == path for event in game.events(AttemptStarted))


@pytest.mark.parametrize(
    ("digests", "number"),
    [
        ("aaaaaaaaaa", 3),  # once more to repair it, once as a new attempt
        ("abcdefghij", 9),
        ("          ", 9),  # an answer whose text is not recorded may be a different one
        ("abbaaabbbb", 6),
        ("abcabcabcd", 9),
    ],
)
def test_an_identical_malformed_answer_ends_the_repairs_and_then_the_attempts(
    digests: str, number: int
) -> None:
    game = Game(flow(agent("a", retry=Retry(attempts=3, on_exhausted="fail", stated=True))))
    assert calls(game, "a", digests) == number
    assert game.outcome("a") == ("failed", "contract")


def test_the_attempts_of_other_failures_are_not_shortened() -> None:
    game = Game(flow(agent("a", retry=Retry(attempts=3, on_exhausted="fail", stated=True))))
    assert calls(game, "a", "aaaaaa", "failed") == 3
    assert [event.why for event in game.events(AttemptQueued)] == ["counted", "counted"]


def test_a_reviewer_that_repeats_its_malformed_answer_is_called_twice() -> None:
    game = Game(flow(agent("a"), review("r", "a")))
    game.end("a")
    assert calls(game, "r/j1", "aaaaaa") == 2
    assert game.outcome("r/j1") == ("error", "contract")

"""What a person sends reaches the attempts that need it, also in a run that continues another."""

from __future__ import annotations

import pytest

from podium.core.events import AttemptStarted
from podium.core.messages import Guide
from podium.core.payloads import CarriedGuidance
from podium.core.policy import Retry
from podium.core.types import Address
from tests.core.kit import Game, agent, command, flow, gates, on


def sent(game: Game) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(event.path, event.attempt, event.guidance) for event in game.events(AttemptStarted)]


@pytest.mark.req("R198")
@pytest.mark.parametrize("kind", ["failed", "malformed", "timeout", "transient", "quota"])
def test_an_attempt_that_fails_leaves_its_guidance_to_the_next(kind: str) -> None:
    game = Game(flow(command("first"), agent("a", retry=Retry(attempts=3))))
    game.send(Guide("me", "be brief"))
    game.end("first")
    game.end("a", kind)
    if kind in ("transient", "quota"):
        game.wait_for_retry("a")

    assert sent(game)[1:] == [("a", 1, ("be brief",)), ("a", 2, ("be brief",))]


def test_later_guidance_is_added_to_that_of_earlier_attempts() -> None:
    game = Game(flow(command("first"), agent("a", retry=Retry(attempts=3))))
    game.send(Guide("me", "be brief"))
    game.end("first")
    game.send(Guide("me", "use tabs"))
    game.end("a", "failed")

    assert sent(game)[-1] == ("a", 2, ("be brief", "use tabs"))
    assert game.state.guidance == ()


def test_work_that_its_gate_refuses_is_done_again_with_the_same_guidance() -> None:
    game = Game(flow(command("first"), agent("a", retry=Retry(attempts=2), gates=gates((command("test"),)))))
    game.send(Guide("me", "be brief"))
    game.end("first")
    game.end("a")
    game.end("a#1/test", "failed")

    assert sent(game)[-1] == ("a", 2, ("be brief",))


def test_guidance_of_a_step_that_fails_goes_to_the_step_that_its_failure_leads_to() -> None:
    """Also to a further visit of itself; a step that passes has used it."""
    game = Game(flow(command("first"), agent("a", on=on(failed=1)), agent("b")))
    game.send(Guide("me", "be brief"))
    game.end("first")
    game.end("a", "failed")
    assert sent(game)[-1] == ("a~2", 1, ("be brief",))

    game.end("a~2")

    assert sent(game)[-1] == ("b", 1, ())


@pytest.mark.req("X10")
def test_a_reused_attempt_has_the_guidance_of_its_result_and_a_repeated_step_all_of_it() -> None:
    """Any other text would be another request; what is open waits for the first step that works."""
    facts = {
        "reused": ((Address("a"), 1),),
        "guidance": (
            CarriedGuidance(Address("a"), 1, ("for a",)),
            CarriedGuidance(Address("b~2"), 0, ("for b",)),
            CarriedGuidance(Address("c"), 1, ("for c",)),
        ),
        "open_guidance": ("for the next",),
    }
    game = Game(flow(agent("a"), agent("b"), agent("c")), facts=facts)
    game.end("a", reused="earlier")
    game.end("b")

    assert sent(game) == [("a", 1, ("for a",)), ("b", 1, ("for b", "for the next")), ("c", 1, ("for c",))]


@pytest.mark.req("X10")
def test_a_step_that_may_reuse_its_result_is_not_sent_what_other_visits_received() -> None:
    facts = {
        "reusable": ((Address("a"), 1),),
        "guidance": (
            CarriedGuidance(Address("a"), 1, ("first",)),
            CarriedGuidance(Address("a~2"), 1, ("second",)),
        ),
    }
    game = Game(flow(agent("a", retry=Retry(attempts=2))), facts=facts)
    assert sent(game) == [("a", 1, ("first",))]

    game.end("a", "failed")

    assert sent(game)[-1] == ("a", 2, ("first", "second"))

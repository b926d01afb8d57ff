"""What a person sends reaches the attempts that need it, also in a run that continues another."""

from __future__ import annotations

import pytest

from podium.core.effects import RunAttempt
from podium.core.events import AttemptGuided, AttemptStarted
from podium.core.messages import Cancel, Guide, Recover
from podium.core.model import Agent
from podium.core.payloads import CarriedGuidance
from podium.core.policy import Retry
from podium.core.step_settings import Prompt
from podium.core.types import Address, Millis
from tests.core.kit import Game, agent, command, flow, gates, judge, on


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


def tell(game: Game, path: str, text: str = "be brief", *, refused: str = "", attempt: int = 1) -> None:
    game.send(AttemptGuided(Millis(0), Address(path), attempt, text, "me", refused))


@pytest.mark.req("R198")
def test_guidance_that_a_working_agent_got_is_not_given_to_the_next_step_but_to_its_own_next_attempt() -> (
    None
):
    game = Game(flow(agent("a", retry=Retry(attempts=2)), agent("b")))
    game.send(Guide("me", "be brief"))
    tell(game, "a")
    assert game.state.guidance == ()

    game.end("a", "failed")
    assert sent(game)[-1] == ("a", 2, ("be brief",))

    game.end("a")
    assert sent(game)[-1] == ("b", 1, ())


def test_an_agent_that_is_killed_with_the_engine_is_given_again_what_it_had_got() -> None:
    game = Game(flow(agent("a")))
    game.send(Guide("me", "be brief"))
    tell(game, "a")

    game.send(Recover(2))

    effect = game.state.pending["attempt", Address("a")]
    assert isinstance(effect, RunAttempt)
    assert effect.started.guidance == ("be brief",)


def test_a_working_agent_gets_a_text_once() -> None:
    game = Game(flow(agent("a")))
    game.send(Guide("me", "be brief"))
    tell(game, "a")
    tell(game, "a")
    tell(game, "a", "something else", attempt=2)

    assert len(game.events(AttemptGuided)) == 1


@pytest.mark.parametrize("first", ["a", "b"])
def test_guidance_that_one_of_two_working_agents_refuses_goes_to_the_next_attempt(first: str) -> None:
    other = "b" if first == "a" else "a"
    game = Game(
        flow(
            agent("a", touches=("a",)),
            agent("b", touches=("b",), retry=Retry(attempts=2)),
            kind="par",
            block_keys={"parallel": 9},
        )
    )
    game.send(Guide("me", "be brief"))
    for path in (first, other):
        tell(game, path, refused="it cannot" if path == "b" else "")
    assert game.state.guidance == ("be brief",), game.in_flight()

    game.end("b", "failed")

    assert sent(game)[-1] == ("b", 2, ("be brief",))
    assert not game.state.guidance


def test_guidance_that_all_working_agents_got_is_used_up() -> None:
    """A reviewer, and an agent with a literal prompt, get none and are not waited for."""
    literal = Agent(role="worker", prompt=Prompt(""), stdin="x")
    workers = (
        agent("a", touches=("a",)),
        agent("b", touches=("b",)),
        agent("d", touches=("d",), verb=literal),
    )
    steps = (*workers, judge("c"), command("e"))
    game = Game(flow(*steps, kind="par", block_keys={"parallel": 9}))
    game.send(Guide("me", "be brief"))
    tell(game, "a")
    tell(game, "b")

    assert game.state.guidance == ()
    assert [event.stays_open for event in game.events(AttemptGuided)] == [True, False]


def test_an_agent_that_is_being_cancelled_may_still_confirm_what_it_got() -> None:
    game = Game(flow(agent("a")))
    game.send(Guide("me", "be brief"))
    game.send(Cancel("me"))
    tell(game, "a")

    assert game.state.guidance == ()
    game.end("a", "cancelled")
    assert game.outcome()[0] == "cancelled"


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

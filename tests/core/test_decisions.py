"""A breaker decision may name a step or a version, which must exist."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.core.messages import Approve, Refusal
from podium.core.model import Block, Step
from podium.core.policy import Retry
from podium.core.types import Address
from tests.core.kit import Game, agent, command, flow, on
from tests.core.shapes import ADVISOR
from tests.core.test_advice import ONCE, decided, three_rounds


@pytest.mark.req("R129")
@pytest.mark.parametrize(("named", "taken"), [("a", "t1"), ("a~1", "t1"), ("a~2", "t2"), ("", "t2")])
def test_a_decision_can_name_the_version_to_accept(named: str, taken: str) -> None:
    game = three_rounds()
    decided(game, action="force_complete", use_output=named)

    assert game.at("a~4").ending.tree == taken  # type: ignore[union-attr]  # it has ended


@pytest.mark.req("R129")
@pytest.mark.parametrize("named", ["a~1", "inner/a"])
def test_a_version_can_be_named_by_its_address_in_the_block_or_in_the_run(named: str) -> None:
    inner = Step("inner", Block("seq", (agent("a"), command("b", on=on(failed=0)))))
    game = Game(flow(inner, breaker=ONCE))
    game.end_with_change("inner/a")
    game.end("inner/b", "failed")
    decided(game, "inner#1/!advice", action="force_complete", use_output=named)

    assert game.at("inner/a~2").place.adopt == "inner/a"


UNKNOWN = (
    ({"action": "force_complete", "use_output": "a~9"}, "there is no result 'a~9'; available: a, a~2, a~3"),
    (
        {"action": "retry_different", "retry_from": "nope"},
        "'nope' is not a step to go back to; choose from a, q",
    ),
)


@pytest.mark.req("R129")
@pytest.mark.parametrize(("fields", "why"), UNKNOWN)
def test_a_persons_decision_with_an_unknown_name_is_refused_with_the_possible_names(
    fields: dict[str, str], why: str
) -> None:
    game = three_rounds()
    action = fields["action"]
    refused = game.send(Approve(Address("#1/!advice"), action, "me", "because", fields))

    assert refused == Refusal("unknown_name", why)
    assert game.open_questions() == ["#1/!advice"]


@pytest.mark.req("R129", "R131")
@pytest.mark.parametrize(("fields", "why"), UNKNOWN)
def test_an_advisors_decision_with_an_unknown_name_is_invalid(fields: dict[str, str], why: str) -> None:
    game = three_rounds(advisor=ADVISOR)
    game.end("#1/!advice", result={"output": fields})

    assert game.open_questions() == ["#2/!person"]


def test_without_a_passed_visit_no_version_can_be_named() -> None:
    game = Game(flow(command("a", on=on(failed=0)), breaker=ONCE))
    game.end("a", "failed")
    refused = game.send(Approve(Address("#1/!advice"), "force_complete", "me", "", {"use_output": "a"}))

    assert refused == Refusal("unknown_name", "there is no result 'a'; available: none")


def test_a_decision_about_an_attempt_must_not_name_a_step_or_version() -> None:
    game = Game(flow(command("a", retry=Retry(attempts=3)), breaker=replace(ONCE, retries=1)))
    game.end("a", "failed")
    refused = game.send(Approve(Address("a#1/!advice"), "retry_different", "me", "", {"retry_from": "a"}))

    assert refused == Refusal("unknown_name", "'a' does not apply: the question is about one attempt")
    decided(game, "a#1/!advice", action="retry_different")
    assert game.in_flight() == ["a"]

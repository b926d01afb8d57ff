"""The breaker's questions, and how their answers are followed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.events import JumpOrdered, StepEntered
from podium.core.messages import Approve, Jump, Refusal
from podium.core.model import Step
from podium.core.policy import Breaker, Failures, Limits, Retry
from podium.core.types import Address, Millis
from tests.core.kit import (
    Game,
    agent,
    command,
    flow,
    gates,
    on,
    review,
)
from tests.core.shapes import ADVISOR

LOOPING = (agent("a"), command("b", on=on(failed=0)))
ONCE = Breaker(visits=1, cycle=None, repeat=None, plateau=None, reversals=None)


def looped(**rest: Any) -> Game:
    """A run whose breaker asks before the second visit of the first step."""
    game = Game(flow(*LOOPING, **{"breaker": ONCE, **rest}))
    game.end_with_change("a")
    game.end("b", "failed")
    return game


def decided(game: Game, path: str = "#1/!advice", **fields: Any) -> None:
    game.send(Approve(Address(path), fields.pop("action"), "me", "because", fields or None))


def test_the_breaker_asks_before_a_step_exceeds_its_visits() -> None:
    """R126."""
    game = looped()
    assert game.open_questions() == ["#1/!advice"]
    decided(game, action="proceed")
    assert game.in_flight() == ["a~2"]


@pytest.mark.req("R129")
def test_advice_can_send_the_run_to_another_step() -> None:
    """R131: the text of the advice is feedback for that step."""
    game = Game(
        flow(agent("z"), *(replace(s, on=on(failed=1)) if s.on else s for s in LOOPING), breaker=ONCE)
    )
    game.end_with_change("z")
    game.end_with_change("a")
    game.end("b", "failed")
    decided(game, action="retry_different", retry_from="z")
    assert game.events(JumpOrdered)[-1].target == 0
    assert game.open_questions() == ["#2/!advice"]
    decided(game, "#2/!advice", action="proceed")
    assert game.in_flight() == ["z~2"]
    assert "#1/!advice" in game.events(StepEntered)[-1].feedback


@pytest.mark.req("R129")
@pytest.mark.parametrize("name", ["", "a"])
def test_a_retry_of_the_same_step_gets_the_advice_as_feedback(name: str) -> None:
    game = looped()
    decided(game, action="retry_different", retry_from=name)
    assert game.in_flight() == ["a~2"]
    assert "#1/!advice" in game.events(StepEntered)[-1].feedback


@pytest.mark.req("R129")
def test_force_complete_accepts_the_best_visit_or_fails() -> None:
    game = looped()
    decided(game, action="force_complete")
    assert game.outcome("a~2") == ("passed", "exhausted")
    assert game.at("a~2").ending.tree == "a#1"  # type: ignore[union-attr]  # it has ended
    never = Game(flow(command("a", on=on(failed=0)), breaker=ONCE))
    never.end("a", "failed")
    decided(never, action="force_complete")
    assert never.outcome() == ("failed", "exhausted")


def test_the_best_visit_has_the_highest_score() -> None:
    gated = agent("a", gates=gates((Step("q", review("q").verb),)))
    game = Game(flow(gated, command("b", on=on(failed=0)), breaker=replace(ONCE, visits=2)))
    for suffix, score in (("", 9), ("~2", 7)):
        game.end_with_change(f"a{suffix}")
        game.give_verdict(f"a{suffix}#1/q/j1", score=score)
        game.end(f"b{suffix}", "failed")
    decided(game, action="force_complete")
    assert game.at("a~3").ending.tree == "a#1"  # type: ignore[union-attr]  # it has ended


@pytest.mark.req("R129")
@pytest.mark.parametrize("action", ["halt", "dump_context"])
def test_a_person_can_halt_the_run(action: str) -> None:
    game = looped()
    decided(game, action=action)
    assert game.outcome() == ("failed", "halted")
    assert game.state.ended is not None
    assert game.state.ended.exit == 4


def test_a_jump_by_a_person_overrides_the_advice() -> None:
    game = Game(
        flow(agent("z"), *(replace(s, on=on(failed=1)) if s.on else s for s in LOOPING), breaker=ONCE)
    )
    game.end_with_change("z")
    game.end_with_change("a")
    game.end("b", "failed")
    game.send(Jump(Address(""), "z", "me"))
    decided(game, action="proceed")
    assert game.open_questions() == ["#2/!advice"]


@pytest.mark.req("R014", "C4")
def test_an_advisor_without_a_valid_decision_is_not_asked_twice() -> None:
    """R131: the question goes to a person."""
    game = looped(advisor=ADVISOR)
    assert game.in_flight() == ["#1/!advice"]
    game.end("#1/!advice", result={"output": {"action": "shrug"}})
    assert game.open_questions() == ["#2/!person"]
    game.answer("#2/!person", "proceed")
    assert game.in_flight() == ["a~2"]
    nobody = looped(advisor=ADVISOR)
    nobody.end("#1/!advice", "error")
    assert nobody.open_questions() == ["#2/!person"]


@pytest.mark.req("R014", "C4")
def test_without_people_the_breaker_ends_the_step() -> None:
    game = Game(flow(*LOOPING, breaker=ONCE), no_human=True)
    game.end_with_change("a")
    game.end("b", "failed")
    assert game.outcome() == ("failed", "halted")


@pytest.mark.req("C6")
def test_a_question_beyond_the_limit_on_transitions_is_not_asked_by_the_breaker() -> None:
    """R130."""
    limits = Limits(transitions=2)
    assert looped(limits=limits).outcome() == ("failed", "limit")
    step = agent("a", retry=Retry(on_exhausted="human"))
    game = Game(flow(step, limits=Limits(transitions=1)))
    game.end("a", "failed")
    assert game.outcome("a") == ("failed", "limit")
    complete = Game(flow(command("a"), breaker=Breaker(complete=True), limits=Limits(transitions=1)))
    complete.end("a")
    assert complete.outcome() == ("failed", "limit")


def test_the_breaker_can_ask_once_before_a_run_passes() -> None:
    game = Game(flow(command("a"), breaker=Breaker(complete=True)))
    game.end("a")
    assert game.open_questions() == ["#1/!advice"]
    decided(game, action="proceed")
    assert game.outcome() == ("passed", "")
    back = Game(flow(command("a"), breaker=Breaker(complete=True)))
    back.end("a")
    nowhere = back.send(Approve(Address("#1/!advice"), "retry_different", "me"))
    assert nowhere == Refusal("unknown_name", "the step to go back to is missing; choose from a")
    decided(back, action="retry_different", retry_from="a")
    back.end("a~2")
    assert back.outcome() == ("passed", "")


@pytest.mark.req("R134", "C6")
@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ({"repeat": 2}, {"digest": "same", "tree": None}),
        ({"similar": 90}, {"digest": "", "similarity_percent": 95}),
    ],
)
def test_the_breaker_asks_about_repeated_work(rule: dict[str, Any], answer: dict[str, Any]) -> None:
    """R105, R126."""
    quiet = {"visits": None, "cycle": None, "repeat": None, "plateau": None, "reversals": None}
    game = Game(flow(*LOOPING, breaker=Breaker(**{**quiet, **rule})))
    for number in range(1, 5):
        suffix = "" if number == 1 else f"~{number}"
        game.end(f"a{suffix}", **answer)
        game.end(f"b{suffix}", "failed")
        if game.open_questions():
            break
    assert game.open_questions() == ["#1/!advice"]
    assert game.at("#1/!advice").place.topic == next(iter(rule))


@pytest.mark.parametrize(
    ("rule", "judged"), [({"disagree": 4}, (9, 3)), ({"reversals": 1}, (9, 9)), ({"plateau": 2}, (5, 5))]
)
def test_the_breaker_asks_about_reviews_that_go_in_circles(
    rule: dict[str, int], judged: tuple[int, int]
) -> None:
    """R126, R131."""
    quiet = {"visits": None, "cycle": None, "repeat": None, "plateau": None, "reversals": None}
    steps = (agent("a"), replace(review("q", "a", judges=2), on=on(rejected=0)))
    game = Game(flow(*steps, breaker=Breaker(**{**quiet, **rule})))  # type: ignore[arg-type]  # rules by name
    for number in range(1, 6):
        suffix = "" if number == 1 else f"~{number}"
        game.end_with_change(f"a{suffix}")
        finding = {"id": "f", "severity": "major", "reverses": "g"}
        game.give_verdict(f"q{suffix}/j1", "reject", judged[0], findings=(finding,))
        game.give_verdict(f"q{suffix}/j2", "reject", judged[1])
        if game.open_questions():
            break
    assert game.at("#1/!advice").place.topic == next(iter(rule))


QUIET: dict[str, Any] = {"visits": None, "cycle": None, "repeat": None, "plateau": None, "reversals": None}


def _rounds(rules: Breaker, *rounds: tuple[str, dict[str, Any]], **rest: Any) -> Game:
    """Run a writer and a reviewer; each round is the writer's tree and the reviewer's findings."""
    steps = (agent("a"), replace(review("q", "a"), on=on(rejected=0, passed=0)))
    game = Game(flow(*steps, breaker=rules, **rest))
    for number, (tree, said) in enumerate(rounds, start=1):
        suffix = "" if number == 1 else f"~{number}"
        game.end(f"a{suffix}", tree=tree, digest=tree)
        decision, score = said.get("decision", "reject"), said.get("score", 5)
        game.give_verdict(f"q{suffix}/j1", decision, score, findings=said.get("findings", ()))
    return game


def _finding(status: str) -> dict[str, Any]:
    return {"id": "F1", "severity": "major", "issue": "too long", "status": status}


def test_the_breaker_asks_when_a_reviewer_reopens_a_fixed_finding() -> None:
    """X5 R132: the reversal is detected without being declared."""
    other = {"id": "F2", "severity": "major", "issue": "no test", "status": "open"}
    game = _rounds(
        Breaker(**{**QUIET, "reversals": 1}),
        ("t1", {"findings": (_finding("open"),)}),
        ("t2", {"findings": (_finding("fixed"), other)}),
        ("t3", {"findings": (_finding("open"),)}),
    )
    assert game.at("#1/!advice").place.topic == "reversals"


def test_a_finding_that_stays_open_or_fixed_is_not_a_reversal() -> None:
    game = _rounds(
        Breaker(**{**QUIET, "reversals": 1}),
        ("t1", {"findings": (_finding("open"),)}),
        ("t2", {"findings": (_finding("open"),)}),
        ("t3", {"findings": (_finding("fixed"),), "decision": "reject"}),
        ("t4", {"findings": (_finding("fixed"),), "decision": "reject"}),
    )
    assert game.open_questions() == []


def test_the_breaker_asks_when_a_reviewer_changes_its_verdict_on_the_same_tree() -> None:
    """X5"""
    game = _rounds(
        Breaker(**{**QUIET, "reversals": 1}),
        ("t1", {"findings": (_finding("open"),)}),
        ("t1", {"decision": "approve"}),
    )
    assert game.at("#1/!advice").place.topic == "reversals"


def three_rounds(**rest: Any) -> Game:
    rounds = [
        (tree, {"findings": (_finding("open"),), "score": score})
        for tree, score in (("t1", 4), ("t2", 8), ("t3", 5))
    ]
    return _rounds(Breaker(**{**QUIET, "visits": 3}), *rounds, **rest)


def test_force_complete_accepts_the_version_with_the_best_review_score() -> None:
    """R132: even if the review is a separate step and the newest version is worse."""
    game = three_rounds()
    decided(game, action="force_complete")

    assert game.at("a~4").place.adopt == "a~2"
    assert game.at("a~4").ending.tree == "t2"  # type: ignore[union-attr]  # it has ended


def test_an_unscored_version_ranks_below_the_newest() -> None:
    rounds = [(tree, {"findings": (_finding("open"),), "score": None}) for tree in ("t1", "t2", "t3")]
    game = _rounds(Breaker(**{**QUIET, "visits": 3}), *rounds)
    decided(game, action="force_complete")

    assert game.at("a~4").ending.tree == "t3"  # type: ignore[union-attr]  # it has ended


@pytest.mark.req("R134")
def test_the_breaker_asks_about_work_that_alternates_between_two_versions() -> None:
    """R105 R126"""
    rounds = [(tree, {"findings": (_finding("open"),)}) for tree in ("t1", "t2", "t1")]
    game = _rounds(Breaker(**{**QUIET, "repeat": 2}), *rounds)

    assert game.at("#1/!advice").place.topic == "repeat"


def test_the_breaker_can_ask_about_attempts_within_one_visit() -> None:
    rules = Breaker(retries=1)
    for action, outcome in (("halt", "failed"), ("force_complete", "failed"), ("dump_context", "failed")):
        game = Game(flow(agent("a", retry=Retry(attempts=3)), breaker=rules))
        game.end("a", "failed")
        decided(game, "a#1/!advice", action=action)
        assert game.outcome("a")[0] == outcome
    game = Game(flow(agent("a", retry=Retry(attempts=1)), breaker=rules, advisor=ADVISOR))
    game.end("a", "failed")
    game.end("a#1/!advice", result={"output": "nonsense"})
    decided(game, "a#1/!person", action="proceed")
    assert game.in_flight() == ["a"]


def test_the_breaker_does_not_ask_about_attempts_of_gates() -> None:
    """R126: the rule applies to the attempts of a working step, not to its gates."""
    judged = gates((command("t", retry=Retry(attempts=2)),), (review("q"),))
    game = Game(flow(agent("a", gates=judged, retry=Retry(attempts=2)), breaker=Breaker(retries=1)))
    game.end_with_change("a")
    game.end("a#1/t", "failed")
    game.wait_for_retry("a#1/t")
    assert (game.open_questions(), game.in_flight()) == ([], ["a#1/t"])
    game.end("a#1/t")
    game.give_verdict("a#1/q/j1", "reject")
    assert game.open_questions() == ["a#1/!advice"]


def test_the_breaker_asks_about_each_total_once() -> None:
    """R126."""
    game = Game(
        flow(
            *(command(f"s{n}") for n in range(4)),
            breaker=Breaker(transitions=2),
            limits=Limits(transitions=50),
        )
    )
    game.end("s0")
    game.end("s1")
    assert game.at("#1/!advice").place.topic == "transitions"
    decided(game, action="proceed")
    game.end("s2")
    game.end("s3")
    assert game.outcome() == ("passed", "")


@pytest.mark.req("R133")
@pytest.mark.parametrize(("apart", "asked"), [(10_000, ["#1/!advice"]), (200_000, [])])
def test_the_breaker_asks_after_several_failures_within_a_period(apart: int, asked: list[str]) -> None:
    """Three failures within five minutes ask; the same failures spread out do not."""
    rules = Breaker(**{**QUIET, "failures": Failures(3, Millis(300_000))})
    game = Game(flow(agent("a"), command("b", on=on(failed=0)), breaker=rules))
    for number in range(1, 4):
        suffix = "" if number == 1 else f"~{number}"
        game.end_with_change(f"a{suffix}")
        game.now = Millis(game.now + apart)
        game.end(f"b{suffix}", "failed")
    assert game.open_questions() == asked
    if asked:
        assert (game.at(asked[0]).place.topic, game.in_flight()) == ("failures", [])
        decided(game, action="proceed")
    assert game.in_flight() == ["a~4"]


@pytest.mark.req("R133")
def test_failures_are_counted_for_each_step_of_its_own() -> None:
    """Two steps that failed twice each are not one step that failed four times."""
    rules = Breaker(**{**QUIET, "failures": Failures(3, Millis(300_000))})
    game = Game(flow(agent("a"), command("b", on=on(failed=0)), command("c", on=on(failed=0)), breaker=rules))
    for number, failing in enumerate(("b", "c", "b", "c"), 1):
        suffix = "" if number == 1 else f"~{number}"
        game.end_with_change(f"a{suffix}")
        game.end(f"b{suffix}", "failed" if failing == "b" else "ok")
        if failing == "c":
            game.end("c" if number == 2 else "c~2", "failed")
    assert (game.open_questions(), game.in_flight()) == ([], ["a~5"])


@pytest.mark.req("R133")
def test_the_breaker_asks_again_after_as_many_further_failures_of_the_step() -> None:
    rules = Breaker(**{**QUIET, "failures": Failures(2, Millis(300_000))})
    game = Game(flow(agent("a"), command("b", on=on(failed=0)), breaker=rules))
    asked = []
    for number in range(1, 5):
        suffix = "" if number == 1 else f"~{number}"
        game.end_with_change(f"a{suffix}")
        game.end(f"b{suffix}", "failed")
        for question in game.open_questions():
            asked.append(question)
            decided(game, question, action="proceed")
    assert asked == ["#1/!advice", "#2/!advice"]
    assert game.in_flight() == ["a~5"]

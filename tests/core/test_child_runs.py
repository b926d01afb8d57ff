"""A run in another repository, as the core sees it: one attempt with all that is left, and no files."""

from __future__ import annotations

from podium.core.events import AttemptLost, AttemptStarted
from podium.core.model import Call, ForEach, Step, Workflow
from podium.core.payloads import Amounts
from podium.core.policy import Limits
from podium.core.queries.child_runs import child_runs, with_child_runs
from podium.core.step_settings import OtherProject
from podium.core.types import Address, MicroUsd, Millis
from podium.workflow.expressions.parser import parse_value
from tests.core.kit import BASE, Game, agent, block, command, flow

API = OtherProject("../api", "release.yaml")


def other(name: str, **limits: int) -> Step:
    most = Limits(**limits)  # type: ignore[arg-type]  # amounts as plain numbers
    return Step(name, Call(flow(agent("work"), limits=most), (), API), touches=(), has_worker=True)


def limits(**amounts: int) -> Limits:
    return Limits(**amounts)  # type: ignore[arg-type]  # amounts as plain numbers


def reserved(workflow: Workflow) -> Amounts:
    [started] = Game(with_child_runs(workflow)).events(AttemptStarted)
    amounts: Amounts = started.reserve
    return amounts


def test_every_place_of_a_workflow_is_changed() -> None:
    loop = Step("each", ForEach(parse_value("${{ [1] }}"), other("each")))
    inner = Step("inner", Call(flow(other("deep"))))
    group = Step("group", block("seq", other("one"), command("two")))
    last = Step("finally", block("seq", other("tidy")))

    changed = with_child_runs(flow(loop, inner, group, finally_=last))

    assert [path for path, _ in child_runs(changed)] == ["each", "inner/deep", "group/one", "finally/tidy"]
    assert not any(run.usd for _, run in child_runs(changed))


def test_a_workflow_without_other_repositories_stays_the_same_object() -> None:
    workflow = flow(command("a"))

    assert with_child_runs(workflow) is workflow


def test_it_reserves_what_the_limits_around_it_and_its_own_leave() -> None:
    assert reserved(flow(other("a"))) == Amounts()
    assert reserved(flow(other("a", usd=3, tokens=7), limits=limits(usd=5, calls=2))) == Amounts(
        MicroUsd(3), 7, 2
    )


def test_what_it_used_counts_and_too_little_starts_nothing() -> None:
    game = Game(with_child_runs(flow(other("a"), other("b"), limits=limits(usd=5))))

    game.end("a", used=Amounts(MicroUsd(5)))

    assert game.outcome("b") == ("failed", "limit")
    assert game.state.usd == 5


def test_a_crash_books_nothing_because_the_other_log_knows() -> None:
    game = Game(with_child_runs(flow(other("a"), limits=limits(usd=5))))

    game.send(AttemptLost(Millis(0), Address("a"), 1))

    assert game.state.ledgers[Address("")].unknown == Amounts()
    assert game.in_flight() == ["a"]


def test_it_is_not_working_time_and_asks_about_no_price() -> None:
    game = Game(with_child_runs(flow(other("a"), limits=limits(calls=3, time=1_000))))

    assert game.events(AttemptStarted)[0].timeout is None
    game.now = Millis(9_000_000)
    game.end("a")
    assert game.outcome() == ("passed", "")


def test_a_simulation_plays_its_steps_and_drops_their_files() -> None:
    game = Game(flow(other("a"), command("b")))

    game.end_with_change("a/work")

    assert game.events(AttemptStarted)[-1].start == BASE

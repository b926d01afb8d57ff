"""Decisions that random workflows rarely reach: loops, waits, expressions, verdicts, claims."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from podium.core.decide.pass_rules import blocks
from podium.core.effects import RunAttempt
from podium.core.events import AttemptStarted, StepEntered
from podium.core.expressions.nodes import And, Compare, Const
from podium.core.expressions.nodes import Call as Function
from podium.core.expressions.templates import Text, Value
from podium.core.messages import Cancel
from podium.core.model import Agent, Call, Command, ForEach, Git, Repeat, Set, Step, Target, Wait, Workflow
from podium.core.payloads import Verdict
from podium.core.policy import Limits, Retry
from podium.core.queries.pending import is_parkable, next_due
from podium.core.types import Address, Millis
from tests.core.kit import (
    FALSE,
    TRUE,
    Game,
    agent,
    block,
    check,
    command,
    flow,
    gates,
    human,
    name_of,
    on,
    review,
    sets,
    signal,
)
from tests.core.shapes import exists


def test_a_verdict_must_exist_and_be_about_the_tree_that_was_shown() -> None:
    """R111: without a verdict there is no approval."""
    for verdict, reason in ((None, "contract"), (Verdict("approve", 9, tree=None), "stale")):
        game = Game(flow(agent("a"), review("q", "a")), no_human=True)
        game.end_with_change("a")
        game.end("q/j1", verdict=verdict)
        assert game.outcome("q/j1") == ("error", reason)
        assert game.outcome("q") == ("error", "no_verdict")
    failed = Game(flow(agent("a"), review("q", "a")))
    failed.end_with_change("a")
    failed.end("q/j1", "failed", reason="crash")
    assert failed.outcome("q/j1") == ("error", "crash")
    garbled = Game(flow(agent("a"), review("q", "a")))
    garbled.end_with_change("a")
    for _ in range(3):
        garbled.end("q/j1", "malformed")
    assert garbled.outcome("q/j1") == ("error", "contract")


def test_findings_below_the_bar_do_not_reject_and_unknown_severities_do() -> None:
    assert blocks({"severity": "minor"}, "major") is False
    assert blocks({"severity": "critical", "status": "fixed"}, "major") is False
    assert blocks({"severity": "strange"}, "major") is True
    game = Game(flow(agent("a"), review("q", "a", min_score=7)))
    game.end_with_change("a")
    game.give_verdict("q/j1", "approve", 6)
    assert game.outcome("q") == ("rejected", "rejected")
    minor = Game(flow(agent("a"), review("q", "a")))
    minor.end_with_change("a")
    minor.give_verdict("q/j1", "reject", 8, findings=({"severity": "minor"},))
    assert minor.outcome("q") == ("passed", "")
    bare = Game(flow(agent("a"), review("q", "a")))
    bare.end_with_change("a")
    bare.give_verdict("q/j1", "reject", 8)
    assert bare.outcome("q") == ("rejected", "rejected")


@pytest.mark.parametrize("status", ["fixed", "disputed"])
def test_a_rejection_with_only_closed_findings_stays_a_rejection(status: str) -> None:
    game = Game(flow(agent("a"), review("q", "a")))
    game.end_with_change("a")
    game.give_verdict("q/j1", "reject", 3, findings=({"severity": "critical", "status": status},))
    assert game.outcome("q") == ("rejected", "rejected")


def test_only_the_listed_exit_codes_are_retried() -> None:
    """R136."""
    step = Step("a", Command(("x",), exit_codes=(75,)), touches=(), retry=Retry(attempts=3))
    game = Game(flow(step))
    game.end("a", "failed", result={"exit_code": 75})
    game.wait_for_retry("a")
    assert game.in_flight() == ["a"]
    game.end("a", "failed", result={"exit_code": 1})
    assert game.outcome("a") == ("failed", "")


def test_a_path_violation_has_its_own_exit_code() -> None:
    """R143."""
    game = Game(flow(command("a")))
    game.end("a", "error", reason="path")
    assert game.state.ended is not None
    assert game.state.ended.exit == 3


def test_landing_always_starts_from_the_head() -> None:
    game = Game(flow(Step("g", Git(land="main"), touches=(), retry=Retry(attempts=2))))
    game.end("g", "failed", tree="half")
    game.wait_for_retry("g")
    effect = game.state.pending[("attempt", Address("g"))]
    assert isinstance(effect, RunAttempt)
    assert effect.started.start == "base"


def test_an_expression_that_cannot_be_evaluated_ends_the_step() -> None:
    broken = name_of("vars.none")
    assert Game(flow(replace(command("a"), when=broken))).outcome("a") == ("error", "expression")
    assert Game(flow(replace(command("a"), when=Const(3)))).outcome("a") == ("error", "expression")
    assert Game(flow(check("a", broken))).outcome("a")[0] == "failed"
    assert Game(flow(sets("a", x=broken))).outcome("a") == ("error", "expression")
    assert Game(flow(Step("r", Repeat(command("r"), broken, "while", 2)))).outcome("r") == (
        "error",
        "expression",
    )
    output = Game(flow(Step("g", block("seq", sets("s", x=1), output=broken))))
    assert output.outcome("g") == ("error", "expression")
    files = Game(flow(Step("g", block("seq", sets("s", x=1), output=exists("x")))))
    assert files.outcome("g") == ("error", "expression")


def test_facts_about_files_are_requested_before_the_decision() -> None:
    for step in (
        check("a", exists("x")),
        sets("a", x=exists("x")),
        Step("a", Repeat(command("a"), exists("x"), "while", 2)),
    ):
        game = Game(flow(step))
        assert ("fact", Address("a")) in game.state.pending
        game.report_fact("a", value=False)
        assert game.at("a").ending is not None


def test_one_condition_can_need_several_facts() -> None:
    game = Game(flow(check("a", And((exists("x"), exists("y"))))))
    game.report_fact("a", value=True)
    game.report_fact("a", value=True)
    assert game.outcome("a")[0] == "passed"


def test_counts_can_be_expressions() -> None:
    step = agent("a", retry=Retry(attempts=name_of("inputs.n")))
    game = Game(flow(step), inputs={"n": 2})
    game.end("a", "failed")
    assert game.in_flight() == ["a"]
    game.end("a", "failed")
    assert game.outcome("a")[0] == "failed"
    for value in ("two", True, 0):
        odd = Game(flow(step), inputs={"n": value})
        odd.end("a", "failed")
        assert odd.outcome("a")[0] == "failed"
    missing = Game(flow(step))
    missing.end("a", "failed")
    assert missing.outcome("a")[0] == "failed"
    asks = Game(
        flow(
            Step(
                "r", Repeat(command("r"), TRUE, "until", Function("len", (Function("glob", (Const("*"),)),)))
            )
        )
    )
    asks.end("r[1]")
    assert asks.outcome("r") == ("passed", "")


@pytest.mark.req("C35")
def test_a_claim_is_the_value_of_the_touches_expression() -> None:
    """X8."""
    par = {"parallel": 3}
    wild = agent("a", touches=name_of("inputs.globs"))
    game = Game(
        flow(wild, agent("b", touches=("docs/**",)), kind="par", block_keys=par), inputs={"globs": ["src/**"]}
    )
    assert [event.claim for event in game.events(StepEntered)] == [("src/**",), ("docs/**",)]
    text = Game(
        flow(wild, agent("b", touches=("docs/**",)), kind="par", block_keys=par), inputs={"globs": "x"}
    )
    assert [event.claim for event in text.events(StepEntered)] == [("x",), ("docs/**",)]
    broken = Game(flow(agent("a", touches=name_of("vars.none")), agent("b"), kind="par", block_keys=par))
    assert [event.claim for event in broken.events(StepEntered)] == [("**",)]


@pytest.mark.req("R167", "C35")
def test_a_waiting_claim_lets_attempts_that_do_not_overlap_it_start() -> None:
    """X8: an attempt that overlaps it does not overtake it."""
    globs = ("src/**", "src/a", "src/b", "docs/**")
    steps = tuple(agent(f"s{n}", touches=(glob,)) for n, glob in enumerate(globs))
    game = Game(flow(*steps, kind="par", max_parallel=9, block_keys={"parallel": 9}))
    assert game.in_flight() == ["s0", "s3"]
    many = tuple(agent(f"m{n}", touches=("src/**",)) for n in range(40))
    wide = Game(
        flow(
            *many, agent("z", touches=("docs/**",)), kind="par", max_parallel=99, block_keys={"parallel": 99}
        )
    )
    assert wide.in_flight() == ["m0"]


def test_a_wait_ends_by_timer_by_signal_or_by_timeout() -> None:
    day = 86_400_000
    noon = Game(flow(Step("t", Wait("until_time", minute_of_day=720), touches=())))
    assert next_due(noon.state) == day // 2
    noon.fire_timer("t", day // 2)
    assert noon.outcome("t") == ("passed", "")
    early = Game(flow(Step("t", Wait("until_time", minute_of_day=0), touches=())))
    assert next_due(early.state) == day
    for kind, outcome in (("ok", "passed"), ("failed", "failed"), ("error", "error")):
        game = Game(flow(Step("t", Wait("poll", MappingProxyType({"poll": ("x",)})), touches=())))
        game.end_wait("t", kind)
        assert game.outcome("t")[0] == outcome


def test_the_pending_effects_decide_whether_a_run_can_be_parked() -> None:
    """R155."""
    asking = Game(flow(human("h", timeout=60_000, remind=Millis(5_000))))
    assert is_parkable(asking.state)
    assert next_due(asking.state) == 6_000
    working = Game(flow(command("a")))
    assert not is_parkable(working.state)
    assert next_due(working.state) is None
    assert isinstance(working.state.pending.get(("attempt", Address("a"))), RunAttempt)
    working.send(Cancel("me"))
    assert not is_parkable(working.state)
    paused = Game(flow(command("a")))
    paused.end("a", "transient")
    assert is_parkable(paused.state)
    assert next_due(paused.state) is not None
    waiting = Game(flow(signal("s", timeout=Millis(9_000))))
    assert next_due(waiting.state) == 10_000
    endless = Game(flow(signal("s")))
    assert next_due(endless.state) is None


@pytest.mark.req("C7")
def test_a_block_is_retried_and_accepted_only_if_it_is_fit() -> None:
    """R116."""
    retry = Retry(attempts=1, on_exhausted="human", stated=True)
    gated = gates((command("t"),), (Step("q", review("q").verb),))
    step = Step("g", block("seq", agent("x")), gates=gated, retry=retry, has_worker=True)
    game = Game(flow(step))
    game.end_with_change("g/x")
    game.end("g#1/t")
    game.give_verdict("g#1/q/j1", "reject", 2)
    assert game.open_questions() == ["g#1/!exhausted"]
    game.answer("g#1/!exhausted", "accept")
    assert game.outcome("g") == ("passed", "exhausted")
    again = Game(flow(step))
    again.end_with_change("g/x")
    again.end("g#1/t", "failed")
    again.answer("g#1/!exhausted", "accept")
    assert again.outcome("g") == ("failed", "gates")
    alone = Game(flow(step), no_human=True)
    alone.end_with_change("g/x")
    alone.end("g#1/t", "failed")
    assert alone.outcome("g") == ("failed", "gates")
    best = Game(flow(replace(step, retry=replace(retry, on_exhausted="accept_best"))))
    best.end_with_change("g/x")
    best.end("g#1/t")
    best.give_verdict("g#1/q/j1", "reject", 2)
    assert best.outcome("g") == ("passed", "exhausted")


def test_break_ends_the_loop_through_nested_blocks() -> None:
    inner = Step("i", block("seq", command("x", on=on(passed="break")), command("y")))
    body = Step("e", block("seq", inner, command("z")))
    game = Game(flow(Step("e", ForEach((1, 2), body))))
    game.end("e[1]/i/x")
    assert game.outcome("e") == ("passed", "")
    again = Game(flow(Step("r", Repeat(replace(body, name="r"), FALSE, "until", 5))))
    again.end("r[1]/i/x")
    assert again.outcome("r") == ("passed", "")
    graph = Step("e", block("dag", inner, Step("z", command("z").verb, needs=(0,), touches=())))
    left = Game(flow(Step("e", ForEach((1, 2), graph))))
    left.end("e[1]/i/x")
    assert left.outcome("e") == ("passed", "")
    wide = Step("e", block("par", inner, command("z"), parallel=2))
    par = Game(flow(Step("e", ForEach((1, 2), wide))))
    par.end("e[1]/i/x")
    par.end("e[1]/z")
    assert par.outcome("e") == ("passed", "")


def test_a_jump_back_in_a_graph_does_not_bypass_a_failed_need() -> None:
    """R164: a failed need blocks the step on its next visit too; the breaker ends the circle."""
    back = on(blocked=1)
    steps = (command("a"), command("b", needs=(0,)), command("c", needs=(1,), on=back))
    game = Game(flow(*steps, kind="dag"))
    game.end("a", "failed")
    assert game.in_flight() == []
    assert game.outcome("b~2") == ("blocked", "blocked")
    assert game.open_questions() == ["#1/!advice"]


def test_a_step_with_a_failed_need_does_not_adopt_an_earlier_visit() -> None:
    """R164: `accept_best` would continue with a result whose needs are no longer valid."""
    best = Retry(visits=1, on_exhausted="accept_best", stated=True)
    steps = (
        command("a"),
        command("b", needs=(0,), retry=best),
        command("c", needs=(1,), on=on(failed=0, blocked=1)),
    )
    game = Game(flow(*steps, kind="dag"))
    game.end("a")
    game.end("b")
    game.end("c", "failed")
    game.end("a~2", "failed")
    assert game.outcome("b~2") == ("blocked", "blocked")
    assert game.outcome("b~3") == ("blocked", "blocked")


def test_a_pass_by_a_fallback_agent_is_marked_as_degraded() -> None:
    verb = Agent(role="worker", fallback=("other",))
    game = Game(flow(agent("a", verb=verb)))
    game.end("a", "unavailable")
    assert game.events(AttemptStarted)[-1].agent == 1
    game.end_with_change("a")
    assert game.at("a").ending.degraded is True  # type: ignore[union-attr]  # it has ended
    gone = Game(flow(agent("a")))
    gone.end("a", "unavailable", reason="login")
    assert gone.outcome("a") == ("error", "login")
    quota = Game(flow(agent("a")))
    quota.end("a", "quota", retry_at=Millis(50_000))
    assert next_due(quota.state) == 50_000


def test_a_limit_hit_by_a_steps_question_is_hard() -> None:
    step = agent("a", retry=Retry(on_exhausted="human"))
    game = Game(flow(Step("g", block("seq", step), limits=Limits(transitions=1)), command("z", on=on())))
    game.end("g/a", "failed")
    assert game.outcome("g/a") == ("failed", "limit")
    assert game.outcome("g") == ("failed", "limit")


def test_a_child_workflow_that_times_out_still_runs_finally() -> None:
    """R142."""
    clean = Step("finally", block("seq", command("t")))
    child = Workflow("child", block("seq", command("c")), finally_=clean)
    game = Game(flow(Step("k", Call(child), timeout=Millis(60_000))))
    game.fire_timer("k", 61_000)
    game.end("k/c", "cancelled")
    assert game.in_flight() == ["k/finally/t"]
    game.end("k/finally/t")
    assert game.outcome("k") == ("timeout", "")


def test_a_condition_reads_the_results_of_finished_steps() -> None:
    test = Compare("==", name_of("steps.a.outcome"), Const("passed"))
    game = Game(flow(command("a"), replace(command("b"), when=test)))
    game.end("a")
    assert game.in_flight() == ["b"]
    values = Set((("x", name_of("steps.a.outcome")),))
    setting = Game(flow(command("a"), Step("s", values, touches=())))
    setting.end("a")
    assert setting.outcome() == ("passed", "")


@pytest.mark.req("R029")
@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("no", "no"),
        (Text(("it ended with ", name_of("steps.a.exit_code"))), "it ended with 3"),
        (name_of("vars.n"), "4"),
        (name_of("vars.nobody"), "E_VAR_MISSING: vars.nobody has not been set"),
        (exists("x"), ""),
        (None, ""),
    ],
)
@pytest.mark.parametrize("kind", ["seq", "dag"])
def test_the_message_of_a_route_is_filled_in(message: Value, said: str, kind: str) -> None:
    leads = MappingProxyType({"failed": Target("fail", message=message)})
    game = Game(flow(command("a", on=leads), kind=kind, vars={"n": 4}))
    game.end("a", "failed", result={"exit_code": 3})
    assert game.state.ended is not None
    assert game.state.ended.message == said


@pytest.mark.req("C42")
@pytest.mark.parametrize(("attempts", "tries"), [(1, 1), (2, 2), (3, 2), (9, 2)])
def test_a_timeout_is_retried_once_if_the_step_has_attempts(attempts: int, tries: int) -> None:
    game = Game(flow(agent("a", retry=Retry(attempts=attempts, on_exhausted="fail"))))
    while game.in_flight():
        game.end("a", "timeout")
    assert len(game.events(AttemptStarted)) == tries
    assert game.outcome("a") == ("timeout", "")

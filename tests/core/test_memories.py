"""Memories: pinned before the first use, advanced by passed steps, merged when the run passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.codec import decode, encode
from podium.core.events import AttemptEnded, FactsAsked, RunEnded, StepEnded
from podium.core.model import Step
from podium.core.payloads import MemoryChange, RunMemory
from podium.core.policy import Retry
from podium.core.queries.memories import memory_of
from podium.core.types import MERGE_MEMORY as MERGE
from podium.core.types import PIN_MEMORY as PIN
from podium.core.types import Tree
from tests.core.kit import FALSE, Game, agent, block, check, command, flow, gates, on, review

PINNED = {"tip": "c0", "tree": "t0"}


def learner(name: str, **rest: Any) -> Step:
    return replace(command(name, **rest), memory="lessons")


def change(before: str, after: str) -> MemoryChange:
    return MemoryChange("lessons", Tree(before), Tree(after))


def asked(game: Game) -> list[tuple[str, str, str]]:
    return [(event.path, event.function, event.argument) for event in game.events(FactsAsked)]


def changes(game: Game) -> list[tuple[str, str]]:
    memory = memory_of(game.state, "lessons")
    assert memory is not None
    return [(each.before, each.after) for each in memory.changes]


def test_a_memory_is_pinned_before_the_first_attempt_and_only_once() -> None:
    game = Game(flow(learner("a"), learner("b")))
    assert game.in_flight() == []
    assert asked(game) == [("a", PIN, "lessons")]
    game.report_fact("a", PINNED)
    assert game.state.memories == (RunMemory("lessons", "c0", Tree("t0")),)
    game.end("a")
    assert game.in_flight() == ["b"]
    assert asked(game) == [("a", PIN, "lessons")]


def test_a_step_that_is_skipped_pins_nothing() -> None:
    game = Game(flow(learner("a", when=FALSE)))
    assert asked(game) == []
    assert game.outcome() == ("passed", "")


def test_of_two_steps_that_ask_at_once_the_first_answer_counts() -> None:
    game = Game(flow(learner("a"), learner("b"), kind="par", block_keys={"parallel": 2}))
    game.report_fact("b", PINNED)
    game.report_fact("a", {"tip": "c1", "tree": "t1"})
    assert memory_of(game.state, "lessons") == RunMemory("lessons", "c0", Tree("t0"))
    assert sorted(game.in_flight()) == ["a", "b"]


def test_a_memory_that_cannot_be_read_ends_its_steps_as_an_error() -> None:
    game = Game(flow(learner("a", on=on(error="next")), learner("b")))
    game.report_fact("a", None)
    assert game.outcome("a") == ("error", "memory")
    assert game.outcome("b") == ("error", "memory")
    assert len(asked(game)) == 1


def test_passed_steps_advance_the_copy_and_continued_changes_are_one() -> None:
    game = Game(flow(learner("a"), learner("b"), learner("c")))
    game.report_fact("a", PINNED)
    game.end("a", memory=change("t0", "t1"))
    assert changes(game) == [("t0", "t1")]
    game.end("b", memory=change("t1", "t1"))
    assert changes(game) == [("t0", "t1")]
    game.end("c", memory=change("t1", "t2"))
    assert changes(game) == [("t0", "t2")]


def test_parallel_steps_leave_one_change_each() -> None:
    game = Game(flow(learner("a"), learner("b"), kind="par", block_keys={"parallel": 2}))
    game.report_fact("a", PINNED)
    game.report_fact("b", PINNED)
    game.end("a", memory=change("t0", "ta"))
    game.end("b", memory=change("t0", "tb"))
    assert changes(game) == [("t0", "ta"), ("t0", "tb")]


def test_failed_attempts_leave_nothing_and_the_next_one_may_pass() -> None:
    game = Game(flow(learner("a", retry=Retry(attempts=2))))
    game.report_fact("a", PINNED)
    game.end("a", "failed", memory=change("t0", "wrong"))
    assert changes(game) == []
    game.wait_for_retry("a")
    game.end("a", memory=change("t0", "right"))
    assert changes(game) == [("t0", "right")]


def test_the_memory_of_an_attempt_that_its_gates_refuse_is_dropped() -> None:
    worker = replace(agent("a", retry=Retry(attempts=2)), memory="lessons")
    game = Game(flow(replace(worker, gates=gates((command("tests"),)))))
    game.report_fact("a", PINNED)
    game.end("a", memory=change("t0", "wrong"))
    game.end("a#1/tests", "failed")
    assert changes(game) == []
    game.end("a", memory=change("t0", "right"))
    game.end("a#2/tests")
    assert changes(game) == [("t0", "right")]


def test_the_best_attempt_brings_its_own_memory() -> None:
    worker = replace(agent("a", retry=Retry(attempts=2, on_exhausted="accept_best")), memory="lessons")
    judged = replace(worker, gates=gates((command("tests"),), (review("judges"),)))
    game = Game(flow(judged))
    game.report_fact("a", PINNED)
    for number, score in ((1, 6), (2, 3)):
        game.end_with_change("a", memory=change("t0", f"t{number}"))
        game.end(f"a#{number}/tests")
        game.give_verdict(f"a#{number}/judges/j1", "reject", score)
    assert game.outcome("a") == ("passed", "exhausted")
    assert changes(game) == [("t0", "t1")]


def test_a_run_that_passed_merges_its_changes_before_it_ends() -> None:
    game = Game(flow(learner("a")))
    game.report_fact("a", PINNED)
    game.end("a", memory=change("t0", "t1"))
    assert asked(game)[-1] == ("", MERGE, "lessons")
    assert game.events(RunEnded) == []
    game.report_fact("", {"commit": "c1", "conflicts": ["x"]})
    assert [event.status for event in game.events(RunEnded)] == ["passed"]
    memory = memory_of(game.state, "lessons")
    assert memory is not None
    assert memory.merge == {"commit": "c1", "conflicts": ["x"]}


def test_a_merge_that_could_not_be_made_does_not_fail_the_run() -> None:
    game = Game(flow(learner("a")))
    game.report_fact("a", PINNED)
    game.end("a", memory=change("t0", "t1"))
    game.report_fact("", None)
    assert game.state.ended is not None
    assert game.state.ended.status == "passed"


def test_each_memory_is_merged_once() -> None:
    other = replace(command("b"), memory="facts")
    game = Game(flow(learner("a"), other))
    game.report_fact("a", PINNED)
    game.end("a", memory=change("t0", "t1"))
    game.report_fact("b", PINNED)
    game.end("b", memory=MemoryChange("facts", Tree("t0"), Tree("f1")))
    for _ in range(2):
        game.report_fact("", {"commit": "c", "conflicts": []})
    assert [each for each in asked(game) if each[1] == MERGE] == [
        ("", MERGE, "lessons"),
        ("", MERGE, "facts"),
    ]
    assert game.state.ended is not None


@pytest.mark.parametrize("last", [check("no", FALSE), learner("b")])
def test_a_run_that_did_not_pass_merges_nothing(last: Step) -> None:
    game = Game(flow(learner("a"), last))
    game.report_fact("a", PINNED)
    game.end("a", memory=change("t0", "t1"))
    if last.name == "b":
        game.end("b", "failed")
    assert all(function != MERGE for _, function, _ in asked(game))
    assert game.state.ended is not None
    assert game.state.ended.status == "failed"


def test_a_block_that_passes_merges_nothing_before_the_run_ends() -> None:
    inner = Step("block", block("seq", learner("a")))
    game = Game(flow(inner, command("last")))
    game.report_fact("block/a", PINNED)
    game.end("block/a", memory=change("t0", "t1"))
    assert all(function != MERGE for _, function, _ in asked(game))
    game.end("last")
    assert asked(game)[-1][1] == MERGE


def test_the_new_fields_of_events_survive_the_log_and_old_logs_have_none() -> None:
    game = Game(flow(learner("a")))
    game.report_fact("a", PINNED)
    game.end("a", memory=change("t0", "t1"))
    for kind in (AttemptEnded, StepEnded):
        (event,) = game.events(kind)
        assert decode(encode(event)) == event
        without = {name: value for name, value in encode(event).items() if name != "memory"}
        old: Any = decode(without)
        assert old.memory is None

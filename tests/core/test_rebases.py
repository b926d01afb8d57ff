"""Work that did not land because its branch had moved continues on top of the branch."""

from __future__ import annotations

from typing import Any

from podium.core.codec import decode, encode
from podium.core.events import AttemptStarted, RunStarted
from podium.core.model import Git, Step
from podium.core.payloads import Amounts, Author, Rebase
from podium.core.queries.rebases import authors_of, tree_at_start
from podium.core.types import Address, Millis, Tree
from podium.tasks.landings import land_work_of
from tests.core.kit import BASE, Game, agent, command, flow, on

RECORD = {
    "branch": "main",
    "commit": "tip",
    "onto": "of tip",
    "tree": "merged",
    "paths": ["a.txt"],
    "step": "write",
    "work": "own",
}
REBASE = Rebase("main", "tip", Tree("of tip"), Tree("merged"), ("a.txt",), "write", "own")


def landing(**rest: Any) -> Step:
    return Step("land", Git(land="main"), touches=(), **rest)


def clash(game: Game, path: str = "land", **record: Any) -> None:
    game.end(path, "failed", reason="conflict", result={"rebase": {**RECORD, **record}})


def land_work(game: Game, path: str = "land~2") -> Any:
    place = game.at(path).place
    return land_work_of(
        game.state,
        AttemptStarted(Millis(0), Address(path), 1, Amounts(), base=place.base, start=place.start),
    )


def test_a_clash_that_goes_back_starts_from_the_merged_work_and_builds_on_the_branch() -> None:
    game = Game(flow(agent("write"), landing(on=on(conflict=0))))
    game.end_with_change("write")
    assert tree_at_start(game.state) == BASE
    clash(game)

    again = game.at("write~2").place
    assert (again.base, again.start) == ("of tip", "merged")
    assert game.at("write~2").feedback == ("land",)
    assert tree_at_start(game.state) == "of tip"
    game.end_with_change("write~2")
    work = land_work(game)
    assert (work.run_base, work.run_start, work.conflicted) == ("tip", "of tip", ("a.txt",))
    assert work.authors == (Author("write", Tree("of tip"), Tree("write~2#1")),)


def test_a_step_without_a_worker_keeps_the_merged_work_on_the_head() -> None:
    game = Game(flow(agent("write"), command("test"), landing(on=on(conflict=1))))
    game.end_with_change("write")
    game.end("test")
    clash(game)

    again = game.at("test~2").place
    assert (again.base, again.start) == ("merged", "merged")


def test_a_failure_of_another_kind_goes_back_to_the_work_as_it_was() -> None:
    game = Game(flow(agent("write"), landing(on=on(failed=0))))
    game.end_with_change("write")
    game.end("land", "failed", reason="in_the_way", result={"message": "a.txt"})

    assert game.at("write~2").place.start == "write#1"
    assert tree_at_start(game.state) == BASE


def test_a_landing_that_passed_and_leads_back_moves_nothing() -> None:
    game = Game(flow(agent("write"), landing(on=on(passed=0))))
    game.end_with_change("write")
    game.end("land", result={"output": {"branch": "main", "commit": "c1"}, "rebase": RECORD})

    assert game.at("write~2").place.start == "write#1"


def test_landings_before_the_work_was_moved_are_part_of_the_branch() -> None:
    first = Step("first", Git(land="main"), touches=())
    game = Game(flow(agent("write"), first, agent("more"), landing(on=on(conflict=2))))
    game.end_with_change("write")
    game.end("first", result={"output": {"branch": "main", "commit": "c1"}})
    game.end_with_change("more")
    clash(game)
    game.end_with_change("more~2")

    assert land_work(game).earlier == ()


def test_a_run_that_continues_another_starts_its_author_on_the_branch() -> None:
    game = Game(flow(command("a"), agent("write"), landing()), facts={"rebase": REBASE})
    game.end("a")

    place = game.at("write").place
    assert (place.base, place.start) == ("of tip", "merged")
    assert game.at("a").place.start == BASE


def test_only_the_step_that_continued_on_the_branch_is_asked_again() -> None:
    game = Game(flow(agent("write"), agent("more"), landing()), facts={"rebase": REBASE})
    game.end_with_change("write")
    game.end_with_change("more")

    assert [author.step for author in authors_of(game.state)] == ["write"]


def test_a_graph_has_no_author_to_continue_it() -> None:
    game = Game(flow(agent("write"), agent("other"), kind="dag"))
    game.end_with_change("write")

    assert authors_of(game.state) == ()


def test_the_log_keeps_a_rebase() -> None:
    game = Game(flow(agent("write")), facts={"rebase": REBASE})
    started = game.events(RunStarted)[0]

    assert decode(encode(started)) == started

"""Teams and notes at their edges: limits while members are asked, what a member reads, and mailboxes nobody has."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    EffectKey,
    FindFact,
    JoinTrees,
    RunAttempt,
    StartTimer,
    Watch,
    effect_key,
)
from podium.core.events import (
    ApprovalAsked,
    AttemptQueued,
    AttemptStarted,
    FactsAsked,
    JoinAsked,
    NoteLeft,
    StepEntered,
    WaitStarted,
)
from podium.core.messages import Refusal, Tell
from podium.core.model import Agent, Step, TeamMember
from podium.core.payloads import Amounts, Ask, Chosen, LeftNote
from podium.core.policy import Limits, Retry
from podium.core.queries.names import InstanceNames
from podium.core.queries.steps import all_steps, with_choice
from podium.core.step_settings import Prompt
from podium.core.types import Address, Millis
from tests.core.kit import BASE, Game, agent, command, flow, gates, human, judge, name_of, on, sets

QA, BOSS = "deliver#1/qa", "deliver#1/boss"


def member(name: str, **rest: Any) -> TeamMember:
    return TeamMember(agent(name, touches=(), verb=Agent(role=name, prompt=Prompt("Answer"))), **rest)


def leader(*team: TeamMember, **rest: Any) -> Step:
    return agent("deliver", verb=Agent(role="engineer", prompt=Prompt("Do it"), team=team), **rest)


def ask(game: Game, path: str, *asks: Ask) -> None:
    game.end(path, "asked", asks=asks, tree=BASE, used=Amounts(calls=1))


def entered(game: Game) -> list[str]:
    return [event.path for event in game.events(StepEntered) if event.role == "member"]


def message_of(game: Game, path: str) -> Any:
    return InstanceNames(game.state, game.at(path)).lookup("message")


def test_a_limit_of_the_run_that_stops_a_member_stops_its_asker() -> None:
    step = leader(member("qa"), member("boss"), on=on(failed="next"))
    game = Game(flow(step, command("land"), limits=Limits(calls=1)))
    ask(game, "deliver", Ask("qa", "good?"), Ask("boss", "may I?"))
    assert game.outcome(QA) == game.outcome("deliver") == game.outcome() == ("failed", "limit")
    assert entered(game) == [QA]
    asker = game.at("deliver").ending
    assert asker is not None and asker.limit_hit == "" and "calls" in asker.message
    assert game.in_flight() == []


def test_a_limit_of_the_asker_itself_that_stops_a_member_leaves_the_routes_of_the_asker() -> None:
    step = leader(member("qa"), limits=Limits(calls=1), on=on(failed="next"))
    game = Game(flow(step, command("land")))
    ask(game, "deliver", Ask("qa", "good?"))
    assert game.outcome("deliver") == ("failed", "limit")
    assert game.in_flight() == ["land"]


def test_a_limit_of_the_run_that_stops_a_review_of_finished_work_stops_the_worker() -> None:
    step = leader(member("qa", when_done=True), on=on(failed="next"))
    game = Game(flow(step, command("land"), limits=Limits(calls=1)))
    game.end("deliver", used=Amounts(calls=1))
    assert game.outcome(QA) == game.outcome("deliver") == game.outcome() == ("failed", "limit")
    assert game.in_flight() == []


def test_a_member_that_only_failed_is_a_reply_and_not_a_stop() -> None:
    game = Game(flow(leader(member("qa"))))
    ask(game, "deliver", Ask("qa", "good?"))
    game.end(QA, "failed")
    (reply,) = game.events(AttemptQueued)[-1].replies
    assert (reply.to, reply.path) == ("qa", QA)
    assert game.in_flight() == ["deliver"]


def test_a_member_reads_who_asks_what_about_which_files() -> None:
    game = Game(flow(leader(member("qa", asks=("boss",)), member("boss"))))
    ask(game, "deliver", Ask("qa", "good?", ("a.py", "b.py")), Ask("qa", "and now?"))
    assert message_of(game, QA) == {"sender": "engineer", "question": "good?", "files": ["a.py", "b.py"]}
    ask(game, QA, Ask("boss", "may I?"))
    assert message_of(game, f"{QA}#1/boss") == {"sender": "qa", "question": "may I?", "files": []}
    game.end(f"{QA}#1/boss")
    game.end(QA)
    assert message_of(game, f"{QA}~2") == {"sender": "engineer", "question": "and now?", "files": []}


def test_a_member_that_sees_finished_work_reads_that_it_is_asked_to_look_at_it() -> None:
    game = Game(flow(leader(member("qa", when_done=True))))
    game.end("deliver")
    message = message_of(game, QA)
    assert message == {"sender": "engineer", "question": "please look at the finished work", "files": []}


def test_outside_a_team_message_is_not_the_question_to_a_member() -> None:
    game = Game(flow(leader(member("qa")), sets("s", x=name_of("message.question"))))
    game.end("deliver")
    assert game.outcome("s") == ("error", "expression")


def test_the_engine_asks_a_member_about_finished_work_only_once() -> None:
    step = leader(member("qa", when_done=True), gates=gates((command("tests"),)), retry=Retry(attempts=3))
    game = Game(flow(step))
    game.end("deliver")
    game.end(QA)
    game.end_with_change("deliver")
    game.end("deliver#2/tests", "failed")
    game.end_with_change("deliver")
    game.end("deliver#3/tests")
    assert entered(game) == [QA]
    assert game.outcome("deliver") == ("passed", "")


@pytest.mark.parametrize(("is_changed", "asked"), [(False, 1), (True, 2)])
def test_who_answered_about_exactly_these_files_is_not_asked_about_them_again(
    is_changed: bool, asked: int
) -> None:
    game = Game(flow(leader(member("qa", when_done=True))))
    ask(game, "deliver", Ask("qa", "good?"))
    game.end(QA)
    if is_changed:
        game.end_with_change("deliver")
    else:
        game.end("deliver", tree=BASE)
    assert len(entered(game)) == asked


def test_every_member_of_a_team_is_a_step_below_the_gates_of_its_leader() -> None:
    step = leader(member("qa"), TeamMember(human("owner", answers=True)), gates=gates((command("tests"),)))
    walked = {str(path): found.name for path, found, _ in all_steps(flow(step))}
    assert walked == {
        "deliver": "deliver",
        "deliver#/qa": "qa",
        "deliver#/owner": "owner",
        "deliver#": "gates",
        "deliver#/tests": "tests",
    }


def test_a_step_takes_the_agent_that_was_chosen_for_its_address() -> None:
    step = agent("a", verb=Agent(agent="auto", model="m"))
    chosen = (
        Chosen(Address("b"), "codex", "claude", "best", "why"),
        Chosen(Address("g/a"), "gemini", "claude", "best", "why"),
    )
    taken = with_choice(step, Address("g~2[1]/a~3"), chosen)
    assert taken.verb == Agent(agent="gemini", model="m")
    assert taken.name == "a"
    assert with_choice(step, Address("c"), chosen) == step
    named = agent("a", verb=Agent(agent="claude"))
    assert with_choice(named, Address("g/a"), chosen) == named


@pytest.mark.parametrize("to", ["deliver", "deliver/qa"])
def test_a_person_leaves_a_note_for_a_worker_or_a_member_of_its_team(to: str) -> None:
    game = Game(flow(leader(member("qa")), command("tests")))
    game.send(Tell("ann", Address(to), "use tabs"))
    assert [(note.by, note.to, note.text) for note in game.events(NoteLeft)] == [("ann", to, "use tabs")]
    assert game.state.notes == (LeftNote("use tabs", Address(to), "ann"),)
    ask(game, "deliver", Ask("qa", "good?"))
    pending: Any = game.state.pending[("attempt", Address(QA))]
    assert pending.started.notes == ((0,) if to == "deliver/qa" else ())
    game.end(QA)
    again: Any = game.state.pending[("attempt", Address("deliver"))]
    assert again.started.notes == ((0,) if to == "deliver" else ())


@pytest.mark.parametrize("to", ["deliver/nobody", "tests", "judge", "deliver#/proof", ""])
def test_a_note_for_nobody_is_refused_with_the_names_there_are(to: str) -> None:
    step = leader(member("qa"), gates=gates((agent("proof"),)))
    game = Game(flow(step, command("tests"), judge("judge")))
    answer = game.send(Tell("ann", Address(to), "use tabs"))
    assert isinstance(answer, Refusal)
    assert answer.code == "no_step"
    assert answer.message.endswith(f"is called {to!r}; there are deliver, deliver/qa")
    assert game.state.notes == ()


def test_where_no_agent_works_every_note_is_refused() -> None:
    answer = Game(flow(command("a"))).send(Tell("ann", Address("a"), "use tabs"))
    assert isinstance(answer, Refusal)
    assert answer.message.endswith("there are none")


def test_presence_is_proved_by_whoever_says_yes() -> None:
    game = Game(flow(human("h", presence=True)))
    answer = game.answer("h", by="ann")
    assert isinstance(answer, Refusal)
    assert answer.code == "presence"
    assert "ann" in answer.message
    assert game.open_questions() == ["h"]
    game.answer("h", by="ann", proof={"kind": "key"})
    assert game.outcome("h") == ("passed", "")


def test_whoever_says_no_needs_no_proof_of_presence() -> None:
    game = Game(flow(human("h", presence=True)))
    game.answer("h", "reject", by="ann")
    assert game.outcome("h") == ("rejected", "rejected")


AT, HERE = Millis(1), Address("a")


@pytest.mark.parametrize(
    ("effect", "key"),
    [
        (RunAttempt(AttemptStarted(AT, HERE, 1, Amounts())), ("attempt", HERE)),
        (CancelAttempt(AttemptStarted(AT, HERE, 1, Amounts())), ("attempt", HERE)),
        (Watch(WaitStarted(AT, HERE, None)), ("wait", HERE)),
        (FindFact(FactsAsked(AT, HERE, "exists", "x", BASE)), ("fact", HERE)),
        (JoinTrees(JoinAsked(AT, HERE, BASE, None, (), gated=False)), ("join", HERE)),
        (AskPerson(ApprovalAsked(AT, HERE, "human", (), 1)), ("person", HERE)),
        (StartTimer(HERE, AT), ("timer", HERE)),
        (StartTimer(HERE, AT, "retry"), ("retry", HERE)),
    ],
)
def test_the_key_of_an_effect_names_its_request(effect: Any, key: EffectKey) -> None:
    assert effect_key(effect) == key

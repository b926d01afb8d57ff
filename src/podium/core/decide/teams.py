"""Decides what follows when a worker asks other members of its team: each is run, refused or answered from the log.

An ask is the end of an attempt, its delivery the entry of a child, and its answer the next attempt of the asker. Only
one member of a chain works at a time, and nobody is in a chain twice, so no ask waits for itself.
"""

from __future__ import annotations

from podium.core import ledger
from podium.core.decide.entry import hard_stop, limit_ending, limit_outside, start_of
from podium.core.decide.limit_text import limit_message
from podium.core.events import AttemptEnded, AttemptQueued, Event, StepEnded, StepEntered
from podium.core.model import Agent
from podium.core.payloads import Ask, Reply
from podium.core.queries.teams import earlier_answer, index_of, is_reviewed, member_path, why_refused
from podium.core.queries.tool_calls import TOPIC, next_unasked, question_path
from podium.core.state import Instance, Leaf, State
from podium.core.types import Address, Millis, Tree


def after_asked(state: State, leaf: Leaf, answer: AttemptEnded, now: Millis) -> Event:
    """Run the next member that was asked; when all asks have their replies, the asker goes on."""
    question = ask_about_call(state, leaf, now)
    if question is not None:
        return question
    exhausted = ledger.exhausted_messages(state, leaf.place.ledger)
    if exhausted is not None:
        return limit_ending(leaf, exhausted, now, limit_message(exhausted, "messages", state.at))
    replies: list[Reply] = []
    tree = answer.tree or start_of(leaf)
    for number, ask in enumerate(answer.asks):
        refused = why_refused(state, leaf, ask)
        if refused:
            replies.append(Reply(ask.to, refused=refused))
            continue
        path = member_path(leaf, answer.asks, number)
        member = state.instances.get(path)
        earlier = None if member is not None else earlier_answer(state, leaf, ask, tree)
        if earlier is not None:
            replies.append(Reply(ask.to, earlier, is_known=True))
            continue
        if member is None:
            return _member_entry(state, leaf, ask, path, number, tree, now)
        stop = _limit_of(leaf, member, state, now)
        if stop is not None:
            return stop
        assert member.ending is not None
        tree = member.ending.tree or tree
        replies.append(Reply(ask.to, path))
    return AttemptQueued(now, leaf.place.path, "answered", replies=tuple(replies))


def ask_about_call(state: State, leaf: Leaf, now: Millis) -> Event | None:
    """Ask a person about the first call of a tool about which nobody was asked; the attempt may still hold it."""
    number = next_unasked(state, leaf)
    if number is None or leaf.side_child is not None:
        return None
    exhausted = ledger.exhausted_transitions(state, leaf.place.ledger)
    if exhausted is not None:
        # While an attempt works, its step cannot end; the attempt gets no answer and ends.
        message = limit_message(exhausted, "transitions", state.at)
        return None if leaf.phase == "working" else limit_ending(leaf, exhausted, now, message)
    tree = start_of(leaf)
    return StepEntered(
        now,
        question_path(leaf, number),
        leaf.place.path,
        "question",
        0,
        1,
        base=tree,
        start=tree,
        about=TOPIC,
        target=number,
    )


def ask_when_done(state: State, leaf: Leaf, now: Millis) -> Event | None:
    """Ask the members that see finished work before its gates; None if there are none left to ask."""
    verb = leaf.place.step.verb
    if not isinstance(verb, Agent) or not any(member.when_done for member in verb.team):
        return None
    answer = leaf.answer
    assert answer is not None
    tree = answer.tree or start_of(leaf)
    replies: list[Reply] = []
    for member in verb.team:
        if not member.when_done:
            continue
        ask = Ask(member.name, "")
        path = member_path(leaf, (ask,), 0)
        instance = state.instances.get(path)
        if instance is None and is_reviewed(state, leaf, member, leaf.member_tree or tree):
            continue
        if instance is None:
            exhausted = ledger.exhausted_messages(state, leaf.place.ledger, 1)
            if exhausted is not None:
                return limit_ending(leaf, exhausted, now, limit_message(exhausted, "messages", state.at))
            return _member_entry(state, leaf, ask, path, -1, leaf.member_tree or tree, now)
        stop = _limit_of(leaf, instance, state, now)
        if stop is not None:
            return stop
        replies.append(Reply(member.name, path, by_engine=True))
    return AttemptQueued(now, leaf.place.path, "answered", replies=tuple(replies)) if replies else None


def _member_entry(
    state: State, leaf: Leaf, ask: Ask, path: Address, number: int, tree: Tree | None, now: Millis
) -> StepEntered:
    return StepEntered(
        at=now,
        path=path,
        parent=leaf.place.path,
        role="member",
        index=index_of(state, leaf, ask.to),
        visit=1,
        base=tree,
        start=tree,
        target=number,
    )


def _limit_of(leaf: Leaf, member: Instance, state: State, now: Millis) -> StepEnded | None:
    """The end of the asker if a hard limit outside the member, or a decision to halt, ended the member."""
    assert member.ending is not None
    hit = member.ending.limit_hit
    if hit is None:
        return None
    stop, path = hard_stop(state, hit, member.ending.message), leaf.place.path
    outside = limit_outside(path, hit)
    return StepEnded(now, path, "failed", stop.reason, stop.exit, limit_hit=outside, message=stop.message)

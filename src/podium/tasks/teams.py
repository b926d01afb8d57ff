"""What a worker is told about its team: whom it may ask, what it was asked, and the replies to its own asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from podium.core.events import StepEnded
from podium.core.model import Agent, Human
from podium.core.payloads import Exchange
from podium.core.queries.conversations import Conversation, conversation_of
from podium.core.queries.teams import may_ask, name_in_team, question_to, team_of
from podium.core.state import Instance, Leaf, State
from podium.core.types import Tree
from podium.tasks.command_work import to_plain
from podium.tasks.task import Colleague, ConversationTurn, Message, NoteText, Replied, TeamWork


def team_work_of(state: State, leaf: Leaf) -> TeamWork | None:
    """None for a worker without a team."""
    team = {member.name: member for member in team_of(state, leaf)}
    if not team:
        return None
    turn = _turn(conversation_of(state, leaf))
    # What it says to the person of its conversation is its answer, so there is nothing to ask.
    names = [name for name in may_ask(state, leaf) if turn is None or name != turn.person]
    return TeamWork(
        name=name_in_team(leaf),
        colleagues=tuple(_colleague(name, team[name].step.verb) for name in names),
        replies=tuple(_replied(state, exchange) for exchange in leaf.exchanges),
        message=message_of(state, leaf) if leaf.place.role == "member" else None,
        only_answers=leaf.place.role == "member" and leaf.place.step.touches == (),
        changes=tuple(_changes(state, leaf)),
        turn=turn,
    )


def _turn(conversation: Conversation | None) -> ConversationTurn | None:
    if conversation is None:
        return None
    member, answered, is_over = conversation
    return ConversationTurn(member.name, answered + 1, member.turns, member.until, is_over)


def notes_of(state: State, leaf: Leaf) -> tuple[NoteText, ...]:
    return tuple(NoteText(state.notes[number].by, state.notes[number].text) for number in leaf.notes)


def message_of(state: State, member: Instance) -> Message:
    """What a member was asked, and by whom."""
    asker = state.instances[member.place.parent]
    ask = question_to(state, member)
    if ask is None:
        return Message(name_in_team(asker), "", is_review=True)
    assert isinstance(asker, Leaf)
    so_far = "" if asker.answer is None else asker.answer.so_far
    return Message(name_in_team(asker), ask.question, ask.files, so_far)


def _colleague(name: str, verb: Any) -> Colleague:
    if isinstance(verb, Human):
        return Colleague(name, is_person=True)
    role = verb.role if isinstance(verb, Agent) and isinstance(verb.role, str) else ""
    return Colleague(name, role)


def _replied(state: State, exchange: Exchange) -> Replied:
    ask, reply = exchange.ask, exchange.reply
    answer, by = reply.refused, ""
    files: tuple[str, ...] = ()
    if reply.path:
        member = state.instances[reply.path]
        assert member.ending is not None
        answer, by = answer_text(member.ending), _people(member)
        files = tuple(str(path) for path in (member.ending.result or {}).get("files") or ())
    return Replied(
        exchange.attempt,
        ask.to,
        ask.question,
        answer,
        path=reply.path,
        refused=bool(reply.refused),
        by_engine=reply.by_engine,
        by=by,
        changed=files,
        so_far=exchange.so_far,
    )


def answer_text(ending: StepEnded) -> str:
    """The answer of a member as text; why there is none if it failed."""
    result = ending.result or {}
    if ending.outcome != "passed":
        why = ending.message or str(result.get("message") or "") or ending.reason
        return f"no answer: {ending.outcome}{f': {why}' if why else ''}"
    output = to_plain(result.get("output"))
    if isinstance(output, list | dict):
        return json.dumps(output, ensure_ascii=False, indent=1)
    return str(result.get("text") or "" if output is None else output).strip()


def _people(member: Instance) -> str:
    if not isinstance(member, Leaf) or not isinstance(member.place.step.verb, Human):
        return ""
    return ", ".join(dict.fromkeys(approval.by for approval in member.approvals))


def _changes(state: State, leaf: Leaf) -> Iterator[tuple[Tree, Tree]]:
    """The trees before and after each member that changed files of this worker's work."""
    for exchange in leaf.exchanges:
        reply = exchange.reply
        member = state.instances[reply.path] if reply.path and not reply.is_known else None
        if member is not None and member.place.start and member.ending is not None and member.ending.tree:
            yield member.place.start, member.ending.tree

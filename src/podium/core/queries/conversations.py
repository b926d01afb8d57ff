"""A conversation of a worker with a person of its team: whose turn it is, and whether it is over.

Each turn of the worker is an attempt that ends `asked`; the person's answer is the next one's start. A person ends the
conversation with a word, by not answering in time, or by having answered often enough; a worker cannot end it.
"""

from __future__ import annotations

from typing import NamedTuple

from podium.core.model import Agent, TeamMember
from podium.core.payloads import Exchange
from podium.core.state import Instance, Leaf, State


class Conversation(NamedTuple):
    member: TeamMember
    answered: int
    """How many turns the person has answered."""
    is_over: bool

    @property
    def is_open(self) -> bool:
        return not self.is_over


def conversation_of(state: State, leaf: Instance) -> Conversation | None:
    """The conversation that the worker of a step has; None if it has none. A member of its team has none of its own."""
    verb = leaf.place.step.verb
    if not isinstance(verb, Agent) or not isinstance(leaf, Leaf) or leaf.place.role == "member":
        return None
    member = next((member for member in verb.team if member.until), None)
    if member is None:
        return None
    turns = [exchange for exchange in leaf.exchanges if _is_turn(exchange, member)]
    is_full = bool(member.turns) and len(turns) >= member.turns
    asks_nobody = state.started is not None and state.started.no_human
    return Conversation(member, len(turns), is_full or asks_nobody or _has_ended(state, turns, member))


def conversation_about(state: State, question: Instance) -> Conversation | None:
    """The conversation that an open question is the turn of; None for any other question."""
    if question.place.role != "member":
        return None
    conversation = conversation_of(state, state.instances[question.place.parent])
    return (
        conversation if conversation is not None and conversation.member.step is question.place.step else None
    )


def turn_text(state: State, question: Instance) -> str:
    """Which turn a person answers, and how to end the conversation; empty for a question outside of one."""
    conversation = conversation_about(state, question)
    if conversation is None:
        return ""
    member, number = conversation.member, conversation.answered + 1
    most = f" of at most {member.turns}" if member.turns else ""
    return f'turn {number}{most}; to end the conversation, end your answer with a line "{member.until}"'


def _is_turn(exchange: Exchange, member: TeamMember) -> bool:
    return exchange.reply.to == member.name and bool(exchange.reply.path)


def _has_ended(state: State, turns: list[Exchange], member: TeamMember) -> bool:
    """Whether the person said the last word, or has not answered the last turn."""
    if not turns:
        return False
    ending = state.instances[turns[-1].reply.path].ending
    if ending is None or ending.outcome != "passed":
        return True
    result = ending.result or {}
    return says_last_word(str(result.get("output") or result.get("text") or ""), member.until)


def says_last_word(answer: str, until: str) -> bool:
    """Whether the last line of an answer is the word; spaces, case and a full stop do not matter."""
    lines = answer.strip().splitlines()
    return bool(lines) and _plain(lines[-1]) == _plain(until)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".! ")

"""The parts of a prompt about a team: the message, the colleagues, the replies, and notes of others.

Words of other agents and of people are fenced: they are data, whatever they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.core.payloads import ToolDecision
from podium.tasks.partials import render_partial
from podium.tasks.task import ConversationTurn, Message, Replied
from podium.workflow.prompts.quoting import fence, truncate_middle

MAX_ANSWER: Final = 16_000
"""Characters of one answer in a prompt; the log has all of it."""


def team_parts(attempt: AgentAttempt) -> Iterator[str]:
    config, team, notes = attempt.work.config, attempt.work.team, attempt.work.notes
    if notes:
        yield render_partial(
            config, "notes", {"notes": [{"by": note.by, "text": fence(note.text)} for note in notes]}
        )
    if attempt.work.decisions:
        yield render_partial(
            config, "approvals", {"decisions": [_decision(one) for one in attempt.work.decisions]}
        )
    if team is None:
        return
    talks_to = None if team.turn is None else team.turn.person
    facts = {
        "name": team.name,
        "colleagues": [
            {"name": one.name, "role": one.role, "is_person": one.is_person} for one in team.colleagues
        ],
        "replies": [_reply(one) for one in team.replies if one.to != talks_to],
        "turns": [_reply(one) for one in team.replies if one.to == talks_to],
        "message": None if team.message is None else _message(team.message),
        "only_answers": team.only_answers,
        "turn": None if team.turn is None else _turn(team.turn),
        "tools": attempt.has_tools,
    }
    yield render_partial(config, "team", facts)


def _message(message: Message) -> Mapping[str, Any]:
    return {
        "sender": message.sender,
        "question": fence(message.question),
        "files": message.files,
        "so_far": fence(message.so_far) if message.so_far else "",
        "is_review": message.is_review,
    }


def _decision(decision: ToolDecision) -> Mapping[str, Any]:
    call = decision.call
    return {
        "tool": call.tool,
        "call": fence(f"{call.subject}\n{call.detail}".strip()),
        "is_allowed": decision.is_allowed,
        "by": decision.by,
        "why": fence(decision.why) if decision.why else "",
    }


def _turn(turn: ConversationTurn) -> Mapping[str, Any]:
    return {
        "person": turn.person,
        "number": turn.number,
        "most": turn.most,
        "until": turn.until,
        "is_over": turn.is_over,
    }


def _reply(one: Replied) -> Mapping[str, Any]:
    answer = truncate_middle(one.answer, MAX_ANSWER)
    return {
        "to": one.to,
        "question": fence(one.question),
        "answer": answer if one.refused else fence(answer),
        "refused": one.refused,
        "by_engine": one.by_engine,
        "by": one.by,
        "changed": one.changed,
        "so_far": fence(one.so_far) if one.so_far else "",
    }

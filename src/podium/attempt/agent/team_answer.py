"""Reads what a worker asks its team: from the tools that it called, or from its answer if it answers in text only.

{"ask": {"to": "qa", "question": "Is this enough?"}, "so_far": "wrote the parser"}
{"note": {"text": "the lock is not reentrant", "to": "qa"}, "answer": "done"}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.step_tools.tools import (
    MAX_ASKS,
    MAX_NOTE,
    MAX_NOTES,
    MAX_QUESTION,
    MAX_SO_FAR,
    team_text,
)
from podium.core.payloads import Ask, Note, ToolCall
from podium.ports.agent import AgentResult
from podium.tasks.task import ConversationTurn
from podium.workflow.contracts.contract import OutputFault
from podium.workflow.contracts.single_json import NotOneValue, fenced_json, one_json
from podium.workflow.prompts.quoting import truncate_middle

KEYS: Final = frozenset({"ask", "note", "so_far", "answer"})


class TeamAnswer(NamedTuple):
    asks: tuple[Ask, ...] = ()
    notes: tuple[Note, ...] = ()
    so_far: str = ""


NOTHING: Final = TeamAnswer()


def words_for_team(
    attempt: AgentAttempt, result: AgentResult
) -> tuple[AgentResult, TeamAnswer | OutputFault]:
    """The answer without what is for the team, and what is for the team: by tools, else in the answer."""
    tools = attempt.exchange.tools
    if tools is None or not (tools.asks or tools.notes):
        result, words = _answer_for_team(attempt, result)
    else:
        words = TeamAnswer(tuple(tools.asks), tuple(tools.notes), tools.so_far)
    if isinstance(words, OutputFault):
        return result, words
    if not words.asks and attempt.turn is not None and result.trouble in (None, "malformed"):
        return _as_turn(attempt.turn, result, words)
    if words.asks and result.trouble == "malformed":
        # The answer of an attempt that asks is not judged.
        result = replace(result, trouble=None, detail="")
    return result, words


def _as_turn(
    turn: ConversationTurn, result: AgentResult, words: TeamAnswer
) -> tuple[AgentResult, TeamAnswer | OutputFault]:
    """The whole answer as what the worker says to the person of its conversation."""
    text = result.text.strip()
    if not text:
        return result, OutputFault(f"it says nothing to {turn.person}", malformed=True)
    question = text if len(text) <= MAX_QUESTION else truncate_middle(text, MAX_QUESTION)
    return replace(result, trouble=None, detail=""), words._replace(asks=(Ask(turn.person, question),))


def _answer_for_team(
    attempt: AgentAttempt, result: AgentResult
) -> tuple[AgentResult, TeamAnswer | OutputFault]:
    """The answer without what is for the team, and what is for the team."""
    if attempt.work.team is None or result.trouble not in (None, "malformed"):
        return result, NOTHING
    value = result.value if result.has_value else _value_in(result.text)
    if not isinstance(value, Mapping) or not value.keys() <= KEYS or not value.keys() & {"ask", "note"}:
        return result, NOTHING
    try:
        answer = TeamAnswer(
            tuple(_ask(each) for each in _listed(value.get("ask"), "ask", MAX_ASKS)),
            tuple(_note(each) for each in _listed(value.get("note"), "note", MAX_NOTES)),
            team_text(value.get("so_far") or "", "so_far", MAX_SO_FAR),
        )
    except ValueError as error:
        return result, OutputFault(str(error), malformed=True)
    rest = value.get("answer", "")
    text = rest if isinstance(rest, str) else ""
    has_value = "answer" in value and not isinstance(rest, str)
    plain = replace(
        result,
        text=text if "answer" in value else result.text,
        value=rest if has_value else None,
        has_value=has_value,
        trouble=None,
        detail="",
    )
    return plain, answer


def _value_in(text: str) -> Any:
    for read in (one_json, fenced_json):
        try:
            return read(text)
        except NotOneValue:
            continue
    return None


def _listed(value: Any, name: str, most: int) -> list[Any]:
    entries = [] if value is None else value if isinstance(value, list) else [value]
    if len(entries) > most:
        raise ValueError(f"{name}: {len(entries)} at once; at most {most} are possible")
    return entries


def _ask(value: Any) -> Ask:
    if not isinstance(value, Mapping) or not value.keys() <= {"to", "question", "files"}:
        raise ValueError('ask: it must have the form {"to": NAME, "question": TEXT, "files": [PATH]}')
    files = value.get("files") or []
    if not isinstance(files, list) or not all(isinstance(path, str) for path in files):
        raise ValueError("ask.files: it must be a list of paths")
    to = team_text(value.get("to"), "ask.to", 200)
    question = team_text(value.get("question"), "ask.question", MAX_QUESTION)
    if not to or not question:
        raise ValueError("ask: both a name and a question are needed")
    return Ask(to, question, tuple(files[:20]))


def _note(value: Any) -> Note:
    if isinstance(value, str):
        return Note(team_text(value, "note", MAX_NOTE))
    if not isinstance(value, Mapping) or not value.keys() <= {"text", "to"}:
        raise ValueError('note: it must have the form {"text": TEXT, "to": NAME}')
    return Note(
        team_text(value.get("text"), "note.text", MAX_NOTE), team_text(value.get("to") or "", "note.to", 200)
    )


def awaits_approval(attempt: AgentAttempt, result: AgentResult) -> bool:
    """Whether it ended because nobody had decided about a call; how its program reports that does not matter."""
    stopped = ("quota", "auth", "unavailable", "timeout", "resources")
    return bool(undecided_calls(attempt)) and result.trouble not in stopped


def undecided_calls(attempt: AgentAttempt) -> tuple[ToolCall, ...]:
    tools = attempt.exchange.tools
    return () if tools is None or tools.approver is None else tuple(tools.approver.undecided)


def with_lost_asks(attempt: AgentAttempt, result: AgentResult) -> AgentResult:
    """Name what an attempt asked that then failed: it may have gone on after the ask, so nobody was asked."""
    tools = attempt.exchange.tools
    if tools is None or not tools.asks or result.trouble in (None, "malformed"):
        return result
    names = ", ".join(f'{ask.to}: "{ask.question[:200]}"' for ask in tools.asks)
    return replace(
        result, detail=f"{result.detail or result.trouble}; it had asked {names}, which was not sent"
    )

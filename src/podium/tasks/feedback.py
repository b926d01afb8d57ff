"""Describes the objections to earlier work, as text for the next attempt (C40).

The core keeps only addresses; this module turns them into text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.addresses import attempt
from podium.core.decide.advice import decision_of
from podium.core.expressions.values import MAX_TEXT, Meter, as_text
from podium.core.model import Agent, Check, Command, Gates, Human, Review
from podium.core.queries.graph import fresh_children, workflow_of
from podium.core.state import Instance, JoinRefusal, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, Address
from podium.tasks.command_work import to_plain
from podium.tasks.partials import render_partial
from podium.tasks.review_rounds import findings_up_to
from podium.tasks.task import FeedbackEntry
from podium.views.format import first_of
from podium.workflow.prompts.quoting import fence, truncate_middle

MAX_CHARS: Final = MAX_TEXT // 2
"""The most characters of one fact, so that no text of a prompt is too long."""
SHOWN_PATHS: Final = 20
_ATTEMPT: Final = re.compile(r"(.*)#(\d+)")


def feedback_of(state: State, leaf: Leaf) -> tuple[FeedbackEntry, ...]:
    """All feedback for a step, the newest last."""
    return tuple(_entry(state, leaf, source) for source in dict.fromkeys(leaf.feedback))


def objections(state: State, instance: Instance) -> str:
    """The objections to the work of an instance without progress."""
    if isinstance(instance, Leaf):
        entry = describe(state, attempt(instance.place.path, instance.attempt))
        return "" if entry is None else entry.text
    return _objections_of(state, instance)[1]


def about_protected(paths: tuple[str, ...]) -> str:
    """The feedback if the change of protected files is not approved."""
    return f"protected files were changed: {first_of(paths, SHOWN_PATHS)}; leave them as they were"


def _entry(state: State, leaf: Leaf, source: str) -> FeedbackEntry:
    entry = describe(state, source)
    if entry is not None:
        return entry
    # The core keeps the details of the last refused merge only; without a file, earlier ones get a general sentence.
    return FeedbackEntry(source, _sentence(state, leaf, "clash"), is_known=False)


def describe(state: State, source: str) -> FeedbackEntry | None:
    """The feedback at an address; None if the state no longer has it."""
    instance = state.instances.get(Address(source))
    own = _ATTEMPT.fullmatch(source)
    owner = None if own is None else state.instances.get(Address(own[1]))
    if (
        own is not None
        and owner is not None
        and owner.join_refusal is not None
        and owner.join_refusal.attempt == int(own[2])
    ):
        return FeedbackEntry(source, *_clashed(state, owner, owner.join_refusal))
    if own is not None and isinstance(owner, Leaf) and not _is_failed(instance):
        return _own_failure(state, owner, source, int(own[2]))
    if instance is None:
        return None
    title, body = _describe_instance(state, instance)
    route = None if instance.ending is None else instance.ending.route
    words = "" if route is None else truncate_middle(route.words, MAX_CHARS)
    if not words:
        return FeedbackEntry(source, title, body)
    is_failure = _is_failed(instance) and body
    return FeedbackEntry(source, title, f"{fence(words)}\n\n{body}" if is_failure else fence(words))


def _is_failed(instance: Instance | None) -> bool:
    """Gates share the address of their attempt; they are described only if they failed."""
    return (
        instance is not None
        and instance.ending is not None
        and instance.ending.outcome not in CONTINUING_OUTCOMES
    )


def _sentence(state: State, instance: Instance, kind: str, **facts: Any) -> str:
    """One objection, rendered by its partial."""
    name, config = instance.place.step.name, workflow_of(state, instance.place).config
    defaults = {
        "name": name,
        "outcome": "",
        "reason": "",
        "message": "",
        "exit_code": "",
        "who": "",
        "attempt": 0,
    }
    bounded = {
        key: truncate_middle(fact, MAX_CHARS) if isinstance(fact, str) else fact
        for key, fact in facts.items()
    }
    return render_partial(config, "said", {**defaults, **bounded, "kind": kind}).strip()


def _clashed(state: State, owner: Instance, clash: JoinRefusal) -> tuple[str, str]:
    """Title and body for a refused merge. The work itself passed, so nothing else says why it must be repeated."""
    refused = clash.refused
    detail = fence(refused.detail) if refused.detail else ""
    return _sentence(state, owner, "clash", outcome=refused.kind, attempt=clash.attempt), detail


def _own_failure(state: State, leaf: Leaf, source: str, number: int) -> FeedbackEntry | None:
    """Why the attempt itself failed, with its answer if that could not be parsed."""
    answer = leaf.answer
    if answer is None or answer.attempt != number:
        return None
    result = answer.result or {}
    why = str(result.get("message") or answer.reason or answer.kind)
    if answer.protected:
        why = about_protected(answer.protected)
        return FeedbackEntry(source, _sentence(state, leaf, "protected", attempt=number, message=why))
    title = _sentence(state, leaf, "attempt", attempt=number, outcome=answer.kind, message=why)
    text = str(result.get("text") or "")
    shows_answer = answer.kind == "malformed" and text.strip()
    return FeedbackEntry(
        source, title, f"It answered:\n{fence(truncate_middle(text, 4000))}" if shows_answer else ""
    )


def _describe_instance(state: State, instance: Instance) -> tuple[str, str]:
    verb = instance.place.step.verb
    ending = instance.ending
    result: Mapping[str, Any] = (ending.result if ending is not None else None) or {}
    message = ending.message if ending is not None else ""
    match verb:
        case _ if instance.place.role in ("question", "advice"):
            return _person_or_advisor(state, instance, result)
        case Command():
            code = "" if result.get("exit_code") is None else str(result["exit_code"])
            title = _sentence(state, instance, "command", exit_code=code, message=message)
            return title, _output(result)
        case Check():
            return _sentence(state, instance, "check", message=message), ""
        case Human():
            return _person_or_advisor(state, instance, result)
        case Agent(judge=True):
            title = _sentence(state, instance, "reviewer", outcome=_outcome(instance))
            return title, findings_text(
                state, instance, {**result, "findings": findings_up_to(state, instance)}
            )
        case Review() | Gates():
            return _objections_of(state, instance)
        case _:
            return _step(state, instance, result)


def _output(result: Mapping[str, Any]) -> str:
    """The output without repetition: the message of a failed command ends with the end of its output."""
    body = ""
    for key in ("message", "text", "stderr"):
        text = str(result.get(key) or "").strip()
        body = body if text in body else f"{body}\n{text}".strip()
    return fence(body) if body else ""


def _person_or_advisor(state: State, instance: Instance, result: Mapping[str, Any]) -> tuple[str, str]:
    """The answer of a person or an advisor."""
    decision = decision_of(instance) if instance.place.role == "advice" else None
    text = decision.guidance if decision is not None else str(result.get("text") or "")
    verdict = result.get("verdict")
    by = ", ".join(verdict.get("by", ())) if isinstance(verdict, Mapping) else ""
    kind = "person" if decision is None else "advisor"
    value = to_plain(result.get("output"))
    is_structured = isinstance(value, list | dict)
    words = text.strip() or ("" if value is None or is_structured else as_text(value, Meter()))
    title = _sentence(state, instance, kind, who=by, outcome=_outcome(instance), message=words)
    return title, fence(json.dumps(value, ensure_ascii=False, indent=1)) if is_structured else ""


def _outcome(instance: Instance) -> str:
    return "" if instance.ending is None else instance.ending.outcome


def findings_text(state: State, instance: Instance, result: Mapping[str, Any]) -> str:
    """The open findings, each with its id, and the summary."""
    findings = [_finding(finding) for finding in result.get("findings") or () if _is_open(finding)]
    summary = str(result.get("summary") or "").strip()
    if not findings and not summary:
        return ""
    config = workflow_of(state, instance.place).config
    return render_partial(config, "findings", {"findings": findings, "summary": summary})


def _is_open(finding: Mapping[str, Any]) -> bool:
    return bool(finding.get("status", "open") != "fixed")


def _finding(finding: Mapping[str, Any]) -> Mapping[str, Any]:
    path, line = finding.get("path"), finding.get("line")
    return {
        "id": str(finding.get("id", "?")),
        "severity": str(finding.get("severity", "major")),
        "disputed": finding.get("status") == "disputed",
        "where": f"{path}:{line}" if path and line else str(path or ""),
        "issue": str(finding.get("issue", "")),
        "fix": str(finding.get("fix") or ""),
    }


def _objections_of(state: State, instance: Instance) -> tuple[str, str]:
    """The objections of a review or of a set of gates."""
    parts = [
        "\n".join(filter(None, _describe_instance(state, child))) for child in _objecting(state, instance)
    ]
    kind = "review" if isinstance(instance.place.step.verb, Review) else "gates"
    message = "" if instance.ending is None else instance.ending.message
    title = _sentence(state, instance, kind, outcome=_outcome(instance), message=message)
    return title, "\n\n".join(parts)


def _objecting(state: State, instance: Instance) -> Iterator[Instance]:
    if not isinstance(instance, Scope):
        return
    children = list(fresh_children(state, instance))
    answer = None if instance.last_answer is None else state.instances.get(instance.last_answer)
    for child in (*children, *((answer,) if answer is not None else ())):
        if child.ending is not None and (_is_failed(child) or child.place.topic == "exhausted"):
            yield child


def _step(state: State, instance: Instance, result: Mapping[str, Any]) -> tuple[str, str]:
    """Any other failed step, with the failures inside it."""
    ending = instance.ending
    facts = {} if ending is None else {"reason": ending.reason or "", "message": ending.message}
    title = _sentence(state, instance, "step", outcome=_outcome(instance), **facts)
    if isinstance(instance, Scope):
        return title, "\n\n".join(
            "\n".join(filter(None, _describe_instance(state, c))) for c in _objecting(state, instance)
        )
    gates = state.instances.get(attempt(instance.place.path, instance.attempt))
    if gates is not None and _is_failed(gates):
        return title, "\n".join(filter(None, _describe_instance(state, gates)))
    return title, _output(result)

"""What objected to earlier work, in the words that its next attempt gets (C40).

The core keeps addresses only; here they become words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.addresses import attempt
from podium.core.decide.advice import decision_of
from podium.core.expressions.values import MAX_TEXT
from podium.core.model import Agent, Check, Command, Gates, Human, Review
from podium.core.queries.graph import fresh_children, workflow_of
from podium.core.state import Instance, JoinRefusal, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, Path
from podium.tasks.partials import render_partial
from podium.tasks.review_rounds import findings_up_to
from podium.tasks.task import FeedbackEntry
from podium.views.format import first_of
from podium.workflow.prompts.quoting import fence, truncate_middle

MOST: Final = MAX_TEXT // 2
"""Characters of one fact; no text of a prompt may be longer."""
SHOWN_PATHS: Final = 20
_ATTEMPT: Final = re.compile(r"(.*)#(\d+)")


def feedback_of(state: State, leaf: Leaf) -> tuple[FeedbackEntry, ...]:
    """Every entry, the newest last."""
    return tuple(_entry(state, leaf, source) for source in dict.fromkeys(leaf.feedback))


def objections(state: State, instance: Instance) -> str:
    """What was said against the work where a run makes no progress."""
    if isinstance(instance, Leaf):
        entry = describe(state, attempt(instance.place.path, instance.attempt))
        return "" if entry is None else entry.text
    return _several(state, instance)[1]


def about_protected(paths: tuple[str, ...]) -> str:
    """For the next attempt, if nobody allows the change."""
    return f"protected files were changed: {first_of(paths, SHOWN_PATHS)}; leave them as they were"


def _entry(state: State, leaf: Leaf, source: str) -> FeedbackEntry:
    entry = describe(state, source)
    if entry is not None:
        return entry
    # Of several refused merges the core keeps the words of the last; the others are told without a file, if there is none.
    return FeedbackEntry(source, _sentence(state, leaf, "clash"), is_known=False)


def describe(state: State, source: str) -> FeedbackEntry | None:
    """What an address stands for; None if the state no longer knows."""
    instance = state.instances.get(Path(source))
    own = _ATTEMPT.fullmatch(source)
    owner = None if own is None else state.instances.get(Path(own[1]))
    if (
        own is not None
        and owner is not None
        and owner.clash is not None
        and owner.clash.attempt == int(own[2])
    ):
        return FeedbackEntry(source, *_clashed(state, owner, owner.clash))
    if own is not None and isinstance(owner, Leaf) and not _is_failed(instance):
        return _own(state, owner, source, int(own[2]))
    if instance is None:
        return None
    title, body = _told(state, instance)
    return FeedbackEntry(source, title, body)


def _is_failed(instance: Instance | None) -> bool:
    """The gates of an attempt stand under the attempt's own address; only if they are why it failed do they speak."""
    return (
        instance is not None
        and instance.ending is not None
        and instance.ending.outcome not in CONTINUING_OUTCOMES
    )


def _sentence(state: State, instance: Instance, kind: str, **known: Any) -> str:
    """What one of them said, in the words of its partial."""
    name, config = instance.place.step.name, workflow_of(state, instance.place).config
    nothing = {
        "name": name,
        "outcome": "",
        "reason": "",
        "message": "",
        "exit_code": "",
        "who": "",
        "attempt": 0,
    }
    facts = {
        key: truncate_middle(fact, MOST) if isinstance(fact, str) else fact for key, fact in known.items()
    }
    return render_partial(config, "said", {**nothing, **facts, "kind": kind}).strip()


def _clashed(state: State, owner: Instance, clash: JoinRefusal) -> tuple[str, str]:
    """Good in itself, so nothing else would say why it is to be done again."""
    refused = clash.refused
    detail = fence(refused.detail) if refused.detail else ""
    return _sentence(state, owner, "clash", outcome=refused.kind, attempt=clash.attempt), detail


def _own(state: State, leaf: Leaf, source: str, number: int) -> FeedbackEntry | None:
    """The attempt itself was not good enough: what it broke, and its words if they could not be read."""
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
    wants_words = answer.kind == "malformed" and text.strip()
    return FeedbackEntry(
        source, title, f"It answered:\n{fence(truncate_middle(text, 4000))}" if wants_words else ""
    )


def _told(state: State, instance: Instance) -> tuple[str, str]:
    verb = instance.place.step.verb
    ending = instance.ending
    result: Mapping[str, Any] = (ending.result if ending is not None else None) or {}
    message = ending.message if ending is not None else ""
    match verb:
        case _ if instance.place.role in ("question", "advice"):
            return _said(state, instance, result)
        case Command():
            code = "" if result.get("exit_code") is None else str(result["exit_code"])
            said = _sentence(state, instance, "command", exit_code=code, message=message)
            return said, _output(result)
        case Check():
            return _sentence(state, instance, "check", message=message), ""
        case Human():
            return _said(state, instance, result)
        case Agent(judge=True):
            said = _sentence(state, instance, "reviewer", outcome=_outcome(instance))
            return said, findings_text(
                state, instance, {**result, "findings": findings_up_to(state, instance)}
            )
        case Review() | Gates():
            return _several(state, instance)
        case _:
            return _step(state, instance, result)


def _output(result: Mapping[str, Any]) -> str:
    """What it said, once: the message of a failed command ends with the end of its output."""
    body = ""
    for key in ("message", "text", "stderr"):
        said = str(result.get(key) or "").strip()
        body = body if said in body else f"{body}\n{said}".strip()
    return fence(body) if body else ""


def _said(state: State, instance: Instance, result: Mapping[str, Any]) -> tuple[str, str]:
    """A person's words, or an advisor's."""
    decision = decision_of(instance) if instance.place.role == "advice" else None
    text = decision.guidance if decision is not None else str(result.get("text") or "")
    verdict = result.get("verdict")
    by = ", ".join(verdict.get("by", ())) if isinstance(verdict, Mapping) else ""
    kind = "person" if decision is None else "advisor"
    return _sentence(state, instance, kind, who=by, outcome=_outcome(instance), message=text.strip()), ""


def _outcome(instance: Instance) -> str:
    return "" if instance.ending is None else instance.ending.outcome


def findings_text(state: State, instance: Instance, result: Mapping[str, Any]) -> str:
    """The findings that are still open, each with its id; then the words around them."""
    found = [_finding(finding) for finding in result.get("findings") or () if _is_open(finding)]
    summary = str(result.get("summary") or "").strip()
    if not found and not summary:
        return ""
    config = workflow_of(state, instance.place).config
    return render_partial(config, "findings", {"findings": found, "summary": summary})


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


def _several(state: State, instance: Instance) -> tuple[str, str]:
    """A review or a set of gates: what each of those that objected says."""
    parts = ["\n".join(filter(None, _told(state, child))) for child in _objecting(state, instance)]
    kind = "review" if isinstance(instance.place.step.verb, Review) else "gates"
    message = "" if instance.ending is None else instance.ending.message
    said = _sentence(state, instance, kind, outcome=_outcome(instance), message=message)
    return said, "\n\n".join(parts)


def _objecting(state: State, instance: Instance) -> Iterator[Instance]:
    if not isinstance(instance, Scope):
        return
    children = list(fresh_children(state, instance))
    told = None if instance.told is None else state.instances.get(instance.told)
    for child in (*children, *((told,) if told is not None else ())):
        if child.ending is not None and child.ending.outcome not in CONTINUING_OUTCOMES:
            yield child


def _step(state: State, instance: Instance, result: Mapping[str, Any]) -> tuple[str, str]:
    """Any other step that did not make it, down to what in it went wrong."""
    ending = instance.ending
    known = {} if ending is None else {"reason": ending.reason or "", "message": ending.message}
    title = _sentence(state, instance, "step", outcome=_outcome(instance), **known)
    if isinstance(instance, Scope):
        return title, "\n\n".join(
            "\n".join(filter(None, _told(state, c))) for c in _objecting(state, instance)
        )
    return title, _output(result)

"""The one line that says why an attempt, a step or a run did not pass; every screen and file shows this line.

A scope fails because of a child, so it has the cause of that child. Texts of agents and commands are untrusted: the
line has no control characters, and screens cut it to their width.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.core.events import AttemptEnded, FactsFound, StepEnded
from podium.core.payloads import Verdict
from podium.core.types import CONTINUING_OUTCOMES, MERGE_MEMORY, SEVERITIES, Address, Millis
from podium.views.format import plural
from podium.views.plain import as_text, harmless

if TYPE_CHECKING:
    from podium.views.run.view import StepView

NOTHING: Final[Mapping[str, Any]] = {}
_REASONS: Final = {
    "exhausted": "no attempts or rounds are left",
    "timeout": "it did not end within its time limit",
    "blocked": "it is blocked, and gives no reason",
    "members": "too few of its steps passed",
    "no_human": "a person must decide, but the run may not ask one",
    "auth": "the agent is not logged in",
    "quota": "the agent's quota is used up",
}
_LIMIT_MESSAGE: Final = re.compile(r'the limit on (\w+) of (?:the run|"(.*?)") is reached: ')
_ADDED: Final = re.compile(r"\$?([\d.]+) (?:spent|of unknown cost|reserved|requested)")
TRACEBACK: Final = "Traceback (most recent call last):"
_DECISIONS: Final = {"reject": "rejected", "abort": "aborted", "fail": "failed"}


class Cause(NamedTuple):
    """What made a step fail: the step or gate that failed first, and why."""

    path: Address
    text: str
    message: str = ""
    """The message of that step in the log; enclosing scopes pass it on."""
    ended: Millis = Millis(0)
    rank: tuple[int, float] | None = None
    """How bad a review is: the severity of its worst finding, then its score; lower is worse."""
    others: int = 0
    """How many steps failed beside it."""


def cause_line(cause: Cause | None, owner: Address) -> str:
    """The line for a step, a gate or the run; "" without a cause. It names the step that failed, unless it is the owner."""
    if cause is None:
        return ""
    place = "" if cause.path == owner else f"{_inside(cause.path, owner)}: "
    more = f" (and {cause.others} more failed)" if cause.others else ""
    return f"{place}{cause.text}{more}"


def _inside(path: Address, owner: Address) -> str:
    """The address relative to the owner: `tests` for a gate of its attempt, `r` for a reviewer of a panel."""
    if path.startswith(f"{owner}#"):
        return path.removeprefix(f"{owner}#").partition("/")[2]
    return path.removeprefix(f"{owner}/")


def attempt_cause(event: AttemptEnded) -> Cause | None:
    """Why an attempt failed; None if it succeeded, before its gates have run."""
    if event.kind in ("ok", "asked", "cancelled") and (
        event.verdict is None or event.verdict.decision == "approve"
    ):
        return None
    text = _verdict_text(event.verdict) or result_text(event.result or NOTHING) or event.reason or event.kind
    return Cause(event.path, _REASONS.get(text, text), ended=event.at, rank=_rank(event.verdict))


def end_cause(event: StepEnded, step: StepView | None, child: Cause | None) -> Cause | None:
    """Why a step did not pass. `child` is the cause of the child that failed, or of its gates; None if there is none."""
    if event.outcome in CONTINUING_OUTCOMES or event.outcome == "cancelled":
        return None
    result = event.result or (NOTHING if step is None else step.result)
    message = event.message or as_text(result.get("message"))
    is_gates = step is not None and step.role == "gates"
    is_passed_on = child is not None and (is_gates or event.message in ("", child.message))
    if child is not None and is_passed_on and event.outcome != "timeout":
        return child._replace(message=event.message or child.message, ended=event.at)
    verdict = None if step is None else step.verdict
    text = (
        _person_text(result)
        or _verdict_text(verdict)
        or (first_sentence(event.message) if event.message != result.get("message") else "")
        or result_text(result)
        or _panel_text(result)
        or _REASONS.get(event.reason or event.outcome, event.reason or event.outcome)
    )
    return Cause(event.path, text, message, event.at, _rank(verdict))


def worst_cause(before: Cause | None, cause: Cause, entered: Millis) -> Cause:
    """The cause of a scope after one more child has failed.

    A later child replaces an earlier one, whose failure was handled; of children that worked at the same time the first
    one counts, of reviewers the one with the worst verdict.
    """
    if before is None or before.ended <= entered:
        return cause
    others = before.others + 1
    if before.rank is not None and cause.rank is not None and cause.rank < before.rank:
        return cause._replace(others=others)
    return before._replace(others=others)


def result_text(result: Mapping[str, Any]) -> str:
    """The reason in the result of an attempt: failed tests, the error that a command printed, or the message."""
    tests, cause, message = (result.get(key) for key in ("failed_tests", "cause", "message"))
    if isinstance(tests, Mapping):
        return failed_tests_text(tests)
    if not message and "exit_code" in result:
        # What a command printed explains its failure; the answer of an agent does not.
        message = result.get("text")
    sentence = first_sentence(message) if isinstance(message, str) else ""
    return one_text(f"{sentence}: {cause}") if sentence and isinstance(cause, str) else sentence


def failed_tests_text(tests: Mapping[str, Any]) -> str:
    """For example: 2 of 12 tests failed: test_add.py::test_sum: assert 2 == 3."""
    failed, total, first = tests.get("failed") or 0, tests.get("total"), as_text(tests.get("first"))
    if not failed or total == 0:
        count = "no test ran"
    elif total is None:
        count = f"{plural(failed, 'test')} failed"
    else:
        count = f"{failed} of {plural(total, 'test')} failed"
    return one_text(": ".join(filter(None, (count, first, as_text(tests.get("assertion"))))))


def review_text(decision: str, score: float | None, findings: Iterable[Mapping[str, Any]]) -> str:
    """For example: rejected, score 4: major api.py:31: the key is logged (and 2 more findings)."""
    rows = sorted((row for row in findings if row.get("status") != "fixed"), key=_severity)
    head = _DECISIONS.get(decision, decision) + ("" if score is None else f", score {score:g}")
    if not rows:
        return head
    worst, line = rows[0], rows[0].get("line")
    place = as_text(worst.get("path")) + (f":{line}" if line else "")
    place = " ".join(filter(None, (as_text(worst.get("severity")), place)))
    more = f" (and {plural(len(rows) - 1, 'more finding')})" if len(rows) > 1 else ""
    return one_text(f"{head}: {place}: {first_sentence(as_text(worst.get('issue')))}{more}")


def first_sentence(text: str) -> str:
    """The first line of a message. After a colon its first item follows, with the number of the others."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    if not lines[0].endswith(":") or len(lines) == 1:
        return one_text(lines[0])
    if lines[1].startswith(TRACEBACK):
        return one_text(f"{lines[0]} {_raised(text)}")
    items = sum(line.startswith("- ") for line in lines)
    more = f" (and {items - 1} more)" if items > 1 else ""
    return one_text(f"{lines[0]} {lines[1].removeprefix('- ')}{more}")


def _raised(text: str) -> str:
    """The exception at the end of a traceback: its lines before are indented."""
    lines = text.partition(TRACEBACK)[2].splitlines()[1:]
    return next((line for line in lines if line.strip() and not line.startswith(" ")), TRACEBACK)


def one_text(text: str) -> str:
    return " ".join(harmless(text).split())


def _severity(finding: Mapping[str, Any]) -> int:
    severity = finding.get("severity")
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def _rank(verdict: Verdict | None) -> tuple[int, float] | None:
    if verdict is None:
        return None
    severity = min(map(_severity, verdict.findings), default=len(SEVERITIES))
    return (-1 if verdict.decision == "abort" else severity), verdict.score or 0.0


def _verdict_text(verdict: Verdict | None) -> str:
    if verdict is None or verdict.decision == "approve":
        return ""
    text = review_text(verdict.decision, verdict.score, verdict.findings)
    return text if verdict.findings or not verdict.summary else f"{text}: {first_sentence(verdict.summary)}"


def _person_text(result: Mapping[str, Any]) -> str:
    """The decision of a person, with what they wrote."""
    action, verdict = result.get("action"), result.get("verdict")
    if not isinstance(action, str) or not isinstance(verdict, Mapping):
        return ""
    people = ", ".join(map(str, verdict.get("by") or ()))
    words = first_sentence(as_text(result.get("text")))
    return one_text(
        f"{_DECISIONS.get(action, action)}{f' by {people}' if people else ''}{f': {words}' if words else ''}"
    )


def _panel_text(result: Mapping[str, Any]) -> str:
    """The verdict of a panel of which no single reviewer rejected."""
    verdict, findings = result.get("verdict"), result.get("findings")
    if not isinstance(verdict, Mapping) or not isinstance(findings, list | tuple):
        return ""
    rows = [row for row in findings if isinstance(row, Mapping)]
    return review_text(as_text(verdict.get("decision")), verdict.get("score"), rows)


class ReachedLimit(NamedTuple):
    unit: str
    step: str
    """The address of the step that declares it; empty for a limit of the run."""
    needed: float = 0
    """What the refused attempt would have brought it to, if the message says so."""


def limit_of_message(message: str) -> ReachedLimit | None:
    """The limit that a message of `core.decide.limit_text` is about; None for any other text."""
    match = _LIMIT_MESSAGE.match(message)
    if match is None:
        return None
    amounts = (float(number) for number in _ADDED.findall(message, match.end()))
    return ReachedLimit(match[1], match[2] or "", sum(amounts))


def memory_after(memory: Mapping[str, Any] | None, fact: FactsFound) -> Mapping[str, Any]:
    """What is shown of a memory after a fact about it."""
    value: Mapping[str, Any] = fact.value or {}
    if fact.function == MERGE_MEMORY:
        failed = {"error": "it could not be merged; internal_errors.log of the run says why"}
        return {**(memory or {}), **(value or failed)}
    return {"tip": value.get("tip")} if memory is None else memory

"""Classifies failed turns of codex by their message.

`turn.failed` has no code, so only its text can be matched. The sentences are those of codex 0.166.0, compared from the
beginning; any other message is an error that is passed on unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from podium.adapters.agents.shared.troubles import TRUNCATED, is_rejection
from podium.core.types import Millis
from podium.fast_dataclass import dataclass
from podium.files import bounded_json
from podium.ports.agent import AgentTrouble
from podium.ports.retry_time import millis_of

STATUS: Final = re.compile(r"(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b")
_DISCONNECTED: Final = "stream disconnected before completion: "
_INCOMPLETE: Final = "Incomplete response returned, reason: "
SENTENCES: Final[tuple[tuple[str, AgentTrouble], ...]] = (
    ("Missing environment variable: ", "auth"),
    ("To use Codex with your ChatGPT plan, ", "auth"),
    ("Your access token could not be refreshed", "auth"),
    ("Your authentication session could not be refreshed", "auth"),
    ("Failed to refresh token: ", "auth"),
    ("error sending request for url ", "transient"),
    ("The model `", "unavailable"),
    ("Quota exceeded.", "quota"),
    ("You've hit your usage limit", "quota"),
    ("rate limit exceeded: ", "quota"),
    ("Selected model is at capacity.", "transient"),
    # codex replaces the message of every status 500 by this one.
    ("We're currently experiencing high demand", "transient"),
    ("Connection failed: ", "transient"),
    (f"{_DISCONNECTED}{_INCOMPLETE}content_filter", "refused"),
    (f"{_DISCONNECTED}{_INCOMPLETE}max_output_tokens", "truncated"),
    (_DISCONNECTED, "transient"),
    (f"{_INCOMPLETE}content_filter", "refused"),
    (f"{_INCOMPLETE}max_output_tokens", "truncated"),
)
CODES: Final[Mapping[str, AgentTrouble]] = {
    "content_policy_violation": "refused",
    "content_filter": "refused",
    "cyber_policy_violation": "refused",
}
"""By the `code` in the JSON body that some errors have instead of a sentence."""
RETRY_IN: Final = re.compile(r"try again in (\d+(?:\.\d+)?) ?(ms|s|m)\b")
RETRY_AT_TIME: Final = re.compile(
    r"try again at (?:(?P<month>[A-Z][a-z]{2}) (?P<day>\d{1,2})(?:st|nd|rd|th), (?P<year>\d{4}) )?"
    r"(?P<clock>\d{1,2}:\d{2} [AP]M)"
)
SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}

Now = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Failure:
    trouble: AgentTrouble
    detail: str
    retry_at: Millis | None = None


def failure_of(sentence: str, now: Now) -> Failure:
    text = sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    code, message = _code_and_message(text)
    trouble = CODES.get(code) or _trouble(text)
    if trouble == "truncated":
        message = f"{TRUNCATED} ({message})"
    retry_at = _retry_at(text, now) if trouble == "quota" else None
    return Failure(trouble, message, retry_at)


def is_unserved(sentence: str) -> bool:
    """Whether no model has worked on the failed call: no connection, or a status of a service that rejects it."""
    status = STATUS.match(sentence)
    return sentence.startswith("Connection failed: ") or (status is not None and is_rejection(int(status[1])))


def _code_and_message(text: str) -> tuple[str, str]:
    """Read the JSON body that codex prints for status 400 instead of a sentence."""
    try:
        body: Any = bounded_json.loads(text)
        error = body["error"]
        return str(error.get("code")), str(error["message"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "", text


def _trouble(text: str) -> AgentTrouble:
    status = STATUS.match(text)
    if status is not None:
        return _of_status(int(status[1]))
    return next((trouble for start, trouble in SENTENCES if text.startswith(start)), "error")


def _of_status(status: int) -> AgentTrouble:
    if status in (401, 403):
        return "auth"
    if status == 404:
        return "unavailable"
    if status == 429:
        return "quota"
    return "transient" if status == 408 or status >= 500 else "error"


def _retry_at(text: str, now: Now) -> Millis | None:
    """When to retry. Times are in the machine's zone and precise to the minute; without a day, the next such time."""
    if (delay := RETRY_IN.search(text)) is not None:
        span = millis_of(float(delay[1]) * SECONDS[delay[2]])
        return None if span is None else Millis(_millis(now()) + span)
    time = RETRY_AT_TIME.search(text)
    if time is None:
        return None
    current = now()
    try:
        clock = datetime.strptime(time["clock"], "%I:%M %p")  # noqa: DTZ007 (it gets the zone of `current`)
        at = current.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
        if time["month"]:
            month = datetime.strptime(time["month"], "%b").month  # noqa: DTZ007 (only its month is used)
            at = at.replace(year=int(time["year"]), month=month, day=int(time["day"]))
        # The window opens during the minute in the message, so wait until its end.
        at += timedelta(minutes=1)
    except (ValueError, OverflowError):
        return None
    return _millis(at if time["month"] or at > current else at + timedelta(days=1))


def _millis(at: datetime) -> Millis:
    return Millis(int(at.timestamp() * 1000))

"""Why a turn of codex failed, from the one sentence it gives.

`turn.failed` has no code, so its wording is all there is; the sentences are those of codex 0.166.0, matched from their
beginning, and one that is not known is an error that is told as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from podium.core.types import Millis
from podium.ports.agent import AgentTrouble

STATUS: Final = re.compile(r"(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b")
SENTENCES: Final[tuple[tuple[str, AgentTrouble], ...]] = (
    ("Missing environment variable: ", "auth"),
    ("To use Codex with your ChatGPT plan, ", "auth"),
    ("The model `", "unavailable"),
    ("Quota exceeded.", "quota"),
    ("You've hit your usage limit", "quota"),
    ("rate limit exceeded: ", "quota"),
    ("Selected model is at capacity.", "transient"),
    # What every status 500 becomes; its own words are lost.
    ("We're currently experiencing high demand", "transient"),
    ("Connection failed: ", "transient"),
    (
        "stream disconnected before completion: Incomplete response returned, reason: content_filter",
        "refused",
    ),
    ("stream disconnected before completion: ", "transient"),
    ("Incomplete response returned, reason: content_filter", "refused"),
    ("Incomplete response returned, reason: max_output_tokens", "malformed"),
)
CODES: Final[Mapping[str, AgentTrouble]] = {
    "content_policy_violation": "refused",
    "content_filter": "refused",
    "cyber_policy_violation": "refused",
}
"""Of the body that some errors are told with instead of a sentence."""
IN_A_WHILE: Final = re.compile(r"try again in (\d+(?:\.\d+)?) ?(ms|s|m)\b")
AT_A_TIME: Final = re.compile(
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
    said = sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    code, message = _body(said)
    trouble = CODES.get(code) or _trouble(said)
    retry_at = _retry_at(said, now) if trouble == "quota" else None
    return Failure(trouble, message, retry_at)


def _body(said: str) -> tuple[str, str]:
    """A status of 400 gives the whole body instead of a sentence."""
    try:
        found: Any = json.loads(said)
        told = found["error"]
        return str(told.get("code")), str(told["message"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "", said


def _trouble(said: str) -> AgentTrouble:
    status = STATUS.match(said)
    if status is not None:
        return _of_status(int(status[1]))
    return next((trouble for start, trouble in SENTENCES if said.startswith(start)), "error")


def _of_status(status: int) -> AgentTrouble:
    if status in (401, 403):
        return "auth"
    if status == 404:
        return "unavailable"
    if status == 429:
        return "quota"
    return "transient" if status == 408 or status >= 500 else "error"


def _retry_at(said: str, now: Now) -> Millis | None:
    """Times are told to the minute and in the zone of the machine; without a day, the next such time is meant."""
    if (waits := IN_A_WHILE.search(said)) is not None:
        return _millis(now() + timedelta(seconds=float(waits[1]) * SECONDS[waits[2]]))
    found = AT_A_TIME.search(said)
    if found is None:
        return None
    here = now()
    try:
        clock = datetime.strptime(found["clock"], "%I:%M %p")  # noqa: DTZ007 (it gets the zone of `here`)
        at = here.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
        if found["month"]:
            month = datetime.strptime(found["month"], "%b").month  # noqa: DTZ007 (only its month is used)
            at = at.replace(year=int(found["year"]), month=month, day=int(found["day"]))
    except ValueError:
        return None
    # The minute that was told has begun when the window opens: its end is surely late enough.
    at += timedelta(minutes=1)
    return _millis(at if found["month"] or at > here else at + timedelta(days=1))


def _millis(at: datetime) -> Millis:
    return Millis(int(at.timestamp() * 1000))

"""Reads JSON lines from a program as they arrive, and the single JSON value that an answer may be.

Also builds the reports about what the program does, so that they mean the same for every agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from podium.core.types import MicroUsd
from podium.files import bounded_json
from podium.ports.agent import AgentTrouble, Progress, ProgressKind, Usage
from podium.workflow.contracts.single_json import NotOneValue, one_json

MAX_LINE: Final = 8 * 1024 * 1024
MAX_SUBJECT: Final = 200
"""Characters of a command or a path that are shown."""
TRUNCATED: Final = (
    "the answer was cut off at its maximum length, so it is not complete; a shorter one would fit"
)
"""The reason for the trouble `truncated`, for people and for the next attempt."""


class JsonLines:
    """Splits output into JSON objects with a `type` and skips other lines, because programs also print text."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Mapping[str, Any]]:
        if b"\n" not in data:
            self._buffer += data
        else:
            first, *others = data.split(b"\n")
            lines = [bytes(self._buffer) + first, *others[:-1]]
            self._buffer = bytearray(others[-1])
            yield from (record for line in lines if (record := _record(line)) is not None)
        if len(self._buffer) > MAX_LINE:
            self._buffer.clear()

    def rest(self) -> str:
        """The incomplete last line."""
        return self._buffer.decode("utf-8", "replace")


def _record(line: bytes) -> Mapping[str, Any] | None:
    # Most lines of a flood are not records, and searching one costs a tenth of parsing it.
    if b'"type"' not in line or len(line) > MAX_LINE:
        return None
    try:
        value = bounded_json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else None


def count_of(record: Any, key: str) -> int:
    """The positive integer under a key of a program's record; 0 for anything else."""
    value = record.get(key) if isinstance(record, Mapping) else None
    return value if type(value) is int and value > 0 else 0


class Answer(NamedTuple):
    value: Any = None
    has_value: bool = False
    trouble: AgentTrouble | None = None
    detail: str = ""


def read_answer(text: str, *, wants_value: bool) -> Answer:
    """Parse the answer of a program that succeeded; text is an answer too, unless a value is required."""
    try:
        return Answer(one_json(text), has_value=True)
    except NotOneValue as error:
        return Answer(trouble="malformed", detail=str(error)) if wants_value else Answer()


def message_report(message: str) -> Progress:
    """A whole message; one that comes in pieces ends with a line end of its own."""
    return Progress("text", message if message.endswith("\n") else f"{message}\n")


def tool_report(kinds: Mapping[str, ProgressKind], name: str, subject: str) -> Progress:
    """A tool by what it does; one that is not in the table is shown with its name."""
    kind = kinds.get(name, "tool")
    text = f"{name} {subject}".strip() if kind == "tool" or not subject else subject
    return Progress(kind, text[:MAX_SUBJECT])


def usage_report(usage: Usage, *, usd: MicroUsd | None = None, detail: str = "") -> Progress:
    """The tokens and the cost of an attempt so far."""
    text = f"{usage.input} in, {usage.cached} cached, {usage.output} out{detail}"
    return Progress("usage", text, tokens=usage.input + usage.cached + usage.output, usd=usd)

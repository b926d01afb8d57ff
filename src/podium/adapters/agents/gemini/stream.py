"""What the `gemini` program says in `stream-json`, understood.

Facts of 0.61.0: the exit code of an API error is its status modulo 256; an answer blocked for safety, and a signal,
end with 0; the counts are those of all calls of this process, by model, hidden ones too; `input` leaves out what was
cached, and thinking counts in the total only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from podium.adapters.agents.shared.json_lines import Answer, JsonLines, count_of, read_answer
from podium.core.expressions.values import MAX_TEXT
from podium.core.types import Millis
from podium.ports.agent import AgentResult, AgentTrouble, Progress, Usage
from podium.process.launch import Finished

STATUSES: Final = (400, 401, 403, 404, 408, 409, 413, 429, 499, 500, 501, 502, 503, 504, 529)
EXITS: Final[Mapping[int, AgentTrouble]] = {
    41: "auth",
    42: "error",
    52: "error",
    53: "failed",
    54: "error",
    55: "error",
}
"""No way to log in; input; settings; turns; a tool; an untrusted folder."""
EDITS: Final = frozenset({"replace", "write_file"})
TOLD: Final = 2000
_CLASS: Final = re.compile(r"\.json (\w+(?:Error|Exception)):")
_NETWORK: Final = re.compile(
    r"fetch failed|ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|SocketError|terminated|socket hang up"
)
_WITHHELD: Final = re.compile(r"blocked|safety|prohibited|recitation", re.IGNORECASE)
_CODE: Final = re.compile(r'"code":\s*(\d{3})\b')
_AFTER: Final = re.compile(r"retry after (\d+(?:\.\d+)?)s|retry in (\d+(?:\.\d+)?)s")


class GeminiConversation:
    def __init__(self, model: str, *, wants_value: bool, lacking: str = "") -> None:
        self._lacking = lacking
        self._model = model
        self._wants_value = wants_value
        self._lines = JsonLines()
        self._said: list[str] = []
        self._length = 0
        self._calls = 1
        self._after_tool = False
        self._session: str | None = None
        self._fault = ""
        self._result: Mapping[str, Any] | None = None

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [seen for record in self._lines.feed(data) for seen in self._heard(record)]

    def _heard(self, record: Mapping[str, Any]) -> Iterable[Progress]:
        match record:
            case {"type": "init", "session_id": str(session)}:
                self._session = session
            case {"type": "message", "role": "assistant", "content": str(text)}:
                self._next_turn()
                if self._length <= MAX_TEXT:
                    self._said.append(text)
                    self._length += len(text)
                yield Progress("text", text)
            case {"type": "tool_use", "tool_name": str(name)}:
                self._next_turn()
                self._forget()
                yield _use(name, record.get("parameters"))
            case {"type": "tool_result"}:
                self._after_tool = True
                yield Progress("done", "")
                if record.get("status") == "error":
                    yield Progress("note", f"a tool failed: {_text(record.get('output'))[:200]}")
            case {"type": "error", "message": str(message)}:
                self._fault = message
                yield Progress("note", message)
            case {"type": "result"}:
                self._result = record
                yield from _spent(record)
            case _:
                pass

    def _next_turn(self) -> None:
        if self._after_tool:
            self._after_tool = False
            self._calls += 1
            self._forget()

    def _forget(self) -> None:
        """What was said before a tool is talk on the way; the answer is what follows the last one, if anything does."""
        self._said.clear()
        self._length = 0

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        result, text = self._result or {}, "".join(self._said)
        trouble, detail = self._judge(finished, result)
        if trouble is None and not text.strip():
            why = f": {self._fault}" if self._fault else ""
            trouble, detail = "malformed", f"it ended well and said nothing{why}"
        answer, used = Answer(trouble=trouble, detail=detail), _usage(result, self._calls)
        if trouble is None:
            answer = read_answer(text, wants_value=self._wants_value)
        return AgentResult(
            text=text,
            **answer._asdict(),
            usage=used,
            retry_at=_retry_at(result) if trouble == "quota" else None,
            session=self._session,
            context=(used.input + used.cached) if self._calls == 1 and used.input else None,
        )

    def _judge(self, finished: Finished, result: Mapping[str, Any]) -> tuple[AgentTrouble | None, str]:
        """Well only if the exit, the last record and its status agree."""
        told = finished.stderr.text()
        if finished.timed_out:
            return "timeout", "its time ran out"
        if finished.signal is not None:
            return "transient", f"it was ended by signal {finished.signal}"
        if finished.exit_code == 0 and result.get("status") == "success":
            return None, ""
        if finished.exit_code == 0 and result.get("status") == "error":
            # Only what the model itself has done ends like this: it refused, or there is nothing in its answer.
            withheld = _WITHHELD.search(self._fault) is not None
            return "refused" if withheld else "transient", self._fault or "there is no answer"
        if finished.exit_code == 0:
            return "malformed", "it ended with exit code 0 in the middle of its answer"
        fault = result.get("error")
        message = _text(fault.get("message")) if isinstance(fault, dict) else ""
        trouble = _trouble(finished.exit_code, message, told)
        return trouble, self._detail(trouble, finished.exit_code, message or told.strip()[-TOLD:])

    def _detail(self, trouble: AgentTrouble, exit_code: int, message: str) -> str:
        said = _plain(message) or f"it ended with exit code {exit_code}"
        match trouble:
            case "auth":
                return f"gemini could not log in: {self._lacking or said}"
            case "unavailable":
                return f'model "{self._model}" is not to be had: {said}'
            case _:
                return said


def _trouble(exit_code: int, message: str, told: str) -> AgentTrouble:
    """By the exit code, then by the code in the message, then by the class of the error that it prints."""
    codes = [status for status in STATUSES if status % 256 == exit_code]
    if not codes and (found := _CODE.search(message)):
        codes = [int(found[1])]
    if codes:
        return _of_status(codes[0])
    if exit_code in EXITS:
        return EXITS[exit_code]
    kind = _CLASS.search(told)
    if kind is not None and kind[1] == "ModelNotFoundError":
        return "unavailable"
    if message and _NETWORK.search(f"{message}\n{told}"):
        return "transient"
    # Noise instead of an answer; with another exit code nobody knows.
    return "transient" if message and "JSON" in message else "error"


def _of_status(status: int) -> AgentTrouble:
    match status:
        case 401 | 403:
            return "auth"
        case 404:
            return "unavailable"
        case 429:
            return "quota"
        case 408 | 409 | 499:
            return "transient"
        case _:
            return "transient" if status >= 500 else "error"


def _retry_at(result: Mapping[str, Any]) -> Millis | None:
    """When the quota opens again: so long after the record that says it."""
    fault, when = result.get("error"), result.get("timestamp")
    found = _AFTER.search(_text(fault.get("message")) if isinstance(fault, dict) else "")
    if found is None or not isinstance(when, str):
        return None
    try:
        began = datetime.fromisoformat(when).timestamp()
    except ValueError:
        return None
    return Millis(round((began + float(found[1] or found[2])) * 1000))


def _usage(result: Mapping[str, Any], calls: int) -> Usage:
    stats = result.get("stats")
    total, prompt, fresh, cached, answered = (
        count_of(stats, key) for key in ("total_tokens", "input_tokens", "input", "cached", "output_tokens")
    )
    return Usage(input=fresh, output=max(answered, total - prompt), cached=cached, calls=calls)


def _spent(result: Mapping[str, Any]) -> Iterable[Progress]:
    stats = result.get("stats")
    models = stats.get("models") if isinstance(stats, dict) else None
    for name, counts in (models if isinstance(models, dict) else {}).items():
        yield Progress(
            "usage", f"{name}: {count_of(counts, 'input_tokens')} in, {count_of(counts, 'output_tokens')} out"
        )


def _use(name: str, parameters: Any) -> Progress:
    given = parameters if isinstance(parameters, dict) else {}
    path = given.get("file_path")
    if name in EDITS and isinstance(path, str):
        return Progress("file", path)
    what = given.get("command") or path or given.get("pattern") or ""
    return Progress("tool", f"{name} {what}".strip()[:200])


def _plain(message: str) -> str:
    """What a person needs of it: without the brackets, and without the JSON around the words of the API."""
    said = re.sub(r"^\[API Error: (.*?)\](?=\n|$)", r"\1", message.strip(), flags=re.DOTALL)
    try:
        inner = json.loads(said)["error"]["message"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return said[:TOLD]
    return str(inner)[:TOLD]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""Parses the `stream-json` output of the `gemini` program.

In version 0.61.0 the exit code of an API error is its status modulo 256. It is 0 after an answer that was blocked for
safety, and after a signal. The token counts include all calls of the process, also hidden ones, by model; `input`
excludes cached tokens, and only the total includes reasoning. That an answer was cut off at its maximum length is in
its report only, and that it stopped in a loop is a warning before a success.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from podium.adapters.agents.shared.json_lines import Answer, JsonLines, count_of, read_answer, tool_report
from podium.adapters.agents.shared.troubles import REJECTIONS, TRUNCATED, is_rejection, not_served
from podium.core.expressions.values import MAX_TEXT
from podium.core.types import Millis
from podium.files import bounded_json
from podium.ports.agent import AgentResult, AgentTrouble, Progress, ProgressKind, Usage
from podium.ports.retry_time import millis_of
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
"""In this order: no login, invalid input, invalid settings, turn limit, a failed tool, an untrusted folder."""
EDITS: Final = frozenset({"replace", "write_file"})
TOOLS: Final[Mapping[str, ProgressKind]] = {
    **dict.fromkeys(
        ("read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search"),
        "read",
    ),
    "run_shell_command": "run",
}
MAX_ERRORS: Final = 64 * 1024
"""Characters of the end of stderr in which its error is looked for."""
MAX_MESSAGE: Final = 2000
_CLASS: Final = re.compile(r"\.json (\w+(?:Error|Exception)):")
_NETWORK: Final = re.compile(
    r"fetch failed|ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|SocketError|terminated|socket hang up"
)
_WITHHELD: Final = re.compile(r"blocked|safety|prohibited|recitation", re.IGNORECASE)
_TRUNCATED: Final = re.compile(r"truncated|token limit", re.IGNORECASE)
_FINISH: Final = re.compile(r'^ *"finish_reasons": \[([^\]]*)\](?:,\s*"role": "(\w+)")?', re.MULTILINE)
_NO_KEY: Final = re.compile(r"API_KEY_(?:INVALID|EXPIRED)|API key (?:not valid|not found|expired)")
"""Google answers an invalid key with status 400."""
_CODE: Final = re.compile(r'"code":\s*(\d{3})\b')
_AFTER: Final = re.compile(r"retry after (\d+(?:\.\d+)?)s|retry in (\d+(?:\.\d+)?)s")


class GeminiConversation:
    def __init__(self, model: str, *, wants_value: bool, missing_key: str = "") -> None:
        self._missing_key = missing_key
        self._model = model
        self._wants_value = wants_value
        self._lines = JsonLines()
        self._texts: list[str] = []
        self._length = 0
        self._calls = 1
        self._after_tool = False
        self._session: str | None = None
        self._fault = ""
        self._worked = False
        self._stopped = False
        """Whether the last thing it printed is that it stops."""
        self._cut_off = False
        self._result: Mapping[str, Any] | None = None

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [progress for record in self._lines.feed(data) for progress in self._read(record)]

    def _read(self, record: Mapping[str, Any]) -> Iterable[Progress]:
        match record:
            case {"type": "init", "session_id": str(session)}:
                self._session = session
            case {"type": "message", "role": "assistant", "content": str(text)}:
                self._next_turn()
                self._stopped = False
                if self._length <= MAX_TEXT:
                    self._texts.append(text)
                    self._length += len(text)
                yield Progress("text", text)
            case {"type": "tool_use", "tool_name": str(name)}:
                self._next_turn()
                self._stopped = False
                self._drop_text()
                yield _use(name, record.get("parameters"))
            case {"type": "tool_result"}:
                self._after_tool = True
                yield Progress("done", "")
                if record.get("status") == "error":
                    yield Progress("note", f"a tool failed: {_text(record.get('output'))[:200]}")
            case {"type": "error", "message": str(message)}:
                self._fault, self._stopped = message, True
                yield Progress("note", message)
            case {"type": "result"}:
                self._result = record
                yield from _usage_by_model(record)
            case _:
                pass

    def _next_turn(self) -> None:
        self._worked = True
        if self._after_tool:
            self._after_tool = False
            self._calls += 1
            self._drop_text()

    def _drop_text(self) -> None:
        """Drop the text before a tool, because the answer is the text after the last tool."""
        self._texts.clear()
        self._length = 0

    def read_report(self, end: bytes) -> None:
        """Find out whether the last answer was cut off; in the report, quotes inside texts are escaped."""
        calls = _FINISH.findall(end.decode("utf-8", "replace"))
        reasons = [reasons for reasons, role in calls if role in ("", "main")]
        self._cut_off = bool(reasons) and '"length"' in reasons[-1]

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        result, text = self._result or {}, "".join(self._texts)
        trouble, detail = self._trouble(finished, result)
        if trouble is None and not text.strip():
            why = f": {self._fault}" if self._fault else ""
            trouble, detail = "malformed", f"it ended well and said nothing{why}"
        answer, used = Answer(trouble=trouble, detail=detail), _usage(result, self._calls)
        if trouble is None:
            answer = read_answer(text, wants_value=self._wants_value)
        reply = AgentResult(
            text=text,
            **answer._asdict(),
            usage=used,
            retry_at=_retry_at(result) if trouble == "quota" else None,
            session=self._session,
            context=(used.input + used.cached) if self._calls == 1 and used.input else None,
        )
        return not_served(reply) if self._is_rejected(finished, reply) else reply

    def _is_rejected(self, finished: Finished, reply: AgentResult) -> bool:
        """Whether the first call failed before its model did anything, or was never made."""
        used, status = reply.usage, _status(finished.exit_code, "")
        is_reported = self._result is not None or finished.exit_code in EXITS
        is_rejected = reply.trouble in REJECTIONS or (status is not None and is_rejection(status))
        is_first = not self._worked and not (used.input or used.output or used.cached)
        return reply.trouble is not None and is_reported and is_rejected and is_first

    def _trouble(self, finished: Finished, result: Mapping[str, Any]) -> tuple[AgentTrouble | None, str]:
        """It succeeded only if the exit code, the last record and its status agree."""
        stderr = finished.stderr.tail(MAX_ERRORS)
        if finished.timed_out:
            return "timeout", "its time ran out"
        if finished.signal is not None and result.get("status") != "error":
            return "transient", f"it was ended by signal {finished.signal}"
        if finished.exit_code == 0 and self._cut_off and result.get("status") in ("success", "error"):
            return "truncated", TRUNCATED
        if finished.exit_code == 0 and result.get("status") == "success":
            return (
                ("truncated", f"gemini stopped before the answer was complete: {self._fault}")
                if self._stopped
                else (None, "")
            )
        if finished.exit_code == 0 and result.get("status") == "error":
            # Only the model itself causes this: it refused, or its answer is empty.
            if _TRUNCATED.search(self._fault):
                return "truncated", f"{TRUNCATED} ({self._fault})"
            withheld = _WITHHELD.search(self._fault) is not None
            return "refused" if withheld else "transient", self._fault or "no answer"
        if finished.exit_code == 0:
            return "malformed", "it ended with exit code 0 in the middle of its answer"
        fault = result.get("error")
        message = _text(fault.get("message")) if isinstance(fault, dict) else ""
        trouble = _trouble_of(finished.exit_code, message, stderr)
        return trouble, self._detail(trouble, finished.exit_code, message or stderr.strip()[-MAX_MESSAGE:])

    def _detail(self, trouble: AgentTrouble, exit_code: int, message: str) -> str:
        reason = _plain(message) or f"it ended with exit code {exit_code}"
        match trouble:
            case "auth":
                return f"gemini could not log in: {self._missing_key or reason}"
            case "unavailable":
                return f'model "{self._model}" is not to be had: {reason}'
            case _:
                return reason


def _trouble_of(exit_code: int, message: str, stderr: str) -> AgentTrouble:
    """Classify by the exit code, then by the code in the message, then by the class of the printed error."""
    if _NO_KEY.search(message):
        return "auth"
    status = _status(exit_code, message)
    if status is not None:
        return _of_status(status)
    if exit_code in EXITS:
        return EXITS[exit_code]
    kind = _CLASS.search(stderr)
    if kind is not None and kind[1] == "ModelNotFoundError":
        return "unavailable"
    if message and _NETWORK.search(f"{message}\n{stderr}"):
        return "transient"
    # An answer that is not valid JSON may be repeated; any other cause is unknown.
    return "transient" if message and "JSON" in message else "error"


def _status(exit_code: int, message: str) -> int | None:
    codes = [status for status in STATUSES if status % 256 == exit_code]
    if not codes and (code := _CODE.search(message)):
        codes = [int(code[1])]
    return codes[0] if codes else None


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
    """When the quota opens again: the delay in the message, counted from the time of the record."""
    fault, when = result.get("error"), result.get("timestamp")
    delay = _AFTER.search(_text(fault.get("message")) if isinstance(fault, dict) else "")
    if delay is None or not isinstance(when, str):
        return None
    try:
        start = datetime.fromisoformat(when).timestamp()
    except ValueError:
        return None
    return millis_of(start + float(delay[1] or delay[2]))


def _usage(result: Mapping[str, Any], calls: int) -> Usage:
    stats = result.get("stats")
    total, prompt, fresh, cached, answered = (
        count_of(stats, key) for key in ("total_tokens", "input_tokens", "input", "cached", "output_tokens")
    )
    return Usage(input=fresh, output=max(answered, total - prompt), cached=cached, calls=calls)


def _usage_by_model(result: Mapping[str, Any]) -> Iterable[Progress]:
    stats = result.get("stats")
    models = stats.get("models") if isinstance(stats, dict) else None
    for name, counts in (models if isinstance(models, dict) else {}).items():
        tokens = count_of(counts, "input_tokens"), count_of(counts, "output_tokens")
        yield Progress("usage", f"{name}: {tokens[0]} in, {tokens[1]} out", tokens=sum(tokens))


def _use(name: str, parameters: Any) -> Progress:
    arguments = parameters if isinstance(parameters, dict) else {}
    path = arguments.get("file_path") or arguments.get("absolute_path") or arguments.get("path")
    if name in EDITS and isinstance(path, str):
        return Progress("file", path)
    main = arguments.get("command") or path or arguments.get("pattern") or ""
    return tool_report(TOOLS, name, str(main))


def _plain(message: str) -> str:
    """The message without its brackets, and without the JSON around the message of the API."""
    text = re.sub(r"^\[API Error: (.*?)\](?=\n|$)", r"\1", message.strip(), flags=re.DOTALL)
    try:
        inner = bounded_json.loads(text)["error"]["message"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return text[:MAX_MESSAGE]
    return str(inner)[:MAX_MESSAGE]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

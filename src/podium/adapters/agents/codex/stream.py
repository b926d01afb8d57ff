"""Parses the output of `codex exec --json`.

An attempt succeeded only if the exit code is 0, the turn completed and a message follows the last tool: codex also
exits 0 after a turn without an answer. The last usage report counts, because each is the sum over the thread; its input
includes cached tokens and its output includes reasoning. A failed turn reports no usage.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any, Final

from podium.adapters.agents.codex.errors import Failure, Now, failure_of, is_unserved
from podium.adapters.agents.codex.strict_schema import restored
from podium.adapters.agents.shared.json_lines import MAX_SUBJECT, JsonLines, message_report, usage_report
from podium.adapters.agents.shared.troubles import REJECTIONS, not_served, with_stderr
from podium.core.types import Millis
from podium.ports.agent import AgentRequest, AgentResult, Progress, Usage
from podium.process.launch import Finished
from podium.workflow.contracts.single_json import NotOneValue, one_json

RETRY: Final = re.compile(r"Reconnecting\.\.\. \d+/\d+ \((.*)\)", re.DOTALL)
_SHELL: Final = re.compile(r"\S*/(?:ba|z|da)?sh -l?c ('?)(.*)\1", re.DOTALL)
TOOLS: Final = frozenset({"command_execution", "file_change", "mcp_tool_call", "web_search"})


def _now() -> datetime:
    return datetime.now(UTC).astimezone()


class CodexConversation:
    def __init__(self, request: AgentRequest, *, auth_hint: str = "", now: Now = _now) -> None:
        self._request = request
        self._auth_hint = auth_hint
        self._now = now
        self._lines = JsonLines()
        self._thread: str | None = None
        self._answer: str | None = None
        self._usage = Usage()
        self._usage_incomplete = False
        self._started = self._completed = self._worked = False
        self._failed: str | None = None
        self._retrying: str | None = None
        self._retrying_since: datetime | None = None
        self._vendor_delay: timedelta | None = None

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [progress for record in self._lines.feed(data) for progress in self._read(record)]

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        failure = self._failure(finished)
        value, has_value, fault = self._value() if failure is None else (None, False, "")
        if failure is None and fault and self._request.schema is not None:
            failure = Failure("malformed", fault)
        result = AgentResult(
            text=self._answer or "",
            value=value,
            has_value=has_value,
            usage=self._usage,
            usage_incomplete=self._usage_incomplete,
            trouble=None if failure is None else failure.trouble,
            detail="" if failure is None else failure.detail,
            retry_at=None if failure is None else failure.retry_at,
            session=self._thread,
        )
        return not_served(result) if failure is not None and self._is_rejected(failure) else result

    def _is_rejected(self, failure: Failure) -> bool:
        """Whether the first call failed before its model did anything: codex reports no usage of a failed turn."""
        return not (self._worked or self._completed) and (
            failure.trouble in REJECTIONS or is_unserved(self._failed or "")
        )

    def _read(self, record: Mapping[str, Any]) -> Iterator[Progress]:
        match record:
            case {"type": "thread.started", "thread_id": str(thread)}:
                self._thread = thread
            case {"type": "turn.started"}:
                self._started = True
            case {"type": "item.started" | "item.completed" as moment, "item": {"type": str(kind)}}:
                yield from self._item(kind, record["item"], is_done=moment == "item.completed")
            case {"type": "error", "message": str(message)}:
                self._measure_delay()
                self._retrying = retry[1] if (retry := RETRY.fullmatch(message)) is not None else None
                self._retrying_since = None if self._retrying is None else self._now()
                yield Progress("note" if self._retrying is None else "retry", message)
            case {"type": "turn.completed"}:
                self._completed = True
                yield from self._count(record.get("usage"))
            case {"type": "turn.failed"}:
                self._failed = _message(record)
            case _:
                pass

    def _measure_delay(self) -> None:
        """Take the time that codex has waited to retry as the vendor's Retry-After, which it obeys and never prints."""
        if self._retrying_since is None or failure_of(self._retrying or "", self._now).trouble != "quota":
            return
        self._vendor_delay = self._now() - self._retrying_since

    def _item(self, kind: str, item: Mapping[str, Any], *, is_done: bool) -> Iterator[Progress]:
        self._retrying = None
        self._worked = self._worked or kind != "error"
        if kind in TOOLS and not is_done:
            # A message before a tool is not the answer. A command may end after the answer, so only its start counts.
            self._answer = None
        match kind, item:
            case "agent_message", {"text": str(text)} if is_done:
                self._answer = text
                yield message_report(text)
            case "reasoning", {"text": str(text)} if is_done and text.strip():
                yield Progress("think", text)
            case "error", {"message": str(message)}:
                yield Progress("note", message)
            case "command_execution", {"command": str(command)} if not is_done:
                yield Progress("run", _bare_command(command)[:MAX_SUBJECT])
            case "command_execution" | "mcp_tool_call", _ if is_done:
                yield Progress("done", "")
            case "mcp_tool_call", {"server": str(server), "tool": str(tool)} if not is_done:
                yield Progress("tool", f"{server}.{tool}")
            case "web_search", {"query": str(query)} if is_done:
                yield Progress("tool", f"web search: {query}")
            case "file_change", {"changes": list(changes), "status": "completed"} if is_done:
                yield from (Progress("file", self._relative(path)) for path in _paths(changes))
            case "file_change", {"status": "failed"} if is_done:
                yield Progress("note", "a change of files failed")

    def _relative(self, path: str) -> str:
        try:
            return PurePath(path).relative_to(self._request.cwd).as_posix()
        except ValueError:
            return path

    def _count(self, usage: Any) -> Iterator[Progress]:
        if not isinstance(usage, dict):
            return
        cached = min(_number(usage, "cached_input_tokens"), _number(usage, "input_tokens"))
        output, reasoning = _number(usage, "output_tokens"), _number(usage, "reasoning_output_tokens")
        total = Usage(input=_number(usage, "input_tokens") - cached, output=output, cached=cached)
        if self._request.session is not None:
            earlier = self._request.session.usage
            # A total below the earlier one is wrong: a tool may have written to the file from which codex restores it.
            self._usage_incomplete = total.input < earlier.input or total.output < earlier.output
            total = _since(earlier, total)
        self._usage = total
        yield usage_report(self._usage, detail=f", {reasoning} of them reasoning")

    def _failure(self, finished: Finished) -> Failure | None:
        if finished.timed_out:
            return self._out_of_time()
        if self._failed is not None:
            return self._turn_failed(self._failed)
        if finished.signal is not None:
            return Failure("transient", f"it was ended by signal {finished.signal}")
        if not self._completed:
            return self._broken_off(finished)
        if finished.exit_code != 0:
            how = f"it reported success and ended with exit code {finished.exit_code}"
            return Failure("error", with_stderr(how, finished))
        if not (self._answer or "").strip():
            # A refusal looks the same, because codex does not report it.
            return Failure("malformed", "it ended well and said nothing; the model may have refused")
        return None

    def _out_of_time(self) -> Failure:
        """A timeout while codex waits for a retry, which a vendor may delay by an hour, is the vendor's failure."""
        why = None if self._retrying is None else failure_of(self._retrying, self._now)
        if why is None or why.trouble not in ("quota", "transient"):
            return Failure("timeout", "its time ran out")
        detail = f"its time ran out while it waited to try again: {why.detail}"
        return Failure(why.trouble, detail, why.retry_at)

    def _turn_failed(self, sentence: str) -> Failure:
        failure = failure_of(sentence, self._now)
        if failure.trouble == "quota" and failure.retry_at is None and self._vendor_delay is not None:
            # Rounded up: a retry just before the quota opens would be refused again.
            seconds = math.ceil(self._vendor_delay.total_seconds())
            at = Millis(int((self._now() + timedelta(seconds=seconds)).timestamp() * 1000))
            return Failure("quota", failure.detail, at)
        if failure.trouble == "auth" and self._auth_hint:
            return Failure("auth", f"{failure.detail}\n{self._auth_hint}")
        return failure

    def _broken_off(self, finished: Finished) -> Failure:
        if self._started:
            how = f"it ended with exit code {finished.exit_code} in the middle of its turn"
            return Failure("transient", with_stderr(how, finished))
        if finished.exit_code == 0:
            return Failure("malformed", "it ended without a turn")
        how = f"it ended with exit code {finished.exit_code} before its turn began"
        return Failure("error", with_stderr(how, finished))

    def _value(self) -> tuple[Any, bool, str]:
        """The answer as JSON; codex does not check it, so it may be text even if a value was required."""
        try:
            value = one_json(self._answer or "")
        except NotOneValue as error:
            return None, False, str(error)
        schema = self._request.schema
        return value if schema is None else restored(value, schema), True, ""


def _since(earlier: Usage, total: Usage) -> Usage:
    """The usage of this turn; codex counts from the beginning of the thread."""
    return Usage(
        input=max(0, total.input - earlier.input),
        output=max(0, total.output - earlier.output),
        cached=max(0, total.cached - earlier.cached),
    )


def _bare_command(command: str) -> str:
    """The command without the shell that codex starts for it."""
    shell = _SHELL.fullmatch(command)
    return command if shell is None else shell[2]


def _message(record: Mapping[str, Any]) -> str:
    error = record.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) and message else "the turn failed without a reason"


def _paths(changes: Iterable[Any]) -> Iterator[str]:
    for change in changes:
        match change:
            case {"path": str(path)}:
                yield path
            case _:
                pass


def _number(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if type(value) is int and value > 0 else 0

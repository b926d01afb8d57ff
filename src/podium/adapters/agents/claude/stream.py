"""Parses the output of `claude -p --output-format stream-json`.

An attempt succeeded only if the exit code, the last event, its subtype and its is_error agree: each of them alone may
report success for a failure. Tokens and cost are read from `modelUsage` of the last event, because its `usage` is zero
after a broken stream, and the numbers of single messages are placeholders. They are those of this turn, because
session_file.py removes the totals of earlier turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from podium.adapters.agents.claude.blocks import block_report, is_text, pieces
from podium.adapters.agents.claude.messages import SentMessages
from podium.adapters.agents.shared.json_lines import (
    JsonLines,
    count_of,
    usage_report,
)
from podium.adapters.agents.shared.troubles import TRUNCATED, is_rejection, not_served, with_stderr
from podium.core.types import MicroUsd, Millis
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, Progress, Usage
from podium.ports.clock import Clock, wall_clock
from podium.process.launch import Finished
from podium.workflow.contracts.single_json import NotOneValue, one_json

ALIASES: Final = frozenset({"sonnet", "opus", "haiku"})

ERRORS: Final[Mapping[str, AgentTrouble]] = {
    "authentication_failed": "auth",
    "rate_limit": "quota",
    "billing_error": "quota",
    "max_output_tokens": "truncated",
    "server_error": "transient",
    "overloaded": "transient",
    # For example, a reply that is not JSON; the agent did not cause it.
    "unknown": "transient",
}
"""By the `error` of the synthetic message after a failed call; other values mean an invalid call."""
STATUSES: Final[Mapping[int, AgentTrouble]] = {
    401: "auth",
    403: "auth",
    404: "unavailable",
    408: "transient",
    429: "quota",
}
OWN_DELAY_MS: Final = 1500
LIMITS: Final = ("error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries")


_GATEWAY: Final = re.compile(r" If it persists, check your inference gateway \([^)]*\)\.")
"""An advice about the address that claude calls, which in the sandbox is that of the broker."""


class _Retry(NamedTuple):
    """A call that claude is about to repeat."""

    status: Any
    delay_ms: int
    at: Millis


class ClaudeConversation:
    def __init__(
        self,
        request: AgentRequest,
        *,
        structured: bool,
        missing_auth: str = "",
        clock: Clock = wall_clock,
    ) -> None:
        self._clock = clock
        self._wants_value = request.schema is not None
        self._streams = request.streams
        self._structured = structured
        self._missing_auth = missing_auth
        self._is_priced = _is_priced(request.model)
        self._lines = JsonLines()
        self._last: Mapping[str, Any] | None = None
        self._error = ""
        self._reset: Millis | None = None
        self._quota: int | None = None
        self._calls: dict[str, Usage] = {}
        self._session: str | None = None
        self._model = ""
        self._retry: _Retry | None = None
        self._vendor_delay_ms: int | None = None
        self._parts: dict[str, str] = {}
        """The texts of the messages since the last tool, by the id of the message."""
        self._sent = SentMessages()

    def feed(self, data: bytes) -> Iterable[Progress]:
        return [progress for record in self._lines.feed(data) for progress in self._read(record)]

    def guide(self, key: str, text: str) -> bytes:
        return self._sent.write(key, text)

    def passed_on(self) -> Iterable[str]:
        return self._sent.passed_on()

    @property
    def has_answered(self) -> bool:
        return self._last is not None and not self._sent.is_open

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        trouble, detail = self._trouble(finished)
        value, has_value = self._value() if trouble is None else (None, False)
        if trouble is None and self._wants_value and not has_value:
            trouble, detail = "malformed", "it ended well without the structured answer it was asked for"
        text = self._text()
        if trouble is None and not text.strip():
            trouble, detail = "malformed", "it ended well and said nothing"
        result = AgentResult(
            text=text,
            value=value,
            has_value=has_value,
            usage=self._usage(),
            usage_incomplete=self._last is None,
            cost=self._cost(),
            trouble=trouble,
            detail=detail,
            retry_at=self._retry_at() if trouble == "quota" else None,
            session=self._session,
            model=self._model,
            context=self._context(),
            window=self._window(),
            quota=self._quota,
        )
        return not_served(result) if self._is_rejected(result) else result

    def _retry_at(self) -> Millis | None:
        """When the quota opens again: claude reports it for a login, and else how long it waits before each retry."""
        if self._reset is not None:
            return self._reset
        if self._last is None and self._retry is not None:
            return Millis(self._retry.at + self._retry.delay_ms)
        return None if self._vendor_delay_ms is None else Millis(self._clock() + self._vendor_delay_ms)

    def _is_rejected(self, result: AgentResult) -> bool:
        """Whether the first call failed before its model did anything."""
        status = (self._last or {}).get("api_error_status")
        used = result.usage.input or result.usage.output or result.usage.cached
        return result.cost == 0 and not used and type(status) is int and is_rejection(status)

    def _read(self, record: Mapping[str, Any]) -> Iterator[Progress]:
        if record.get("type") in ("assistant", "user"):
            self._retry = None
        if record.get("type") == "user" and record.get("parent_tool_use_id") is None:
            self._parts.clear()
        match record:
            case {"type": "user"} if self._sent.read(record):
                self._last = None  # If it came after the answer, it starts another turn, whose answer counts.
            case {"type": "assistant", "message": {"content": list(blocks)}}:
                message: Mapping[str, Any] = record["message"]
                self._record_call(record, message)
                # A synthetic message is an error, which the last event repeats.
                if message.get("model") != "<synthetic>":
                    yield from self._collect_parts(record, message, blocks)
                    # In a stream of pieces, the text was reported before.
                    new = (block for block in blocks if not (self._streams and is_text(block)))
                    yield from (progress for block in new if (progress := block_report(block)) is not None)
                    yield usage_report(self._usage())
            case {"type": "stream_event", "event": dict(event), "parent_tool_use_id": None}:
                yield from pieces(event)
            case {"type": "user", "tool_use_result": {"filePath": str(path), "type": "create" | "update"}}:
                yield Progress("file", path)
            case {"type": "user", "tool_use_result": {"filePath": str(path), "structuredPatch": list()}}:
                yield Progress("file", path)
            case {"type": "user", "tool_use_result": _}:
                yield Progress("done", "")
            case {"type": "system", "subtype": "init", "session_id": str(session)}:
                self._session = session
                self._model = str(record.get("model") or "").partition("[")[0]
            case {"type": "system", "subtype": "api_retry"}:
                self._retry = _Retry(record.get("error_status"), _delay(record), self._clock())
                self._vendor_delay_ms = _vendor_delay(self._retry)
                why = record.get("error_status") or record.get("error") or "no reply"
                until = Millis(self._retry.at + self._retry.delay_ms)
                yield Progress("retry", f"call {record.get('attempt')} failed ({why}); trying again", until)
            case {"type": "rate_limit_event", "rate_limit_info": dict(info)}:
                self._read_quota(info)
            case {"type": "result"}:
                self._last = record
                yield usage_report(self._usage(), usd=self._cost())
            case _:
                pass

    def _read_quota(self, info: Mapping[str, Any]) -> None:
        """For a login: how much of its window is used, a share of one, and when a window that is used up opens again."""
        share, at = info.get("utilization"), info.get("resetsAt")
        if isinstance(share, int | float):
            self._quota = max(self._quota or 0, round(share * 100))
        if info.get("status") == "rejected":
            self._quota = 100
            self._reset = Millis(at * 1000) if isinstance(at, int) else self._reset

    def _collect_parts(
        self, record: Mapping[str, Any], message: Mapping[str, Any], blocks: list[Any]
    ) -> Iterator[Progress]:
        """Collect the parts of the answer: at the token limit claude asks its model to continue in another message."""
        name = message.get("id")
        if record.get("parent_tool_use_id") is not None or not isinstance(name, str):
            return
        if self._parts and name not in self._parts:
            yield Progress("note", "the answer reached its maximum length; claude lets its model continue it")
        for block in blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    self._parts[name] = self._parts.get(name, "") + text
                case {"type": "tool_use"}:
                    self._parts.clear()
                case _:
                    pass

    def _record_call(self, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        """Keep the usage of a call, in case the last event never comes, and the error of a failed one."""
        self._error = str(record.get("error") or "")
        usage, name = message.get("usage"), message.get("id")
        if isinstance(usage, dict) and isinstance(name, str):
            self._calls[name] = Usage(
                input=count_of(usage, "input_tokens") + count_of(usage, "cache_creation_input_tokens"),
                output=count_of(usage, "output_tokens"),
                cached=count_of(usage, "cache_read_input_tokens"),
                written=count_of(usage, "cache_creation_input_tokens"),
            )

    def _trouble(self, finished: Finished) -> tuple[AgentTrouble | None, str]:
        last = self._last
        if finished.timed_out:
            return self._out_of_time()
        if finished.signal is not None and (last is None or last.get("is_error") is not True):
            return "transient", f"it was ended by signal {finished.signal}"
        if last is None:
            return self._without_result(finished)
        message = self._text() or "; ".join(str(error) for error in _list(last.get("errors")))
        subtype = last.get("subtype")
        if last.get("stop_reason") == "refusal":
            return "refused", message or "the model refused"
        if last.get("stop_reason") == "max_tokens":
            return "truncated", TRUNCATED
        if subtype in LIMITS:
            return "failed", message or f"claude stopped: {subtype}"
        if last.get("is_error") is True:
            return self._failed_call(last, message)
        if subtype != "success":
            trouble: AgentTrouble = "transient" if last.get("terminal_reason") == "aborted_tools" else "error"
            return trouble, message or f"claude stopped: {subtype}"
        if finished.exit_code != 0:
            return "error", with_stderr(
                f"it reported success and ended with exit code {finished.exit_code}", finished
            )
        return (
            (None, "")
            if last.get("is_error") is False
            else ("malformed", "its last event says nothing of success")
        )

    def _out_of_time(self) -> tuple[AgentTrouble, str]:
        """A timeout while claude waits to call again, which a vendor may delay, is the vendor's failure."""
        status = None if self._retry is None else self._retry.status
        trouble = (
            STATUSES.get(status, "transient" if status >= 500 else "timeout")
            if type(status) is int
            else "timeout"
        )
        if trouble not in ("quota", "transient"):
            return "timeout", "its time ran out"
        return trouble, f"its time ran out while it waited to call again after status {status}"

    def _without_result(self, finished: Finished) -> tuple[AgentTrouble, str]:
        if finished.exit_code == 0:
            return "malformed", "it ended without a result"
        return "error", with_stderr(f"it ended with exit code {finished.exit_code} and no result", finished)

    def _failed_call(self, last: Mapping[str, Any], message: str) -> tuple[AgentTrouble, str]:
        status = last.get("api_error_status")
        if last.get("terminal_reason") == "aborted_tools":
            trouble: AgentTrouble = "transient"
        elif type(status) is int:
            trouble = STATUSES.get(status, "transient" if status >= 500 else "error")
        else:
            trouble = ERRORS.get(self._error, "error")
        detail = message or "a call of the model failed"
        if trouble == "truncated":
            return trouble, f"{TRUNCATED} ({detail})"
        if trouble == "auth" and self._missing_auth:
            return trouble, f"{detail}\n{self._missing_auth}"
        return trouble, detail

    def _value(self) -> tuple[Any, bool]:
        last = self._last or {}
        if self._structured:
            return last.get("structured_output"), "structured_output" in last
        try:
            return one_json(self._text()), True
        except NotOneValue:
            return None, False

    def _text(self) -> str:
        last = self._last or {}
        text = last.get("result")
        if isinstance(text, str) and text:
            return self._joined(_GATEWAY.sub("", text) if last.get("is_error") is True else text)
        value = last.get("structured_output")
        return "" if value is None else json.dumps(value, ensure_ascii=False)

    def _joined(self, text: str) -> str:
        """The whole answer; claude reports only the last part of one that its model continued."""
        parts = list(self._parts.values())
        return "".join(parts) if len(parts) > 1 and parts[-1].strip() == text.strip() else text

    def _usage(self) -> Usage:
        models = (self._last or {}).get("modelUsage")
        if isinstance(models, dict):
            written = _sum(models, "cacheCreationInputTokens")
            return Usage(
                input=_sum(models, "inputTokens") + written,
                output=_sum(models, "outputTokens"),
                cached=_sum(models, "cacheReadInputTokens"),
                written=written,
                calls=max(len(self._calls), 1),
            )
        # Without the last event the input is exact, but the output of each message is a placeholder.
        calls = self._calls.values()
        return Usage(
            input=sum(call.input for call in calls),
            output=sum(call.output for call in calls),
            cached=sum(call.cached for call in calls),
            written=sum(call.written for call in calls),
            calls=max(len(calls), 1),
        )

    def _context(self) -> int | None:
        """The tokens that the last call read, which tell how full the window is."""
        last = next(reversed(self._calls.values()), None)
        return None if last is None else last.input + last.cached

    def _window(self) -> int | None:
        models = (self._last or {}).get("modelUsage")
        sizes = (
            [count_of(model, "contextWindow") for model in models.values()]
            if isinstance(models, dict)
            else []
        )
        return max(sizes, default=0) or None

    def _cost(self) -> MicroUsd | None:
        usd = (self._last or {}).get("total_cost_usd")
        if not self._is_priced or isinstance(usd, bool) or not isinstance(usd, int | float) or usd < 0:
            return None
        return MicroUsd(round(usd * 1_000_000))


def _sum(models: Mapping[str, Any], key: str) -> int:
    return sum(count_of(model, key) for model in models.values())


def _is_priced(model: str | None) -> bool:
    """Whether the reported cost is right; for an unknown model claude reports the cost of another one."""
    name = (model or "sonnet").partition("[")[0]
    return name in ALIASES or name.startswith("claude-")


def _delay(record: Mapping[str, Any]) -> int:
    delay = record.get("retry_delay_ms")
    return round(delay) if isinstance(delay, int | float) and 0 <= delay < 10**9 else 0


def _vendor_delay(retry: _Retry) -> int | None:
    """The vendor's Retry-After, which claude obeys; without one it waits a second or so before its two retries."""
    return retry.delay_ms if retry.status == 429 and retry.delay_ms > OWN_DELAY_MS else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

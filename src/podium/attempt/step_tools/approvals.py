"""Decides about the calls of tools of one attempt: most are allowed at once, those that a pattern names by a person.

The agent's program asks here before it uses a tool. Nothing here approves: a decision comes from the log, or from a person by the
engine while the call is held.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import anyio

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.step_tools.tools import Permission
from podium.core.globs import glob_matches
from podium.core.payloads import ToolCall, ToolDecision
from podium.ports.agent import Progress

SUBJECTS: Final = ("command", "file_path", "notebook_path", "path", "url", "pattern", "query", "title")
"""The argument that says what a tool is used on, by the names that programs give it; the first that is there."""
DESCRIPTIONS: Final = ("description", "timeout")
"""Arguments that change nothing about what a call does."""
MAX_CALL: Final = 20_000
"""Characters of a call that a person can be asked about."""
FILES: Final = ("edit", "read")


class CallApprover:
    def __init__(
        self, attempt: AgentAttempt, asks: Mapping[str, tuple[str, ...]], most_s: int | None = None
    ) -> None:
        """`most_s`: how long the program waits for an answer."""
        self._attempt = attempt
        self._settings = attempt.step.settings.approve
        wait_s = self._settings.wait_ms / 1000
        self._wait_s = wait_s if most_s is None else min(wait_s, most_s)
        self._words = {name: word for word, names in asks.items() for name in names}
        self._decided: dict[ToolCall, ToolDecision] = {each.call: each for each in attempt.work.decisions}
        self._one_at_a_time = anyio.Lock()
        self.undecided: list[ToolCall] = []
        """Those that nobody decided about in time; the attempt waits for them."""

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> Permission:
        """Hold the call until it is decided about, if a pattern names it."""
        call = self.call_of(tool, arguments)
        if not self.needs_person(call):
            return Permission(True)
        if len(call.subject) + len(call.detail) > MAX_CALL:
            return Permission(
                False, f"a person can read at most {MAX_CALL} characters of a call; make it shorter"
            )
        async with self._one_at_a_time:
            decision = self._decided.get(call)
            if decision is None and not self.undecided:
                decision = await self._ask_person(call)
            if decision is None:
                self.undecided.append(call)
                return Permission(False, "Nobody has decided yet. End your turn now.", ends_attempt=True)
        self._decided[call] = decision
        if decision.is_allowed:
            return Permission(True)
        who = decision.by or "nobody"
        return Permission(False, f"Not approved by {who}{f': {decision.why}' if decision.why else ''}")

    async def _ask_person(self, call: ToolCall) -> ToolDecision | None:
        attempt = self._attempt
        attempt.activity.report(
            [Progress("note", f"waits for approval of {call.tool}: {call.subject[:200]}")]
        )
        return await attempt.host.approvals.ask(attempt.started, call, self._wait_s)

    def call_of(self, tool: str, arguments: Mapping[str, Any]) -> ToolCall:
        """The call in words of the language. Secrets are masked, as everywhere in the log."""
        mask = self._attempt.host.mask.text
        key = next((key for key in SUBJECTS if isinstance(arguments.get(key), str)), None)
        subject = "" if key is None else str(arguments[key])
        rest = {name: value for name, value in arguments.items() if name != key and name not in DESCRIPTIONS}
        detail = json.dumps(rest, ensure_ascii=False, sort_keys=True) if rest else ""
        word, request = self._words.get(tool, tool), self._attempt.exchange.request
        if request is not None:
            # The next attempt may have its workspace in another folder, and makes the same call.
            folder = str(request.root or request.cwd)
            subject = subject.removeprefix(f"{folder}/") if word in FILES else subject
            detail = detail.replace(folder, ".")
        return ToolCall(word, mask(subject), mask(detail))

    def needs_person(self, call: ToolCall) -> bool:
        return any(_matches(pattern, call) for pattern in self._settings.patterns)


def _matches(text: str, call: ToolCall) -> bool:
    tool, bracket, pattern = text.partition("(")
    if not fnmatchcase(call.tool, tool.strip()):
        return False
    pattern = pattern.removesuffix(")")
    if not bracket:
        return True
    if call.tool in FILES:
        return glob_matches(pattern, call.subject)
    return fnmatchcase(" ".join(call.subject.split()), pattern) or fnmatchcase(call.subject, pattern)

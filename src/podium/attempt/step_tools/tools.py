"""What the tools inside a step do: they record what a worker says, and refuse what it may not say.

Rule 1: nothing here reads other runs, decides, starts or approves. Rule 2: what is recorded counts only if the attempt
ends: a worker that is killed after it asked has not asked. Rule 3: every call is in `tools.jsonl` beside the prompt.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from podium.core.globs import glob_matches
from podium.core.payloads import Ask, Note, ToolCall
from podium.fast_dataclass import dataclass
from podium.files.path_rules import path_fault

JOURNAL: Final = "tools.jsonl"
MAX_ASKS: Final = 5
MAX_QUESTION: Final = 8_000
MAX_NOTES: Final = 20
MAX_NOTE: Final = 2_000
MAX_SO_FAR: Final = 2_000
MAX_CALLS: Final = 5_000
MAX_PROGRESS: Final = 1_000
PROGRESS_EVERY_S: Final = 1.0
MAX_PROGRESS_TEXT: Final = 500
RECORDED: Final = "Recorded. End your turn now; you are started again with the answer."

_TEXT: Final = {"type": "string"}


def _schema(required: tuple[str, ...], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TOOLS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "step": ("What this step is about, what success means, and who you may ask.", _schema(())),
    "ask": (
        "Ask a member of your team. Then end your turn: you are started again with the answer.",
        _schema(
            ("to", "question"),
            to=_TEXT,
            question=_TEXT,
            files={"type": "array", "items": _TEXT},
            so_far=_TEXT,
        ),
    ),
    "note": (
        "Leave a note for a member of your team, or without `to` for all later workers of this run.",
        _schema(("text",), text=_TEXT, to=_TEXT),
    ),
    "progress": (
        "Say what you are doing, for the person who watches.",
        _schema(("text",), text=_TEXT, percent={"type": "number"}),
    ),
    "blocked": ("Say what keeps you from doing the step; it ends as blocked.", _schema(("why",), why=_TEXT)),
    "artifact": (
        "Say that a file that the step must leave is there.",
        _schema(("path",), path=_TEXT),
    ),
}
"""Description and arguments of each tool."""


APPROVE: Final = "approve"
APPROVE_TOOL: Final = (
    "For the program that runs you, which asks here before it uses a tool. You need not call it.",
    {"type": "object", "properties": {"tool_name": _TEXT, "input": {"type": "object"}, "tool_use_id": _TEXT}},
)


class Permission(NamedTuple):
    """Whether a program may use a tool."""

    is_allowed: bool
    why: str = ""
    ends_attempt: bool = False
    """True if nobody has decided in time, so that the agent has to end its turn."""


class Approver(Protocol):
    undecided: list[ToolCall]
    """The calls that nobody decided about in time; the attempt waits for them."""

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> Permission: ...


class ToolFault(Exception):
    """A call that is refused; the text says why and what is possible."""


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What the tools know about the step."""

    about: Mapping[str, Any]
    """For the tool `step`."""
    in_team: bool = False
    may_ask: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Those who wait for this worker's answer."""
    files: tuple[str, ...] = ()
    """Globs of the files that the step must leave."""
    talks_to: str = ""
    """The person to whom its answer goes, while it has a conversation."""


class StepTools:
    """The calls of one attempt. Threads do not share it: one event loop serves all connections."""

    def __init__(
        self,
        facts: StepFacts,
        journal: Path,
        *,
        mask: Callable[[str], str],
        on_progress: Callable[[str], None],
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self.asks: list[Ask] = []
        self.notes: list[Note] = []
        self.so_far = ""
        self.blocked = ""
        self.has_words = True
        """False if there is only `approve`, by which the program asks before it uses a tool."""
        self.approver: Approver | None = None
        self._facts, self._journal, self._mask, self._report = facts, journal, mask, on_progress
        self._calls = self._shown = 0
        self._shown_at = 0.0
        _set_aside(journal)

    def offered(self) -> Mapping[str, tuple[str, dict[str, Any]]]:
        """The tools that are there for this attempt."""
        words = TOOLS if self.has_words else {}
        return words if self.approver is None else {**words, APPROVE: APPROVE_TOOL}

    async def approve(self, arguments: Mapping[str, Any]) -> str:
        """The answer to a program that asks before it uses a tool; held until a person has decided, if it has to be."""
        tool, values = arguments.get("tool_name"), arguments.get("input")
        self._calls += 1
        if (
            self.approver is None
            or self._calls > MAX_CALLS
            or not isinstance(tool, str)
            or not isinstance(values, Mapping)
        ):
            self._write(APPROVE, {}, refused="not a call of a tool")
            raise ToolFault(f"{APPROVE} needs tool_name and input")
        permission = await self.approver.ask(tool, values)
        if permission.is_allowed:
            return json.dumps({"behavior": "allow", "updatedInput": values})
        self._write(APPROVE, {"tool": tool}, refused=permission.why)
        return json.dumps(
            {"behavior": "deny", "message": permission.why, "interrupt": permission.ends_attempt}
        )

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Do what the tool does and return its answer; raises ToolFault."""
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise ToolFault(f"an attempt may call its tools {MAX_CALLS} times")
        if not self.has_words:
            self._write(name[:500], {}, refused="not a tool of this step")
            raise ToolFault(f'there is no tool "{name}"')
        try:
            answer = self._do(name, arguments)
        except (ToolFault, ValueError) as fault:
            self._write(name, arguments, refused=str(fault))
            raise ToolFault(str(fault)) from fault
        if name != "progress":
            self._write(name, arguments)
        return answer

    def refuse(self, what: str) -> None:
        """Record something that a process inside the step tried and that is not possible from there."""
        self._calls += 1
        if self._calls <= MAX_CALLS:
            self._write(what[:500], {}, refused="not possible from inside a step")

    def _do(self, name: str, arguments: Mapping[str, Any]) -> str:
        _check(name, arguments)
        match name:
            case "step":
                return json.dumps(self._facts.about, ensure_ascii=False, indent=1)
            case "ask":
                return self._ask(arguments)
            case "note":
                return self._note(arguments)
            case "progress":
                return self._progress(arguments)
            case "blocked":
                return self._block(arguments)
            case _:
                return self._artifact(arguments)

    def _ask(self, arguments: Mapping[str, Any]) -> str:
        to = team_text(arguments["to"], "to", 200)
        question = team_text(arguments["question"], "question", MAX_QUESTION)
        so_far = team_text(arguments.get("so_far", ""), "so_far", MAX_SO_FAR)
        if not self._facts.in_team:
            raise ToolFault("this step has no team, so there is no one to ask")
        if to in self._facts.waiting:
            raise ToolFault(f"{to} waits for you; answer with what you know")
        if to == self._facts.talks_to and to:
            raise ToolFault(f"what you say to {to} is your answer: end your turn with it")
        if to not in self._facts.may_ask:
            raise ToolFault(
                f'you may not ask "{to}"; you may ask {", ".join(self._facts.may_ask) or "no one"}'
            )
        if not question:
            raise ToolFault("the question is empty")
        ask = Ask(to, question, tuple(arguments.get("files", ()))[:20])
        if ask not in self.asks:
            if len(self.asks) >= MAX_ASKS:
                raise ToolFault(f"an attempt may ask {MAX_ASKS} times; end your turn to get the answers")
            self.asks.append(ask)
        self.so_far = so_far or self.so_far
        return RECORDED

    def _note(self, arguments: Mapping[str, Any]) -> str:
        to = team_text(arguments.get("to", ""), "to", 200)
        text = team_text(arguments["text"], "text", MAX_NOTE)
        names = (*self._facts.may_ask, *self._facts.waiting)
        if to and to not in names:
            raise ToolFault(
                f'there is no "{to}" in your team; there are {", ".join(names) or "none"}; without `to` it is for all'
            )
        if len(self.notes) >= MAX_NOTES:
            raise ToolFault(f"an attempt may leave {MAX_NOTES} notes")
        self.notes.append(Note(text, to))
        return f"Recorded. {to or 'Every later worker of this run'} gets it when your turn has ended."

    def _progress(self, arguments: Mapping[str, Any]) -> str:
        text = team_text(arguments["text"], "text", MAX_PROGRESS_TEXT)
        now = time.monotonic()
        if self._shown < MAX_PROGRESS and now - self._shown_at >= PROGRESS_EVERY_S:
            self._shown, self._shown_at = self._shown + 1, now
            percent = arguments.get("percent")
            is_share = (
                isinstance(percent, int | float) and not isinstance(percent, bool) and 0 <= percent <= 100
            )
            self._report(f"{text} ({percent:g}%)" if is_share else text)
        return "Shown."

    def _block(self, arguments: Mapping[str, Any]) -> str:
        why = team_text(arguments["why"], "why", MAX_NOTE)
        if self.blocked or not why:
            raise ToolFault("the step is blocked already" if self.blocked else "say what is in the way")
        self.blocked = why
        return "Recorded. End your turn now; the step ends as blocked."

    def _artifact(self, arguments: Mapping[str, Any]) -> str:
        path = team_text(arguments["path"], "path", 1_000)
        if fault := path_fault(path):
            raise ToolFault(f'"{path}" {fault}')
        if not any(glob_matches(glob, path) for glob in self._facts.files):
            raise ToolFault(f"the step asks for {', '.join(self._facts.files) or 'no files'}, not for {path}")
        return "Recorded. The file is checked when your turn has ended."

    def _write(self, tool: str, arguments: Mapping[str, Any], refused: str = "") -> None:
        entry = {"at": int(time.time() * 1000), "tool": tool, "arguments": dict(arguments)}
        line = self._mask(
            json.dumps({**entry, **({"refused": refused} if refused else {})}, ensure_ascii=False)
        )
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, f"{line}\n".encode("utf-8", "backslashreplace"))
            os.fsync(handle)
        finally:
            os.close(handle)


def _check(name: str, arguments: Mapping[str, Any]) -> None:
    """Check the arguments of a call by the schema of its tool, as far as these schemas go."""
    if name not in TOOLS:
        raise ToolFault(f'there is no tool "{name}"; there are {", ".join(TOOLS)}')
    schema = TOOLS[name][1]
    unknown = [key for key in arguments if key not in schema["properties"]]
    missing = [key for key in schema["required"] if key not in arguments]
    if unknown or missing:
        what = f"has no argument {unknown[0]}" if unknown else f"needs the argument {missing[0]}"
        raise ToolFault(f"{name} {what}; its arguments are {', '.join(schema['properties']) or 'none'}")
    files = arguments.get("files", [])
    if not isinstance(files, list) or not all(isinstance(path, str) for path in files):
        raise ToolFault("files must be a list of paths")


def _set_aside(journal: Path) -> None:
    """Keep the calls of an attempt that a crash interrupted; they do not count for the new one."""
    number = 1
    while journal.exists():
        aside = journal.with_name(f"tools.lost{number}.jsonl")
        if not aside.exists():
            journal.rename(aside)
        number += 1


def team_text(value: Any, name: str, most: int) -> str:
    """The text without spaces around it; raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{name}: it must be a text")  # noqa: TRY004 (one kind of error for all faults of an answer)
    if len(value) > most:
        raise ValueError(f"{name}: it has {len(value)} characters; at most {most} are possible")
    return value.strip()

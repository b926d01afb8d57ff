"""One exchange with an agent as a file: what it was asked, what it answered, how it left the files.

A recording is JSON in which every longer text is a list of its lines, so that it can be read, and compared by git.
What differs from run to run (nonces, ids, moments, folders) is replaced by a word in angle brackets: what is left is
the same whenever the same is asked.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from difflib import unified_diff
from typing import Any, Final, Literal, TypeAlias, get_args

from podium.core.types import MicroUsd, Millis
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, Usage

FORMAT: Final = 1
SUFFIX: Final = ".json"
PROJECT: Final = "<project>"
"""Also a workspace: within walls it stands in the project's own place."""
NONCE: Final = "<nonce>"
TREE: Final = "<tree>"
LONG: Final = 40
"""What is shorter is no name of a tree, but the word for none."""
LONGEST_NAME: Final = 200
SHOWN: Final = 60
"""So many lines of a difference are shown."""

_RUN: Final = r"\d{8}-\d{6}-[a-z0-9]{4}"
_CHANGING: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(rf"/[^\s'\"]*?/podium/work/[0-9a-f]{{12}}/{_RUN}/[^/\s'\":]+(?:/tree\b)?"), PROJECT),
    (re.compile(rf"\b{_RUN}\b"), "<run>"),
    (re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b"), "<id>"),
    # Of a file with a secret, which was masked, the name of its content in a diff is another one when it is played.
    (re.compile(r"^(\W?index )[0-9a-f]{7,64}\.\.[0-9a-f]{7,64}", re.MULTILINE), r"\1<id>..<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    # Only what was measured has a fraction; "5 s" may be a wish of the author's.
    (re.compile(r"\b\d+\.\d+ ?(?:ms|s|seconds)\b"), "<time>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
)

Mode: TypeAlias = Literal["file", "program", "link"]


@dataclass(frozen=True, slots=True)
class Left:
    """A file as the agent left it; of a link, the content is where it leads."""

    content: bytes = field(repr=False)
    mode: Mode = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    path: str
    attempt: int
    agent: str
    type: str
    model: str | None
    role: str | None
    system: str
    prompt: str
    schema: Mapping[str, Any] | None
    result: AgentResult
    files: Mapping[str, Left | None] = field(default_factory=dict)
    """By their paths in the tree; None: it was removed."""


def file_name(path: str, attempt: int) -> str:
    """The same for the same attempt in every run."""
    name = path.replace("/", "+")
    if len(name) > LONGEST_NAME:
        name = f"{name[:150]}+{hashlib.sha256(path.encode()).hexdigest()[:24]}"
    return f"{name}.{attempt}{SUFFIX}"


def steady(text: str, request: AgentRequest) -> str:
    """A text of a request or an answer without what only this run can know."""
    text = text.replace(str(request.project), PROJECT)
    if request.nonce:
        text = text.replace(request.nonce, NONCE)
    if len(request.tree) >= LONG:
        text = text.replace(request.tree, TREE)
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text


def steady_result(result: AgentResult, request: AgentRequest) -> AgentResult:
    """An answer that fits any run: without what binds it to its request, and without its session."""

    def anywhere(text: str) -> str:
        text = text.replace(request.nonce, NONCE) if request.nonce else text
        return text.replace(request.tree, TREE) if len(request.tree) >= LONG else text

    return replace(with_texts(result, anywhere), session=None)


def result_for(result: AgentResult, request: AgentRequest) -> AgentResult:
    """A recorded answer as one to this very request: a verdict repeats its nonce and its tree."""
    return with_texts(result, lambda text: text.replace(NONCE, request.nonce).replace(TREE, request.tree))


def with_texts(result: AgentResult, change: Callable[[str], str]) -> AgentResult:
    """The same answer in other words."""
    return replace(
        result, text=change(result.text), value=each_text(result.value, change), detail=change(result.detail)
    )


def difference(recording: Recording, request: AgentRequest) -> str:
    """How what is asked now differs from what was asked then; empty if it does not."""
    parts = (("system", recording.system, request.system), ("prompt", recording.prompt, request.prompt))
    found = [
        line
        for name, then, now in parts
        for line in unified_diff(
            then.splitlines(),
            steady(now, request).splitlines(),
            f"{name} as recorded",
            f"{name} now",
            lineterm="",
        )
    ]
    more = [f"... and {len(found) - SHOWN} more lines"] if len(found) > SHOWN else []
    return "\n".join((*found[:SHOWN], *more))


def written(recording: Recording) -> bytes:
    result = recording.result
    told = {
        "podium_recording": FORMAT,
        "path": recording.path,
        "attempt": recording.attempt,
        "agent": recording.agent,
        "type": recording.type,
        "model": recording.model,
        "role": recording.role,
        "system": _lines(recording.system),
        "prompt": _lines(recording.prompt),
        "schema": recording.schema,
        "result": {
            "text": _lines(result.text),
            **({"value": result.value} if result.has_value else {}),
            "usage": asdict(result.usage),
            "cut_off": result.cut_off,
            "cost_usd": None if result.cost is None else result.cost / 1_000_000,
            "cost_source": result.cost_source,
            "model": result.model,
            "trouble": result.trouble,
            "detail": _lines(result.detail),
            "retry_at": result.retry_at,
        },
        "files": {path: None if left is None else _left(left) for path, left in recording.files.items()},
    }
    try:
        return (json.dumps(told, indent=1, ensure_ascii=False, default=_plain) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(told, indent=1, default=_plain) + "\n").encode("ascii")


def parsed(data: bytes, name: str) -> Recording:
    """Raises ConfigurationError for what is no recording."""
    try:
        told = json.loads(data)
        if told["podium_recording"] != FORMAT:
            raise ConfigurationError(
                f"{name} is a recording of format {told['podium_recording']}, not {FORMAT}"
            )
        fields = {key: told[key] for key in ("path", "attempt", "agent", "type", "model", "role", "schema")}
        files = {str(path): None if left is None else _as_left(left) for path, left in told["files"].items()}
        system, prompt = _text(told["system"]), _text(told["prompt"])
        return Recording(**fields, system=system, prompt=prompt, result=_result(told["result"]), files=files)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ConfigurationError(
            f"{name} is no recording that can be read ({type(error).__name__}: {error})",
            hint="record again: podium run FILE --record FOLDER",
        ) from error


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case Mapping():
            return {key: each_text(item, change) for key, item in value.items()}
        case list() | tuple():
            return [each_text(item, change) for item in value]
        case _:
            return value


def _result(told: Mapping[str, Any]) -> AgentResult:
    trouble, cost, at = told["trouble"], told["cost_usd"], told["retry_at"]
    if trouble is not None and trouble not in get_args(AgentTrouble):
        raise ValueError(f"trouble {trouble!r}")
    return AgentResult(
        text=_text(told["text"]),
        value=told.get("value"),
        has_value="value" in told,
        usage=Usage(**{key: int(count) for key, count in told["usage"].items()}),
        cut_off=bool(told.get("cut_off")),
        cost=None if cost is None else MicroUsd(round(cost * 1_000_000)),
        cost_source=str(told.get("cost_source") or ""),
        model=str(told.get("model") or ""),
        trouble=trouble,
        detail=_text(told["detail"]),
        retry_at=None if at is None else Millis(int(at)),
    )


def _left(left: Left) -> dict[str, Any]:
    mode = {} if left.mode == "file" else {"mode": left.mode}
    try:
        return {**mode, "text": _lines(left.content.decode("utf-8"))}
    except UnicodeDecodeError:
        return {**mode, "base64": b64encode(left.content).decode("ascii")}


def _as_left(told: Mapping[str, Any]) -> Left:
    mode = told.get("mode", "file")
    if mode not in get_args(Mode):
        raise ValueError(f"mode {mode!r}")
    if "base64" in told:
        return Left(b64decode(told["base64"], validate=True), mode)
    return Left(_text(told["text"]).encode("utf-8", "surrogateescape"), mode)


def _lines(text: str) -> str | list[str]:
    return text.split("\n") if "\n" in text else text


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "\n".join(lines)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value)

"""Recordings: one exchange with an agent as a file, with the request, the answer and the resulting files.

A recording is JSON in which every longer text is a list of lines, so that people can read it and git can compare it.
Values that differ between runs (nonces, ids, times, folders) are replaced by a word in angle brackets, so that equal
requests give equal recordings.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from podium.core.expressions.values import plain_json
from podium.core.types import MicroUsd, Millis
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files import bounded_json
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, Usage

FORMAT: Final = 1
SUFFIX: Final = ".json"
PROJECT: Final = "<project>"
"""Replaces the project's folder, and a workspace, which a sandbox mounts at the project's path."""
NONCE: Final = "<nonce>"
TREE: Final = "<tree>"
MIN_TREE_ID: Final = 40
"""Minimum length of a tree id; anything shorter means that there is no tree."""
MAX_NAME: Final = 200
MAX_RECORDING: Final = 16 << 20
"""Bytes of one recording that is played."""
MAX_DIFF_LINES: Final = 60
"""Maximum number of lines of a shown difference."""

_RUN: Final = r"\d{8}-\d{6}-[a-z0-9]{4}"
_CHANGING: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(rf"/[^\s'\"]*?/podium/work/[0-9a-f]{{12}}/{_RUN}/[^/\s'\":]+(?:/tree\b)?"), PROJECT),
    (re.compile(rf"\b{_RUN}\b"), "<run>"),
    (re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b"), "<id>"),
    # A file with a masked secret has another object id in the diff when it is replayed.
    (re.compile(r"^(\W?index )[0-9a-f]{7,64}\.\.[0-9a-f]{7,64}", re.MULTILINE), r"\1<id>..<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    # Only measured times have a fraction; "5 s" may be part of the author's text.
    (re.compile(r"\b\d+\.\d+ ?(?:ms|s|seconds)\b"), "<time>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
)

Mode: TypeAlias = Literal["file", "program", "link"]


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file after the attempt; the content of a link is its target."""

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
    files: Mapping[str, RecordedFile | None] = field(default_factory=dict)
    """The changed files by path; None for a removed one."""


def file_name(path: str, attempt: int) -> str:
    """The file name of a recording, the same for an attempt in every run."""
    name = path.replace("/", "+")
    if len(name) > MAX_NAME:
        name = f"{name[:150]}+{hashlib.sha256(path.encode()).hexdigest()[:24]}"
    return f"{name}.{attempt}{SUFFIX}"


def without_run_values(text: str, request: AgentRequest) -> str:
    """A text of a request or an answer with all values that are specific to the run replaced."""
    text = text.replace(str(request.project), PROJECT)
    if request.nonce:
        text = text.replace(request.nonce, NONCE)
    if len(request.tree) >= MIN_TREE_ID:
        text = text.replace(request.tree, TREE)
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text


def without_run_ids(result: AgentResult, request: AgentRequest) -> AgentResult:
    """An answer that can be replayed in any run: without its nonce, tree and session."""

    def replace_ids(text: str) -> str:
        text = text.replace(request.nonce, NONCE) if request.nonce else text
        return text.replace(request.tree, TREE) if len(request.tree) >= MIN_TREE_ID else text

    return replace(with_texts(result, replace_ids), session=None)


def result_for(result: AgentResult, request: AgentRequest) -> AgentResult:
    """A recorded answer with the nonce and the tree of this request, which a verdict must repeat."""
    return with_texts(result, lambda text: text.replace(NONCE, request.nonce).replace(TREE, request.tree))


def with_texts(result: AgentResult, change: Callable[[str], str]) -> AgentResult:
    """The answer with a function applied to all its texts."""
    return replace(
        result, text=change(result.text), value=each_text(result.value, change), detail=change(result.detail)
    )


def difference(recording: Recording, request: AgentRequest) -> str:
    """The difference between the recorded and the current request; "" if there is none."""
    from difflib import (
        unified_diff,
    )  # Imported here: every run imports this module, and few compare recordings.

    parts = (("system", recording.system, request.system), ("prompt", recording.prompt, request.prompt))
    lines = [
        line
        for name, recorded, current in parts
        for line in unified_diff(
            recorded.splitlines(),
            without_run_values(current, request).splitlines(),
            f"{name} as recorded",
            f"{name} now",
            lineterm="",
        )
    ]
    more = [f"... and {len(lines) - MAX_DIFF_LINES} more lines"] if len(lines) > MAX_DIFF_LINES else []
    return "\n".join((*lines[:MAX_DIFF_LINES], *more))


def encode_recording(recording: Recording) -> bytes:
    result = recording.result
    data = {
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
            "cut_off": result.usage_incomplete,
            "cost_usd": None if result.cost is None else result.cost / 1_000_000,
            "cost_source": result.cost_source,
            "model": result.model,
            "trouble": result.trouble,
            "detail": _lines(result.detail),
            "retry_at": result.retry_at,
        },
        "files": {
            path: None if file is None else _encode_file(file) for path, file in recording.files.items()
        },
    }
    try:
        return (json.dumps(plain_json(data), indent=1, ensure_ascii=False) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(plain_json(data), indent=1) + "\n").encode("ascii")


def decode_recording(content: bytes, name: str) -> Recording:
    """Read a recording; raises ConfigurationError if it is not valid."""
    try:
        fields = bounded_json.loads(content)
        if fields["podium_recording"] != FORMAT:
            raise ConfigurationError(
                f"{name} has recording format {fields['podium_recording']}; this version reads format {FORMAT}"
            )
        values = {key: fields[key] for key in ("path", "attempt", "agent", "type", "model", "role", "schema")}
        files = {
            str(path): None if file is None else _decode_file(file) for path, file in fields["files"].items()
        }
        system, prompt = _text(fields["system"]), _text(fields["prompt"])
        return Recording(
            **values, system=system, prompt=prompt, result=_result(fields["result"]), files=files
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ConfigurationError(
            f"{name} is not a readable recording ({type(error).__name__}: {error})",
            hint="record it again: podium run FILE --record FOLDER",
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


def _result(fields: Mapping[str, Any]) -> AgentResult:
    trouble, cost, at = fields["trouble"], fields["cost_usd"], fields["retry_at"]
    if trouble is not None and trouble not in get_args(AgentTrouble):
        raise ValueError(f"unknown trouble {trouble!r}")
    return AgentResult(
        text=_text(fields["text"]),
        value=fields.get("value"),
        has_value="value" in fields,
        usage=Usage(**{key: int(count) for key, count in fields["usage"].items()}),
        usage_incomplete=bool(fields.get("cut_off")),
        cost=None if cost is None else MicroUsd(round(cost * 1_000_000)),
        cost_source=str(fields.get("cost_source") or ""),
        model=str(fields.get("model") or ""),
        trouble=trouble,
        detail=_text(fields["detail"]),
        retry_at=None if at is None else Millis(int(at)),
    )


def _encode_file(file: RecordedFile) -> dict[str, Any]:
    mode = {} if file.mode == "file" else {"mode": file.mode}
    try:
        return {**mode, "text": _lines(file.content.decode("utf-8"))}
    except UnicodeDecodeError:
        return {**mode, "base64": b64encode(file.content).decode("ascii")}


def _decode_file(fields: Mapping[str, Any]) -> RecordedFile:
    mode = fields.get("mode", "file")
    if mode not in get_args(Mode):
        raise ValueError(f"unknown mode {mode!r}")
    if "base64" in fields:
        return RecordedFile(b64decode(fields["base64"], validate=True), mode)
    return RecordedFile(_text(fields["text"]).encode("utf-8", "surrogateescape"), mode)


def _lines(text: str) -> str | list[str]:
    return text.split("\n") if "\n" in text else text


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "\n".join(lines)

"""Any program as an agent (R059): an argv with placeholders, or a shim that reads stdin and writes stdout.

    agents:
      local: {type: command, command: [my-shim, --model, "{model}"], model: small}
      tool:  {type: command, command: "tool --ask {prompt_file}", exit_codes: {"75": quota}}

Shim: the prompt on stdin, the answer on stdout, nothing else there; messages for people go to stderr. With
`{prompt_file}` in the argv the prompt is a file instead and stdin is closed. Further placeholders: `{model}`,
`{system_file}` (without it the system text precedes the prompt) and `{schema_file}`. The prompt itself is part of an argv
only with `prompt_argument: true`, because every user of the machine can read it there.

Exit codes: 0 ok · 1 transient (network, overload) · 2 error (the call is wrong) · 124 timeout · 126, 127 unavailable ·
any other error. `exit_codes` gives others a meaning: ok, failed, refused, blocked, malformed, quota, transient, auth,
unavailable, timeout, error. Death by a signal is transient.

Usage and cost are unknown unless stdout is one JSON object. `fields` names where it has them, else it has `"podium": 1`:
`{"podium": 1, "text", "value", "usage": {"input", "output", "cached"}, "cost_usd", "trouble", "detail", "retry_at",
"session"}`; `retry_at` is in seconds since 1970, and `value` is the structured answer.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, get_args

from podium.adapters.agents.command.json_fields import MissingField, envelope_of
from podium.core.expressions.values import MAX_TEXT, plain_json
from podium.core.types import MicroUsd
from podium.errors import ConfigurationError
from podium.files import bounded_json
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, ProgramSpec, Progress, Usage
from podium.ports.retry_time import millis_of
from podium.process.launch import Finished
from podium.workflow.contracts.single_json import NotOneValue, one_json

PROMPT_FILE: Final = "prompt.md"
SYSTEM_FILE: Final = "system.md"
SCHEMA_FILE: Final = "schema.json"
MAX_BYTES: Final = 4 * MAX_TEXT
"""Maximum size of an answer; a text longer than MAX_TEXT characters cannot be used anyway."""
MAX_NUMBER: Final = 1e15
"""Maximum of a cost in dollars and of a time in seconds since 1970."""
MAX_STDERR: Final = 2000
"""Characters of the end of stderr in a message."""

TROUBLES: Final = frozenset(get_args(AgentTrouble))
ANY_CODE: Final = "*"
"""In `exit_codes`: every code that has no meaning of its own."""
OTHERS: Final = -1
EXIT_CODES: Final[Mapping[int, str]] = {
    0: "ok",
    1: "transient",
    2: "error",
    124: "timeout",
    126: "unavailable",
    127: "unavailable",
}
_PLACEHOLDER: Final = re.compile(r"\{(prompt_file|system_file|schema_file|model|prompt|system|session)\}")


class Command:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, CommandConversation]:
        template = _template(request)
        used = {name for word in template for name in _PLACEHOLDER.findall(word)}
        values = {
            "prompt_file": str(request.home / PROMPT_FILE),
            "system_file": str(request.home / SYSTEM_FILE),
            "schema_file": str(request.home / SCHEMA_FILE),
            "model": request.model or "",
            "prompt": _both(request.system, request.prompt),
            "session": "" if request.session is None else request.session.id,
        }
        _check(request, used)
        prompt = request.prompt if "system_file" in used else _both(request.system, request.prompt)
        files = {
            "prompt_file": (PROMPT_FILE, prompt),
            "system_file": (SYSTEM_FILE, request.system),
            "schema_file": (SCHEMA_FILE, json.dumps(plain_json(request.schema), indent=2)),
        }
        program = ProgramSpec(
            argv=tuple(_PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in template),
            stdin=None if used & {"prompt_file", "prompt"} else _bytes(prompt),
            files={name: _bytes(text) for key, (name, text) in files.items() if key in used},
        )
        return program, CommandConversation(request, _exit_codes(request))


class CommandConversation:
    """Reports each line as progress, because plain text has no records."""

    def __init__(self, request: AgentRequest, exit_codes: Mapping[int, str]) -> None:
        self._wants_value = request.schema is not None
        self._exit_codes = exit_codes
        self._fields: Mapping[str, str] | None = request.config.get("fields")
        self._output = bytearray()
        self._shown = 0

    def feed(self, data: bytes) -> Iterable[Progress]:
        self._output += data[: max(0, MAX_BYTES - len(self._output))]
        end = self._output.rfind(b"\n") + 1
        fresh, self._shown = self._output[self._shown : end], max(end, self._shown)
        lines = [line for line in _text(fresh).splitlines() if line.strip()]
        # One piece for all of them: an agent may print millions of lines.
        return [Progress("text", "\n".join((*lines, "")))] if lines else []

    def finish(self, finished: Finished) -> AgentResult:
        if finished.not_started is not None:
            return AgentResult(trouble="unavailable", detail=finished.not_started)
        text = _text(self._output)
        meaning = _meaning(finished, self._exit_codes)
        if self._fields is not None and meaning == "ok":
            return self._read_fields(text, self._fields)
        try:
            envelope = _envelope(text)
        except NotOneValue as error:
            return AgentResult(trouble="malformed", detail=str(error))
        if envelope is not None:
            return _enveloped(envelope, meaning, _stderr(finished))
        if meaning != "ok":
            return AgentResult(text=text, trouble=_trouble(meaning), detail=_detail(finished))
        if not text.strip():
            return AgentResult(trouble="malformed", detail="it ended well and said nothing")
        return self._read(text)

    def _read_fields(self, output: str, paths: Mapping[str, str]) -> AgentResult:
        try:
            result = _enveloped(envelope_of(output, paths), "ok", "")
        except MissingField as error:
            return AgentResult(trouble="malformed", detail=str(error))
        if result.trouble is not None:
            return result
        answer = self._read(result.text)
        return replace(
            result,
            # One call holds its input and its output in the window.
            context=result.usage.input + result.usage.output or None,
            value=answer.value,
            has_value=answer.has_value,
            trouble=answer.trouble,
            detail=answer.detail,
        )

    def _read(self, text: str) -> AgentResult:
        try:
            return AgentResult(text=text, value=one_json(text), has_value=True)
        except NotOneValue as error:
            trouble: AgentTrouble | None = "malformed" if self._wants_value else None
            return AgentResult(text=text, trouble=trouble, detail=str(error) if trouble else "")


def _template(request: AgentRequest) -> tuple[str, ...]:
    resume = request.config.get("resume") if request.session is not None else None
    command = resume or request.config.get("command")
    try:
        words: list[Any] = shlex.split(command) if isinstance(command, str) else list(command or ())
    except ValueError as error:
        raise _wrong(request, "command", f"cannot be split: {error}") from error
    words += list(request.config.get("args") or ())
    if not words or not all(isinstance(word, str) for word in words):
        raise _wrong(request, "command", "is missing; it is the argv of the program, a list of texts")
    return tuple(words)


def _check(request: AgentRequest, used: set[str]) -> None:
    for name in ("prompt", "system"):
        if name in used and not (name == "prompt" and request.config.get("prompt_argument") is True):
            raise _wrong(
                request,
                "command",
                f"uses {{{name}}}, and every user of this machine can read arguments; use {{{name}_file}}",
            )
    if "model" in used and not request.model:
        raise _wrong(request, "command", "uses {model}, and no model is named")
    if "schema_file" in used and request.schema is None:
        raise _wrong(request, "command", "uses {schema_file}, and this step declares no schema")


def _exit_codes(request: AgentRequest) -> Mapping[int, str]:
    meanings = request.config.get("exit_codes") or {}
    if not isinstance(meanings, Mapping):
        raise _wrong(request, "exit_codes", "is not a map of exit codes")
    exit_codes = dict(EXIT_CODES)
    for code, word in meanings.items():
        if not (str(code).isdecimal() or code == ANY_CODE) or (word != "ok" and word not in TROUBLES):
            words = ", ".join(("ok", *get_args(AgentTrouble)))
            raise _wrong(request, "exit_codes", f"gives {code} the meaning {word}; it must be one of {words}")
        exit_codes[OTHERS if code == ANY_CODE else int(code)] = str(word)
    return exit_codes


def _wrong(request: AgentRequest, key: str, fact: str) -> ConfigurationError:
    return ConfigurationError(f"agents.{request.agent}.{key} {fact}")


def _both(system: str, prompt: str) -> str:
    return f"{system}\n\n{prompt}" if system else prompt


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")


def _meaning(finished: Finished, exit_codes: Mapping[int, str]) -> str:
    if finished.timed_out:
        return "timeout"
    # A code that the user names has that meaning; in a sandbox, 128 + n may also be the program's own choice.
    other = exit_codes.get(OTHERS, "error") if finished.signal is None else "transient"
    return exit_codes.get(finished.exit_code, other)


def _trouble(word: str) -> AgentTrouble:
    return word if word in TROUBLES else "error"  # type: ignore[return-value]  # TROUBLES are its words


def _stderr(finished: Finished) -> str:
    return finished.stderr.tail(MAX_STDERR).strip()


def _detail(finished: Finished) -> str:
    if finished.timed_out:
        how = "its time ran out"
    elif finished.signal is not None:
        how = f"it was ended by signal {finished.signal}"
    else:
        how = f"it ended with exit code {finished.exit_code}"
    stderr = _stderr(finished)
    return f"{how}:\n{stderr}" if stderr else how


def _envelope(text: str) -> Mapping[str, Any] | None:
    """The JSON object with `"podium": 1`, if the text is one.

    Raises NotOneValue if it is marked but invalid, because its trouble must not be taken for an answer.
    """
    try:
        value = one_json(text)
    except NotOneValue:
        if _is_marked(text):
            raise
        return None
    return value if isinstance(value, dict) and value.get("podium") == 1 else None


def _is_marked(text: str) -> bool:
    """Uses Python's parser, which also accepts NaN and duplicate fields."""
    try:
        value = bounded_json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("podium") == 1


def _enveloped(envelope: Mapping[str, Any], meaning: str, stderr: str) -> AgentResult:
    trouble = envelope.get("trouble") or (None if meaning == "ok" else meaning)
    fault = _fault_of(envelope)
    if fault is not None:
        return AgentResult(trouble="malformed", detail=fault)
    usage, cost, at = envelope.get("usage") or {}, envelope.get("cost_usd"), envelope.get("retry_at")
    value = envelope.get("value")
    return AgentResult(
        text=envelope.get("text") or ("" if value is None else json.dumps(value, ensure_ascii=False)),
        value=value,
        has_value="value" in envelope,
        usage=Usage(**{key: usage.get(key, 0) for key in ("input", "output", "cached")}),
        cost=None if cost is None else MicroUsd(round(cost * 1_000_000)),
        trouble=None if trouble is None else _trouble(trouble),
        detail=envelope.get("detail") or ("" if trouble is None else stderr),
        retry_at=None if at is None else millis_of(at),
        session=envelope.get("session"),
    )


def _fault_of(envelope: Mapping[str, Any]) -> str | None:
    """What is wrong with the fields of an envelope; None if nothing."""
    usage = envelope.get("usage") or {}
    counts = (
        [usage.get(key, 0) for key in ("input", "output", "cached")] if isinstance(usage, dict) else [None]
    )
    if not all(type(count) is int and count >= 0 for count in counts):
        return 'the answer\'s "usage" is not a map of whole numbers'
    for key in ("cost_usd", "retry_at"):
        number = envelope.get(key)
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= MAX_NUMBER
        ):
            return f'the answer\'s "{key}" is not a number that can be'
    for key in ("text", "detail", "session"):
        if not isinstance(envelope.get(key, ""), str):
            return f'the answer\'s "{key}" is not text'
    if envelope.get("trouble") is not None and envelope["trouble"] not in TROUBLES:
        return f'the answer\'s "trouble" is not one of {", ".join(get_args(AgentTrouble))}'
    return None

"""The output contract: reads an answer as a value; exactly one JSON value or text, never guessed from prose (R111)."""

from __future__ import annotations

import json
from typing import Any, Final, assert_never

from podium.core.expressions.values import MAX_ELEMENTS, ExprError, Meter, plain
from podium.core.model import Output
from podium.fast_dataclass import dataclass
from podium.workflow.contracts.single_json import NotOneValue, one_json

Structured = tuple[bool, Any]
"""Whether the agent returned exactly one JSON value apart from its text, and that value; null counts as one."""


@dataclass(frozen=True, slots=True)
class Value:
    value: Any


@dataclass(frozen=True, slots=True)
class OutputFault:
    """`malformed`: the answer could not be read at all, so asking again may help; otherwise its content is wrong."""

    message: str
    malformed: bool = True


def read_json(text: str) -> Value | OutputFault:
    try:
        return Value(one_json(text))
    except NotOneValue as error:
        return OutputFault(str(error))


def value_of(output: Output, text: str, structured: Structured) -> Value | OutputFault:
    """The value of `steps.X.output`, if the answer satisfies the contract."""
    match output.kind:
        case "text":
            return Value(text)
        case "lines":
            return _lines(text)
        case "json":
            return _json(text, structured)
        case "choice":
            word = text.strip()
            choices = ", ".join(output.choices)
            return (
                Value(word) if word in output.choices else OutputFault(f"the answer is not one of {choices}")
            )
        case "schema":
            answer = _json(text, structured)
            return answer if isinstance(answer, OutputFault) else _check_schema(answer.value, output)
        case _:
            assert_never(output.kind)


def _lines(text: str) -> Value | OutputFault:
    rows = text.replace("\r\n", "\n").split("\n")
    rows = rows[:-1] if rows[-1] == "" else rows
    if len(rows) > MAX_ELEMENTS:
        return OutputFault(
            f"the answer has {len(rows)} lines; at most {MAX_ELEMENTS} can be used", malformed=False
        )
    return Value(rows)


def _json(text: str, structured: Structured) -> Value | OutputFault:
    is_present, value = structured
    try:
        answer = Value(plain(value, Meter())) if is_present else read_json(text)
        json.dumps(answer.value if isinstance(answer, Value) else None, ensure_ascii=False).encode()
    except ExprError as error:
        return OutputFault(f"the answer is not a JSON value that can be used: {error}")
    except UnicodeEncodeError:
        return OutputFault("the answer contains half a surrogate pair, which is not text")
    return answer


DECISION_WORDS: Final = {
    "decision": "action",
    "reasoning": "reason",
    "retry_guidance": "guidance",
    "error": "guidance",
    "dump_path": "",
    "override_limit": "",
}
"""The words of the states format for a `Decision`; a path of a dump is chosen by Podium, and a limit is never overridden."""


REPORT_STATUS: Final = {
    "SUCCESS": "done",
    "NEEDS_REVISION": "failed",
    "PARTIAL": "failed",
    "FAILED": "failed",
    "BLOCKED": "blocked",
}
"""The words of the supervisor format for the status of an `Implementation`."""
CHANGED_FILES: Final = ("files", "files_created", "files_modified", "tests_written")


def _check_schema(value: Any, output: Output) -> Value | OutputFault:
    if output.schema_name == "Decision" and isinstance(value, dict) and "decision" in value:
        words = {DECISION_WORDS.get(key, key): each for key, each in value.items()}
        value = {key: each for key, each in words.items() if key and each is not None}
    if output.schema_name == "Implementation" and isinstance(value, dict):
        value = _report(value)
    return check_value(value, output.schema or {}, output.schema_name or "the declared shape")


def _report(value: dict[str, Any]) -> dict[str, Any]:
    """An `Implementation` of the words of the supervisor format; any other value as it is."""
    status = value.get("status")
    if not isinstance(status, str) or status not in REPORT_STATUS:
        return value
    lists = [value.get(key) or [] for key in CHANGED_FILES]
    rest = {key: each for key, each in value.items() if key not in CHANGED_FILES and each is not None}
    summary = rest.pop("action_taken", "")
    files = [name for names in lists if isinstance(names, list) for name in names]
    native = {"summary": summary, "actions": [], "files": files, "blockers": []}
    return {**native, **rest, "status": REPORT_STATUS[status]}


def check_value(value: Any, schema: Any, name: str) -> Value | OutputFault:
    # Imported only for a declared schema, which few answers have.
    from podium.workflow.contracts.json_schema import UnusableSchema, faults_of

    try:
        faults = faults_of(value, schema)
    except UnusableSchema as error:
        return OutputFault(f"{name} is not a usable JSON Schema: {error}", malformed=False)
    if not faults:
        return Value(value)
    return OutputFault(f"the answer does not match {name}:\n" + "\n".join(f"- {fault}" for fault in faults))

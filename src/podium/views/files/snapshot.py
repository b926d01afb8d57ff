"""The files of a run that are rewritten after a change: `run_manifest.yaml`, `state.json`, `run.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from podium.core.addresses import ROOT
from podium.core.json_text import spaced_json
from podium.core.types import CONTINUING_OUTCOMES, Address, Millis
from podium.views.files.run_json import end_data, head_data, step_data
from podium.views.plain import as_text
from podium.views.run.view import RunView, StepView, duration_of

MANIFEST: Final = "run_manifest.yaml"
STATE: Final = "state.json"
RUN: Final = "run.json"

STEPS_START: Final = '  "steps": ['
LIST_END: Final = "  ]"
STATE_START: Final = '  "steps": {'
STATE_END: Final = "\n  }\n}\n"
INDENT: Final = "    "

SHOWN_BYTES: Final = 8 << 10
TRUNCATED: Final = "\n[truncated]"


class StepRows:
    """The lines of the steps in `run.json`. The line of a step that has ended is made once, however often it is written."""

    def __init__(self) -> None:
        self._rows: dict[Address, tuple[StepView, str]] = {}

    def row(self, step: StepView, now: Millis) -> str:
        if step.ended is None:
            return spaced_json(step_data(step, now))  # Its duration grows.
        same, row = self._rows.get(step.path, (None, ""))
        if same is not step:
            row = spaced_json(step_data(step, now))
            self._rows[step.path] = (step, row)
        return row

    def take_over(self, steps: Sequence[StepView], text: str) -> None:
        """Use the lines of a `run.json` that was written when the run had these steps."""
        rows = text.partition(f"\n{STEPS_START}\n")[2].partition(f"\n{LIST_END},\n")[0].split(f",\n{INDENT}")
        if len(rows) != len(steps):
            return
        rows[0] = rows[0].removeprefix(INDENT)
        for step, row in zip(steps, rows, strict=True):
            if step.ended is not None and row.startswith(f'{{"path": "{step.path}", '):
                self._rows[step.path] = (step, row)


class StateRows:
    """The lines of the top steps in `state.json`. That of a step that has ended, with all that is below it, is made once."""

    def __init__(self) -> None:
        self._rows: dict[Address, tuple[StepView, str]] = {}

    def row(self, step: StepView, children: Mapping[Address, list[StepView]], view: RunView) -> str:
        same, row = self._rows.get(step.path, (None, ""))
        if same is not step:
            row = spaced_json(_step({}, step, children, view))
            if step.ended is not None:
                self._rows[step.path] = (step, row)
        return row

    def take_over(self, view: RunView, text: str) -> None:
        """Use the lines of a `state.json` that was written in the same folder when the run had these steps."""
        top = _by_label((step for step in view.steps if _is_in_state(step, ROOT)), view)
        rows = text.partition(f"\n{STATE_START}\n")[2].removesuffix(STATE_END).split(f",\n{INDENT}")
        if len(rows) != len(top):
            return
        rows[0] = rows[0].removeprefix(INDENT)
        for (label, step), row in zip(top.items(), rows, strict=True):
            start = f"{json.dumps(label)}: "
            if step.ended is not None and row.startswith(f"{start}{{"):
                self._rows[step.path] = (step, row.removeprefix(start))


def run_text(view: RunView, rows: StepRows | None = None) -> str:
    """The text of `run.json`: what `podium show --json` prints, including the texts of questions."""
    rows = rows or StepRows()
    start, end = readable(head_data(view)), readable(end_data(view))
    lines = f",\n{INDENT}".join([rows.row(step, view.at) for step in view.steps])
    steps = f"{STEPS_START}\n{INDENT}{lines}\n{LIST_END}" if lines else f"{STEPS_START}]"
    return f"{start[:-3]},\n{steps},\n{end[2:]}"


def manifest_text(view: RunView) -> str:
    import yaml  # Imported here: a sixth of the start of a command that only looks at runs.

    data = head_data(view)
    data |= {
        "definition": view.fingerprint,
        "exit": view.exit,
        "limits": {limit.unit: {"limit": limit.limit, "used": limit.used} for limit in view.limits},
        "outputs": dict(view.outputs),
    }
    # Convert through JSON first, so that YAML gets only plain data and writes no tags.
    plain = json.loads(json.dumps(data, default=str))
    text: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110)
    return text


def state_text(view: RunView, rows: StateRows | None = None) -> str:
    """The text of `state.json`, in the schema of S1: R150, R152."""
    rows = rows or StateRows()
    children: dict[Address, list[StepView]] = {}
    for step in view.steps:
        if _is_in_state(step, step.parent):
            children.setdefault(step.parent, []).append(step)
    start = {
        "run_id": view.run,
        "workflow_name": view.workflow,
        "status": _status(view),
        "started_at": head_data(view)["started_at"],
        "current_step": _current(view, children.get(ROOT, [])),
        "context": {**view.inputs, **view.vars},
    }
    top = _by_label(children.get(ROOT, ()), view)
    lines = [f"{INDENT}{json.dumps(label)}: {rows.row(step, children, view)}" for label, step in top.items()]
    steps = f"{STATE_START}\n" + ",\n".join(lines) + STATE_END if lines else f"{STATE_START}}}\n}}\n"
    return f"{readable(start)[:-3]},\n{steps}"


def _status(view: RunView) -> str:
    """The status in S1, which has three values."""
    if view.ended is None:
        return "running"
    return "completed" if view.status == "passed" else "failed"


def _current(view: RunView, top: list[StepView]) -> str | None:
    """The current step of a run; for a failed run, the step that failed."""
    names = [(step, label) for step in top if (label := _label(step, view)) is not None]
    live = [label for step, label in names if step.status != "ended"]
    if live:
        return live[0]
    bad = [label for step, label in names if step.outcome not in CONTINUING_OUTCOMES]
    return bad[-1] if bad and _status(view) == "failed" else None


def _is_in_state(step: StepView, scope: Address) -> bool:
    return step.role in ("step", "finally") and step.parent == scope


def _by_label(steps: Iterable[StepView], view: RunView) -> dict[str, StepView]:
    """The steps by the author's names; a later visit replaces an earlier one."""
    return {label: step for step in steps if (label := _label(step, view)) is not None}


def _label(step: StepView, view: RunView) -> str | None:
    """What the author calls the step; None if a translation added it."""
    labels = {} if view.labels is None else view.labels.steps
    return labels.get(step.step) if labels and step.role == "step" else step.step


def _step(
    row: dict[str, Any], step: StepView, children: Mapping[Address, list[StepView]], view: RunView
) -> dict[str, Any]:
    """The row with the fields of a step and of what is below it."""
    row |= _result(step, view)
    below = children.get(step.path)
    if not below:
        return row
    rounds = [child for child in below if is_iteration(child)]
    if rounds:
        row["iterations"] = [_iteration(step, child, children, view) for child in rounds]
    if len(rounds) < len(below):
        others = (child for child in below if not is_iteration(child)) if rounds else below
        row["steps"] = {
            label: _step({}, child, children, view) for label, child in _by_label(others, view).items()
        }
    return row


def _iteration(
    loop: StepView, child: StepView, children: Mapping[Address, list[StepView]], view: RunView
) -> dict[str, Any]:
    number = int(child.path[len(loop.path) + 1 : child.path.index("]", len(loop.path))]) - 1
    item = loop.items[number] if number < len(loop.items) else None
    return _step({"index": number, "item": item}, child, children, view)


def is_iteration(step: StepView) -> bool:
    return step.role == "step" and step.path.startswith(f"{step.parent}[")


def _result(step: StepView, view: RunView) -> dict[str, Any]:
    if step.status != "ended":
        status = "running"
    else:
        status = "completed" if step.outcome in CONTINUING_OUTCOMES else "failed"
    result = step.result
    row: dict[str, Any] = {
        "status": status,
        "exit_code": result.get("exit_code", step.exit),
        "output": truncated(as_text(result.get("text", result.get("output")))),
        "duration": duration_of(step, view.at) / 1000,
        "outcome": step.outcome,
        "reason": step.reason,
        "visit": step.visit,
        "attempts": step.attempts,
    }
    return {**row, **_files_of(result, view)}


def _files_of(result: Mapping[str, Any], view: RunView) -> dict[str, str]:
    """Where the streams of a command are: stdout if it was too long for the log, stderr if there was any."""
    if "exit_code" not in result:
        return {}  # An agent's `log` is the folder of its attempt.
    log, stderr = result.get("log"), result.get("stderr_log")
    places = {
        "spill_stdout_path": log if log != stderr else None,
        "spill_stderr_path": stderr,
    }
    return {key: str(PurePath(view.folder, place)) for key, place in places.items() if place is not None}


def truncated(text: str) -> str:
    """The first 8 KB of a text (R153)."""
    if len(text) <= SHOWN_BYTES // 4:
        return text  # Four bytes are the longest character.
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= SHOWN_BYTES else raw[:SHOWN_BYTES].decode("utf-8", "ignore") + TRUNCATED


def readable(data: Mapping[str, Any]) -> str:
    """JSON with one line per field and per element of a list; ten times as fast as `indent`."""
    fields = (f"  {json.dumps(key)}: {_element_wise(value)}" for key, value in data.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _element_wise(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"    {spaced_json(each)}" for each in value) + "\n  ]"
    if isinstance(value, dict) and any(isinstance(each, dict) for each in value.values()):
        rows = (f"    {json.dumps(str(key))}: {spaced_json(each)}" for key, each in value.items())
        return "{\n" + ",\n".join(rows) + "\n  }"
    return spaced_json(value)

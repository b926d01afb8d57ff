"""A run of a file in the gates format, in the files that format knows: `.workflow/` with specs, signals, retry-context
and audit (R201).

All of it is a view. Only what people put beside it, `signals/<gate>-pass` and `signals/<gate>-fail`, is also read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES
from podium.views.format import iso, iso_or_none
from podium.views.plain import one_line
from podium.views.run.view import Pending, RunView, StepView

FOLDER: Final = ".workflow"
SIGNALS: Final = "signals"
OWN: Final = ("specs/*", "signals/*-done.json", "signals/*-asked.md", "retry-context/*", "audit/*")
"""What is written here and taken away again when it is no longer true; anything else is somebody's."""
ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {"pass": ("approve", "accept"), "fail": ("reject", "retry")}
"""What the two words mean, by what can be answered: at a gate, and where its retries are used up."""
_INSIDE: Final = re.compile(r"([^/~#\[]+)(?:~\d+)?#\d+/([^/~#\[]+)")
_ALONE: Final = re.compile(r"([^/~#\[]+)(?:~\d+)?")
_USED_UP: Final = "!exhausted"


@dataclass(frozen=True, slots=True)
class Layout:
    """The ids of the file by the native names, as its author calls them, and the file itself."""

    id: str
    spec: str
    steps: Mapping[str, str]
    gates: Mapping[str, str]
    """A gate inside a step by `step/gate`, one that is a step of its own by its name."""


def gate_of(path: str, layout: Layout) -> str | None:
    """The id of the gate at an address, also where its retries are used up; None if there is none."""
    inside = _INSIDE.fullmatch(path)
    if inside is not None and inside[2] == _USED_UP:
        return next((gate for name, gate in layout.gates.items() if name.startswith(f"{inside[1]}/")), None)
    if inside is not None:
        return layout.gates.get(f"{inside[1]}/{inside[2]}")
    alone = _ALONE.fullmatch(path)
    return None if alone is None else layout.gates.get(alone[1])


def files_of(view: RunView, layout: Layout) -> dict[str, str]:
    """Every file with its text, by its path in the folder."""
    found = {f"specs/{file_name(layout.id)}.yaml": layout.spec}
    found |= dict(_signals(view, layout))
    outcomes = _outcomes(view, layout)
    found |= {
        f"retry-context/{file_name(one.gate)}-attempt-{one.failures}.md": _context(one, view)
        for one in outcomes
        if not one.passed
    }
    return {**found, f"audit/{file_name(layout.id)}.log": "".join(f"{_line(one)}\n" for one in outcomes)}


def file_name(written: str) -> str:
    """An id may be anything; what becomes of it stays within its folder."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", written).lstrip(".") or "_"


def _signals(view: RunView, layout: Layout) -> Iterator[tuple[str, str]]:
    newest = {step.step: step for step in view.steps if _ALONE.fullmatch(step.path)}
    for name, known in layout.steps.items():
        step = newest.get(name)
        if step is not None and (step.status == "checking" or step.outcome in CONTINUING_OUTCOMES):
            yield f"{SIGNALS}/{file_name(known)}-done.json", _done(known, step)
    for pending in view.pending:
        gate = gate_of(pending.path, layout)
        if gate is not None and answers_for(pending.actions):
            yield f"{SIGNALS}/{file_name(gate)}-asked.md", _asked(gate, pending)


def answers_for(actions: tuple[str, ...]) -> dict[str, str]:
    """What `pass` and `fail` stand for; empty where they answer nothing."""
    found = {
        word: next((action for action in meanings if action in actions), "")
        for word, meanings in ANSWERS.items()
    }
    return found if all(found.values()) else {}


def _done(known: str, step: StepView) -> str:
    signal = {
        "step": known,
        "name": step.step,
        "outcome": step.outcome,
        "visit": step.visit,
        "attempts": step.attempts,
        "at": iso_or_none(step.ended),
        "tree": step.tree,
        "files": list(step.result.get("files") or ()),
    }
    return json.dumps(signal, ensure_ascii=False, indent=2, default=str) + "\n"


def _asked(gate: str, pending: Pending) -> str:
    name = file_name(gate)
    means = answers_for(pending.actions)
    return (
        f"{pending.question.strip()}\n\n"
        f"Put a file beside this one: {name}-pass ({means['pass']}) or {name}-fail ({means['fail']}). What is in it is "
        f"your feedback, as text, or as JSON in {name}-fail.json with feedback and by.\n"
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    gate: str
    step: StepView
    passed: bool
    failures: int
    """How often this gate has failed so far."""


def _outcomes(view: RunView, layout: Layout) -> list[_Outcome]:
    ended = [step for step in view.steps if step.ended is not None and not step.path.endswith(_USED_UP)]
    failures: dict[str, int] = {}
    found: list[_Outcome] = []
    for step in sorted(ended, key=lambda step: step.ended or 0):
        gate = gate_of(step.path, layout)
        if gate is not None:
            passed = step.outcome in CONTINUING_OUTCOMES
            failures[gate] = failures.get(gate, 0) + (not passed)
            found.append(_Outcome(gate, step, passed, failures[gate]))
    return found


def _line(one: _Outcome) -> str:
    assert one.step.ended is not None
    result = "pass" if one.passed else f"fail {one.failures}"
    said = f": {one_line(one.step.words)}" if one.step.words else ""
    return f"{iso(one.step.ended)} {one.gate} {result} ({one.step.path} {one.step.outcome}){said}"


def _context(one: _Outcome, view: RunView) -> str:
    said = list(_said(one.step, view)) or [one.step.words or str(one.step.outcome)]
    return f"# {one.gate}, failed the {one.failures}. time\n\n" + "\n\n".join(said) + "\n"


def _said(gate: StepView, view: RunView) -> Iterator[str]:
    for judge in (step for step in view.steps if step.parent == gate.path and step.verdict is not None):
        assert judge.verdict is not None
        lines = [f"{judge.step}: {judge.verdict.decision}. {judge.verdict.summary}".strip()]
        lines += [_finding(finding) for finding in judge.verdict.findings]
        yield "\n".join(lines)


def _finding(finding: Mapping[str, object]) -> str:
    where = f" ({finding['path']})" if finding.get("path") else ""
    return f"- [{finding.get('severity', 'major')}]{where} {finding.get('issue', '')}"

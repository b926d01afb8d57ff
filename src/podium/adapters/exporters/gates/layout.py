"""Computes the files of the gates format for one run: specs, signals, retry-context and audit (R201).

They depend only on the view of the run. Podium also reads the files that people add: `signals/<gate>-pass` and
`signals/<gate>-fail`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from podium.adapters.exporters.gates.labels import USED_UP, GateLabels, file_name, gate_of, is_step
from podium.core.types import CONTINUING_OUTCOMES
from podium.fast_dataclass import dataclass
from podium.views.format import iso, iso_or_none
from podium.views.plain import one_line
from podium.views.run.view import Pending, RunView, StepView

FOLDER: Final = ".workflow"
SIGNALS: Final = "signals"
OWN_FILES: Final = ("specs/*", "signals/*-done.json", "signals/*-asked.md", "retry-context/**/*", "audit/*")
"""The files that Podium writes, and removes when they no longer apply; all others belong to the user."""
ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {"pass": ("approve", "accept"), "fail": ("reject", "retry")}
"""The meaning of the two words: at a gate, and in the question after its last retry."""


def files_of(view: RunView, labels: GateLabels) -> dict[str, str]:
    """The text of every file by its path in the folder."""
    results = _gate_results(view, labels)
    return {
        f"specs/{file_name(labels.id)}.yaml": labels.text,
        **dict(_signals(view, labels)),
        **{
            _context_path(result, labels): _retry_context(result, view)
            for result in results
            if not result.passed
        },
        f"audit/{file_name(labels.id)}.log": "".join(f"{_audit_line(result)}\n" for result in results),
    }


def actions_for(actions: tuple[str, ...]) -> dict[str, str]:
    """The actions that `pass` and `fail` mean; empty if they cannot answer the question."""
    meanings = {
        word: next((action for action in candidates if action in actions), "")
        for word, candidates in ACTIONS.items()
    }
    return meanings if all(meanings.values()) else {}


def _context_path(result: _GateResult, labels: GateLabels) -> str:
    """Where the file wants the feedback, else at the place of the format."""
    path = labels.context_paths.get(result.gate, f"retry-context/{file_name(result.gate)}-attempt-{{n}}.md")
    return path.replace("{n}", str(result.failures))


def _signals(view: RunView, labels: GateLabels) -> Iterator[tuple[str, str]]:
    newest = {step.step: step for step in view.steps if is_step(step.path)}
    for name, label in labels.steps.items():
        step = newest.get(name)
        if step is not None and _is_done(step, view, labels):
            yield f"{SIGNALS}/{file_name(label)}-done.json", _done_signal(label, step)
    for pending in view.pending:
        gate = gate_of(pending.path, labels)
        if gate is not None and actions_for(pending.actions):
            yield f"{SIGNALS}/{file_name(gate)}-asked.md", _question(gate, pending)


def _is_done(step: StepView, view: RunView, labels: GateLabels) -> bool:
    """Whether its work waits for its gate, because it meets its criterion, or has passed; and is not to be done again."""
    if step.stale:
        return False
    gate = f"{step.path}#{step.attempts}/"
    begun = (other.path for other in view.steps if other.path.startswith(gate))
    reached = any(gate_of(path, labels) is not None and not path.endswith(USED_UP) for path in begun)
    return step.outcome == "passed" or (step.status == "checking" and reached)


def _done_signal(label: str, step: StepView) -> str:
    signal = {
        "step": label,
        "name": step.step,
        "outcome": step.outcome,
        "visit": step.visit,
        "attempts": step.attempts,
        "at": iso_or_none(step.ended),
        "tree": step.tree,
        "files": list(step.result.get("files") or ()),
    }
    return json.dumps(signal, ensure_ascii=False, indent=2, default=str) + "\n"


def _question(gate: str, pending: Pending) -> str:
    name = file_name(gate)
    meanings = actions_for(pending.actions)
    return (
        f"{pending.question.strip()}\n\n"
        f"To answer, create a file here: {name}-pass ({meanings['pass']}) or {name}-fail ({meanings['fail']}). Its "
        f"content is your feedback: text, or JSON with feedback and by in {name}-fail.json.\n"
    )


@dataclass(frozen=True, slots=True)
class _GateResult:
    gate: str
    step: StepView
    passed: bool
    failures: int
    """How often this gate has failed so far."""


def _gate_results(view: RunView, labels: GateLabels) -> list[_GateResult]:
    ended = [step for step in view.steps if step.ended is not None and not step.path.endswith(USED_UP)]
    failures: dict[str, int] = {}
    results: list[_GateResult] = []
    for step in sorted(ended, key=lambda step: step.ended or 0):
        gate = gate_of(step.path, labels)
        if gate is not None:
            passed = step.outcome in CONTINUING_OUTCOMES
            failures[gate] = failures.get(gate, 0) + (not passed)
            results.append(_GateResult(gate, step, passed, failures[gate]))
    return results


def _audit_line(result: _GateResult) -> str:
    assert result.step.ended is not None
    word = "pass" if result.passed else f"fail {result.failures}"
    reason = f": {one_line(result.step.words)}" if result.step.words else ""
    step = result.step
    return f"{iso(result.step.ended)} {result.gate} {word} ({step.path} {step.outcome}){reason}"


def _retry_context(result: _GateResult, view: RunView) -> str:
    reviews = list(_reviews(result.step, view)) or [result.step.words or str(result.step.outcome)]
    return f"# {result.gate}: failure {result.failures}\n\n" + "\n\n".join(reviews) + "\n"


def _reviews(gate: StepView, view: RunView) -> Iterator[str]:
    for judge in (step for step in view.steps if step.parent == gate.path and step.verdict is not None):
        assert judge.verdict is not None
        lines = [f"{judge.step}: {judge.verdict.decision}. {judge.verdict.summary}".strip()]
        lines += [_finding_line(finding) for finding in judge.verdict.findings]
        yield "\n".join(lines)


def _finding_line(finding: Mapping[str, object]) -> str:
    where = f" ({finding['path']})" if finding.get("path") else ""
    return f"- [{finding.get('severity', 'major')}]{where} {finding.get('issue', '')}"

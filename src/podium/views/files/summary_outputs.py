"""The parts of `run_summary.md` about texts: who wrote how much in each phase, what the judges agree on, and the final result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from podium.views.plain import as_text, one_line
from podium.views.run.view import RunView, StepView
from podium.views.text.costs import cost

MOST_PHASES: Final = 20
PREVIEW_CHARS: Final = 160
PREVIEW_LINES: Final = 3
FINAL: Final = "final"
"""The folder of the final result, if a file of the run is written there."""


class Audit(NamedTuple):
    """What one judge says: its decision, its score, and a score for each work or criterion."""

    step: str
    decision: str
    score: float | None
    scores: Mapping[str, float]
    issues: tuple[str, ...]


def phases(view: RunView) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Each list of agents that wrote texts: its address, and a row for each of them."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for step in view.steps:
        is_writer = bool(step.parent and step.calls) and step.verdict is None
        text = text_of(step) if is_writer else ""
        if text and (step.parent in groups or len(groups) < MOST_PHASES):
            groups.setdefault(step.parent, []).append(_writer_row(step, text))
    yield from groups.items()


def _writer_row(step: StepView, text: str) -> tuple[str, ...]:
    return step.step, f"{len(text.split()):,}", f"{step.tokens:,}", cost(step), one_line(text, PREVIEW_CHARS)


def text_of(step: StepView) -> str:
    """The text that an agent answered and that counts."""
    text = step.result.get("text") if step.worked and step.outcome == "passed" and not step.stale else None
    return text.strip() if isinstance(text, str) and step.role == "step" else ""


def audits_of(view: RunView) -> Iterator[Audit]:
    """The verdicts of reviews, and answers of the shape `Audit`."""
    for step in view.steps:
        output: Any = step.result.get("output")
        if step.stale:
            continue
        if step.verdict is not None:
            record: Any = step.result.get("verdict")
            scores = _numbers(record.get("scores") if isinstance(record, Mapping) else None)
            issues = tuple(as_text(finding.get("issue")) for finding in step.verdict.findings)
            yield Audit(step.path, step.verdict.decision, step.verdict.score, scores, issues)
        elif step.worked and isinstance(output, Mapping) and {"overall", "decision", "scores"} <= set(output):
            listed = output.get("issues") or ()
            issues = tuple(as_text(issue.get("issue")) for issue in listed if isinstance(issue, Mapping))
            overall = _numbers({"overall": output["overall"]}).get("overall")
            yield Audit(step.path, as_text(output["decision"]), overall, _numbers(output["scores"]), issues)


def _numbers(value: Any) -> dict[str, float]:
    entries = value.items() if isinstance(value, Mapping) else ()
    return {
        str(key): float(number)
        for key, number in entries
        if isinstance(number, int | float) and not isinstance(number, bool)
    }


def consensus(audits: Sequence[Audit]) -> list[str]:
    """What at least two judges agree on."""
    if len(audits) < 2:
        return []
    scores = [audit.score for audit in audits if audit.score is not None]
    decisions = {audit.decision for audit in audits}
    lines = [f"- all {len(audits)} decide: {audits[0].decision}"] if len(decisions) == 1 else []
    if len(scores) > 1:
        mean, spread = sum(scores) / len(scores), max(scores) - min(scores)
        lines.append(f"- mean score {mean:.3g} of {len(scores)} judges, {spread:g} apart")
    counted: dict[str, list[str]] = {}
    for audit in audits:
        for issue in dict.fromkeys(" ".join(issue.lower().split()) for issue in audit.issues):
            counted.setdefault(issue, []).append(audit.step)
    shared = sorted(
        ((steps, issue) for issue, steps in counted.items() if len(steps) > 1), key=lambda each: -len(each[0])
    )
    lines += [f"- {len(steps)} judges: {one_line(issue, 200)}" for steps, issue in shared]
    return lines


class FinalResult(NamedTuple):
    step: str
    text: str
    file: str


def final_result(view: RunView) -> FinalResult | None:
    """The last text with a place in the project: one in a folder `final`, else the newest."""
    results = []
    for step in view.steps:
        for artifact in step.result.get("artifacts", ()) if text_of(step) else ():
            if isinstance(artifact, Mapping) and "project" in artifact:
                results.append(FinalResult(step.path, text_of(step), as_text(artifact["project"])))
    singles = [result for result in results if "/" not in result.step] or results
    finals = [result for result in singles if FINAL in result.file.split("/")[:-1]] or singles
    return finals[-1] if finals else None


def written_files(view: RunView) -> tuple[str, ...]:
    """The files of the project that a run that has ended has written from its outputs."""
    artifacts = (each for step in view.steps for each in step.result.get("artifacts", ()))
    paths = (each.get("project") for each in artifacts if isinstance(each, Mapping))
    return tuple(sorted({as_text(path) for path in paths if path})) if view.ended is not None else ()


def determination(view: RunView, final: FinalResult | None) -> str:
    """What was said last about the final result: by the step after it, else by the last judge."""
    last = next((step for step in reversed(view.steps) if text_of(step) and "/" not in step.path), None)
    if last is not None and final is not None and last.path != final.step:
        return text_of(last)
    verdict = next((step.verdict for step in reversed(view.steps) if step.verdict is not None), None)
    if verdict is None:
        return ""
    score = "" if verdict.score is None else f", score {verdict.score:g}"
    return f"{verdict.decision}{score}{f': {verdict.summary}' if verdict.summary else ''}"


def quote(text: str) -> list[str]:
    """The first lines of a text, as a quotation."""
    lines = [line for line in text.splitlines() if line.strip()][:PREVIEW_LINES]
    return [f"> {one_line(line, 2 * PREVIEW_CHARS)}" for line in lines]

"""Prints runs as lines for a terminal; `paint` adds colour, which only repeats what the text says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from podium.core.types import CONTINUING_OUTCOMES, Millis
from podium.views.format import clock, duration
from podium.views.plain import STYLE, as_text, cells, cut_to_cells, harmless, one_line, short_id, wrapped
from podium.views.run.advice import advice_in
from podium.views.run.choices import choice_text
from podium.views.run.features import features_of
from podium.views.run.labels import labelled
from podium.views.run.series import series_text
from podium.views.run.view import Pending, RunView, StepView, duration_of, elapsed
from podium.views.run.why import one_text
from podium.views.text.costs import attempts_text, cost, fallback_text, outcome_text, run_cost, workers_text
from podium.views.text.landing import FOR_A_PERSON, landing_note, landing_words, landings
from podium.views.text.next_steps import Hint, background, next_steps, waits_for

Tone: TypeAlias = Literal["good", "bad", "wait", "dim", "bold"]
Paint: TypeAlias = Callable[[str, Tone], str]

MARKS: Final[dict[str, tuple[str, Tone]]] = {
    "passed": ("ok", "good"),
    "skipped": ("--", "dim"),
    "partial": ("~~", "wait"),
}
LIVE: Final[dict[str, tuple[str, Tone]]] = {
    "queued": ("..", "dim"),
    "running": (">>", "bold"),
    "checking": (">>", "bold"),
    "retrying": ("..", "wait"),
    "waiting": ("??", "wait"),
}
TONES: Final[dict[str, Tone]] = {
    "passed": "good",
    "running": "bold",
    "interrupted": "wait",
    "waiting": "wait",
    "parked": "wait",
    "paused": "wait",
}
INDENT: Final = "     "
DECISION: Final = frozenset({"go", "reason", "guidance"})
"""What the driver of a block answers: the next step, and why."""
REASON_LINES: Final = 3
MAX_QUESTION: Final = 1_000
LONG_MESSAGE: Final = 70
"""A message for a person that is longer is printed in full below the steps."""


def no_paint(text: str, _: Tone) -> str:
    return text


def run_lines(
    view: RunView, now: Millis, paint: Paint = no_paint, *, hints: bool = True, width: int | None = None
) -> Iterator[str]:
    """A whole run: head, steps, pending questions, next commands.

    Messages are cut to the width of a terminal; with None, as in a pipe, they are not cut.
    """
    view = labelled(view)
    yield from head_lines(view, now, paint, width)
    steps = in_outline_order(step for step in view.steps if step.role != "gates")
    if steps:
        yield ""
        yield from step_lines(steps, now, paint, width)
        yield from fault_lines(steps, paint)
    yield from feature_lines(view, paint)
    yield from advice_lines(view, width)
    yield from pending_lines(view, now, paint, width)
    yield from output_lines(view, width)
    if hints:
        yield from next_step_lines(view, paint, width)


def feature_lines(view: RunView, paint: Paint) -> Iterator[str]:
    """The phases and components of what the run builds, by their codes, with their states."""
    for feature in features_of(view):
        yield ""
        yield f"{feature.step}: {_state_word(feature.state, paint)}"
        for phase in feature.phases:
            yield f"  {phase.code}  {phase.name}: {_state_word(phase.state, paint)}"
            yield from (
                f"    {part.code}  {part.name}: {_state_word(part.state, paint)}" for part in phase.components
            )


def _state_word(state: str, paint: Paint) -> str:
    tones: dict[str, Tone] = {"complete": "good", "failed": "bad", "pending": "dim"}
    return paint(state.replace("_", " "), tones.get(state, "bold"))


def advice_lines(view: RunView, width: int | None = None) -> Iterator[str]:
    """What was decided about rules of the breaker."""
    for number, advice in enumerate(advice_in(view.steps)):
        if not number:
            yield ""
        reason = f": {advice.reason}" if advice.reason else ""
        yield fit(f"{advice.rule} was hit: {advice.decision} by {advice.by}{reason}", width, 0)


def in_outline_order(steps: Iterable[StepView]) -> list[StepView]:
    """The steps in order, each below its parent, so that parallel branches are not interleaved."""
    all_steps = tuple(steps)
    places: dict[str, tuple[int, ...]] = {}
    for number, step in enumerate(all_steps):
        parent = _parent_address(step.path)
        while parent and parent not in places:
            parent = _parent_address(parent)
        places[step.path] = (*places.get(parent, ()), number)
    return sorted(all_steps, key=lambda step: places[step.path])


def _parent_address(path: str) -> str:
    """The enclosing address: for `each[2]/test#1/lint` it is `each[2]/test#1`, then `each[2]/test`, ..."""
    return path[: max(0, path.rfind("/"), path.rfind("["), path.rfind("#"))]


def head_lines(view: RunView, now: Millis, paint: Paint, width: int | None = None) -> Iterator[str]:
    repeated = ("", view.status, *(("limit",) if view.status == "limited" else ()))
    reason = f" ({view.reason})" if view.reason not in repeated else ""
    status = paint(f"{view.status}{reason}", TONES.get(view.status, "bad"))
    took = duration(elapsed(view, now))
    yield f"{paint(view.workflow, 'bold')} {view.run}  {status}  {took}  {run_cost(view)}"
    why = view.why or view.message
    if why:
        yield from reason_lines(why, width, "  ")
    if view.status == "interrupted":
        yield paint("  no process drives this run", "wait")
    if view.series is not None:
        yield f"  {fit(series_text(view.series), width, 2)}"
    for raised in view.raised:
        yield f"  limit on {raised.unit} raised to {raised.to} by {raised.by}" + (
            f": {fit(raised.why, width, 40)}" if raised.why else ""
        )
    for chosen in () if view.facts is None else view.facts.chosen:
        yield f"  {fit(choice_text(chosen), width, 2)}"
    for name, memory in view.memories.items():
        if "error" in memory or memory.get("conflicts"):
            beside = ", ".join(memory.get("conflicts", ()))
            yield f"  memory {name}: {fit(memory.get('error') or f'conflicts are stored beside the files: {beside}', width, 12)}"
    for name, value in view.inputs.items():
        yield paint(f"  {name}: {one_line(as_text(value), 100)}", "dim")


def fit(text: str, width: int | None, used: int = 0) -> str:
    """The text in one line, cut to what is left of the width."""
    return one_line(text, len(text) if width is None else max(20, width - used))


def step_lines(
    steps: Iterable[StepView], now: Millis, paint: Paint, width: int | None = None
) -> Iterator[str]:
    """A line per step with its reason, which gets a line of its own where the terminal is too narrow."""
    rows = [("  " * step.depth + step.path, step) for step in steps]
    column = min(48, max((len(name) for name, _ in rows), default=0))
    for name, step in rows:
        line, why = step_line(name.ljust(column), step, now, paint), _explanation(step)
        if not why or width is None:
            yield f"{line}  {why}" if why else line
            continue
        bare = step_line(name.ljust(column), step, now, no_paint)
        if len(bare) + 2 + len(why) > width:
            yield line
            yield from reason_lines(why, width, INDENT)
        else:
            yield f"{line}  {why}"


def step_line(name: str, step: StepView, now: Millis, paint: Paint) -> str:
    mark, tone = mark_of(step)
    took = duration(duration_of(step, now))
    notes = "  ".join(_notes(step))
    return f"{paint(mark, tone)} {name}  {outcome_text(step):<18} {took:>7}  {notes}".rstrip()


def _notes(step: StepView) -> Iterator[str]:
    if price := cost(step):
        yield price
    if step.worked and step.attempts > 1:
        yield attempts_text(step)
    if step.done_by:
        yield one_line(step.done_by, 80)
    decision = step.result.get("output")
    if isinstance(decision, Mapping) and decision.keys() == DECISION:
        yield one_line(f"{decision['go']}: {decision['reason']}", 80)
    for text in step.guidance[-1:]:
        by = f" by {one_line(text.by, 40)}" if text.by else ""
        guided = f'guided{by}: "{one_line(text.text, 60)}"'
        yield "its guidance waits for the next attempt" if text.refused else guided
    if step.reused:
        yield f"from {step.reused}"
    if step.stale:
        yield "stale"
    if step.passed_over:
        yield fallback_text(step)
    elif len(step.workers) > 1:
        yield workers_text(step)


def fault_lines(steps: Iterable[StepView], paint: Paint) -> Iterator[str]:
    """The full messages about settings or files that the user has to fix, if they are longer than a line."""
    for step in steps:
        long = step.reason in FOR_A_PERSON and len(step.words) > LONG_MESSAGE
        if long or (step.reason == "configuration" and "\n" in step.words):
            yield ""
            yield paint(f"{step.path}:", "bold")
            yield from (f"  {harmless(line)}" for line in step.words.splitlines())


def mark_of(step: StepView) -> tuple[str, Tone]:
    if step.outcome is not None:
        return MARKS.get(step.outcome, ("!!", "bad"))
    return LIVE[step.status]


def _explanation(step: StepView) -> str:
    """Why a step failed; for one that did not fail, the comparison of tests that was not possible."""
    if step.outcome is None or step.outcome in CONTINUING_OUTCOMES:
        why = step.result.get("uncompared")
        return one_text(f"tests not compared: {why}") if isinstance(why, str) else ""
    if step.outcome == "cancelled":
        return one_text(step.message)
    is_origin = step.cause is not None and step.cause.path == step.path
    # The line of the step that failed is below that of the block around it.
    return step.why if is_origin or step.worked else ""


def pending_lines(view: RunView, now: Millis, paint: Paint, width: int | None = None) -> Iterator[str]:
    if view.pending:
        yield ""
        yield "waits for"
    for pending in view.pending:
        yield f"  {paint(pending.path, 'bold')}: {waits_for(pending)}{_times(pending, now)}"
        yield from question_lines(view, pending, width)


def question_lines(view: RunView, pending: Pending, width: int | None) -> Iterator[str]:
    """The whole question, and what is known about it.

    It may contain text of agents, which never starts a line of its own, so that it cannot imitate our lines.
    """
    if pending.question:
        yield from wrapped(f"    {one_line(pending.question, MAX_QUESTION)}", width, hang=0)
    for line in background(view, pending):
        yield from reason_lines(line, width, "    ")


def reason_lines(text: str, width: int | None, indent: str) -> Iterator[str]:
    """A reason, in at most REASON_LINES lines of a terminal."""
    line = f"{indent}{one_line(text, len(text))}"
    yield from wrapped(line, width, hang=2, most=REASON_LINES)


def output_lines(view: RunView, width: int | None = None) -> Iterator[str]:
    """The outputs of the workflow, each in one line."""
    if view.outputs:
        yield ""
        yield "outputs"
    for name, value in view.outputs.items():
        yield f"  {name}: {fit(as_text(value), width, len(name) + 4)}"


def _times(pending: Pending, now: Millis) -> str:
    waited = f", waiting {duration(max(0, now - pending.since))}"
    return waited if pending.due is None else f"{waited}, until {clock(pending.due)} UTC"


def next_step_lines(view: RunView, paint: Paint, width: int | None = None) -> Iterator[str]:
    hints = tuple(next_steps(view))
    if view.tree is not None and view.tree != view.base and view.ended is not None:
        yield ""
        yield f"result: tree {short_id(view.tree)}, based on {short_id(view.base)}"
    for step in landings(view):
        yield f"{step.path} {landing_words(step)}"
        if landing_note(step):
            yield paint(f"  {landing_note(step)}", "bad")
    if hints:
        yield ""
        yield from hint_lines(hints, paint, indent="", width=width)


def hint_lines(
    hints: Iterable[Hint], paint: Paint, indent: str = "    ", width: int | None = None
) -> Iterator[str]:
    """Commands with their purpose, which gets a line of its own where the terminal is too narrow.

    A command is never broken, so that it can be copied.
    """
    rows = tuple(hints)
    column = max((len(hint.command) for hint in rows), default=0)
    longest = len(indent) + column + 2 + max((len(hint.why) for hint in rows), default=0)
    for hint in rows:
        if width is None or longest <= width:
            yield f"{indent}{hint.command.ljust(column)}  {paint(hint.why, 'dim')}".rstrip()
        else:
            yield f"{indent}{hint.command}"
            yield from (
                f"{indent}    {paint(line, 'dim')}" for line in wrapped(hint.why, width - len(indent) - 4)
            )


def list_lines(
    views: Iterable[RunView], now: Millis, paint: Paint = no_paint, width: int | None = None
) -> Iterator[str]:
    """A header, and one line per run, which ends with the question that the run waits with."""
    rows = tuple(views)
    names = max((len("workflow"), *(len(view.workflow) for view in rows)))
    words = max((len("status"), *(len(view.status) for view in rows)))
    ids = max((len("run"), *(len(view.run) for view in rows)))
    if rows:
        head = f"{'run':<{ids}}  {'status':<{words}}  {'workflow':<{names}}  {'started (UTC)':<16}  {'took':>7}  cost"
        yield paint(head, "dim")
    for view in rows:
        status = paint(f"{view.status:<{words}}", TONES.get(view.status, "bad"))
        took = duration(elapsed(view, now))
        began = "" if view.started is None else clock(view.started)
        series = "" if view.series is None else paint(f"  run {view.series.number} of a series", "dim")
        line = (
            f"{view.run:<{ids}}  {status}  {view.workflow:<{names}}  {began:<16}  {took:>7}  {run_cost(view)}"
        )
        questions = "; ".join(one_line(each.question, 300) for each in view.pending if each.actions)
        asks = f"  ?? {questions}" if questions else ""
        if width is not None:
            asks = cut_to_cells(asks, max(0, width - cells(STYLE.sub("", f"{line}{series}"))))
        yield f"{line}{series}{paint(asks, 'wait')}"

"""Draws a running run as a tree of rows that fits a terminal: what runs, what has ended, what is next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from podium.core.addresses import without_numbers
from podium.core.types import CONTINUING_OUTCOMES, Address, Millis
from podium.views.format import clock_time, count, dollars, duration
from podium.views.plain import as_text, cells, cut_to_cells, one_line
from podium.views.run.activity import Activities
from podium.views.run.labels import label_address, labelled_step, labels_in
from podium.views.run.view import Pending, RunView, StepView, duration_of, elapsed
from podium.views.text.costs import attempt_label, cost, outcome_text, run_cost
from podium.views.text.next_steps import waits_for
from podium.views.text.terminal import Paint, Tone, in_outline_order

NARROW: Final = 80
"""Below this width the usual times are left out."""
MIN_TAIL: Final = 12
"""A shorter explanation is not worth its space."""
MAX_NAME: Final = 36


class Glyphs(NamedTuple):
    passed: str
    failed: str
    partial: str
    skipped: str
    waiting: str
    idle: str
    spinner: str
    more: str


UNICODE: Final = Glyphs("✓", "✗", "~", "-", "?", "·", "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "…")
ASCII: Final = Glyphs("+", "x", "~", "-", "?", ".", "|/-\\", "...")


class Row(NamedTuple):
    """One line of the tree."""

    mark: str
    tone: Tone
    depth: int
    name: str
    time: str = ""
    cost: str = ""
    tail: str = ""


class Frame(NamedTuple):
    """How a moment is drawn."""

    now: Millis
    columns: int
    rows: int
    tick: int = 0
    """Turns the spinner."""
    glyphs: Glyphs = UNICODE


def draw(
    view: RunView,
    activities: Activities,
    frame: Frame,
    paint: Paint,
    *,
    upcoming: Sequence[str] = (),
    usual: Mapping[str, Millis] | None = None,
) -> Iterator[str]:
    """The lines of a frame: a head, and a row for each step that fits below it."""
    yield _head(view, activities, frame, paint)
    shown = list(_rows(view, activities, frame, upcoming, usual or {}))
    width = min(MAX_NAME, max((cells(row.name) + 2 * row.depth for row in shown), default=0))
    price = max((len(row.cost) for row in shown), default=0)
    for row in shown:
        yield _line(row, (width, price), frame, paint)


def _head(view: RunView, activities: Activities, frame: Frame, paint: Paint) -> str:
    spinner = frame.glyphs.spinner[frame.tick % len(frame.glyphs.spinner)]
    running = [activities.at(step.path) for step in view.steps if step.status == "running"]
    tokens = view.tokens + sum(each.tokens for each in running)
    text = f"{view.workflow}  {duration(elapsed(view, frame.now))}  {money(view)}"
    text += f"  {count(tokens)} tokens" if tokens else ""
    return f"{paint(spinner, 'bold')} {cut_to_cells(text, frame.columns - 2, frame.glyphs.more)}"


def money(view: RunView) -> str:
    """The cost of a run so far and, where money is limited, how much is allowed and how much of that is reserved."""
    limit = next((limit for limit in view.limits if limit.unit == "usd"), None)
    if limit is None:
        return run_cost(view)
    reserved, most = (dollars(round(value * 1_000_000)) for value in (limit.reserved, limit.limit))
    return f"{run_cost(view)} of {most}" + (f" ({reserved} reserved)" if limit.reserved else "")


def _rows(
    view: RunView,
    activities: Activities,
    frame: Frame,
    upcoming: Sequence[str],
    usual: Mapping[str, Millis],
) -> Iterator[Row]:
    """The rows of the most important steps, in order. Only these are composed: a run may have hundreds."""
    steps = {step.path: step for step in view.steps}
    listed = in_outline_order(each for each in view.steps if each.role != "gates")
    shown = [step for step in listed if _is_shown(step, steps)]
    weights = [*(_mark(step, frame)[2] for step in shown), *(0 for _ in upcoming)]
    chosen = _most_important(weights, max(1, frame.rows - 2))
    waits = {pending.path: pending for pending in view.pending}
    loops, labels = _loop_counts(view.steps), labels_in(view)
    for place in chosen:
        if place < len(shown):
            step = shown[place]
            details = _Details(step, steps, waits.get(step.path), loops.get(step.path, ""), labels)
            yield _row(details, activities, frame, usual)
        else:
            yield Row(frame.glyphs.idle, "dim", 0, labels.get(name := upcoming[place - len(shown)], name))
    if len(chosen) < len(weights):
        yield Row(frame.glyphs.more, "dim", 0, _count_others(weights, chosen))


class _Details(NamedTuple):
    step: StepView
    steps: Mapping[Address, StepView]
    pending: Pending | None
    loop: str
    labels: Mapping[str, str]


def _is_shown(step: StepView, steps: Mapping[Address, StepView]) -> bool:
    """A step inside one that has ended is hidden, and so are gates of earlier attempts and members that passed."""
    parent = steps.get(step.parent)
    if parent is None:
        return True
    if parent.role == "gates":
        owner = steps.get(parent.parent)
        is_current = owner is not None and step.path.startswith(f"{owner.path}#{owner.attempts}/")
        return is_current and owner is not None and owner.status != "ended" and _is_shown(owner, steps)
    if parent.status == "ended":
        return False
    is_member = step.path.endswith("]")
    has_passed = step.status == "ended" and step.outcome in CONTINUING_OUTCOMES
    return not (is_member and has_passed) and _is_shown(parent, steps)


def _loop_counts(steps: Iterable[StepView]) -> dict[Address, str]:
    """For each loop, how many of its iterations have ended."""
    loops: dict[Address, StepView] = {}
    ended: dict[Address, int] = {}
    begun: dict[Address, int] = {}
    for step in steps:
        if step.path.endswith("]"):
            begun[step.parent] = begun.get(step.parent, 0) + 1
            ended[step.parent] = ended.get(step.parent, 0) + (step.status == "ended")
        loops[step.path] = step
    return {
        path: f"{ended[path]} of {len(loops[path].items)}" if loops[path].items else f"round {number}"
        for path, number in begun.items()
        if path in loops
    }


def _row(details: _Details, activities: Activities, frame: Frame, usual: Mapping[str, Millis]) -> Row:
    step = details.step
    mark, tone, _ = _mark(step, frame)
    doing = activities.at(step.path)
    spent = cost(step) or (dollars(doing.usd) if doing.usd and step.status == "running" else "")
    return Row(
        mark=mark,
        tone=tone,
        depth=step.depth,
        name=_name(details),
        time=duration(_whole_seconds(duration_of(step, frame.now), step)),
        cost=spent,
        tail=_tail(details, doing.line, usual if frame.columns >= NARROW else {}),
    )


def _whole_seconds(millis: Millis, step: StepView) -> Millis:
    """The time of a running step without fractions, which would flicker."""
    return millis if step.status == "ended" else Millis(millis // 1000 * 1000)


def _mark(step: StepView, frame: Frame) -> tuple[str, Tone, int]:
    """How its row begins, and its weight: if there are too many rows, those with the highest stay."""
    glyphs = frame.glyphs
    if step.outcome is not None:
        if step.outcome == "passed":
            return glyphs.passed, "good", 1
        if step.outcome in CONTINUING_OUTCOMES:
            return (glyphs.skipped, "dim", 1) if step.outcome == "skipped" else (glyphs.partial, "wait", 1)
        return glyphs.failed, "bad", 2
    match step.status:
        case "waiting":
            return glyphs.waiting, "wait", 5
        case "running" | "checking":
            return glyphs.spinner[frame.tick % len(glyphs.spinner)], "bold", 4 if step.worked else 3
        case "retrying":
            return glyphs.idle, "wait", 3
        case _:
            return glyphs.idle, "dim", 3


def _name(details: _Details) -> str:
    """The last part of the address, and for an iteration its item."""
    step = details.step
    name = label_address(Address(step.path.rpartition("/")[2]), details.labels)
    loop = details.steps.get(step.parent)
    if loop is None or not step.path.endswith("]") or not loop.items:
        return name.lstrip("!").replace("_", " ") if step.role == "question" else name
    number = step.path[step.path.rfind("[") + 1 : -1]
    is_item = number.isdecimal() and 1 <= int(number) <= len(loop.items)
    item = as_text(loop.items[int(number) - 1]) if is_item else ""
    return f"{name} {one_line(item, 24)}".rstrip()


def _tail(details: _Details, activity: str, usual: Mapping[str, Millis]) -> str:
    step, pending = details.step, details.pending
    parts = [attempt_label(step)] if step.attempts > 1 and step.worked else []
    if step.status == "ended":
        parts += [outcome_text(step)] if step.outcome != "passed" else []
        why = labelled_step(step, details.labels).why
        parts += [why] if step.outcome not in CONTINUING_OUTCOMES else []
        return "  ".join(filter(None, parts))
    typical = usual.get(without_numbers(step.path))
    parts += [f"usually {duration(typical)}"] if typical is not None else []
    parts += [details.loop] if details.loop else []
    if pending is not None:
        until = "" if pending.due is None else f" until {clock_time(pending.due)}"
        parts.append(f"waits for {waits_for(pending)}{until}")
    elif step.status == "queued" and step.worked:
        parts.append("waits for its turn")
    elif activity and step.status == "running":
        parts.append(activity)
    elif step.status in ("checking", "retrying"):
        parts.append("checks the result" if step.status == "checking" else step.why)
    return "  ".join(filter(None, parts))


def _most_important(weights: Sequence[int], room: int) -> list[int]:
    """The places of the rows that fit, in order; one row is left for the count of the others."""
    if len(weights) <= room:
        return list(range(len(weights)))
    ranked = sorted(
        range(len(weights)), key=lambda place: (-weights[place], -place if weights[place] == 1 else place)
    )
    return sorted(ranked[: max(0, room - 1)])


def _count_others(weights: Sequence[int], chosen: Sequence[int]) -> str:
    left = Counter(weights) - Counter(weights[place] for place in chosen)
    groups = (("running", (3, 4, 5)), ("failed", (2,)), ("done", (1,)), ("to come", (0,)))
    counts = [(sum(left[weight] for weight in group), word) for word, group in groups]
    return ", ".join(f"{number} {word}" for number, word in counts if number)


def _line(row: Row, widths: tuple[int, int], frame: Frame, paint: Paint) -> str:
    width, price = widths
    name = cut_to_cells("  " * row.depth + row.name, width, frame.glyphs.more)
    name += " " * (width - cells(name))
    text = f"{name}  {row.time:>6}" if row.time else name
    text += f"  {row.cost:>{price}}" if row.time and price else ""
    room = frame.columns - len(row.mark) - 1
    left = room - cells(text) - 2
    tail = f"  {cut_to_cells(row.tail, left, frame.glyphs.more)}" if row.tail and left >= MIN_TAIL else ""
    if row.tone == "dim":
        return paint(f"{row.mark} {cut_to_cells(text.rstrip(), room, frame.glyphs.more)}{tail}", "dim")
    return f"{paint(row.mark, row.tone)} {cut_to_cells((text + tail).rstrip(), room, frame.glyphs.more)}"

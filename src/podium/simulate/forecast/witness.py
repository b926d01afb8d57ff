"""The witness of the worst case: the path that causes it, instance by instance.

It has the outcome of each instance and the number of extra attempts granted to it; a simulated world
(tests/simulate/worst_world.py) makes a run follow it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from podium.core.addresses import FINALLY, ROOT, child, iteration
from podium.core.decide.pass_rules import required_passes
from podium.core.model import Block, Call, ForEach, Members, Repeat, Step
from podium.core.queries.graph import WORK
from podium.core.types import CONTINUING_OUTCOMES, Address, Outcome
from podium.fast_dataclass import dataclass
from podium.simulate.forecast.cost_tables import NEVER, Table, combine, divide
from podium.simulate.forecast.worst_case import Node
from podium.simulate.loop_lists import list_sources


@dataclass(frozen=True, slots=True)
class WitnessStep:
    """What happens to one instance on the path."""

    outcome: Outcome = "passed"
    grants: int = 0
    items: int = 0
    rounds: int = 0


DEFAULT_STEP: Final = WitnessStep()


@dataclass(frozen=True, slots=True)
class Witness:
    parts: Mapping[Address, WitnessStep]
    """The instances in the order they are entered."""
    widths: Mapping[str, int]
    """The number of items in a step's answer, by step name."""

    @property
    def widest(self) -> int:
        return max(self.widths.values(), default=1)

    def at(self, path: Address) -> WitnessStep:
        return self.parts.get(path, DEFAULT_STEP)


def witness(root: Node) -> Witness:
    """The most expensive path through the whole run."""
    builder = _WitnessBuilder()
    t = len(root.good) - 1
    builder.add(root, ROOT, t, "passed" if root.good[t] >= root.bad[t] else "failed")
    return Witness(builder.parts, builder.widths)


class _WitnessBuilder:
    def __init__(self) -> None:
        self.parts: dict[Address, WitnessStep] = {}
        self.widths: dict[str, int] = {}
        self._visits: Counter[tuple[Address, int]] = Counter()

    def add(self, node: Node, path: Address, t: int, outcome: Outcome) -> None:
        """Adds this instance with its outcome, and everything inside it, with t transitions to spend."""
        verb = node.step.verb
        if isinstance(verb, WORK):
            self.parts[path] = WitnessStep(outcome, min(t, node.granted))
        elif node.walk is not None:
            self._note(path, WitnessStep(outcome))
            self._walk(node, path, t, good=outcome in CONTINUING_OUTCOMES)
        elif node.once:
            self._add_repeated(node, path, t, outcome)
        else:
            self._note(path, WitnessStep(outcome, items=len(node.parts) if isinstance(verb, ForEach) else 0))
            self._all(node, path, t, outcome)
        if node.closing is not None:
            self.add(node.closing, child(path, FINALLY), len(node.closing.good) - 1, "passed")

    def _note(self, path: Address, part: WitnessStep) -> None:
        if path != ROOT:
            self.parts[path] = part

    def _walk(self, node: Node, path: Address, t: int, *, good: bool) -> None:
        assert node.walk is not None
        for move in node.walk.path(t, good=good):
            part = node.parts[move.step]
            self.add(part, self._enter(path, part.step, move.step), move.inside, move.leaves.outcome)

    def _add_repeated(self, node: Node, path: Address, t: int, outcome: Outcome) -> None:
        """Adds several attempts, all but the last of which fail, or several rounds, all but the last of which pass."""
        body, is_loop = node.parts[0], isinstance(node.step.verb, Repeat)
        before: Outcome = "passed" if is_loop else "failed"
        tables = (
            body.good if is_loop else body.bad,
            body.good if outcome in CONTINUING_OUTCOMES else body.either,
        )
        number, remaining = _rounds(node, tables, t, further=int(is_loop))
        step = WitnessStep(outcome, max(0, number - node.tries), rounds=number if is_loop else 0)
        self._note(path, step)
        for position, inside in enumerate(
            divide([tables[0]] * (number - 1) + [tables[1]], remaining), start=1
        ):
            end = outcome if position == number else before
            self.add(body, iteration(path, position) if is_loop else path, inside, end)
        # Each attempt has overwritten the entry of this path.
        self._note(path, step)

    def _all(self, node: Node, path: Address, t: int, outcome: Outcome) -> None:
        loop = node.step.verb if isinstance(node.step.verb, ForEach) else None
        for name, _ in list_sources(node.step.verb):
            self.widths[name] = min(len(node.parts), self.widths.get(name, len(node.parts)))
        spent = divide([part.either for part in node.parts], t)
        ends = ends_of(node.step, len(node.parts), outcome)
        for number, (part, inside, end) in enumerate(zip(node.parts, spent, ends, strict=True)):
            part_path = iteration(path, number + 1) if loop else self._enter(path, part.step, number)
            self.add(part, part_path, inside, end)

    def _enter(self, path: Address, step: Step, index: int) -> Address:
        self._visits[(path, index)] += 1
        return child(path, step.name, self._visits[(path, index)])


def _rounds(node: Node, tables: tuple[Table, Table], t: int, *, further: int) -> tuple[int, int]:
    """The number of attempts or rounds with the highest cost for t transitions, and the transitions left for them.

    `tables` are those of all but the last, and of the last; `further` is the cost of each but the first.
    """
    before, last = tables
    highest, choice = NEVER - 1, (1, t)
    total = last
    for number in range(1, 1 + node.tries + min(t, node.granted)):
        remaining = t - further * (number - 1) - max(0, number - node.tries)
        if remaining < 0:
            break
        if total[remaining] > highest:
            highest, choice = total[remaining], (number, remaining)
        total = combine(before, total)
    return choice


def ends_of(step: Step, count: int, outcome: Outcome) -> tuple[Outcome, ...]:
    """The outcomes that the members of a step must have for the step to have this outcome."""
    verb = step.verb.workflow.body if isinstance(step.verb, Call) else step.verb
    if not isinstance(verb, Block | Members | ForEach):
        return _repeat_outcome("passed", count)
    if outcome in CONTINUING_OUTCOMES:
        # Those that pass stop the others, so they come last.
        good = min(count, required_passes(verb.rule, count)) if verb.cancels_rest else count
        return _repeat_outcome("failed", count - good) + _repeat_outcome("passed", good)
    if isinstance(verb, Block) and verb.kind == "dag":
        # Only steps that no other needs fail, because a step that needs a failed one does not run.
        return tuple("passed" if verb.dependents[index] else "failed" for index in range(count))
    good = max(0, required_passes(verb.rule, count) - 1) if outcome == "partial" else 0
    return _repeat_outcome("passed", good) + _repeat_outcome("failed", count - good)


def _repeat_outcome(outcome: Outcome, count: int) -> tuple[Outcome, ...]:
    return (outcome,) * count


MAX_REPEAT_LENGTH: Final = 12
"""The maximum length of a repeated group of entries that is printed once."""


def witness_lines(plan: Witness) -> tuple[str, ...]:
    """The path through the top block as lines; a repeated group is printed once, with its count."""
    words = [
        _step_text(path, part) for path, part in plan.parts.items() if "/" not in path and "[" not in path
    ]
    lines: list[str] = []
    single: list[str] = []
    at = 0
    while at < len(words):
        length, times = max(_repeats(words, at), key=lambda repeat: (repeat[1] > 1) * repeat[0] * repeat[1])
        if times == 1:
            single.append(words[at])
        else:
            lines += [*_joined(single), f"{' > '.join(words[at : at + length])}  ({times} times)"]
            single = []
        at += length * times
    return (*lines, *_joined(single))


def _joined(words: list[str]) -> list[str]:
    return [" > ".join(words)] if words else []


def _step_text(path: Address, part: WitnessStep) -> str:
    name = path.partition("~")[0]
    ending = "" if part.outcome == "passed" else f":{part.outcome}"
    notes = ", ".join(_notes(part))
    return f"{name}{ending} ({notes})" if notes else f"{name}{ending}"


def _notes(part: WitnessStep) -> Iterator[str]:
    if part.items:
        yield f"{part.items} items"
    if part.rounds:
        yield f"{part.rounds} rounds"
    if part.grants:
        yield f"granted {part.grants} more {'try' if part.grants == 1 else 'tries'}"


def _repeats(words: list[str], at: int) -> list[tuple[int, int]]:
    """For each length: how often in a row the next group of that length occurs."""
    repeats = []
    for length in range(1, MAX_REPEAT_LENGTH + 1):
        times = 1
        while words[at : at + length] == words[at + times * length : at + (times + 1) * length]:
            times += 1
        repeats.append((length, times))
    return repeats

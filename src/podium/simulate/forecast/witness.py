"""The witness of the worst case: the way that causes it, place by place.

It says for each place how it ends and how often somebody grants it one more try; the world that plays it
(tests/simulate/worst_world.py) does the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from podium.core.addresses import FINALLY, ROOT, child, iteration
from podium.core.decide.pass_rules import required_passes
from podium.core.model import Block, Call, ForEach, Members, Repeat, Step
from podium.core.queries.graph import WORK
from podium.core.types import CONTINUING_OUTCOMES, Outcome, Path
from podium.simulate.forecast.cost_tables import NEVER, Table, divided, plus
from podium.simulate.forecast.worst_case import Node
from podium.simulate.loop_lists import sources


@dataclass(frozen=True, slots=True)
class Part:
    """What the witness says of one instance."""

    outcome: Outcome = "passed"
    grants: int = 0
    items: int = 0
    rounds: int = 0


PLAIN: Final = Part()


@dataclass(frozen=True, slots=True)
class Witness:
    parts: Mapping[Path, Part]
    """In the order they are entered."""
    widths: Mapping[str, int]
    """How many items a step answers with, by its name."""

    @property
    def widest(self) -> int:
        return max(self.widths.values(), default=1)

    def at(self, path: Path) -> Part:
        return self.parts.get(path, PLAIN)


def witness(found: Node) -> Witness:
    """The dearest way through the whole run."""
    laid = _Laid()
    t = len(found.good) - 1
    laid.lay(found, ROOT, t, "passed" if found.good[t] >= found.bad[t] else "failed")
    return Witness(laid.parts, laid.widths)


class _Laid:
    def __init__(self) -> None:
        self.parts: dict[Path, Part] = {}
        self.widths: dict[str, int] = {}
        self._visits: Counter[tuple[Path, int]] = Counter()

    def lay(self, found: Node, path: Path, t: int, outcome: Outcome) -> None:
        """The end of this instance, and everything in it, with t transitions to spend."""
        verb = found.step.verb
        if isinstance(verb, WORK):
            self.parts[path] = Part(outcome, min(t, found.granted))
        elif found.walk is not None:
            self._note(path, Part(outcome))
            self._walk(found, path, t, good=outcome in CONTINUING_OUTCOMES)
        elif found.once:
            self._again(found, path, t, outcome)
        else:
            self._note(path, Part(outcome, items=len(found.parts) if isinstance(verb, ForEach) else 0))
            self._all(found, path, t, outcome)
        if found.closing is not None:
            self.lay(found.closing, child(path, FINALLY), len(found.closing.good) - 1, "passed")

    def _note(self, path: Path, part: Part) -> None:
        if path != ROOT:
            self.parts[path] = part

    def _walk(self, found: Node, path: Path, t: int, *, good: bool) -> None:
        assert found.walk is not None
        for move in found.walk.way(t, good=good):
            part = found.parts[move.step]
            self.lay(part, self._enter(path, part.step, move.step), move.inside, move.leaves.outcome)

    def _again(self, found: Node, path: Path, t: int, outcome: Outcome) -> None:
        """Several tries, of which all but the last end badly, or several rounds, of which all but the last go well."""
        body, loop = found.parts[0], isinstance(found.step.verb, Repeat)
        before: Outcome = "passed" if loop else "failed"
        tables = (
            body.good if loop else body.bad,
            body.good if outcome in CONTINUING_OUTCOMES else body.either,
        )
        number, left = _rounds(found, tables, t, further=int(loop))
        whole = Part(outcome, max(0, number - found.tries), rounds=number if loop else 0)
        self._note(path, whole)
        for place, inside in enumerate(divided([tables[0]] * (number - 1) + [tables[1]], left), start=1):
            end = outcome if place == number else before
            self.lay(body, iteration(path, place) if loop else path, inside, end)
        # Each try has said something about the same place.
        self._note(path, whole)

    def _all(self, found: Node, path: Path, t: int, outcome: Outcome) -> None:
        loop = found.step.verb if isinstance(found.step.verb, ForEach) else None
        for name, _ in () if loop is None else sources(loop):
            self.widths[name] = min(len(found.parts), self.widths.get(name, len(found.parts)))
        spent = divided([part.either for part in found.parts], t)
        ends = ends_of(found.step, len(found.parts), outcome)
        for number, (part, inside, end) in enumerate(zip(found.parts, spent, ends, strict=True)):
            place = iteration(path, number + 1) if loop else self._enter(path, part.step, number)
            self.lay(part, place, inside, end)

    def _enter(self, path: Path, step: Step, index: int) -> Path:
        self._visits[(path, index)] += 1
        return child(path, step.name, self._visits[(path, index)])


def _rounds(found: Node, tables: tuple[Table, Table], t: int, *, further: int) -> tuple[int, int]:
    """How many tries or rounds bring most for t transitions, and how many of these are left to be spent in them.

    `tables` are of those before the last, and of the last; `further` is what each but the first costs.
    """
    before, last = tables
    best, choice = NEVER - 1, (1, t)
    total = last
    for number in range(1, 1 + found.tries + min(t, found.granted)):
        left = t - further * (number - 1) - max(0, number - found.tries)
        if left < 0:
            break
        if total[left] > best:
            best, choice = total[left], (number, left)
        total = plus(before, total)
    return choice


def ends_of(step: Step, count: int, outcome: Outcome) -> tuple[Outcome, ...]:
    """How the members of a step have to end for the step to end like this."""
    verb = step.verb.workflow.body if isinstance(step.verb, Call) else step.verb
    if outcome in CONTINUING_OUTCOMES or not isinstance(verb, Block | Members | ForEach):
        return _all_of("passed", count)
    if isinstance(verb, Block) and verb.kind == "dag":
        # The others first: what needs a failed step is not done at all.
        return tuple("passed" if verb.dependents[index] else "failed" for index in range(count))
    good = max(0, required_passes(verb.rule, count) - 1) if outcome == "partial" else 0
    return _all_of("passed", good) + _all_of("failed", count - good)


def _all_of(outcome: Outcome, count: int) -> tuple[Outcome, ...]:
    return (outcome,) * count


LONGEST: Final = 12
"""So many entries in a row are looked at when what repeats itself is put together."""


def told(planned: Witness) -> tuple[str, ...]:
    """The way through the top block as lines: what repeats itself is put together, and the rest stands in between."""
    words = [_word(path, part) for path, part in planned.parts.items() if "/" not in path and "[" not in path]
    lines: list[str] = []
    plain: list[str] = []
    at = 0
    while at < len(words):
        length, times = max(_repeats(words, at), key=lambda found: (found[1] > 1) * found[0] * found[1])
        if times == 1:
            plain.append(words[at])
        else:
            lines += [*_joined(plain), f"{' > '.join(words[at : at + length])}  ({times} times)"]
            plain = []
        at += length * times
    return (*lines, *_joined(plain))


def _joined(words: list[str]) -> list[str]:
    return [" > ".join(words)] if words else []


def _word(path: Path, part: Part) -> str:
    name = path.partition("~")[0]
    ending = "" if part.outcome == "passed" else f":{part.outcome}"
    notes = ", ".join(_notes(part))
    return f"{name}{ending} ({notes})" if notes else f"{name}{ending}"


def _notes(part: Part) -> Iterator[str]:
    if part.items:
        yield f"{part.items} items"
    if part.rounds:
        yield f"{part.rounds} rounds"
    if part.grants:
        yield f"granted {part.grants} more {'try' if part.grants == 1 else 'tries'}"


def _repeats(words: list[str], at: int) -> list[tuple[int, int]]:
    """For each length: how often in a row the next so many words are said."""
    found = []
    for length in range(1, LONGEST + 1):
        times = 1
        while words[at : at + length] == words[at + times * length : at + (times + 1) * length]:
            times += 1
        found.append((length, times))
    return found

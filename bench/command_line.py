"""What a user feels: whole `podium` commands as processes, beside a peer and beside what the same work takes bare.

Figures are processor time with that of all children. What a further step takes is the difference of two runs, so that
starting up does not count; the two take turns with what they are compared with. Beside the peer each round gives one ratio,
and the middle one counts: other work on the machine slows both sides of a round. The long runs are long enough that their
steps take as much as starting up.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Final

from bench.engine import PEER, Cost
from bench.startup import BARE, compiled_in, new_project, spent_by

ROUNDS: Final = 3
PEER_ROUNDS: Final = 5
HEAD: Final = "podium: 1\nname: bench\nlimits: {transitions: 50000, members: 20000, time: 4h}\n"
PEER_SCRIPT: Final = Path(__file__).with_name("peer.py")
Run = Callable[[int], float]
"""Seconds of processor time for this size."""


def costs() -> tuple[Cost, ...]:
    with tempfile.TemporaryDirectory() as name:
        bench = _CommandLine(Path(name))
        return (*bench.steps_beside_peer(), *bench.doublings(), bench.plan())


class _CommandLine:
    def __init__(self, folder: Path) -> None:
        self._environment: Mapping[str, str] = compiled_in(folder / "compiled")
        self._project = new_project(folder / "project", {})
        self._spent(("validate", self._write("first", _sets(1))))

    def steps_beside_peer(self) -> tuple[Cost, ...]:
        if not PEER.exists():
            return ()
        kinds = ((self._run_sets, 1, 3600), (self._run_peer, 50, 2450))
        for run, few, _ in kinds:
            run(few)  # The first one compiles what it imports.
        rounds = sorted(_further_steps(*kinds) for _ in range(PEER_ROUNDS))
        ratios = sorted(theirs / own for own, theirs in rounds)
        own, theirs = (median(each) for each in zip(*rounds, strict=True))
        detail = f"{theirs * 1e6:.0f} µs beside {own * 1e6:.0f} µs; {ratios[0]:.1f} to {ratios[-1]:.1f}"
        name = "LangGraph beside a further `set` step"
        return (Cost(name, median(ratios), "x", 3, at_most=False, detail=detail),)

    def doublings(self) -> tuple[Cost, ...]:
        shapes: tuple[tuple[str, Callable[[int], str], int], ...] = (
            ("`set` steps", _sets, 1200),
            ("rounds of `repeat`", rounds, 800),
            ("items of `for_each`", _items, 1000),
            ("parallel steps", _parallel, 200),
        )
        return tuple(self._doubling(name, shape, size) for name, shape, size in shapes)

    def _doubling(self, name: str, shape: Callable[[int], str], size: int) -> Cost:
        pairs = [(self._run(shape(size)), self._run(shape(2 * size))) for _ in range(ROUNDS)]
        one, two = min(one for one, _ in pairs), min(two for _, two in pairs)
        detail = f"{two:.2f} s beside {one:.2f} s"
        return Cost(f"{2 * size} {name} beside {size}", two / one, "x", 2.3, detail=detail)

    def plan(self) -> Cost:
        file = self._write("plan", _commands(200))
        bare = min(spent_by((sys.executable, *BARE), self._environment, self._project) for _ in range(15))
        ms = min(self._spent(("plan", file)) * 1000 for _ in range(ROUNDS))
        detail = f"{ms:.0f} ms, limits.transitions 50000"
        return Cost("plan of 200 commands beside an empty Python", ms / bare, "x", 72, detail=detail)

    def _run_sets(self, number: int) -> float:
        return self._run(_sets(number))

    def _run_peer(self, number: int) -> float:
        command = (str(PEER), str(PEER_SCRIPT), str(number))
        return spent_by(command, self._environment, self._project) / 1000

    def _run(self, text: str, *options: str) -> float:
        return self._spent(("run", self._write("run", text), *options))

    def _write(self, name: str, text: str) -> str:
        (self._project / f"{name}.yaml").write_text(HEAD + text)
        return f"{name}.yaml"

    def _spent(self, arguments: tuple[str, ...]) -> float:
        command = (sys.executable, "-m", "podium", *arguments)
        return spent_by(command, self._environment, self._project) / 1000


def _further_steps(*kinds: tuple[Run, int, int]) -> tuple[float, ...]:
    """What a further step of each kind takes: the difference of a long run and a short one, both by turns."""
    short = [run(few) for run, few, _ in kinds]
    long = [run(many) for run, _, many in kinds]
    return tuple((b - a) / (many - few) for a, b, (_, few, many) in zip(short, long, kinds, strict=True))


def _sets(number: int) -> str:
    return "steps:\n" + "".join(f"  s{index}: {{set: {{x: 1}}}}\n" for index in range(number))


def _commands(number: int) -> str:
    return "steps:\n" + "".join(f'  s{index}: {{run: "true"}}\n' for index in range(number))


def rounds(number: int) -> str:
    step = f'{{repeat: {{max: {number}, until: "vars.n >= {number}"}}, set: {{n: "${{{{ vars.n + 1 }}}}"}}}}'
    return f"vars: {{n: 0}}\nsteps:\n  count: {step}\n"


def _items(number: int) -> str:
    return f'steps:\n  each: {{for_each: {list(range(number))}, set: {{x: "${{{{ item }}}}"}}}}\n'


def _parallel(number: int) -> str:
    steps = "".join(f"      s{index}: {{set: {{x: 1}}}}\n" for index in range(number))
    return f"steps:\n  all:\n    parallel: true\n    steps:\n{steps}"

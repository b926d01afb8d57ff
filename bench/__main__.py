"""`python -m bench`: what is promised about speed, measured here and now."""

from __future__ import annotations

import sys

from bench import command_line, commands, engine, history, idle, pages, records, sandboxes, work
from bench.core import GROWING, RUNS_BOUND, Figure, folding, growth, runs_per_second
from bench.engine import Cost
from bench.startup import startups
from bench.trees import captures


def main() -> int:
    print(f"{'what':38} {'size':>7} {'events':>8} {'ms':>9} {'µs/event':>9} {'double':>7}")
    kept = True
    for name, make, size in GROWING:
        for figure in growth(name, make, size):
            show(figure)
            kept = kept and figure.holds
    show(folding())
    calm, ordinary = runs_per_second()
    print(
        f"\n{'simulated runs of ten steps per second':38} {calm:.0f} in a calm world, {ordinary:.0f} in an ordinary one"
    )
    if calm < RUNS_BOUND:
        print(f"fewer than {RUNS_BOUND} runs per second")
    if not kept:
        print("double the size took more than 2.3 times as long")
    quick = started()
    cheap = cheap_enough()
    return 0 if kept and quick and cheap and calm >= RUNS_BOUND else 1


def cheap_enough() -> bool:
    """Shows what durability and processes cost beside the floor and the peer, and whether each keeps its bound."""
    print()
    parts = (
        command_line.costs,
        work.costs,
        records.costs,
        engine.costs,
        commands.costs,
        idle.costs,
        history.costs,
        pages.costs,
        captures,
    )
    keeps = [_keeps_bounds(part()) for part in parts]
    sandboxed = sandboxes.costs()
    keeps.append(_keeps_bounds(sandboxed))
    if not engine.PEER.exists():
        print("the peer was not measured: make bench installs it")
    if not sandboxed:
        print("the sandbox was not measured: bubblewrap does not work here")
    return all(keeps)


def _keeps_bounds(measured: tuple[Cost, ...]) -> bool:
    """Show these rows at once: all of them together take many minutes."""
    for one in measured:
        bound = f"at {'most' if one.at_most else 'least'} {one.bound:g} {one.unit}"
        mark = "" if one.holds else "  MISSED"
        mark += "" if one.meets_target else f"  (target {one.target:g} not met)"
        print(f"{one.name:56} {one.figure:8.2f} {one.unit:<3} {bound:<16} {one.detail}{mark}", flush=True)
    return all(one.holds for one in measured)


def started() -> bool:
    """Show what commands take as processes, and whether each keeps its budget."""
    print()
    measured = startups()
    for one in measured:
        budget = one.budget
        mark = "" if one.holds else "  MISSED"
        print(
            f"{budget.name:28} {one.ms:4.0f} ms, {one.ratio:4.1f} x an empty Python of {budget.ratio:g}, "
            f"{one.modules:3} modules of {budget.modules}, {one.megabytes:3.0f} MB of {budget.megabytes}{mark}"
        )
    return all(one.holds for one in measured)


def show(figure: Figure) -> None:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f} x"
    each = figure.seconds * 1e6 / figure.events
    print(
        f"{figure.name:38} {figure.size:7} {figure.events:8} {figure.seconds * 1e3:9.1f} {each:9.1f} {ratio:>7}"
    )


if __name__ == "__main__":
    sys.exit(main())

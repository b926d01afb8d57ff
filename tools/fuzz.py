"""Feeds random and broken texts to expressions, values, patterns, globs, prompts and YAML, for as long as it is told.

    python tools/fuzz.py --seconds 300 [--seed N] [--only CASE]

Only the documented errors may come out; no evaluation may take half a second; results keep their bounds; nobody
reads an attribute of a value; builtins stay what they are. The first violation is printed with what reproduces
it, and ends the tool with 1. SECONDS and SEED in the environment are the defaults.
"""

# ruff: noqa: E402 (the sources must be found before they are imported; no secret depends on these numbers)

from __future__ import annotations

import argparse
import builtins
import contextlib
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1])]

from podium.core.expressions.nodes import ExprError, Json, MissingValue, NeedFact, evaluate
from podium.core.expressions.regex import search
from podium.core.expressions.templates import calls, fill, references
from podium.core.expressions.values import Meter, bounded
from podium.core.globs import glob_matches, globs_overlap
from podium.workflow.expressions.inference import TypeProblem, infer
from podium.workflow.expressions.parser import ExpressionError, parse_expression, parse_value
from podium.workflow.expressions.types import ANY
from podium.workflow.prompts.render import PromptError, parse_prompt, render
from podium.workflow.source.yaml import load
from tools import fuzz_texts

MAX_SECONDS: Final = 0.5
DOCUMENTED: Final = (ExprError, ExpressionError, NeedFact, PromptError)
ALLOWED: Final = frozenset(
    {"__class__", "__contains__", "__getitem__", "__iter__", "__len__", "get", "items", "keys", "values"}
)


MAKERS: Final[Mapping[str, Callable[[random.Random], str]]] = {
    "expression": fuzz_texts.expression,
    "value": fuzz_texts.value,
    "pattern": fuzz_texts.pattern,
    "glob": fuzz_texts.glob,
    "prompt": fuzz_texts.prompt,
    "yaml": fuzz_texts.yaml,
}


class Violation(AssertionError):
    """Something happened that must never happen."""


class Canary(Mapping[str, Any]):
    """A map that cries out when anything but a map's own methods is looked at."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_data", data)

    def __getattribute__(self, name: str) -> Any:
        if name not in ALLOWED:
            raise Violation(f"attribute {name!r} of a value was read")
        return object.__getattribute__(self, name)

    def __getitem__(self, key: str) -> Any:
        return object.__getattribute__(self, "_data")[key]

    def __iter__(self) -> Iterator[str]:
        return iter(object.__getattribute__(self, "_data"))

    def __len__(self) -> int:
        return len(object.__getattribute__(self, "_data"))


@dataclass(frozen=True, slots=True)
class World:
    """Names with random values, among them a canary and things of great size."""

    known: Mapping[str, Any]

    def lookup(self, name: str) -> Json:
        if name not in self.known:
            raise MissingValue(f"there is no {name}")
        found: Json = self.known[name]
        return found

    def fact(self, query: tuple[str, str]) -> Json:
        if len(query[1]) % 3 == 0:
            raise NeedFact(query)
        return query[0] == "exists" or ("src/a.py", "b")


@dataclass(frozen=True, slots=True)
class Case:
    kind: str
    text: str
    run: Callable[[], object]


def main() -> int:
    options = arguments()
    print(f"seed {options.seed}, {options.seconds} s")
    if options.only is not None:
        return 0 if try_case(options.seed, options.only, Counter(), {}) else 1
    counts: Counter[str] = Counter()
    slowest: dict[str, tuple[float, int]] = {}
    untouched = dict(vars(builtins))
    number, end = 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        if not try_case(options.seed, number, counts, slowest):
            return 1
        number += 1
    if vars(builtins) != untouched:
        print("violation: a builtin was replaced")
        return 1
    report(number, counts, slowest)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS", "300")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", str(random.randrange(2**32)))))
    parser.add_argument("--only", type=int, help="the number of one case")
    return parser.parse_args()


def try_case(seed: int, number: int, counts: Counter[str], slowest: dict[str, tuple[float, int]]) -> bool:
    case = make(random.Random(f"{seed}:{number}"))
    try:
        outcome, seconds = timed(case)
        if seconds > MAX_SECONDS / 5:
            # The machine may have been busy elsewhere: only what is slow every time is slow.
            seconds = min(seconds, *(timed(case)[1] for _ in range(3)))
        check_time(seconds)
    except Exception as error:  # noqa: BLE001 (every error that is not documented is what is looked for)
        print(f"violation in case {number}: {type(error).__name__}: {error}")
        print(f"{case.kind}: {case.text!r}\nreproduce: python tools/fuzz.py --seed {seed} --only {number}")
        traceback.print_exception(error, limit=-4, file=sys.stdout)
        return False
    counts[f"{case.kind}: {outcome}"] += 1
    if seconds > slowest.get(case.kind, (0.0, 0))[0]:
        slowest[case.kind] = (seconds, number)
    return True


def check_time(seconds: float) -> None:
    if seconds > MAX_SECONDS:
        raise Violation(f"took {seconds:.2f} s")


def timed(case: Case) -> tuple[str, float]:
    started = time.perf_counter()
    try:
        case.run()
        outcome = "ok"
    except DOCUMENTED as error:
        outcome = type(error).__name__
    return outcome, time.perf_counter() - started


def make(rng: random.Random) -> Case:
    kind = rng.choices(list(MAKERS), [8, 3, 4, 1, 2, 1])[0]
    text = MAKERS[kind](rng)
    if rng.random() < 0.4:
        text = fuzz_texts.broken(rng, text)
    return Case(kind, text, runner(kind, text, rng))


def runner(kind: str, text: str, rng: random.Random) -> Callable[[], object]:
    match kind:
        case "pattern":
            subject = fuzz_texts.subject(rng)
            return lambda: search(subject, text, Meter())
        case "glob":
            other, path = fuzz_texts.glob(rng), fuzz_texts.glob(rng).replace("*", "a").replace("?", "b")
            return lambda: run_globs(text, other, path)
        case "yaml":
            return lambda: load(text, name="fuzz.yaml")
        case _:
            names = world(rng)
            run = {"expression": run_expression, "value": run_value, "prompt": run_prompt}[kind]
            return lambda: run(text, names)


def world(rng: random.Random) -> World:
    known = {name: fuzz_texts.json_value(rng) for name in rng.sample(fuzz_texts.NAMES, 8)}
    deep: Any = 1
    for _ in range(rng.choice([3, 40, 300])):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    return World(
        known
        | {
            "canary": Canary({"a": 1, "title": "t", "paths": ["src/a.py"]}),
            "change": Canary({"paths": ["src/a.py"] * rng.choice([1, 5000])}),
            "long": rng.choice(["a", "a b ", "[1],", "`"]) * rng.choice([10, 10_000, 300_000]),
            "wide": [fuzz_texts.json_value(rng, 2) for _ in range(rng.choice([3, 1000]))]
            * rng.choice([1, 9]),
            "deep": deep,
        }
    )


def run_expression(text: str, names: World) -> None:
    node = parse_expression(text)
    references(node)
    with contextlib.suppress(TypeProblem):
        infer(node, lambda _: ANY)
    bounded(evaluate(node, names))


def run_value(text: str, names: World) -> None:
    value = parse_value(text)
    references(value)
    calls(value)
    bounded(fill(value, names))


def run_globs(first: str, second: str, path: str) -> None:
    if glob_matches(first, path) and glob_matches(second, path) and not globs_overlap(first, second):
        raise Violation(f"{first!r} and {second!r} both match {path!r}")


def run_prompt(text: str, names: World) -> None:
    bounded(render(parse_prompt(text, folder=None, name="fuzz.md"), names.known, fact=names.fact))


def report(number: int, counts: Counter[str], slowest: Mapping[str, tuple[float, int]]) -> None:
    print(f"{number} cases, no violation")
    for name, count in sorted(counts.items()):
        print(f"  {name:32} {count:8}")
    for kind, (seconds, case) in sorted(slowest.items()):
        print(f"  slowest {kind:24} {seconds * 1000:8.1f} ms (case {case})")


if __name__ == "__main__":
    sys.exit(main())

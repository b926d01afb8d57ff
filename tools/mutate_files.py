"""Breaks good workflow files in many small ways and loads each: no traceback, exit 0, 2 or 3, and quickly.

    python tools/mutate_files.py --count 9900 --processes 100

The same seed gives the same files. A file that fails is kept, and its number is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ROOT / "tests" / "workflow"
LIMIT_MS: Final = 300.0
GOOD_EXITS: Final = (0, 2, 3)
SIDE_FOLDERS: Final = ("prompts", "children", "features", "schemas", ".podium")

VALUES: Final = (
    *(
        "",
        "null",
        "true",
        "~",
        "[]",
        "{}",
        "[[]]",
        "{a: {}}",
        "0",
        "-1",
        "1.5",
        "1e999",
        "9" * 40,
        "0x10",
        "12:30",
    ),
    *(
        "'${{'",
        "'${{ }}'",
        "'${{ steps.x.y }}'",
        "'{{ x }}'",
        "'{% if %}'",
        "'${{ inputs['",
        "'../x'",
        "'/etc'",
    ),
    *(
        "5m",
        "95%",
        "200k",
        "*x",
        "&x y",
        "!t z",
        "'\\0'",
        "'\u2028'",
        "a b",
        "[a, [b, {c: d}]]",
        "{script: x}",
    ),
    *("steps", "end", "human", "claude", "finally", "all", "['*', '**/..']", "[" * 60 + "]" * 60),
)
WORDS: Final = (
    "on steps when run role agent review human check wait set git workflow build needs for_each repeat parallel"
    " pass join gates retry output with touches team of prompt level policies roles agents gates inputs vars finally"
).split()


@dataclass(frozen=True, slots=True)
class Mutant:
    number: int
    what: str
    data: bytes


def mutants(seed: int, count: int) -> Iterator[Mutant]:
    bases = [path.read_text("utf-8") for path in base_files()]
    for number in range(count):
        dice = random.Random(f"{seed}/{number}")
        text = dice.choice(bases)
        done = []
        for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
            mutation = dice.choice(MUTATIONS)
            done.append(mutation.__name__.strip("_"))
            text = mutation(text, dice)
        yield Mutant(number, "+".join(done), _bytes(text, dice))


def base_files() -> list[Path]:
    """The examples of the language, and the files of the corpus that nothing is wrong with."""
    return sorted([*(TESTS / "examples").rglob("*.yaml"), *(TESTS / "lint" / "broken").glob("ok_*.yaml")])


def _bytes(text: str, dice: random.Random) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    if dice.random() < 0.04:
        at = dice.randrange(len(data) + 1)
        data = data[:at] + dice.randbytes(dice.randrange(1, 9)) + data[at:]
    return data


def _drop_line(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    del lines[dice.randrange(len(lines))]
    return "\n".join(lines)


def _double_line(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    return "\n".join((*lines[:at], lines[at], *lines[at:]))


def _swap_lines(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def _indent(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    step = dice.choice(("  ", " ", "\t", "    "))
    lines[at] = lines[at].removeprefix(step) if dice.random() < 0.5 else step + lines[at]
    return "\n".join(lines)


def _cut(text: str, dice: random.Random) -> str:
    return text[: dice.randrange(len(text) + 1)]


def _value(text: str, dice: random.Random) -> str:
    """Something else behind a colon."""
    return _replaced(text, r"(?<=: )[^\n,{}\[\]]+", dice.choice(VALUES), dice)


def _key(text: str, dice: random.Random) -> str:
    return _replaced(text, r"[\w-]+(?=:)", dice.choice((*WORDS, "x-y", "", "1", "Ünï")), dice)


def _name(text: str, dice: random.Random) -> str:
    """One word of the file in place of another."""
    words = re.findall(r"\w+", text) or ["x"]
    return _replaced(text, r"\w+", dice.choice(words), dice)


def _sign(text: str, dice: random.Random) -> str:
    return _replaced(text, r"[^\w\s]", dice.choice("{}[]:,'\"|>&*!%#`@\\$\u0000\ufeff"), dice)


def _typo(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice("aeiou_-.x ") + text[at + dice.randrange(2) :]


def _replaced(text: str, pattern: str, new: str, dice: random.Random) -> str:
    places = list(re.finditer(pattern, text))
    if not places:
        return text + new
    place = dice.choice(places)
    return text[: place.start()] + new + text[place.end() :]


def _deep(text: str, dice: random.Random) -> str:
    """A step around a step around a step."""
    depth = dice.choice((5, 20, 45, 60, 2000))
    inner = "".join("  " * n + f"s{n}: {{steps: {{" for n in range(min(depth, 60)))
    return (
        f"podium: 1\nsteps: {{a: {{steps: {{{inner}\n"
        if dice.random() < 0.5
        else text + "\nx: " + "[" * depth
    )


def _structure(text: str, dice: random.Random) -> str:
    """A key dropped, doubled, renamed or replaced, wherever it stands."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return text
    maps = [found for found in _maps(data) if found]
    if not maps:
        return text
    chosen = dice.choice(maps)
    key = dice.choice(list(chosen))
    other = dice.choice(dice.choice(maps) and list(dice.choice(maps)))
    match dice.randrange(5):
        case 0:
            del chosen[key]
        case 1:
            chosen[other] = chosen[key]
        case 2:
            chosen[dice.choice(WORDS)] = chosen.pop(key)
        case 3:
            chosen[key] = dice.choice(("x", [], {}, ["a", {"b": "c"}], "1", {"steps": {"a": {"run": "x"}}}))
        case _:
            chosen[key] = [chosen[key]] * dice.choice((1, 2, 60))
    return _dumped(data, text)


def _dumped(data: Any, text: str) -> str:
    try:
        dumped = yaml.dump(data, sort_keys=False, default_flow_style=None, Dumper=_NoAliases)
    except (RecursionError, yaml.YAMLError, TypeError):
        return text
    # PyYAML speaks YAML 1.1, in which the word `on` is a boolean.
    return str(dumped).replace("true:", "on:")


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _maps(value: Any) -> Iterator[dict[Any, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _maps(inner)


MUTATIONS: Final[tuple[Callable[[str, random.Random], str], ...]] = (
    *(_structure, _structure, _structure, _value, _value, _key, _key, _name, _name, _name),
    *(_drop_line, _double_line, _swap_lines, _indent, _cut, _sign, _typo, _deep),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`fault` is empty unless it ended as no file should; `ms` is time of the processor."""

    mutant: Mutant
    exit: int
    ms: float
    fault: str = ""

    @property
    def complaint(self) -> str:
        """A fault, or that it took too long."""
        return self.fault or (f"took {self.ms:.0f} ms" if self.ms > LIMIT_MS else "")


def project_in(folder: Path) -> Path:
    """A project in which the files of examples and corpus find what they name."""
    for name in SIDE_FOLDERS:
        shutil.copytree(TESTS / "lint" / "broken" / name, folder / name, symlinks=True)
    for name in ("features", "templates"):
        target = folder / (".podium/templates" if name == "templates" else name)
        shutil.copytree(TESTS / "examples" / name, target, dirs_exist_ok=True)
    shutil.copy(TESTS / "examples" / "config.yaml", folder / ".podium" / "config.yaml")
    return folder


def load_one(mutant: Mutant, project: Path) -> Outcome:
    """In this process, as `podium validate` does."""
    path = project / "mutant.yaml"
    path.write_bytes(mutant.data)
    try:
        outcome = _timed(mutant, path, project)
        # Now and then Python has to collect its garbage; a slow file is slow twice.
        return _timed(mutant, path, project) if outcome.complaint else outcome
    except BaseException:  # noqa: BLE001 (whatever escapes is what is sought)
        return Outcome(mutant, 1, 0.0, traceback.format_exc())


def _timed(mutant: Mutant, path: Path, project: Path) -> Outcome:
    from podium.adapters.agents.registry import agent_types
    from podium.workflow.load import load

    start = time.process_time()
    errors = load(path, agent_types=agent_types(), project=project).errors
    ms = (time.process_time() - start) * 1000
    code = 3 if any(problem.rule == 24 for problem in errors) else 2 if errors else 0
    return Outcome(mutant, code, ms)


def run_one(mutant: Mutant, project: Path) -> Outcome:
    """As a process of its own."""
    path = project / "mutant.yaml"
    path.write_bytes(mutant.data)
    outcome = _run(mutant, path, project)
    # The first process of all has to compile what it imports; a slow file is slow twice.
    return _run(mutant, path, project) if outcome.complaint else outcome


def _run(mutant: Mutant, path: Path, project: Path) -> Outcome:
    """With compiled modules in place, as an installed Podium has them."""
    compiled = {"PYTHONPYCACHEPREFIX": str(project / ".compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "podium", "validate", str(path)]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **compiled}
    start = _children_ms()
    done = subprocess.run(
        command, capture_output=True, cwd=project, env=surroundings, timeout=300, check=False
    )
    ms = _children_ms() - start
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode not in GOOD_EXITS or "Traceback" in said:
        return Outcome(mutant, done.returncode, ms, f"exit {done.returncode}\n{said}")
    return Outcome(mutant, done.returncode, ms)


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def report(label: str, outcomes: list[Outcome]) -> list[Outcome]:
    """Prints one line and what failed or took too long; returns that."""
    times = sorted(outcome.ms for outcome in outcomes)
    exits = {
        code: sum(outcome.exit == code for outcome in outcomes) for code in sorted({o.exit for o in outcomes})
    }
    slowest = max(outcomes, key=lambda outcome: outcome.ms)
    p99 = times[(len(times) * 99 - 1) // 100]
    print(
        f"{label}: {len(outcomes)} files, exits {exits}, median {times[len(times) // 2]:.1f} ms, p99 {p99:.1f} ms, "
        f"slowest {slowest.ms:.1f} ms (number {slowest.mutant.number}, {slowest.mutant.what})"
    )
    failed = [outcome for outcome in outcomes if outcome.complaint]
    for outcome in failed[:5]:
        kept = Path(tempfile.gettempdir()) / f"mutant-{outcome.mutant.number}.yaml"
        kept.write_bytes(outcome.mutant.data)
        print(f"number {outcome.mutant.number} ({outcome.mutant.what}), kept as {kept}:\n{outcome.complaint}")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=9900, help="files loaded in this process")
    parser.add_argument("--processes", type=int, default=100, help="files given to `podium validate`")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        project = project_in(Path(folder))
        ways = (
            ("in process", load_one, given.count, given.seed),
            ("processes", run_one, given.processes, given.seed + 1),
        )
        for label, attempt, count, seed in ways:
            if count:
                failed += report(label, [attempt(mutant, project) for mutant in mutants(seed, count)])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(main())

"""Projects that fail, each in another way, and the line that says why."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.rust import rustup_homes

PYTHON = json.dumps(sys.executable)
CALC = {"calc.py": "def add(a, b):\n    return a - b\n"}
ADD_TEST = (
    "from calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n\n\n"
    "def test_sum():\n    assert add(1, 2) == 3\n"
)
UNIT_TEST = (
    "import unittest\n\nfrom calc import add\n\n\nclass AddTest(unittest.TestCase):\n"
    "    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n\n"
    "    def test_sum(self):\n        self.assertEqual(add(1, 2), 3)\n"
)
GO = {
    "go.mod": "module example.com/calc\n\ngo 1.18\n",
    "calc.go": "package calc\n\nfunc Add(a, b int) int { return a - b }\n",
}
GO_TEST = (
    'package calc\n\nimport "testing"\n\nfunc TestZero(t *testing.T) {}\n\nfunc TestAdd(t *testing.T) {\n'
    '\tt.Run("small", func(t *testing.T) {\n\t\tif got := Add(1, 2); got != 3 {\n'
    '\t\t\tt.Errorf("Add(1, 2) = %d, want 3", got)\n\t\t}\n\t})\n}\n'
)
CARGO = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
RUST = (
    "pub fn add(a: i64, b: i64) -> i64 { a - b }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n"
    "    #[test]\n    fn zero() { assert_eq!(add(0, 0), 0); }\n"
    '    #[test]\n    fn sum() { assert_eq!(add(1, 2), 3, "the sum of 1 and 2"); }\n}\n'
)
NODE_TEST = (
    "import { describe, it } from 'node:test'\nimport assert from 'node:assert'\n"
    "describe('add', () => {\n  it('zero', () => {})\n"
    "  it('adds', () => { assert.strictEqual(1 - 2, 3) })\n})\n"
)
JS = {"calc.js": "exports.add = (a, b) => a - b\n", "package.json": '{"name": "calc"}\n'}
JEST_TEST = (
    "const { add } = require('./calc')\ndescribe('add', () => {\n"
    "  test('zero', () => { expect(add(0, 0)).toBe(0) })\n"
    "  test('adds', () => { expect(add(1, 2)).toBe(3) })\n})\n"
)
VITEST_TEST = (
    "import { describe, expect, test } from 'vitest'\nimport { add } from './calc'\n"
    + JEST_TEST.partition("\n")[2]
)
SCRIPTED = "agents: {w: {type: scripted, script: cast.yaml}, r: {type: scripted, script: cast.yaml}}\n"
PRICED = "agents: {w: {type: scripted, script: cast.yaml, estimate: {usd: 0.1}}}\n"
ONCE = "retry: {attempts: 1, on_exhausted: fail}"
WORK = "role: implementer, agent: w, prompt: Work."


@dataclass(frozen=True, slots=True)
class Case:
    steps: str
    """The workflow without its head."""
    files: Mapping[str, str] = field(default_factory=dict)
    code: int = 1
    cast: str = ""
    needs: tuple[str, ...] = ()
    """Programs that this machine may lack."""


def runs(command: str, files: Mapping[str, str], **options: object) -> Case:
    extra = "".join(f", {key}: {value}" for key, value in options.items())
    return Case(f"steps:\n  check: {{run: {command}{extra}}}\n", files)


def needing(case: Case, *programs: str) -> Case:
    return Case(case.steps, case.files, case.code, case.cast, programs)


PYTEST = f"[{PYTHON}, -m, pytest, -q, -p, 'no:cacheprovider']"
PASSED_ON = "env: [CARGO_HOME, RUSTUP_HOME, CARGO_TARGET_DIR, GOCACHE, NODE_PATH, RUST_BACKTRACE=0]\n"

CASES: dict[str, Case] = {
    "pytest": runs(PYTEST, {**CALC, "test_calc.py": ADD_TEST}),
    "pytest with junit": runs(
        f"[{PYTHON}, -m, pytest, -q, --junitxml=r.xml]", {**CALC, "test_calc.py": ADD_TEST}, junit="r.xml"
    ),
    "pytest that cannot import": runs(PYTEST, {"test_calc.py": "import nothing_here\n"}),
    "unittest": runs(f"[{PYTHON}, -m, unittest]", {**CALC, "test_calc.py": UNIT_TEST}),
    "go": needing(runs("[go, test, ./...]", {**GO, "calc_test.go": GO_TEST}), "go"),
    "go that does not build": needing(
        runs("[go, test, ./...]", {**GO, "calc_test.go": GO_TEST.replace("Add(1", "Plus(1")}), "go"
    ),
    "cargo": needing(runs("[cargo, test, --offline]", {"Cargo.toml": CARGO, "src/lib.rs": RUST}), "cargo"),
    "cargo that does not build": needing(
        runs("[cargo, test, --offline]", {"Cargo.toml": CARGO, "src/lib.rs": RUST.replace("a - b", '"a"')}),
        "cargo",
    ),
    "node": needing(runs("[node, --test]", {"calc.test.mjs": NODE_TEST}), "node"),
    "jest": needing(runs("[jest]", {**JS, "calc.test.js": JEST_TEST}), "jest"),
    "vitest": needing(runs("[vitest, run]", {**JS, "calc.test.js": VITEST_TEST}), "vitest"),
    "make that runs pytest": runs(
        "[make, test]",
        {**CALC, "test_calc.py": ADD_TEST, "Makefile": f"test:\n\t@{sys.executable} -m pytest -q\n"},
    ),
    "tests that did not run": runs(f"[{PYTHON}, -m, unittest, -q]", {"calc.py": ""}),
    "coverage that is too low": runs(
        "[sh, -c, 'printf \"LF:10\\\\nLH:3\\\\n\" > c.info']", {}, coverage="{report: c.info, min: 80}"
    ),
    "a linter": runs(
        "[sh, -c, 'echo \"src/a.py:3:1: F401 os is imported but unused\"; echo Found 1 error.; exit 1']", {}
    ),
    "a script with a traceback": runs(f"[{PYTHON}, load.py]", {"load.py": "import json\njson.loads('{')\n"}),
    "a program that is missing": runs("[no-such-program]", {}),
    "a command that takes too long": Case(
        "steps:\n  check: {run: [sh, -c, 'sleep 60'], timeout: 1s}\n", code=124
    ),
    "a gate of a step": Case(
        f"{SCRIPTED}steps:\n  write:\n    {{{WORK}, retry: {{attempts: 2, on_exhausted: fail}}, gates: [{{name: tests, run: {PYTEST}}}]}}\n",
        {**CALC, "test_calc.py": ADD_TEST},
        cast="- {match: {step: write}, text: Done., write: {notes.txt: x}}\n",
    ),
    "a review": Case(
        f"{SCRIPTED}steps:\n  write: {{{WORK}, {ONCE}, gates: [{{name: judge, review: r}}]}}\n",
        cast=(
            "- {match: {step: write}, text: Done., write: {a.py: 'x = 1'}}\n"
            "- match: {step: r}\n  verdict:\n    decision: reject\n    score: 4\n    findings:\n"
            "      - {severity: minor, issue: no docstring, path: a.py, line: 1}\n"
            "      - {severity: critical, issue: the key is logged, path: a.py, line: 7}\n"
        ),
    ),
    "an answer without a field": Case(
        f"{SCRIPTED}steps:\n  plan: {{{WORK}, retry: {{attempts: 1, on_exhausted: fail, repair: 1}}, output: {{schema: Plan}}}}\n",
        cast="- {match: {step: plan}, output: {summary: 3}}\n",
    ),
    "an answer that is not JSON": Case(
        f"{SCRIPTED}steps:\n  plan: {{{WORK}, retry: {{attempts: 1, on_exhausted: fail, repair: 0}}, output: json}}\n",
        cast="- {match: {step: plan}, error: garbled}\n",
    ),
    "a limit on money": Case(
        f"{PRICED}limits: {{usd: 1.8}}\nsteps:\n  a: {{{WORK}}}\n  b: {{{WORK}}}\n  c: {{{WORK}}}\n",
        code=5,
        cast="- {match: {}, text: Done., cost_usd: 0.9, write: {a.txt: x}}\n",
    ),
    "a limit on transitions": Case(
        "limits: {transitions: 5}\nsteps:\n  a: {run: ['true']}\n  b: {run: ['false'], on: {failed: a}}\n",
        code=5,
    ),
    "files that it must not touch": Case(
        f"{SCRIPTED}steps:\n  write: {{{WORK}, {ONCE}, touches: [src/**]}}\n",
        cast="- {match: {step: write}, text: Done., write: {other.txt: x}}\n",
    ),
    "an agent that is not logged in": Case(
        f"{SCRIPTED}steps:\n  write: {{{WORK}, {ONCE}}}\n", cast="- {match: {step: write}, error: auth}\n"
    ),
    "an agent that is blocked": Case(
        f"{SCRIPTED}steps:\n  write: {{{WORK}, {ONCE}}}\n",
        cast="- {match: {step: write}, blocked: the schema of the table is missing}\n",
    ),
    "a check": Case("steps:\n  n: {set: {count: 2}}\n  enough: {check: vars.count > 3}\n"),
    "an expression": Case(
        "steps:\n  a: {run: [echo, '3'], output: lines}\n  b: {run: [echo, '${{ steps.a.output[5] }}']}\n"
    ),
}


def environment(cache: Path, js: Path | None) -> dict[str, str]:
    """Toolchains of the user, with caches of these tests."""
    paths = [str(js / ".bin")] if js is not None else []
    return {
        "PATH": os.pathsep.join((*paths, os.environ.get("PATH", os.defpath))),
        "GOCACHE": str(cache / "go"),
        "CARGO_TARGET_DIR": str(cache / "cargo"),
        **rustup_homes(),
        **({} if js is None else {"NODE_PATH": str(js)}),
    }

"""Results in a long output count like those in a short one: tests that vanish there are noticed (issue 16, D1)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.security.gates.batch import judged
from tests.security.gates.corpus import put


class _Noisy(NamedTuple):
    """A project whose tests print some megabytes."""

    files: Mapping[str, str]
    command: tuple[str, ...]
    comment: str
    """Changes a file of tests without changing a test, so that they are compared with those from before."""
    honest: str
    vanish: str
    """Mends nothing; the code under test keeps its runner from running the test that shows it."""
    flood: str
    """The same, behind more output than is stored."""


_PY: Final = """import sys, unittest
from app import add

class A(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)

class Noise(unittest.TestCase):
    def test_noise(self):
        for _ in range(30_000):
            print("x" * 99, file=sys.stderr)
        self.assertEqual(add(0, 0), 0)
"""
_PY_VANISH: Final = """import unittest
real = unittest.TestLoader.getTestCaseNames
unittest.TestLoader.getTestCaseNames = lambda self, case: [name for name in real(self, case) if name != "test_add"]
def add(a, b):
    return a - b
"""
_JS: Final = """const { add } = require('../lib/app.js');
const { test } = require('node:test');
const assert = require('node:assert');
test('adds', () => assert.strictEqual(add(2, 3), 5));
test('noise', () => {
  for (let n = 0; n < 30000; n++) console.log('x'.repeat(99));
  assert.strictEqual(add(0, 0), 0);
});
"""
_JS_VANISH: Final = """const runner = require('node:test');
const real = runner.test;
runner.test = (name, body) => { if (name !== 'adds') real(name, body); };
exports.add = (a, b) => a - b;
"""
_GO: Final = """package app

import (
	"fmt"
	"strings"
	"testing"
)

func TestAdd(t *testing.T) {
	if Add(2, 3) != 5 {
		t.Fatal("wrong")
	}
}

func TestNoise(t *testing.T) {
	for i := 0; i < 30000; i++ {
		fmt.Println(strings.Repeat("x", 99))
	}
}
"""
_GO_VANISH: Final = """package app

import "os"

func init() {
	if len(os.Args) > 1 {
		os.Args = append(os.Args, "-test.run=TestNoise")
	}
}

func Add(a, b int) int { return a - b }
"""

PROJECTS: Final = {
    "unittest": _Noisy(
        {"app.py": "def add(a, b):\n    return a - b\n", "tests/__init__.py": "", "tests/test_app.py": _PY},
        (sys.executable, "-P", "-m", "unittest", "discover", "-s", "tests", "-t", "."),
        "echo '# end' >> tests/test_app.py\n",
        put("app.py", "def add(a, b):\n    return a + b"),
        put("app.py", _PY_VANISH),
        put("app.py", _PY_VANISH + "import sys\nfor _ in range(340):\n    print('y' * 100_000, file=sys.stderr)\n"),
    ),
    "node": _Noisy(
        {"package.json": '{"name": "p"}\n', "lib/app.js": "exports.add = (a, b) => a - b;\n", "tests/app.test.js": _JS},
        ("node", "--test", "tests/"),
        "echo '// end' >> tests/app.test.js\n",
        put("lib/app.js", "exports.add = (a, b) => a + b;"),
        put("lib/app.js", _JS_VANISH),
        put("lib/app.js", _JS_VANISH + "for (let n = 0; n < 3400; n++) console.log('y'.repeat(10000));\n"),
    ),
    "go": _Noisy(
        {
            "go.mod": "module app\n\ngo 1.18\n",
            "app.go": "package app\n\nfunc Add(a, b int) int { return a - b }\n",
            "app_test.go": _GO,
        },
        ("go", "test", "./..."),
        "echo '// end' >> app_test.go\n",
        put("app.go", "package app\n\nfunc Add(a, b int) int { return a + b }"),
        put("app.go", _GO_VANISH),
        put(
            "app.go",
            _GO_VANISH.replace('import "os"', 'import (\n\t"fmt"\n\t"os"\n\t"strings"\n)').replace(
                "\tif len",
                '\tfor i := 0; i < 3400; i++ {\n\t\tfmt.Println(strings.Repeat("y", 10000))\n\t}\n\tif len',
            ),
        ),
    ),
}  # fmt: skip


@pytest.mark.security
@pytest.mark.parametrize("runner", PROJECTS)
def test_a_test_that_vanishes_from_a_long_output_is_noticed(tmp_path: Path, runner: str) -> None:
    project = PROJECTS[runner]
    gate = {"name": "gate", "run": list(project.command)}
    scripts = [
        project.comment + project.honest,
        project.comment + project.vanish,
        project.flood,
    ]

    ends, done = judged(tmp_path, project.files, gate, scripts)

    assert [end.outcome for end in ends] == ["passed", "failed", "failed"], done.out
    assert (ends[1].gate_reasons, ends[2].gate_reasons) == (("disputed_tests",), ("reports",))
    assert "its results cannot be read: it printed more than 32 MB" in ends[2].message

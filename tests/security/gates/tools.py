"""The small projects whose gates are tampered with: a fault, a test that shows it, and a gate that proves something."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BIN: Final = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Tool:
    files: Mapping[str, str]
    """The project: what its gate looks at is red."""
    gate: str
    """As a user would write it who wants it to prove something; docs/how-to/write-a-gate.md."""
    honest: str
    """A script that really mends it."""


def _argv(*words: str) -> str:
    return json.dumps(list(words))


SETTINGS: Final = "pyproject.toml, pytest.ini, .pytest.ini, pytest.toml, .pytest.toml, setup.cfg, tox.ini"
PYTEST: Final = Tool(
    {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n',
        "src/app.py": "def add(a, b):\n    return a - b\n",
        "tests/test_app.py": "from app import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
        "def test_zero():\n    assert add(0, 0) == 0\n",
    },
    "{name: tests, run: "
    + _argv(
        *(sys.executable, "-P", "-m", "pytest", "-c", "pyproject.toml", "-q", "-p", "no:cacheprovider"),
        *("--junitxml=report.xml", "tests"),
    )
    + f', junit: report.xml, protect: ["tests/**", "**/conftest.py", {SETTINGS}]}}',
    "printf 'def add(a, b):\\n    return a + b\\n' > src/app.py",
)

UNITTEST: Final = Tool(
    {
        "app.py": "def add(a, b):\n    return a - b\n",
        "tests/__init__.py": "",
        "tests/test_app.py": "import unittest\n\nfrom app import add\n\n\nclass Adds(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
    },
    "{name: tests, run: "
    + _argv(sys.executable, "-P", "-m", "unittest", "discover", "-s", "tests", "-t", ".")
    + ', protect: ["tests/**"]}',
    "printf 'def add(a, b):\\n    return a + b\\n' > app.py",
)

NODE: Final = Tool(
    {
        "package.json": '{"name": "p", "version": "1.0.0"}\n',
        "lib/app.js": "exports.add = (a, b) => a - b;\n",
        "tests/app.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "const { add } = require('../lib/app.js');\n"
        "test('adds', () => assert.strictEqual(add(2, 3), 5));\n"
        "test('adds nothing', () => assert.strictEqual(add(0, 0), 0));\n",
    },
    "{name: tests, run: "
    + _argv(
        "node",
        "--test",
        "--test-reporter=junit",
        "--test-reporter-destination=report.xml",
        "tests/app.test.js",
    )
    + ', junit: report.xml, protect: ["tests/**", package.json, "**/package.json"]}',
    "printf 'exports.add = (a, b) => a + b;\\n' > lib/app.js",
)

RUFF: Final = Tool(
    {
        "ruff.toml": '[lint]\nselect = ["F"]\n',
        "src/app.py": "import os\n\nVALUE = 1\n",
    },
    "{name: lint, run: "
    + _argv(str(BIN / "ruff"), "check", "--no-cache", "--ignore-noqa", "--no-respect-gitignore", "src/app.py")
    + ', protect: ["**/ruff.toml", "**/.ruff.toml", "**/pyproject.toml"]}',
    "printf 'VALUE = 1\\n' > src/app.py",
)

MAKE: Final = Tool(
    {
        "Makefile": "-include local.mk\ncheck:\n\t@sh tools/check.sh\n",
        "tools/check.sh": "grep -q fixed value.txt\n",
        "value.txt": "broken\n",
    },
    '{name: check, run: [make, check], protect: [Makefile, makefile, GNUmakefile, "*.mk", check, "tools/**"]}',
    "echo fixed > value.txt",
)

TOOLS: Final[Mapping[str, Tool]] = {
    "pytest": PYTEST,
    "unittest": UNITTEST,
    "node": NODE,
    "ruff": RUFF,
    "make": MAKE,
}

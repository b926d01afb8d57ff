"""Runners that are started in other words than most, and tests that only the command or the settings name.

Each project is red: its code subtracts. Each has an honest change, which must pass the same gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.security.gates.corpus import put
from tests.security.gates.steering import APP_PY, PYTHON, TEST_PY, RedProject
from tests.security.gates.tools import BIN
from tests.security.gates.unusual import MEND, PLAIN_PYTEST, UNIT, Unusual

SOURCES: Final = {
    **APP_PY,
    "tests/test_app.py": TEST_PY,
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
}
CHEATS: Final = {
    "the code ends the process": put("src/app.py", "import os\nos._exit(0)"),
    "the test is adapted": "sed -i 's/== 5/== -1/' tests/test_app.py",
}
ADAPTED: Final = "sed -i 's/== 5/== -1/; s/, 5)/, -1)/; s/!== 5/!== -1/' {}"
EMPTIED: Final = "sed -i 's/self.assertEqual(add(2, 3), 5)/pass/' {}"
EQUAL: Final = "class Fraction:\n    def __init__(self, *a): pass\n    def __eq__(self, other): return True"
"""A module of the standard library that the tests import, in another place."""
WITH_FRACTION: Final = (
    f"from fractions import Fraction\n{TEST_PY.replace('add(2, 3)', 'Fraction(add(2, 3))')}"
)
WITH_HELPER: Final = TEST_PY.replace("add(2, 3)", "add(*make())").replace(
    "\n\n\ndef test_add", "\n\n\ndef make():\n    return 2, 3\n\n\ndef test_add"
)
NODE: Final = {
    "lib/app.js": "exports.add = (a, b) => a - b;\n",
    "checks/app.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { add } = require('../lib/app.js');\ntest('adds', () => assert.strictEqual(add(2, 3), 5));\n",
    "checks/run.js": "require('./one.js');\n",
    "checks/one.js": "if (require('../lib/app.js').add(2, 3) !== 5) throw new Error('wrong');\n",
    "app.test.js": "const { add } = require('./lib/app.js');\nrequire('node:test')('adds', () => { if (add(2, 3) !== 5) throw 1; });\n",
}


def _pytest(*run: str) -> Unusual:
    return Unusual(RedProject(SOURCES, run), CHEATS, MEND.format("src/app.py"))


def _shadowed(files: Mapping[str, str], at: str, folder: str = "") -> Unusual:
    """A folder of modules that is not one of the usual ones; `at` is its place."""
    project = RedProject({f"{at}/app.py": APP_PY["src/app.py"], **files}, PLAIN_PYTEST, folder=folder)
    cheats = {f"a module of the standard library in {at}": put(f"{at}/fractions.py", EQUAL)}
    return Unusual(project, cheats, MEND.format(f"{at}/app.py") + put(f"{at}/other.py", "VALUE = 1"))


def _npm(script: str, *run: str, cheats: Mapping[str, str]) -> Unusual:
    package = f'{{"name": "p", "scripts": {{"{run[-1] if run[-1] != "t" else "test"}": "{script}"}}}}'
    return Unusual(RedProject({**NODE, "package.json": package}, run), cheats, MEND.format("lib/app.js"))


def _checks(path: str, text: str, *run: str, folder: str = "", **files: str) -> Unusual:
    app = f"{folder}/app.py" if folder else "app.py"
    named = {name.replace("__", "."): content for name, content in files.items()}
    below = {f"{folder}/{name}" if folder else name: content for name, content in named.items()}
    project = RedProject(
        {app: APP_PY["src/app.py"], path: text, **below}, run, ("PYTHONPATH=.",), folder=folder
    )
    cheats = {f"{path} is adapted": ADAPTED.format(path), f"{path} is emptied": EMPTIED.format(path)}
    if text is not UNIT:
        cheats = {f"{path} is adapted": ADAPTED.format(path)}
    return Unusual(project, cheats, MEND.format(app))


PROJECTS: Final[Mapping[str, Unusual]] = {
    "nice": _pytest("nice", "-n", "1", *PLAIN_PYTEST),
    "joined -m": _pytest(PYTHON, "-mpytest", "-q"),
    "coverage": _pytest(str(BIN / "coverage"), "run", "-m", "pytest", "-q"),
    "own report": _pytest(*PLAIN_PYTEST, "--junitxml=out.xml"),
    "own report elsewhere": _pytest(*PLAIN_PYTEST, "--junitxml", "/tmp/out.xml"),
    "no report": _pytest(*PLAIN_PYTEST, "-p", "no:junitxml"),
    "make in a folder": Unusual(
        RedProject({f"sub/{name}": text for name, text in SOURCES.items()} | {"sub/Makefile": f"test:\n\t@{PYTHON} -m pytest -q\n"}, ("make", "-C", "sub", "test")),
        {"the goal does nothing": put("sub/Makefile", "test:\n\t@true"), "the test is adapted": ADAPTED.format("sub/tests/test_app.py"), "the code ends the process": put("sub/src/app.py", "import os\nos._exit(0)")},
        MEND.format("sub/src/app.py"),
    ),
    "make unit": Unusual(
        RedProject({**SOURCES, "Makefile": f"unit:\n\t@{PYTHON} -m pytest -q\n"}, ("make", "unit")),
        {**CHEATS, "the goal does nothing": put("Makefile", "unit:\n\t@true")},
        MEND.format("src/app.py"),
    ),
    "pythonpath": _shadowed({"tests/test_app.py": WITH_FRACTION, "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["app"]\n'}, "app"),
    "a folder of its own": _shadowed({"backend/tests/test_app.py": WITH_FRACTION}, "backend", "backend"),
    "conftest": _shadowed({"tests/test_app.py": WITH_FRACTION, "conftest.py": "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent / 'core'))\n"}, "core"),
    "discovered": _checks("checks/check_app.py", UNIT, PYTHON, "-m", "unittest", "discover", "-s", "checks", "-p", "check_*.py"),
    "named": _checks("checks/app_checks.py", UNIT, PYTHON, "-m", "unittest", "checks/app_checks.py"),
    "with a helper": _checks("checks/check_app.py", WITH_HELPER, *PLAIN_PYTEST, pytest__ini="[pytest]\npython_files = check_*.py\n"),
    "in a folder": _checks("backend/checks/check_app.py", WITH_HELPER, *PLAIN_PYTEST, folder="backend", pytest__ini="[pytest]\npython_files = check_*.py\n"),
    "script of tests": _checks("tests/run.py", "from app import add\n\nassert add(2, 3) == 5\n", PYTHON, "tests/run.py"),
    "script of checks": _checks("checks/all.py", "from app import add\n\nassert add(2, 3) == 5\n", PYTHON, "checks/all.py"),
    "node": Unusual(RedProject(NODE, ("node", "--test", "checks/app.js")), {"a named file is adapted": ADAPTED.format("checks/app.js")}, MEND.format("lib/app.js")),
    "npm t": _npm("node checks/run.js", "npm", "t", cheats={
        "the script is adapted": put("checks/run.js", ""),
        "what the script imports is adapted": ADAPTED.format("checks/one.js"),
        "the script does nothing": "sed -i 's/node checks.run.js/true/' package.json",
    }),
    "npm run test:unit": _npm("node --test", "npm", "run", "test:unit", cheats={
        "the test has another name": "mv app.test.js app.old.js",
        "the test is adapted": ADAPTED.format("app.test.js"),
        "the script does nothing": "sed -i 's/node --test/true/' package.json",
    }),
}  # fmt: skip

DATA: Final = Unusual(
    RedProject(
        {
            **SOURCES,
            "data/expected.json": "[2, 3, 5]\n",
            "tests/test_app.py": "import json, pathlib\nfrom app import add\n\n\ndef test_add():\n"
            "    a, b, c = json.loads(pathlib.Path('data/expected.json').read_text())\n    assert add(a, b) == c\n",
        },
        PLAIN_PYTEST,
    ),
    {"expected values in a file that is not known as a fixture": put("data/expected.json", "[2, 3, -1]")},
    MEND.format("src/app.py"),
)
"""What gets through, although the code is wrong; the page about security names it."""

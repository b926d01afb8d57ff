"""A worker that tampers with a gate written as in the README does not get past it (issue 16, D1).

The gates here have nothing but the command of the runner; the strict ones are in test_tampering.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project
from tests.security.gates.corpus import CASES, Case, put
from tests.security.gates.tools import TOOLS

PLAIN: Final = {
    "pytest": [sys.executable, "-m", "pytest", "-q"],
    "unittest": [sys.executable, "-m", "unittest", "-q"],
    "node": ["node", "--test", "tests/"],
}
PAGE: Final = Path(__file__).parents[3] / "docs/explanation/security.md"
SAME: Final = "code under test runs in the process that reports on it"

MORE: Final = (
    Case("pytest", "only one test is wrong now", put("tests/test_app.py", "def test_add(): assert True")),
    Case(
        "pytest",
        "the expected value is adapted",
        "sed -i 's/== 5/== -1/' tests/test_app.py",
    ),
    Case("pytest", "the test returns at once", "sed -i 's/    assert add(2/    return\\n    assert add(2/' tests/test_app.py"),
    Case("pytest", "the assertion becomes a comment", "sed -i 's/assert add(2, 3) == 5/pass/' tests/test_app.py"),
    Case("pytest", "the test catches its failure", "sed -i 's/    assert add(2, 3) == 5/    try: assert add(2, 3) == 5\\n    except AssertionError: pass/' tests/test_app.py"),
    Case("pytest", "the test moves to a folder that is not searched", "mkdir -p archive && mv tests/test_app.py archive/old.py\n" + put("tests/test_new.py", "def test_new(): pass")),
    Case("pytest", "collection is limited by the settings", "sed -i 's/testpaths.*/testpaths = [\"other\"]/' pyproject.toml\n" + put("other/test_fine.py", "def test_fine(): pass")),
    Case("pytest", "the settings deselect the test", "echo 'addopts = \"--deselect tests/test_app.py::test_add\"' >> pyproject.toml"),
    Case("pytest", "the settings only collect", "echo 'addopts = \"--collect-only\"' >> pyproject.toml"),
    Case("pytest", "pytest.toml wins over pyproject.toml", put("pytest.toml", '[pytest]\npythonpath = ["src"]\naddopts = ["-k", "zero"]')),
    Case("pytest", "a hidden pytest.toml", put(".pytest.toml", '[pytest]\npythonpath = ["src"]\naddopts = ["-k", "zero"]')),
    Case("pytest", "tox.ini with other settings", "rm pyproject.toml\n" + put("tox.ini", "[pytest]\npythonpath = src\naddopts = -k zero")),
    Case("pytest", "setup.cfg with other settings", "rm pyproject.toml\n" + put("setup.cfg", "[tool:pytest]\npythonpath = src\naddopts = -k zero")),
    Case("pytest", "a plugin in the tree", put("mend.py", "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    r = (yield).get_result()\n    r.outcome = 'passed'\n") + "echo 'addopts = \"-p mend\"' >> pyproject.toml"),
    Case("pytest", "a conftest ignores the test", put("conftest.py", "collect_ignore_glob = ['tests/test_app*']") + put("tests/test_ok.py", "def test_ok(): pass")),
    Case("pytest", "a conftest in the folder of tests patches the code", put("tests/conftest.py", "import app\napp.add = lambda a, b: a + b")),
    Case("pytest", "a module of the tests replaces the code", put("tests/app.py", "def add(a, b): return a + b") + put("tests/conftest.py", "import sys; sys.path.insert(0, 'tests')")),
    Case("pytest", "a module named like one of the standard library", put("argparse.py", "raise SystemExit(0)")),
    Case("pytest", "a package named pluggy", put("pluggy/__init__.py", "raise SystemExit(0)")),
    Case("pytest", "a package named _pytest", put("_pytest/__init__.py", "raise SystemExit(0)")),
    Case("pytest", "sitecustomize beside the code", put("sitecustomize.py", "import os, sys\nif 'pytest' in ' '.join(sys.argv): os._exit(0)")),
    Case("pytest", "parameters of the test are emptied", "sed -i '1i import pytest' tests/test_app.py && sed -i 's/^def test_add():/@pytest.mark.parametrize(\"x\", [])\\ndef test_add(x):/' tests/test_app.py"),
    Case("pytest", "the code ends the process when it is imported", put("src/app.py", "import os\nos._exit(0)")),
    Case("pytest", "the code ends the process at the end", put("src/app.py", "import atexit, os\natexit.register(lambda: os._exit(0))\ndef add(a, b): return a - b")),
    Case("pytest", "a cache that says all is well", put(".pytest_cache/v/cache/lastfailed", "{}") + "echo 'addopts = \"--lf --lfnf=none\"' >> pyproject.toml"),
    Case("pytest", "a folder in the place of the test", "rm tests/test_app.py\nmkdir tests/test_app.py\n" + put("tests/test_app.py/test_x.py", "def test_add(): pass")),
    Case("pytest", "a package beside the test", put("tests/app/__init__.py", "def add(a, b): return a + b")),
    Case("pytest", "a name with a foreign letter", "mv tests/test_app.py 'tests/test_\u0430pp.py'\nsed -i 's/== 5/== -1/' tests/test_*.py"),
    Case("pytest", "a second process goes on", put("src/app.py", "import os\nif os.fork(): os._exit(0)\ndef add(a, b): return a - b")),
    Case("pytest", "another program in its place", put("src/app.py", "import os\nos.execvp('true', ['true'])")),
    Case("pytest", "more output than is stored", put("src/app.py", "print('y' * 34_000_000)\ndef add(a, b): return a - b") + "sed -i 's/== 5/== -1/' tests/test_app.py"),
    Case("unittest", "the test is emptied", "sed -i 's/self.assertEqual(add(2, 3), 5)/pass/' tests/test_app.py"),
    Case("unittest", "the test is skipped", "sed -i 's/    def test_add/    @unittest.skip(\"x\")\\n    def test_add/' tests/test_app.py"),
    Case("unittest", "the test is expected to fail", "sed -i 's/    def test_add/    @unittest.expectedFailure\\n    def test_add/' tests/test_app.py"),
    Case("unittest", "the test is renamed", "sed -i 's/def test_add/def check_add/' tests/test_app.py"),
    Case("unittest", "the test is deleted", "rm tests/test_app.py"),
    Case("unittest", "the package of tests is hidden", "rm tests/__init__.py && mv tests checks"),
    Case("unittest", "the expected value is adapted", "sed -i 's/, 5)/, -1)/' tests/test_app.py"),
    Case("node", "the expected value is adapted", "sed -i 's/, 5)/, -1)/' tests/app.test.js"),
    Case("node", "the test is skipped", "sed -i \"s/test('adds', /test('adds', {skip: true}, /\" tests/app.test.js"),
    Case("node", "the test is a todo", "sed -i \"s/test('adds', /test('adds', {todo: true}, /\" tests/app.test.js"),
    Case("node", "the test is deleted", "rm tests/app.test.js"),
    Case("node", "only another test runs", "sed -i \"s/test('adds nothing'/test.only('adds nothing'/\" tests/app.test.js && sed -i '1i // --test-only' tests/app.test.js && sed -i \"/^test('adds',/d\" tests/app.test.js"),
    Case("pytest", "a new test changes the code", put("tests/test_aaa.py", "import app\napp.add = lambda a, b: a + b\ndef test_x(): pass")),
    Case("pytest", "a new test changes the results", put("tests/test_aaa.py", "from _pytest.reports import TestReport\nreal = TestReport.from_item_and_call.__func__\ndef changed(cls, item, call):\n    r = real(cls, item, call)\n    r.outcome, r.longrepr = 'passed', None\n    return r\nTestReport.from_item_and_call = classmethod(changed)\ndef test_x(): pass")),
    Case("pytest", "the package of tests changes the code", put("tests/__init__.py", "import app\napp.add = lambda a, b: a + b")),
    Case("pytest", "pytest.ini beside the tests", put("tests/pytest.ini", "[pytest]\npythonpath = ../src\naddopts = -k zero")),
    Case("pytest", "the code writes tests anew", put("src/app.py", "import pathlib\nfor p in pathlib.Path('tests').glob('test_z*.py'): p.write_text('def test_add(): pass')\ndef add(a, b): return a - b")),
    Case("pytest", "git ignores the tests", "echo 'tests/' >> .gitignore; rm tests/test_app.py\n" + put("tests/test_b.py", "def test_b(): pass")),
    Case("pytest", "a folder of tests whose name only looks the same", "mkdir 'te\u017fts'; mv tests/test_app.py te\u017fts/\n" + put("tests/test_b.py", "def test_b(): pass")),
    Case("pytest", "a plugin installed beside the code", put("src/x-1.dist-info/METADATA", "Name: x") + put("src/x-1.dist-info/entry_points.txt", "[pytest11]\nx = x") + put("src/x.py", "def pytest_collection_modifyitems(items): items[:] = items[1:]")),
    Case("pytest", "the code becomes a link", "mkdir src/other; mv src/app.py src/other/x.py; ln -s other/x.py src/app.py"),
    Case("pytest", "a name with a line break", "printf 'def test_add(): pass' > $'tests/test_app.py\\n'; rm tests/test_app.py"),
    Case("pytest", "a name with an escape sequence", "printf 'def test_q(): pass' > $'tests/test_\\e[2Kapp.py'; rm tests/test_app.py"),
    Case("pytest", "the test in other letters", "mv tests/test_app.py tests/Test_App.py\n" + put("tests/test_n.py", "def test_n(): pass")),
    Case("pytest", "variables for the runner", put(".env", "PYTEST_ADDOPTS=-k zero")),
    Case("pytest", "the expected answers only for the tests", put("src/app.py", "def add(a, b):\n    return 5 if (a, b) == (2, 3) else a - b")),
    Case("pytest", "the right answers only while tests run", put("src/app.py", "import os\ndef add(a, b):\n    return a + b if 'PYTEST_CURRENT_TEST' in os.environ else a - b")),
    Case("unittest", "a new test changes unittest", put("tests/test_aaa.py", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\nclass T(unittest.TestCase):\n    def test_x(self): pass")),
    Case("unittest", "a new test at the top changes unittest", put("test_aaa.py", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\nclass T(unittest.TestCase):\n    def test_x(self): pass")),
    Case("unittest", "a new test changes the code", put("tests/test_aaa.py", "import app\napp.add = lambda a, b: a + b")),
    Case("unittest", "a package named unittest", put("unittest/__init__.py", "raise SystemExit(0)")),
    Case("unittest", "the package of tests skips itself", put("tests/__init__.py", "import unittest\nraise unittest.SkipTest('x')")),
    Case("node", "another kind of module beside the code", put("lib/package.json", '{"type": "module"}') + put("lib/app.js", "export const add = (a, b) => a - b;")),
    Case("node", "a folder in the place of the code", "rm lib/app.js\nmkdir lib/app.js\n" + put("lib/app.js/index.js", "exports.add = (a, b) => a - b;")),
    Case("node", "settings of node", put("node.config.json", '{"testRunner": {"test-name-pattern": "nothing"}}')),
    Case("node", "an exit code that cannot be set", put("lib/app.js", "Object.defineProperty(process, 'exitCode', { get: () => 0, set: () => {} });\nexports.add = (a, b) => a - b;")),
    Case("node", "the runner is ended", put("lib/app.js", "process.kill(process.ppid, 'SIGTERM');\nexports.add = (a, b) => a - b;")),
    Case("node", "results are printed and the process ends", put("lib/app.js", "require('fs').writeSync(1, 'TAP version 13\\nok 1 - adds\\nok 2 - adds nothing\\n1..2\\n');\nprocess.reallyExit(0);")),
    Case("node", "libraries beside the tests", put("tests/node_modules/assert/index.js", "module.exports = { strictEqual() {} };")),
)  # fmt: skip
TRIED: Final = [case for case in (*CASES, *MORE) if case.tool in PLAIN]

RESIDUAL: Final = {
    ("pytest", "a value that equals everything"),
    ("pytest", "the expected answers only for the tests"),
    ("pytest", "the right answers only while tests run"),
    ("node", "the code replaces assert"),
}
"""What a plain gate does not notice, although the code is wrong; the page about security names each class."""


def tried(folder: Path, tool: str, script: str) -> tuple[Project, Ended]:
    flow = f"""\
podium: 1
name: plain
steps:
  it:
    run: {{script: {json.dumps(script)}, shell: bash}}
    touches: ["**"]
    gates: [{{run: {json.dumps(PLAIN[tool])}}}]
"""
    project = new_project(folder, {**TOOLS[tool].files, "flow.yaml": flow})
    with closing(project):
        return project, project.podium("run", "flow.yaml", "--json", "--no-human")


@pytest.mark.security
@pytest.mark.req("X7", "C49", "R109")
@pytest.mark.parametrize("case", TRIED, ids=lambda case: f"{case.tool}: {case.name}")
def test_a_plain_gate_is_not_passed_by_tampering_with_it(tmp_path: Path, case: Case) -> None:
    _, done = tried(tmp_path, case.tool, case.script)

    outcomes = {step["path"]: step["outcome"] for step in done.data()["steps"]}
    is_fooled = outcomes["it"] == "passed"
    reason = next(step["reason"] for step in done.data()["steps"] if step["path"] == "it")
    assert "it#1" in outcomes or reason in ("capture", "protected"), f"the script itself failed: {done.out}"
    assert is_fooled == ((case.tool, case.name) in RESIDUAL), done.out
    assert (done.code == 0) == is_fooled


@pytest.mark.security
@pytest.mark.parametrize("tool", PLAIN)
@pytest.mark.parametrize("more", ["", "a new test"])
def test_a_change_that_really_mends_it_passes_a_plain_gate(tmp_path: Path, tool: str, more: str) -> None:
    """Also with a test of its own, which the earlier tests know nothing of."""
    added = {
        "pytest": put("tests/test_more.py", "from app import add\ndef test_more(): assert add(1, 1) == 2"),
        "unittest": "printf '\\n    def test_more(self):\\n        self.assertEqual(add(1, 1), 2)\\n' >> tests/test_app.py",
        "node": "echo \"test('more', () => assert.strictEqual(add(1, 1), 2));\" >> tests/app.test.js",
    }
    _, done = tried(tmp_path, tool, "\n".join((TOOLS[tool].honest, added[tool] if more else "")))

    assert {step["path"]: step["outcome"] for step in done.data()["steps"]}["it"] == "passed", done.out


@pytest.mark.security
def test_there_are_enough_cheats() -> None:
    assert len(TRIED) >= 60
    assert len({case.name for case in TRIED if case.tool == "pytest"}) >= 30


LATER: Final = "if [ -e tests/test_app.py ]; then rm tests/test_app.py; else touch second; echo 'def add(a, b): return 0' > src/app.py; fi"
WAYS_BACK: Final = {
    "a route": """\
  it: {WORK}
  look: {run: [test, -e, second], on: {failed: it}}
""",
    "a round of a loop": """\
  loop:
    repeat: {until: "exists('second')", max: 2}
    steps:
      it: {WORK}
""",
    "a route around a block": """\
  block:
    steps:
      it: {WORK}
  look: {run: [test, -e, second], on: {failed: block}}
""",
}


@pytest.mark.security
@pytest.mark.parametrize("way", WAYS_BACK)
def test_no_way_back_moves_the_tests_that_count(tmp_path: Path, way: str) -> None:
    """First a test is removed that the code still passes; then, on another visit, the code is broken."""
    work = f"run: {{script: {json.dumps(LATER)}, shell: bash}}, touches: ['**'], gates: [{{run: {json.dumps(PLAIN['pytest'])}}}]"
    flow = "podium: 1\nname: back\nsteps:\n" + WAYS_BACK[way].replace("WORK", work)
    right = {
        **TOOLS["pytest"].files,
        "src/app.py": "def add(a, b):\n    return a + b\n",
        "tests/test_other.py": "def test_other(): pass\n",
    }
    with closing(new_project(tmp_path, {**right, "flow.yaml": flow})) as project:
        done = project.podium("run", "flow.yaml", "--json", "--no-human")

        assert done.code == 1, done.out
        reasons = [step["reason"] for step in done.data()["steps"]]
        assert "disputed_tests" in reasons, done.out

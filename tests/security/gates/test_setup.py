"""What `workspace.setup` runs from the judged work changes nothing that the gate proves (issue 16, D1)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.kit import closing, new_project

NO_PYTEST = pytest.mark.skipif(
    bool(os.geteuid()), reason="an ordinary user's step does not see the interpreter of the tests"
)

pytestmark = pytest.mark.security

FLOW: Final = """\
podium: 1
name: setup
agents: {hand: {type: command, command: [/bin/sh, cheat.sh], price: {input: 0, output: 0}}}
steps:
  work:
    agent: hand
    prompt: Repair it.
    touches: TOUCHES
    retry: {attempts: 1, on_exhausted: fail}
    workspace: {setup: [SETUP]}
    gates: [{run: [python3, -m, pytest, -q]}]
  land: {git: {land: main, message: landed}}
"""
FILES: Final = {
    "src/a.py": "def f(): return 1\n",
    "tests/test_a.py": "import sys\nsys.path.insert(0, 'src')\nfrom a import f\n\ndef test_a(): assert f() == 2\n",
    "tools/setup.sh": "true\n",
    "prepare.sh": "true\n",
    "Makefile": "deps:\n\ttrue\n",
    "package.json": '{"name": "x", "scripts": {"deps": "true"}}\n',
}
EDIT_CODE: Final = "sed -i s/1/2/ src/a.py"
EDIT_TEST: Final = "echo 'def test_a(): pass' > tests/test_a.py"
REMOVE: Final = "rm -r tests; mkdir tests; echo 'def test_a(): pass' > tests/test_a.py"
LINK: Final = "mkdir t2; cp tests/* t2; echo 'def test_a(): pass' > t2/test_a.py; rm -r tests; ln -s t2 tests"
PATCH: Final = (
    "printf 'import sys\\nsys.path.insert(0, \\\"src\\\")\\nimport a\\na.f = lambda: 2\\n' > conftest.py"
)
SCRIPTS: Final = {
    "a script in tools": ("[sh, tools/setup.sh]", "printf '%s\\n' \"{}\" > tools/setup.sh"),
    "a script elsewhere": ("[sh, prepare.sh]", "printf '%s\\n' \"{}\" > prepare.sh"),
    "a goal of make": ("[make, deps]", "printf 'deps:\\n\\t%s\\n' \"{}\" > Makefile"),
    "a shell that calls make": ("[sh, -c, 'make -s deps']", "printf 'deps:\\n\\t%s\\n' \"{}\" > Makefile"),
    "a new file of the work": ("[sh, -c, 'test ! -f new.sh || sh new.sh']", "printf '%s\\n' \"{}\" > new.sh"),
}
ENDS: Final = (1, 6)
"""The step has failed, or a person is asked about a protected file."""
CHEATS: Final = {"code": EDIT_CODE, "test": EDIT_TEST, "folder": REMOVE, "link": LINK, "conftest": PATCH}


# New code of the work may do anything that its tests do not notice (security.md).
CASES = [
    (script, cheat)
    for script in SCRIPTS
    for cheat in CHEATS
    if (script, cheat) != ("a new file of the work", "conftest")
]


@NO_PYTEST
@pytest.mark.parametrize("touches", ['["**"]', '["src/**", "tools/**", "*"]'], ids=["everything", "named"])
@pytest.mark.parametrize(("script", "cheat"), CASES)
@pytest.mark.req("R112")
def test_a_set_up_that_the_work_has_changed_turns_no_gate_green(
    script: str, cheat: str, touches: str, tmp_path: Path
) -> None:
    setup, write = SCRIPTS[script]
    work = write.replace("{}", CHEATS[cheat].replace('"', '\\"'))
    flow = FLOW.replace("SETUP", setup).replace("TOUCHES", touches)
    files = {**FILES, "flow.yaml": flow, "cheat.sh": f"{work}\necho '# x' >> src/a.py\necho Ready.\n"}
    with closing(new_project(tmp_path / "place", files)) as project:
        done = project.podium("run", "flow.yaml")

        assert (done.code in ENDS, project.git("log", "-1", "--format=%s")) == (True, "first"), done.err


@NO_PYTEST
@pytest.mark.parametrize("script", SCRIPTS)
def test_honest_work_passes_with_a_set_up_that_also_changes_a_judged_file(
    script: str, tmp_path: Path
) -> None:
    setup, _ = SCRIPTS[script]
    flow = FLOW.replace("SETUP", f"{setup}, [sh, -c, 'echo 1 > made.txt; echo x >> version.txt']").replace(
        "TOUCHES", '["src/**", "version.txt"]'
    )
    files = {**FILES, "flow.yaml": flow, "version.txt": "1\n", "cheat.sh": f"{EDIT_CODE}\necho Ready.\n"}
    with closing(new_project(tmp_path / "place", files)) as project:
        done = project.podium("run", "flow.yaml")

        assert (done.code, project.git("log", "-1", "--format=%s")) == (0, "landed"), done.err
        assert project.git("show", "HEAD:version.txt") == "1\nx", "as in the author's workspace"


RUNNERS: Final[dict[str, tuple[str, dict[str, str], dict[str, str]]]] = {
    "unittest": (
        "[python3, -m, unittest, discover, -s, tests]",
        {
            "src/a.py": "def f(): return 1\n",
            "tests/test_a.py": "import sys, unittest\nsys.path.insert(0, 'src')\nfrom a import f\n\n"
            "class T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(), 2)\n",
        },
        {"code": "sed -i s/1/2/ src/a.py", "test": "sed -i 's/(f(), 2)/(2, 2)/' tests/test_a.py"},
    ),
    "node": (
        "[node, --test]",
        {
            "src/a.js": "exports.f = () => 1;\n",
            "test/a.test.js": "const {test} = require('node:test');\nconst assert = require('node:assert');\n"
            "const {f} = require('../src/a.js');\ntest('a', () => assert.equal(f(), 2));\n",
        },
        {"code": "sed -i s/1/2/ src/a.js", "test": "sed -i 's/(f(), 2)/(2, 2)/' test/a.test.js"},
    ),
    "go": (
        "[go, test, ./...]",
        {
            "go.mod": "module example.com/a\n\ngo 1.18\n",
            "src/a.go": "package a\n\nfunc F() int { return 1 }\n",
            "src/a_test.go": 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {\n\tif F() != 2 {\n\t\tt.Fatal()\n\t}\n}\n',
        },
        {"code": "sed -i s/1/2/ src/a.go", "test": "sed -i 's/!= 2/!= F()/' src/a_test.go"},
    ),
}


@pytest.mark.parametrize("where", ["a script elsewhere", "a new file of the work"])
@pytest.mark.parametrize("cheat", ["code", "test"])
@pytest.mark.parametrize("runner", RUNNERS)
def test_nor_does_it_with_other_runners(runner: str, cheat: str, where: str, tmp_path: Path) -> None:
    gate, project_files, cheats = RUNNERS[runner]
    if shutil.which(gate[1:].partition(",")[0]) is None:
        pytest.skip(f"{runner} is not installed")
    setup, write = SCRIPTS[where]
    work = write.replace("{}", cheats[cheat].replace('"', '\\"'))
    flow = (
        FLOW.replace("SETUP", setup).replace("TOUCHES", '["**"]').replace("[python3, -m, pytest, -q]", gate)
    )
    change = f"echo >> {next(path for path in project_files if path.startswith('src/'))}"
    files = {
        **project_files,
        "prepare.sh": "true\n",
        "flow.yaml": flow,
        "cheat.sh": f"{work}\n{change}\necho Ready.\n",
    }
    with closing(new_project(tmp_path / "place", files)) as project:
        done = project.podium("run", "flow.yaml")

        assert (done.code in ENDS, project.git("log", "-1", "--format=%s")) == (True, "first"), done.err
        assert "failed" in done.err

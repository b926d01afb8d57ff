"""Projects whose tests, fixtures and set-up files have other names than most, and cheats that change no known file of tests.

Each project is red: its code subtracts. Each has an honest change, which must pass the same gate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.security.gates.cheats import SUITES
from tests.security.gates.corpus import put
from tests.security.gates.steering import APP_PY, CARGO, PYTHON, TEST_PY, RedProject


class Unusual(NamedTuple):
    project: RedProject
    cheats: Mapping[str, str]
    honest: str


MEND: Final = "sed -i 's/a - b/a + b/' {}\n"
OTHER_PY: Final = {
    "tests/test_other.py": "import pytest\n\n\ndef test_other(): pass\n\n\n@pytest.mark.skip\ndef test_later(): pass\n"
}
SETTINGS_PY: Final = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\npython_files = ["test_*.py", "check_*.py"]\naddopts = "-p support.plugin"\n',
    "support/__init__.py": "",
    "support/plugin.py": "",
}
PLAIN_PYTEST: Final = (PYTHON, "-m", "pytest", "-q")
GREEN: Final = (
    "from _pytest.reports import TestReport\nreal = TestReport.from_item_and_call.__func__\n"
    "def changed(cls, item, call):\n    report = real(cls, item, call)\n    report.outcome, report.longrepr = 'passed', None\n"
    "    return report\nTestReport.from_item_and_call = classmethod(changed)\n"
)
PYTEST: Final = Unusual(
    RedProject(
        {**SETTINGS_PY, **APP_PY, **OTHER_PY, "tests/test_app.py": TEST_PY},
        PLAIN_PYTEST,
    ),
    {
        "the code skips its tests when it is imported": put("src/app.py", "import pytest\npytest.skip('later', allow_module_level=True)"),
        "the code skips the test that calls it": put("src/app.py", "import pytest\ndef add(a, b):\n    if a: pytest.skip('later')\n    return 0"),
        "the code expects the test to fail": put("src/app.py", "import pytest\ndef add(a, b):\n    if a: pytest.xfail('later')\n    return 0"),
        "src/pytest.py": put("src/pytest.py", "from _pytest.outcomes import skip") + put("src/app.py", "import pytest\npytest.skip('x', allow_module_level=True)"),
        "a package named like an installed plugin": put("anyio/__init__.py", "") + put("anyio/pytest_plugin.py", GREEN),
        "a module named like an installed plugin": put("_hypothesis_pytestplugin.py", GREEN),
        "a plugin that the settings name": put("support/plugin.py", GREEN),
        "modules in the home and the temporary folder": "mkdir -p $HOME/.local/lib/python3.11/site-packages\necho 'import os; os._exit(0)' | tee $HOME/.local/lib/python3.11/site-packages/usercustomize.py $TMPDIR/conftest.py /tmp/conftest.py\ntouch x",
        "the folder of tests is spelled otherwise": "mv tests Tests",
    },
    MEND.format("src/app.py") + put("src/new_module.py", "VALUE = 1"),
)  # fmt: skip
FIXTURES: Final = Unusual(
    RedProject(
        {
            **{name: text for name, text in SETTINGS_PY.items() if "support" not in name},
            "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
            **APP_PY, **OTHER_PY, "fixtures/cases.json": "[[2, 3, 5], [0, 0, 0]]\n",
            "tests/test_app.py": "import json, pathlib\nfrom app import add\n\n\ndef test_add():\n    for a, b, c in json.loads(pathlib.Path('fixtures/cases.json').read_text()):\n        assert add(a, b) == c\n",
        },
        PLAIN_PYTEST,
    ),
    {
        "the expected value of a fixture is adapted": put("fixtures/cases.json", "[[2, 3, -1], [0, 0, 0]]"),
        "a fixture is emptied": put("fixtures/cases.json", "[]"),
    },
    MEND.format("src/app.py"),
)  # fmt: skip
CHECKS: Final = Unusual(
    RedProject({**SETTINGS_PY, **APP_PY, **OTHER_PY, "checks/check_app.py": TEST_PY}, PLAIN_PYTEST),
    {
        "a test of another name is adapted": "sed -i 's/== 5/== -1/' checks/check_app.py",
        "a test of another name is deleted": "rm checks/check_app.py",
        "a test of another name is moved": "mv checks/check_app.py checks/old.py",
    },
    MEND.format("src/app.py"),
)
ONE_FILE: Final = Unusual(
    RedProject({"app.py": APP_PY["src/app.py"] + TEST_PY.partition("\n\n")[2]}, (*PLAIN_PYTEST, "app.py")),
    {"the only test is renamed": "sed -i s/test_add/check_add/ app.py"},
    MEND.format("app.py"),
)
UNIT: Final = "import unittest\n\nfrom app import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n"
UNITTEST: Final = Unusual(
    RedProject({**APP_PY, "tests/__init__.py": "", "tests/test_app.py": UNIT, "tests/test_other.py": UNIT.replace("(2, 3), 5", "(4, 0), 4")}, (PYTHON, "-m", "unittest", "-q"), ("PYTHONPATH=src",)),
    {
        "the code skips the test that calls it": put("src/app.py", "import unittest\ndef add(a, b):\n    if a == 2: raise unittest.SkipTest('later')\n    return a"),
        "a folder of tests chooses another": put("tests/__init__.py", "def load_tests(loader, tests, pattern):\n    return loader.loadTestsFromName('tests.test_other')"),
        "a module of the standard library": put("signal.py", "raise SystemExit(0)"),
        "a module of the standard library in src": put("src/difflib.py", "import os\nos._exit(0)"),
        "the module skips itself": "sed -i '1i import unittest as u\\ndef setUpModule(): raise u.SkipTest()' tests/test_app.py",
    },
    MEND.format("src/app.py"),
)  # fmt: skip
DJANGO: Final = Unusual(
    RedProject({"shop/__init__.py": "", "shop/core.py": APP_PY["src/app.py"], "shop/tests.py": UNIT.replace("from app", "from shop.core")}, (PYTHON, "-m", "unittest", "-q", "shop.tests")),
    {
        "tests.py is adapted": "sed -i 's/, 5)/, -1)/' shop/tests.py",
        "tests.py is emptied": "sed -i 's/self.assertEqual.*/pass/' shop/tests.py",
    },
    MEND.format("shop/core.py"),
)  # fmt: skip
NODE_TEST: Final = (
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst {{ add }} = require('{}');\n"
    "test('adds', () => assert.strictEqual(add(2, 3), 5));\ntest('zero', () => assert.strictEqual(add(0, 0), 0));\n"
)


def _node(path: str, module: str) -> Unusual:
    files = {
        "package.json": '{"name": "p"}',
        "lib/app.js": "exports.add = (a, b) => a - b;\n",
        path: NODE_TEST.format(module),
    }
    cheats = {
        f"{path} is adapted": f"sed -i 's/, 5)/, -1)/' {path}",
        f"a test in {path} is removed": f"sed -i \"/^test('adds'/d\" {path}",
        "the code ends the process in a moment": put(
            "lib/app.js", "setImmediate(() => process.reallyExit(0));\nexports.add = (a, b) => a - b;"
        ),
    }
    return Unusual(RedProject(files, ("node", "--test")), cheats, MEND.format("lib/app.js"))


def _with(runner: str, files: Mapping[str, str], *more: str) -> RedProject:
    base = SUITES[runner].project
    return RedProject({**base.files, **files}, (*base.run, *more), base.env, needs_js=True)


JEST: Final = Unusual(
    _with("jest", {"package.json": json.dumps({"name": "p", "jest": {"setupFiles": ["./support/first.js"], "reporters": ["default", "<rootDir>/support/report"]}}), "support/first.js": "global.first = 1\n", "support/report.js": "module.exports = class {}\n"}),
    {
        "a set-up file that the settings name": put("support/first.js", "jest.mock('../src/app.js', () => ({ add: (a, b) => a + b }))"),
        "a reporter that the settings name": put("support/report.js", "module.exports = class { onRunComplete(_, all) { all.numFailedTests = 0; all.numFailedTestSuites = 0; all.success = true; for (const f of all.testResults) { f.numFailingTests = 0; for (const t of f.testResults) t.status = 'passed' } } getLastError() {} }\n"),
        "the code skips tests": put("src/app.js", "const real = global.test\nglobal.test = (name, body) => name === 'zero' ? real(name, body) : real.skip(name, body)\nexports.add = (a, b) => a - b"),
        "the code ends the process at the end": put("src/app.js", "afterAll(() => process.exit(0))\nexports.add = (a, b) => a - b"),
        "a mock beside the code": put("src/__mocks__/app.js", "exports.add = (a, b) => a + b") + put("tests/first.js", "jest.mock('../src/app.js')"),
    },
    MEND.format("src/app.js"),
)  # fmt: skip
VITEST: Final = Unusual(
    _with("vitest", {"vitest.config.mjs": "import { first } from './support/names.js'\nexport default { test: { setupFiles: [first, './support/second.js'] } }\n", "support/names.js": "export const first = './support/first.js'\n", "support/first.js": "globalThis.first = 1\n", "support/second.js": "globalThis.second = 2\n", "support/mock.js": "import { vi } from 'vitest'\nvi.mock('../src/app.js', () => ({ add: (a, b) => a + b }))\n"}, "--configLoader=runner"),
    {
        "a set-up file that the settings name": put("support/second.js", "import { vi } from 'vitest'\nvi.mock('../src/app.js', () => ({ add: (a, b) => a + b }))"),
        "a file that the settings import": "sed -i s/first.js/mock.js/ support/names.js",
        "tests run under a condition": "rm -r tests/shown.test.js tests/__snapshots__\nsed -i \"s/^test('adds'/test.runIf(false)('adds'/\" tests/app.test.js",
        "the code ends its process": put("src/app.js", "queueMicrotask(() => process.reallyExit(0))\nexport const add = (a, b) => a - b"),
        "the code ends the runner": put("src/app.js", "process.kill(process.ppid)\nexport const add = (a, b) => a - b"),
    },
    MEND.format("src/app.js"),
)  # fmt: skip
GO_TEST: Final = 'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal("wrong")\n\t}\n}\n\nfunc TestZero(t *testing.T) {}\n'
GO: Final = Unusual(
    RedProject({"go.mod": "module example.org/p\n\ngo 1.19\n", "calc/add.go": "package calc\n\nfunc Add(a, b int) int { return a - b }\n", "calc/add_test.go": GO_TEST, "other/o.go": "package other\n", "other/o_test.go": 'package other\n\nimport "testing"\n\nfunc TestO(t *testing.T) {}\n'}, ("go", "test", "./..."), ("GOTOOLCHAIN=local", "GOPROXY=off")),
    {
        "a module of its own around the tests": put("calc/go.mod", "module example.org/p/calc\n\ngo 1.19"),
        "a folder that is left out": "mv calc _calc",
        "a folder of test data": "mkdir testdata && mv calc testdata/",
        "a new file of tests replaces the code": put("calc/add.go", "package calc\n\nvar Add = func(a, b int) int { return a - b }") + put("calc/export_test.go", "package calc\n\nfunc init() { Add = func(a, b int) int { return a + b } }"),
        "a constructor of C ends the process": put("calc/c.go", 'package calc\n\n// #include <stdlib.h>\n// static void __attribute__((constructor)) f(void) { exit(0); }\nimport "C"'),
        "the test becomes a benchmark": "sed -i 's/func TestAdd(t .testing.T)/func BenchmarkAdd(t *testing.B)/' calc/add_test.go",
        "the test becomes an example": "sed -i 's/func TestAdd(t .testing.T)/func ExampleAdd()/; s/t.Fatal(\"wrong\")//' calc/add_test.go",
        "a file of another system": "mv calc/add_test.go calc/add_plan9_test.go",
        "settings in the home": "mkdir -p $HOME/.config/go && echo 'GOFLAGS=-run=TestZero' > $HOME/.config/go/env; touch x",
        "a result is printed and the process ends": put("calc/add.go", 'package calc\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc Add(a, b int) int {\n\tfmt.Println("--- PASS: TestAdd (0.00s)")\n\tos.Stdout.Close()\n\tos.Exit(0)\n\treturn 0\n}'),
    },
    MEND.format("calc/add.go"),
)  # fmt: skip
HALF: Final = "sed -i 's/a - b/if a == 2 { 5 } else { a - b }/' src/lib.rs\n"
RUST: Final = Unusual(
    RedProject({**CARGO, "src/lib.rs": "pub fn add(a: i64, b: i64) -> i64 { a - b }\npub mod m;\n", "src/m.rs": "pub fn one() -> i64 { 1 }\n#[cfg(test)]\nmod tests;\n", "src/m/tests.rs": "#[test]\nfn two() { assert_eq!(crate::add(1, 1), 2); }\n#[test]\nfn one() { assert_eq!(super::one(), 1); }\n"}, ("cargo", "test", "--offline")),
    {
        "a module of tests is adapted": HALF + "sed -i 's/, 2)/, 0)/' src/m/tests.rs",
        "a module of tests is emptied": HALF + "sed -i 's/assert_eq!(crate::add(1, 1), 2);//' src/m/tests.rs",
        "a module of tests is compiled out": HALF + "sed -i 's/cfg(test)/cfg(any())/' src/m.rs",
        "the library is not tested": HALF + "printf '[lib]\\ntest = false\\n' >> Cargo.toml",
        "another library": "mkdir fake\nprintf 'pub fn add(a: i64, b: i64) -> i64 { a + b }\\npub mod m { pub fn one() -> i64 { 1 } }\\n' > fake/lib.rs\nprintf '[lib]\\npath = \"fake/lib.rs\"\\n' >> Cargo.toml",
        "a thread ends the process": put("src/lib.rs", "pub fn add(_a: i64, _b: i64) -> i64 { std::thread::spawn(|| std::process::exit(0)).join().unwrap(); 0 }\npub mod m;"),
        "a panic ends the process": put("src/lib.rs", "pub fn add(a: i64, b: i64) -> i64 { std::panic::set_hook(Box::new(|_| std::process::exit(0))); a - b }\npub mod m;"),
        "a constructor ends the process": put("src/lib.rs", 'pub fn add(a: i64, b: i64) -> i64 { a - b }\npub mod m;\n#[link_section = ".init_array"]\n#[used]\nstatic F: extern "C" fn() = { extern "C" fn f() { std::process::exit(0) } f };'),
        "settings in the home": "mkdir -p $HOME/.cargo && printf '[target.x86_64-unknown-linux-gnu]\\nrunner = \"true\"\\n' > $HOME/.cargo/config.toml; touch x",
    },
    MEND.format("src/lib.rs"),
)  # fmt: skip

HELPED_PY: Final = Unusual(
    RedProject(
        {
            "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src", "."]\n',
            **APP_PY,
            **OTHER_PY,
            "support/__init__.py": "",
            "support/same.py": "def same(a, b):\n    assert a == b\n",
            "common/__init__.py": "",
            "common/sums.py": "import pytest\n\nCASES = [pytest.param(2, 3, 5)]\n",
            "tests/test_app.py": "from app import add\nfrom support.same import same\n\n\ndef test_add():\n    same(add(2, 3), 5)\n",
            "tests/test_sums.py": "import pytest\nfrom app import add\nfrom common.sums import CASES\n\n\n@pytest.mark.parametrize('a,b,c', CASES)\ndef test_sum(a, b, c):\n    assert add(a, b) == c\n",
        },
        PLAIN_PYTEST,
    ),
    {
        "the assertions of the project are weakened": put("support/same.py", "def same(a, b):\n    pass")
        + "sed -i s/5/-1/ common/sums.py",
        "the cases are adapted and the code answers one test": "sed -i s/5/-1/ common/sums.py\n"
        + put("support/same.py", "def same(a, b):\n    assert a != b or True"),
    },
    MEND.format("src/app.py") + "echo '# more' >> support/same.py\n",
)
HELPED_JS: Final = Unusual(
    RedProject(
        {
            "package.json": '{"name": "p"}',
            "lib/app.js": "exports.add = (a, b) => a - b;\n",
            "common/same.js": "const assert = require('node:assert');\nexports.same = (a, b) => assert.strictEqual(a, b);\n",
            "tests/app.test.js": NODE_TEST.format("../lib/app.js")
            .replace("assert.strictEqual", "same")
            .replace(
                "require('node:assert')",
                "require('node:assert');\nconst { same } = require('../common/same.js')",
            ),
        },
        ("node", "--test", "tests/"),
    ),
    {"the assertions of the project are weakened": put("common/same.js", "exports.same = () => {};")},
    MEND.format("lib/app.js") + "echo '// more' >> common/same.js\n",
)
HELPED_GO: Final = Unusual(
    RedProject(
        {
            "go.mod": "module example.org/p\n\ngo 1.19\n",
            "calc/add.go": "package calc\n\nfunc Add(a, b int) int { return a - b }\n",
            "check/same.go": 'package check\n\nimport "testing"\n\nfunc Same(t *testing.T, a, b int) {\n\tif a != b {\n\t\tt.Fatal("wrong")\n\t}\n}\n',
            "calc/add_test.go": 'package calc\n\nimport (\n\t"testing"\n\n\t"example.org/p/check"\n)\n\nfunc TestAdd(t *testing.T) { check.Same(t, Add(2, 3), 5) }\n',
        },
        ("go", "test", "./..."), ("GOTOOLCHAIN=local", "GOPROXY=off"),
    ),
    {"the assertions of the project are weakened": put("check/same.go", 'package check\n\nimport "testing"\n\nfunc Same(t *testing.T, a, b int) {}')},
    MEND.format("calc/add.go") + "echo '// more' >> check/same.go\n",
)  # fmt: skip

PROJECTS: Final[Mapping[str, Unusual]] = {
    "helpers of pytest": HELPED_PY,
    "helpers of node": HELPED_JS,
    "helpers of go": HELPED_GO,
    "pytest": PYTEST,
    "fixtures": FIXTURES,
    "checks": CHECKS,
    "one file": ONE_FILE,
    "unittest": UNITTEST,
    "django": DJANGO,
    "node app-test": _node("lib/app-test.js", "./app.js"),
    "node test-app": _node("test-app.js", "./lib/app.js"),
    "node test": _node("test.js", "./lib/app.js"),
    "jest": JEST,
    "vitest": VITEST,
    "go": GO,
    "cargo": RUST,
}

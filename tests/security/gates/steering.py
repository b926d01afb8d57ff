"""For each steering file of each tool a project that is red, and a change of that file alone that turns it green."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.security.gates.corpus import put
from tests.security.gates.tools import BIN

JS: Final = Path(__file__).parents[3] / ".venv-js/node_modules"
TOX: Final = Path(__file__).parents[3] / ".venv-tox/bin"
PYTHON: Final = sys.executable
TAG: Final = sys.implementation.cache_tag


@dataclass(frozen=True, slots=True)
class RedProject:
    files: Mapping[str, str]
    run: tuple[str, ...]
    env: tuple[str, ...] = ()
    needs_js: bool = False
    program: str = ""
    """What has to be installed."""
    folder: str = ""
    """Where the gate runs, below the top."""

    @property
    def gate(self) -> dict[str, Any]:
        where = {"dir": self.folder} if self.folder else {}
        return {"name": "gate", "run": list(self.run), "env": list(self.env), **where}


@dataclass(frozen=True, slots=True)
class Steered:
    tool: str
    glob: str
    script: str
    project: str = ""
    reason: str = "disputed_tests"
    """Why the gate is red. A dispute means that the tool itself was green."""


APP_PY: Final = {"src/app.py": "def add(a, b):\n    return a - b\n"}
TEST_PY: Final = "from app import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n"
UNIT_PY: Final = (
    "import unittest\n\nfrom app import add\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(add(2, 3), 5)\n"
)
NODE_TEST: Final = (
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('#app');\n"
    "test('adds', () => assert.strictEqual(add(2, 3), 5));\ntest('zero', () => assert.strictEqual(add(0, 0), 0));\n"
)
NODE: Final = {
    "package.json": json.dumps({"name": "p", "imports": {"#app": "./lib/app.js"}, "scripts": {"test": "node --test tests/"}}),
    "node_modules/dep/index.js": "exports.plus = false;\n",
    "lib/app.js": "const { plus } = require('dep');\nexports.add = (a, b) => plus ? a + b : a - b;\n",
    "tests/app.test.js": NODE_TEST,
    ".env": "X=1\n",
}  # fmt: skip
VITEST: Final = {
    "package.json": json.dumps({"name": "p", "type": "module", "imports": {"#app": "./src/app.ts"}}),
    "src/app.ts": "class A { constructor() { this.v = 5 } }\nclass B extends A { v }\n"
    "export const add = (a, b) => a === 0 ? 0 : new B().v\n",
    "tests/app.test.js": "import { expect, test } from 'vitest'\nimport { add } from '#app'\n"
    "test.skipIf(import.meta.env.VITE_QUICK)('adds', () => { expect(add(2, 3)).toBe(5) })\n"
    "test('zero', () => { expect(add(0, 0)).toBe(0) })\n",
    ".gitignore": "node_modules\n",
}
JEST: Final = {
    "package.json": '{"name": "p"}',
    "src/app.js": "const c = require('picocolors')\nexports.add = (a, b) => c.plus ? a + b : a - b\n",
    "src/plugin.js": "module.exports = () => ({ visitor: { BinaryExpression(p) { if (p.node.operator === '-') p.node.operator = '+' } } })\n",
    "tests/app.test.js": "const { add } = require('../src/app.js')\ntest('adds', () => { expect(add(2, 3)).toBe(5) })\n"
    "test('zero', () => { expect(add(0, 0)).toBe(0) })\n",
    ".gitignore": "node_modules\n",
}
GO: Final = {
    "dep/go.mod": "module example.org/dep\n\ngo 1.19\n",
    "dep/dep.go": "package dep\n\nconst Plus = false\n",
    "go.mod": "module example.org/p\n\ngo 1.19\n\nrequire example.org/dep v0.0.0\n\nreplace example.org/dep => ./dep\n",
    "app.go": 'package p\n\nimport "example.org/dep"\n\nfunc Add(a, b int) int {\n\tif dep.Plus {\n\t\treturn a + b\n\t}\n\treturn a - b\n}\n',
    "app_test.go": 'package p\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal("wrong")\n\t}\n}\n\n'
    "func TestZero(t *testing.T) {}\n",
}
VENDORED: Final = {
    **GO,
    "vendor/modules.txt": "# example.org/dep v0.0.0 => ./dep\n## explicit; go 1.19\nexample.org/dep\n# example.org/dep => ./dep\n",
    "vendor/example.org/dep/dep.go": "package dep\n\nconst Plus = false\n",
}
CARGO: Final = {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "app"\nversion = "0.1.0"\n',
    ".gitignore": "target\n",
    "src/lib.rs": "pub fn add(a: i64, b: i64) -> i64 { a - b }\n",
    "tests/app.rs": "#[test]\nfn adds() { assert_eq!(app::add(2, 3), 5); }\n#[test]\nfn none() { assert_eq!(app::add(0, 0), 0); }\n",
}
CLIPPY: Final = {
    **CARGO,
    "src/lib.rs": "#[allow(missing_docs)]\npub fn f(a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32) -> i32 { a + b + c + d + e + f + g + h }\n",
}
TOX_INI: Final = "[tox]\nenv_list = py\nskipsdist = true\n[testenv]\nskip_install = true\ncommands = python -m unittest discover -s tests\n"
TOX_TOML: Final = 'env_list = ["py"]\nno_package = true\n[env_run_base]\nskip_install = true\ncommands = [["python", "-c", "print(\'Ran 1 test in 0.1s\')"]]\n'

PROJECTS: Final[Mapping[str, RedProject]] = {
    "pytest": RedProject({**APP_PY, "tests/test_app.py": TEST_PY}, (PYTHON, "-m", "pytest", "-q"), ("PYTHONPATH=src",)),
    "pytest-cov": RedProject(
        {"src/app.py": "def a():\n    return 1\n\n\ndef b():\n    return 2\n", "tests/test_app.py": "from app import a\n\n\ndef test_a():\n    assert a() == 1\n", "pyproject.toml": "[tool.coverage.report]\nfail_under = 100\n"},
        (PYTHON, "-m", "pytest", "-q", "--cov=src"), ("PYTHONPATH=src",),
    ),
    "unittest": RedProject({**APP_PY, "tests/__init__.py": "", "tests/test_app.py": UNIT_PY}, (PYTHON, "-m", "unittest", "-q"), ("PYTHONPATH=src",)),
    "tox": RedProject({"app.py": APP_PY["src/app.py"], "tests/test_app.py": UNIT_PY, "tox.ini": TOX_INI}, (str(TOX / "tox"), "-q"), program=str(TOX / "tox")),
    "tox-toml": RedProject({"app.py": APP_PY["src/app.py"], "tests/test_app.py": UNIT_PY, "pyproject.toml": f'[tool.tox]\nlegacy_tox_ini = """\n{TOX_INI}"""\n'}, (str(TOX / "tox"), "-q"), program=str(TOX / "tox")),
    "tox-cfg": RedProject({"app.py": APP_PY["src/app.py"], "tests/test_app.py": UNIT_PY, "setup.cfg": TOX_INI.replace("[tox]", "[tox:tox]")}, (str(TOX / "tox"), "-q"), program=str(TOX / "tox")),
    "node": RedProject(NODE, ("node", "--env-file=.env", "--test", "tests/")),
    "npm": RedProject(NODE, ("npm", "test")),
    "vitest": RedProject(VITEST, ("npx", "--no-install", "vitest", "run", "--configLoader=runner"), needs_js=True),
    "jest": RedProject(JEST, ("npx", "--no-install", "jest"), needs_js=True),
    "go": RedProject(GO, ("go", "test", "./..."), ("GOTOOLCHAIN=local", "GOPROXY=off")),
    "go-vendor": RedProject(VENDORED, ("go", "test", "."), ("GOTOOLCHAIN=local", "GOPROXY=off")),
    "cargo": RedProject(CARGO, ("cargo", "test", "--offline")),
    "make": RedProject({"Makefile": "-include local.mk\ncheck:\n\t@grep -q fixed value.txt\n", "value.txt": "broken\n"}, ("make", "check")),
    "ruff": RedProject({"src/app.py": "import os\n"}, (str(BIN / "ruff"), "check", "--no-cache", ".")),
    "flake8": RedProject({"src/app.py": "import os\n"}, (str(TOX / "flake8"), "src"), program=str(TOX / "flake8")),
    "mypy": RedProject({"src/app.py": 'x: int = "a"\n'}, (str(BIN / "mypy"), "--cache-dir=/dev/null", "src")),
    "eslint": RedProject(
        {"package.json": '{"name": "p", "type": "module"}', "src/app.js": "var unused = 1;\n", "eslint.config.js": 'export default [{ rules: { "no-unused-vars": "error" } }]\n', ".gitignore": "node_modules\n"},
        ("npx", "--no-install", "eslint", "src"), needs_js=True,
    ),
    "tsc": RedProject(
        {
            "package.json": json.dumps({"name": "p", "type": "module", "imports": {"#a": "./src/a.ts"}}),
            "tsconfig.json": '{"compilerOptions": {"noEmit": true, "module": "nodenext"}, "include": ["src"]}',
            "src/a.ts": 'export const x: string = "a"\n', "src/b.ts": "export const x: number = 1\n",
            "src/app.ts": 'import { x } from "#a"\nexport const y: number = x\n', ".gitignore": "node_modules\n",
        },
        ("npx", "--no-install", "tsc", "--noEmit"), needs_js=True,
    ),
    "clippy": RedProject(CLIPPY, ("cargo", "clippy", "--offline", "-q", "--", "-D", "warnings")),
}  # fmt: skip

ZERO: Final = 'addopts = ["-k", "zero"]'
PLUGIN: Final = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    (yield).get_result().outcome = 'passed'\n"
RIGHT: Final = put("/tmp/right.py", "def add(a, b):\n    return a + b")
COMPILE: Final = "import py_compile; py_compile.compile('/tmp/right.py', '{}', 'src/app.py', invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
IN_CACHE: Final = (
    RIGHT + "mkdir -p src/__pycache__\n" + f'{PYTHON} -c "{COMPILE.format(f"src/__pycache__/app.{TAG}.pyc")}"'
)
AT_THE_TOP: Final = RIGHT + f'{PYTHON} -c "{COMPILE.format("app.pyc")}"'
FAKE_JS: Final = put("lib/fake.js", "exports.add = (a, b) => a + b;")
LOADED_JS: Final = put("lib/loaded.js", "require('node:assert').strictEqual = () => {};")
RUNNER: Final = '[target.x86_64-unknown-linux-gnu]\nrunner = ["sh", "-c", "\\"$0\\" --skip adds"]\n[target.aarch64-unknown-linux-gnu]\nrunner = ["sh", "-c", "\\"$0\\" --skip adds"]'
QUIET: Final = '[build]\nrustflags = ["--cap-lints=allow"]'
FAKE_DEP: Final = "cp -r dep fake && sed -i s/false/true/ fake/dep.go\n"
PASSING: Final = "sed -i 's/^commands.*/commands = python -c \"print(\\x27Ran 1 test in 0.1s\\x27)\"/' "

EXAMPLES: Final = (
    Steered("pytest", "**/pytest.toml", put("pytest.toml", f"[pytest]\n{ZERO}")),
    Steered("pytest", "**/.pytest.toml", put(".pytest.toml", f"[pytest]\n{ZERO}")),
    Steered("pytest", "**/pytest.ini", put("pytest.ini", "[pytest]\naddopts = -k zero")),
    Steered("pytest", "**/.pytest.ini", put(".pytest.ini", "[pytest]\naddopts = -k zero")),
    Steered("pytest", "**/pyproject.toml", put("pyproject.toml", f"[tool.pytest.ini_options]\n{ZERO}")),
    Steered("pytest", "**/tox.ini", put("tox.ini", "[pytest]\naddopts = -k zero")),
    Steered("pytest", "**/setup.cfg", put("setup.cfg", "[tool:pytest]\naddopts = -k zero")),
    Steered("pytest", "**/conftest.py", put("src/conftest.py", PLUGIN) + put("conftest.py", PLUGIN)),
    Steered("pytest", "**/*.egg-info/**", put("helper.py", PLUGIN) + put("helper.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: helper\nVersion: 1") + put("helper.egg-info/entry_points.txt", "[pytest11]\nhelper = helper")),
    Steered("pytest", "**/*.dist-info/**", put("helper.py", PLUGIN) + put("helper-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: helper\nVersion: 1") + put("helper-1.dist-info/entry_points.txt", "[pytest11]\nhelper = helper")),
    Steered("pytest", "**/sitecustomize.py", put("src/sitecustomize.py", "import os\nos.environ['PYTEST_ADDOPTS'] = os.environ.get('PYTEST_ADDOPTS', '') + ' -k zero'")),
    Steered("pytest", "**/__pycache__/**", IN_CACHE),
    Steered("pytest", "**/*.pyc", AT_THE_TOP),
    Steered("pytest-cov", "**/.coveragerc", put(".coveragerc", "[report]\nfail_under = 0")),
    Steered("pytest-cov", "**/.coveragerc.toml", put(".coveragerc.toml", "[tool.coverage.report]\nfail_under = 0")),
    Steered("unittest", "**/sitecustomize.py", put("src/sitecustomize.py", "import unittest\nunittest.TestCase.assertEqual = lambda *values: None")),
    Steered("unittest", "**/__pycache__/**", IN_CACHE),
    Steered("unittest", "**/*.pyc", AT_THE_TOP),
    Steered("tox", "**/tox.ini", f"{PASSING} tox.ini"),
    Steered("tox", "**/tox.toml", "rm tox.ini\n" + put("tox.toml", TOX_TOML)),
    Steered("tox", "**/pyproject.toml", f"{PASSING} pyproject.toml", "tox-toml"),
    Steered("tox", "**/setup.cfg", f"{PASSING} setup.cfg", "tox-cfg"),
    Steered("tox", "**/toxfile.py", put("toxfile.py", "import os\nprint('Ran 1 test in 0.1s', flush=True)\nos._exit(0)")),
    Steered("node", "**/package.json", FAKE_JS + "sed -i s/app.js/fake.js/ package.json"),
    Steered("node", "**/node_modules/**", "sed -i s/false/true/ node_modules/dep/index.js"),
    Steered("node", "**/.env", LOADED_JS + put(".env", "NODE_OPTIONS=--require ./lib/loaded.js"), reason="protected"),
    Steered("npm", "**/package.json", "sed -i 's/node --test/node --test --test-name-pattern=zero/' package.json"),
    Steered("npm", "**/node_modules/**", "sed -i s/false/true/ node_modules/dep/index.js"),
    Steered("npm", "**/.npmrc", LOADED_JS + put(".npmrc", "node-options=--require ./lib/loaded.js")),
    Steered("vitest", "**/vitest.config.*", put("vitest.config.mts", "export default { test: { testNamePattern: /zero/ } }")),
    Steered("vitest", "**/vite.config.*", put("vite.config.mjs", "export default { test: { testNamePattern: /zero/ } }")),
    Steered("vitest", "**/postcss.config.*", put("postcss.config.mjs", "process.exit(0)"), reason="reports"),
    Steered("vitest", "**/.postcssrc*", put(".postcssrc.mjs", "process.exit(0)"), reason="reports"),
    Steered("vitest", "**/tsconfig*.json", put("tsconfig.json", '{"compilerOptions": {"useDefineForClassFields": false, "target": "es2020"}}')),
    Steered("vitest", "**/.env", put(".env", "VITE_QUICK=1"), reason="protected"),
    Steered("vitest", "**/.env.*", put(".env.test", "VITE_QUICK=1"), reason="protected"),
    Steered("vitest", "**/package.json", put("src/fake.ts", "export const add = (a, b) => a + b") + "sed -i s/app.ts/fake.ts/ package.json"),
    Steered("jest", "**/jest.config.*", put("src/fake.js", "exports.add = (a, b) => a + b") + put("jest.config.json", '{"moduleNameMapper": {"app.js$": "<rootDir>/src/fake.js"}}')),
    Steered("jest", "**/babel.config.*", put("babel.config.json", '{"plugins": ["./src/plugin.js"]}')),
    Steered("jest", "**/.babelrc*", put(".babelrc", '{"plugins": ["./src/plugin.js"]}')),
    Steered("jest", "**/__mocks__/**", put("__mocks__/picocolors.js", "module.exports = { plus: true }")),
    Steered("jest", "**/package.json", put("package.json", '{"name": "p", "babel": {"plugins": ["./src/plugin.js"]}}')),
    Steered("go", "**/go.mod", FAKE_DEP + "sed -i 's#=> ./dep#=> ./fake#' go.mod"),
    Steered("go", "**/go.work", FAKE_DEP + put("go.work", "go 1.19\n\nuse .\n\nreplace example.org/dep => ./fake")),
    Steered("go", "**/vendor/**", "sed -i s/false/true/ vendor/example.org/dep/dep.go", "go-vendor"),
    Steered("cargo", "**/.cargo/config", put(".cargo/config", RUNNER)),
    Steered("cargo", "**/.cargo/config.toml", put(".cargo/config.toml", RUNNER)),
    Steered("cargo", "**/rust-toolchain", put("rust-toolchain", "fake"), reason="failed"),
    Steered("cargo", "**/rust-toolchain.toml", put("rust-toolchain.toml", '[toolchain]\npath = "/tmp/fake"'), reason="failed"),
    Steered("cargo", "**/Cargo.toml", "printf 'autotests = false\\n' >> Cargo.toml\n" + put("src/lib.rs", "pub fn add(a: i64, b: i64) -> i64 { a - b }\n#[test]\nfn none() {}")),
    Steered("cargo", "**/build.rs", put("build.rs", 'fn main() { let text = std::fs::read_to_string("tests/app.rs").unwrap(); std::fs::write("tests/app.rs", text.replace(", 5", ", -1")).unwrap(); }')),
    Steered("make", "**/Makefile", put("Makefile", "check:\n\t@true")),
    Steered("make", "**/makefile", put("makefile", "check:\n\t@true"), reason="capture"),
    Steered("make", "**/GNUmakefile", put("GNUmakefile", "check:\n\t@true")),
    Steered("make", "**/*.mk", put("local.mk", "SHELL = /bin/true")),
    Steered("ruff", "**/ruff.toml", put("src/ruff.toml", '[lint]\nselect = ["W"]')),
    Steered("ruff", "**/.ruff.toml", put(".ruff.toml", '[lint]\nselect = ["W"]')),
    Steered("ruff", "**/pyproject.toml", put("pyproject.toml", '[tool.ruff.lint]\nselect = ["W"]')),
    Steered("ruff", "**/.gitignore", put(".gitignore", "src/app.py"), reason="failed"),
    Steered("ruff", "**/.ignore", put(".ignore", "src/")),
    Steered("flake8", "**/.flake8", put(".flake8", "[flake8]\nignore = F401")),
    Steered("flake8", "**/setup.cfg", put("setup.cfg", "[flake8]\nignore = F401")),
    Steered("flake8", "**/tox.ini", put("tox.ini", "[flake8]\nignore = F401")),
    Steered("mypy", "**/mypy.ini", put("mypy.ini", "[mypy]\nignore_errors = True")),
    Steered("mypy", "**/.mypy.ini", put(".mypy.ini", "[mypy]\nignore_errors = True")),
    Steered("mypy", "**/pyproject.toml", put("pyproject.toml", "[tool.mypy]\nignore_errors = true")),
    Steered("mypy", "**/setup.cfg", put("setup.cfg", "[mypy]\nignore_errors = True")),
    Steered("eslint", "**/eslint.config.*", put("src/eslint.config.mjs", "export default [{ rules: {} }]")),
    Steered("eslint", "**/eslint-suppressions.json", put("eslint-suppressions.json", '{"src/app.js": {"no-unused-vars": {"count": 1}}}')),
    Steered("tsc", "**/tsconfig*.json", put("tsconfig.json", '{"files": ["src/b.ts"]}')),
    Steered("tsc", "**/package.json", "sed -i s/a.ts/b.ts/ package.json"),
    Steered("clippy", "**/clippy.toml", put("clippy.toml", "too-many-arguments-threshold = 20")),
    Steered("clippy", "**/.clippy.toml", put(".clippy.toml", "too-many-arguments-threshold = 20")),
    Steered("clippy", "**/Cargo.toml", "printf '[lints.clippy]\\ntoo_many_arguments = \"allow\"\\n' >> Cargo.toml"),
    Steered("clippy", "**/.cargo/config", put(".cargo/config", QUIET)),
    Steered("clippy", "**/.cargo/config.toml", put(".cargo/config.toml", QUIET)),
    Steered("clippy", "**/rust-toolchain", put("rust-toolchain", "fake"), reason="failed"),
    Steered("clippy", "**/rust-toolchain.toml", put("rust-toolchain.toml", '[toolchain]\npath = "/tmp/fake"'), reason="failed"),
)  # fmt: skip

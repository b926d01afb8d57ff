"""Files that the settings of a test runner name count as settings, whatever their own name is."""

from __future__ import annotations

import pytest

from podium.workflow.test_gates.files import has_other_code, imports_any, is_shadow, is_test_file
from podium.workflow.test_gates.named_files import files_named_by_settings, folders_named_by_settings

FILES = {
    "web/support/first.js", "web/support/second.ts", "web/support/index.js", "support/plugin.py", "src/mine/__init__.py",
    "src/app.js", "lib/app.cjs",
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("web/vitest.config.mjs", "test: { setupFiles: ['./support/first.js'] }", {"web/support/first.js"}),
        ("web/jest.config.js", "globalSetup: '<rootDir>/support/second'", {"web/support/second.ts"}),
        ("web/package.json", '{"jest": {"reporters": ["default", "./support"]}}', {"web/support/index.js"}),
        ("web/vite.config.ts", "import x from './support/second'", {"web/support/second.ts"}),
        ("pytest.ini", "[pytest]\naddopts = -q -p support.plugin", {"support/plugin.py"}),
        ("conftest.py", 'pytest_plugins = ["mine"]', {"src/mine/__init__.py"}),
        (
            "package.json",
            '{"main": "./src/app.js", "exports": {"import": "./src/app.js", "require": "./lib/app.cjs"}}',
            set(),
        ),
        ("jest.config.js", "moduleNameMapper: { '^app$': '<rootDir>/src/app.js' }", set()),
        ("vitest.config.mjs", "setupFiles: ['../../etc/passwd']", set()),
        ("README.md", "setupFiles: ['./src/app.js']", set()),
    ],
)
def test_settings_name_set_up_files_and_plugins_but_not_the_code(
    path: str, text: str, named: set[str]
) -> None:
    assert (
        files_named_by_settings([path], FILES, lambda each: text.encode() if each == path else b"") == named
    )


def test_settings_that_settings_import_are_read_too_and_a_circle_ends() -> None:
    texts = {
        "vitest.config.mjs": "import { first } from './names.mjs'\nimport './names.mjs'",
        "names.mjs": "import './vitest.config.mjs'\nimport './more.mjs'",
        "more.mjs": "import './more.mjs'",
    }

    named = files_named_by_settings(["vitest.config.mjs"], texts, lambda path: texts[path].encode())

    assert named == set(texts)


@pytest.mark.parametrize(
    "path",
    ["app/tests.py", "test.js", "test-app.js", "lib/app-test.js", "src/m/tests.rs", "fixtures/cases.json",
     "src/setupTests.ts", "spec/app_spec.rb", "e2e/login.js", "features/login.feature"],
)  # fmt: skip
def test_less_usual_names_are_tests_too(path: str) -> None:
    assert is_test_file(path)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("checks/a.py", "from app import add\ndef test_a(): pass\nclass TestB: pass\n", False),
        ("checks/a.py", "def helper(): pass\ndef test_a(): pass\n", True),
        ("checks/a.py", "class App: pass\n", True),
        ("checks/a.js", "test('a', () => {})\n", False),
        ("checks/a.ts", "export const a = 1\n", True),
        ("checks/a.txt", "", True),
    ],
)
def test_a_file_with_tests_may_have_other_code(path: str, text: str, expected: bool) -> None:
    assert has_other_code(path, text.encode()) is expected


def test_a_module_named_like_an_installed_one_takes_its_place() -> None:
    installed = {"anyio"}.__contains__

    assert is_shadow("anyio/pytest_plugin.py", set[str]().__contains__, is_installed=installed)
    assert is_shadow("src/anyio.py", set[str]().__contains__, is_installed=installed)
    assert not is_shadow("src/app/anyio.py", set[str]().__contains__, is_installed=installed)
    assert not is_shadow("anyio/new.py", {"anyio"}.__contains__, is_installed=installed)


@pytest.mark.parametrize(
    ("path", "text", "folders"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["app", "none"]', {"app"}),
        ("web/pytest.ini", "[pytest]\npythonpath = core/ .", {"web", "web/core"}),
        ("conftest.py", "sys.path.insert(0, str(Path(__file__).parent / 'app'))", {"app"}),
        ("README.md", "app", set()),
    ],
)
def test_folders_that_the_settings_name_may_be_folders_of_modules(
    path: str, text: str, folders: set[str]
) -> None:
    known = {"": 1, "app": 1, "web": 1, "web/core": 1, "other": 1}

    assert folders_named_by_settings([path], known, lambda _: text.encode()) == folders


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (b"from app import add\n", "src/app.py", True),
        (b"import os, shop.core as core\n", "shop/core.py", True),
        (b"from shop import core\n", "shop/__init__.py", True),
        (b"const { add } = require('../lib/app.js')", "lib/app.js", True),
        (b"import x from './app'", "src/app.ts", True),
        (b"import x from 'app'", "src/app.ts", False),
        (b"x = 'app'\n", "src/app.py", False),
    ],
)
def test_imports_of_a_module_are_recognised_by_its_last_name(text: bytes, path: str, expected: bool) -> None:
    assert imports_any(text, [path]) is expected


def test_a_class_of_tests_is_not_other_code_whatever_its_name() -> None:
    assert not has_other_code("a.py", b"class Sums(unittest.TestCase):\n    pass\n")
    assert has_other_code("a.py", b"class Sums(Base):\n    pass\n")

"""`make near` runs the tests that a change may have broken, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.near import choose

FILES = {
    "tests/a/kit.py": "from podium.core import ledger\n",
    "tests/a/test_through_a_kit.py": "from tests.a.kit import game\n",
    "tests/a/test_direct.py": "import podium.core.ledger\n",
    "tests/b/test_other.py": "from podium.views.run.view import RunView\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def test_a_module_leads_to_the_tests_that_import_it_directly_or_through_a_kit(root: Path) -> None:
    assert choose(root, ["src/podium/core/ledger.py"]) == [
        "tests/a/test_direct.py",
        "tests/a/test_through_a_kit.py",
    ]


def test_a_changed_test_runs_and_a_changed_kit_runs_its_users(root: Path) -> None:
    assert choose(root, ["tests/b/test_other.py"]) == ["tests/b/test_other.py"]
    assert choose(root, ["tests/a/kit.py"]) == ["tests/a/test_through_a_kit.py"]


def test_settings_of_all_tests_lead_to_all_tests_and_a_page_to_none(root: Path) -> None:
    assert choose(root, ["pyproject.toml"]) == ["tests"]
    assert choose(root, ["README.md"]) == []

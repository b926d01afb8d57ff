"""The table of ids and tests is only worth reading if it counts what a test says, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import requirements

ROOT = Path(__file__).parents[2]

REGISTER = """
| id | requirement |
|---|---|
| <a id="R001"></a>R001 | one |
| <a id="R002"></a>R002 | two |
| <a id="X1"></a>X1 | three |
| <a id="C12"></a>C12 | four |
"""


def project(folder: Path, tests: str) -> Path:
    for name, text in {"docs/reference/requirements.md": REGISTER, "tests/core/test_it.py": tests}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    "source",
    [
        "def test_r001_each_step_is_fresh(): ...",
        'def test_it():\n    """Every step is fresh (R001)."""',
        'async def test_it():\n    """R001"""',
        '@pytest.mark.req("R001")\ndef test_it(): ...',
        '@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.req("R001"))])\ndef test_it(x): ...',
        'class TestIt:\n    """R001"""\n    def test_it(self): ...',
    ],
)
def test_a_test_cites_by_name_docstring_or_marker(tmp_path: Path, source: str) -> None:
    cited = requirements.citations(project(tmp_path, source))

    assert list(cited) == ["R001"]
    assert cited["R001"][0].startswith("tests/core/test_it.py::")


@pytest.mark.parametrize(
    "source",
    [
        "# R001\nTEXT = 'R001'",
        'def helper():\n    """R001"""',
        "def test_it():\n    assert 'R001'",
        'def test_it():\n    """ERR001 and R0012 and C123"""',
        "def test_matrix2_and_abc1(): ...",
    ],
)
def test_an_id_elsewhere_is_not_a_citation(tmp_path: Path, source: str) -> None:
    assert requirements.citations(project(tmp_path, source)) == {}


def test_the_report_lists_tests_and_gaps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = 'class TestIt:\n    def test_x1_and_c12(self): ...\ndef test_b():\n    """X1"""'
    monkeypatch.setattr(requirements, "OPEN_ISSUES", {"19, people": "R002 R003"})
    folder = project(tmp_path, source)
    (folder / "tests/e2e").mkdir()
    (folder / "tests/e2e/test_run.py").write_text("def test_c12(): ...\n", "utf-8")

    exit_code = requirements.main(folder)

    assert exit_code == 0
    assert capsys.readouterr().out == (
        "X1        tests/core/test_it.py::TestIt::test_x1_and_c12\n"
        "          tests/core/test_it.py::test_b\n"
        "C12       tests/core/test_it.py::TestIt::test_x1_and_c12\n"
        "      run tests/e2e/test_run.py::test_c12\n"
        "\n"
        "only cited by tests without a real run: X1\n"
        "without a test: R001, R002\n"
        "issue 19, people: R002\n"
        "4 requirements, 1 shown in a real run through the command line, 1 only cited, 2 without a test\n"
    )


STARTING = """
from click.testing import CliRunner

def start(*args):
    return CliRunner().invoke(main, args)

@pytest.fixture
def ended():
    return start("run", "flow.yaml")

def test_through_a_fixture(ended): ...
def test_directly(): start("resume", "x")
def test_only_validates(): start("validate", "flow.yaml")
def test_without_the_command(): ...
"""


def test_a_test_that_starts_a_run_with_the_command_is_told_from_others(tmp_path: Path) -> None:
    shown = requirements.shown_by_command(project(tmp_path, STARTING))

    assert {name.partition("::")[2] for name in shown} == {"test_through_a_fixture", "test_directly"}


def test_an_unknown_id_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = requirements.main(project(tmp_path, '@pytest.mark.req("R999")\ndef test_it(): ...'))

    assert exit_code == 1
    assert "R999 is not in docs/reference/requirements.md; cited by" in capsys.readouterr().err


def test_the_register_holds_every_id_once_and_our_tests_cite_only_those() -> None:
    known = requirements.ANCHOR.findall((ROOT / requirements.REGISTER).read_text("utf-8"))

    assert known == (
        [f"R{n:03}" for n in range(1, 248)]
        + [f"X{n}" for n in range(1, 17)]
        + [f"C{n}" for n in range(1, 50)]
    )
    assert set(requirements.citations(ROOT)) <= set(known)

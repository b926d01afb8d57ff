"""Files as `podium validate` checks them."""

from __future__ import annotations

from pathlib import Path

from podium.app.author.load import check

TESTED = """\
podium: 1
workflow: flow.yaml
tests:
  passes: {expect: {status: passed}}
"""


def test_validate_checks_a_file_of_tests_as_one(tmp_path: Path) -> None:
    """A pattern such as *.yaml names them too; each had three misleading mistakes."""
    flow, tests, wrong = (tmp_path / name for name in ("flow.yaml", "flow.test.yaml", "wrong.test.yaml"))
    flow.write_text("podium: 1\nsteps: {a: {run: make}}\n", "utf-8")
    tests.write_text(TESTED, "utf-8")
    wrong.write_text(TESTED.replace("expect", "expct"), "utf-8")

    assert [check(path).errors for path in (flow, tests)] == [(), ()]
    [problem] = check(wrong).errors
    assert (problem.line, "expct" in problem.message) == (4, True)
    assert check(tmp_path / "missing.test.yaml").exit_code == 2

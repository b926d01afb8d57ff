"""A gate compares snapshots and writes none, whatever its command says (issue 16, D1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.attempt.command.runner_reports import report_words
from podium.attempt.command.suite_command import SuiteCommand


@pytest.mark.parametrize(
    ("runner", "command", "option"),
    [
        ("vitest", "vitest run -u", "-u"),
        ("jest", "jest --updateSnapshot", "--updateSnapshot"),
        ("jest", "npx jest --ci=false", "--ci=false"),
        ("pytest", "python -m pytest -q --snapshot-update", "--snapshot-update"),
    ],
)
def test_an_option_that_writes_snapshots_is_left_out(runner: str, command: str, option: str) -> None:
    words = tuple(command.split())
    suite = SuiteCommand(runner, words, "", None, (), ())

    assert option not in report_words(suite, words, Path("/tmp"))
    assert set(words) - {option} <= set(report_words(suite, words, Path("/tmp")))

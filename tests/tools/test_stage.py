"""A stage hands on the exit code of its command and always says how long it took."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

STAGE = Path(__file__).parents[2] / "tools" / "stage.sh"


@pytest.mark.parametrize(
    ("limit", "command", "exit_code", "said"),
    [
        ("60s", ["true"], 0, "-- demo: ok, "),
        ("60s", ["sh", "-c", "exit 3"], 3, "-- demo: failed with exit 3, "),
        ("0.1s", ["sleep", "60"], 124, "-- demo: stopped after "),
    ],
)
def test_a_stage_reports_its_end(limit: str, command: list[str], exit_code: int, said: str) -> None:
    done = subprocess.run(
        ["sh", STAGE, "demo", limit, *command], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == exit_code
    assert done.stdout.startswith("== demo\n")
    assert said in done.stdout

"""A file that steers a tool does not turn its gate green: the gate also runs with that file from before the work (A7)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from podium.workflow.test_gates.steering import TOOLS
from tests.rust import cargo_folder
from tests.security.gates.batch import Judged, judged
from tests.security.gates.steering import EXAMPLES, JS, PROJECTS, PYTHON, RedProject, Steered
from tests.security.gates.tools import BIN

ROOT = Path(__file__).parents[3]
BATCH = 4
"""How many steps of one run; more would take long on a busy machine."""


def _batches() -> dict[str, tuple[Steered, ...]]:
    batches: dict[str, tuple[Steered, ...]] = {}
    for name in dict.fromkeys(example.project or example.tool for example in EXAMPLES):
        rows = [example for example in EXAMPLES if (example.project or example.tool) == name]
        batches |= {
            f"{name} {at // BATCH + 1}": tuple(rows[at : at + BATCH]) for at in range(0, len(rows), BATCH)
        }
    return batches


BATCHES = _batches()


def run_batch(folder: Path, project: RedProject, scripts: list[str]) -> tuple[list[Judged], str]:
    """Skips where a program is missing, which PODIUM_REQUIRE=all does not let pass."""
    installed = subprocess.run(["sh", ROOT / "tools/gate_tools.sh"], capture_output=True, check=False)
    path = os.pathsep.join((str(BIN), str(cargo_folder()), os.environ["PATH"]))
    program = project.program or project.run[0]
    if shutil.which(program, path=path) is None or (project.needs_js and installed.returncode):
        pytest.skip(f"{program} is not installed")
    if os.geteuid() and any(PYTHON in script for script in scripts):
        pytest.skip("an ordinary user's step does not see the interpreter of the tests")
    ends, done = judged(
        folder,
        project.files,
        project.gate,
        scripts,
        modules=JS if project.needs_js else None,
        env={"PATH": path},
    )
    return ends, done.out


@pytest.mark.security
@pytest.mark.parametrize("name", BATCHES)
def test_no_steering_file_turns_a_gate_green(tmp_path: Path, name: str) -> None:
    rows = BATCHES[name]

    ends, _ = run_batch(tmp_path, PROJECTS[rows[0].project or rows[0].tool], [row.script for row in rows])

    wrong = [_wrong(row, end) for row, end in zip(rows, ends, strict=True)]
    assert "\n".join(text for text in wrong if text) == ""


def _wrong(row: Steered, end: Judged) -> str:
    is_right = end.is_caught and row.reason in (end.reason, *end.gate_reasons)
    return "" if is_right else f"{row.tool} {row.glob}: {end}"


@pytest.mark.security
def test_every_file_of_every_tool_that_was_run_has_an_example() -> None:
    listed = [(tool.name, file.glob) for tool in TOOLS if tool.tried for file in tool.files]

    assert sorted((example.tool, example.glob) for example in EXAMPLES) == sorted(listed)
    assert len(listed) >= 60

"""The one line that says why a run failed, through the real command and the real test runners (issue: the reason, not the
first characters of the output). The lines are in tests/golden/reasons; PODIUM_WRITE_REASONS=1 writes them again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.e2e.reasons import CASES, PASSED_ON, Case, environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/golden/reasons"
FILE = "w.yaml"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("toolchains")


@pytest.fixture(scope="session")
def js() -> Path | None:
    """Where jest and vitest are, at the versions that were tried."""
    done = subprocess.run(["sh", ROOT / "tools/js_runners.sh"], capture_output=True, check=False)
    return ROOT / ".venv-js/node_modules" if done.returncode == 0 else None


@pytest.mark.parametrize("name", CASES)
def test_every_screen_and_file_gives_the_same_reason(
    tmp_path: Path, cache: Path, js: Path | None, name: str
) -> None:
    case = CASES[name]
    with closing(_project(tmp_path, case)) as project:
        project.env = environment(cache, js)
        for program in case.needs:
            if shutil.which(program, path=project.env["PATH"]) is None:
                pytest.skip(f"{program} is not installed")

        done = project.podium("run", FILE, "--sandbox", "none", timeout_s=300)

        assert done.code == case.code, done.err
        line = project.podium("show", "--json").data()["why"]
        _compare(name, line, project)
        summary = next((project.root / ".podium/runs").glob("*/run_summary.md")).read_text("utf-8")
        escaped = line.replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
        assert f"\n  {line}\n" in done.err
        assert f"\n  {line}\n" in project.podium("show").out
        assert f"\n{escaped}\n" in summary
        assert project.podium("logs", "--failed").out.partition("\n")[0].endswith(line.partition(": ")[2])


def _project(folder: Path, case: Case) -> Project:
    text = f"podium: 1\nname: fails\n{PASSED_ON}{case.steps}"
    cast = {"cast.yaml": case.cast} if case.cast else {}
    return new_project(folder / "place", {FILE: text, **case.files, **cast})


def _compare(name: str, line: str, project: Project) -> None:
    golden = GOLDEN / f"{name.replace(' ', '_')}.txt"
    general = re.sub(re.escape(str(project.folder)), "PROJECT", line)
    if os.environ.get("PODIUM_WRITE_REASONS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(f"{general}\n", "utf-8")
    assert golden.read_text("utf-8") == f"{general}\n"

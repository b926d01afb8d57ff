"""Files in the steps format as its users write them, through the command line: order, artifacts, states and exit codes.

The first lines of a file say what must happen: `# exit: CODE`, `# order: NAMES`, `# file: STEP/NAME = LINES` (lines are
separated by `|`), and so on. Its native form must do the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.kit import Ended, Project, closing, new_project

pytestmark = pytest.mark.slow

FILES = sorted((Path(__file__).parent / "steps_files").glob("*.yaml"))
SHIM = '#!/bin/sh\nif test "$1"; then echo "$@"; fi\ncat\n'
PROMPT = "Say {{ this }} and {% that %}.\n\nNow ${{ mine }}.\n"


def expected(path: Path, key: str) -> list[str]:
    return re.findall(rf"^# {key}: (.*)$", path.read_text("utf-8"), re.MULTILINE)


@pytest.fixture(params=[False, True], ids=["as it is", "converted"])
def is_converted(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "house-shim").write_text(SHIM)
    (shims / "house-shim").chmod(0o755)
    files = {"workspace/prompts/literal.md": PROMPT}
    with closing(new_project(tmp_path, files, git=False)) as made:
        made.env["PATH"] = f"{shims}:{made.environment()['PATH']}"
        yield made


def run(project: Project, path: Path, *, is_converted: bool = False) -> Ended:
    project.put({"flow.yaml": path.read_text("utf-8")})
    native = project.podium("convert", "flow.yaml")
    assert native.code == 0, native.err
    if is_converted:
        project.put({"flow.yaml": native.out})
    project.put({"labels.yaml": native.out})
    return project.podium("run", "flow.yaml", "--sandbox", "none")


def state(project: Project) -> Any:
    [file] = project.root.glob(".podium/runs/*/state.json")
    return json.loads(file.read_text("utf-8"))


def entered(project: Project) -> list[tuple[str, str | None]]:
    """The steps of the author's file in the order in which they began, each with its outcome."""
    native = yaml.safe_load((project.root / "labels.yaml").read_text("utf-8"))
    labels = native.get("labels", {}).get("steps", {})
    rows = project.podium("show", "--json").data()["steps"]
    names = [(re.split(r"[~\[#]", row["path"].rpartition("/")[2])[0], row) for row in rows]
    loops = {row["path"] for _, row in names if row["path"].endswith("]")}
    return [
        (labels.get(name, name), row["outcome"])
        for name, row in names
        if row["path"] not in loops and (not labels or name in labels)
    ]


@pytest.mark.req("R018", "R028", "R046", "R150", "R153", "R154", "R189")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_steps_format_does_what_it_says(
    project: Project, path: Path, is_converted: bool
) -> None:
    done = run(project, path, is_converted=is_converted)

    assert done.code == int(expected(path, "exit")[0]), done.err
    steps = entered(project)
    ran = [name for name, outcome in steps if outcome != "skipped"]
    for order in expected(path, "order"):
        assert ran == order.split(", ")
    for names in expected(path, "set"):
        assert sorted(ran) == sorted(names.split(", "))
    assert [name for name, outcome in steps if outcome == "skipped"] == expected(path, "skipped")
    for line in expected(path, "file"):
        name, _, lines = line.partition(" = ")
        place = project.root / "workspace/artifacts" / name
        assert place.read_text("utf-8") == lines.replace("|", "\n") + "\n"
    for name in expected(path, "absent"):
        assert not (project.root / "workspace" / name).exists()
    for words in expected(path, "error"):
        assert words in done.err
    check_state(project, path)


def check_state(project: Project, path: Path) -> None:
    written = state(project)
    assert written["status"] == ("completed" if expected(path, "exit") == ["0"] else "failed")
    own_names = set(re.findall(r'name: "?([^",}\n]+)', path.read_text("utf-8")))
    assert set(written["steps"]) <= own_names
    for line in expected(path, "state"):
        place, _, value = line.partition(" = ")
        step, _, field = place.rpartition(".")
        assert str(written["steps"][step][field]) == value
    for line in expected(path, "context"):
        key, _, value = line.partition(" = ")
        assert written["context"][key] == value
    for step in expected(path, "spilled"):
        row = written["steps"][step]
        assert row["output"].endswith("\n[truncated]")
        assert Path(row["spill_stdout_path"]).read_text() == "x" * 200000 + "\n"
        assert Path(row["spill_stderr_path"]).read_text() == "e" * 20000

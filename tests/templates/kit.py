"""A project whose checks can fail or pass, and workflows in it that extend the shipped templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from podium.core.state import State
from podium.core.types import Address
from podium.workflow.source.files import SHIPPED
from tests.engine.kit import Project

TEMPLATES: Final = sorted(path.stem for path in (SHIPPED / "templates").glob("*.yaml"))
INPUTS: Final[dict[str, dict[str, Any]]] = {
    "fix_failing_ci": {},
    "migrate_each_file": {"instruction": "Use new.", "pattern": "old"},
    "scan_fix_verify": {},
}
TASK: Final = {"task": "Greet the reader"}

TEAM: Final = """\
agents:
  claude: {type: scripted, script: cast.yaml}
  codex: {type: scripted, script: cast.yaml}
  gemini: {type: scripted, script: cast.yaml}
"""
MAKEFILE: Final = """\
test lint test-unit test-integration ci docs-check:
\t@test ! -e red || { echo "red at $@"; exit 1; }
scan:
\t@grep -rl BAD src || true
"""


def child(template: str, more: str = "") -> str:
    return f"podium: 1\nname: mine\nextends: {template}\n{TEAM}{more}"


def project_with(
    root: Path, template: str, *, cast: str = "[]\n", more: str = "", **files: str
) -> tuple[Project, Path]:
    """A repository with a workflow that extends a template; a cast simulates the agents."""
    project = Project(root)
    project.write("Makefile", MAKEFILE)
    project.write("cast.yaml", cast)
    for name, text in files.items():
        project.write(name.replace("__", "/"), text)
    file = project.write("flow.yaml", child(template, more))
    project.commit()
    return project, file


def inputs_of(template: str) -> dict[str, Any]:
    return INPUTS.get(template, TASK)


def path_of(state: State) -> list[str]:
    """The steps of the top block in the order they were entered, each with its outcome unless it passed."""
    steps = []
    for path, instance in state.instances.items():
        if path and not set("/#[") & set(path) and instance.ending is not None:
            ending = instance.ending.outcome
            steps.append(path if ending == "passed" else f"{path}:{ending}")
    return steps


def status(state: State) -> str:
    ending = state.instances[Address("")].ending
    return "open" if ending is None else ending.outcome

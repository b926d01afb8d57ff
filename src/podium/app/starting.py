"""A first workflow for a project: what proves a change there, found by looking."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

WORKFLOW: Final = Path("workflows/change.yaml")
IGNORED: Final = ".podium/"

TEXT: Final = """\
# yaml-language-server: $schema=podium.schema.json
podium: 1
name: change
description: One change, planned, made, proven, judged, and landed after your yes.
inputs:
  task: {{type: string, help: "What should be different afterwards."}}
limits: {{usd: 5, time: 1h}}
{gates}
steps:
  plan:
    role: planner
    prompt: "Plan this change: {{{{ inputs.task }}}}"
    output: {{schema: Plan}}
  implement:
    role: implementer
    prompt: |
      Make this change: {{{{ inputs.task }}}}

      The plan: {{{{ steps.plan.output | json }}}}
{used}  review:
    review: reviewer
    of: implement
    on: {{rejected: implement}}
  approve:
    human: Land this change?
    show: [diff, verdicts, cost]
    on: {{rejected: implement}}
  land:
    git: {{land: "${{{{ run.branch }}}}", message: "${{{{ steps.plan.output.title }}}}"}}
"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Files to write, by path; `tests` is the command that was found, if any."""

    files: dict[Path, str]
    tests: tuple[str, ...] | None
    kept: tuple[Path, ...]
    """Files that are there already and stay as they are."""


def propose(project: Path) -> Proposal:
    tests = test_command(project)
    gates = f"gates:\n  tests: {{run: {json.dumps(list(tests))}}}\n" if tests else ""
    text = TEXT.format(gates=gates, used="    gates: [tests]\n" if tests else "")
    files = {WORKFLOW: text}
    ignore = project / ".gitignore"
    old = ignore.read_text("utf-8") if ignore.exists() else ""
    if (project / ".git").exists() and IGNORED not in old.splitlines():
        files[Path(".gitignore")] = old + ("" if not old or old.endswith("\n") else "\n") + IGNORED + "\n"
    kept = (WORKFLOW,) if (project / WORKFLOW).exists() else ()
    return Proposal({path: text for path, text in files.items() if path not in kept}, tests, kept)


def write(project: Path, proposal: Proposal) -> None:
    for path, text in proposal.files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, "utf-8")


def test_command(project: Path) -> tuple[str, ...] | None:
    """What runs the tests here, by the files that say so; None where nothing does."""
    if (project / "package.json").is_file() and _has_npm_test(project / "package.json"):
        return ("npm", "test", "--silent")
    if any((project / name).is_file() for name in ("Cargo.toml",)):
        return ("cargo", "test", "--quiet")
    if (project / "go.mod").is_file():
        return ("go", "test", "./...")
    python = any(
        (project / name).is_file() for name in ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini")
    )
    if python or any(project.glob("test_*.py")) or any(project.glob("tests/test_*.py")):
        return ("python3", "-m", "pytest", "-q")
    makefile = project / "Makefile"
    if makefile.is_file() and any(
        line.startswith("test:") for line in makefile.read_text("utf-8", "replace").splitlines()
    ):
        return ("make", "test")
    return None


def _has_npm_test(path: Path) -> bool:
    try:
        scripts = json.loads(path.read_text("utf-8")).get("scripts", {})
    except (ValueError, OSError, AttributeError):
        return False
    return isinstance(scripts, dict) and "no test specified" not in str(
        scripts.get("test", "no test specified")
    )

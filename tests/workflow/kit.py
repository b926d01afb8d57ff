"""Small projects for tests of merging: writes files in a folder, merges them and returns the result."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from podium.workflow.merge.merge import Merged, merge
from podium.workflow.merge.sources import Sources, gather

EXAMPLES = Path(__file__).parent / "examples"

BASE_ROLES = [
    "auditor",
    "implementer",
    "implementer_fast",
    "investigator",
    "orchestrator",
    "planner",
    "quality_gate",
    "reviewer",
    "reviewer_codex",
    "reviewer_gemini",
    "security_auditor",
    "synthesizer",
    "tech_lead",
    "test_engineer",
    "ui_designer",
    "writer",
]


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Writes the files and makes the folder a project."""
    (folder / ".podium").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
    return folder


def with_templates(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A project with the templates of the examples."""
    shutil.copytree(EXAMPLES / "templates", folder / ".podium" / "templates")
    return write(folder, files or {})


def gather_sources(folder: Path, name: str = "flow.yaml", **options: Any) -> Sources:
    return gather(folder / name, project_root=folder, **options)


def merge_project(folder: Path, name: str = "flow.yaml", **options: Any) -> Merged:
    return merge(gather_sources(folder, name, **options))


def messages(merged: Merged) -> list[str]:
    """The problems as text, with file names instead of paths."""
    return [
        f"{Path(problem.file).name}:{problem.line}: {problem.message}" for problem in sorted(merged.problems)
    ]


def merge_child(folder: Path, parent: str, child: str) -> Merged:
    """Merges a flow.yaml that extends base.yaml; both may omit the header."""
    head = "podium: 1\n"
    files = {"base.yaml": head + dedent(parent), "flow.yaml": head + "extends: base\n" + dedent(child)}
    return merge_project(write(folder, files))

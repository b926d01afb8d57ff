"""The demo: a small repository in a folder of its own, ready to be worked on by a scripted team."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from podium.git.command import Git, run
from podium.workflow.source import yaml

DATA: Final = Path(__file__).parents[2] / "data/demo/demo.yaml"
WORKFLOW: Final = Path("workflows/fix_cart.yaml")


def set_up(folder: Path) -> None:
    """Writes the project and commits it; the folder must be empty."""
    files: dict[str, Any] = yaml.read(DATA).value["files"]
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    bare = Git(folder / ".git")
    run(bare, "init", "--quiet", "--initial-branch=main")
    for key, value in (("user.name", "Podium demo"), ("user.email", "demo@podium.invalid")):
        run(bare, "config", key, value)
    git = replace(bare, work_tree=folder)
    run(git, "add", "--all")
    run(git, "commit", "--quiet", "--message=A cart whose tests fail")


def test_command() -> tuple[list[str], str]:
    """What runs the tests of the demo, and its name: pytest where it is installed, else what Python brings."""
    if find_spec("pytest") is not None:
        return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], "pytest"
    return [sys.executable, "-m", "unittest", "-q"], "unittest"

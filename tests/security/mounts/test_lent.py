"""A link that a step left in the place of a toolchain folder of the project shows no later process a folder of the user.

Only a step in the project itself can leave one: what git ignores stays there and is not captured (issue 16, A1).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from tests.e2e.kit import Project, closing, new_project
from tests.security.containers import PYTHON_IMAGE, ordinary_storage
from tests.security.kit import as_ordinary_user, podium_as

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(bubblewrap_probe.probe() is not None, reason="bubblewrap does not hold here"),
]

NAMES: Final = (".venv", "venv", "node_modules", "env")
FOLDERS: Final = (".", "sub", "sub/below")
PLACES: Final = tuple(f"{folder}/{name}" for folder in FOLDERS for name in NAMES)
READERS: Final = ("at_the_top", "in_sub", "below", "agent", "reviewer")
PLANT: Final = f"""import os
for place in {PLACES!r}:
    if not os.path.lexists(place):
        os.symlink(PRIVATE, place)
print("planted")
"""
LOOK: Final = f"""import json, os, sys
seen = []
top = PROJECT
for place in (PRIVATE, *(f"{{top}}/{{each}}" for each in {PLACES!r})):
    for name in ("key", "bin/key"):
        try:
            with open(f"{{place}}/{{name}}") as file:
                seen.append(f"{{place}}: {{file.read(20)}}")
        except OSError:
            pass
fields = dict(line.strip().split(": ") for line in sys.stdin if line.startswith(("nonce: ", "tree: ")))
print(json.dumps({{"decision": "approve", "score": 8, "findings": [], "summary": f"LOOKED {{seen}}", **fields}}))
"""


@pytest.mark.parametrize("level", ["bubblewrap", "container"])
@pytest.mark.parametrize("writer", ["command", "agent"])
@pytest.mark.req("R182")
def test_a_link_in_the_place_of_a_toolchain_shows_no_folder_of_the_user(writer: str, level: str) -> None:
    """Also in the next run, which takes the folders that it finds at its start for the toolchain of the user."""
    if level == "container" and ordinary_storage().startswith("("):
        pytest.skip(ordinary_storage())
    with _project(writer, level) as project:
        for _ in range(2):
            args = () if level == "container" else ("--sandbox", level)
            done = podium_as(project, as_ordinary_user, "run", "workflow.yaml", "--json", "--no-human", *args)
            assert done.code == 0, done.err + done.out

        with project.store() as store:
            said = json.dumps([project.events(head.run) for head in store.heads()])
        assert said.count("planted") >= 2
        assert said.count("LOOKED") >= 2 * len(READERS), said
        assert "SECRET" not in said, said[said.index("SECRET") - 300 :][:600]


@contextmanager
def _project(writer: str, level: str) -> Iterator[Project]:
    with tempfile.TemporaryDirectory(prefix="podium-lent-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        private = folder / "place/home/private"
        files = {
            "src/app.py": "x = 1\n",
            "sub/below/file": "",
            ".gitignore": ".podium/\n.venv\nvenv\nnode_modules\nenv\n",
            "workflow.yaml": _workflow(writer, level),
        }
        project = new_project(folder / "place", files)
        with closing(project):
            for script, text in (("plant.py", PLANT), ("look.py", LOOK)):
                text = text.replace("PRIVATE", repr(str(private))).replace("PROJECT", repr(str(project.root)))
                project.commit({script: text}, script)
            for place in (private, *(private / each for each in NAMES)):
                (place / "bin").mkdir(parents=True)
                (place / "key").write_text("SECRET\n")
                (place / "bin/key").write_text("SECRET\n")
            project.env["PATH"] = f"{project.root}/env/bin:{project.environment()['PATH']}"
            if level == "container":
                settings = project.home / ".config/containers/storage.conf"
                settings.parent.mkdir(parents=True)
                settings.write_text(ordinary_storage())
            yield project


def _workflow(writer: str, level: str) -> str:
    plant = {"command": "run: python3 plant.py", "agent": "agent: planter, prompt: go, no_change: pass"}[
        writer
    ]
    sandbox = json.dumps({"level": level, "image": PYTHON_IMAGE}) if level == "container" else level
    look = "retry: 1, on: {failed: next, error: next}"
    return f"""
podium: 1
name: lent
sandbox: {sandbox}
agents:
  planter: {{type: command, command: "python3 plant.py", price: {{input: 0, output: 0}}}}
  looker: {{type: command, command: "python3 look.py", price: {{input: 0, output: 0}}}}
steps:
  plant: {{{plant}, workspace: inplace, touches: ["**"], {look}}}
  at_the_top: {{run: python3 look.py, {look}}}
  in_sub: {{run: python3 ../look.py, dir: sub, {look}}}
  below: {{run: python3 ../../look.py, dir: sub/below, {look}}}
  agent: {{agent: looker, prompt: go, no_change: pass, {look}}}
  reviewer: {{review: looker}}
"""

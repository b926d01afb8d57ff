"""What `podium init` writes is not passed by cheating either: its workflow runs as it is, only the agents are replaced.

Each attempt of the worker tries another cheat, so one run shows several.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.rust import cargo_folder
from tests.security.gates.batch import link_modules
from tests.security.gates.cheats import CARGO_SUITE, GO_SUITE, SUITES
from tests.security.gates.corpus import CASES, put
from tests.security.gates.steering import JS
from tests.security.gates.tools import BIN, TOOLS

FREE: Final = "price: {input: 0, output: 0}"
CONFIG: Final = f"agents:\n  claude: {{type: scripted}}\n  worker: {{type: command, command: [bash, -c, WORKER], {FREE}}}\n"
NODE_PACKAGE: Final = '{"name": "p", "version": "1.0.0", "scripts": {"test": "node --test tests/"}}\n'
PROJECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "pytest": TOOLS["pytest"].files,
    "unittest": TOOLS["unittest"].files,
    "npm": {**TOOLS["node"].files, "package.json": NODE_PACKAGE},
    "go": GO_SUITE.project.files,
    "cargo": CARGO_SUITE.project.files,
    "vitest": SUITES["vitest"].project.files,
}


def _cases(tool: str, *names: str) -> list[str]:
    scripts = {case.name: case.script for case in CASES if case.tool == tool}
    return [scripts[name] for name in names]


CHEATS: Final[Mapping[str, tuple[str, list[str]]]] = {
    "pytest, tests": ("pytest", _cases("pytest", "the test is weakened", "the test is skipped by a mark", "the test is deleted")),
    "pytest, settings": ("pytest", _cases("pytest", "pytest.toml takes over", "a conftest at the top turns failures into passes", "the code leaves the process")),
    "unittest": ("unittest", _cases("unittest", "the test is weakened", "load_tests finds none", "a module named unittest")),
    "npm, tests": ("npm", _cases("node", "the test is weakened", "the code leaves the process", "the test is skipped")),
    "npm, settings": ("npm", ["sed -i 's/node --test/true/' package.json", put(".npmrc", "script-shell=/bin/true"), _cases("node", "the test is deleted")[0]]),
    "go": ("go", [GO_SUITE.cheats[name] for name in ("skipped", "TestMain leaves", "code leaves at the start")]),
    "cargo": ("cargo", [CARGO_SUITE.cheats[name] for name in ("skipped", "inline test removed", "code leaves when called")]),
    "vitest": ("vitest", [SUITES["vitest"].cheats[name] for name in ("rewritten", "snapshot adapted", "process left")]),
}  # fmt: skip


def project_of(folder: Path, tool: str, scripts: list[str]) -> Project:
    project = new_project(folder, PROJECTS[tool])
    project.env["PATH"] = os.pathsep.join((str(BIN), str(cargo_folder()), os.environ["PATH"]))
    if tool == "vitest":
        link_modules(project.root / "node_modules", JS)
    made = project.podium("init", "--yes", "--json", timeout_s=300)
    assert made.code == 0, made.err
    assert "tests" in [gate["name"] for gate in made.data()["gates"]], made.out
    role = project.root / ".podium/roles/implementer.yaml"
    role.write_text(f"{role.read_text('utf-8')}agent: worker\n", "utf-8")
    # The feedback names the gates of earlier attempts.
    worker = 'prompt=$(cat)\ncase "$prompt" in *implement#2*) n=3;; *implement#1*) n=2;; *) n=1;; esac\ncase $n in\n'
    worker += "".join(f"{number})\n{script}\n;;\n" for number, script in enumerate(scripts, 1))
    config = CONFIG.replace("WORKER", json.dumps(f"{worker}esac\necho done\n"))
    project.commit({".podium/config.yaml": config}, "with a workflow")
    return project


@pytest.mark.security
@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_gets_past_what_init_wrote(tmp_path: Path, name: str) -> None:
    tool, scripts = CHEATS[name]
    program = {"vitest": "npx"}.get(tool, tool if tool in ("npm", "go", "cargo") else "python3")
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    with closing(project_of(tmp_path, tool, scripts)) as project:
        before = project.git("rev-parse", "main")
        done = project.podium(
            "run", "workflows/change.yaml", "-i", "task=mend it", "--json", "--no-human", timeout_s=600
        )

        steps = {step["path"]: step for step in done.data()["steps"]}
        gates = [step for path, step in steps.items() if path.startswith("implement#")]
        assert done.code == 1, done.out
        assert steps["implement"]["attempts"] == len(scripts), done.out
        assert gates and all(gate["outcome"] == "failed" for gate in gates if "/tests" in gate["path"])
        assert project.git("rev-parse", "main") == before

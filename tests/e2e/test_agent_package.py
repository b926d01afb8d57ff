"""An agent of a package outside Podium: found by its entry point in real processes, with no line of Podium changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.adapters.agents.registry import BUILT_IN
from podium.adapters.sandboxes import bubblewrap_probe
from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples/agent_package"
KEY = "sk-painter-of-nobody-4711"
SANDBOX = ("--sandbox", "auto" if bubblewrap_probe.probe() is None else "limits")
"""The agent asks for bubblewrap; on a machine without it the user types a weaker sandbox."""


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What installing the package leaves: its modules and its metadata, from a real wheel."""
    folder = tmp_path_factory.mktemp("painter")
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    built = subprocess.run(
        [sys.executable, "-c", code], cwd=EXAMPLE, capture_output=True, text=True, timeout=120, check=False
    )
    assert built.returncode == 0, built.stderr
    with zipfile.ZipFile(folder / built.stdout.split()[-1]) as wheel:
        wheel.extractall(folder / "host")
    return folder / "host"


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with the program of the agent; on a disk, because a sandbox shows no programs below /dev."""
    with tempfile.TemporaryDirectory(prefix="podium-painter-", dir="/var/tmp") as folder:
        program = Path(folder) / "painter"
        stand_in = (EXAMPLE / "tests/painter").read_text()
        program.write_text(stand_in.replace("#!/usr/bin/env python3", f"#!{sys.executable} -IS"))
        program.chmod(0o755)
        program.parent.chmod(0o755)
        yield program.parent


@pytest.fixture
def project(tmp_path: Path, site_packages: Path, programs: Path) -> Iterator[Project]:
    files = {"flow.yaml": (EXAMPLE / "workflow.yaml").read_text()}
    with closing(new_project(tmp_path / "p", files)) as own:
        own.python_path.append(str(site_packages))
        own.env |= {"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "PAINTER_KEY": KEY}
        yield own


@pytest.mark.req("R013", "R057", "R060", "R225")
def test_it_runs_a_workflow_by_the_launch_path_of_all_agents(project: Project) -> None:
    done = project.podium("run", "flow.yaml", "--yes", *SANDBOX)

    assert done.code == 0, done.err
    run = project.run_id()
    ended = [event for event in project.events(run) if event["type"] == "AttemptEnded"]
    assert [event["kind"] for event in ended] == ["ok", "ok"]
    logs = project.root / ".podium/runs" / run / "agent_logs/paint/1"
    attempt = json.loads((logs / "attempt.json").read_text())
    assert (attempt["type"], attempt["model"], attempt["cost_usd"]) == ("painter", "watercolour-1", 0.02)
    assert (attempt["cost_source"], attempt["usage"]["output"]) == ("reported", len("The shed is green."))
    assert "--colour=green" in attempt["command"]
    written = [path for path in (project.root / ".podium").rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def test_validate_holds_a_file_to_what_the_agent_can_do(project: Project) -> None:
    assert project.podium("validate", "flow.yaml").code == 0

    text = (project.root / "flow.yaml").read_text()
    wrong = text.replace("colour: green", "colour: pink, couleur: red").replace(
        "prompt:", "tools: [read]\n    prompt:"
    )
    project.put({"wrong.yaml": wrong, "typo.yaml": text.replace("agent: painter", "agent: paintr")})

    told = project.podium("validate", "wrong.yaml")
    assert told.code == 2
    assert '"colour" must be red, green or blue' in told.out
    assert (
        'agent "painter" of type painter has an unknown key "couleur"\n  hint: did you mean "colour"?'
        in told.out
    )
    assert "painter cannot enforce tools: [read]" in told.out
    assert (
        'agent "paintr" does not exist\n  hint: did you mean "painter"?'
        in project.podium("validate", "typo.yaml").out
    )


def test_the_agent_needs_no_settings(project: Project) -> None:
    text = (project.root / "flow.yaml").read_text()
    project.commit({"flow.yaml": re.sub(r"agents:\n.*\n", "", text).replace("green", "red")}, "bare")

    done = project.podium("run", "flow.yaml", "--yes", *SANDBOX)

    assert done.code == 0, done.err
    assert "red" in project.podium("diff").out


def test_agents_and_doctor_list_it_with_its_program_and_its_key(project: Project) -> None:
    listed = project.podium("agents", "--json").data()
    (painter,) = [one for one in listed["agents"] if one["name"] == "painter"]
    assert (painter["works"], painter["version"], painter["tested"]) == (True, "1.2.0", "1.2.0")
    assert (painter["auth"], painter["wanting"]) == ("PAINTER_KEY (set)", "")
    (row,) = [row for row in listed["matrix"] if row["type"] == "painter"]
    assert (row["tools"], row["price"], row["needs"]) == (False, "reported", "bubblewrap")

    assert project.podium("doctor", "flow.yaml", "--sandbox", "limits").code == 0
    del project.env["PAINTER_KEY"]
    told = project.podium("doctor", "flow.yaml", "--sandbox", "limits")
    assert told.code == 1
    assert 'painter: PAINTER_KEY is not set: export it; needed by "paint" (line 6)' in told.out
    refused = project.podium("run", "flow.yaml", "--yes", "--sandbox", "limits")
    assert (refused.code, "PAINTER_KEY is not set" in refused.err) == (2, True)


def test_it_passes_the_shipped_contract_suite(project: Project) -> None:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "tests")
    done = subprocess.run(
        command,
        cwd=EXAMPLE,
        env={**project.environment(), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 20


@pytest.mark.parametrize(
    ("name", "text", "fact"),
    [
        ("painter", "import paint_of_nobody", "importing podium_painter:AGENT failed: ModuleNotFoundError"),
        ("painter", "AGENT = {'name': 'painter'}", "podium_painter:AGENT must be an AgentType, not dict"),
        ("claude", None, "Podium itself has an agent or a word of that name"),
    ],
)
def test_a_registration_that_cannot_be_used_is_told_with_its_package_and_the_next_step(
    project: Project, tmp_path: Path, name: str, text: str | None, fact: str
) -> None:
    """Looking at all agents tells it beside the list; a file that names the agent is refused."""
    host = tmp_path / "host"
    info = host / "podium_painter-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: podium-painter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[podium.agents]\n{name} = podium_painter:AGENT\n")
    (host / "podium_painter").mkdir()
    code = (EXAMPLE / "src/podium_painter/__init__.py").read_text() if text is None else f"{text}\n"
    (host / "podium_painter/__init__.py").write_text(code)
    project.python_path[:] = [str(host)]
    message = f'package podium-painter 1.0: its agent "{name}" cannot be used: {fact}'
    hint = "hint: update it: pip install --upgrade podium-painter; or remove it: pip uninstall podium-painter"

    listed = project.podium("agents", "--json")
    assert listed.code == 0
    assert message in listed.err
    assert hint in listed.err
    assert len([one for one in listed.data()["agents"] if one["name"] == name]) == (name in BUILT_IN)
    assert message in project.podium("doctor").err

    if name not in BUILT_IN:
        for command in (("validate", "flow.yaml"), ("run", "flow.yaml", "--yes"), ("agents", "flow.yaml")):
            refused = project.podium(*command)
            assert (refused.code, message in refused.err, hint in refused.err) == (2, True, True), refused

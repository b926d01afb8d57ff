"""What a command imports is most of the time that a person waits for it, so what it does not need stays out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PLAIN = 'podium: 1\nname: plain\nsteps:\n  test: {run: make test}\n  ask: {human: "Go on?"}\n'
BROKEN = PLAIN.replace("run: make test", "rum: make test")
AGENTS = """\
podium: 1
name: agents
roles: {painter: {agent: claude, prompt: Paint the shed}}
steps:
  paint: {role: painter, gates: [{review: codex}]}
  look: {review: reviewer}
"""

SHOW = """\
import sys
from podium.frontends.cli.main import run_command
try:
    run_command()
finally:
    sys.stdout.flush()
    print(*sorted(sys.modules), file=sys.stderr)
"""

THE_RUN = ("podium.core.decide", "podium.core.evolve", "podium.core.events", "podium.core.state")
THE_WORLD = ("asyncio", "anyio", "apsw", "podium.ports", "podium.process", "podium.simulate", "watchfiles")


def modules(*arguments: str, cwd: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", SHOW, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.req("C23")
def test_help_needs_no_part_but_the_command_line(tmp_path: Path) -> None:
    ours = {name for name in modules("--help", cwd=tmp_path) if name.startswith("podium.")}

    assert ours == {
        "podium.errors",
        "podium.frontends",
        "podium.frontends.cli",
        "podium.frontends.cli.import_path",
        "podium.frontends.cli.main",
        "podium.frontends.cli.streams",
    }


@pytest.mark.parametrize("text", [PLAIN, BROKEN])
def test_validate_needs_neither_the_run_nor_the_world(tmp_path: Path, text: str) -> None:
    (tmp_path / "workflow.yaml").write_text(text)
    found = modules("validate", "workflow.yaml", cwd=tmp_path)

    assert "podium.workflow.load" in found
    assert not found & {*THE_RUN, *THE_WORLD}


def test_validate_reads_of_an_agent_only_its_registration(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(AGENTS)
    found = modules("validate", "agents.yaml", cwd=tmp_path)

    assert {name for name in found if name.startswith("podium.adapters.agents.")} == {
        "podium.adapters.agents.registry",
        "podium.adapters.agents.claude",
        "podium.adapters.agents.codex",
    }
    assert not found & {*THE_RUN, *THE_WORLD, "importlib.metadata", "podium.ports.agent"} - {"podium.ports"}


def test_a_run_imports_only_the_kinds_of_work_that_its_steps_need(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text("podium: 1\nname: notes\nsteps:\n  note: {set: {x: 1}}\n")
    imported = modules("run", "workflow.yaml", cwd=tmp_path)

    assert "podium.engine.loop" in imported
    assert not imported & {
        "genai_prices",
        "importlib.metadata",
        "jinja2",
        "podium.adapters.sandboxes.bubblewrap_probe",
        "podium.attempt.agent.run",
        "podium.attempt.command.run",
        "podium.attempt.landing.land",
        "podium.simulate.run",
        "podium.workflow.dialects.steps.translate",
    }


def test_looking_at_runs_needs_neither_their_definition_nor_the_rules(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text("podium: 1\nname: notes\nsteps:\n  note: {set: {x: 1}}\n")
    modules("run", "workflow.yaml", cwd=tmp_path)

    for command in ("runs", "inbox", "show"):
        imported = modules(command, cwd=tmp_path)
        assert "podium.views.run.builder" in imported, command
        unneeded = {
            "asyncio",
            "socket",
            "yaml",
            "podium.core.model",
            "podium.core.state",
            "podium.core.evolve",
        }
        assert not imported & unneeded, command


@pytest.mark.req("C23")
def test_only_a_watch_that_waits_needs_watchfiles(tmp_path: Path) -> None:
    assert "watchfiles" not in modules("watch", "--help", cwd=tmp_path)


def test_validate_compiles_only_what_has_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "plain.yaml").write_text(PLAIN)
    (tmp_path / "broken.yaml").write_text(BROKEN)

    assert "podium.workflow.compile" in modules("validate", "plain.yaml", cwd=tmp_path)
    assert "podium.workflow.compile" not in modules("validate", "broken.yaml", cwd=tmp_path)


COUNT_LOADS = """\
import sys
from podium.app.author import load
from podium.frontends.cli.main import run_command
before, count = load.load, 0
def counted(*args, **options):
    global count
    count += 1
    return before(*args, **options)
load.load = counted
try:
    run_command()
finally:
    print(count, file=sys.stderr)
"""


@pytest.mark.slow
def test_the_first_run_of_a_project_reads_its_workflow_once(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("podium: 1\nname: w\nsteps:\n  note: {set: {x: 1}}\n")
    done = subprocess.run(
        [sys.executable, "-c", COUNT_LOADS, "run", "w.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stderr.splitlines()[-1] == "1"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--help",), ("schema",)])
def test_output_that_cannot_be_written_is_not_lost_silently(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "podium", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode != 0
    assert "No space left on device" in done.stderr

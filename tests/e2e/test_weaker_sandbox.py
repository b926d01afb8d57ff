"""A file never weakens the sandbox by itself (issue 16, A3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = "podium: 1\nname: w\n"
AGENT = "agents: {tool: {type: command, command: [sh, -c, 'echo hello'], price: {input: 0, output: 0}}}\n"
STEP = "steps:\n  a: {role: writer_of_a_pack, prompt: Go., no_change: pass}\n"
ROLE = "description: writes\nagent: tool\n"
PLACES = {
    "workflow": ({"w.yaml": FLOW + "sandbox: VALUE\nsteps: {a: {run: [echo, hello]}}\n"}, "w.yaml:3:10"),
    "step": ({"w.yaml": FLOW + "steps:\n  a: {run: [echo, hello], sandbox: VALUE}\n"}, "w.yaml:4:36"),
    "gate": (
        {
            "w.yaml": FLOW
            + AGENT
            + "steps:\n  a: {agent: tool, prompt: Go., gates: [{run: x, sandbox: VALUE}]}\n"
        },
        "w.yaml:5:59",
    ),
    "role": (
        {"w.yaml": FLOW + AGENT + STEP, ".podium/roles/writer_of_a_pack.yaml": ROLE + "sandbox: VALUE\n"},
        "writer_of_a_pack.yaml:3:10",
    ),
    "parent_of_a_role": (
        {
            "w.yaml": FLOW + AGENT + STEP,
            ".podium/roles/writer_of_a_pack.yaml": "extends: loose\n",
            ".podium/roles/loose.yaml": ROLE + "sandbox: {level: VALUE}\n",
        },
        "loose.yaml:3:18",
    ),
    "template": (
        {
            "w.yaml": FLOW + "extends: base.yaml\n",
            "base.yaml": "podium: 1\nsandbox: VALUE\nsteps: {a: {run: [echo, hello]}}\n",
        },
        "base.yaml:2:10",
    ),
    "called_workflow": (
        {
            "w.yaml": FLOW + "steps: {a: {workflow: other.yaml}}\n",
            "other.yaml": "podium: 1\nname: other\nsandbox: VALUE\nsteps: {a: {run: [echo, hello]}}\n",
        },
        "other.yaml:3:10",
    ),
}


def attempts(project: Project) -> list[dict[str, object]]:
    with project.store() as store:
        runs = [head.run for head in store.heads()] if store is not None else []
    return [event for run in runs for event in project.events(run) if event["type"] == "AttemptStarted"]


@pytest.mark.parametrize("level", ["none", "limits"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.req("R182")
def test_a_weaker_sandbox_in_a_file_starts_nothing_until_it_is_typed(
    place: str, level: str, tmp_path: Path
) -> None:
    files, where = PLACES[place]
    written = {name: text.replace("VALUE", level) for name, text in files.items()}
    with closing(new_project(tmp_path, written)) as project:
        refused = project.podium("run", "w.yaml")

        assert (refused.code, attempts(project)) == (2, [])
        assert f"{where}: sandbox: {level} is weaker than the default" in refused.err
        assert f"type --sandbox {level} for this run" in refused.err
        typed = project.podium("run", "w.yaml", "--sandbox", level, "--json")
        assert (typed.code, bool(attempts(project))) == (1 if place == "gate" else 0, True), typed.err


@pytest.mark.parametrize("place", ["workflow", "step", "role"])
@pytest.mark.req("R182")
def test_an_open_network_in_a_file_starts_nothing_until_it_is_typed(place: str, tmp_path: Path) -> None:
    files, _ = PLACES[place]
    written = {name: text.replace("sandbox: VALUE", "network: open") for name, text in files.items()}
    with closing(new_project(tmp_path, written)) as project:
        refused = project.podium("run", "w.yaml")

        assert (refused.code, attempts(project)) == (2, [])
        assert "network: open is more than the default" in refused.err
        assert project.podium("run", "w.yaml", "--set", "network=open").code == 0


@pytest.mark.req("R182")
def test_the_configuration_of_the_project_allows_a_weaker_sandbox(tmp_path: Path) -> None:
    files, _ = PLACES["step"]
    written = {name: text.replace("VALUE", "limits") for name, text in files.items()}
    with closing(new_project(tmp_path, written)) as project:
        project.put({".podium/config.yaml": "sandbox: limits\n"})

        assert project.podium("run", "w.yaml").code == 0


@pytest.mark.req("R182")
def test_installing_a_role_shows_what_it_asks_for_first(tmp_path: Path) -> None:
    role = (
        'description: "writes \\x1b[31m"\nagent: claude\nsandbox: none\nnetwork: [a.example]\ntools: [read, shell]\n'
        "gates: [{run: make check, network: open}]\n"
    )
    with closing(new_project(tmp_path, {"pack/roles/loose.yaml": role})) as project:
        shown = project.podium("roles", "install", "pack")

        for line in (
            'sandbox: "none"',
            'network: ["a.example"]',
            'tools: ["read", "shell"]',
            "runs: make check",
        ):
            assert f"    {line}" in shown.err
        assert '    network: "open" (gate)' in shown.err
        assert "\x1b" not in shown.err
        assert not (project.root / ".podium/roles").exists(), "nothing is installed without a yes"

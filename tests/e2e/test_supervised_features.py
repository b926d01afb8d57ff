"""Features of the supervisor format: interfaces that their own tools check, and components with ids."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.kit import Project
from tests.e2e.supervised import FLOW, run, supervised

pytestmark = pytest.mark.slow

BUILD = """\
podium: 1
name: change
inputs: {task: string}
steps:
  feature:
    build: feature.yaml
    component: {role: implementer, prompt: "{{ component.id }}", retry: 1}
"""
FEATURE = """\
feature:
  id: P1T5
  title: User Authentication System
  phases:
    - id: backend
      sequence: 1
      components:
        - {id: user_model, files: [models/user.py]}
        - {id: auth_service, files: [services/auth.py], depends_on: [user_model]}
      interfaces:
        - {name: %s, type: %s, definition: %s}
    - id: frontend
      sequence: 2
      components: [{id: login_form, files: [ui/login.ts], depends_on: [backend.auth_service]}]
"""
CAST = """\
- {match: {prompt: user_model}, write: {models/user.py: "x: int = 1\\n"}}
- {match: {prompt: auth_service}, write: {services/auth.py: "y: int = 2\\n"}}
- {match: {prompt: login_form}, write: {ui/login.ts: form}}
"""


def install(project: Project, name: str, text: str) -> None:
    programs = project.folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    (programs / name).chmod(0o755)
    project.env["PATH"] = f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin"


@pytest.mark.req("R169")
@pytest.mark.parametrize(
    ("kind", "file", "program"),
    [
        ("typescript_interface", "types/Login.d.ts", 'tsc:test "$*" = "--noEmit --project ."'),
        ("openapi", "api/Login.yaml", 'openapi-spec-validator:test -f "$1"'),
        ("json_schema", "schemas/Login.json", 'check-jsonschema:test -f "$2"'),
        ("go", "interfaces/Login.go", 'go:test "$*" = "vet ./..."'),
    ],
)
def test_an_interface_is_written_where_its_tool_expects_it_and_checked_after_each_component(
    tmp_path: Path, kind: str, file: str, program: str
) -> None:
    feature = FEATURE % ("Login", kind, "words")
    with supervised(tmp_path, {FLOW: BUILD, "feature.yaml": feature}, CAST) as project:
        name, _, text = program.partition(":")
        install(project, name, f"test -f {file} && {text} && test ! -f services/auth.py")
        done = run(project, "--no-human")
        assert done.code == 1, done.out + done.err
        paths = {step["path"]: step["outcome"] for step in done.data()["steps"]}
        assert paths["feature/phases[1]/components[1]#1/interface_login"] == "passed"
        assert paths["feature/phases[1]/components[2]#1/interface_login"] == "failed"


@pytest.mark.req("R169")
def test_mypy_checks_the_implementation_of_a_python_interface(tmp_path: Path) -> None:
    feature = FEATURE % ("store", "python_protocol", '"class Store: ...\\n"')
    cast = CAST.replace("y: int = 2", "y: int = 'two'")
    with supervised(tmp_path, {FLOW: BUILD, "feature.yaml": feature}, cast) as project:
        install(project, "unused", "exit 0")
        done = run(project, "--no-human")
        assert done.code == 1, done.out + done.err
        assert "Incompatible types in assignment" in str(project.events(project.run_id()))


@pytest.mark.req("R169")
def test_doctor_names_the_missing_tool_of_an_interface(tmp_path: Path) -> None:
    feature = FEATURE % ("Login", "openapi", "words")
    with supervised(tmp_path, {FLOW: BUILD, "feature.yaml": feature}, CAST) as project:
        done = project.podium("doctor", FLOW, "--sandbox", "limits")
        assert "openapi-spec-validator" in done.out + done.err


PHASES = """\
id: P2
title: Orders
phases:
  store:
    components: {build_t: {touches: [table.py]}}
    interfaces: {table: {file: api/table.txt, text: table, check: [test, -f, api/table.txt]}}
  shop:
    components: {build_c: {touches: [cart.py]}}
    interfaces: {cart: {file: api/cart.txt, text: cart, check: [test, -f, api/cart.txt]}}
  site:
    barrier: interfaces
    components: {build_p: {touches: [page.py]}}
"""


@pytest.mark.req("R165", "R168", "R169")
def test_the_interfaces_of_a_later_phase_are_written_and_checked_from_its_start(tmp_path: Path) -> None:
    """The third phase waits for interfaces only, so it starts with the first, and has those of the second."""
    cast = """\
- {match: {prompt: build_t}, write: {table.py: x}}
- {match: {prompt: build_c}, write: {cart.py: x}}
- {match: {prompt: build_p}, write: {page.py: x}}
"""
    flow = BUILD + "  land: {git: {land: main, message: Orders}}\n"
    with supervised(tmp_path, {FLOW: flow, "feature.yaml": PHASES}, cast) as project:
        done = run(project, "--no-human")
        assert done.code == 0, done.out + done.err
        started = [
            event["path"] for event in project.events(project.run_id()) if event["type"] == "AttemptStarted"
        ]
        checks = [
            sum(path.startswith(f"feature/phases[{number}]/components[1]#1/interfaces") for path in started)
            for number in (1, 2, 3)
        ]
        assert checks == [1, 2, 2]
        landed = project.git("ls-tree", "-r", "--name-only", "main").split()
        assert {"api/table.txt", "api/cart.txt", "table.py", "cart.py", "page.py"} <= set(landed)


@pytest.mark.req("R161", "R163")
def test_show_lists_the_components_by_their_codes_with_their_states(tmp_path: Path) -> None:
    feature = (FEATURE % ("Login", "x", "words")).replace("type: x, ", "")
    cast = CAST.replace(
        "- {match: {prompt: auth_service}, write", "- {match: {prompt: auth_service}, blocked: No key., write"
    )
    with supervised(tmp_path, {FLOW: BUILD, "feature.yaml": feature}, cast) as project:
        done = run(project, "--no-human")
        assert done.code == 1, done.err
        lines = [line.strip() for line in project.podium("show").out.splitlines()]
        start = lines.index("feature: failed")
        assert lines[start + 1 : start + 6] == [
            "P1T5-PH1  backend: failed",
            "P1T5-PH1-C1  user_model: complete",
            "P1T5-PH1-C2  auth_service: failed",
            "P1T5-PH2  frontend: pending",
            "P1T5-PH2-C1  login_form: pending",
        ]
        [shown] = project.podium("show", "--json").data()["features"]
        assert shown["phases"][0]["components"][0]["path"] == "feature/phases[1]/components[1]"


@pytest.mark.req("R161")
def test_a_component_that_a_person_judges_is_in_review_and_can_be_named_by_its_code(tmp_path: Path) -> None:
    build = BUILD.replace("{{ component.id }}", "{{ component.code }}: {{ component.id }}")
    build = build.replace("retry: 1}", 'retry: 1, gates: [{human: "Good?"}]}')
    feature = (FEATURE % ("Login", "x", "words")).replace("type: x, ", "")
    with supervised(tmp_path, {FLOW: build, "feature.yaml": feature}, CAST) as project:
        assert run(project).code == 6
        [shown] = project.podium("show", "--json").data()["features"]
        states = [part["state"] for phase in shown["phases"] for part in phase["components"]]
        assert (shown["state"], states) == ("in_progress", ["review", "pending", "pending"])
        folder = project.root / ".podium/runs" / project.run_id() / "agent_logs"
        [prompt] = folder.rglob("prompt.md")
        assert "P1T5-PH1-C1: user_model" in prompt.read_text("utf-8")

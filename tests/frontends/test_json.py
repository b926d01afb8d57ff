"""What commands print with --json is what the shipped schemas say, for every command that has the option."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from podium import errors
from podium.adapters.presence.passkeys import Passkey, PasskeyFile
from podium.app.author.schemas import schema_text
from podium.app.paths import user_dir
from podium.files.project_paths import ProjectPaths
from podium.frontends.cli.main import COMMANDS, podium
from podium.wiring import open_history
from tests.engine.kit import Project
from tests.views.kit import conforms

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(errors.__file__).parent
PACKED = """\
podium: 1
name: packed
agents: {w: {type: scripted}}
steps:
  write: {agent: w, prompt: Write., touches: [notes/**], context: {strategy: investigator_wide, always: [packed.yaml]}}
"""
TOLD = "podium: 1\nname: told\nagents: {w: {type: scripted}}\nsteps: {write: {role: writer, agent: w, prompt: Write.}}\n"
STATES = "agents: {c: {type: cli, command: cat}}\nstates: {a: {type: initial, next: b}, b: {type: single, agent: c, transitions: {success: d}}, d: {type: terminal, status: success}}\n"
STEPS = '  a: {run: {script: "echo new > new.txt", shell: bash}, touches: [new.txt]}\n  ask: {human: "Land it?"}\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("cache", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PODIUM_USER", "ann")
    made = Project(tmp_path / "project")
    monkeypatch.chdir(made.root)
    made.flow(STEPS)
    made.write("told.yaml", TOLD)
    made.write("packed.yaml", PACKED)
    made.write("mine.yaml", "extends: reviewer\ndescription: Ours\n")
    return made


def printed(*args: str) -> str:
    done = CliRunner().invoke(podium, args, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def parked() -> None:
    printed("run", "flow.yaml", "--sandbox", "none")


def passed() -> None:
    parked()
    printed("approve")


def exported() -> None:
    passed()
    printed("export", "latest", "out")


def remembered() -> None:
    done = CliRunner().invoke(podium, ("memory", "edit", "lessons", "a.md"), input="note\n")
    assert done.exit_code == 0, done.output


def with_a_passkey() -> None:
    PasskeyFile(user_dir()).add(Passkey("ann", "AAAA", "BBBB", "laptop", added=1))


def with_tests() -> None:
    Path("flow.test.yaml").write_text("podium: 1\ntests: {good: {}, bad: {expect: {exit: 1}}}\n", "utf-8")


def with_another_project() -> None:
    passed()
    Path("other").mkdir()
    with closing(open_history(ProjectPaths(Path("other").resolve()))):
        pass


def in_another_format() -> None:
    Path("states.yaml").write_text(STATES, "utf-8")


def with_a_task() -> None:
    Path("task.yaml").write_text(
        'podium: 1\nname: t\ninputs: {task: string}\nsteps: {a: {set: {x: "${{ inputs.task }}"}}}\n', "utf-8"
    )


Case = tuple[Callable[[], None] | None, tuple[str, ...], str]

CASES: dict[str, Case] = {
    "run": (None, ("run", "flow.yaml", "--sandbox", "none", "--json"), "run"),
    "run-step": (None, ("run-step", "flow.yaml", "a", "--sandbox", "none", "--json"), "run"),
    "resume": (parked, ("resume", "--json"), "run"),
    "rerun": (passed, ("rerun", "@1", "a", "--dry-run", "--json"), "prospect"),
    "fork": (passed, ("fork", "@1", "--from", "ask", "--dry-run", "--json"), "prospect"),
    "costs": (passed, ("costs", "--json"), "costs"),
    "approve": (parked, ("approve", "--json"), "run"),
    "reject": (parked, ("reject", "--json"), "run"),
    "cancel": (parked, ("cancel", "--json"), "run"),
    "show": (parked, ("show", "--json"), "run"),
    "runs": (passed, ("runs", "--json"), "runs"),
    "top": (parked, ("top", "--json"), "runs"),
    "mcp": (None, ("mcp", "--print-config", "codex", "--json"), "mcp"),
    "inbox": (parked, ("inbox", "--json"), "inbox"),
    "verify": (passed, ("verify", "--json"), "verify"),
    "report": (passed, ("report", "latest", "-o", "r.html", "--json"), "report"),
    "export": (passed, ("export", "latest", "out", "--json"), "export"),
    "verify of a folder": (exported, ("verify", "out", "--json"), "verify"),
    "apply": (passed, ("apply", "--json"), "apply"),
    "complete-task": (passed, ("complete-task", "--yes", "--json"), "apply"),
    "start-task": (with_a_task, ("start-task", "Write it.", "--workflow", "task.yaml", "--json"), "run"),
    "gc": (passed, ("gc", "--older-than", "0s", "--unlanded", "--json"), "gc"),
    "validate": (None, ("validate", "flow.yaml", "--json"), "problems"),
    "roles list": (None, ("roles", "list", "--json"), "roles"),
    "roles show": (None, ("roles", "show", "planner", "--json"), "role"),
    "roles check": (None, ("roles", "check", "--json"), "problems"),
    "roles install": (None, ("roles", "install", "mine.yaml", "--yes", "--json"), "role_pack"),
    "metrics": (passed, ("metrics", "--json"), "metrics"),
    "history check": (passed, ("history", "check", "--json"), "history"),
    "history rebuild": (passed, ("history", "rebuild", "--json"), "history"),
    "history export": (passed, ("history", "export", "out", "--json"), "history"),
    "history pull": (with_another_project, ("history", "pull", "other", "--json"), "history"),
    "passkeys": (with_a_passkey, ("passkeys", "--json"), "passkeys"),
    "memory list": (remembered, ("memory", "list", "--json"), "memories"),
    "memory show": (remembered, ("memory", "show", "lessons", "--json"), "memory"),
    "memory edit": (remembered, ("memory", "edit", "lessons", "a.md", "--delete", "--json"), "memory"),
    "memory delete": (remembered, ("memory", "delete", "lessons", "--yes", "--json"), "memory"),
    "init": (None, ("init", "--template", "mvp", "--yes", "--json"), "init"),
    "prompt": (None, ("prompt", "told.yaml", "write", "--json"), "prompt"),
    "context": (None, ("context", "packed.yaml", "write", "--json"), "context"),
    "deps": (None, ("deps", "--json"), "deps"),
    "agents": (None, ("agents", "flow.yaml", "--json"), "agents"),
    "doctor": (None, ("doctor", "flow.yaml", "--sandbox", "none", "--json"), "doctor"),
    "notify": (None, ("notify", "--json"), "notify"),
    "test": (with_tests, ("test", "--json"), "tests"),
    "plan": (None, ("plan", "flow.yaml", "--json"), "plan"),
    "simulate": (None, ("simulate", "flow.yaml", "--json"), "simulation"),
    "resolve": (None, ("resolve", "flow.yaml", "--json"), "text"),
    "graph": (None, ("graph", "flow.yaml", "--format", "mermaid", "--json"), "text"),
    "convert": (in_another_format, ("convert", "states.yaml", "--json"), "text"),
    "diff": (passed, ("diff", "--json"), "diff"),
    "diff of a step": (passed, ("diff", "@1", "a", "--stat", "--json"), "diff"),
    "logs": (passed, ("logs", "--json"), "logs"),
    "pause": (parked, ("pause", "--json"), "run"),
    "guide": (parked, ("guide", "@1", "Be brief.", "--json"), "run"),
    "demo": (None, ("demo", "--folder", "demo", "--json"), "run"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_json_of_a_command_conforms_to_its_schema(project: Project, name: str) -> None:
    """R229"""
    before, args, schema = CASES[name]
    if before is not None:
        before()

    conforms(json.loads(printed(*args)), schema)


def test_each_line_of_events_conforms(project: Project) -> None:
    passed()

    lines = printed("events", "--json").splitlines()

    assert len(lines) > 10
    for line in lines:
        conforms(json.loads(line), "events")


def test_a_run_names_the_memories_that_it_used(project: Project) -> None:
    project.flow('  a: {run: {script: "echo x > $PODIUM_MEMORY/a.md"}, memory: lessons}\n')
    parked()
    data = json.loads(printed("show", "--json"))

    conforms(data, "run")
    (memory,) = data["memories"]
    assert (memory["name"], memory["used"], memory["conflicts"], memory["error"]) == (
        "lessons",
        None,
        [],
        None,
    )
    assert len(memory["stored"]) == 40


@pytest.mark.parametrize(("command", "value"), [("answer", '"x"'), ("signal", "")])
def test_answers_and_signals_print_the_run(project: Project, command: str, value: str) -> None:
    steps = {"answer": '  q: {human: "What?", output: text}\n', "signal": "  w: {wait: {signal: go}}\n"}
    project.flow(steps[command])
    parked()
    run = project.store.heads()[0].run
    args = ("answer", value) if command == "answer" else ("signal", run, "go")

    conforms(json.loads(printed(*args, "--json")), "run")


def test_every_command_with_the_option_is_tested_here() -> None:
    # `serve`, `ui`, `worker`, `raise` and `take` in tests/e2e, as processes. A schema has no schema of ours, and `acp`
    # speaks a protocol of its own, so only its errors are ours: test_json_refusals.
    # `history push` needs a server, in tests/contracts. `compare` takes a minute, in tests/e2e.
    elsewhere = {
        "compare",
        "history push",
        "events",
        "answer",
        "signal",
        "serve",
        "ui",
        "worker",
        "acp",
        "watch",
        "schema",
        "raise",
        "take",
        "jump",
    }
    with_json = {
        name for name, command in all_commands() if any("--json" in option.opts for option in command.params)
    }

    assert with_json == {name.partition(" of ")[0] for name in CASES} | elsewhere
    assert {name.partition(" ")[0] for name in with_json} == set(COMMANDS), "a command lacks --json"


def test_every_code_of_an_error_is_in_its_schema() -> None:
    """Errors of the pages are answered as pages and never reach standard output."""
    written = re.compile(r"""\bcode(?:: str)? ?= ?"([a-z_]+)\"""")
    sources = (path for path in SOURCE.rglob("*.py") if path.parent.parts[-2:] != ("web", "pages"))
    codes = {
        code
        for path in sources
        if path.name != "forms.py"
        for code in written.findall(path.read_text("utf-8"))
    }

    error = json.loads(schema_text("error"))["properties"]["error"]["properties"]
    assert codes <= set(error["code"]["enum"])
    page = (DOCS / "reference/exit-codes.md").read_text("utf-8")
    assert {code for code in error["code"]["enum"] if f"`{code}`" not in page} == set()


def test_each_line_of_followed_logs_conforms(project: Project) -> None:
    project.flow("  a: {run: [echo, one]}\n")
    parked()

    lines = printed("logs", "-f", "--json").splitlines()

    assert lines
    for line in lines:
        conforms(json.loads(line), "logs")


def test_each_run_of_a_watch_is_a_line(project: Project) -> None:
    (line,) = printed("watch", "flow.yaml", "--sandbox", "none", "--runs", "1", "--json").splitlines()

    conforms(json.loads(line), "run")


def test_an_artifact_is_an_object_with_its_file_and_hash(project: Project) -> None:
    project.write(
        "told.yaml",
        "podium: 1\nname: told\nagents: {w: {type: scripted}}\n"
        "steps: {write: {role: writer, agent: w, prompt: Write., output: {file: note.md}}}\n",
    )
    printed("run", "told.yaml", "--sandbox", "none", "--yes")

    data = json.loads(printed("show", "--json"))

    conforms(data, "run")
    (artifact,) = data["steps"][0]["artifacts"]
    assert artifact["file"] == "note.md"
    assert len(artifact["sha256"]) == 64


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Those of a group by both names."""
    for name in COMMANDS:
        command = podium.get_command(click.Context(podium), name)
        assert command is not None
        inner = command.commands if isinstance(command, click.Group) else {}
        yield name, command
        yield from ((f"{name} {word}", part) for word, part in inner.items())

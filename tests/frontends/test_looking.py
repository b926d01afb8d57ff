"""The commands that look at runs: data on stdout, talk on stderr, JSON by its schema."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from podium.app.author.schemas import names
from podium.core.events import AttemptEnded, AttemptStarted, RunStarted, StepEnded, StepEntered
from podium.core.types import Tree
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.cli.main import podium
from podium.frontends.cli.open_run import is_colourful
from tests.views.kit import SILENT, Told, conforms, project, tell

LOOKING = ("runs", "show", "events", "logs", "diff", "inbox", "verify", "schema")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run that waits and one that passed, the newest."""
    waiting, done = tell(tmp_path, cast=SILENT, run="run-a"), tell(tmp_path, run="run-b")
    monkeypatch.chdir(project(tmp_path, ("run-a", waiting), ("run-b", done)))
    return tmp_path


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(podium, arguments, standalone_mode=False)


def ok(*arguments: str) -> str:
    done = call(*arguments)
    assert done.exception is None, done.exception
    assert done.return_value == 0
    return done.stdout


def data(*arguments: str) -> Any:
    return json.loads(ok(*arguments))


def refused(*arguments: str) -> PodiumError:
    done = call(*arguments)
    assert isinstance(done.exception, PodiumError), done.output
    assert done.stdout == ""
    return done.exception


def test_runs_are_listed_the_newest_first(here: Path) -> None:
    lines = ok("runs").splitlines()

    assert lines[0].split()[:3] == ["run", "status", "workflow"]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["run-b", "passed", "ship"],
        ["run-a", "parked", "ship"],
    ]
    rows = data("runs", "--json")
    conforms(rows, "runs")
    assert [row["run"] for row in rows] == ["run-b", "run-a"]


def test_a_cut_list_of_runs_says_how_many_are_left_out(here: Path) -> None:
    done = call("runs", "--last", "1")

    assert [line.split()[0] for line in done.stdout.splitlines()] == ["run", "run-b"]
    assert done.stderr == "older runs not shown: 1; podium runs --all lists them\n"
    assert len(ok("runs", "--all").splitlines()) == 3
    assert [row["run"] for row in data("runs", "--json", "-n", "1")] == ["run-b"]
    assert isinstance(call("runs", "--all", "--last", "2").exception, click.UsageError)


@pytest.mark.parametrize(("command", "words"), [("runs", "no runs here yet"), ("inbox", "no run is waiting")])
def test_without_runs_lists_are_empty_and_nothing_is_made(empty: Path, command: str, words: str) -> None:
    assert data(command, "--json") == []
    done = call(command)
    assert (done.return_value, done.stdout) == (0, "")
    assert words in done.stderr
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("command", ["show", "events", "logs", "diff", "verify"])
def test_without_runs_the_others_say_how_to_start_one(empty: Path, command: str) -> None:
    error = refused(command)

    assert isinstance(error, ConfigurationError)
    assert "podium run FILE" in f"{error.message} {error.hint}"
    assert list(empty.iterdir()) == []


def test_the_word_latest_is_a_run_where_a_step_may_stand_alone(here: Path) -> None:
    assert ok("logs", "latest") == ok("logs") != ""
    assert refused("logs", "").message == 'run "" not found'


@pytest.mark.parametrize("command", ["show", "events", "verify"])
def test_a_run_that_is_not_there_is_named_with_the_next_step(here: Path, command: str) -> None:
    error = refused(command, "abc")

    assert (error.message, error.hint) == ('run "abc" not found', "`podium runs` lists them")


def test_show_has_the_steps_and_the_way_on(here: Path) -> None:
    text = ok("show", "run-a")

    assert text.startswith("ship run-a  parked")
    for words in ("task: greet people", "!!", "implement#1/tests", "2 attempts", "Land this?"):
        assert words in text
    assert "podium approve run-a approve" in text
    assert "podium resume run-a" in text
    assert "\x1b" not in text


def test_show_prints_json_that_conforms(here: Path) -> None:
    for run in ("run-a", "run-b", "@2", "latest"):
        found = data("show", run, "--json")
        conforms(found, "run")
    waiting = data("show", "run-a", "--json")
    assert (waiting["status"], waiting["pending"][0]["question"]) == ("parked", "Land this?")
    assert data("show", "--json")["run"] == "run-b"


@pytest.mark.req("C1")
def test_show_rebuilds_the_files_of_a_run(here: Path) -> None:
    folder = here / ".podium/runs/run-a"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in ("log.jsonl", "state.json", "audit.log", "run_summary.md"):
        (folder / name).unlink()
    done = call("show", "run-a", "--rebuild")

    assert "anew" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_events_are_lines_of_data(here: Path) -> None:
    rows = [json.loads(line) for line in ok("events", "--json").splitlines()]

    for row in rows:
        conforms(row, "events")
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    after = [json.loads(line) for line in ok("events", "run-b", "--json", "--after", "5", "-f").splitlines()]
    assert after == rows[5:]
    assert "StepEnded" in ok("events")


def test_logs_are_printed_under_their_titles(here: Path) -> None:
    folder = here / ".podium/runs/run-b/agent_logs"
    for place, text in (("plan/1", "planned"), ("implement#1+tests/1", "\x1b[31m1 failed\x1b[0m\n")):
        (folder / place).mkdir(parents=True)
        (folder / place / "stdout").write_text(text)

    text = ok("logs")
    assert text.startswith("==> plan attempt 1: stdout <==\nplanned\n==> ")
    assert "==> implement#1/tests attempt 1: stdout <==\n\x1b[31m1 failed\x1b[0m\n" in text
    assert "==> each[1]/inner attempt 1: output <==\neach[1]/inner is done\n" in text
    assert "planned" not in ok("logs", "run-b", "--failed", "-f")
    assert ok("logs", "@1", "plan").count("==>") == 1
    assert "has no logs yet" in call("logs", "run-a", "approve").stderr


def test_verify_says_whether_the_log_is_whole(here: Path) -> None:
    found = data("verify", "--json")
    conforms(found, "verify")
    assert (found["ok"], found["compared"]) == (True, True)
    assert "whole and unaltered" in ok("verify", "run-a")

    (here / ".podium/runs/run-a/chain_head").write_text(f"999 {'0' * 64}\n")
    done = call("verify", "run-a")
    assert (done.return_value, "chain_head knows of 999" in done.stdout) == (1, True)
    bad = call("verify", "run-a", "--json")
    conforms(json.loads(bad.stdout), "verify")
    assert bad.return_value == 1
    (here / ".podium/runs/run-a/chain_head").unlink()
    assert "is missing" in call("verify", "run-a").stderr


def test_the_inbox_has_every_question_and_the_command_that_answers_it(here: Path) -> None:
    rows = data("inbox", "--json")
    conforms(rows, "inbox")
    assert [(row["run"], row["path"]) for row in rows] == [("run-a", "approve")]
    text = ok("inbox")
    for words in (
        "Land this?",
        "review/reviewer_codex: approve, score 9",
        "podium reject run-a approve --feedback",
    ):
        assert words in text


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments],
        cwd=folder, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


def on_trees(told: Told, base: str, tree: str) -> Told:
    """The run, with trees that a repository really has."""
    events: list[Any] = []
    old = told.events[0].tree if isinstance(told.events[0], RunStarted) else None
    for event in told.events:
        if isinstance(event, RunStarted | StepEnded | AttemptEnded) and event.tree is not None:
            event = replace(event, tree=Tree(base if event.tree == old else tree))
        if isinstance(event, StepEntered | AttemptStarted) and event.base is not None:
            event = replace(event, base=Tree(base if event.base == old else tree))
        events.append(event)
    return told._replace(events=tuple(events))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_diff_shows_what_a_run_or_a_step_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "greet.py").write_text("one\n")
    git(tmp_path, "add", "greet.py")
    base = git(tmp_path, "write-tree")
    (tmp_path / "greet.py").write_text("two\n")
    git(tmp_path, "add", "greet.py")
    tree = git(tmp_path, "write-tree")
    told = on_trees(tell(tmp_path), base, tree)
    monkeypatch.chdir(project(tmp_path, ("r1", told)))

    whole = ok("diff")
    assert "-one\n+two\n" in whole
    assert ok("diff", "r1", "implement") == whole
    stat = call("diff", "--stat")
    assert stat.stdout.split() == ["modified", "+1", "-1", "greet.py"]
    assert "1 file, +1 -1 lines" in stat.stderr
    nothing = call("diff", "r1", "plan")
    assert (nothing.stdout, "no file was changed" in nothing.stderr) == ("", True)
    assert 'has no step "x"' in refused("diff", "r1", "x").message


def test_diff_outside_of_git_says_so(here: Path) -> None:
    assert "is not in a git repository" in refused("diff").message


@pytest.mark.parametrize("what", names())
def test_every_schema_is_printed_and_is_a_schema(empty: Path, what: str) -> None:
    schema = data("schema", "--of", what)

    assert schema["type"] if "type" in schema else schema.get("anyOf")
    assert schema["$schema"].startswith("https://json-schema.org/")


def test_the_default_schema_is_that_of_workflows(empty: Path) -> None:
    assert ok("schema") == ok("schema", "--of", "workflow")


def test_the_json_of_validate_and_simulate_conforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tell(tmp_path)
    broken = tmp_path / "broken.yaml"
    broken.write_text("podium: 1\nname: x\nsteps: {a: {runn: x}}\n")

    conforms(json.loads(call("validate", "--json", "ship.yaml", "broken.yaml").stdout), "problems")
    conforms(data("simulate", "ship.yaml", "--json"), "simulation")
    conforms(data("simulate", "ship.yaml", "--json", "-n", "3"), "simulation")


@pytest.mark.parametrize("command", LOOKING)
def test_every_help_reads_well(command: str) -> None:
    text = ok(command, "--help")

    assert text.startswith("Usage: podium" if "Usage: podium" in text else "Usage:")
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "Options:" in text


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_there_is_colour_at_a_terminal_only_and_not_against_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal: Any = _Terminal()
    assert is_colourful(terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_colourful(terminal)


@pytest.mark.req("R231")
@pytest.mark.parametrize("command", ["show", "events", "verify"])
def test_the_usual_calls_need_no_name_of_a_run_and_a_short_one_is_enough(here: Path, command: str) -> None:
    newest = ok(command, "run-b")

    assert newest != ok(command, "run-a")
    assert [ok(command), ok(command, "@1"), ok(command, "latest")] == [newest] * 3
    assert ok(command, "@2") == ok(command, "run-a")


def test_verify_notices_the_folder_of_a_run_that_the_log_does_not_have(here: Path) -> None:
    stray = here / ".podium/runs/run-c"
    stray.mkdir()

    assert "the log knows nothing of run run-c, and its folder" in verified("run-a")
    assert "run-c: its folder is there" in verified("run-c")
    conforms(json.loads(verified("run-c", "--json")), "verify")

    stray.rmdir()
    assert "whole" in ok("verify", "run-a")
    for file in (here / ".podium").glob("podium.db*"):
        file.unlink()
    assert "has folders of runs, but their log podium.db is missing" in str(refused("verify"))


def verified(*arguments: str) -> str:
    """What it says about a fault."""
    done = call("verify", *arguments)
    assert done.return_value == 1, done.exception
    return done.stdout


def test_a_step_can_be_named_without_its_run(here: Path) -> None:
    assert ok("logs", "each") == ok("logs", "run-b", "each") != ""
    for command in ("logs", "diff"):
        error = refused(command, "plna")
        assert (error.message, "plan" in str(error.hint)) == ('run run-b has no step "plna"', True)
        assert refused(command, "2026").message == 'run "2026" not found'


def test_logs_of_failures_say_that_nothing_failed(here: Path) -> None:
    assert call("logs", "run-a", "plan", "--failed").stderr == 'nothing failed in step "plan" of run run-a\n'

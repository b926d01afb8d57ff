"""With --json every refusal is one JSON document on stdout, by the shipped schema (issue 17, point 5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from podium.frontends.cli.main import COMMANDS
from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

ASKING = 'podium: 1\nname: asking\ninputs: {number: {type: int, default: 1}}\nsteps:\n  a: {run: ["true"]}\n  ask: {human: "Land it?"}\n'
PASSING = 'podium: 1\nname: passing\nsteps:\n  a: {run: ["true"]}\noutputs: {size: "${{ 40 + 2 }}", words: two words}\n'
INVALID = "podium: 1\nname: invalid\nsteps:\n  a: {rnu: [x]}\n  b: {run: [y], on: {failed: c}}\n"
FILES = {
    "asking.yaml": ASKING,
    "passing.yaml": PASSING,
    "invalid.yaml": INVALID,
    "broken.yaml": "podium: [1\n",
    "red_base.yaml": "podium: 1\nname: red\nbaseline: refuse\nsteps:\n"
    '  a: {run: ["true"], touches: [x], gates: [{run: ["false"]}]}\n',
    "empty.yaml": "",
    "odd.test.yaml": "podium: 1\ntests: {good: {expcet: {}}}\n",
    "list.yaml": "[1, 2]\n",
    "folder/readme.txt": "no workflow\n",
}


class Row(NamedTuple):
    args: str
    code: str
    exit: int = 2
    file: str | None = None
    line: int | None = None


IN_A_PROJECT = (
    Row("shwo", "usage"),
    Row("run", "usage"),
    Row("run passing.yaml --nonsense", "usage"),
    Row("run passing.yaml extra", "usage"),
    Row("run passing.yaml --record a --replay b", "usage"),
    Row("run missing.yaml", "invalid_file", file="missing.yaml", line=1),
    Row("run folder", "invalid_file", file="folder", line=1),
    Row("run broken.yaml", "invalid_file", file="broken.yaml", line=1),
    Row("run empty.yaml", "invalid_file", file="empty.yaml", line=1),
    Row("run list.yaml", "invalid_file", file="list.yaml", line=1),
    Row("run invalid.yaml", "invalid_file", file="invalid.yaml", line=4),
    Row("run asking.yaml -i number=many", "invalid_file", file="asking.yaml", line=3),
    Row("run asking.yaml -i colour=red", "configuration"),
    Row("run passing.yaml --set limit.usd=2", "configuration"),
    Row("run passing.yaml --set limits.usd=much", "invalid_file"),
    Row("run passing.yaml --inputs missing.yaml", "invalid_file", file="missing.yaml", line=1),
    Row("run passing.yaml --output size", "usage"),
    Row("run red_base.yaml", "red_base"),
    Row("run-step passing.yaml nothing", "configuration"),
    Row("resume zzz", "unknown_run"),
    Row("resume @9", "unknown_run"),
    Row("resume @1 --dry-run", "usage"),
    Row("take @2", "usage"),
    Row("take @2 nothing", "unknown_step"),
    Row("take zzz a", "unknown_run"),
    Row("raise @2", "usage"),
    Row("raise @2 usd=5", "not_limited"),
    Row("raise usd=5", "not_limited"),
    Row("run passing.yaml --base nothing", "configuration"),
    Row("run passing.yaml --base main --dirty", "configuration"),
    Row("rerun @2 nothing", "configuration"),
    Row("rerun @2 a", "needs_confirmation"),
    Row("fork @2", "usage"),
    Row("fork @2 --from nothing", "configuration"),
    Row("watch missing.yaml", "invalid_file", file="missing.yaml", line=1),
    Row("validate", "usage"),
    Row("resolve broken.yaml", "invalid_file", file="broken.yaml", line=1),
    Row("convert passing.yaml", "configuration"),
    Row("graph invalid.yaml", "invalid_file", file="invalid.yaml", line=4),
    Row("graph", "usage"),
    Row("graph passing.yaml --run @1", "usage"),
    Row("graph --run @1 --dot", "configuration"),
    Row("plan missing.yaml", "invalid_file", file="missing.yaml", line=1),
    Row("simulate invalid.yaml", "invalid_file", file="invalid.yaml", line=4),
    Row("simulate passing.yaml -n 2 --cast list.yaml", "usage"),
    Row("prompt passing.yaml nothing", "configuration"),
    Row("test odd.test.yaml", "invalid_file", file="odd.test.yaml", line=2),
    Row("test missing", "configuration"),
    Row("runs --all -n 3", "usage"),
    Row("runs -n none", "usage"),
    Row("show zzz", "unknown_run"),
    Row("events zzz", "unknown_run"),
    Row("events zzz -f", "unknown_run"),
    Row("logs @1 nothing", "configuration"),
    Row("logs zzz -f", "configuration"),
    Row("logs 99999999-zzz -f", "unknown_run"),
    Row("diff zzz", "configuration"),
    Row("costs --by colour", "usage"),
    Row("report zzz", "unknown_run"),
    Row("report @1 --without nothing", "configuration"),
    Row("diff @2 nothing", "configuration"),
    Row("apply @1", "configuration"),
    Row("inbox extra", "usage"),
    Row("approve @2", "not_waiting"),
    Row("approve @1 nothing", "not_waiting"),
    Row("approve @1 --tree 0123456789", "stale"),
    Row("approve @1 --action maybe", "refused"),
    Row("reject @2", "not_waiting"),
    Row("answer 1 @1", "configuration"),
    Row("answer", "usage"),
    Row("guide @2 text", "run_ended"),
    Row("signal @2 go", "run_ended"),
    Row("signal @1 go", "refused"),
    Row("guide @1", "usage"),
    Row("signal @1", "usage"),
    Row("jump @1", "usage"),
    Row("jump @1 nothing", "refused"),
    Row("jump @2 a", "run_ended"),
    Row("jump zzz a", "unknown_run"),
    Row("memory", "usage"),
    Row("memory show nothing", "configuration"),
    Row("memory show nothing file", "configuration"),
    Row("memory edit ../x file", "configuration"),
    Row("memory delete nothing", "configuration"),
    Row("history", "usage"),
    Row("metrics extra", "usage"),
    Row("context", "usage"),
    Row("context missing.yaml a", "invalid_file", file="missing.yaml", line=1),
    Row("history pull nowhere", "configuration"),
    Row("history export .", "configuration"),
    Row("pause @2", "run_ended"),
    Row("cancel @2", "run_ended"),
    Row("serve --slots 0", "usage"),
    Row("roles", "usage"),
    Row("roles show nothing", "configuration"),
    Row("roles install missing", "configuration"),
    Row("agents missing.yaml", "invalid_file", file="missing.yaml", line=1),
    Row("doctor --gates", "usage"),
    Row("gc --older-than soon", "configuration"),
    Row("export @2 folder", "configuration"),
    Row("history pull nowhere", "configuration"),
    Row("metrics --last soon", "configuration"),
    Row("verify zzz", "unknown_run"),
    Row("schema --of nothing", "usage"),
    Row("init --template nothing", "usage"),
    Row("demo --folder .", "usage"),
    Row("start-task", "usage"),
    Row("start-task words --workflow missing.yaml", "invalid_file", file="missing.yaml", line=1),
    Row("complete-task zzz", "unknown_run"),
    Row("deps missing.yaml", "invalid_file", file="missing.yaml", line=1),
    Row("compare", "usage"),
    Row("compare missing.yaml", "configuration"),
    Row("notify --test nothing", "configuration"),
    Row("serve --mcp", "usage"),
    Row("serve --poll nothing", "configuration"),
    Row("serve --listen nowhere", "configuration"),
    Row("top --nonsense", "usage"),
    Row("ui --url", "configuration"),
    Row("ui --port 99999", "usage"),
    Row("mcp --print-config vim", "usage"),
    Row("mcp --http 99999", "usage"),
    Row("mcp extra", "usage"),
    Row("acp --nonsense", "usage"),
    Row("worker", "usage"),
    Row("worker --on nowhere", "configuration"),
    Row("worker --on temporal://127.0.0.1:1/x", "unreachable", exit=1),
)
WITHOUT_RUNS = (
    Row("show", "no_runs"),
    Row("resume", "no_runs"),
    Row("approve", "no_runs"),
    Row("diff", "no_runs"),
    Row("verify", "no_runs"),
    Row("costs", "no_runs"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Its newest run waits for a person, the one before has passed."""
    with closing(new_project(tmp_path_factory.mktemp("refusals") / "place", FILES)) as made:
        assert made.podium("run", "passing.yaml", "--sandbox", "limits").code == 0
        assert made.podium("run", "asking.yaml", "--sandbox", "limits").code == 6
        yield made


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with closing(new_project(tmp_path_factory.mktemp("empty") / "place", FILES)) as made:
        yield made


def check(project: Project, row: Row) -> None:
    done = project.podium(*row.args.split(), "--json")

    data = json.loads(done.out)
    conforms(data, "error")
    error = data["error"]
    assert done.out.count("\n") == 1, "it must also be the last line of a stream of lines"
    assert (error["code"], done.code) == (row.code, row.exit), done.out
    assert error["message"]
    if row.file is not None:
        assert (error["file"], error["line"]) == (row.file, row.line)
        assert [error["file"], error["line"]] == [error["problems"][0][key] for key in ("file", "line")]


@pytest.mark.parametrize("row", IN_A_PROJECT, ids=lambda row: row.args)
def test_a_refusal_is_one_document_by_the_schema(project: Project, row: Row) -> None:
    check(project, row)


@pytest.mark.parametrize("row", WITHOUT_RUNS, ids=lambda row: row.args)
def test_a_refusal_without_runs_is_one_document(empty: Project, row: Row) -> None:
    check(empty, row)


def test_every_command_is_in_the_table() -> None:
    assert {row.args.split()[0] for row in IN_A_PROJECT} - {"shwo"} == set(COMMANDS)


def test_an_editor_that_is_none_is_refused_as_one_document(project: Project) -> None:
    with (project.folder / "out").open("wb") as out, (project.folder / "err").open("wb") as err:
        child = project.start("acp", "--json", stdout=out, stderr=err)
        assert child.wait(60) == 2

    data = json.loads((project.folder / "out").read_text("utf-8"))
    conforms(data, "error")
    assert "Traceback" not in (project.folder / "err").read_text("utf-8")


def test_all_problems_of_an_invalid_file_are_listed(project: Project) -> None:
    error = json.loads(project.podium("run", "invalid.yaml", "--json").out)["error"]

    assert [problem["line"] for problem in error["problems"]] == [4, 5]
    assert all(not problem["warning"] for problem in error["problems"])


def test_a_run_that_another_process_owns_is_refused_with_its_code(tmp_path: Path) -> None:
    files = {"long.yaml": "podium: 1\nname: long\nsteps:\n  a: {run: [sleep, '60']}\n"}
    with closing(new_project(tmp_path / "place", files)) as project:
        project.start("run", "long.yaml", "--sandbox", "limits")
        project.until_event(project.run_id(), "AttemptStarted")

        done = project.podium("resume", "--json")

        data = json.loads(done.out)
        conforms(data, "error")
        assert (data["error"]["code"], done.code) == ("run_owned", 1)


def test_a_file_without_permission_is_refused_as_one_document(empty: Project) -> None:
    """A folder as the target of a report: the system's error has the name, and no traceback."""
    (empty.root / "good.test.yaml").write_text(
        "podium: 1\nworkflow: passing.yaml\ntests: {good: {}}\n", "utf-8"
    )

    done = empty.podium("test", "good.test.yaml", "--junit", "folder", "--json")

    data = json.loads(done.out)
    conforms(data, "error")
    assert (data["error"]["code"], done.code) == ("unreadable", 2)
    assert "Traceback" not in done.err


def test_a_detached_run_is_one_document(empty: Project) -> None:
    done = empty.podium("run", "passing.yaml", "--sandbox", "limits", "--detach", "--json")

    conforms(json.loads(done.out), "run")


def test_outputs_are_printed_by_run_and_show_and_one_alone(project: Project) -> None:
    alone = project.podium("run", "passing.yaml", "--sandbox", "limits", "--quiet", "--output", "size")
    words = project.podium("run", "passing.yaml", "--sandbox", "limits", "--output", "words")
    shown = project.podium("show", "@2")
    refused = project.podium("run", "passing.yaml", "--output", "sise")

    assert (alone.code, alone.out, alone.err) == (0, "42\n", "")
    assert words.out == "two words\n"
    assert "outputs\n  size: 42\n  words: two words\n" in words.err
    assert "outputs\n  size: 42\n  words: two words\n" in shown.out
    assert (refused.code, refused.out) == (2, "")
    assert 'did you mean "size"?' in refused.err

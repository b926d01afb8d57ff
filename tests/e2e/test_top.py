"""`podium top`: what it shows, and answers typed in it; by textual's pilot and in a real terminal (tmux)."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from podium.app.query.inbox import open_questions
from podium.app.query.shelf import Shelf
from podium.core.hash_chain import RunId
from podium.views.files.evidence_json import evidence_data
from podium.wiring import open_project
from tests.e2e.kit import PATIENCE_S, Project, closing, new_project, until

pytest.importorskip("textual")

from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static

from podium.frontends.tui.dialogs import AnswerDialog, KeysDialog
from podium.frontends.tui.snapshot import question_of, read_rows
from podium.frontends.tui.top import Top

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: ship
policies:
  risk: [{when: change.files >= 1, level: human}, {level: auto}]
steps:
  make:
    run: {script: "echo '[bold]hi[/bold]' >> f.txt"}
    touches: [f.txt]
    gates: [{name: looks, run: ["true"]}, {name: ok, human: "Ship [a]?", level: risk}]
    retry: 2
"""
QUICK = 'podium: 1\nname: quick\nsteps: {a: {run: ["true"]}}\n'


def parked(project: Project, file: str = "w.yaml") -> str:
    done = project.podium("run", file, "--sandbox", "limits", "--json")
    assert done.code == 6, done.err
    return str(done.data()["run"])


def status(project: Project, run: str) -> str:
    return str(project.podium("show", run, "--json").data()["status"])


async def until_async(pilot: Pilot[None], look: Callable[[], object], what: str) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not look():
        assert asyncio.get_running_loop().time() < deadline, f"waited in vain for {what}"
        await pilot.pause(0.02)


def in_top(project: Project, act: Callable[[Top, Pilot[None]], Awaitable[None]]) -> None:
    opened = open_project(project.root)
    app = Top(opened)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await act(app, pilot)
            await app.workers.wait_for_complete()

    try:
        asyncio.run(run())
    finally:
        opened.close()


def shown(app: Top) -> str:
    return str(app.query_one("#text", Static).content)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with closing(new_project(tmp_path / "place", {"w.yaml": FLOW, "q.yaml": QUICK})) as made:
        for name, value in made.environment().items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.mark.req("R196")
def test_waiting_runs_come_first_and_the_question_is_shown_with_its_proof(project: Project) -> None:
    run = parked(project)
    project.podium("run", "q.yaml", "--sandbox", "limits")

    async def act(app: Top, pilot: Pilot[None]) -> None:
        table = app.query_one(DataTable)
        await until_async(pilot, lambda: table.row_count == 2, "two rows")
        assert [str(key.value) for key in table.rows][0] == run  # noqa: RUF015
        await until_async(pilot, lambda: "Ship [a]?" in shown(app), "the question")
        assert "asked by policy risk, rule 1 of 2: change.files >= 1" in shown(app)
        assert "1 of 1 gate passed on this tree" in shown(app)
        await pilot.press("d")
        await until_async(pilot, lambda: "+[bold]hi[/bold]" in shown(app), "the change as it is")

    in_top(project, act)


@pytest.mark.req("R196")
def test_approving_asks_once_more_unless_the_change_was_opened(project: Project) -> None:
    run = parked(project)

    async def act(app: Top, pilot: Pilot[None]) -> None:
        await until_async(pilot, lambda: "Ship [a]?" in shown(app), "the question")
        await pilot.press("a")
        await until_async(pilot, lambda: isinstance(app.screen, AnswerDialog), "the dialog")
        await pilot.press("escape")
        await pilot.press("d")
        await until_async(pilot, lambda: "+[bold]" in shown(app), "the change")
        await pilot.press("a")
        assert not isinstance(app.screen, AnswerDialog)
        await until_async(pilot, lambda: status(project, run) == "passed", "the end")

    in_top(project, act)
    (given,) = [each for each in project.events(RunId(run)) if each["type"] == "ApprovalGiven"]
    assert given["opened"] == ["diff"]


@pytest.mark.req("R196")
def test_a_rejection_carries_words_and_the_new_question_is_shown(project: Project) -> None:
    run = parked(project)

    async def act(app: Top, pilot: Pilot[None]) -> None:
        await until_async(pilot, lambda: "Ship [a]?" in shown(app), "the question")
        await pilot.press("r")
        await until_async(pilot, lambda: isinstance(app.screen, AnswerDialog), "the dialog")
        app.screen.query_one(Input).value = "too short"
        await pilot.press("enter")
        await until_async(pilot, lambda: "make#2/ok" in shown(app), "the question about the new work")
        assert 'ann, by terminal: reject "too short"' in shown(app)

    in_top(project, act)
    assert status(project, run) == "parked"


@pytest.mark.req("R196")
def test_an_answer_to_what_has_changed_meanwhile_is_refused(project: Project) -> None:
    run = parked(project)

    async def act(app: Top, pilot: Pilot[None]) -> None:
        await until_async(pilot, lambda: "Ship [a]?" in shown(app), "the question")
        await pilot.press("a")
        await until_async(pilot, lambda: isinstance(app.screen, AnswerDialog), "the dialog")
        done = await asyncio.to_thread(project.podium, "reject", run, "make#1/ok", "--feedback", "no")
        assert done.code == 6, done.err
        await pilot.press("enter")
        notices = app._notifications
        await until_async(
            pilot, lambda: any("not waiting" in each.message for each in notices), "the refusal"
        )

    in_top(project, act)
    assert status(project, run) == "parked"


def test_the_list_of_keys_filters_and_runs_what_is_picked_and_rows_can_be_filtered(project: Project) -> None:
    parked(project)
    project.podium("run", "q.yaml", "--sandbox", "limits")

    async def act(app: Top, pilot: Pilot[None]) -> None:
        table = app.query_one(DataTable)
        await until_async(pilot, lambda: table.row_count == 2, "two rows")
        await pilot.press("question_mark")
        await until_async(pilot, lambda: isinstance(app.screen, KeysDialog), "the keys")
        await pilot.press(*"graph", "enter")
        await until_async(pilot, lambda: "make" in shown(app) and ", since" not in shown(app), "the graph")
        await pilot.press("slash")
        await until_async(pilot, lambda: isinstance(app.focused, Input), "the field")
        await pilot.press(*"quick", "enter")
        await until_async(pilot, lambda: table.row_count == 1, "one row")
        assert app.check_action("answer", ("approve",)) is False or table.row_count == 1

    in_top(project, act)


@pytest.mark.req("R196")
def test_the_terminal_and_the_command_line_give_the_same_evidence(project: Project) -> None:
    """Each question has the same evidence on the screen as in the inbox."""
    runs = [parked(project) for _ in range(5)]
    for number, run in enumerate(runs[1:]):
        for _ in range(number % 2 + 1):
            (path,) = [each["path"] for each in project.podium("show", run, "--json").data()["pending"]]
            project.podium("reject", run, path, "--feedback", f"again {number}", "--json")
    listed = {row["run"]: row for row in project.podium("inbox", "--json").data()}
    opened = open_project(project.root)
    try:
        shelf = Shelf(opened)
        screen = {row.run: question_of(shelf, row.run) for row in read_rows(shelf) if row.is_waiting}
        assert set(screen) == set(listed)
        assert len(screen) >= 3
        for run, question in screen.items():
            assert question is not None
            assert json.loads(json.dumps(evidence_data(question.evidence))) == listed[run]["evidence"]
        fresh = open_questions(opened, with_exhibits=True, shelf=Shelf(opened))
        assert {each.view.run: each.evidence for each in fresh} == {
            run: question.evidence for run, question in screen.items() if question is not None
        }
    finally:
        opened.close()


def test_it_works_in_a_small_terminal_and_leaves_it_as_it_was(project: Project, tmp_path: Path) -> None:
    if subprocess.run(("tmux", "-V"), capture_output=True, check=False).returncode:
        pytest.skip("tmux is not installed")
    run = parked(project)
    socket = tmp_path / "tmux"

    def tmux(*args: str) -> str:
        done = subprocess.run(
            ("tmux", "-S", str(socket), "-f", "/dev/null", *args),
            cwd=project.root,
            env={**project.environment(), "TERM": "screen", "LANG": "C.UTF-8", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    command = f"{sys.executable} -m podium top; echo left $?; sleep 600"
    try:
        tmux("new-session", "-d", "-x", "80", "-y", "24", command)
        until(
            lambda: run[-4:] in tmux("capture-pane", "-p") and "Ship" in tmux("capture-pane", "-p"), "the run"
        )
        until(lambda: "Approve" in tmux("capture-pane", "-p"), "the keys that work here")
        until(lambda: "(1) podium" in tmux("display-message", "-p", "#{pane_title}"), "the title")
        tmux("send-keys", "q")
        until(lambda: "left 0" in tmux("capture-pane", "-p"), "its end")
    finally:
        tmux("kill-server")


def test_without_a_terminal_it_says_what_to_do(project: Project) -> None:
    done = project.podium("top")

    assert done.code == 2
    assert "podium inbox prints what waits for you" in done.err


def test_it_ends_when_its_terminal_is_gone(project: Project) -> None:
    """Otherwise each closed terminal would leave a process that looks at the runs for ever."""
    master, slave = pty.openpty()
    # Without a controlling terminal nothing sends SIGHUP.
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "top"],
        cwd=project.root,
        env={**project.environment(), "TERM": "xterm-256color"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        assert select.select([master], [], [], PATIENCE_S)[0], "it shows nothing"
        os.close(master)
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()

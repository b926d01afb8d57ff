"""Each way in which a run ends or waits, the commands it names, and that each of them does what it says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.e2e.next_commands import CASES, KILLED, Case

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs/reference/next-commands.md"
HINT = re.compile(r"(podium|git) .+?(?=  |$)")


class Row(NamedTuple):
    status: str
    reason: str
    commands: tuple[str, ...]


def rows() -> dict[str, Row]:
    """The table of the page, by what happened."""
    table: dict[str, Row] = {}
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            status, reason, happened, commands = cells
            names = tuple(re.findall(r"`([^`]+)`", commands))
            table[happened] = Row(status.strip("`"), reason.strip("`"), names)
    return table


def test_the_page_has_a_row_for_every_case() -> None:
    assert set(rows()) == set(CASES)
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_a_run_names_commands_that_do_what_they_say(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    with closing(made(tmp_path / "made", case)) as project:
        run = started(project, case)
        shown = project.podium("show", run)
        state = project.podium("show", run, "--json").data()
        commands = tuple(hints(shown.out))

        assert (state["status"], state["reason"], generic(commands, run, state)) == rows()[name], shown.out
    for number, command in enumerate(commands):
        folder = tmp_path / str(number)
        shutil.copytree(project.folder, folder, symlinks=True)
        with closing(Project(folder)) as copy:
            case.mend(copy)
            CHECKS[command.split()[1] if command.startswith("podium") else "git"](copy, case, run, command)


def made(folder: Path, case: Case) -> Project:
    flow = f"podium: 1\nname: w\n{case.steps}"
    return new_project(
        folder,
        {
            "w.yaml": flow,
            "cast.yaml": case.cast,
            "slow.sh": f"test -e {folder}/quick || sleep 600\n",
            ".gitignore": ".podium/\ncast.yaml\n",
            **case.files,
        },
    )


def started(project: Project, case: Case) -> str:
    run = killed(project) if case.code == KILLED else called_run(project, case)
    case.then(project, run)
    return run


def called_run(project: Project, case: Case) -> str:
    ended = project.podium("run", "w.yaml", "--sandbox", "none", "--json", *case.args)
    assert ended.code == case.code, ended.err
    run: str = ended.data()["run"]
    return run


def killed(project: Project) -> str:
    child = project.start("run", "w.yaml", "--sandbox", "none")
    run = project.run_id()
    project.until_event(run, "AttemptStarted", "b")
    child.kill()
    child.wait()
    (project.folder / "quick").touch()
    return run


def hints(shown: str) -> list[str]:
    return [match[0] for line in shown.splitlines() if (match := HINT.match(line))]


def generic(commands: tuple[str, ...], run: str, state: Any) -> tuple[str, ...]:
    """The commands without what differs from run to run."""
    return tuple(
        re.sub(r"squash [0-9a-f]+", "squash COMMIT", command.replace(run, "RUN")) for command in commands
    )


def code_of(case: Case, command: str) -> int:
    return next((code for word, code in case.codes.items() if word in shlex.split(command)), 0)


def called(project: Project, command: str, *more: str) -> str:
    ended = project.podium(*shlex.split(command)[1:], *more)
    assert ended.code == 0, f"{command}: {ended.err}"
    return ended.out


def newest(project: Project) -> Any:
    return project.podium("show", "--json").data()


def prints(project: Project, case: Case, run: str, command: str) -> None:
    assert called(project, command).strip()


def shows_a_change(project: Project, case: Case, run: str, command: str) -> None:
    assert re.search(r"^\+\w", called(project, command), re.MULTILINE)


def applies(project: Project, case: Case, run: str, command: str) -> None:
    before = project.git("rev-parse", "main")
    called(project, command)
    assert project.git("rev-parse", "main~1") == before


def continues(project: Project, case: Case, run: str, command: str) -> None:
    is_parked = project.podium("show", run, "--json").data()["status"] == "parked"
    more = ("--yes",) if "--accept-changes" in command or "rerun" in command else ()
    ended = project.podium(*shlex.split(command)[1:], *more)
    # Without a terminal, a run that waits for a person or a signal shows it and waits on.
    assert ended.code == (6 if is_parked else code_of(case, command)), ended.err
    later = newest(project)
    was_over = "continues" in ended.err
    assert (later["run"] != run) == was_over
    assert f"run {run}" not in ended.err or was_over


def answers(project: Project, case: Case, run: str, command: str) -> None:
    waiting = project.podium("show", run, "--json").data()["pending"]
    command = command.replace("TEXT", "short").replace("VALUE", case.value)
    ended = project.podium(*shlex.split(command)[1:])
    assert ended.code == code_of(case, command), ended.err
    assert project.podium("show", run, "--json").data()["pending"] != waiting


def exports(project: Project, case: Case, run: str, command: str) -> None:
    called(project, command)


def follows(project: Project, case: Case, run: str, command: str) -> None:
    """Shows the events so far, and goes on until it is ended."""
    child = project.start(*shlex.split(command)[1:])
    project.while_running(
        child, lambda: "RunStarted" in project.talk() or "started" in project.talk(), "events"
    )
    child.kill()
    child.wait()


def merges(project: Project, case: Case, run: str, command: str) -> None:
    done = subprocess.run(
        command, shell=True, cwd=project.root, env=project.environment(), capture_output=True, check=False
    )
    assert done.returncode == case.codes.get("git", 0), done.stderr
    assert "<<<<<<<" in (project.root / "a.txt").read_text()


CHECKS: dict[str, Any] = {
    "logs": prints,
    "show": prints,
    "agents": prints,
    "diff": shows_a_change,
    "apply": applies,
    "resume": continues,
    "rerun": continues,
    "raise": continues,
    "export": exports,
    "events": follows,
    "git": merges,
    **dict.fromkeys(("approve", "reject", "answer", "signal"), answers),
}

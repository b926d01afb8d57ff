"""Questions: which run is meant, what a person is shown, and answers that are refused at once (issue 17, point 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.terminal import at_a_terminal
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

PICK = 'podium: 1\nname: pick\nsteps:\n  pick: {human: "Which database?", output: {choice: [sqlite, postgres]}}\n'
LAND = """\
podium: 1
name: land
agents: {w: {type: scripted, script: cast.yaml}}
steps:
  plan: {role: writer, agent: w, prompt: Plan., output: {file: plan.md}}
  make: {run: {script: "seq 1 60 > numbers.txt", shell: bash}, touches: [numbers.txt]}
  ask: {human: "Land it?", show: [plan, diff, numbers.txt, risk, tests, cost]}
"""
QUICK = 'podium: 1\nname: quick\nsteps: {a: {run: ["true"]}}\n'
CAST = "- match: {step: plan}\n  text: The plan of the work.\n"
FILES = {"pick.yaml": PICK, "land.yaml": LAND, "quick.yaml": QUICK, "cast.yaml": CAST}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path / "place", FILES)) as made:
        yield made


def run(project: Project, name: str, code: int = 6) -> str:
    done = project.podium("run", f"{name}.yaml", "--yes", "--sandbox", "limits", "--json")
    assert done.code == code, done.err
    return str(done.data()["run"])


def test_an_answer_without_an_id_finds_the_run_that_waits(project: Project) -> None:
    waiting = run(project, "pick")
    run(project, "quick", 0)

    done = project.podium("answer", "sqlite", "--json")

    assert (done.code, done.data()["run"]) == (0, waiting), done.err


def test_several_runs_that_wait_are_listed(project: Project) -> None:
    first, second = run(project, "land"), run(project, "pick")

    for words in (("approve",), ("reject",)):
        done = project.podium(*words)
        assert done.code == 2
        assert "2 runs wait for an answer:" in done.err
        assert f"{first} ask: Land it?" in done.err
        assert f"{second} pick: Which database?" in done.err

    assert project.podium("answer", "sqlite").code == 0, "only one run waits for a value"
    assert project.podium("approve").code == 0, "only one run still waits"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("answer", "oracle", "--detach"), "not one of sqlite, postgres"),
        (("answer", "oracle"), "not one of sqlite, postgres"),
        (("approve", "--action", "maybe", "--detach"), "maybe"),
    ],
)
def test_a_wrong_answer_is_refused_at_once(project: Project, words: tuple[str, ...], message: str) -> None:
    waiting = run(project, "pick")

    done = project.podium(*words)

    assert done.code == 2
    assert message in done.err
    assert not [each for each in project.events(waiting) if each["type"] == "ApprovalGiven"]  # type: ignore[arg-type]  # a text
    assert project.podium("answer", "sqlite").code == 0, (
        "the question stays open, and nothing wrong is queued"
    )


def test_the_inbox_shows_choices_and_what_the_question_is_about(project: Project) -> None:
    run(project, "pick")
    run(project, "land")

    shown, listed = project.podium("inbox").out, project.podium("inbox", "--json").data()

    conforms(listed, "inbox")
    assert "choices: sqlite, postgres" in shown
    assert "one of sqlite, postgres" in shown
    assert "plan.md: The plan of the work." in shown
    assert "+59" in shown or "+1" in shown
    assert "risk: 1 file, +60 -0 lines: numbers.txt" in shown
    assert "cost so far" in shown
    exhibits = {each["name"]: each["text"] for each in listed[1]["exhibits"]}
    assert set(exhibits) == {"plan", "plan.md", "diff", "numbers.txt", "risk", "tests", "cost"}
    assert exhibits["plan.md"].strip() == "The plan of the work."
    assert "+60" in exhibits["diff"]
    assert exhibits["numbers.txt"].splitlines()[-1] == "60"
    assert exhibits["tests"] == "no gate has run"


def test_a_question_at_the_terminal_shows_the_diff_page_by_page(project: Project) -> None:
    with at_a_terminal(project, "run", "land.yaml", "--yes", "--sandbox", "limits") as terminal:
        until(lambda: terminal.shows(b"? ask: Land it?"), "the question")
        before = terminal.seen.index(b"? ask: Land it?")
        assert b"The plan of the work." in terminal.seen[:before]
        assert b"more lines; Enter shows the next page" in terminal.seen[:before]
        assert b"+60" not in terminal.seen
        while b"    +60" not in terminal.seen:
            count = terminal.seen.count(b"Enter shows")
            terminal.type("")
            until(
                lambda count=count: terminal.shows(b"    +60") or terminal.seen.count(b"Enter shows") > count,  # type: ignore[misc]  # bound now
                "the next page",
            )
        terminal.type("approve")
        assert terminal.child.wait(timeout=60) == 0


def test_the_inbox_of_all_projects_names_each(tmp_path: Path, project: Project) -> None:
    run(project, "pick")
    with closing(new_project(tmp_path / "other", FILES)) as other:
        other.env["XDG_STATE_HOME"] = str(project.home / ".local/state")
        waiting = run(other, "pick")

        alone = project.podium("inbox", "--json").data()
        whole = project.podium("inbox", "--all", "--json").data()
        text = project.podium("inbox", "--all").out

    assert [each["project"] for each in alone] == [str(project.root)]
    assert [each["project"] for each in whole] == [str(project.root), str(other.root)]
    assert whole[1]["run"] == waiting
    assert f"in {other.root}" in text


@pytest.mark.parametrize(
    ("word", "meant"), [("shwo", "show"), ("status", "show"), ("stop", "cancel"), ("statsu", "show")]
)
def test_a_misspelled_command_or_one_of_another_tool_gets_a_suggestion(
    project: Project, word: str, meant: str
) -> None:
    done = project.podium(word)

    assert done.code == 2
    assert f"No such command '{word}'. Did you mean '{meant}'?" in done.err


def test_a_wrong_input_type_and_route_get_line_and_hint(project: Project) -> None:
    project.put(
        {
            "typed.yaml": 'podium: 1\nname: typed\ninputs:\n  size: int\nsteps: {a: {run: ["true"]}}\n',
            "routed.yaml": 'podium: 1\nname: routed\nsteps:\n  a: {run: ["true"], on: {failed: bb}}\n  b: {run: ["true"]}\n',
        }
    )

    for command in ("run", "plan", "simulate"):
        done = project.podium(command, "typed.yaml", "-i", "size=big")
        assert (done.code, done.err) == (
            2,
            "typed.yaml:4:3: input \"size\" must be int, not 'big'\n  hint: -i size=5\n",
        )
    routed = project.podium("validate", "routed.yaml").out
    assert "routed.yaml:4:" in routed
    assert 'hint: did you mean "b"?' in routed


def test_runs_have_a_header_and_filters(project: Project) -> None:
    run(project, "quick", 0)
    run(project, "pick")

    lines = project.podium("runs").out.splitlines()
    assert lines[0].split() == ["run", "status", "workflow", "started", "(UTC)", "took", "cost"]
    assert len(lines) == 3

    def names(*options: str) -> list[str]:
        return [each["workflow"] for each in project.podium("runs", "--json", *options).data()]

    assert names("--status", "passed") == ["quick"]
    assert names("--status", "parked") == ["pick"]
    assert names("--workflow", "pick") == ["pick"]
    assert names("--workflow", "pick", "--status", "passed") == []
    assert names("-n", "1") == ["pick"]


TYPED = """\
podium: 1
name: typed
inputs:
  task: {type: string, help: What to do}
  size: {type: string, choices: [small, large]}
  times: int
  note: {type: string, default: none}
steps: {say: {run: [echo, "${{ inputs.task }} ${{ inputs.size }} ${{ inputs.times }} ${{ inputs.note }}"]}}
outputs: {said: "${{ steps.say.text }}"}
"""


def test_inputs_without_a_value_are_asked_for_at_the_terminal(project: Project) -> None:
    project.put({"typed.yaml": TYPED})
    project.git("add", "-A")
    project.git("commit", "--quiet", "--message=Typed")

    with at_a_terminal(
        project, "run", "typed.yaml", "-i", "size=small", "--output", "said", "--sandbox", "limits"
    ) as terminal:
        until(lambda: terminal.shows(b"task (What to do):"), "the first question")
        terminal.type("greet")
        until(lambda: terminal.shows(b"times (int):"), "the second question")
        terminal.type("often")
        until(lambda: terminal.shows(b"must be int, not 'often'"), "the refusal")
        terminal.type("3")
        shown = terminal.whole()

    assert b"greet small 3 none" in shown
    assert b"size (" not in shown
    refused = project.podium("run", "typed.yaml", "--sandbox", "limits")
    assert (refused.code, 'input "task" has no value' in refused.err) == (2, True)

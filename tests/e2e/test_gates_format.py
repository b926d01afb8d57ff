"""Files of the gates format through the real command: signals, the `.workflow/` folder, retries, and where the work ends up."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.core.hash_chain import RunId
from tests.e2e.kit import Ended, Project, closing, until

pytestmark = pytest.mark.slow

CONFIG = """
agents: {prog: {type: command, command: ./work.sh, price: {input: 0, output: 0}}, judge: {type: scripted, script: cast.yaml}}
roles: {reviewer: {agent: judge}, test_engineer: {agent: prog}, implementer: {agent: prog}, planner: {agent: prog}}
limits: {unknown_cost: count_tokens}
"""
CAST = """
- {match: {step: "write_tests#1/look/reviewer"}, verdict: {decision: reject, score: 3, summary: It proves nothing.}}
- {match: {step: look/reviewer}, verdict: {decision: approve, score: 9}}
"""
FLOW = """
workflow: {id: two, name: Two steps}
steps:
  - id: X-1
    name: write-tests
    agent: {type: test-writer, launch: headless}
    outputs: [test_a.txt]
    signal: {type: sentinel_file, value: .workflow/signals/X-1-done.json}
    gate: G1
  - id: X-2
    name: implement
    agent: {type: implementor, launch: headless}
    outputs: [a.txt]
    signal: {type: git_commit, value: "[GATE:G2]"}
    gate: G2
gates:
  - id: G1
    name: look
    reviewer: {level: auto, agent_type: reviewer}
    on_pass: {next_step: X-2}
    on_fail: {next_step: X-1, retry_context_path: ".workflow/retry-context/tests-{n}.md"}
    max_retries: 2
  - {id: G2, name: sign, reviewer: {level: human}, on_pass: {next_step: DONE}, on_fail: {next_step: X-2}, max_retries: 2}
"""
SIGNALLING = """#!/bin/sh
case "$(cat)" in
*write-tests*)
  cat .workflow/retry-context/* 2>/dev/null > seen.txt
  echo test >> test_a.txt
  touch .workflow/signals/G2-pass
  echo '{"step": "X-1"}' > .workflow/signals/X-1-done.json
  echo done;;
*)
  echo a > a.txt
  git add -A; git -c user.name=agent -c user.email=agent@example.com commit -qm "Add a [GATE:G2]"
  echo done;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(Project(tmp_path)) as made:
        made.root.mkdir()
        made.home.mkdir()
        made.git("init", "-q", "-b", "main")
        yield made


def start(project: Project, work: str, flow: str = FLOW, cast: str = CAST) -> Ended:
    files = {"flow.yaml": flow, "cast.yaml": cast, "work.sh": work, ".podium/config.yaml": CONFIG}
    project.put({**files, ".gitignore": ".podium/\n"})
    (project.root / "work.sh").chmod(0o755)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "first")
    return project.podium("run", "flow.yaml", "--yes")


def newest(project: Project) -> str:
    runs: list[dict[str, str]] = project.podium("runs", "--json").data()
    return runs[0]["run"]


def show(project: Project) -> dict[str, str]:
    """The outcome or the status of every step of the newest run."""
    steps = project.podium("show", newest(project), "--json").data()["steps"]
    return {step["path"]: step["outcome"] or step["status"] for step in steps}


def shared(project: Project) -> list[str]:
    folder = project.root / ".workflow"
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.name.startswith(".") and path.is_file()
    )


@pytest.mark.req("R199", "R201", "R022", "C9")
def test_signals_of_agents_end_their_attempts_and_never_pass_a_gate(project: Project) -> None:
    ended = start(project, SIGNALLING)

    assert ended.code == 6, ended.err
    steps = show(project)
    assert (steps["write_tests"], steps["implement#1/sign"]) == ("passed", "waiting")
    assert shared(project) == [
        "audit/two.log",
        "retry-context/tests-1.md",
        "signals/G2-asked.md",
        "signals/X-1-done.json",
        "signals/X-2-done.json",
        "specs/two.yaml",
    ]
    assert (project.root / ".workflow/signals").stat().st_mode & 0o777 == 0o755
    assert "It proves nothing." in (project.root / ".workflow/retry-context/tests-1.md").read_text("utf-8")
    assert project.git("status", "--porcelain") == "", "the folder is not in the way of the user's git"


@pytest.mark.req("R201")
def test_a_person_passes_a_gate_with_a_file_in_the_folder_of_the_project(project: Project) -> None:
    start(project, SIGNALLING)
    (project.root / ".workflow/signals/G2-pass").touch()

    resumed = project.podium("resume", newest(project))

    assert resumed.code == 0, resumed.err
    lines = (project.root / ".workflow/audit/two.log").read_text("utf-8").splitlines()
    assert [" ".join(line.split()[2:4]) for line in lines] == ["G1 fail", "G1 pass", "G2 pass"]
    assert not (project.root / ".workflow/signals/G2-pass").exists()


@pytest.mark.req("R022")
def test_an_agent_reads_the_retry_context_where_the_file_says(project: Project) -> None:
    start(project, SIGNALLING)
    diff = project.podium("diff", newest(project), "write_tests").out
    assert "It proves nothing." in diff


@pytest.mark.req("R199")
def test_a_signal_ends_an_agent_that_keeps_running(project: Project) -> None:
    work = SIGNALLING.replace("X-1-done.json\n  echo done", "X-1-done.json\n  sleep 600")
    start(project, work, cast="- {match: {step: look/reviewer}, verdict: {decision: approve, score: 9}}\n")
    assert show(project)["write_tests"] == "passed"


@pytest.mark.req("R199", "R022")
def test_an_agent_that_ends_without_its_signal_has_not_finished(project: Project) -> None:
    start(project, "#!/bin/sh\ncat > /dev/null\necho test > test_a.txt; echo done\n")

    steps = project.podium("show", newest(project), "--json").data()["steps"]
    assert "it ended without its signal, .workflow/signals/X-1-done.json" in json.dumps(steps)
    assert show(project)["write_tests#2/!exhausted"] == "waiting"
    assert "signals/X-1-done.json" not in shared(project)


BACK = """
workflow: {id: back}
steps:
  - {id: P, name: plan, agent: {type: implementor}, outputs: [plan.txt]}
  - {id: B, name: build, agent: {type: implementor}, outputs: [a.txt], gate: G}
gates:
  - {id: G, name: look, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: DONE}, on_fail: {next_step: P}, max_retries: 2}
"""


@pytest.mark.req("R022", "C9")
def test_a_person_decides_when_a_gate_that_leads_further_back_has_failed_too_often(project: Project) -> None:
    work = "#!/bin/sh\ncat > /dev/null\ndate +%N >> plan.txt; date +%N >> a.txt; echo done\n"
    cast = "- {match: {step: look/reviewer}, verdict: {decision: reject, score: 3, summary: No.}}\n"
    start(project, work, flow=BACK, cast=cast)

    steps = show(project)
    assert [steps[name] for name in ("look", "plan~2", "build~2", "look~2#1/!exhausted")] == [
        "rejected", "passed", "passed", "waiting",
    ]  # fmt: skip
    assert "plan~3" not in steps
    assert "signals/B-done.json" in shared(project)

    (project.root / ".workflow/signals/G-pass").touch()
    assert project.podium("resume", newest(project)).code == 0


BY_A_PERSON = """
workflow: {id: hand, name: By hand}
steps:
  - {id: A, name: first, agent: {type: implementor}, outputs: [first.txt]}
  - id: B
    name: second
    agent: {type: implementor, launch: interactive}
    outputs: [second.txt]
    signal: SIGNAL
    gate: G
gates:
  - {id: G, name: look, reviewer: {level: auto, agent_type: reviewer}, on_fail: {next_step: B}, max_retries: 3}
"""
FIRST = "#!/bin/sh\ncat > /dev/null\necho first > first.txt; echo done\n"
STRICT = """
- {match: {step: "second#1/look/reviewer"}, verdict: {decision: reject, score: 3, summary: Once more.}}
- {match: {step: look/reviewer}, verdict: {decision: approve, score: 9}}
"""


def by_a_person(project: Project, signal: str) -> str:
    """A run that waits for a person, driven in the background."""
    files = {"flow.yaml": BY_A_PERSON.replace("SIGNAL", signal), "cast.yaml": STRICT, "work.sh": FIRST}
    project.put({**files, ".podium/config.yaml": CONFIG, ".gitignore": ".podium/\n"})
    (project.root / "work.sh").chmod(0o755)
    project.git("config", "user.name", "Ann")
    project.git("config", "user.email", "ann@example.com")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "first")
    project.start("run", "flow.yaml", "--yes")
    run = project.run_id()
    project.until_event(run, "AttemptStarted", "second")
    return run


def worktree(project: Project, run: str, attempt: int) -> Path:
    folder = project.root / f".podium/runs/{run}/by_hand/second/{attempt}"
    until(lambda: (folder / "TASK.md").exists() or None, "the task")
    return folder / "work"


def commits(folder: Path, project: Project, message: str) -> None:
    env = {**project.environment(), "PATH": os.environ["PATH"]}
    for args in (("add", "-A"), ("commit", "-q", "-m", message)):
        subprocess.run(("git", *args), cwd=folder, env=env, check=True)


@pytest.mark.req("R021", "R199", "C44")
def test_the_work_of_a_person_is_judged_in_the_worktree_and_one_signal_is_one_attempt(
    project: Project,
) -> None:
    run = by_a_person(project, "{type: sentinel_file, value: .workflow/signals/B-done.json}")
    folder = worktree(project, run, 1)
    assert (folder / ".git").is_file(), "a real git worktree"
    assert (folder / "first.txt").read_text() == "first\n", "with the work of earlier steps"
    (folder / "second.txt").write_text("by hand\n")
    (project.root / ".workflow/signals").mkdir(parents=True, exist_ok=True)
    (project.root / ".workflow/signals/B-done.json").write_text("{}")

    project.until_event(RunId(run), "AttemptStarted", "second", times=2)
    assert show(project)["second#1/look"] == "rejected"
    again = worktree(project, run, 2)
    assert (again / "second.txt").read_text() == "by hand\n"
    assert show(project)["second"] == "running", "the signal of the first attempt does not end the second"
    (again / "second.txt").write_text("by hand, better\n")
    (again / ".workflow/signals").mkdir(parents=True)
    (again / ".workflow/signals/B-done.json").write_text("{}")

    project.until_event(RunId(run), "RunEnded")
    assert show(project)["second"] == "passed"
    assert "+by hand, better" in project.podium("diff", run).out


@pytest.mark.req("R021", "R199")
def test_the_commit_that_is_the_signal_is_the_work_that_is_judged(project: Project) -> None:
    run = by_a_person(project, "{type: git_commit, value: '[GATE:G]'}")
    worktree(project, run, 1)
    # In the project's own checkout, on its own branch, which does not have the first step's file.
    (project.root / "second.txt").write_text("on main\n")
    commits(project.root, project, "Do it [GATE:G]")

    project.until_event(RunId(run), "AttemptStarted", "second", times=2)
    assert show(project)["second#1/look"] == "rejected"
    folder = worktree(project, run, 2)
    (folder / "second.txt").write_text("on its own branch\n")
    commits(folder, project, "Do it better [GATE:G]")

    project.until_event(RunId(run), "RunEnded")
    diff = project.podium("diff", run).out
    assert "+on its own branch" in diff and "first.txt" in diff


DONE = """
workflow: {id: landed, name: Add a}
steps:
  - {id: A, name: build, agent: {type: implementor, launch: LAUNCH}, outputs: [a.txt], SIGNAL gate: G}
gates:
  - {id: G, name: sign, reviewer: {level: human}, on_pass: {next_step: DONE}, on_fail: {next_step: A}}
"""
BUILD = "#!/bin/sh\ncat > /dev/null\ndate +%N >> a.txt; echo done\n"
FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >> "$HOME/calls.log"
case "$*" in
*view*) exit 1;;
*create*) echo https://example.com/1;;
esac
"""


def approve(project: Project) -> Ended:
    run = newest(project)
    (project.root / ".workflow/signals/G-pass").touch()
    return project.podium("resume", run)


@pytest.mark.req("R022")
def test_after_done_the_work_is_on_the_branch_that_the_run_began_on(project: Project) -> None:
    start(project, BUILD, flow=DONE.replace("LAUNCH", "headless").replace("SIGNAL ", ""))
    assert "a.txt" not in project.git("ls-tree", "--name-only", "main").split()

    assert approve(project).code == 0
    assert "a.txt" in project.git("ls-tree", "--name-only", "main").split()
    assert (project.root / "a.txt").is_file()


def with_remote(project: Project, *programs: str) -> None:
    project.git("init", "-q", "--bare", str(project.folder / "remote.git"))
    project.git("remote", "add", "origin", str(project.folder / "remote.git"))
    tools = project.folder / "tools"
    tools.mkdir()
    for name in programs:
        (tools / name).write_text(FAKE, "utf-8")
        (tools / name).chmod(0o755)
    usual = [
        folder
        for folder in os.environ["PATH"].split(":")
        if not any(Path(folder, name).exists() for name in ("gh", "glab"))
    ]
    project.env["PATH"] = ":".join((str(tools), *usual))


REQUEST = DONE.replace("LAUNCH", "headless").replace(
    "SIGNAL", "signal: {type: pr_creation, value: feature/a},"
)


@pytest.mark.req("R199")
@pytest.mark.parametrize(
    ("program", "opened", "merged"),
    [
        ("gh", "gh pr create --head feature/a --base main", "gh pr merge feature/a"),
        ("glab", "glab mr create --source-branch feature/a --target-branch main", "glab mr merge feature/a"),
    ],
)
def test_a_pull_request_is_opened_before_the_gate_and_merged_at_done(
    project: Project, program: str, opened: str, merged: str
) -> None:
    with_remote(project, program)
    started = start(project, BUILD, flow=REQUEST)
    assert started.code == 6, started.err
    log = project.home / "calls.log"
    assert opened in log.read_text()
    assert "a.txt" in project.git("ls-tree", "--name-only", "refs/remotes/origin/feature/a").split()
    assert merged not in log.read_text()

    assert approve(project).code == 0
    assert merged in log.read_text()


@pytest.mark.req("R199")
def test_without_gh_and_glab_the_branch_is_pushed(project: Project) -> None:
    with_remote(project)
    started = start(project, BUILD, flow=REQUEST)
    assert started.code == 6, started.err
    assert "feature/a" in project.git("ls-remote", "origin")


@pytest.mark.req("R199")
def test_a_pull_request_is_refused_with_the_reason_where_there_is_no_remote(project: Project) -> None:
    refused = start(project, BUILD, flow=REQUEST)
    assert refused.code == 2, refused.err
    assert "the repository has no remote, so no pull request can be opened" in refused.err


EXAMPLE = Path(__file__).parents[2] / "examples/from_hand_to_agents"


@pytest.mark.req("R241", "R199")
def test_a_task_waits_until_another_task_has_landed_what_it_needs(project: Project) -> None:
    """Experiment 6 of the document: two tasks at the same time."""
    files = {
        name: (EXAMPLE / name).read_text("utf-8") for name in ("6_task_x.yaml", "6_task_y.yaml", "cast.yaml")
    }
    project.put({**files, ".gitignore": ".podium/\n"})
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "first")
    project.start("run", "6_task_y.yaml")
    waiting = project.run_id()
    project.until_event(waiting, "WaitStarted", "ready")
    assert not any(event.get("path") == "sums" for event in project.events(waiting))

    assert project.podium("run", "6_task_x.yaml").code == 0
    project.until_event(waiting, "RunEnded")
    assert "+from add import add" in project.podium("diff", waiting).out

"""Promises that other tests show from inside, through the real command (issue 16: A10, C3, C6, C8, D4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until_exit

pytestmark = pytest.mark.slow

ASK = """\
podium: 1
name: ask
agents:
  loud: {type: command, command: [tools/loud], price: {input: 0, output: 0}}
steps:
  talk: {agent: loud, prompt: Speak., touches: []}
  colour: {human: "Which? {{ steps.talk.text }}", output: {choice: [red, blue]}}
"""
LOUD = "#!/bin/sh\nprintf 'plain \\033[2Jcleared\\007 end'\n"


def programs(project: Project) -> None:
    for program in (project.root / "tools").iterdir():
        program.chmod(0o755)
    project.git("commit", "-q", "-a", "-m", "programs")


@pytest.mark.req("R193")
def test_an_inbox_file_has_no_escape_sequences_and_a_wrong_answer_says_why_beside_it(tmp_path: Path) -> None:
    project = new_project(tmp_path, {"ask.yaml": ASK, "tools/loud": LOUD})
    programs(project)
    with closing(project):
        assert project.podium("run", "ask.yaml").code == 6
        [file] = (project.root / ".podium/inbox").glob("*.yaml")
        text = file.read_bytes()
        assert b"cleared" in text
        assert not [byte for byte in text if byte < 0x20 and byte not in b"\n\t"]

        lines = [
            "answer: green" if line.startswith("answer:") else line for line in text.decode().splitlines()
        ]
        file.write_text("\n".join(lines) + "\n")
        assert project.podium("resume").code == 6
        assert "red, blue" in file.with_suffix(".refused").read_text()

        file.write_text(file.read_text().replace("answer: green", "answer: blue"))
        assert project.podium("resume").code == 0


GUIDED = """\
podium: 1
name: guided
agents:
  w: {type: command, command: [tools/echo], price: {input: 0, output: 0}}
steps:
  ask: {human: "Go on?"}
  a: {agent: w, prompt: Do it., touches: []}
  last: {run: ["false"]}
"""


@pytest.mark.req("R198", "X10")
def test_guidance_and_approvals_reach_the_run_that_continues_a_failed_one(tmp_path: Path) -> None:
    """Without the guidance the reused answer would belong to another request, and be paid for again."""
    project = new_project(tmp_path, {"guided.yaml": GUIDED, "tools/echo": "#!/bin/sh\ncat\n"})
    programs(project)
    with closing(project):
        assert project.podium("run", "guided.yaml").code == 6
        run = project.podium("show", "--json").data()["run"]
        assert project.podium("guide", run, "Be brief.").code == 0
        assert project.podium("approve").code == 1
        first = project.podium("show", "--json").data()
        project.commit({"guided.yaml": GUIDED.replace('"false"', '"true"')}, "mended")

        preview = project.podium("resume", first["run"], "--accept-changes", "--dry-run")
        assert "last" in preview.out + preview.err
        assert project.podium("show", "--json").data()["run"] == first["run"], "nothing was started"

        assert project.podium("resume", first["run"], "--accept-changes", "--yes").code == 0
        second = project.podium("show", "--json").data()
        steps = {step["path"]: step for step in second["steps"]}
        assert second["run"] != first["run"]
        assert steps["a"]["reused"] and steps["ask"]["reused"]
        assert f"from {first['run']}" in project.podium("show", second["run"]).out
        again = project.podium("rerun", second["run"], "a", "--yes")
        assert again.code == 0
        assert "Be brief." in project.podium("logs", project.podium("show", "--json").data()["run"], "a").out


def test_guide_names_the_attempts_that_do_not_get_the_guidance_and_says_why(tmp_path: Path) -> None:
    flow = GUIDED.replace('  ask: {human: "Go on?"}\n', "")
    wait = "#!/bin/sh\nwhile test ! -f $PROJECT/go; do sleep 0.05; done\ncat\n"
    files = {"guided.yaml": flow, "tools/echo": wait.replace("$PROJECT", str(tmp_path))}
    with closing(new_project(tmp_path / "place", files)) as project:
        programs(project)
        child = project.start("run", "guided.yaml", "--sandbox", "limits")
        run = project.run_id()
        project.until_event(run, "AttemptStarted", "a")

        told = project.podium("guide", run, "Be brief.").err

        (tmp_path / "go").touch()
        until_exit(child)
    assert "a does not get this guidance: w takes no messages while it works; the next attempt" in told


PRICED = """\
podium: 1
name: priced
limits: {usd: 5}
agents:
  w: {type: command, command: [tools/paid], price: {input: 1, output: 1}}
steps:
  a: {agent: w, prompt: x, touches: []}
  b: {agent: w, prompt: y, touches: []}
"""
PAID = """\
#!/bin/sh
cat >/dev/null
echo '{"podium": 1, "text": "done", "usage": {"input": 500, "output": 500}, "cost_usd": 0.01}'
"""


@pytest.mark.req("C20")
def test_simulate_and_plan_expect_what_earlier_runs_cost(tmp_path: Path) -> None:
    """They were twenty times apart: only the plan knew the earlier runs."""
    project = new_project(tmp_path, {"priced.yaml": PRICED, "tools/paid": PAID})
    programs(project)
    with closing(project):
        for _ in range(3):
            assert project.podium("run", "priced.yaml").code == 0
        planned = project.podium("plan", "priced.yaml", "--json").data()
        simulated = project.podium("simulate", "priced.yaml", "-n", "40", "--json").data()
        likely = planned["cost_usd"]["likely"]
        assert likely == pytest.approx(0.02, rel=0.5)
        assert simulated["cost_usd"]["median"] == pytest.approx(likely, rel=0.5)


def test_a_simulation_of_a_free_agent_costs_nothing(tmp_path: Path) -> None:
    free = PRICED.replace("{input: 1, output: 1}", "{input: 0, output: 0}").replace("usd: 5", "usd: 0.1")
    project = new_project(tmp_path, {"free.yaml": free, "tools/paid": PAID})
    programs(project)
    with closing(project):
        simulated = project.podium("simulate", "free.yaml", "-n", "40", "--json").data()
        assert simulated["cost_usd"]["median"] == 0
        assert "limited" not in simulated["statuses"]


IN_PLACE = "podium: 1\nname: here\nworkspace: inplace\nsteps:\n  a: {run: [sh, -c, 'echo x > made.txt']}\n"


def test_work_done_in_place_is_not_offered_for_a_merge(tmp_path: Path) -> None:
    project = new_project(tmp_path, {"here.yaml": IN_PLACE})
    with closing(project):
        done = project.podium("run", "here.yaml")
        assert done.code == 0, done.err
        assert (project.root / "made.txt").exists()
        assert "podium apply" not in done.out + done.err + project.podium("show").out
        assert project.podium("apply").code == 2


RESERVED = """\
podium: 1
name: reserved
limits: {calls: 3, finally: {calls: 1}}
agents:
  w: {type: command, command: [tools/paid], price: {input: 1, output: 1}}
steps:
  a: {agent: w, prompt: x, touches: [], gates: [{run: ["false"]}], retry: {attempts: 9}}
finally:
  report: {agent: w, prompt: "Say what happened.", touches: []}
"""


def test_an_agent_of_finally_is_called_after_a_limit_from_what_is_reserved_for_it(tmp_path: Path) -> None:
    project = new_project(tmp_path, {"reserved.yaml": RESERVED, "tools/paid": PAID})
    programs(project)
    with closing(project):
        done = project.podium("run", "reserved.yaml", "--json")
        assert done.code == 5, done.err
        outcomes = {step["path"]: step["outcome"] for step in done.data()["steps"]}
        assert outcomes["a"] != "passed"
        assert {path.rpartition("/")[2]: outcome for path, outcome in outcomes.items()}[
            "report"
        ] == "passed", outcomes
        assert done.data()["limits"]["calls"]["used"] == 3


RETRIED = """\
podium: 1
name: retried
agents:
  w: {type: command, command: [tools/write], price: {input: 0, output: 0}}
steps:
  ask: {human: "Go on?"}
  a: {agent: w, prompt: Do it., touches: [out.txt], gates: [{run: [grep, -q, twice, out.txt]}]}
"""
WRITE = """\
#!/bin/sh
prompt=$(cat)
case $prompt in *"Be brief."*) brief=yes ;; *) brief=no ;; esac
case $prompt in *"grep"*) echo "twice $brief" > out.txt ;; *) echo "once $brief" > out.txt ;; esac
echo done
"""


@pytest.mark.req("R198")
def test_guidance_stays_until_an_attempt_passes(tmp_path: Path) -> None:
    """The first attempt used it up although its gate failed."""
    project = new_project(tmp_path, {"retried.yaml": RETRIED, "tools/write": WRITE})
    programs(project)
    with closing(project):
        assert project.podium("run", "retried.yaml").code == 6
        run = project.podium("show", "--json").data()["run"]
        assert project.podium("guide", run, "Be brief.").code == 0
        done = project.podium("approve")
        assert done.code == 0, done.err
        assert "+twice yes" in project.podium("diff", run).out


def test_a_commit_message_that_an_agent_has_written_has_no_escape_sequences(tmp_path: Path) -> None:
    """A10, its class: `git log` prints a message on a terminal as it is."""
    text = """\
podium: 1
name: message
agents: {hand: {type: command, command: [cat, answer.json], price: {input: 0, output: 0}}}
steps:
  words: {agent: hand, prompt: go, no_change: pass, output: json}
  work: {run: {script: "echo 1 > one.txt"}, touches: ["**"]}
  land: {git: {land: main, message: "${{ steps.words.output.message }}"}}
"""
    message = "Mend it \x1b]0;evil\x07\x1b[2J\x9b31m\r\n\n\tin two lines\x00"
    files = {"flow.yaml": text, "answer.json": json.dumps({"message": message})}
    with closing(new_project(tmp_path, files)) as project:
        assert project.podium("run", "flow.yaml").code == 0

        assert project.git("log", "-1", "--format=%B").startswith("Mend it ]0;evil[2J31m\n\n\tin two lines\n")

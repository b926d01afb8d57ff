"""Attempts of agents from workspace to verdict, in real repositories with real processes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.attempt.workspace.workspace import clear
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.state import State
from podium.process.sweep import sweep
from tests.attempt.agent_attempts import Asked, ask
from tests.attempt.runs import perform_attempt
from tests.git.kit import Project, git

pytestmark = pytest.mark.slow

WORK = 'steps: {it: {agent: w, prompt: "Do it", touches: ["src/**"]}}'


def test_a_worker_whom_no_rule_speaks_of_does_well(project: Project, tmp_path: Path) -> None:
    asked, played = ask(project, tmp_path, WORK)

    answer = played.answer("it")
    assert played.ending("it").outcome == "passed"
    assert (answer.kind, answer.used.calls, answer.cost_known) == ("ok", 1, True)
    assert played.result("it")["files"] == ["src/changed"]
    assert "+it 1" in played.result("it")["diff"]
    assert answer.change is not None and answer.change["paths"] == ["src/changed"]
    assert ("it", "file") in [(path, seen.kind) for path, seen in asked.seen]


@pytest.mark.req("R113", "R114", "R118")
def test_the_real_output_of_a_failed_gate_is_in_the_next_prompt(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          it:
            agent: w
            prompt: Make it two
            gates: [{name: two, run: [grep, -n, "x = 2", src/app.py]}, {name: seen, run: [sh, -c, "echo seen; exit 1"], on_fail: block, when: "false"}]
    """
    cast = """
        - match: {step: it, prompt: 'command "two" failed with exit code 1'}
          write: {src/app.py: "x = 2\\n"}
        - match: {step: it}
          write: {src/app.py: "x = 3\\n"}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    assert played.ending("it").outcome == "passed"
    assert len(played.answers("it")) == 2
    assert '"grep -n x = 2 src/app.py" passes (two)' in asked.log("it", 1, "prompt.md")
    kept = asked.host.run_dir / "feedback/it/1.md"
    assert kept.read_text().startswith("# it#1/two\n\n")


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        ("quota", "quota", "quota"),
        ("overloaded", "transient", "transient"),
        ("crash", "transient", "transient"),
        ("auth", "unavailable", "auth"),
        ("refused", "failed", "refused"),
        ("garbled", "malformed", "contract"),
    ],
)
def test_each_trouble_is_told_apart(
    project: Project, tmp_path: Path, error: str, kind: str, reason: str
) -> None:
    cast = f"""
        - match: {{attempt: 1}}
          error: {error}
          write: {{src/half.py: half}}
    """
    _, played = ask(project, tmp_path, WORK + "\nbreaker: {repeat: 9}", cast)

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == (kind, reason)
    if kind in ("failed", "malformed"):
        assert git(project.root, "show", f"{first.tree}:src/half.py") == "half"
    else:
        assert first.tree == project.tree(), "the same try begins where this one began"
    if kind != "unavailable":
        assert played.ending("it").outcome == "passed"


@pytest.mark.req("R094", "R141", "R238")
def test_an_agent_that_never_ends_is_ended(project: Project, tmp_path: Path) -> None:
    flow = "steps: {it: {agent: w, prompt: Do it, timeout: 1s, retry: {attempts: 1, on_exhausted: fail}}}"
    _, played = ask(project, tmp_path, flow, "[{error: timeout}]")

    assert played.answer("it").kind == "timeout"
    assert played.ending("it").outcome == "timeout"


def test_one_that_cannot_go_on_is_blocked_and_its_work_is_kept(project: Project, tmp_path: Path) -> None:
    cast = '[{blocked: "there is no key", write: {src/part.py: part}}]'
    _, played = ask(project, tmp_path, WORK, cast)

    assert played.ending("it").outcome == "blocked"
    assert played.result("it")["notes"] == "there is no key"
    ref = git(project.root, "for-each-ref", "--format=%(refname)", "refs/podium")
    assert git(project.root, "show", f"{ref}:src/part.py") == "part"


@pytest.mark.req("R137")
@pytest.mark.parametrize("output", ["text", "json", "{schema: Plan}"])
def test_whatever_it_owes_a_worker_may_answer_that_it_is_blocked_and_why(
    project: Project, tmp_path: Path, output: str
) -> None:
    flow = f"steps: {{it: {{agent: w, prompt: Do it, no_change: pass, output: {output}}}}}"
    asked, played = ask(project, tmp_path, flow, '[{text: "BLOCKED: there is no key"}]')

    assert played.ending("it").outcome == "blocked"
    assert played.result("it")["notes"] == "there is no key"
    assert "your whole last message is `BLOCKED:`" in asked.log("it", 1, "prompt.md")


def test_the_word_in_the_middle_of_an_answer_blocks_nothing(project: Project, tmp_path: Path) -> None:
    cast = '[{text: "Two tickets say BLOCKED: no key"}]'
    _, played = ask(project, tmp_path, "steps: {it: {agent: w, prompt: x, no_change: pass}}", cast)

    assert played.ending("it").outcome == "passed"


@pytest.mark.req("R123", "R124")
def test_an_implementation_may_say_itself_that_it_is_blocked(project: Project, tmp_path: Path) -> None:
    flow = "steps: {it: {agent: w, prompt: Do it, output: {schema: Implementation}}}"
    cast = """
        - output: {status: blocked, summary: no, actions: [], files: [], blockers: [no key, no net]}
    """
    _, played = ask(project, tmp_path, flow, cast)

    assert played.ending("it").outcome == "blocked"
    assert played.result("it")["notes"] == "no key; no net"


def test_files_beyond_touches_fail_the_attempt_and_are_named_to_the_next(
    project: Project, tmp_path: Path
) -> None:
    cast = """
        - match: {attempt: 1}
          write: {README.md: changed, src/new.py: new}
        - match: {prompt: 'Attempt 1 ended failed: the change goes beyond .*README.md'}
          write: {README.md: "hello\\n"}
    """
    _, played = ask(project, tmp_path, WORK, cast)

    assert played.answers("it")[0].reason == "touches"
    assert played.ending("it").outcome == "passed"
    assert played.result("it")["files"] == ["src/new.py"]


def test_finishing_without_a_change_is_a_failed_attempt(project: Project, tmp_path: Path) -> None:
    cast = """
        - match: {attempt: 1}
          write: {src/app.py: "x = 1\\n"}
    """
    _, played = ask(project, tmp_path, WORK, cast)

    assert [(answer.kind, answer.reason) for answer in played.answers("it")] == [
        ("failed", "no_change"),
        ("ok", ""),
    ]


@pytest.mark.req("R111")
def test_an_answer_of_the_wrong_shape_is_asked_again_and_never_guessed(
    project: Project, tmp_path: Path
) -> None:
    flow = "steps: {it: {agent: w, prompt: Do it, output: {schema: {title: string, files: [path]}}}}"
    cast = """
        - match: {attempt: 1}
          output: {title: 1}
        - match: {prompt: 'title: is number, not string(.|\\n)*"files" is missing'}
          output: {title: ok, files: []}
    """
    _, played = ask(project, tmp_path, flow, cast)

    first, second = played.answers("it")
    assert (first.kind, first.reason) == ("malformed", "contract")
    assert second.kind == "ok"
    assert played.result("it")["output"] == {"title": "ok", "files": []}


@pytest.mark.req("R121")
def test_promised_files_must_be_in_the_captured_tree_and_not_be_empty(
    project: Project, tmp_path: Path
) -> None:
    flow = 'steps: {it: {agent: w, prompt: Do it, output: {files: ["docs/*.md", "out.txt"]}}}'
    cast = """
        - match: {attempt: 1}
          write: {docs/a.md: "", other.txt: x}
        - match: {attempt: 2}
          write: {docs/a.md: text, out.txt: x}
    """
    _, played = ask(project, tmp_path, flow, cast)

    first = played.answers("it")[0]
    assert (first.kind, first.reason) == ("failed", "contract")
    assert first.result is not None
    assert first.result["message"] == 'what matches "docs/*.md" is empty; no file matches "out.txt"'
    assert played.ending("it").outcome == "passed"


def test_a_missing_adapter_names_the_ones_there_are(project: Project, tmp_path: Path) -> None:
    flow = "agents: {x: {type: teapot}}\nsteps: {it: {agent: x, prompt: Do it}}"
    _, played = ask(project, tmp_path, flow)

    assert (played.answer("it").kind, played.ending("it").outcome) == ("unavailable", "error")
    message = played.result("it")["message"]
    assert message == 'agent "x" has the unknown type "teapot"; available: command, scripted'


def test_a_fallback_works_when_the_first_agent_cannot(project: Project, tmp_path: Path) -> None:
    flow = """
        agents:
          w: {type: scripted, script: cast.yaml}
          other: {type: scripted, model: small}
        steps: {it: {agent: w, model: big, prompt: Do it, fallback: other}}
    """
    asked, played = ask(project, tmp_path, flow, "[{error: auth}]")

    assert played.ending("it").outcome == "passed"
    assert played.ending("it").degraded
    used = json.loads(asked.log("it", 2, "attempt.json"))
    assert (used["agent"], used["model"]) == ("other", "small")


def test_agent_and_role_may_be_chosen_by_the_run(project: Project, tmp_path: Path) -> None:
    flow = """
        agents: {w: {type: scripted, script: cast.yaml}}
        roles: {poet: {agent: w, system: "You rhyme, {{ run.name }}."}}
        inputs: {who: {type: string, default: poet}}
        steps: {it: {role: "${{ inputs.who }}", prompt: Do it}}
    """
    asked, played = ask(project, tmp_path, flow, "[{text: a rhyme}]", inputs={"who": "poet"})

    assert played.result("it")["output"] == "a rhyme"
    assert asked.log("it", 1, "system.md") == "You rhyme, flow."


def test_the_words_of_a_person_reach_the_next_attempt(project: Project, tmp_path: Path) -> None:
    flow = "steps: {it: {agent: w, prompt: Do it, touches: [src/**], retry: {attempts: 1}}}"
    cast = """
        - match: {attempt: 1}
          error: refused
          text: I would rather not
        - match: {prompt: 'ann says: please do'}
          write: {src/done.py: done}
    """
    _, played = ask(project, tmp_path, flow, cast, answers={"it#1/!exhausted": "retry: please do"})

    assert played.result("it")["files"] == ["src/done.py"]
    assert played.ending("it").outcome == "passed"


def test_answers_are_compared_with_the_one_before(project: Project, tmp_path: Path) -> None:
    flow = 'steps: {it: {agent: w, prompt: Do it, touches: ["src/**"], gates: [{run: [test, -e, src/c.py]}]}}'
    cast = """
        - match: {attempt: 1}
          write: {src/a.py: "one two three four five six\\n"}
          text: done
        - match: {attempt: 2}
          write: {src/a.py: "one two three four five six\\n"}
          text: done
        - match: {attempt: 3}
          write: {src/a.py: "seven eight nine\\n", src/c.py: "c"}
          text: done
    """
    _, played = ask(project, tmp_path, flow, cast)

    likeness = [answer.similarity_percent for answer in played.answers("it")]
    assert likeness[:2] == [None, 100]
    assert likeness[2] is not None and likeness[2] < 90
    assert played.answers("it")[0].digest == played.answers("it")[1].digest


LONG = f"""
- match: {{step: it}}
  text: "{"a word and another " * 1000}the end"
"""


def test_a_long_text_is_read_whole_by_those_who_come_after(project: Project, tmp_path: Path) -> None:
    flow = """
    steps:
      it: {agent: w, prompt: Write it, touches: []}
      whole: {check: "steps.it.text == steps.it.output and len(steps.it.text) == 19007"}
      sum_up: {agent: w, prompt: "Sum it up: {{ steps.it.text }}", touches: []}
    """
    asked, played = ask(project, tmp_path, flow, LONG)

    assert played.ending("whole").outcome == "passed"
    assert "another the end" in asked.log("sum_up", 1, "prompt.md")


def test_long_answers_are_compared_as_a_whole(project: Project, tmp_path: Path) -> None:
    flow = 'steps: {it: {agent: w, prompt: Write it, touches: [], gates: [{run: ["false"]}]}}'
    _, played = ask(project, tmp_path, flow, LONG, answers={"it#3/!exhausted": "fail: no"})

    assert [answer.similarity_percent for answer in played.answers("it")] == [None, 100, 100]


def test_outside_of_git_the_folder_itself_is_worked_in(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    flow = "steps: {it: {agent: w, prompt: 'Do {{ glob(\"*.yaml\") | length }}', output: {files: [new.txt]}}}"
    asked, played = ask(folder, tmp_path, flow, "[{write: {new.txt: new}}]")

    assert played.ending("it").outcome == "passed"
    assert (folder / "new.txt").read_text() == "new"
    assert asked.log("it", 1, "prompt.md").startswith("Do 1\n")


def test_mistakes_of_a_cast_are_named_by_line_and_nothing_runs(project: Project, tmp_path: Path) -> None:
    _, played = ask(project, tmp_path, WORK, "- text: ok\n  wirte: {}\n")

    assert played.ending("it").outcome == "error"
    assert played.result("it")["message"].startswith(
        'cast.yaml:2:3: a rule of the cast has an unknown key "wirte"'
    )


@pytest.mark.parametrize("unit", [1, 1_000])
def test_a_used_up_quota_is_waited_for_until_it_opens_again(
    project: Project, tmp_path: Path, unit: int
) -> None:
    """Also if the agent reports the time in milliseconds, which would be in 55,000 years."""
    later = 1_700_000_600
    (project.root / "vendor.sh").write_text(
        'if grep -q "attempt 2"; then echo fine; else\n'
        f"""echo '{{"podium": 1, "trouble": "quota", "detail": "used up", "retry_at": {later * unit}}}'; exit 1; fi\n"""
    )
    flow = f"""
        agents: {{c: {{type: command, command: [sh, {project.root}/vendor.sh]}}}}
        steps: {{it: {{agent: c, prompt: Do it}}}}
    """
    _, played = ask(project, tmp_path, flow)

    first, second = played.answers("it")
    assert (first.kind, first.retry_at, second.kind) == ("quota", later * 1000, "ok")
    assert second.at >= later * 1000
    assert (first.result or {})["message"] == "used up"
    # An agent that never tells a price may have worked before it was refused.
    assert (first.used.calls, first.cost_known) == (1, False)


def test_a_cancelled_agent_is_dead_and_its_home_gone(project: Project, tmp_path: Path) -> None:
    marker = "podium-test-cancelled-agent"

    class Cancelling(Asked):
        async def _agent(self, asked: AttemptStarted, state: State) -> AttemptEnded:
            with anyio.CancelScope() as scope:
                host = replace(self.host, marker=marker, on_progress=lambda *_: scope.cancel())
                await perform_attempt(asked, state, host)
            assert scope.cancelled_caught
            return AttemptEnded(self.host.now(), asked.path, asked.attempt, "cancelled")

    made, _ = ask(project, tmp_path, WORK, "[]")
    (project.root / "cast.yaml").write_text("[{write: {src/a.py: x}, error: timeout}]\n")
    played = Cancelling(made.workflow, made.host, made.root, clock=made.clock).play()

    assert played.answer("it").kind == "cancelled"
    assert list(made.host.work_dir.glob("w*")) == []
    anyio.run(clear, made.host)
    assert not made.host.work_dir.exists()
    assert sweep(marker) == ()

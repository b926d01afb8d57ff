"""What an agent is told: its author's words, what it needs to know, and what went wrong before."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.state import State
from podium.redaction.mask import Mask
from tests.attempt.agent_attempts import Asked, ask
from tests.git.kit import Project

pytestmark = pytest.mark.slow


@pytest.mark.req("R004", "R038")
def test_an_agent_is_told_its_step_what_came_before_what_success_is_and_what_comes_next(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        description: Say hello
        steps:
          plan: {agent: w, prompt: Plan, output: {schema: Plan}, description: The plan}
          it:
            agent: w
            prompt: "Do {{ steps.plan.output.title }}"
            touches: ["src/**"]
            protect: [secret/**]
            output: {files: ["src/*.py"]}
            gates: [{name: tests, run: pytest -q}, {name: small, check: len(work.files) < 9}, {review: [w]}, {human: "Good?"}]
            retry: {attempts: 1}
            on: {failed: plan}
          land: {check: "true"}
    """
    cast = """
        - match: {step: plan}
          output: {title: a greeting, summary: s, steps: [], files: [], risks: [], questions: []}
          text: I planned it
        - match: {step: it}
          error: auth
    """
    asked, _ = ask(project, tmp_path, flow, cast)

    plan, prompt = asked.log("plan", 1, "prompt.md"), asked.log("it", 1, "prompt.md")
    assert prompt.startswith("Do a greeting\n\n## Your step\n")
    for line in (
        'You do step "it" of the workflow "flow" (Say hello).',
        "- plan: passed - I planned it",
        "- only these files are changed: src/**",
        "- at least one file is changed",
        "- a file src/*.py is there and not empty",
        '- "pytest -q" passes (tests)',
        "- the check small holds",
        "- w approve it",
        "- a person says yes to: Good?",
        "- next: land",
        '- if failed: go to "plan"',
    ):
        assert line in prompt, prompt
    assert "secret/**" in prompt
    assert "The plan" in plan
    assert "exactly one JSON value" in plan
    assert '"title": "Plan"' in plan


def test_feedback_stands_where_the_prompt_says_and_else_at_its_end(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          a: {agent: w, prompt: "Before. {{ feedback }} Behind.", gates: [{run: [test, -e, a.txt]}]}
          b: {agent: w, prompt: "Do b", gates: [{run: [test, -e, b.txt]}]}
    """
    cast = """
        - {match: {step: a, attempt: 2}, write: {a.txt: a}}
        - {match: {step: b, attempt: 2}, write: {b.txt: b}}
    """
    asked, _ = ask(project, tmp_path, flow, cast)

    placed = asked.log("a", 2, "prompt.md")
    assert placed.startswith('Before. The command "run" failed with exit code 1.')
    assert "Behind.\n" in placed and "## Feedback" not in placed
    assert asked.log("a", 1, "prompt.md").startswith("Before.  Behind.\n")
    assert "## Feedback on the work so far\n\nThe command" in asked.log("b", 2, "prompt.md")


@pytest.mark.req("R114", "C40")
def test_the_latest_feedback_is_given_in_full_and_earlier_ones_in_short(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        steps:
          it:
            agent: w
            prompt: Do it
            gates: [{name: one, run: [sh, -c, "cat n.txt; echo said; echo more; grep 3 n.txt"]}, {name: two, run: [grep, "3", n.txt]}]
    """
    cast = """
        - {match: {attempt: 1}, write: {n.txt: "number 1\\n"}}
        - {match: {attempt: 2}, write: {n.txt: "number 2\\n"}}
        - {match: {attempt: 3}, write: {n.txt: "number 3\\n"}}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    assert played.ending("it").outcome == "passed"
    second, third = asked.log("it", 2, "prompt.md"), asked.log("it", 3, "prompt.md")
    assert "number 1\nsaid\nmore" in second and "Earlier, in short" not in second
    assert "number 2\nsaid\nmore" in third and "number 1\nsaid\nmore" not in third
    assert third.count('The command "one" failed') == 2
    assert third.count('The command "two" failed') == 2
    names = sorted(path.name for path in (asked.host.run_dir / "feedback/it").iterdir())
    assert names == ["1.md", "2.md", "3.md", "4.md"]


def test_an_attempts_own_words_outlive_the_state_in_their_file(project: Project, tmp_path: Path) -> None:
    flow = 'steps: {it: {agent: w, prompt: Do it, touches: ["src/**"]}}'
    cast = """
        - {match: {attempt: 1}, write: {first.txt: x}}
        - {match: {attempt: 2}, write: {first.txt: x, second.txt: y}}
        - {match: {attempt: 3}, delete: [first.txt, second.txt], write: {src/ok.py: x}}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    third = asked.log("it", 3, "prompt.md")
    assert played.ending("it").outcome == "passed"
    assert (
        "Attempt 2 ended failed: the change goes beyond what this step may touch: first.txt, second.txt"
        in third
    )
    assert "- Attempt 1 ended failed: the change goes beyond what this step may touch: first.txt;" in third


@pytest.mark.req("R140", "C7")
def test_a_degraded_attempt_is_told_what_is_enough(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          it:
            agent: w
            prompt: Do it
            retry: {attempts: 1, degrade: ["Only the half of {{ run.name }}"]}
            gates: [{run: [test, -e, half.txt]}]
    """
    cast = "[{match: {prompt: Only the half of flow}, write: {half.txt: x}}]"
    _, played = ask(project, tmp_path, flow, cast)

    assert played.ending("it").outcome == "passed"
    assert played.ending("it").degraded


@pytest.mark.req("R211", "R214")
def test_what_is_recorded_is_what_record_says(project: Project, tmp_path: Path) -> None:
    flow = """
        record: {prompts: false, stdout: false, outputs: false, reasoning: false, inputs: false}
        steps: {it: {agent: w, prompt: Do it}}
    """
    quiet, _ = ask(project, tmp_path, flow)
    assert [path.name for path in quiet.host.log_dir("it", 1).iterdir()] == ["attempt.json"]

    loud, played = ask(
        project,
        tmp_path,
        "steps: {it: {agent: w, prompt: Do it}}",
        "[{text: hi, cost_usd: 0.5, usage: {input: 7, output: 3}}]",
    )
    facts = json.loads(loud.log("it", 1, "attempt.json"))
    assert sorted(path.name for path in loud.host.log_dir("it", 1).iterdir()) == [
        "answer.md", "attempt.json", "inputs.json", "progress.jsonl", "prompt.md", "stdout.log",
    ]  # fmt: skip
    assert (facts["cost_usd"], facts["usage"]["input"], facts["exit_code"]) == (0.5, 7, 0)
    assert (played.answer("it").used.usd, played.answer("it").used.tokens) == (500_000, 10)
    assert played.result("it")["log"] == "agent_logs/it/1"


@pytest.mark.req("R184")
def test_a_secret_reaches_no_file_and_no_event(project: Project, tmp_path: Path) -> None:
    secret = "s3cret-value-1234"
    flow = """
        secrets: [TOKEN]
        inputs: {word: string}
        agents: {c: {type: command, command: [sh, -c, 'cat >/dev/null; echo "token $TOKEN"; echo "$TOKEN" >&2']}}
        steps: {it: {agent: c, prompt: "Say {{ inputs.word }}", secrets: [TOKEN]}}
    """
    asked, played = ask(
        project,
        tmp_path,
        flow,
        inputs={"word": secret},
        mask=Mask({"TOKEN": secret}),
        secrets={"TOKEN": secret},
    )

    assert played.result("it")["output"].strip() == "token ***"
    assert "Say ***" in asked.log("it", 1, "prompt.md")
    hits = [
        path
        for path in asked.host.run_dir.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert hits == []


def test_guidance_of_a_person_reaches_the_next_agent(project: Project, tmp_path: Path) -> None:
    """R198"""

    class Guided(Asked):
        async def _agent(self, asked: AttemptStarted, state: State) -> AttemptEnded:
            return await super()._agent(replace(asked, guidance=("Use tabs.", "Be brief.")), state)

    made, _ = ask(project, tmp_path, "steps: {it: {agent: w, prompt: Do it}}")
    guided = Guided(made.workflow, made.host, made.root, clock=made.clock)
    guided.play()

    assert "## Guidance from the person who runs this\n\nUse tabs.\n\nBe brief." in guided.log(
        "it", 1, "prompt.md"
    )


def test_what_an_agent_is_asked_is_on_disk_before_it_answers(project: Project, tmp_path: Path) -> None:
    """R159: after a crash it is known what was asked."""
    seen: list[str] = []
    flow = "steps: {it: {agent: w, prompt: Do it}}"
    made, _ = ask(project, tmp_path, flow)
    prompt = made.host.log_dir("it", 1) / "prompt.md"
    prompt.unlink()
    made.given(on_progress=lambda *_: seen.append(prompt.read_text())).play()

    assert seen and seen[0].startswith("Do it")


def test_a_prompt_that_cannot_be_written_is_an_error_and_no_agent_is_asked(
    project: Project, tmp_path: Path
) -> None:
    flow = 'steps: {it: {agent: w, prompt: "Do {{ slug(1) }} {{ default(env.NOPE, 1) }}"}}\nenv: [NOPE]'
    made, played = ask(project, tmp_path, flow)

    assert played.ending("it").outcome == "error"
    assert made.seen == []


def test_files_may_be_asked_about_in_a_prompt(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          it: {agent: w, prompt: "{{ exists('src/app.py') }} {{ exists('src') }} {{ exists('no') }} {{ glob('src/*') | join(' ') }}"}
    """
    asked, _ = ask(project, tmp_path, flow)

    assert asked.log("it", 1, "prompt.md").splitlines()[0].lower() == "true true false src/app.py"


def test_an_advisor_is_told_which_rule_was_hit(project: Project, tmp_path: Path) -> None:
    flow = """
        agents: {w: {type: scripted, script: cast.yaml}}
        breaker: {retries: 1, ask: w}
        steps: {it: {agent: w, prompt: Do it, gates: [{run: [test, -e, x.txt]}]}}
    """
    cast = """
        - match: {step: advisor}
          output: {action: retry_different, guidance: write x.txt, reason: it is missing}
        - match: {step: it, prompt: 'The advisor says: write x.txt'}
          write: {x.txt: x}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    prompt = asked.log("it#1/!advice", 1, "prompt.md")
    assert 'stopped at "it": the rule "retries" of its breaker was hit' in prompt
    assert 'The command "run" failed with exit code 1' in prompt
    assert played.ending("it").outcome == "passed"


@pytest.mark.req("R128")
def test_an_advisor_about_a_circle_is_told_visits_scores_outputs_time_and_cost(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        agents: {w: {type: scripted, script: cast.yaml}}
        breaker: {visits: 2, ask: w}
        steps:
          it: {agent: w, prompt: Do it, touches: [a.txt]}
          judge: {review: w, of: it, on: {rejected: it}}
    """
    cast = """
        - {match: {step: it, visit: 1}, text: the first, write: {a.txt: one}, cost_usd: 0.5, usage: {input: 900}}
        - {match: {step: it, visit: 2}, text: the second, write: {a.txt: two}, cost_usd: 0.25, usage: {input: 99}}
        - match: {step: judge/w}
          verdict: {decision: reject, score: 4, findings: [{severity: major, issue: too long}]}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    [path] = [
        event.path for event in played.events if isinstance(event, AttemptStarted) and "advice" in event.path
    ]
    prompt = asked.log(path, 1, "prompt.md")
    assert 'stopped at "the workflow": the rule "visits"' in prompt
    untimed = re.sub(r"\d+\.\d s", "TIME", prompt)
    for words in (
        (
            "- it, visit 1: passed, TIME, $0.50\n- judge, visit 1: rejected, score 4, TIME, $0.00\n"
            "- it~2, visit 2: passed, TIME, $0.25\n- judge~2, visit 2: rejected, score 4, TIME, $0.00"
        ),
        "Used by the run so far: 5 transitions, TIME of work, $0.75, 999 tokens in 4 calls.",
        "it~2 has answered:\n```\nthe second\n```",
        "[major]: too long",
    ):
        assert words in untimed, untimed
    assert played.state.ended is not None and played.state.ended.reason == "halted"


def test_only_what_is_certainly_finished_is_told_as_before(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          start: {agent: w, prompt: x, touches: [], needs: []}
          aside: {agent: w, prompt: x, touches: [], needs: []}
          it: {agent: w, prompt: x, touches: [], needs: [start]}
          both: {agent: w, prompt: x, touches: [], needs: [it, aside]}
    """
    asked, _ = ask(project, tmp_path, flow)

    one, other = asked.log("it", 1, "prompt.md"), asked.log("both", 1, "prompt.md")
    assert "- start: passed" in one and "aside" not in one and "- next: both" in one
    assert all(f"- {name}: passed" in other for name in ("start", "aside", "it"))

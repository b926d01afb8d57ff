"""What a failed attempt hands on: everybody who may object, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attempt.agent_attempts import ask
from tests.git.kit import Project


@pytest.mark.req("R113", "R117")
def test_a_later_step_that_fails_speaks_to_the_step_it_goes_back_to(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          it: {agent: w, prompt: Do it}
          test: {run: [sh, -c, "echo wrong number; exit 7"], on: {failed: it}, when: "steps.it.visit < 2"}
    """
    asked, played = ask(project, tmp_path, flow, "[]")

    prompt = asked.log("it~2", 1, "prompt.md")
    assert 'The command "test" failed with exit code 7.' in prompt
    assert "wrong number" in prompt
    assert (asked.host.run_dir / "feedback/it/1.md").read_text().startswith("# test\n")
    assert played.state.ended is not None and played.state.ended.outcome == "passed"


def test_a_person_who_rejects_is_heard(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          it: {agent: w, prompt: Do it}
          ok: {human: "Good?", on: {rejected: it}}
    """
    asked, _ = ask(project, tmp_path, flow, answers={"ok": "reject: too long"})

    assert "ann says (rejected): too long" in asked.log("it~2", 1, "prompt.md")


def test_a_check_and_a_block_that_fail_are_named_down_to_what_went_wrong(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        steps:
          it: {agent: w, prompt: Do it, gates: [{name: wide, check: len(work.files) > 0, when: "false"}]}
          group:
            steps: {a: {run: [sh, -c, "echo deep; exit 2"]}}
            when: steps.it.visit < 2
            on: {failed: it}
          small: {check: steps.it.visit > 2, on: {failed: it}}
    """
    asked, _ = ask(project, tmp_path, flow)

    second, third = asked.log("it~2", 1, "prompt.md"), asked.log("it~3", 1, "prompt.md")
    assert 'Step "group" ended failed' in second and 'The command "a" failed with exit code 2' in second
    assert 'The check "small" does not hold.' in third
    assert 'Earlier, in short:\n- Step "group" ended failed' in third


def test_a_review_of_several_lets_each_that_objects_speak(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          it: {agent: w, prompt: Do it}
          look: {review: [w, w], of: it, on: {rejected: it}}
    """
    cast = """
        - match: {step: look/w, visit: 1}
          verdict: {decision: reject, findings: [{severity: critical, issue: leaks, id: K1}, {severity: minor, issue: old, status: fixed}]}
        - match: {step: look/w_2, visit: 1}
          verdict: {decision: reject, summary: all of it, findings: [{severity: major, issue: slow, path: src/app.py, line: 3}]}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    prompt = asked.log("it~2", 1, "prompt.md")
    assert 'The review "look" ended rejected.' in prompt
    assert "- K1 [critical]: leaks" in prompt
    assert "[major] (src/app.py:3): slow" in prompt and "all of it" in prompt
    assert "old" not in prompt
    assert played.state.ended is not None and played.state.ended.outcome == "passed"


def test_a_member_that_clashed_is_told_what_clashes_and_to_begin_with_the_others_work(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        max_parallel: 2
        steps:
          both:
            parallel: 2
            steps:
              a: {agent: w, prompt: Do a, touches: [src/part]}
              b: {agent: w, prompt: Do b, touches: [src/part/f, src/b.py], retry: {attempts: 2}}
    """
    cast = """
        - {match: {step: a}, write: {src/part: "x = 2\\n"}}
        - {match: {step: b, attempt: 1}, write: {src/part/f: "x = 3\\n"}}
        - {match: {step: b, attempt: 2}, write: {src/b.py: "b\\n"}}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    prompt = asked.log("both/b", 2, "prompt.md")
    assert len(played.answers("both/b")) == 2
    assert "Attempt 1 does not merge." in prompt
    assert "did not fit together with what others have done" in prompt
    assert "src/part" in prompt and "CONFLICT" in prompt


def test_a_block_that_clashed_tells_its_steps_what_clashes(project: Project, tmp_path: Path) -> None:
    flow = """
        max_parallel: 2
        steps:
          both:
            parallel: 2
            steps:
              a: {agent: w, prompt: Do a, touches: [src/part]}
              g: {steps: {b: {agent: w, prompt: Do b, touches: [src/part/f, src/b.py]}}, retry: {attempts: 2}}
    """
    cast = """
        - {match: {step: both/a}, write: {src/part: "x = 2\\n"}}
        - {match: {step: both/g/b, visit: 1}, write: {src/part/f: "x = 3\\n"}}
        - {match: {step: both/g/b, visit: 2}, write: {src/b.py: "b\\n"}}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    prompt = asked.log("both/g/b~2", 1, "prompt.md")
    assert "Attempt 1 does not merge." in prompt and "src/part" in prompt and "CONFLICT" in prompt
    assert played.state.ended is not None and played.state.ended.outcome == "passed"


def test_a_member_that_is_red_once_it_is_merged_is_told_which_command_says_so(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        max_parallel: 2
        steps:
          both:
            parallel: 2
            steps:
              a: {agent: w, prompt: Do a, touches: [a.py]}
              b: {agent: w, prompt: Do b, touches: [b.py, c.py], retry: {attempts: 2}, gates: [{name: lone, run: [sh, -c, "test ! -e a.py || test -e c.py"]}]}
    """
    cast = """
        - {match: {step: both/a}, write: {a.py: "a\\n"}}
        - {match: {step: both/b, attempt: 1}, write: {b.py: "b\\n"}}
        - {match: {step: both/b, attempt: 2}, write: {c.py: "c\\n"}}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    prompt = asked.log("both/b", 2, "prompt.md")
    assert "Attempt 1 is red once it is merged." in prompt
    assert "both/b#1/lone does not pass on the joined tree" in prompt
    assert played.state.ended is not None and played.state.ended.outcome == "passed"

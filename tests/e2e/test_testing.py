"""`podium test`: the real engine in a copy of the project, held against what a test file expects."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

ROOT = Path(__file__).parents[2]
FLOW = """\
podium: 1
name: greet
inputs: {name: string}
secrets: [TOKEN]
agents: {writer: {type: claude}, critic: {type: gemini}}
outputs: {said: "${{ steps.write.output }}"}
steps:
  write:
    agent: writer
    prompt: "Greet {{ inputs.name }}."
    touches: ["*.txt"]
    output: {file: note.md}
    gates: [{name: polite, run: grep -q please hello.txt}]
  review: {review: critic, of: write, on: {rejected: write}}
  go: {wait: {signal: go}}
  ask: {human: "Send it to {{ inputs.name }}?", on: {rejected: write}}
"""
GOOD = """\
podium: 1
inputs: {name: Ann}
env: {TOKEN: test-token-1234}
cast:
  - {match: {step: write}, write: {hello.txt: "please come in\\n"}, text: hello, usage: {input: 5, output: 2}}
tests:
  all_is_seen:
    cast:
      - {match: {step: write, visit: 1, attempt: 1}, write: {hello.txt: "come\\n"}, cost_usd: 0.25}
      - {match: {step: write, visit: 2}, write: {hello.txt: "please\\n"}, text: hello}
      - {match: {step: ask, visit: 1}, action: reject, text: Be brief.}
      - {match: {step: go}, output: {by: bell}}
    expect:
      status: passed
      exit: 0
      path: [write, {review: passed}, go, {ask: rejected}, write~2, review~2, go~2, {ask~2: passed}]
      steps:
        write: {outcome: passed, attempts: 1, text: hello, output: hello}
        "write#1/polite": failed
        go: {output: {by: bell}}
      prompts:
        - {step: write, visit: 1, attempt: 1, contains: [Greet Ann., hello.txt], lacks: exit code}
        - {step: write, visit: 1, attempt: 2, contains: exit code 1}
        - {step: write, visit: 2, matches: "Be brief"}
        - {step: review/critic, contains: please}
      questions:
        - {step: ask, text: "Send it to Ann?", answer: reject}
        - {step: ask, answer: approve}
      files: {hello.txt: {equals: "please\\n"}, gone.txt: {exists: false}, extra.txt: new}
      artifacts: {write/note.md: hello}
      outputs: {said: hello}
      usd: {max: 0.25, exactly: 0.25}
      tokens: 7
    files: {extra.txt: "new\\n"}
  nobody_answers:
    cast: [{match: {step: ask}, silent: true}]
    expect: {status: waiting, exit: 6}
  nobody_may_be_asked:
    no_human: true
    expect: {exit: 1, questions: []}
  what_is_wrong_is_refused:
    inputs: {nmae: x}
    expect: {exit: 2, message: nmae}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    files = {"flow.yaml": FLOW, "flow.test.yaml": GOOD}
    with closing(new_project(tmp_path_factory.mktemp("tests") / "p", files)) as made:
        made.put({"hello.txt": "not committed\n"})
        yield made


@pytest.mark.req("X16")
def test_everything_that_can_be_expected_is_seen_without_any_agent(project: Project) -> None:
    """Agents of two vendors, a gate, a signal, people, files, artifacts, cost: and nothing of the user is touched."""
    before = project.git("status", "--porcelain")

    done = project.podium("test", "--json")

    assert done.code == 0, json.dumps(done.data(), indent=1)
    assert done.data()["passed"] == 4
    assert project.git("status", "--porcelain") == before
    assert not (project.root / ".podium").exists()
    assert [*project.marked(), *project.leftovers()] == []


BAD = (
    GOOD.partition("tests:")[0]
    + """\
tests:
  all_is_wrong:
    cast:
      - {match: {step: wirte}, text: x}
    expect:
      status: failed
      exit: 3
      path: [write, {review: rejected}, ask]
      steps: {write: {attempts: 7, text: {equals: "other"}}, wirte: passed}
      prompts: [{step: write, contains: Greet Bob.}, {step: nobody, contains: x}]
      questions: []
      files: {hello.txt: rude, helo.txt: {exists: true}}
      outputs: {said: 1}
      usd: 3
      tokens: {max: 1}
"""
)


def test_every_difference_is_told_at_once_with_both_sides(project: Project) -> None:
    project.put({"bad/flow.test.yaml": BAD.replace("podium: 1\n", "podium: 1\nworkflow: ../flow.yaml\n")})

    done = project.podium("test", "bad", "--junit", "out/report.xml")

    assert done.code == 1
    for told in (
        "FAIL  bad/flow.test.yaml:8 all_is_wrong",
        "status: expected failed, the run was passed",
        "exit: expected 3, it was 0",
        "-review: rejected",
        "+review: passed",
        "steps.write: expected 7 attempts, there were 1",
        "-other",
        'steps.wirte: the run never came to it; did you mean "write"?',
        'prompts of write: it does not contain "Greet Bob."',
        "+ Greet Ann.",
        "prompts of nobody: there was no such prompt; there were: review/critic attempt 1, write attempt 1",
        "questions: other people were asked",
        'files.hello.txt: it does not contain "rude"',
        'files.helo.txt: file not found; did you mean "hello.txt"?',
        "outputs.said: it is another value",
        "usd: expected 3, it was 0",
        "tokens: expected at most 1, it was 7",
        'cast: the rule at line 10 was never played: nothing at "wirte" was asked (did you mean "write"?); there were: write, ',
        "1 test: 0 passed, 1 failed",
    ):
        assert told in done.out, told
    suite = ET.parse(project.root / "out/report.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite[0].get("name") == "all_is_wrong"
    assert "expected failed" in str(suite[0][0].text)


def test_mistakes_of_test_files_are_named_by_line_before_anything_is_played(project: Project) -> None:
    text = (
        GOOD.replace("exit: 0", "exot: 0")
        .replace("{review: passed}", "{review: pased}")
        .replace('matches: "Be brief"', 'matches: "("')
    )
    project.put({"broken/flow.test.yaml": text.replace("podium: 1\n", "podium: 1\nworkflow: ../flow.yaml\n")})

    done = project.podium("test", "broken")

    assert done.code == 2
    assert 'flow.test.yaml:16:7: "expect" has an unknown key "exot"' in done.err
    assert 'did you mean "exit"?' in done.err
    assert 'flow.test.yaml:17:21: "path[1]" must be a step, or a step with its outcome' in done.err


def test_a_file_with_mistakes_does_not_keep_the_others_from_being_played(project: Project) -> None:
    flow = "podium: 1\nname: plain\nsteps: {a: {set: {x: 1}}}\n"
    project.put(
        {
            "some/plain.yaml": flow,
            "some/plain.test.yaml": "podium: 1\ntests: {plain: {}}\n",
            "some/broken.test.yaml": "podium: 1\ntests: {t: {cat: []}}\n",
        }
    )

    done = project.podium("test", "some")
    data = project.podium("test", "some", "--json").data()

    assert done.code == 2
    assert 'broken.test.yaml:2:13: test "t" has an unknown key "cat"' in done.err
    assert "1 test: 1 passed, 0 failed, 1 file with mistakes" in done.out
    assert data["passed"] == 1
    assert "unknown key" in data["mistakes"][0]


TIMES = """\
podium: 1
name: times
steps:
  pause: {wait: {timer: 3h}}
  signal: {wait: {signal: never}, timeout: 2h, on: {timeout: next}}
  ask: {human: "Go?", timeout: 2h, on: {timeout: next}}
  again: {run: ["false"], retry: {attempts: 3, backoff: 1h}, on: {failed: next}}
"""


def test_a_test_does_not_wait_for_a_time(project: Project) -> None:
    cast = "[{match: {step: signal}, silent: true}, {match: {step: ask}, silent: true}]"
    tests = f"podium: 1\ntimeout: 60s\ntests: {{t: {{cast: {cast}}}}}\n"
    project.put({"times/times.yaml": TIMES, "times/times.test.yaml": tests})

    done = project.podium("test", "times")

    assert done.code == 0, done.out


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (("nowhere",), "nowhere does not exist"),
        (("flow.test.yaml", "-k", "zzz"), "no matching tests"),
        (("docs",), "no files *.test.yaml"),
    ],
)
def test_nothing_to_play_is_a_mistake_of_the_call(
    project: Project, arguments: tuple[str, ...], fact: str
) -> None:
    (project.root / "docs").mkdir(exist_ok=True)
    done = project.podium("test", *arguments)

    assert done.code == 2
    assert fact in done.err


def test_a_test_that_takes_too_long_is_ended_with_all_its_processes(project: Project) -> None:
    flow = "podium: 1\nname: slow\nsteps: {a: {run: [sleep, '987']}}\n"
    tests = "podium: 1\ntimeout: 1s\ntests: {slow: {}}\n"
    project.put({"slow/slow.yaml": flow, "slow/slow.test.yaml": tests})

    done = project.podium("test", "slow")

    assert done.code == 1
    assert "it was not over after 1 s" in done.out
    assert project.marked() == []


@pytest.mark.req("X16")
def test_recordings_answer_in_tests_too(tmp_path: Path) -> None:
    flow = (
        "podium: 1\nname: w\nlimits: {unknown_cost: count_tokens}\nagents: {a: {type: command, command: ["
        f'{sys.executable}, -c, "print(7)"]}}}}\nsteps: {{s: {{agent: a, prompt: How many?, touches: [], no_change: pass}}}}\n'
    )
    tests = "podium: 1\nreplay: tapes\ntests: {it_counts: {expect: {steps: {s: {text: '7'}}}}}\n"
    with closing(
        new_project(tmp_path / "p", {"w.yaml": flow.replace("How many?", '"How many?"')})
    ) as project:
        made = project.podium("run", "w.yaml", "--record", "tapes")
        project.put(
            {"w.test.yaml": tests, "w.yaml": (project.root / "w.yaml").read_text().replace("-c", "-x")}
        )
        done = project.podium("test")

    assert made.code == 0, made.err
    assert done.code == 0, done.out + done.err


LOOPS = """\
podium: 1
name: loops
agents: {a: {type: claude}, critic: {type: gemini}}
steps:
  each: {for_each: [p, q], parallel: 2, agent: a, prompt: "{{ item }}", touches: [], no_change: pass}
  pan:
    steps:
      w: {agent: a, prompt: Work., touches: [], no_change: pass}
      look: {human: "Good?", on: {rejected: w}}
  impl: {agent: a, prompt: Do it., touches: ["*.txt"], gates: [{name: judge, review: critic}]}
  ask: {human: "Done?", on: {rejected: pan}}
"""
LOOPED = """\
podium: 1
cast:
  - {match: {step: impl, visit: 2}, write: {hello.txt: "thanks\\n"}}
  - {match: {step: impl}, write: {hello.txt: "please\\n"}}
  - {match: {step: look, visit: 1}, action: reject, text: Once more.}
  - {match: {step: ask, visit: 1}, action: reject, text: Again.}
tests:
  good:
    expect:
      path: [each, pan, impl, {ask: rejected}, pan~2, impl~2, ask~2]
      prompts:
        - {step: critic, visit: 2, contains: hello.txt}
        - {step: w, visit: 2, contains: Once more.}
        - {step: pan~2/w, visit: 1, contains: Work.}
        - {step: each, visit: 1, contains: q}
  bad:
    expect:
      path: [pan, {ask: passed}, impl]
      prompts: [{step: critic, visit: 3, contains: x}, {step: pan/w~2, visit: 1, contains: x}]
"""


@pytest.mark.req("X16")
def test_loops_are_one_step_of_the_way_and_visits_are_those_of_the_step_that_is_named(tmp_path: Path) -> None:
    files = {"loops.yaml": LOOPS, "loops.test.yaml": LOOPED}
    with closing(new_project(tmp_path / "p", files)) as project:
        done = project.podium("test", "--json")

    good, bad = done.data()["tests"]
    assert good["failures"] == []
    told = {failure["about"]: failure for failure in bad["failures"]}
    assert told["prompts of critic visit 3"]["message"].startswith("there was no such prompt")
    assert told["prompts of pan/w~2 visit 1"]["message"].startswith("there was no such prompt")
    lines = told["path"]["difference"].splitlines()
    assert "+each: passed" in lines and " pan" in lines and "+pan" not in lines

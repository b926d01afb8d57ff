"""Who works, what it is given, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from podium.attempt.agent.usage import likeness
from tests.attempt.agent_attempts import ask
from tests.git.kit import Project


@pytest.mark.parametrize(
    ("agents", "step", "said"),
    [
        (
            "w: {type: scripted}",
            "{role: nobody_known, prompt: x}",
            "the step names no agent, and no enabled agent can serve as the default",
        ),
        ("w: {type: scripted, enabled: false}", "{agent: w, prompt: x}", 'agent "w" is disabled'),
        (
            "w: {type: acp}",
            "{agent: w, prompt: x}",
            'has the unknown type "acp"; available: command, scripted',
        ),
    ],
)
def test_nobody_to_work_is_said_with_what_there_is(
    project: Project, tmp_path: Path, agents: str, step: str, said: str
) -> None:
    flow = f"agents: {{{agents}}}\nroles: {{nobody_known: {{system: hm}}}}\nsteps: {{it: {step}}}"
    _, played = ask(project, tmp_path, flow)

    assert (played.answer("it").kind, played.answer("it").used.calls) == ("unavailable", 0)
    assert said in played.result("it")["message"]


def test_auto_takes_the_first_candidate(project: Project, tmp_path: Path) -> None:
    flow = """
        agents: {w: {type: scripted}, v: {type: scripted}}
        roles: {r: {agent: auto, candidates: [v, w], system: hm}}
        steps: {it: {role: r, prompt: x}}
    """
    asked, _ = ask(project, tmp_path, flow)

    facts = json.loads(asked.log("it", 1, "attempt.json"))
    assert (facts["agent"], facts["persona"]["role"]) == ("v", "r")


def test_a_role_that_only_the_run_names_must_exist(project: Project, tmp_path: Path) -> None:
    flow = 'inputs: {who: string}\nsteps: {it: {role: "${{ inputs.who }}", prompt: x}}'
    _, played = ask(project, tmp_path, flow, inputs={"who": "ghost"})

    assert played.ending("it").outcome == "error"
    assert 'role "ghost" not found' in played.result("it")["message"]


def test_an_agents_own_environment_reaches_it(project: Project, tmp_path: Path) -> None:
    flow = """
        agents: {c: {type: command, command: [sh, -c, "cat > /dev/null; echo $LOUD $SHELLED $OTHER"], env: [LOUD=yes, SHELLED, ABSENT]}}
        steps: {it: {agent: c, prompt: x}}
    """
    env = {"PATH": "/usr/bin:/bin", "SHELLED": "passed", "OTHER": "no"}
    _, played = ask(project, tmp_path, flow, host_env=env)

    assert played.result("it")["text"] == "yes passed\n"


def test_a_program_that_is_not_there_costs_nothing_and_is_unavailable(
    project: Project, tmp_path: Path
) -> None:
    flow = "agents: {c: {type: command, command: [no-such-tool]}}\nsteps: {it: {agent: c, prompt: x}}"
    _, played = ask(project, tmp_path, flow)

    answer = played.answer("it")
    assert (answer.kind, answer.used.calls, answer.cost_known) == ("unavailable", 0, True)
    assert "no-such-tool" in played.result("it")["message"]


def test_what_nobody_priced_is_unknown_and_not_free(project: Project, tmp_path: Path) -> None:
    """X2"""
    flow = "agents: {c: {type: command, command: cat}}\nsteps: {it: {agent: c, prompt: x}}"
    _, played = ask(project, tmp_path, flow)

    assert not played.answer("it").cost_known


@pytest.mark.parametrize(
    ("one", "other", "least", "most"),
    [
        ("a b c", "a b c", 100, 100),
        ("a b c d", "a b c e", 75, 75),
        ("", "", 100, 100),
        ("a", "b", 0, 0),
        ("x " * 9000, "x " * 8000, 99, 100),
    ],
)
def test_likeness_is_in_percent_of_words(one: str, other: str, least: int, most: int) -> None:
    assert least <= likeness(one, other) <= most


@pytest.mark.req("R153", "R214")
def test_a_long_answer_is_cut_in_the_record_and_whole_on_disk(project: Project, tmp_path: Path) -> None:
    flow = """
        agents: {c: {type: command, command: [sh, -c, "cat > /dev/null; yes line | head -n 4000"]}}
        steps: {it: {agent: c, prompt: x, output: lines}}
    """
    asked, played = ask(project, tmp_path, flow)

    assert len(played.result("it")["output"]) == 4000
    assert "[truncated: the first 8192 of 20000 bytes]" in played.result("it")["text"]
    assert len(asked.log("it", 1, "answer.md")) == len(asked.log("it", 1, "stdout.log")) == 20_000

    assert not list(asked.host.run_dir.glob("outputs/*")), "it is kept once"

    quiet, _ = ask(project, tmp_path, dedent(flow) + "record: {stdout: false}\n")
    assert not list(quiet.host.run_dir.glob("outputs/*"))
    assert (quiet.host.log_dir("it", 1) / "answer.md").exists()


def test_a_folder_that_may_not_be_taken_over_fails_the_attempt(project: Project, tmp_path: Path) -> None:
    flow = """
        agents: {c: {type: command, command: [sh, -c, "cat > /dev/null; ln -s /etc/passwd out; echo done"]}}
        steps: {it: {agent: c, prompt: x, retry: {attempts: 1, on_exhausted: fail}}}
    """
    _, played = ask(project, tmp_path, flow)

    answer = played.answer("it")
    assert (answer.kind, answer.tree) == ("failed", project.tree())
    assert "out is a new symbolic link" in played.result("it")["message"]


def test_a_command_is_given_its_prompt_system_text_and_schema_as_files(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        agents: {c: {type: command, command: [sh, -c, 'cat "$0" "$1" >&2; cat "$2"', "{system_file}", "{prompt_file}", "{schema_file}"]}}
        roles: {r: {agent: c, system: "Be kind."}}
        steps: {it: {role: r, prompt: Do it, output: json}}
    """
    asked, played = ask(project, tmp_path, flow)

    assert played.result("it")["output"] == {}
    assert asked.log("it", 1, "stderr.log").startswith("Be kind.Do it\n\n## Your step")


def test_texts_of_a_role_that_only_the_run_names_may_be_files(project: Project, tmp_path: Path) -> None:
    (project.root / "prompts").mkdir()
    (project.root / "prompts/poet.md").write_text("You rhyme.")
    flow = """
        agents: {w: {type: scripted}}
        roles: {poet: {agent: w, system: prompts/poet.md, prompt: Write}, lost: {agent: w, system: prompts/no.md}}
        inputs: {who: string}
        steps: {it: {role: "${{ inputs.who }}", prompt: Write}}
    """
    files = {"prompts/poet.md": "You rhyme.", "prompts/no.md": "gone by then"}
    asked, _ = ask(project, tmp_path, flow, inputs={"who": "poet"}, files=files)
    assert asked.log("it", 1, "system.md") == "You rhyme."

    _, played = ask(project, tmp_path, flow, inputs={"who": "lost"}, files=files)
    assert played.ending("it").outcome == "error"
    assert "prompts/no.md does not exist" in played.result("it")["message"]


def test_a_review_outside_of_git_works_without_a_diff(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    flow = """
        steps:
          it: {agent: w, prompt: Do it, output: {schema: {title: string}}}
          look: {review: [w], of: it}
    """
    asked, played = ask(folder, tmp_path, flow)

    assert played.ending("look").outcome == "passed"
    prompt = asked.log("look/w", 1, "prompt.md")
    assert "There is no repository, so there is no diff" in prompt
    assert 'Output of step "it"' in prompt and "tree: none" in prompt


@pytest.mark.parametrize(
    ("output", "said"),
    [("lines", "one entry per line"), ("json", "exactly one JSON value"), ("text", "## Your step")],
)
def test_the_shape_of_an_answer_is_said(project: Project, tmp_path: Path, output: str, said: str) -> None:
    asked, played = ask(project, tmp_path, f"steps: {{it: {{agent: w, prompt: x, output: {output}}}}}")

    assert said in asked.log("it", 1, "prompt.md")
    assert played.ending("it").outcome == "passed"


def test_gates_are_put_into_words_also_where_a_value_is_not_known_yet(
    project: Project, tmp_path: Path
) -> None:
    flow = """
        steps:
          it:
            agent: w
            prompt: x
            gates:
              - {name: scripted, run: {script: "true", shell: sh}}
              - {name: later, run: [test, "${{ work.text }}"]}
              - {name: long, run: [sh, -c, "yes wrong | head -n 9000; exit $((1 - $(cat n.txt)))"]}
    """
    cast = """
        - {match: {attempt: 1}, write: {n.txt: "0"}}
        - {match: {attempt: 2}, write: {n.txt: "1"}}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    first, second = asked.log("it", 1, "prompt.md"), asked.log("it", 2, "prompt.md")
    assert "- the script scripted passes" in first
    assert "- the command later passes" in first
    assert 'The command "long" failed' in second and len(second) < 25_000
    assert played.ending("it").outcome == "passed"

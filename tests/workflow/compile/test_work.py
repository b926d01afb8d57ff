"""Compiling workers, commands, gates and questions: what one step becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.expressions.nodes import Field, Name
from podium.core.expressions.templates import Text
from podium.core.model import Agent, Check, Command, Git, Human, Members, Review, Wait
from podium.core.policy import Estimate
from podium.core.step_settings import ContextSettings, Prompt, SandboxSettings
from podium.core.types import MicroUsd, Millis
from podium.workflow.compile.values import split_command
from tests.workflow.compiling import compile_text, errors, gates_of, only_step, step_of, verb_of

# Agents


@pytest.mark.req("C5")
def test_a_worker_gets_the_default_settings(tmp_path: Path) -> None:
    step = only_step(tmp_path, "{agent: claude, prompt: Do it}")
    agent = verb_of(step, Agent)
    assert (agent.role, agent.agent, agent.no_change, agent.continuity) == (None, "claude", "pass", 0)
    assert agent.prompt is not None
    assert (agent.prompt.text, agent.prompt.file) == ("Do it", None)
    assert agent.estimate == Estimate(MicroUsd(500_000), 100_000)
    assert step.timeout == 20 * 60_000
    assert (step.retry.attempts, step.retry.on_exhausted, step.retry.stated) == (3, "human", False)
    assert step.touches is None
    assert step.repeatable
    assert step.has_worker


def test_a_step_inherits_the_settings_of_its_role(tmp_path: Path) -> None:
    rest = """
    roles:
      w:
        agent: gemini
        model: flash
        prompt: prompts/w.md
        system: You write.
        touches: ["docs/**"]
        tools: [read]
        fallback: claude
        timeout: 1m
        retry: {attempts: 5, visits: 2}
        output: {schema: Audit, files: [a.md]}
        limits: {usd: 2, calls: 3}
        context: {include: [b.md], budget: 10k}
        candidates: [gemini, codex]
        sandbox: bubblewrap
        runs_on: [gpu]
        with: {tone: dry, depth: 1}
    context: [a.md]
    env: [CI]
    """
    step = only_step(
        tmp_path,
        "{role: w, with: {depth: 2}, output: {file: out.md}, context: {include: [c.md], budget: 5k}, touches: [x.md],"
        " limits: {calls: 1}, retry: {attempts: 1}, protect: [y.md], dir: sub, env: [A=1]}",
        rest,
        {"prompts/w.md": "Write."},
    )
    agent = verb_of(step, Agent)
    assert (agent.role, agent.agent, agent.model, agent.fallback) == ("w", "gemini", "flash", ("claude",))
    assert agent.prompt is not None
    assert (agent.prompt.text, agent.prompt.file) == ("Write.", "prompts/w.md")
    assert (agent.continuity, agent.no_change) == (0, "fail")
    assert (step.timeout, step.touches) == (60_000, ("x.md",))
    assert (step.retry.attempts, step.retry.visits) == (1, 2)
    assert (step.output.kind, step.output.schema_name, step.output.file, step.output.files) == (
        "schema",
        "Audit",
        "out.md",
        ("a.md",),
    )
    assert step.output.schema is not None
    assert (step.limits.usd, step.limits.calls) == (2_000_000, 1)
    assert dict(step.parameters) == {"tone": "dry", "depth": 2}
    settings = step.settings
    assert settings.context == ContextSettings(include=("a.md", "b.md", "c.md"), budget=5000)
    assert settings.system == Prompt("You write.")
    assert settings.tools == ("read",)
    assert settings.candidates == ("gemini", "codex")
    assert settings.sandbox == SandboxSettings(level="bubblewrap")
    assert (settings.runs_on, settings.dir, settings.env) == (("gpu",), "sub", ("CI", "A=1"))
    assert settings.protect[-1] == "y.md"


def test_the_steps_settings_override_those_of_the_role(tmp_path: Path) -> None:
    rest = "roles: {w: {agent: gemini, model: flash, tools: [read], prompt: x, touches: ['a/**'], continuity: {turns: 2}}}"
    step = only_step(
        tmp_path,
        '{role: w, agent: claude, model: "${{ inputs.m }}", tools: [edit], fallback: [gemini], continuity: fresh,'
        " no_change: pass, estimate: {usd: 0.1, tokens: 5k}, network: [h], runs_on: x, prompt: y}",
        rest + "\ninputs: {m: string}",
    )
    agent = verb_of(step, Agent)
    assert (agent.agent, agent.model) == ("claude", Field(Name("inputs"), "m"))
    assert (agent.continuity, agent.no_change, agent.fallback) == (0, "pass", ("gemini",))
    assert agent.estimate == Estimate(MicroUsd(100_000), 5_000)
    assert step.settings.tools == ("edit",)
    assert step.touches == ("a/**",)
    assert not step.repeatable


def test_a_role_that_writes_nothing_may_have_continuity(tmp_path: Path) -> None:
    rest = "roles: {w: {prompt: x, touches: [], continuity: {turns: 2}}}"
    agent = verb_of(only_step(tmp_path, "{role: w}", rest), Agent)
    assert (agent.continuity, agent.no_change) == (2, "pass")


def test_the_agents_own_cost_limit_is_kept_with_the_estimate(tmp_path: Path) -> None:
    rest = "agents: {claude: {max_usd: 0.25, estimate: {usd: 2}}}"
    actual = verb_of(
        only_step(tmp_path, "{agent: claude, prompt: x, estimate: {usd: 0.1, tokens: 5k}}", rest), Agent
    )

    assert actual.estimate == Estimate(MicroUsd(100_000), 5_000, cap=MicroUsd(250_000))


def test_an_agent_may_have_an_estimate(tmp_path: Path) -> None:
    rest = "agents: {local: {type: ollama, estimate: {tokens: 7k}, price: {input: 0, output: 0}}}"
    assert verb_of(only_step(tmp_path, "{agent: local, prompt: x}", rest), Agent).estimate == Estimate(
        MicroUsd(0), 7_000
    )


def test_the_role_and_agent_may_be_inserted_values(tmp_path: Path) -> None:
    step = only_step(tmp_path, '{role: "${{ inputs.r }}", prompt: x}', "inputs: {r: string}")
    assert verb_of(step, Agent).role == Field(Name("inputs"), "r")


def test_a_member_with_an_inserted_role_has_a_name(tmp_path: Path) -> None:
    step = only_step(
        tmp_path, '{agent: ["${{ inputs.r }}", claude], prompt: x, touches: []}', "inputs: {r: string}"
    )
    assert [member.name for member in verb_of(step, Members).members] == ["member", "claude"]


def test_a_person_may_do_the_work(tmp_path: Path) -> None:
    step = only_step(tmp_path, "{agent: human, prompt: x, touches: [a.md], done: {file: done.json}}")
    agent = verb_of(step, Agent)
    assert agent.by_hand
    assert step.timeout is None
    assert agent.done == Wait("file", {"file": "done.json"})


def test_touches_may_be_an_inserted_list(tmp_path: Path) -> None:
    rest = "inputs: {files: list, dir: string}"
    step = only_step(tmp_path / "a", '{agent: claude, prompt: x, touches: "${{ inputs.files }}"}', rest)
    assert step.touches == Field(Name("inputs"), "files")
    step = only_step(tmp_path / "b", '{agent: claude, prompt: x, touches: "${{ inputs.dir }}/**"}', rest)
    assert step.touches == (Text((Field(Name("inputs"), "dir"), "/**")),)


def test_a_team_is_part_of_the_worker(tmp_path: Path) -> None:
    step = only_step(
        tmp_path,
        "{role: implementer, prompt: x, team: {qa: {role: test_engineer, asks: [boss], touches: [t]},"
        " boss: {agent: human}}, limits: {messages: 3}}",
    )
    first, second = verb_of(step, Agent).team
    qa = verb_of(first.step, Agent)
    assert (first.name, qa.role, qa.agent, first.asks) == ("qa", "test_engineer", None, ("boss",))
    assert first.step.touches == ("t",)
    assert second.name == "boss"
    assert verb_of(second.step, Human).answers
    assert step.limits.messages == 3


# Commands, git, waiting


def test_a_command_gets_the_default_settings(tmp_path: Path) -> None:
    step = only_step(tmp_path, "{run: make test}")
    assert verb_of(step, Command) == Command(argv=("make", "test"))
    assert (step.timeout, step.touches, step.retry.attempts, step.has_worker) == (300_000, (), 1, False)
    assert step.retry.on_exhausted == "fail"


def test_a_command_has_its_own_keys(tmp_path: Path) -> None:
    step = only_step(
        tmp_path,
        '{run: [pytest, "${{ inputs.x }}"], stdin: [a, b], junit: r.xml, coverage: {report: c.xml, min: 80},'
        " must_fail_before: true, exit_codes: [75], touches: [out], output: lines, secrets: [T]}",
        "inputs: {x: string}\nsecrets: [T]",
    )
    verb = verb_of(step, Command)
    assert verb.argv == ("pytest", Field(Name("inputs"), "x"))
    assert (verb.stdin, verb.junit, verb.must_fail_before, verb.exit_codes) == (
        ("a", "b"),
        "r.xml",
        True,
        (75,),
    )
    assert verb.coverage == {"report": "c.xml", "min": 80}
    assert (step.touches, step.output.kind, step.repeatable) == (("out",), "lines", False)
    assert step.settings.secrets == ("T",)


def test_a_script_is_kept_unchanged(tmp_path: Path) -> None:
    verb = verb_of(only_step(tmp_path, '{run: {script: "echo $HOME", shell: sh}}'), Command)
    assert (verb.argv, verb.script, verb.shell) == ((), "echo $HOME", "sh")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("make test", ("make", "test")),
        ("git grep -- 'src/*.py'", ("git", "grep", "--", "src/*.py")),
        ("run ${{ steps.a.output }} x", ("run", "${{ steps.a.output }}", "x")),
        ("run --a=${{ default(x, 'a b') }}", ("run", "--a=${{ default(x, 'a b') }}")),
        ('run "${{ a }} ${{ b }}"', ("run", "${{ a }} ${{ b }}")),
        ("echo '$${{ x }}'", ("echo", "$${{ x }}")),
    ],
)
def test_a_string_is_split_before_values_are_inserted(text: str, words: tuple[str, ...]) -> None:
    assert split_command(text) == words


def test_a_command_that_cannot_be_split_is_reported(tmp_path: Path) -> None:
    [(rule, message)] = errors(tmp_path, 'steps: {a: {run: "echo \'x"}}')
    assert (rule, message) == (2, "cannot split this command into words: no closing quotation")


def test_recovery_may_be_set(tmp_path: Path) -> None:
    assert only_step(tmp_path / "a", "{run: x, network: [h], recovery: rerun}").repeatable
    assert not only_step(tmp_path / "b", "{run: x, recovery: ask}").repeatable
    assert not only_step(tmp_path / "c", "{run: x, network: [h]}").repeatable


def test_publishing_needs_a_question_after_a_crash_and_landing_does_not(tmp_path: Path) -> None:
    pushed = only_step(tmp_path / "a", "{git: {branch: b, push: origin}, gates: [{check: true}]}")
    assert verb_of(pushed, Git) == Git(branch="b", push="origin")
    assert not pushed.repeatable
    assert pushed.gates is not None
    landed = only_step(tmp_path / "b", '{git: {land: "${{ run.branch }}", message: m, how: merge}}')
    assert verb_of(landed, Git) == Git(land=Field(Name("run"), "branch"), message="m", how="merge")
    assert landed.repeatable
    assert landed.timeout is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{signal: go}", Wait("signal", {"signal": "go"})),
        ("{file: a.json}", Wait("file", {"file": "a.json"})),
        ("{timer: 10m}", Wait("timer", timer=Millis(600_000))),
        ('{until_time: "06:30"}', Wait("until_time", minute_of_day=390)),
        ('{commit: "[X]", branch: main}', Wait("commit", {"commit": "[X]", "branch": "main"})),
        ("{step: flow/x}", Wait("step", {"step": "flow/x"})),
        (
            "{poll: [gh, x], every: 5s, pending: [8]}",
            Wait("poll", {"argv": ("gh", "x"), "every": 5000, "pending": (8,)}),
        ),
        ("{poll: gh x}", Wait("poll", {"argv": ("gh", "x"), "every": 60_000})),
    ],
)
def test_waiting_has_one_of_seven_forms(text: str, expected: Wait, tmp_path: Path) -> None:
    step = only_step(tmp_path, f"{{wait: {text}, timeout: 1d}}")
    assert step.verb == expected
    assert step.timeout == 86_400_000


# People, reviews, gates


def test_a_person_judges_or_answers(tmp_path: Path) -> None:
    rest = "notify: [phone]\npeople: {boss: [ana, bo]}"
    step = only_step(
        tmp_path / "a",
        '{human: "Land {{ run.branch }}?", show: [diff], by: boss, approvals: 2, remind: 1h,'
        " escalate: {after: 1d, to: [boss]}, timeout: 2d}",
        rest,
    )
    verb = verb_of(step, Human)
    assert verb.question.text == "Land {{ run.branch }}?"
    assert not verb.answers
    over = verb.oversight
    assert (over.level, over.by, over.approvals, over.notify, over.show) == (
        "human",
        ("boss",),
        2,
        ("phone",),
        ("diff",),
    )
    assert (over.remind, over.escalate_after, over.escalate_to) == (3_600_000, 86_400_000, ("boss",))
    assert step.timeout == 172_800_000
    asked = only_step(tmp_path / "b", '{human: "Which?", output: {choice: [a, b]}, notify: []}', rest)
    assert verb_of(asked, Human).answers
    assert (asked.output.kind, asked.output.choices) == ("choice", ("a", "b"))


def test_a_review_has_reviewers(tmp_path: Path) -> None:
    text = """
    steps:
      a: {role: planner, prompt: x}
      r:
        review: [reviewer, gemini, gemini]
        prompt: Be strict.
        pass: majority
        min_score: 7
        bar: minor
        level: notify
        veto: 5m
        timeout: 3m
        retry: {repair: 1, visits: 4}
        estimate: {usd: 1}
    """
    step = step_of(compile_text(tmp_path, text), "r")
    verb = verb_of(step, Review)
    assert (verb.rule, verb.min_score, verb.bar, verb.phrase) == ("majority", 7, "minor", None)
    assert (verb.oversight.level, verb.oversight.veto) == ("notify", 300_000)
    assert [member.name for member in verb.members] == ["reviewer", "gemini", "gemini_2"]
    judges = [verb_of(member, Agent) for member in verb.members]
    assert [(judge.role, judge.agent, judge.judge) for judge in judges] == [
        ("reviewer", judges[0].agent, True),
        ("reviewer", "gemini", True),
        ("reviewer", "gemini", True),
    ]
    assert judges[0].estimate.usd == 1_000_000
    first = verb.members[0]
    assert (first.timeout, first.touches, first.retry.repair, first.retry.visits) == (180_000, (), 1, None)
    assert (step.timeout, step.retry.visits, step.has_worker) == (None, 4, False)


@pytest.mark.req("C9")
def test_gates_are_in_stages_and_have_names(tmp_path: Path) -> None:
    rest = """
    gates:
      tests: {run: make test, junit: r.xml}
    roles:
      w: {extends: planner, gates: [tests, {check: "len(work.files) < 9", on_fail: block}]}
    """
    step = only_step(
        tmp_path,
        '{role: w, prompt: x, gates: [{human: "Good?"}, tests, {run: ruff check .}, {run: mypy, timeout: 1m},'
        " {name: peer, review: reviewer, when: inputs.peer}]}",
        rest + "inputs: {peer: bool}\n    ",
    )
    gates = gates_of(step)
    assert [gate.name for gate in gates.members] == ["tests", "check", "run", "run_2", "peer", "human"]
    assert [[gate.name for gate in stage] for stage in gates.stages] == [
        ["tests", "check", "run", "run_2"],
        ["peer"],
        ["human"],
    ]
    tests, check, run, run_2, peer, human = gates.members
    assert verb_of(tests, Command).junit == "r.xml"
    assert (check.on_fail, tests.on_fail) == ("block", "retry")
    assert isinstance(check.verb, Check)
    assert (run.timeout, run_2.timeout, human.timeout, peer.timeout) == (300_000, 60_000, None, None)
    assert peer.when == Field(Name("inputs"), "peer")
    assert verb_of(peer, Review).of == ()
    assert verb_of(peer, Review).members[0].timeout == 600_000
    assert all(gate.touches == () for gate in gates.members)


def test_a_reviewer_has_its_own_gates(tmp_path: Path) -> None:
    rest = "roles: {risk: {extends: reviewer, prompt: Look., gates: [{name: backtest, run: make risk}]}}"
    step = only_step(tmp_path, "{role: planner, prompt: x, gates: [{review: risk}]}", rest)
    [judge] = verb_of(gates_of(step).members[0], Review).members
    assert [gate.name for gate in gates_of(judge).members] == ["backtest"]
    assert verb_of(judge, Agent).prompt is not None


# Contracts


@pytest.mark.parametrize("word", ["text", "lines", "json"])
def test_a_word_is_a_kind_of_output(word: str, tmp_path: Path) -> None:
    assert only_step(tmp_path, f"{{run: x, output: {word}}}").output.kind == word


def test_a_schema_is_built_in_written_short_or_a_file(tmp_path: Path) -> None:
    built_in = only_step(tmp_path / "a", "{role: planner, prompt: x, output: {schema: Plan}}").output
    assert (built_in.kind, built_in.schema_name) == ("schema", "Plan")
    short = only_step(tmp_path / "b", "{run: x, output: {schema: {title: string, files: [path]}}}").output
    assert short.schema is not None
    assert set(short.schema["properties"]) == {"title", "files"}
    assert short.schema_name is None
    files = {"s.json": '{"type": "object", "properties": {"a": {"type": "string"}}}'}
    in_file = only_step(tmp_path / "c", "{run: x, output: {schema: s.json}}", files=files).output
    assert in_file.schema is not None
    assert in_file.schema["type"] == "object"


def test_an_unknown_schema_is_reported(tmp_path: Path) -> None:
    assert 16 in [rule for rule, _ in errors(tmp_path / "a", "steps: {a: {run: x, output: {schema: Plam}}}")]
    actual = errors(tmp_path / "b", "steps: {a: {run: x, output: {schema: s.json}}}", {"s.json": "{"})
    assert any(message.startswith("s.json is not JSON") for _, message in actual)

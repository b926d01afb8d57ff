"""The unit tests that the states format describes, with its defects corrected, and invalid files."""

from __future__ import annotations

from itertools import permutations

import pytest

from podium.app.author.load import check, converted
from podium.core.events import StepEntered
from podium.errors import ConfigurationError
from tests.workflow.dialects.kit import ScriptedProject, status, steps_of

MINIMAL = """
states:
  start: {type: initial, next: draft}
  draft:
    type: fan-out
    agents: [claude, gemini, codex]
    output: "drafts/{agent}_draft.md"
    transitions: {all_success: merge, partial_success: merge, all_failure: halt}
  merge:
    type: single
    agent: claude
    input: "drafts/*.md"
    transitions: {success: complete, failure: halt}
  complete: {type: terminal}
  halt: {type: terminal, error: true}
settings: {timeout_per_agent: 30, retry_count: 1, parallel_fanout: true}
"""
LOOPING = """
states:
  draft: {type: single, agent: claude, output: drafts/a.md, transitions: {success: check}}
  check:
    type: single
    agent: gemini
    input: "drafts/*.md"
    transitions: {proceed: complete, retry: draft, halt: halt}
circuit_breaker:
  rules: RULES
"""
STUBBORN = "- {match: {step: check/gemini}, verdict: {decision: reject, score: 3}}\n"


@pytest.mark.req("C30")
def test_a_fan_out_writes_one_file_per_agent(project: ScriptedProject) -> None:
    """R092, R093."""
    run, state = project.run(project.write_workflow(MINIMAL))
    assert status(state) == "passed"
    assert set(project.artifacts(run)) == {
        f"draft/{name}/{name}_draft.md" for name in ("claude", "gemini", "codex")
    }


def test_two_of_three_agents_are_enough_and_no_prompt_names_the_third(project: ScriptedProject) -> None:
    """R049, R095."""
    cast = "- {match: {step: draft/gemini}, error: refused}\n- {match: {step: merge, prompt: from gemini}, exit: 1}\n"
    run, state = project.run(project.write_workflow(MINIMAL, cast=cast))
    assert status(state) == "passed"
    assert "draft/gemini/gemini_draft.md" not in project.artifacts(run)
    assert ("draft", 1, "partial") in project.ended_steps(run)


def test_the_run_halts_when_all_agents_fail(project: ScriptedProject) -> None:
    run, state = project.run(project.write_workflow(MINIMAL, cast="- {match: {}, error: refused}\n"))
    assert status(state) == "failed"
    assert steps_of(project.ended_steps(run))[-1] == "draft"


@pytest.mark.req("C6")
@pytest.mark.parametrize(
    ("rule", "hit", "visits"),
    [
        ("{name: state_visit_limit, condition: 'state_visits[state] >= 3'}", "visits", 2),
        ("{name: state_visit_limit, condition: 'state_visits[state] > 2'}", "visits", 2),
        ("{name: cycle_detection, condition: 'A→B→A→B pattern in last 4 transitions'}", "cycle", 2),
        ("{name: transition_limit, condition: 'transition_count >= 3'}", "transitions", 2),
    ],
)
def test_the_breaker_stops_the_loop_at_the_threshold_of_the_file(
    project: ScriptedProject, rule: str, hit: str, visits: int
) -> None:
    """R126, R127: the file sets the thresholds, and A, B, A, B is a cycle (the original detector misses it)."""
    run, state = project.run(project.write_workflow(LOOPING.replace("RULES", f"[{rule}]"), cast=STUBBORN))
    assert status(state) == "open"
    questions = [
        event.about for event in project.events(run) if isinstance(event, StepEntered) and event.about
    ]
    assert questions == [hit]
    assert max(visit for step, visit, _ in project.ended_steps(run) if step == "draft") == visits


def test_cost_above_the_hard_limit_ends_the_run(project: ScriptedProject) -> None:
    """R130."""
    text = LOOPING.replace("RULES", "[]") + "  safety_limits: {max_cost_hard: 10.0}\n"
    cast = "- {match: {step: draft}, cost_usd: 10.5}\n"
    run, state = project.run(project.write_workflow(text, cast=cast))
    assert state.ended is not None
    assert state.ended.exit == 5
    assert steps_of(project.ended_steps(run))[0] == "draft"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("type: fan-out", "type: fan-in"), '"fan-in" is not a type of state'),
        (("all_failure: halt", "no_success: halt"), 'has an unknown key "no_success"'),
        (("all_failure: halt", "all_failure: stop"), '"stop" does not exist'),
        (("settings:", "setings:"), 'has an unknown key "setings"'),
        (("agents: [", "workers: ["), 'has an unknown key "workers"'),
        (("next: draft", "next: drafts"), 'next of "start" leads to "drafts", which is not a state'),
        (("next: draft", "then: draft"), 'state "start" has an unknown key "then"'),
        (("{type: terminal, error", "{type: terminal, eror"), 'state "halt" has an unknown key "eror"'),
        (("retry_count", "retries"), 'settings has an unknown key "retries"'),
        (
            ("settings:", "logging: {capture: {prompt: true}}\nsettings:"),
            'capture has an unknown key "prompt"',
        ),
        (
            ("settings:", "agents: {claude: {type: cli, model: opus}}\nsettings:"),
            'has an unknown key "model"',
        ),
        (
            ("initial, next", "initial, on_enter: {log: go}, next"),
            'on_enter of "start" must be a list of actions',
        ),
        (
            ("initial, next", "initial, on_enter: [go], next"),
            'an action in on_enter of "start" must be a map',
        ),
        (
            ("retry_count: 1", "retry_count: 1}\nlogging: {capture: [prompts]"),
            "capture must be a map of keys",
        ),
    ],
)
def test_an_invalid_states_format_file_is_refused(
    project: ScriptedProject, change: tuple[str, str], fault: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        project.run(project.write_workflow(MINIMAL.replace(*change)))
    assert fault in caught.value.message


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ("[{name: full_moon}]", 'no rule "full_moon"'),
        ("[]\norchestrator: {agent: claude, checkpoints: [{on: noon}]}", 'checkpoint "noon" does not exist'),
        ("[]\n  safety_limits: {max_patience: 3}", 'has an unknown key "max_patience"'),
        ("[]\n  safety_limit: {max_cost_hard: 3}", 'the circuit breaker has an unknown key "safety_limit"'),
        ("[{name: cost_limit, limit: 3}]", 'a rule of the breaker has an unknown key "limit"'),
        (
            "[{name: cost_limit, condition: cost == much}]",
            'the condition of "cost_limit" is not one that can be checked',
        ),
        (
            "[]\norchestrator: {agent: claude, checkpoints: [{at: noon}]}",
            'a checkpoint has an unknown key "at"',
        ),
        ("[]\nagents: {o: {type: ollama, model_tiers: {gb: {ram: 8}}}}", 'a tier has an unknown key "ram"'),
    ],
)
def test_an_invalid_breaker_rule_is_refused(project: ScriptedProject, rules: str, fault: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        project.run(project.write_workflow(LOOPING.replace("RULES", rules)))
    assert fault in caught.value.message


def test_stories_dates_and_unknown_programs_are_translated(project: ScriptedProject) -> None:
    """R026: names in paths; an agent whose program is unknown becomes a command agent."""
    text = """
name: own
agents:
  house: {type: cli, command: "house --json {prompt}", persona: prompts/house_persona.md}
  plain: {type: cli, command: "plain --json {prompt}", cost_per_1k: {input: 0.001}}
personas: {writer: prompts/writer_persona.md}
states:
  go:
    type: single
    agent: house
    prompt: Write it.
    description: The post
    input: ["stories/{story}.md", "notes/{date}.md"]
    output: out/audit.json
    transitions: {success: say}
  say: {type: orchestrator-task, persona: writer, input: [out/audit.json, "rest/*.md"], transitions: {failure: go}}
  ask: {type: human-approval, input: out/audit.json, transitions: {approved: complete, feedback: go, abort: halt}}
settings: {parallel_fanout: false}
"""
    for name in ("house", "writer"):
        project.write(f"prompts/{name}_persona.md", "You.\n")
    native = project.convert(project.write_workflow(text)).read_text()
    for part in (
        'context: ["stories/${{ inputs.story }}.md", "notes/${{ run.date }}.md"]',
        'command: [plain, "--json", "{prompt}"]',
        'command: [house, "--json", "{prompt}"]',
        "agent: house_program",
        "price: {input: 1}",
        "max_parallel: 1",
        "role: house",
        "output: {schema: json, file: audit.json, folder: out}",
        "show: [go, cost]",
        "Continue after ask?",
    ):
        assert part in native


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        ("{shout: Hello}", 'on_enter of "start" has an unknown key "shout"'),
        ("{validate: weather}", 'on_enter does not support validate: "weather"'),
        ("{generate: poem.md}", 'on_enter does not support generate: "poem.md"'),
    ],
)
def test_an_unknown_entry_action_is_refused(project: ScriptedProject, action: str, fault: str) -> None:
    text = MINIMAL.replace("next: draft}", f"next: draft, on_enter: [{action}]}}")
    with pytest.raises(ConfigurationError) as caught:
        project.run(project.write_workflow(text))
    assert fault in caught.value.message


def test_a_log_action_is_the_log_of_its_step_and_that_of_the_start_of_the_first(
    project: ScriptedProject,
) -> None:
    text = MINIMAL.replace("next: draft}", "next: draft, on_enter: [{log: It begins}]}")
    text = text.replace("type: fan-out", "type: fan-out\n    on_enter: [{log: Drafting}, {log: in parallel}]")
    path = project.write_workflow(text)

    assert not check(path).warnings
    assert "It begins; Drafting; in parallel" in converted(path)
    run, _ = project.run(path)
    audit = project.facade.paths.run_dir(run) / "audit.log"
    assert "log       draft It begins; Drafting; in parallel" in audit.read_text()


IN_TURN = (
    "  draft: {type: single, agent: claude, output: a.md, transitions: {success: merge}}\n",
    "  merge: {type: single, agent: claude, input: a.md, output: b.md, transitions: {success: polish}}\n",
    "  polish: {type: single, agent: claude, input: b.md, transitions: {success: complete}}\n",
)


@pytest.mark.parametrize("listed", list(permutations(IN_TURN))[1:])
def test_states_may_be_listed_in_any_order(project: ScriptedProject, listed: tuple[str, ...]) -> None:
    """The steps are in the order of success, so that a state reads what earlier ones write."""
    head = "states:\n  start: {type: initial, next: draft}\n"

    assert converted(project.write_workflow(head + "".join(listed))) == converted(
        project.write_workflow(head + "".join(IN_TURN))
    )


def test_a_state_that_reads_the_files_of_some_agents_is_shown_only_those(project: ScriptedProject) -> None:
    text = MINIMAL.replace('"drafts/*.md"', "[drafts/claude_draft.md, drafts/codex_draft.md]")

    assert "{% if member.name in ['claude', 'codex'] %}" in converted(project.write_workflow(text))
    assert "member.name in" not in converted(project.write_workflow(MINIMAL))


def test_a_fan_out_with_an_agent_that_is_switched_off_is_warned_about(project: ScriptedProject) -> None:
    text = f"agents: {{gemini: {{type: cli, enabled: false}}}}\n{MINIMAL}"
    warned = check(project.write_workflow(text)).warnings

    assert [(problem.message, problem.hint) for problem in warned if "enabled" in problem.message] == [
        (
            '"gemini" is not enabled, so "draft" ends with partial_success at best',
            "leave it out of the agents of draft",
        )
    ]


def test_a_file_of_only_a_first_and_a_last_state_has_no_steps_and_passes(project: ScriptedProject) -> None:
    text = "states: {start: {type: initial, next: complete}, complete: {type: terminal}}\n"
    run, state = project.run(project.write_workflow(text))

    assert (status(state), project.ended_steps(run)) == ("passed", [])


TASKED = """
orchestrator: {agent: claude}
states:
  start: {type: initial, next: merge}
  merge: {type: orchestrator-task, persona: PERSONA, description: Merge., transitions: {success: complete}}
"""


def test_a_task_may_name_the_file_of_its_persona(project: ScriptedProject) -> None:
    path = project.write_workflow(TASKED.replace("PERSONA", "prompts/synth_persona.md"))
    assert "system: prompts/synth_persona.md" in converted(path)


def test_a_task_with_an_unknown_persona_is_refused(project: ScriptedProject) -> None:
    with pytest.raises(ConfigurationError, match='role "synt" does not exist'):
        project.run(project.write_workflow(TASKED.replace("PERSONA", "synt")))


def test_a_session_of_a_program_that_cannot_resume_is_a_mistake_at_its_line(project: ScriptedProject) -> None:
    text = """\
orchestrator: {agent: boss, session: {enabled: true}}
agents:
  boss: {type: cli, command: "tools/boss"}
states:
  sum: {type: orchestrator-task, description: Sum., output: out.md, transitions: {success: fine}}
  fine: {type: terminal}
"""
    [problem] = [each for each in check(project.write_workflow(text)).problems if not each.warning]
    message = 'the session of the orchestrator needs a resume_command, and agent "boss" has none'
    assert (problem.line, problem.message) == (1, message)


def test_warnings_of_loops_without_a_rule_of_the_file_are_those_that_podium_ships(
    project: ScriptedProject,
) -> None:
    native = project.convert(
        project.write_workflow(
            "orchestrator: {agent: claude, checkpoints: [{on: loop_warning}]}\n"
            "states:\n"
            "  sum: {type: orchestrator-task, description: Sum., output: out.md, transitions: {success: fine}}\n"
            "  fine: {type: terminal}\n"
        )
    ).read_text()
    assert "ask: orchestrator" in native
    assert "visits: null" not in native

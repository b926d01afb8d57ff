"""The behaviours that the states format states as its unit tests, with its defects mended, and what it refuses."""

from __future__ import annotations

import pytest

from podium.app.author.load import converted
from podium.core.events import StepEntered
from podium.errors import ConfigurationError
from tests.dialects.kit import Stage, status, steps_of

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
def test_fan_out_leaves_one_file_per_agent(stage: Stage) -> None:
    """R092, R093."""
    run, state = stage.run(stage.put(MINIMAL))
    assert status(state) == "passed"
    assert set(stage.artifacts(run)) == {
        f"draft/{name}/{name}_draft.md" for name in ("claude", "gemini", "codex")
    }


def test_two_of_three_are_enough_and_no_prompt_names_the_third(stage: Stage) -> None:
    """R049, R095."""
    cast = "- {match: {step: draft/gemini}, error: refused}\n- {match: {step: merge, prompt: from gemini}, exit: 1}\n"
    run, state = stage.run(stage.put(MINIMAL, cast=cast))
    assert status(state) == "passed"
    assert "draft/gemini/gemini_draft.md" not in stage.artifacts(run)
    assert ("draft", 1, "partial") in stage.story(run)


def test_when_all_agents_fail_the_run_halts(stage: Stage) -> None:
    run, state = stage.run(stage.put(MINIMAL, cast="- {match: {}, error: refused}\n"))
    assert status(state) == "failed"
    assert steps_of(stage.story(run))[-1] == "draft"


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
def test_the_breaker_stops_the_loop_by_the_threshold_of_the_file(
    stage: Stage, rule: str, hit: str, visits: int
) -> None:
    """R126, R127: the thresholds are the file's, and A, B, A, B is a cycle (the seed's own detector misses it)."""
    run, state = stage.run(stage.put(LOOPING.replace("RULES", f"[{rule}]"), cast=STUBBORN))
    assert status(state) == "open"
    asked = [event.about for event in stage.events(run) if isinstance(event, StepEntered) and event.about]
    assert asked == [hit]
    assert max(visit for step, visit, _ in stage.story(run) if step == "draft") == visits


def test_cost_beyond_the_hard_limit_ends_the_run(stage: Stage) -> None:
    """R130."""
    text = LOOPING.replace("RULES", "[]") + "  safety_limits: {max_cost_hard: 10.0}\n"
    cast = "- {match: {step: draft}, cost_usd: 10.5}\n"
    run, state = stage.run(stage.put(text, cast=cast))
    assert state.ended is not None
    assert state.ended.exit == 5
    assert steps_of(stage.story(run))[0] == "draft"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("type: fan-out", "type: fan-in"), '"fan-in" is no type of state'),
        (("all_failure: halt", "no_success: halt"), 'has no key "no_success"'),
        (("all_failure: halt", "all_failure: stop"), '"stop" does not exist'),
        (("settings:", "setings:"), 'has no key "setings"'),
        (("agents: [", "workers: ["), 'has no key "workers"'),
        (("next: draft", "next: drafts"), 'next of "start" leads to "drafts", which is no state'),
        (("next: draft", "then: draft"), 'state "start" has no key "then"'),
        (("{type: terminal, error", "{type: terminal, eror"), 'state "halt" has no key "eror"'),
        (("retry_count", "retries"), 'settings has no key "retries"'),
        (("settings:", "logging: {capture: {prompt: true}}\nsettings:"), 'capture has no key "prompt"'),
        (("settings:", "agents: {claude: {type: cli, model: opus}}\nsettings:"), 'has no key "model"'),
    ],
)
def test_what_the_format_does_not_know_is_told(stage: Stage, change: tuple[str, str], fault: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        stage.run(stage.put(MINIMAL.replace(*change)))
    assert fault in caught.value.message


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ("[{name: full_moon}]", 'no rule "full_moon"'),
        ("[]\norchestrator: {agent: claude, checkpoints: [{on: noon}]}", 'no checkpoint "noon"'),
        ("[]\n  safety_limits: {max_patience: 3}", 'has no key "max_patience"'),
        ("[]\n  safety_limit: {max_cost_hard: 3}", 'the circuit breaker has no key "safety_limit"'),
        ("[{name: cost_limit, limit: 3}]", 'a rule of the breaker has no key "limit"'),
        ("[{name: cost_limit, condition: cost == much}]", 'the condition of "cost_limit" has no number'),
        ("[]\norchestrator: {agent: claude, checkpoints: [{at: noon}]}", 'a checkpoint has no key "at"'),
        ("[]\nagents: {o: {type: ollama, model_tiers: {gb: {ram: 8}}}}", 'a tier has no key "ram"'),
    ],
)
def test_a_rule_that_nobody_knows_is_told(stage: Stage, rules: str, fault: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        stage.run(stage.put(LOOPING.replace("RULES", rules)))
    assert fault in caught.value.message


def test_stories_dates_and_own_programs_find_their_native_form(stage: Stage) -> None:
    """R026: names in paths; an agent that is no known program is a command."""
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
        stage.write(f"prompts/{name}_persona.md", "You.\n")
    native = stage.convert(stage.put(text)).read_text()
    for part in (
        'context: ["stories/${{ inputs.story }}.md", "notes/${{ run.date }}.md"]',
        'command: [plain, "--json"]',
        "price: {input: 1}",
        "max_parallel: 1",
        "role: house",
        "output: {schema: Audit, file: audit.json}",
        "show: [go, cost]",
        "May the run go on after ask?",
    ):
        assert part in native


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        ("{shout: Hello}", 'on_enter of "start" has no key "shout"'),
        ("{validate: weather}", 'on_enter cannot validate "weather"'),
        ("{generate: poem.md}", 'on_enter cannot generate "poem.md"'),
    ],
)
def test_an_action_that_nobody_knows_is_told(stage: Stage, action: str, fault: str) -> None:
    text = MINIMAL.replace("next: draft}", f"next: draft, on_enter: [{action}]}}")
    with pytest.raises(ConfigurationError) as caught:
        stage.run(stage.put(text))
    assert fault in caught.value.message


def test_a_text_logged_on_entry_is_noted_since_the_run_records_every_entry(stage: Stage) -> None:
    text = MINIMAL.replace("next: draft}", "next: draft, on_enter: [{log: It begins}]}")

    assert "that a state was entered is in the records of the run" in converted(stage.put(text))


TASKED = """
orchestrator: {agent: claude}
states:
  start: {type: initial, next: merge}
  merge: {type: orchestrator-task, persona: PERSONA, description: Merge., transitions: {success: complete}}
"""


def test_a_task_has_the_persona_whose_file_it_names(stage: Stage) -> None:
    path = stage.put(TASKED.replace("PERSONA", "prompts/synth_persona.md"))
    assert "system: prompts/synth_persona.md" in converted(path)


def test_a_task_whose_persona_nobody_has_is_told(stage: Stage) -> None:
    with pytest.raises(ConfigurationError, match='no role "synt"'):
        stage.run(stage.put(TASKED.replace("PERSONA", "synt")))

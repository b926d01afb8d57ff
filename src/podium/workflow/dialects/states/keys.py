"""The keys of the states format, and what becomes of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podium.workflow.dialects.key_register import (
    FOR_READERS,
    Key,
    Part,
    refused,
    translated,
    without_effect,
)
from podium.workflow.dialects.translation import Translation
from podium.workflow.source.nodes import Node, fields, items

SETTINGS: Final = translated(
    orchestrator="a role `orchestrator`, asked by `breaker`",
    agents="`agents`; an agent with a persona is a role",
    personas="`roles` with `system`",
    circuit_breaker="`breaker` and `limits`",
    safety_limits="`limits`",
    logging="`record`",
    settings="`timeout`, `retry` and `max_parallel`",
)
CONFIGURATION: Final = Part("the top level of a configuration", SETTINGS)
WORKFLOW: Final = Part(
    "the top level of a workflow",
    {
        **translated(states="`steps`", name="`name`", description="`description`", version=FOR_READERS),
        **SETTINGS,
    },
)

ANY_STATE: Final = {
    **translated(
        type="the verb of the step",
        description="`description`, or the prompt where there is none",
        on_enter="see the actions below",
    ),
}
INITIAL: Final = Part(
    "states.NAME, type: initial", {**ANY_STATE, **translated(next="the first step", description=FOR_READERS)}
)
TERMINAL: Final = Part(
    "states.NAME, type: terminal",
    {
        **ANY_STATE,
        **translated(
            description=FOR_READERS, error="`fail` instead of `end`", status="`fail` if it is failed or error"
        ),
    },
)
WORK: Final = {
    **ANY_STATE,
    **translated(
        persona="`role`",
        input="`context`, or the results of the states that write these files",
        output="`output` with `file` and `folder`: an artifact of the run, and the file itself when the run has ended; a `.json` file has any JSON value",
        prompt="`prompt`",
        transitions="`on`",
    ),
}
FAN_OUT: Final = Part(
    "states.NAME, type: fan-out",
    {
        **WORK,
        "agents": Key("translated", "`agent` with a list"),
        "agent": refused("it has several agents", "write agents: [...]"),
    },
)
SINGLE: Final = Part(
    "states.NAME, type: single",
    {
        **WORK,
        "agent": Key("translated", "`agent`"),
        "agents": refused("it has one agent", "write agent: NAME, or type: fan-out"),
    },
)
GATE: Final = Part(
    "states.NAME, type: single, with proceed, retry or halt",
    {
        **ANY_STATE,
        **translated(
            agent="`review` with `verdict: quality_gate`",
            input="`of`: the states that write these files; `context`: other files",
            prompt="`prompt` of the review",
            output="`output` with `file` and `folder`: the answer of the judge, in its own words",
            transitions="`on`",
        ),
        "persona": refused("the agent that judges has it", "write persona: in agents.NAME"),
        "agents": refused("one agent judges", "write agent: NAME"),
    },
)
TASK: Final = Part(
    "states.NAME, type: orchestrator-task",
    {
        **WORK,
        "agent": refused("the agent of the orchestrator does it", "write orchestrator: {agent: NAME}"),
        "agents": refused("the agent of the orchestrator does it", "use type: fan-out"),
    },
)
APPROVAL: Final = Part(
    "states.NAME, type: human-approval",
    {
        **ANY_STATE,
        **translated(
            prompt="the question",
            input="`show`: the states that write these files, and other files",
            transitions="`on`",
        ),
    },
)
STATES: Final[Mapping[str, Part]] = {
    "initial": INITIAL,
    "terminal": TERMINAL,
    "fan-out": FAN_OUT,
    "single": SINGLE,
    "gate": GATE,
    "orchestrator-task": TASK,
    "human-approval": APPROVAL,
}
ACTIONS: Final = Part(
    "states.NAME.on_enter",
    {
        **translated(
            log="`log` of the step, a line of audit.log and state_log.jsonl; in a terminal state, the message of the run's end; in the initial state, `log` of the first step",
            validate="nothing: input files must exist in every run; a pattern is not checked, with a warning",
            generate="nothing: every run has a run_summary.md",
        )
    },
)

AGENT: Final = Part(
    "agents.NAME",
    {
        **translated(
            type="`type`: `cli` is the program of `command`, `ollama` is `ollama`",
            command="`claude`, `gemini` and `codex` are agents of their own, any other program is `type: command`",
            enabled="`enabled`",
            context_window="`context_window`",
            cost_per_1k="`price`, per million tokens",
            model_tiers="`tiers`",
            persona="a role with `system`",
            resume_command="`resume` of `type: command`; the other types continue a conversation in their own way",
            session_support="nothing: the type of the agent decides it",
        ),
        "token_tracking": Key(
            "translated", "`fields` of `type: command`; the other types read tokens themselves"
        ),
        "auto_select_model": without_effect(
            "a model is chosen by the memory of the graphics card unless one is named", True
        ),
        "session": without_effect(
            "only the orchestrator continues a conversation; a judge begins each round anew"
        ),
        "session_dir": without_effect("conversations are in the folder of the run"),
    },
)
TIER: Final = Part(
    "agents.NAME.model_tiers.NAME",
    translated(
        vram_range="`vram`",
        recommended="a model for each kind of work",
        fallback="`fallback`",
        max_context_tokens="`context`",
    ),
)
TRACKING: Final = Part(
    "agents.NAME.token_tracking",
    translated(
        method="nothing: the type of the agent decides it",
        input_field="`fields.input`",
        output_field="`fields.output`",
        result_field="`fields.text`, `result` by default; only for `type: command`",
        cost_field="`fields.cost_usd`; only for `type: command`",
        session_field="`fields.session`; only for `type: command`",
    ),
)
PRICE: Final = Part("agents.NAME.cost_per_1k", translated(input="`input`", output="`output`"))
ORCHESTRATOR: Final = Part(
    "orchestrator",
    {
        **translated(
            agent="`agent`",
            persona="`system`",
            checkpoints="rules of `breaker`",
            session="`continuity` of its role",
        ),
    },
)
SESSION: Final = Part(
    "orchestrator.session",
    {
        **translated(enabled="`continuity: {turns: 50}`"),
        "name_format": without_effect("a conversation has the id that its program gives it"),
    },
)
CHECKPOINT: Final = Part("orchestrator.checkpoints", translated(on="a rule of `breaker`"))
BREAKER: Final = Part("circuit_breaker", translated(rules="`breaker`", safety_limits="`limits`"))
RULE: Final = Part(
    "circuit_breaker.rules",
    translated(name="the rule of `breaker`", condition="the number in it is its value"),
)
HARD: Final = Part(
    "safety_limits",
    translated(
        max_transitions_hard="`limits.transitions`",
        max_runtime_hard="`limits.time`",
        max_cost_hard="`limits.usd`",
    ),
)
PLAIN: Final = Part(
    "settings",
    {
        **translated(
            timeout_per_agent="`timeout` of each step",
            retry_count="`retry.attempts`, one more than the retries",
            parallel_fanout="`max_parallel: 1` if it is false",
            working_dir="the folder of every `input` and `output`",
        ),
    },
)
LOGGING: Final = Part(
    "logging",
    {
        **translated(
            capture="`record`",
            summaries="`record.summary`",
            retention_days="`record.keep`: when `podium gc` may delete the run",
            runs_dir="`record.link`: the folder of the run is linked there",
            run_id_format="`record.link`: the name of the link, with `{date}`, `{time}` and the inputs; the id of the run is made from its start time",
        ),
        "enabled": without_effect("every run has a log, which it is resumed from", True),
    },
)
CAPTURE: Final = Part(
    "logging.capture",
    {
        **translated(
            prompts="`record.prompts`",
            input_content="`record.inputs`",
            output_content="`record.outputs`",
            stdout_stream="`record.stdout`",
            reasoning="`record.reasoning`",
        ),
        "tokens": without_effect("tokens are always recorded, because limits depend on them", True),
    },
)
SUMMARIES: Final = Part(
    "logging.summaries",
    translated(
        generate_markdown="`record.summary: false` if it is false",
        include_token_summary="`record.summary.tokens`",
        include_previews="`record.summary.previews`",
        include_scores="`record.summary.scores`",
    ),
)

REGISTER: Final = (
    WORKFLOW,
    *STATES.values(),
    ACTIONS,
    AGENT,
    TRACKING,
    PRICE,
    TIER,
    ORCHESTRATOR,
    SESSION,
    CHECKPOINT,
    BREAKER,
    RULE,
    HARD,
    PLAIN,
    LOGGING,
    CAPTURE,
    SUMMARIES,
)


def check_settings(root: Node, translation: Translation) -> None:
    entries = fields(root)
    for name, agent in fields(entries.get("agents")).items():
        translation.check_part(agent, f'agent "{name}"', AGENT)
        _check(fields(agent).get("cost_per_1k"), f'cost_per_1k of agent "{name}"', PRICE, translation)
        _check(
            fields(agent).get("token_tracking"), f'token_tracking of agent "{name}"', TRACKING, translation
        )
        for tier in fields(fields(agent).get("model_tiers")).values():
            translation.check_part(tier, "a tier", TIER)
    _check(entries.get("settings"), "settings", PLAIN, translation)
    _check(entries.get("orchestrator"), "the orchestrator", ORCHESTRATOR, translation)
    _check(fields(entries.get("orchestrator")).get("session"), "the session", SESSION, translation)
    for checkpoint in items(fields(entries.get("orchestrator")).get("checkpoints")):
        translation.check_part(checkpoint, "a checkpoint", CHECKPOINT)
    _check(entries.get("circuit_breaker"), "the circuit breaker", BREAKER, translation)
    for rule in items(fields(entries.get("circuit_breaker")).get("rules")):
        translation.check_part(rule, "a rule of the breaker", RULE)
    logging = entries.get("logging")
    _check(logging, "logging", LOGGING, translation)
    _check(fields(logging).get("capture"), "capture", CAPTURE, translation)
    _check(fields(logging).get("summaries"), "summaries", SUMMARIES, translation)


def _check(node: Node | None, thing: str, part: Part, translation: Translation) -> None:
    if node is not None:
        translation.check_part(node, thing, part)

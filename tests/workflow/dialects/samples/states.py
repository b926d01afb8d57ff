"""Samples of the states format."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflow.dialects.samples.sample import Map, Sample

ONE: Map = {
    "go": {"type": "single", "agent": "claude", "prompt": "Go.", "transitions": {"success": "complete"}}
}
TWO: Map = {"draft": {"type": "fan-out", "agents": ["claude"], "output": "drafts/{agent}.md"}}


def states(more: Map) -> Map:
    return {"name": "w", "states": {**TWO, **ONE}, **more}


def state(mapping: Map) -> Map:
    others = {
        "start": {"type": "initial", "next": "draft"},
        **TWO,
        "more": {"type": "fan-out", "agents": ["claude"]},
    }
    return {"name": "w", "states": {**others, "it": mapping, **ONE}}


RULES: Mapping[str, Map] = {
    "cost_limit": {"name": "cost_limit", "condition": "total_cost_usd >= 7"},
    "transition_limit": {"condition": "transition_count >= 7"},
}
WORK: Map = {
    "description": "Words.",
    "persona": "writer",
    "input": "drafts/*.md",
    "output": "out/it.md",
    "prompt": "Write.",
    "on_enter": [{"validate": "input_exists"}],
}
STATES: Mapping[str, Sample] = {
    "the top level of a workflow": Sample(
        lambda it: it,
        {"states": {**TWO, **ONE}},
        {
            "name": "other",
            "description": "Words.",
            "version": "1.0",
            "states": TWO,
            "orchestrator": {"agent": "claude"},
            "agents": {"x": {"type": "cli", "command": "x"}},
            "personas": {"writer": "prompts/writer.md"},
            "circuit_breaker": {"rules": [{"name": "cost_limit", "condition": "total_cost_usd >= 2"}]},
            "safety_limits": {"max_cost_hard": 2},
            "logging": {"retention_days": 3},
            "settings": {"timeout_per_agent": 9},
        },
    ),
    "states.NAME, type: initial": Sample(
        lambda it: {"name": "w", "states": {"start": it, **TWO, **ONE}},
        {"type": "initial", "next": "draft"},
        {"type": "single", "description": "Words.", "on_enter": [{"validate": "input_exists"}], "next": "go"},
    ),
    "states.NAME, type: terminal": Sample(
        lambda it: {"name": "w", "states": {"draft": {**TWO["draft"], "transitions": {"all_success": "done"}}, "done": it}},
        {"type": "terminal"},
        {
            "type": "terminal",
            "description": "Words.",
            "error": True,
            "status": "failed",
            "on_enter": [{"log": "All done"}],
        },
    ),
    "states.NAME, type: fan-out": Sample(
        state,
        {"type": "fan-out", "agents": ["claude"]},
        {**WORK, "type": "single", "agents": ["claude", "codex"], "agent": "claude", "transitions": {"all_failure": "draft"}},
    ),
    "states.NAME, type: single": Sample(
        state,
        {"type": "single", "agent": "claude", "transitions": {"success": "go"}},
        {**WORK, "type": "fan-out", "agent": "codex", "agents": ["claude"], "transitions": {"failure": "draft"}},
    ),
    "states.NAME, type: single, with proceed, retry or halt": Sample(
        state,
        {"type": "single", "agent": "judge", "transitions": {"proceed": "go"}},
        {
            **WORK,
            "type": "fan-out",
            "agent": "other",
            "agents": ["judge"],
            "transitions": {"retry": "draft"},
        },
    ),
    "states.NAME, type: orchestrator-task": Sample(
        state,
        {"type": "orchestrator-task"},
        {**WORK, "type": "single", "agent": "codex", "agents": ["claude"], "transitions": {"failure": "draft"}},
    ),
    "states.NAME, type: human-approval": Sample(
        state,
        {"type": "human-approval"},
        {
            "type": "single",
            "description": "Words.",
            "prompt": "Good?",
            "input": "drafts/*.md",
            "on_enter": [{"validate": "input_exists"}],
            "transitions": {"feedback": "draft"},
        },
    ),
    "states.NAME.on_enter": Sample(
        lambda it: {"name": "w", "states": {"draft": {**TWO["draft"], "transitions": {"all_success": "done"}}, "done": {"type": "terminal", "on_enter": [it] if it else []}}},
        {},
        {"log": "All done", "validate": "input_exists", "generate": "run_summary.md"},
    ),
    "agents.NAME": Sample(
        lambda it: states({"agents": {"tool": it}}),
        {"type": "cli", "command": "tool --fast", "token_tracking": {"method": "json_output"}},
        {
            "type": "ollama",
            "command": "other",
            "enabled": False,
            "context_window": 1000,
            "cost_per_1k": {"input": 1},
            "model_tiers": {"small": {"fallback": "m"}},
            "persona": "prompts/judge.md",
            "resume_command": "tool --resume {session_id}",
            "token_tracking": {"input_field": "a.b"},
            "session_support": "native",
            "auto_select_model": False,
            "session": {"enabled": True},
            "session_dir": "sessions",
        },
    ),
    "agents.NAME.token_tracking": Sample(
        lambda it: states({"agents": {"tool": {"type": "cli", "command": "tool", "token_tracking": it}}}),
        {},
        {
            "method": "json_output",
            "input_field": "a.b",
            "output_field": "a.c",
            "result_field": "answer",
            "cost_field": "usd",
            "session_field": "id",
        },
    ),
    "agents.NAME.cost_per_1k": Sample(
        lambda it: states({"agents": {"tool": {"type": "cli", "command": "tool", "cost_per_1k": it}}}),
        {},
        {"input": 0.1, "output": 0.2},
    ),
    "agents.NAME.model_tiers.NAME": Sample(
        lambda it: states({"agents": {"local": {"type": "ollama", "model_tiers": {"small": it}}}}),
        {},
        {"vram_range": [1, 2], "recommended": {"writer": "m"}, "fallback": "m", "max_context_tokens": 9},
    ),
    "orchestrator": Sample(
        lambda it: states({"orchestrator": it}),
        {},
        {
            "agent": "codex",
            "persona": "prompts/o.md",
            "checkpoints": [{"on": "repeated_retry"}],
            "session": {"enabled": True},
        },
    ),
    "orchestrator.session": Sample(
        lambda it: states({"orchestrator": {"agent": "claude", "session": it}}),
        {},
        {"enabled": True, "name_format": "w_{date}"},
    ),
    "orchestrator.checkpoints": Sample(
        lambda it: states({"orchestrator": {"agent": "claude", "checkpoints": [it] if it else []}}),
        {},
        {"on": "workflow_complete"},
    ),
    "circuit_breaker": Sample(
        lambda it: states({"circuit_breaker": it}),
        {},
        {"rules": [{"name": "cost_limit", "condition": "total_cost_usd >= 2"}], "safety_limits": {"max_cost_hard": 2}},
    ),
    "circuit_breaker.rules": Sample(
        lambda it: states({"circuit_breaker": {"rules": [{**RULES[it.get("name", "cost_limit")], **it}]}}),
        {},
        {"name": "transition_limit", "condition": "total_cost_usd >= 9"},
    ),
    "safety_limits": Sample(
        lambda it: states({"safety_limits": it}),
        {},
        {"max_transitions_hard": 9, "max_runtime_hard": 60, "max_cost_hard": 2},
    ),
    "settings": Sample(
        lambda it: states({"settings": it}),
        {},
        {"timeout_per_agent": 9, "retry_count": 3, "parallel_fanout": False, "working_dir": "workflow/"},
    ),
    "logging": Sample(
        lambda it: states({"logging": it}),
        {},
        {
            "capture": {"prompts": False},
            "retention_days": 3,
            "enabled": False,
            "runs_dir": "runs",
            "run_id_format": "{date}",
            "summaries": {"include_previews": True},
        },
    ),
    "logging.capture": Sample(
        lambda it: states({"logging": {"capture": it}}),
        {},
        dict.fromkeys(("prompts", "input_content", "output_content", "stdout_stream", "reasoning", "tokens"), False),
    ),
    "logging.summaries": Sample(
        lambda it: states({"logging": {"summaries": it}}),
        {},
        {
            "generate_markdown": False,
            "include_token_summary": False,
            "include_previews": True,
            "include_scores": False,
        },
    ),
}  # fmt: skip

"""The keys of each part of a states-format file, so that a misspelled limit is reported and not ignored."""

from __future__ import annotations

from typing import Final

from podium.workflow.dialects.translation import Translation
from podium.workflow.source.nodes import Node, fields, items

AGENT: Final = (
    "type",
    "command",
    "resume_command",
    "enabled",
    "context_window",
    "cost_per_1k",
    "token_tracking",
    "model_tiers",
    "auto_select_model",
    "persona",
    "session",
    "session_support",
    "session_dir",
)
TIER: Final = ("vram_range", "recommended", "fallback", "max_context_tokens")
ORCHESTRATOR: Final = ("agent", "persona", "session", "checkpoints")
CHECKPOINT: Final = ("on",)
BREAKER: Final = ("rules", "safety_limits")
RULE: Final = ("name", "condition")
PLAIN: Final = ("timeout_per_agent", "retry_count", "parallel_fanout", "working_dir")
LOGGING: Final = ("enabled", "runs_dir", "run_id_format", "capture", "summaries", "retention_days")
CAPTURE: Final = ("prompts", "input_content", "output_content", "stdout_stream", "reasoning", "tokens")


def check_parts(root: Node, translation: Translation) -> None:
    entries = fields(root)
    for name, agent in fields(entries.get("agents")).items():
        translation.check_keys(agent, f'agent "{name}"', AGENT)
        for tier in fields(fields(agent).get("model_tiers")).values():
            translation.check_keys(tier, "a tier", TIER)
    _check(entries.get("settings"), "settings", PLAIN, translation)
    _check(entries.get("orchestrator"), "the orchestrator", ORCHESTRATOR, translation)
    for checkpoint in items(fields(entries.get("orchestrator")).get("checkpoints")):
        translation.check_keys(checkpoint, "a checkpoint", CHECKPOINT)
    _check(entries.get("circuit_breaker"), "the circuit breaker", BREAKER, translation)
    for rule in items(fields(entries.get("circuit_breaker")).get("rules")):
        translation.check_keys(rule, "a rule of the breaker", RULE)
    _check(entries.get("logging"), "logging", LOGGING, translation)
    _check(fields(entries.get("logging")).get("capture"), "capture", CAPTURE, translation)


def _check(node: Node | None, thing: str, keys: tuple[str, ...], translation: Translation) -> None:
    if node is not None:
        translation.check_keys(node, thing, keys)

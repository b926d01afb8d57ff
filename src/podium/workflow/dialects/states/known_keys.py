"""The keys that the parts of a file of states have, so that a misspelled limit is a mistake and not no limit."""

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


def check_parts(root: Node, page: Translation) -> None:
    said = fields(root)
    for name, agent in fields(said.get("agents")).items():
        page.check_keys(agent, f'agent "{name}"', AGENT)
        for tier in fields(fields(agent).get("model_tiers")).values():
            page.check_keys(tier, "a tier", TIER)
    _check(said.get("settings"), "settings", PLAIN, page)
    _check(said.get("orchestrator"), "the orchestrator", ORCHESTRATOR, page)
    for point in items(fields(said.get("orchestrator")).get("checkpoints")):
        page.check_keys(point, "a checkpoint", CHECKPOINT)
    _check(said.get("circuit_breaker"), "the circuit breaker", BREAKER, page)
    for rule in items(fields(said.get("circuit_breaker")).get("rules")):
        page.check_keys(rule, "a rule of the breaker", RULE)
    _check(said.get("logging"), "logging", LOGGING, page)
    _check(fields(said.get("logging")).get("capture"), "capture", CAPTURE, page)


def _check(node: Node | None, thing: str, keys: tuple[str, ...], page: Translation) -> None:
    if node is not None:
        page.check_keys(node, thing, keys)

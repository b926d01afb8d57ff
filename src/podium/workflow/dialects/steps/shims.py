"""Providers of the steps format without a built-in agent: each is a program `<provider>-shim` on the PATH.

A shim is called with `--model` and `--max-tokens` where its step sets them. Steps that call the same shim with
different options get different agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from podium.workflow.dialects.translation import Names, Translation, new_node
from podium.workflow.source.nodes import Node, fields, text

BUILT_IN: Final = {
    "claude": "claude",
    "gemini": "gemini",
    "codex": "codex",
    "openai": "codex",
    "ollama": "ollama",
}


class Shim(NamedTuple):
    provider: str
    has_model: bool
    max_tokens: str | None

    @classmethod
    def of(cls, step: Node) -> Shim:
        entries = fields(step)
        max_tokens = entries.get("max_tokens")
        return cls(
            text(entries.get("provider")) or "",
            "model" in entries,
            None if max_tokens is None else str(max_tokens.value),
        )

    @property
    def argv(self) -> list[str]:
        model = ["--model", "{model}"] if self.has_model else []
        max_tokens = [] if self.max_tokens is None else ["--max-tokens", self.max_tokens]
        return [f"{self.provider}-shim", *model, *max_tokens]


def shims_of(steps: Iterable[Node], translation: Translation) -> tuple[Mapping[Shim, str], dict[str, Any]]:
    """The name of the agent for each way of calling a shim, and the definitions of these agents."""
    names = Names()
    agent_names: dict[Shim, str] = {}
    agents: dict[str, Any] = {}
    for step in steps:
        shim = Shim.of(step)
        if not shim.provider or shim.provider in BUILT_IN or shim in agent_names:
            continue
        if "${" in (shim.max_tokens or ""):
            translation.add_problem(
                fields(step)["max_tokens"],
                2,
                "max_tokens must be a number, not a reference",
                "write the number itself",
            )
        # A second way of calling a provider is registered like a second provider.
        several = sum(other.provider == shim.provider for other in agent_names)
        agent_names[shim] = names.add(f"{shim.provider}_{several + 1}" if several else shim.provider)
        agents[agent_names[shim]] = new_node(
            {"type": "command", "command": shim.argv}, fields(step)["provider"]
        )
    return agent_names, agents

"""Providers of the steps format that are no agents known by name: each is a program `<provider>-shim` on the path.

A shim is called with `--model` and `--max-tokens` where its step says so. Two steps may call one in different ways, and
each way is an agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from podium.workflow.dialects.translation import Names, Translation, new_node
from podium.workflow.source.nodes import Node, fields, text

KNOWN: Final = {
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
        said = fields(step)
        most = said.get("max_tokens")
        return cls(
            text(said.get("provider")) or "", "model" in said, None if most is None else str(most.value)
        )

    @property
    def argv(self) -> list[str]:
        model = ["--model", "{model}"] if self.has_model else []
        most = [] if self.max_tokens is None else ["--max-tokens", self.max_tokens]
        return [f"{self.provider}-shim", *model, *most]


def shims_of(steps: Iterable[Node], page: Translation) -> tuple[Mapping[Shim, str], dict[str, Any]]:
    """What each way of calling one is called, and the agents of the file."""
    names = Names()
    called: dict[Shim, str] = {}
    agents: dict[str, Any] = {}
    for step in steps:
        shim = Shim.of(step)
        if not shim.provider or shim.provider in KNOWN or shim in called:
            continue
        if "${" in (shim.max_tokens or ""):
            page.complain(fields(step)["max_tokens"], 2, "max_tokens is a number", "write the number itself")
        # Names tells those apart that would be one; a second way is a second provider to it.
        several = sum(other.provider == shim.provider for other in called)
        called[shim] = names.add(f"{shim.provider}_{several + 1}" if several else shim.provider)
        agents[called[shim]] = new_node({"type": "command", "command": shim.argv}, fields(step)["provider"])
    return called, agents

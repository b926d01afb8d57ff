"""Agents as the engine gets them: an adapter with what its type says about itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from podium.adapters.agents import registry
from podium.ports.agent import Agent, Agents, InstalledAgent, ServiceAgent
from podium.ports.agent_type import AgentType, Capabilities

PLAIN = Capabilities(tools=True, continuity="ignored", price="reported", needs="limits")


def agent(
    name: str, adapter: Agent | ServiceAgent, *, login: bytes | None = None, **changes: Any
) -> InstalledAgent:
    """An agent of a built-in type, or of one that only this test knows; `changes` are of its type."""
    known = registry.find(name) or AgentType(name, "", PLAIN)
    return InstalledAgent(replace(known, **changes), lambda: adapter, lambda: login)


def built_in(*names: str) -> Agents:
    """Those of the built-in agents, and no other."""
    known = registry.InstalledAgents()
    return {name: known[name] for name in names}

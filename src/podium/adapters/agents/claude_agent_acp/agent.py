"""Starts claude-agent-acp: its model by a variable, and no traffic besides its model's."""

from __future__ import annotations

from collections.abc import Mapping

from podium.adapters.agents.acp.preset import PresetAgent
from podium.adapters.agents.claude_agent_acp import AGENT
from podium.ports.agent import AgentRequest


def make() -> PresetAgent:
    def env(_request: AgentRequest, _url: str, model: str) -> Mapping[str, str]:
        return {
            "ANTHROPIC_MODEL": model,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    return PresetAgent(AGENT, env=env)

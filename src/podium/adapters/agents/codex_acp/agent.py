"""Starts codex-acp with the settings of codex."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from podium.adapters.agents.acp.preset import PresetAgent
from podium.adapters.agents.codex.agent import write_config
from podium.adapters.agents.codex_acp import AGENT
from podium.ports.agent import AgentRequest


def make() -> PresetAgent:
    def env(request: AgentRequest, _url: str, _model: str) -> Mapping[str, str]:
        # Its own sandbox cannot be built inside ours, and in other modes a second model judges each command.
        return {"INITIAL_AGENT_MODE": "agent-full-access" if request.sandboxed else "workspace-write"}

    def home(request: AgentRequest, _url: str, model: str) -> Mapping[str, str]:
        return {".codex/config.toml": write_config(replace(request, model=model))}

    return PresetAgent(AGENT, env=env, home=home)

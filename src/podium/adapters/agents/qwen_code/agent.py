"""Starts `qwen --acp` with settings of its own: no suggestions and no memories, which would call the model."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podium.adapters.agents.acp.preset import PresetAgent
from podium.adapters.agents.qwen_code import AGENT
from podium.ports.agent import AgentRequest


def make() -> PresetAgent:
    def env(_request: AgentRequest, _url: str, model: str) -> Mapping[str, str]:
        return {"OPENAI_MODEL": model}

    def home(_request: AgentRequest, _url: str, _model: str) -> Mapping[str, str]:
        settings = {
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            # Each would call the model after the answer.
            "ui": {"enableFollowupSuggestions": False},
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        }
        return {".qwen/settings.json": json.dumps(settings)}

    return PresetAgent(AGENT, ("--acp",), authenticate="openai", env=env, home=home)

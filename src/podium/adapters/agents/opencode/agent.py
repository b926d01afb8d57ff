"""Starts `opencode acp` with settings of its own: one provider, no downloads and no title."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podium.adapters.agents.acp.preset import PresetAgent
from podium.adapters.agents.opencode import AGENT
from podium.ports.agent import AgentRequest


def make() -> PresetAgent:
    def env(_request: AgentRequest, _url: str, _model: str) -> Mapping[str, str]:
        names = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
        return {f"OPENCODE_DISABLE_{name}": "1" for name in names}

    def home(_request: AgentRequest, url: str, model: str) -> Mapping[str, str]:
        options = {"baseURL": f"{url}/v1", "apiKey": "{env:ANTHROPIC_API_KEY}"}
        settings = {
            "model": f"anthropic/{model}",
            "small_model": f"anthropic/{model}",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"anthropic": {"options": options}},
            # It would call the model for a title, outside of what it reports.
            "agent": {"title": {"disable": True}},
        }
        return {".config/opencode/opencode.json": json.dumps(settings)}

    return PresetAgent(AGENT, ("acp",), env=env, home=home)

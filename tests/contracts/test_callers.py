"""Every built-in agent that is a service keeps the contract."""

from __future__ import annotations

import pytest

from podium.adapters.agents import api, ollama
from podium.testing.service_agent_contract import ServiceAgentContract


@pytest.mark.req("R058", "R060")
class TestOllama(ServiceAgentContract):
    agent_type = ollama.AGENT


@pytest.mark.req("R058", "R060")
class TestApi(ServiceAgentContract):
    suffix = "/v1"

    agent_type = api.AGENT

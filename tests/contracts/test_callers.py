"""Every built-in agent that is a service keeps the contract."""

from __future__ import annotations

import pytest

from podium.adapters.agents.api.agent import Api
from podium.adapters.agents.ollama.agent import Ollama
from podium.ports.agent import ServiceAgent
from podium.testing.service_agent_contract import CallerContract


@pytest.mark.req("R058", "R060")
class TestOllama(CallerContract):
    def make(self) -> ServiceAgent:
        return Ollama()


@pytest.mark.req("R058", "R060")
class TestApi(CallerContract):
    suffix = "/v1"

    def make(self) -> ServiceAgent:
        return Api()

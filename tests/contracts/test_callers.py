"""Every built-in agent that is a service keeps the contract."""

from __future__ import annotations

import pytest

from podium.adapters.agents.api import Api
from podium.adapters.agents.ollama import Ollama
from podium.ports import Caller
from podium.testing.callers import CallerContract


@pytest.mark.req("R058", "R060")
class TestOllama(CallerContract):
    def make(self) -> Caller:
        return Ollama()


@pytest.mark.req("R058", "R060")
class TestApi(CallerContract):
    suffix = "/v1"

    def make(self) -> Caller:
        return Api()

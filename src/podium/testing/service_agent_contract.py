"""The contract of agents that are services, tested against a local model server; subclass it and set its type.

class TestMine(ServiceAgentContract):
    agent_type = AGENT
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

import anyio
import pytest

from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, AgentTrouble, ServiceAgent, Usage
from podium.ports.agent_type import AgentType
from podium.testing.models.server import ModelServer, Rule, Tokens
from podium.workflow.schema.scalars import NAME

PROMPT: Final = "Paint the shed 7391 blue."
SYSTEM: Final = "You are painter 5517."
SCHEMA: Final = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}


class ServiceAgentContract:
    suffix: str = ""
    """The path after the address of the server in `base_url`."""

    agent_type: AgentType
    """The registration of the agent."""

    def make(self) -> ServiceAgent:
        adapter = self.agent_type.new_adapter()
        assert isinstance(adapter, ServiceAgent), f"{self.agent_type.make} has no call()"
        return adapter

    def config(self, url: str) -> Mapping[str, Any]:
        return {"base_url": f"{url}{self.suffix}"}

    @pytest.fixture
    def request_(self, tmp_path: Path) -> AgentRequest:
        return AgentRequest(
            agent="painter",
            config={},
            path="paint",
            step="paint",
            visit=1,
            attempt=1,
            prompt=PROMPT,
            system=SYSTEM,
            model="small",
            nonce="4c1f",
            project=tmp_path,
            cwd=tmp_path,
            home=tmp_path,
        )

    def test_its_registration_agrees_with_itself(self) -> None:
        agent_type = self.agent_type

        assert NAME.fullmatch(agent_type.name), f"a workflow cannot name an agent {agent_type.name!r}"
        assert not agent_type.capabilities.files, "a service cannot change files"
        assert agent_type.capabilities.continuity != "session", "a service has no session of a program"
        assert not agent_type.program

    def test_a_call_sends_prompt_and_role_and_returns_answer_and_tokens(self, request_: AgentRequest) -> None:
        with ModelServer(Rule(match="7391", text="It is blue", usage=Tokens(100, 20, 0))) as server:
            result = self.call(request_, server.url)
            [received] = server.requests

        assert result.trouble is None, result.detail
        assert result.text == "It is blue"
        assert (result.usage.input, result.usage.output, result.usage.calls) == (100, 20, 1)
        assert b"5517" in received.raw
        assert not result.has_value

    def test_with_a_schema_there_is_a_value_or_a_failure(self, request_: AgentRequest) -> None:
        request = replace(request_, schema=SCHEMA)
        with ModelServer(Rule(value={"title": "blue"}, text="prose")) as server:
            good = self.call(request, server.url)
            assert b"additionalProperties" in server.requests[0].raw
            server.rules[:] = [Rule(text="The title is blue")]
            prose = self.call(request, server.url)

        assert (good.trouble, good.has_value, good.value) == (None, True, {"title": "blue"})
        assert (prose.trouble, prose.has_value) == ("malformed", False)

    @pytest.mark.parametrize(
        ("rule", "trouble"),
        [
            (Rule(status=401, error="who"), {"auth"}),
            (Rule(status=404, error="model 'small' not found"), {"unavailable"}),
            (Rule(status=429, error="slow"), {"quota"}),
            (Rule(status=500, error="boom"), {"transient"}),
            (Rule(status=503, error="busy"), {"transient"}),
            (Rule(status=400, error="bad"), {"error"}),
            (Rule(status=302, error="elsewhere"), {"error"}),
            (Rule(fault="cut", text="half of an answer"), {"transient"}),
            (Rule(fault="garbled", text="half of an answer"), {"transient"}),
            (Rule(text=""), {"malformed"}),
            (Rule(stop="length", text="half"), {"truncated"}),
        ],
    )
    def test_every_fault_is_a_failure_with_a_message(
        self, request_: AgentRequest, rule: Rule, trouble: set[AgentTrouble]
    ) -> None:
        with ModelServer(rule) as server:
            result = self.call(request_, server.url)

        assert result.trouble in trouble, result
        assert result.trouble in get_args(AgentTrouble)
        assert result.detail

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 503, 529])
    def test_a_rejected_request_is_no_call_and_costs_nothing(
        self, request_: AgentRequest, status: int
    ) -> None:
        with ModelServer(Rule(status=status, error="no")) as server:
            result = self.call(request_, server.url)

        assert (result.usage, result.cost) == (Usage(calls=0), 0)

    def test_an_unreachable_service_is_a_failure_that_names_the_address(self, request_: AgentRequest) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # nothing listens, and no other process gets the port
            port = closed.getsockname()[1]
            result = self.call(request_, f"http://127.0.0.1:{port}")

        assert result.trouble in ("unavailable", "transient")
        assert str(port) in result.detail

    @pytest.mark.parametrize("fault", ["hang", "stall"])
    def test_a_silent_service_ends_by_the_configured_limits(self, request_: AgentRequest, fault: Any) -> None:
        with ModelServer(Rule(fault=fault, text="half of an answer")) as server:
            for key in ("timeout", "stall"):
                began = time.monotonic()
                result = self.call(request_, server.url, **{key: "1s"})
                assert result.trouble == "timeout"
                # A busy machine may take longer than a second, but not as long as the default limits.
                assert time.monotonic() - began < 60

    def test_cancelling_closes_the_connection_at_once(self, request_: AgentRequest) -> None:
        async def cancelled() -> bool:
            request = self.configured(request_, server.url)
            with anyio.move_on_after(0.3) as scope:
                await self.make().call(request)
            return scope.cancelled_caught

        began = time.monotonic()
        with ModelServer(Rule(fault="hang")) as server:
            assert anyio.run(cancelled)
            assert time.monotonic() - began < 5

    @pytest.mark.parametrize(
        "settings",
        [{"base_url": "not an address"}, {"temperature": "hot"}, {"timeout": "soon"}, {"max_tokens": "many"}],
    )
    def test_invalid_settings_are_refused_before_anything_is_sent(
        self, request_: AgentRequest, settings: Mapping[str, Any]
    ) -> None:
        with ModelServer(Rule()) as server:
            with pytest.raises(ConfigurationError, match=r"agents\.painter\."):
                self.call(request_, server.url, **settings)
            assert server.requests == []

    def test_without_a_model_one_is_chosen_or_required(self, request_: AgentRequest) -> None:
        with ModelServer(Rule()) as server:
            try:
                model = self.call(replace(request_, model=None), server.url).model
            except ConfigurationError as error:
                model = error.message
        assert "model" in model or ":" in model

    def configured(self, request: AgentRequest, url: str, **settings: Any) -> AgentRequest:
        return replace(request, config={**self.config(url), **settings})

    def call(self, request: AgentRequest, url: str, **settings: Any) -> AgentResult:
        return anyio.run(self.make().call, self.configured(request, url, **settings))

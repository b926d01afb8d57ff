"""An agent that speaks the Agent Client Protocol and was tried: a workflow need only name it.

It calls its model through the broker. Calls of its own besides the conversation are switched off where the agent has a
switch for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from podium.adapters.agents.acp.agent import Acp, AcpConversation
from podium.adapters.agents.shared.broker import MODEL_APIS, URL
from podium.adapters.agents.shared.program_keys import check_command
from podium.adapters.agents.shared.settings import address
from podium.fast_dataclass import dataclass
from podium.ports.agent import AgentRequest, ProgramSpec
from podium.ports.agent_type import AgentType

Write = Callable[[AgentRequest, str, str], Mapping[str, str]]
"""Writes texts for a request, the address of the API as the agent sees it, and the model."""


def _nothing(_request: AgentRequest, _url: str, _model: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class PresetAgent:
    type: AgentType
    arguments: tuple[str, ...] = ()
    authenticate: str = ""
    env: Write = _nothing
    home: Write = _nothing

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, AcpConversation]:
        assert self.type.credentials is not None
        (key,) = self.type.credentials.keys
        api = MODEL_APIS[key]
        upstream = address(request, api.url)
        url, model = URL if request.brokered else upstream, request.model or self.type.model
        config: dict[str, Any] = {
            **request.config,
            "command": [*_program(request, self.type.program), *self.arguments],
            "key": key,
            "authenticate": self.authenticate,
            "home": self.home(request, url, model),
            # Where the broker finds the address of the API.
            "env": [*(request.config.get("env") or ()), f"{api.variable}={upstream}"],
        }
        program, conversation = Acp().prepare(replace(request, config=config, model=""))
        env = {api.variable: url, **self.env(request, url, model), **program.env}
        return replace(program, env=env), conversation


def _program(request: AgentRequest, default: str) -> tuple[str, ...]:
    command = request.config.get("command") or default
    words = (command,) if isinstance(command, str) else tuple(command)
    check_command(request, words)
    return words

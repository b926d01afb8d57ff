"""Resolves a step to an agent, its adapter and its role."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any

from podium.attempt.host import Host
from podium.attempt.programs import default_agent
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import Value, fill
from podium.core.expressions.values import Meter, as_text, plain_json
from podium.core.model import Agent, Step
from podium.core.queries.steps import upgraded
from podium.core.step_settings import Prompt, WorkflowConfig
from podium.credentials import with_auth
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.files.inside import MAX_TEXT_FILE, inside, read_file
from podium.ports.agent import Agent as Adapter
from podium.ports.agent import InstalledAgent, ServiceAgent
from podium.workflow.agent_capabilities import AUTO, SANDBOX_LEVELS
from podium.workflow.agent_keys import faults_of
from podium.workflow.source.files import is_prompt_file


@dataclass(frozen=True, slots=True)
class ResolvedAgent:
    agent: str
    type: str
    role: str | None
    model: str | None
    config: Mapping[str, Any]
    installed: InstalledAgent
    system: Prompt | None
    prompt: Prompt | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameter defaults of a role whose name is an expression; those of a literal role are in the step."""

    @property
    def instructions(self) -> str:
        """A hash that tells whether two attempts had the same role and the same template of the prompt."""
        texts = [None if prompt is None else prompt.text for prompt in (self.system, self.prompt)]
        return sha256(json.dumps(texts).encode()).hexdigest()[:16]

    @property
    def adapter(self) -> Adapter | ServiceAgent:
        return self.installed.adapter


@dataclass(frozen=True, slots=True)
class NoAgent:
    """No agent can do the step; the message says why, and which agents are available."""

    message: str


def resolve_agent(
    host: Host, config: WorkflowConfig, step: Step, started: AttemptStarted, names: Names
) -> ResolvedAgent | NoAgent:
    """Raises ConfigurationError, ExprError. `config` belongs to the workflow that contains the step."""
    verb = upgraded(step, 0 if started.agent else started.upgrade).verb
    assert isinstance(verb, Agent)
    role = _text(verb.role, names)
    role_fields = _role(config, role) if not isinstance(verb.role, str) and role is not None else {}
    agents = config.agents
    if verb.by_hand:
        # A person takes the step over, in the program of the agent that its role has.
        agent = config.roles.get(role or "", {}).get("agent")
    else:
        agent = _agent(verb, started, names, role_fields=role_fields, candidates=step.settings.candidates)
    agent = agent or default_agent(host.agents, agents, host.host_env)
    if agent is None:
        return NoAgent(
            f"the step names no agent, and no enabled agent can serve as the default; {_available(host)}"
        )
    own: Any = fill(agents.get(agent, {}), names)
    if own.get("enabled") is False:
        return NoAgent(f'agent "{agent}" is disabled (agents.{agent}.enabled)')
    kind = str(own.get("type") or agent)
    installed = host.agents.get(kind)
    if installed is None:
        return NoAgent(f'agent "{agent}" has the unknown type "{kind}"; {_available(host)}')
    _check_keys(agent, kind, installed, own)
    if _lacks_sandbox(host, step, installed.type.capabilities.needs):
        # Agents that the file names literally were checked before the run; this name was an expression.
        return NoAgent(
            f'agent "{agent}" needs a stronger sandbox than this run has; '
            "--sandbox limits accepts the weaker one, at your own risk"
        )
    by_role = None if started.upgrade else role_fields.get("model")
    model = (_text(verb.model, names) or by_role) if started.agent == 0 else None
    return ResolvedAgent(
        agent=agent,
        type=kind,
        role=role,
        model=model or own.get("model") or installed.type.model or None,
        config=with_auth(installed, own, host.host_env),
        installed=installed,
        system=_system(host, step, role_fields),
        prompt=verb.prompt or _read_prompt(host, role_fields.get("prompt")),
        parameters=role_fields.get("with") or {},
    )


def _check_keys(agent: str, kind: str, installed: InstalledAgent, config: Mapping[str, Any]) -> None:
    """Checks the values once more, because those of expressions are known only now."""
    capabilities = installed.type.capabilities
    declared = {key: plain_json(value) for key, value in config.items() if key in capabilities.keys}
    for fault in faults_of(agent, kind, capabilities, declared):
        raise ConfigurationError(f"agents.{agent}: {fault.message}", hint=fault.hint)


def _lacks_sandbox(host: Host, step: Step, needed: str) -> bool:
    is_weaker = SANDBOX_LEVELS.index(needed) > SANDBOX_LEVELS.index(host.sandbox_of(step).level)
    is_explicit = step.settings.sandbox.level in ("none", "limits")
    return is_weaker and not is_explicit and not host.context.accepts_weak_sandbox


def _available(host: Host) -> str:
    return f"available: {', '.join(sorted(host.agents)) or 'none'}"


def _text(value: Value, names: Names) -> str | None:
    return None if value is None else as_text(fill(value, names), Meter())


def _role(config: WorkflowConfig, name: str) -> Mapping[str, Any]:
    roles = config.roles
    if name not in roles:
        raise ConfigurationError(f'role "{name}" not found', hint=f"available: {', '.join(sorted(roles))}")
    return roles[name]


def _agent(
    verb: Agent,
    started: AttemptStarted,
    names: Names,
    *,
    role_fields: Mapping[str, Any],
    candidates: tuple[str, ...],
) -> str | None:
    if started.agent:
        return verb.fallback[started.agent - 1]
    named = _text(verb.agent, names) or role_fields.get("agent")
    if named == AUTO:
        # There is no history to choose by, so take the first candidate.
        named = next(iter((*candidates, *role_fields.get("candidates", ()))), None)
    return None if named is None else str(named)


def _system(host: Host, step: Step, role_fields: Mapping[str, Any]) -> Prompt | None:
    return step.settings.system or _read_prompt(host, role_fields.get("system"))


def _read_prompt(host: Host, text: str | None) -> Prompt | None:
    """A prompt of a role whose name is an expression: the text itself, or the file that it names."""
    if text is None or not is_prompt_file(text):
        return None if text is None else Prompt(text)
    path = inside(host.project, text)
    if not path.is_file():
        raise ConfigurationError(f"{text} does not exist")
    return Prompt(read_file(path, MAX_TEXT_FILE).decode("utf-8", "replace"), text)

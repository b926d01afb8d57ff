"""Who does the work: the agent, its adapter and its role, known at the latest here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podium.attempt.host import Host
from podium.attempt.programs import usual_agent
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import Names
from podium.core.expressions.templates import Value, fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Agent, Fields, Step
from podium.core.settings import Prompt
from podium.credentials import with_auth
from podium.errors import ConfigurationError
from podium.files.inside import inside
from podium.ports.agent import Agent as Adapter
from podium.ports.agent import InstalledAgent, ServiceAgent
from podium.workflow.agent_capabilities import AUTO, SANDBOX_LEVELS
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
    """Defaults of a role that only the run could name; of the others the step has them."""

    @property
    def adapter(self) -> Adapter | ServiceAgent:
        return self.installed.adapter


@dataclass(frozen=True, slots=True)
class NoAgent:
    """There is no one to do it; the message says why, and what there is."""

    message: str


def worker_for(
    host: Host, config: Fields, step: Step, asked: AttemptStarted, names: Names
) -> ResolvedAgent | NoAgent:
    """Raises ConfigurationError, ExprError. `config` is that of the workflow the step stands in."""
    verb = step.verb
    assert isinstance(verb, Agent)
    role = _text(verb.role, names)
    known = _role(config, role) if not isinstance(verb.role, str) and role is not None else {}
    agents = config.get("agents") or {}
    agent = _agent(verb, asked, names, known=known, candidates=step.settings.candidates)
    agent = agent or usual_agent(host.agents, agents, host.host_env)
    if agent is None:
        return NoAgent(
            f"no agent is named, and none is enabled that works without being named; {_there(host)}"
        )
    own: Any = fill(agents.get(agent, {}), names)
    if own.get("enabled") is False:
        return NoAgent(f'agent "{agent}" is switched off (agents.{agent}.enabled)')
    kind = str(own.get("type") or agent)
    installed = host.agents.get(kind)
    if installed is None:
        return NoAgent(f'agent "{agent}" is of type "{kind}", which is not there; {_there(host)}')
    if _is_unwalled(host, step, installed.type.capabilities.needs):
        # Agents that a file names were refused before the run; this one became known only now.
        return NoAgent(
            f'agent "{agent}" needs stronger walls than there are; --sandbox limits '
            "goes without, at your risk"
        )
    model = (_text(verb.model, names) or known.get("model")) if asked.agent == 0 else None
    return ResolvedAgent(
        agent=agent,
        type=kind,
        role=role,
        model=model or own.get("model") or installed.type.model or None,
        config=with_auth(installed, own, host.host_env),
        installed=installed,
        system=_system(host, step, known),
        prompt=verb.prompt or _written(host, known.get("prompt")),
        parameters=known.get("with") or {},
    )


def _is_unwalled(host: Host, step: Step, needed: str) -> bool:
    weak = SANDBOX_LEVELS.index(needed) > SANDBOX_LEVELS.index(host.sandbox_of(step).level)
    typed = step.settings.sandbox.level in ("none", "limits")
    return weak and not typed and not host.context.accepts_weak_sandbox


def _there(host: Host) -> str:
    return f"there are {', '.join(sorted(host.agents))}" if host.agents else "there are no agents at all"


def _text(value: Value, names: Names) -> str | None:
    return None if value is None else as_text(fill(value, names), Meter())


def _role(config: Fields, name: str) -> Mapping[str, Any]:
    roles = config.get("roles") or {}
    if name not in roles:
        raise ConfigurationError(f'there is no role "{name}"', hint=f"there are {', '.join(sorted(roles))}")
    found: Mapping[str, Any] = roles[name]
    return found


def _agent(
    verb: Agent,
    asked: AttemptStarted,
    names: Names,
    *,
    known: Mapping[str, Any],
    candidates: tuple[str, ...],
) -> str | None:
    if asked.agent:
        return verb.fallback[asked.agent - 1]
    named = _text(verb.agent, names) or known.get("agent")
    if named == AUTO:
        # Without a history to choose by, the order of the role's candidates is all there is.
        named = next(iter((*candidates, *known.get("candidates", ()))), None)
    return None if named is None else str(named)


def _system(host: Host, step: Step, known: Mapping[str, Any]) -> Prompt | None:
    return step.settings.system or _written(host, known.get("system"))


def _written(host: Host, text: str | None) -> Prompt | None:
    """A text of a role that only the run could name; it may be a file."""
    if text is None or not is_prompt_file(text):
        return None if text is None else Prompt(text)
    path = inside(host.project, text)
    if not path.is_file():
        raise ConfigurationError(f"{text} does not exist")
    return Prompt(path.read_text("utf-8"), text)

"""Checks made before a run exists: missing features, what the folder lacks, secrets among start values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from podium.attempt.host import Host
from podium.attempt.programs import default_agent, preferred_names, wanting
from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Text, chain_of
from podium.core.messages import Start
from podium.core.model import (
    Agent,
    Block,
    Call,
    Command,
    Git,
    Step,
    Workflow,
)
from podium.core.queries.steps import all_steps, inner_steps, top_steps
from podium.core.step_settings import WorkflowConfig
from podium.core.types import Address
from podium.credentials import key_names, with_auth
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass, replace
from podium.git.branches.pull_request import default_remote
from podium.git.repository import Repository
from podium.ports.agent import Agents, InstalledAgent
from podium.redaction.encodings import SHORTEST
from podium.redaction.mask import Mask
from podium.workflow.agent_capabilities import AUTO, AgentTypes

ISOLATING: Final = ("bubblewrap", "container")
"""Levels that hide the files and the network of the host from a process."""
WEAK: Final = ("none", "limits")
"""Levels that a user may choose, knowing what they do not enforce."""


@dataclass(frozen=True, slots=True)
class HostCapabilities:
    """What this machine has to run a workflow with."""

    agents: Agents
    typed: str | None = None
    """The sandbox that the user typed for this run."""
    sandbox_unavailable: str = ""
    """Why bubblewrap does not work here, and what would help; empty if it works."""
    container_unavailable: str = ""
    """Why no container can run here; empty if one may."""


def unsupported(workflow: Workflow, machine: HostCapabilities) -> tuple[str, ...]:
    """What this machine or version cannot do, one line each."""
    uses_models = bool(machine.sandbox_unavailable) and uses_model_agents(workflow, machine.agents)
    return tuple(dict.fromkeys(_in_workflow(workflow, machine, uses_models)))


def lacking_sandbox(step: Step, machine: HostCapabilities, *, uses_models: bool) -> tuple[str, ...]:
    """What is missing of the sandbox that a command needs, one line each."""
    alone = Workflow(name="", body=Block("seq", (step,)))
    return tuple(_sandbox_problems(step, alone, machine, uses_models))


def needs_sandbox(workflow: Workflow) -> bool:
    """Whether a step runs an agent or a command or names a sandbox, so that it matters which ones work here."""
    return any(
        isinstance(step.verb, Agent | Command) or step.settings.sandbox.level is not None
        for _, step, _ in all_steps(workflow)
    )


def uses_model_agents(workflow: Workflow, agents: Agents) -> bool:
    """Whether any step is done by a model-driven agent, which needs a sandbox."""
    return any(_has_models(step, workflow, agents) for step in top_steps(workflow))


def _has_models(step: Step, workflow: Workflow, agents: Agents) -> bool:
    if isinstance(step.verb, Call):
        return uses_model_agents(step.verb.workflow, agents)
    if isinstance(step.verb, Agent) and _model_driven_types(
        _workers(step.verb, step), workflow.config, agents
    ):
        return True
    return any(_has_models(child, workflow, agents) for child in inner_steps(step))


def agents_not_ready(workflow: Workflow, agents: Agents, env: Mapping[str, str]) -> tuple[str, ...]:
    """One line per agent that lacks a program, a key or a login, with the steps that need it; `env` is the user's."""
    steps: dict[str, dict[str, None]] = {}
    for step in top_steps(workflow):
        for reason, name in _unready(step, "", workflow, agents, env):
            steps.setdefault(reason, {})[name] = None
    return tuple(f"{reason}; needed by {', '.join(names)}" for reason, names in steps.items())


def agents_in_use(workflow: Workflow, agents: Agents, env: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the agents without which a step could not work: its only one, as far as the file tells."""
    likely = (_likely(verb, inner.config, agents, env) for _, verb, inner in agent_steps(workflow))
    return tuple(dict.fromkeys(next(iter(kinds)) for kinds in likely if len(kinds) == 1))


def agents_named(workflow: Workflow, agents: Agents, env: Mapping[str, str]) -> tuple[str, ...]:
    """The names of all agents that may work in it, as far as the file tells."""
    likely = (_likely(verb, inner.config, agents, env) for _, verb, inner in agent_steps(workflow))
    return tuple(dict.fromkeys(name for kinds in likely for name in kinds))


def unusable_keys(workflow: Workflow, host: Host) -> tuple[str, ...]:
    """One line per step whose agent has a key that would not be masked, so that no attempt would start."""
    lines = (
        f'step "{at}": {line}'
        for at, verb, inner in agent_steps(workflow)
        for name, kind in _likely(verb, inner.config, host.agents, host.host_env).items()
        for line in _unusable(host, name, host.agents[kind], inner.config.agents.get(name, {}))
    )
    return tuple(dict.fromkeys(lines))


def _unusable(host: Host, name: str, agent: InstalledAgent, config: Mapping[str, Any]) -> Iterator[str]:
    named = config.get("key")
    if isinstance(named, Node | Text):
        if not host.secrets:
            yield f"agents.{name}.key is known only during the run; declare the variables it may name: secrets: [...]"
        return
    for variable in key_names(agent.type.credentials, with_auth(agent, config, host.host_env)):
        value = host.host_env.get(variable, "")
        if value and not host.mask.hides(value):
            fact = (
                f"{len(value)} characters are too few to mask it in logs; check its value"
                if len(value) < SHORTEST
                else f"it is not masked in this run; declare it: secrets: [{variable}]"
            )
            yield f"{name} takes its key from {variable}: {fact}"


def agents_without_price(workflow: Workflow, types: AgentTypes) -> tuple[str, ...]:
    """The agents that a file names and whose calls have no known price."""
    names = (
        name for _, verb, inner in agent_steps(workflow) for name in _unpriced(verb, inner.config, types)
    )
    return tuple(dict.fromkeys(names))


def _unpriced(verb: Agent, config: WorkflowConfig, types: AgentTypes) -> Iterator[str]:
    configured = config.agents
    for name, kind in _kinds(verb, config).items():
        capabilities = types.find(kind)
        if (
            capabilities is not None
            and capabilities.price == "unknown"
            and not configured.get(name, {}).get("price")
        ):
            yield name


def agent_steps(workflow: Workflow) -> Iterator[tuple[Address, Agent, Workflow]]:
    """The agent steps of a workflow and of those it calls: address without numbers, verb, and the workflow around it."""
    for at, step, inner in all_steps(workflow):
        if isinstance(step.verb, Agent) and not step.verb.by_hand:
            yield at, _workers(step.verb, step), inner


def _unready(
    step: Step, inside: str, workflow: Workflow, agents: Agents, env: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What the only agents of a step lack, and the step; also of the steps inside."""
    path = f"{inside}{step.name}"
    if isinstance(step.verb, Call):
        for called in top_steps(step.verb.workflow):
            yield from _unready(called, f"{path}/", step.verb.workflow, agents, env)
    if isinstance(step.verb, Agent) and not step.verb.by_hand:
        kinds = _likely(_workers(step.verb, step), workflow.config, agents, env)
        configured = workflow.config.agents
        wants = [wanting(agents[kind], configured.get(name, {}), env) for name, kind in kinds.items()]
        if wants and all(wants):
            name = next(iter(kinds))
            reason = wants[0] if wants[0].startswith(f"{name} ") else f"{name}: {wants[0]}"
            yield reason, f'"{path}"' + (f" (line {step.line})" if step.line else "")
    for child in inner_steps(step):
        yield from _unready(child, f"{path}/", workflow, agents, env)


def agents_of(workflow: Workflow) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The types of the agents that a workflow and those it calls configure or name, each with its settings."""
    files = {id(inner): inner for _, _, inner in all_steps(workflow)}
    for inner in (workflow, *files.values()):
        for name, config in inner.config.agents.items():
            yield str(config.get("type") or name), config
    for _, verb, inner in agent_steps(workflow):
        configured = inner.config.agents
        yield from ((kind, {}) for name, kind in _kinds(verb, inner.config).items() if name not in configured)


def _in_workflow(workflow: Workflow, machine: HostCapabilities, uses_models: bool) -> Iterator[str]:
    for step in top_steps(workflow):
        yield from _in_step(step, workflow, machine, uses_models)


def _in_step(step: Step, workflow: Workflow, machine: HostCapabilities, uses_models: bool) -> Iterator[str]:
    verb = step.verb
    named = _named(step)
    match verb:
        case Agent():
            yield from (f"{named}: {what}" for what in _of_agent(verb, workflow.config, machine.agents))
        case Call():
            yield from _in_workflow(verb.workflow, machine, uses_models)
        case _:
            pass
    yield from (f"{named}: {what}" for what in _sandbox_problems(step, workflow, machine, uses_models))
    for child in inner_steps(step):
        yield from _in_step(child, workflow, machine, uses_models)


def _sandbox_problems(
    step: Step, workflow: Workflow, machine: HostCapabilities, uses_models: bool
) -> Iterator[str]:
    """Sandboxes that are requested or needed, and do not work here."""
    if machine.typed not in (None, "auto"):
        return  # The user chose it, knowing what it does not enforce.
    level = step.settings.sandbox.level
    if level == "container" and machine.container_unavailable:
        yield f"sandbox container: {machine.container_unavailable}; or --sandbox limits runs it in a weaker sandbox"
    if level in ("container", *WEAK) or not machine.sandbox_unavailable:
        return
    reason = f"{machine.sandbox_unavailable}; or --sandbox limits runs it in a weaker sandbox, at your risk"
    if level == "bubblewrap":
        yield f"sandbox bubblewrap: {reason}"
    elif isinstance(step.verb, Agent):
        for kind in _model_driven_types(_workers(step.verb, step), workflow.config, machine.agents):
            yield f"{kind} needs bubblewrap: {reason}"
    elif isinstance(step.verb, Command) and uses_models:
        yield f"it runs what a model has written and needs bubblewrap: {reason}"


def _named(step: Step) -> str:
    return f'step "{step.name}"' + (f" (line {step.line})" if step.line else "")


def _of_agent(verb: Agent, config: WorkflowConfig, agents: Agents) -> Iterator[str]:
    if verb.by_hand:
        return
    kinds = _kinds(verb, config)
    if not kinds and verb.agent is None and not preferred_names(agents):
        yield f"no agent is named, and none of the preferred ones is installed; installed: {', '.join(sorted(agents))}"
    if kinds and not any(kind in agents for kind in kinds.values()):
        name, kind = next(iter(kinds.items()))
        yield f'agent "{name}" of type "{kind}" is not installed; installed: {", ".join(sorted(agents))}'


def _model_driven_types(verb: Agent, config: WorkflowConfig, agents: Agents) -> tuple[str, ...]:
    """The types of the agents that may work here and are model-driven."""
    if verb.by_hand:
        return ()
    kinds = dict.fromkeys(_likely(verb, config, agents, {}).values())
    return tuple(kind for kind in kinds if agents[kind].type.capabilities.needs in ISOLATING)


def _likely(verb: Agent, config: WorkflowConfig, agents: Agents, env: Mapping[str, str]) -> dict[str, str]:
    """The types of the agents that may work, by name: those that the step names, or the preferred one for its role."""
    usual = default_agent(agents, config.agents, env)
    # A role that is computed during the run may bring its own agent.
    is_open = verb.agent is None and (verb.role is None or isinstance(verb.role, str))
    kinds = {**(_types([usual], config) if is_open and usual is not None else {}), **_kinds(verb, config)}
    return {name: kind for name, kind in kinds.items() if kind in agents}


def _workers(verb: Agent, step: Step) -> Agent:
    """The verb with the candidates of `agent: auto` and the agents of upgrades among those that may take over."""
    upgrades = (entry.agent for entry in step.retry.upgrade if entry.agent is not None)
    candidates = step.settings.candidates if verb.agent == AUTO else ()
    return replace(verb, fallback=(*candidates, *verb.fallback, *upgrades))


def _kinds(verb: Agent, config: WorkflowConfig) -> dict[str, str]:
    """The types of the agents that a step names, as far as the file tells."""
    names = [name for name in (verb.agent, *verb.fallback) if isinstance(name, str) and name != AUTO]
    return _types(names, config)


def _types(names: Iterable[str], config: WorkflowConfig) -> dict[str, str]:
    return {name: str(config.agents.get(name, {}).get("type") or name) for name in names}


BRANCH: Final = ("run", "branch")


def check_branch(workflow: Workflow, branch: str) -> None:
    """Raises ConfigurationError for a step that lands on the branch of the run where none is checked out."""
    for step in () if branch else _all(top_steps(workflow), sure=True):
        if isinstance(step.verb, Git) and _is_of_run(step.verb):
            raise ConfigurationError(
                f'"{step.name}" lands on run.branch, and no branch is checked out',
                hint="git switch BRANCH, or git switch -c NEW, then start it again",
            )


def check_repository(workflow: Workflow, repository: Repository | None) -> None:
    """Raises ConfigurationError for a step that needs git, or that opens a pull request where nothing can be pushed to."""
    for step in _all(top_steps(workflow)):
        if step.memory and repository is None:
            raise ConfigurationError(
                f'"{step.name}" uses the memory "{step.memory}", and this is not a git repository',
                hint="memories are kept in git: run git init",
            )
        if step.settings.base is not None and repository is None:
            raise ConfigurationError(
                f'"{step.name}" has a base, and this is not a git repository', hint="run git init"
            )
        if isinstance(step.verb, Git) and step.verb.pull_request is not None and step.verb.push is None:
            if repository is None:
                raise ConfigurationError(
                    f'"{step.name}" opens a pull request, and this is not a git repository'
                )
            try:
                default_remote(repository)
            except ConfigurationError as error:
                raise ConfigurationError(f'"{step.name}": {error.message}', hint=error.hint) from error


def _is_of_run(verb: Git) -> bool:
    branches = verb.land if isinstance(verb.land, tuple) else (verb.land,)
    return any(isinstance(branch, Node) and chain_of(branch) == BRANCH for branch in branches)


def _all(steps: tuple[Step, ...], *, sure: bool = False) -> Iterator[Step]:
    """These steps and all inside them, also in called workflows; with `sure` only those that no `when` may skip."""
    for step in steps:
        if sure and step.when is not None:
            continue
        yield step
        called = top_steps(step.verb.workflow) if isinstance(step.verb, Call) else ()
        yield from _all((*called, *inner_steps(step)), sure=sure)


def reject_secret_values(
    mask: Mask, start: Start, variables: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Raises ConfigurationError for a value with a secret: it would be masked, and the run would use another value."""
    for kind, values in (("input", start.inputs), ("variable", variables), ("setting", settings)):
        for name, value in values.items():
            if mask.hides(json.dumps(value, ensure_ascii=False, default=dict)):
                raise ConfigurationError(
                    f'{kind} "{name}" contains a secret, and what a run is started with is stored',
                    hint="let the step that needs the secret name it under `secrets`, and read it from its environment",
                )


def masked_env(mask: Mask, env: Mapping[str, str]) -> dict[str, str]:
    """The environment as expressions see it; processes get the values themselves."""
    return {name: mask.text(value) for name, value in env.items()}


def check_recordings(root: Path, record: str | None, replay: str | None) -> None:
    """A folder for new recordings must have none: an old one among them could be replayed by mistake."""
    if record is not None and any((root / record).glob("*.json")):
        raise ConfigurationError(
            f"{record} holds recordings already", hint="name another folder, or delete it first"
        )
    if replay is not None and not any((root / replay).glob("*.json")):
        raise ConfigurationError(
            f"{replay} holds no recordings", hint="make some: podium run FILE --record FOLDER"
        )

"""Merges all sources of a workflow into one raw document; each value keeps the place it was written at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.context import problem_at
from podium.workflow.merge.chosen_workflows import expand_chosen_workflows
from podium.workflow.merge.config_layers import merge_config, role_problems
from podium.workflow.merge.drivers import expand_drivers
from podium.workflow.merge.git_policy import apply_git_policy
from podium.workflow.merge.judging_roles import choose_forms
from podium.workflow.merge.reviews import apply_reviews
from podium.workflow.merge.role_files import used_roles
from podium.workflow.merge.role_inheritance import Roles, effective_roles
from podium.workflow.merge.sources import NOTHING, Sources, with_layer
from podium.workflow.merge.switches import apply_switches
from podium.workflow.merge.templates import merge_templates
from podium.workflow.problems import Problem
from podium.workflow.schema.channels import channel_faults
from podium.workflow.schema.file import Config
from podium.workflow.schema.reader import FieldFault, read
from podium.workflow.schema.scalars import INSERT
from podium.workflow.source.nodes import (
    Node,
    Path,
    SourceLocation,
    fields,
    items,
    nearest_node,
    plain,
    with_field,
)

ORDER: Final = (
    *(
        "podium",
        "name",
        "description",
        "strict",
        "switches",
        "subject",
        "labels",
        "triggers",
        "inputs",
        "vars",
        "env",
        "secrets",
    ),
    *("agents", "roles", "people", "policies", "retries", "notify", "context", "defaults", "git", "reviews"),
    *(
        "limits",
        "breaker",
        "adaptive",
        "max_parallel",
        "workspace",
        "sandbox",
        "network",
        "protect",
        "baseline",
        "record",
    ),
    *("gates", "driver", "steps", "finally", "outputs"),
)
"""The order of keys in a merged file."""


@dataclass(frozen=True, slots=True)
class Merged:
    root: Node
    problems: tuple[Problem, ...] = ()
    role_names: frozenset[str] = frozenset()
    """Every available role, including those that this workflow does not use and that were not read."""
    own_agent_keys: frozenset[tuple[str, str]] = frozenset()
    """The agents and their keys that the workflow or its templates set, not a configuration or the command line."""

    @property
    def value(self) -> Any:
        return plain(self.root)

    def origin(self, path: Path, *, key: bool = False) -> SourceLocation:
        """The place of the value at `path`, or of its key; for a missing value, the closest one around it."""
        node, exists = nearest_node(self.root, path)
        return node.key if key and exists else node.place

    def source(self, path: Path) -> str | None:
        """How the number, boolean or null at `path` was written."""
        node, exists = nearest_node(self.root, path)
        return node.source if exists else None


def merge(sources: Sources, *, is_child: bool = False) -> Merged:
    """Merges templates, then configuration, then roles. Without a readable workflow only problems are returned.

    `is_child` says that another workflow contains this one.
    """
    if not sources.chain:
        return Merged(NOTHING, sources.problems, sources.role_names)
    workflow = merge_templates(sources.chain)
    workflow = replace(workflow, root=expand_chosen_workflows(workflow.root))
    own = frozenset(name for file in sources.chain for name in fields(fields(file).get("roles")))
    disabled = {str(name.value) for file in sources.chain for name in items(fields(file).get("disable"))}
    switched = apply_switches(
        choose_forms(workflow.root, sources.layers, fields(fields(workflow.root).get("steps"))),
        sources.layers,
        disabled=disabled,
    )
    settings = merge_config(sources.shipped, sources.bounds, switched.root, command_line=sources.command_line)
    root, seconds = apply_reviews(settings.root, sources.layers)
    root = apply_git_policy(root, is_child=is_child, layers=sources.layers)
    root = expand_drivers(root, sources.role_names)
    roles = _roles(with_layer(sources, seconds), root, own)
    if roles.nodes:
        root = with_field(root, "roles", Node(roles.nodes, root.place, root.key))
    problems = (
        *sources.problems,
        *workflow.problems,
        *switched.problems,
        *(problem for config in sources.bounds for problem in config_problems(config)),
        *settings.problems,
        *roles.problems,
        *role_problems(sources.bounds, roles.nodes.values(), command_line=sources.command_line),
    )
    own_keys = _agent_keys(workflow.root) - _agent_keys(sources.command_line)
    return Merged(_sort_keys(root), tuple(dict.fromkeys(problems)), sources.role_names, own_keys)


def _agent_keys(file: Node | None) -> frozenset[tuple[str, str]]:
    agents = fields(fields(file).get("agents"))
    return frozenset((name, key) for name, agent in agents.items() for key in fields(agent))


def config_problems(config: Node) -> Iterator[Problem]:
    """Checks a configuration on its own, because a nearer file may hide its mistakes."""
    document = Merged(config)
    reading = read(Config, document.value, source=document.source)
    faults = [*reading.faults]
    if reading.value is not None and isinstance(reading.value.notify, Mapping):
        # A channel belongs to no workflow, so nothing else checks it.
        faults += (FieldFault(2, *fault) for fault in channel_faults(reading.value.notify))
    for fault in faults:
        yield problem_at(document.origin, fault)
    for unit, value in fields(fields(config).get("limits")).items():
        if isinstance(value.value, str) and INSERT in value.value:
            message = (
                f'"limits.{unit}" of a configuration must be a value, because only workflows have inputs'
            )
            yield Problem(*value.place, 2, message)


def _roles(sources: Sources, root: Node, own: frozenset[str]) -> Roles:
    """The roles that the workflow uses or defines, and the roles that review for them."""
    named: frozenset[str] = frozenset()
    roles = Roles({}, ())
    command_line = (sources.command_line,) if sources.command_line is not None else ()
    more = own | used_roles((root, *command_line), sources.role_names)
    while more - named:
        named |= more
        roles = effective_roles(named, sources.layers, texts=sources.texts, role_names=sources.role_names)
        more = used_roles(roles.nodes.values(), sources.role_names)
    return roles


def _sort_keys(root: Node) -> Node:
    values = fields(root)
    # Unknown keys come last; the schema reports them.
    keys = sorted(values, key=lambda key: ORDER.index(key) if key in ORDER else len(ORDER))
    return replace(root, value={key: values[key] for key in keys})

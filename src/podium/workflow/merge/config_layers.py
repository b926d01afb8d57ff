"""Merges the keys that a workflow shares with configuration files: the nearest file wins, maps merge by key.

Rule: workflows, templates and roles may tighten the limits, sandbox, network and protect settings of a project or a
user, but not loosen them; for sandbox and network that also holds for the defaults. Only the command line may loosen them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any, Final

from podium.core.step_settings import DEFAULT_BOUNDS
from podium.fast_dataclass import dataclass
from podium.workflow.merge.step_nodes import nested_parts
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import InvalidValue
from podium.workflow.schema.scalars import INSERT, duration, share, size, tokens
from podium.workflow.source.nodes import (
    MergeRule,
    Node,
    fields,
    items,
    merge_appending,
    merge_maps,
    merge_replacing,
    text,
    to_long_form,
    with_field,
    with_value,
    without_keys,
)

KEYS: Final = (
    "agents",
    "roles",
    "policies",
    "retries",
    "people",
    "context",
    "defaults",
    "git",
    "reviews",
    "limits",
    "breaker",
    "adaptive",
    "secrets",
    "env",
    "workspace",
    "sandbox",
    "network",
    "protect",
    "max_parallel",
    "baseline",
    "record",
)
SANDBOX_STRENGTHS: Final = ("none", "limits", "auto", "bubblewrap", "container")
"""From the weakest; `auto` takes the best level of the machine, which may be `limits`."""
DEFAULT_LEVEL: Final = "auto"
WEAKER_LEVELS: Final = SANDBOX_STRENGTHS[: SANDBOX_STRENGTHS.index(DEFAULT_LEVEL)]

COSTS: Final = ("refuse", "ask", "count_tokens")
"""What to do about an unknown price, from the strictest."""

MEASURES: Final[Mapping[str, Callable[[Any], float]]] = MappingProxyType(
    {
        "time": duration,
        "tokens": tokens,
        "window": share,
        "unknown_cost": COSTS.index,
        "memory": size,
        "disk": size,
        "scratch": size,
    }
)
SPENT_UNITS: Final = ("usd", "tokens", "calls", "time")
"""The limits that hold for all runs of a series together, unless the file says otherwise."""
SANDBOX_MEASURES: Final = ("memory", "cpu", "processes", "disk", "files", "scratch")

SANDBOX_KEYS: Final = ("sandbox", "network")

BOLDER: Final[Mapping[str, tuple[str, ...]]] = {
    "policy": ("first", "rule", "thompson"),
    "from": ("project", "all"),
}
"""Values of `adaptive`, from the most cautious."""
MORE_IS_BOLDER: Final = ("explore", "max_deviation")
LESS_IS_BOLDER: Final = ("min_samples", "edge")

LOOSER_RULE: Final = 39
HINT: Final = (
    "a workflow may tighten the settings of a project or a user; only the command line may loosen them"
)
THAN_DEFAULT: Final = "than the default"
DEFAULT_HINT: Final = (
    "workflows, templates and roles may only tighten it; to accept it, type {} for this run, or set it in "
    ".podium/config.yaml"
)


@dataclass(frozen=True, slots=True)
class LooserValue:
    """A value that allows more than `bound`. `keys` is its path from the top; empty for a value inside a step."""

    keys: tuple[str, ...]
    value: Node
    bound: Node | None
    """None for the default."""
    fact: str
    typed: str = ""
    """What the user would type to accept the value instead of the default."""

    def problem(self) -> Problem:
        if self.bound is None:
            return Problem(*self.value.place, LOOSER_RULE, self.fact, DEFAULT_HINT.format(self.typed))
        return Problem(
            *self.value.place, LOOSER_RULE, f"{self.fact}, the value set by {self.bound.place}", HINT
        )


def loosens_default(problem: Problem) -> bool:
    """Whether a problem is only that a weaker sandbox or an open network was not accepted."""
    return problem.rule == LOOSER_RULE and problem.message.endswith(THAN_DEFAULT)


@dataclass(frozen=True, slots=True)
class MergedSettings:
    root: Node
    problems: tuple[Problem, ...] = ()


def merge_config(
    shipped: Node,
    bounds: Sequence[Node],
    workflow: Node,
    *,
    command_line: Node | None,
) -> MergedSettings:
    """Merges the settings of all files into the workflow, except for roles.

    `bounds` are the user's and the project's files, `command_line` holds the keys typed for this run.
    """
    binding = _binding(bounds, workflow)

    def looser_values(bound: Node) -> list[LooserValue]:
        return [*_looser_settings(bound, workflow), *_looser_parts(bound, nested_parts(workflow))]

    looser = _not_typed(looser_values, binding, command_line)
    bounds_set = fields(fields(binding).get("limits"))
    bounded = _bound_computed(_without_nulls(_without_looser(workflow, looser), bounds_set), bounds_set)
    root = _merge_layer(_merge_layer(_settings(shipped), binding), bounded)
    if command_line is not None:
        root = merge_maps(root, without_keys(command_line, "roles"), merge_replacing, LAYER_RULES)
    placed = replace(root, place=workflow.place, key=workflow.key)
    return MergedSettings(placed, tuple(value.problem() for value in looser))


def _without_nulls(workflow: Node, bounds: Mapping[str, Node]) -> Node:
    """`null` turns off a limit that Podium ships, never one that the user's and the project's files set."""
    limits = fields(workflow).get("limits")
    own = [unit for unit, value in fields(limits).items() if value.value is None and unit in bounds]
    return workflow if limits is None else with_field(workflow, "limits", without_keys(limits, *own))


def _bound_computed(workflow: Node, bounds: Mapping[str, Node]) -> Node:
    """A limit that the inputs decide is at most what the user's and the project's files allow, so they become its `at_most`."""
    limits = fields(workflow).get("limits")
    own = fields(fields(limits).get("at_most"))
    allowed = dict(own)
    for unit, value in fields(limits).items():
        bound = bounds.get(unit)
        is_computed = isinstance(value.value, str) and INSERT in value.value
        if bound is not None and is_computed and (unit not in own or _exceeds(unit, own[unit], bound)):
            allowed[unit] = bound
    if limits is None or allowed == own:
        return workflow
    most = replace(limits, value=allowed)
    return with_field(workflow, "limits", with_field(limits, "at_most", most))


def _settings(file: Node) -> Node:
    return replace(
        file, value={key: fields(file)[key] for key in KEYS if key in fields(file) and key != "roles"}
    )


def _merge_layer(base: Node, top: Node) -> Node:
    return merge_maps(base, top, merge_replacing, {**LAYER_RULES, "protect": merge_appending})


def _merge_agents(base: Node, top: Node) -> Node:
    """Agents merge by key, unless the nearer file gives the agent another type, which has other keys."""
    agents = dict(fields(base))
    for name, agent in fields(top).items():
        if name in agents:
            before = text(fields(agents[name]).get("type")) or name
            # Emptied instead of left out, because the order of the agents is part of the definition of a run.
            if (text(fields(agent).get("type")) or before) != before:
                agents[name] = with_value(agents[name], {})
    return merge_maps(with_value(base, agents) if agents else base, top, merge_replacing)


LAYER_RULES: Final[Mapping[str, MergeRule]] = MappingProxyType({"agents": _merge_agents})


def role_problems(
    bounds: Sequence[Node], roles: Iterable[Node], *, command_line: Node | None
) -> tuple[Problem, ...]:
    """Settings of roles, and of their gates, that allow more than the files of the project and the user, or the defaults."""
    parts = [part for role in roles for part in (role, *nested_parts(role))]
    if not parts:
        return ()
    looser = _not_typed(
        lambda bound: [*_looser_parts(bound, parts)], _binding(bounds, parts[0]), command_line
    )
    return tuple(value.problem() for value in looser)


def _binding(bounds: Sequence[Node], workflow: Node) -> Node:
    return reduce(_merge_layer, map(_settings, bounds), replace(workflow, value={}))


def _not_typed(
    looser_values: Callable[[Node], list[LooserValue]], binding: Node, command_line: Node | None
) -> list[LooserValue]:
    """The looser values without those that the command line allows."""
    looser = looser_values(binding)
    if command_line is None:
        return looser
    loosened = merge_maps(binding, without_keys(command_line, "roles"), merge_replacing)
    remaining_places = {looser_value.value.place for looser_value in looser_values(loosened)}
    return [value for value in looser if value.value.place in remaining_places]


def _looser_settings(binding: Node, workflow: Node) -> Iterator[LooserValue]:
    limits = fields(fields(binding).get("limits"))
    for unit, value in fields(fields(workflow).get("limits")).items():
        bound = limits.get(unit)
        if unit == "per" and value.value == "run" and (bound is None or bound.value != "run"):
            all_runs = next((limits[name] for name in SPENT_UNITS if name in limits), None)
            if all_runs is not None:
                fact = "limits.per: run, which gives the limits anew to each run of a series"
                yield LooserValue(("limits", unit), value, all_runs, fact)
        if bound is not None and _exceeds(unit, value, bound):
            fact = f"limits.{unit}: {value.value} is more than {bound.value}"
            yield LooserValue(("limits", unit), value, bound, fact)
    yield from _looser_adaptive(fields(binding).get("adaptive"), fields(workflow).get("adaptive"))
    for key in SANDBOX_KEYS:
        for loose in _looser_sandbox(binding, key, fields(workflow).get(key)):
            yield replace(loose, keys=(key,))


def _looser_adaptive(bound: Node | None, own: Node | None) -> Iterator[LooserValue]:
    """Settings by which other agents than the standard would be chosen more easily than the project or the user allow."""
    allowed = fields(bound)
    for key, value in fields(own).items():
        limit = allowed.get(key)
        if limit is None:
            continue
        if key == "explore":
            shares = fields(limit)
            pairs = [(f"{key}.{name}", share, shares.get(name)) for name, share in fields(value).items()]
        else:
            pairs = [(key, value, limit)]
        for name, mine, theirs in pairs:
            if theirs is not None and _is_bolder(key, mine.value, theirs.value):
                fact = f"adaptive.{name}: {mine.value} allows more than {theirs.value}"
                yield LooserValue(("adaptive", key), value, theirs, fact)


def _is_bolder(key: str, value: Any, bound: Any) -> bool:
    if key in BOLDER:
        order = BOLDER[key]
        return value in order and bound in order and order.index(value) > order.index(bound)
    if key == "locked":
        return isinstance(bound, Mapping) and any(
            isinstance(value, Mapping) and name in value and value[name].value != agent.value
            for name, agent in bound.items()
        )
    numbers = [each for each in (value, bound) if isinstance(each, int | float)]
    if len(numbers) < 2 or key not in (*MORE_IS_BOLDER, *LESS_IS_BOLDER):
        return False
    return bool(value > bound) if key in MORE_IS_BOLDER else bool(value < bound)


def _exceeds(unit: str, value: Node, bound: Node) -> bool:
    own, allowed = _measure(unit, value.value), _measure(unit, bound.value)
    return own is not None and allowed is not None and own > allowed


def _measure(unit: str, value: Any) -> float | None:
    """None for a value that is not a measure; the schema reports it."""
    try:
        return MEASURES.get(unit, _number)(value)
    except (TypeError, ValueError, InvalidValue):
        return None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _looser_parts(binding: Node, parts: Iterable[Node]) -> Iterator[LooserValue]:
    """Sandbox settings of steps, gates and roles, to which the bound also applies."""
    for node in parts:
        for key in SANDBOX_KEYS:
            yield from _looser_sandbox(binding, key, fields(node).get(key))


def _looser_sandbox(binding: Node, key: str, value: Node | None) -> Iterator[LooserValue]:
    if value is None:
        return
    bound = fields(binding).get(key)
    if key == "sandbox":
        yield from _weaker_level(bound, value)
        yield from _larger_bounds(bound, value)
    elif bound is None:
        if value.value == "open":
            typed = "--set network=open"
            yield LooserValue((), value, None, f"network: open is more {THAN_DEFAULT}", typed)
    elif bound.value != "open":
        allowed = [item.value for item in items(bound)]
        for host in items(value):
            if host.value not in allowed:
                yield LooserValue((), host, bound, f"network: {host.value} is not in {_bracketed(allowed)}")


def _weaker_level(bound: Node | None, value: Node) -> Iterator[LooserValue]:
    own = _level_of(value)
    least = None if bound is None else _level_of(bound)
    required = DEFAULT_LEVEL if least is None else least.value
    if own is None or own.value not in SANDBOX_STRENGTHS or required not in SANDBOX_STRENGTHS:
        return
    if SANDBOX_STRENGTHS.index(str(own.value)) < SANDBOX_STRENGTHS.index(str(required)):
        than = THAN_DEFAULT if least is None else f"than {required}"
        fact = f"sandbox: {own.value} is weaker {than}"
        yield LooserValue((), own, least, fact, f"--sandbox {own.value}")


def _larger_bounds(bound: Node | None, value: Node) -> Iterator[LooserValue]:
    """Values of a sandbox that allow more than the user's or the project's, or more than the default."""
    allowed = {} if bound is None else fields(to_long_form("sandbox", bound))
    for key, own in fields(to_long_form("sandbox", value)).items():
        if key not in SANDBOX_MEASURES:
            continue
        largest = allowed.get(key)
        if largest is not None and _exceeds(key, own, largest):
            yield LooserValue((), own, largest, f"sandbox.{key}: {own.value} is more than {largest.value}")
        elif largest is None and (_measure(key, own.value) or 0) > DEFAULT_BOUNDS.get(key, math.inf):
            fact = f"sandbox.{key}: {own.value} is more {THAN_DEFAULT}"
            yield LooserValue((), own, None, fact, f"--set sandbox.{key}={own.value}")


def _level_of(node: Node) -> Node | None:
    """The level of a sandbox; None if it only has other keys."""
    return fields(to_long_form("sandbox", node)).get("level")


def _bracketed(words: Sequence[object]) -> str:
    return f"[{', '.join(map(str, words))}]"


def _without_looser(workflow: Node, looser: Sequence[LooserValue]) -> Node:
    """The workflow without its looser values, so that the bounds stay in force."""
    for loose in looser:
        match loose.keys if loose.bound is not None else ():
            case (key,):
                workflow = without_keys(workflow, key)
            case (key, unit):
                workflow = with_field(workflow, key, without_keys(fields(workflow)[key], unit))
            case _:
                pass  # inside a step, where no other value applies; the problem stops the run
    return workflow

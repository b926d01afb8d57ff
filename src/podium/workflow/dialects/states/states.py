"""The states of a file: which are steps, which end the run, and where a transition leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.key_register import Part, translated
from podium.workflow.dialects.states import keys
from podium.workflow.dialects.translation import Names, Translation, name_of, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

TYPES: Final = ("initial", "fan-out", "single", "orchestrator-task", "human-approval", "terminal")
WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "fan-out": {"all_success": "passed", "partial_success": "partial", "all_failure": "else"},
    "single": {"success": "passed", "failure": "else"},
    "gate": {"proceed": "passed", "retry": "rejected", "halt": "aborted"},
    "orchestrator-task": {"success": "passed", "failure": "else"},
    "human-approval": {"approved": "passed", "feedback": "rejected", "abort": "aborted"},
}
TRANSITIONS: Final[Mapping[str, Part]] = {
    kind: Part(
        f"transitions of {kind}", translated(**{word: f"`on.{outcome}`" for word, outcome in words.items()})
    )
    for kind, words in WORDS.items()
}
ENDS: Final = {"complete": "end", "halt": "fail"}
"""Targets that a file may use without defining them."""
STATUSES: Final = ("success", "failed", "error")
"""What a terminal state may say of the run."""
ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "log": (),
    "validate": ("input_exists",),
    "generate": ("run_summary.md",),
}
"""The actions of `on_enter` and the values each may have; a log may have any text."""


@dataclass(frozen=True, slots=True)
class States:
    work: Mapping[str, Node]
    """The states that become steps, in the order of the run."""
    ends: Mapping[str, Any]
    """By the name of a terminal state: `end` or `fail`, or that word with a message."""
    names: Names
    start: Node | None
    """The initial state."""
    personas: frozenset[str]
    """Agents of the file that have a persona of their own and therefore become roles."""

    def target(self, node: Node, current: str) -> Any:
        name_in_file = text(node) or ""
        if name_in_file in self.ends:
            return self.ends[name_in_file]
        order = list(self.work)
        follows = order.index(current) + 1 < len(order) and order[order.index(current) + 1] == name_in_file
        return "next" if follows else self.names[name_in_file]

    def before(self, name: str) -> list[str]:
        order = list(self.work)
        index = order.index(name)
        return [self.names[order[index - 1]]] if index else []

    def agent(self, name_in_file: str) -> str:
        return name_of(name_in_file)

    def first_use(self, role: str) -> int | None:
        """The number of states before the first one that a role works or judges in."""
        for index, state in enumerate(self.work.values()):
            entries = fields(state)
            used = [role_name(str(persona.value))] if (persona := entries.get("persona")) is not None else []
            used += [name_of(str(agent.value)) for agent in items(entries.get("agent"))]
            used += ["orchestrator"] if text(entries.get("type")) == "orchestrator-task" and not used else []
            if role in used:
                return index
        return None

    def is_persona(self, name: str) -> bool:
        return name in self.personas

    def role(self, node: Node | None) -> Node | None:
        """The role for a persona; a persona that is a file gets the name of the file."""
        name_in_file = text(node)
        if node is None or name_in_file is None:
            return None
        return new_node(role_name(name_in_file), node)


def role_name(name_in_file: str) -> str:
    """The role `writer` for `prompts/writer_persona.md`."""
    stem = name_in_file.rpartition("/")[2].partition(".")[0]
    return name_of(stem.removesuffix("_persona"))


def read_states(node: Node, agents: Node | None, translation: Translation) -> States:
    states = fields(node)
    ends: dict[str, Any] = dict(ENDS)
    work: dict[str, Node] = {}
    first: str | None = None
    start: Node | None = None
    for name, state in states.items():
        kind = text(fields(state).get("type"))
        _check_actions(name, state, translation)
        if kind not in TYPES:
            where = fields(state).get("type", state)
            translation.add_problem(
                where, 2, f'"{kind}" is not a type of state', did_you_mean(str(kind), TYPES) or ""
            )
        elif kind == "initial":
            translation.check_part(state, f'state "{name}"', keys.INITIAL)
            first, start = first or _first(name, state, states, translation), start or state
        elif kind == "terminal":
            translation.check_part(state, f'state "{name}"', keys.TERMINAL)
            _check_status(name, fields(state).get("status"), translation)
            ends[name] = _ending("fail" if _is_error(state) else "end", state)
        else:
            work[name] = state
            ends.pop(name, None)
    if work:
        work = _in_order(work, first if first in work else next(iter(work)))
    personas = frozenset(
        name_of(name) for name, agent in fields(agents).items() if "persona" in fields(agent)
    )
    return States(work, ends, Names(work), start, personas)


def _in_order(work: Mapping[str, Node], first: str) -> dict[str, Node]:
    """The states in the order of a run in which everything succeeds, the others after them.

    A state reads what earlier ones write, and a file may list its states in any order.
    """
    path = list(_way_of_success(work, first))
    order = list(work)
    if [name for name in order if name in path[1:]] == path[1:]:
        path = [first]
    return {name: work[name] for name in (*path, *order)}


def _way_of_success(work: Mapping[str, Node], first: str) -> Iterator[str]:
    name, seen = first, set[str]()
    while name in work and name not in seen:
        yield name
        seen.add(name)
        transitions = fields(fields(work[name]).get("transitions"))
        best = next((word for word in WORDS.get(kind_of(work[name]), ()) if word in transitions), None)
        name = "" if best is None else text(transitions[best]) or ""


def _first(name: str, state: Node, states: Mapping[str, Node], translation: Translation) -> str | None:
    following = fields(state).get("next", state)
    name_in_file = text(following)
    if name_in_file not in states:
        message = f'next of "{name}" leads to "{name_in_file}", which is not a state'
        translation.add_problem(
            following, 7, message, did_you_mean(str(name_in_file), states) or "name the first state"
        )
    return name_in_file


def _check_status(name: str, status: Node | None, translation: Translation) -> None:
    if status is not None and status.value not in STATUSES:
        hint = did_you_mean(str(status.value), STATUSES) or f"use one of {', '.join(STATUSES)}"
        translation.add_problem(status, 2, f'"{status.value}" is not a status of state "{name}"', hint)


def _is_error(state: Node) -> bool:
    entries = fields(state)
    error, status = entries.get("error"), text(entries.get("status"))
    return (error is not None and error.value is True) or status in ("failed", "error")


def kind_of(state: Node) -> str:
    """The type of a state, or `gate` for a single agent that judges, that is, answers proceed, retry or halt."""
    kind = text(fields(state).get("type")) or ""
    transitions = fields(state).get("transitions")
    judges = transitions is None or bool(set(fields(transitions)) & {"proceed", "retry", "halt"})
    return "gate" if kind == "single" and judges else kind


def _check_actions(name: str, state: Node, translation: Translation) -> None:
    """Every run has a summary, and an input file must exist anyway, so only the text of a `log` is carried over."""
    actions = fields(state).get("on_enter")
    if actions is not None and isinstance(actions.value, Mapping):
        translation.add_problem(actions, 2, f'on_enter of "{name}" must be a list of actions')
    for action in items(actions):
        translation.check_part(action, f'an action in on_enter of "{name}"', keys.ACTIONS)
        for word, node in fields(action).items():
            allowed = ACTIONS.get(word, ())
            if allowed and node.value not in allowed:
                hint = did_you_mean(str(node.value), allowed) or f"use one of {', '.join(allowed)}"
                translation.add_problem(node, 2, f'on_enter does not support {word}: "{node.value}"', hint)


def _ending(word: str, state: Node) -> Any:
    """Where a terminal state leads, with the text of its last log action."""
    logs = _logs(state)
    return {word: new_node(logs[-1].value, logs[-1])} if logs else word


def _logs(state: Node) -> list[Node]:
    return [node for action in items(fields(state).get("on_enter")) if (node := fields(action).get("log"))]


def log_of(*states: Node | None) -> Node | None:
    """The texts that are logged when these states are entered one after the other."""
    logs = [node for state in states if state is not None for node in _logs(state)]
    return new_node("; ".join(str(node.value) for node in logs), logs[0]) if logs else None

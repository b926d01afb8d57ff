"""The files that a parallel child may change, computed before the child is entered.

Children whose files overlap must not work at once, so a claim is complete: where a step inside the child names files that
only the child's own work determines, it claims everything. A child claims all its files at once and keeps them until its
work is merged; since it never waits for more while it has some, children cannot wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeAlias

from podium.core import addresses
from podium.core.addresses import ROOT
from podium.core.expressions.nodes import NeedFact, Node
from podium.core.expressions.templates import fill, fill_argv
from podium.core.expressions.values import ExprError, Meter, as_text, is_list
from podium.core.globs import globs_overlap
from podium.core.model import (
    Agent,
    Block,
    Call,
    Command,
    ForEach,
    Members,
    Repeat,
    Set,
    Step,
    Workflow,
    Write,
)
from podium.core.queries.graph import child_step
from podium.core.queries.names import InstanceNames, LazyMap
from podium.core.queries.steps import children_of, inner_steps
from podium.core.state import Leaf, Placement, Scope, State
from podium.core.step_settings import OtherProject
from podium.core.types import Millis

Claim: TypeAlias = tuple[str, ...]
"""Globs of files; () is none."""

EVERYTHING: Final[Claim] = ("**",)
MAX_ITEMS: Final = 1_000
"""A loop inside a child with more items than this claims everything."""


def claim_of_child(state: State, scope: Scope, index: int) -> Claim:
    """The files that this child of a scope may change."""
    step = child_step(state, scope, "step", index, "")
    return _claim(step, _names_of_child(state, scope, step, index))


def claim_of_leaf(state: State, leaf: Leaf) -> Claim:
    """The files that the attempts of this leaf may change."""
    return _claim_of_work(leaf.place.step, InstanceNames(state, leaf))


def overlap(first: Claim, second: Claim) -> bool:
    """Whether both claims may concern the same file."""
    return any(globs_overlap(a, b) for a in first for b in second)


def _names_of_child(state: State, scope: Scope, step: Step, index: int) -> InstanceNames:
    """The names that the child will see; its variables are still those of the scope."""
    place = Placement(
        path=addresses.child(scope.place.path, step.name),
        parent=scope.place.path,
        step=step,
        role="step",
        index=index,
        visit=1,
        frame=scope.place.path if isinstance(scope.place.step.verb, Call) else scope.place.frame,
        ledger=ROOT,
        in_for_each=False,
        in_finally=False,
        base=None,
        start=None,
        entered=Millis(0),
        topic="",
        target=-1,
        adopt=None,
        order="many",
    )
    return InstanceNames(state, Leaf(place))


def _claim(step: Step, names: Names) -> Claim:
    match step.verb:
        case Agent() | Command() | Write():
            return _claim_of_work(step, names)
        case Members(join="discard") | Block(kind="par", join="discard") | ForEach(join="discard"):
            return ()
        case Call(Workflow(body=Block(kind="par", join="discard"))) | Call(place=OtherProject()):
            return ()
        case Call() as verb:
            return _claim_of_steps(verb.workflow.body.steps, _CalledNames(names, verb))
        case Block() | Members() as verb:
            return _claim_of_steps(children_of(verb), _InnerNames(names, step))
        case Repeat() as verb:
            return _claim_of_steps((verb.body,), _InnerNames(names, step, "loop"))
        case ForEach() as verb:
            return _claim_of_loop(step, verb, names)
        case _:
            return ()  # Reviews, landings, checks, questions and waits change no files.


def _claim_of_steps(steps: Iterable[Step], names: Names) -> Claim:
    return _union(_claim(step, _InnerNames(names, step)) for step in steps)


def _claim_of_work(step: Step, names: Names) -> Claim:
    if isinstance(step.verb, Agent) and step.verb.judge:
        return ()
    if step.touches is None:
        return EVERYTHING if isinstance(step.verb, Agent) else ()
    try:
        if not isinstance(step.touches, Node):
            return fill_argv(step.touches, names)
        globs = fill(step.touches, names)
        return tuple(as_text(glob, Meter()) for glob in (globs if is_list(globs) else (globs,)))
    except (ExprError, NeedFact):
        return EVERYTHING


def _claim_of_loop(step: Step, verb: ForEach, names: Names) -> Claim:
    """The files of all items; if the items are not known yet, those of an item whose value is not known."""
    try:
        items = fill(verb.items, names)
    except (ExprError, NeedFact):
        items = None
    if not is_list(items) or len(items) > MAX_ITEMS:
        return _claim_of_steps((verb.body,), _InnerNames(names, step, "loop", verb.name))
    body = (verb.body,)
    rounds = (_InnerNames(names, step, "loop", values={verb.name: item}) for item in items)
    return _union(_claim_of_steps(body, inside) for inside in rounds)


def _union(claims: Iterable[Claim]) -> Claim:
    globs = tuple(dict.fromkeys(glob for claim in claims for glob in claim))
    return EVERYTHING if EVERYTHING[0] in globs else globs


def _set_in(steps: Iterable[Step]) -> Iterator[str]:
    """The variables that are set in these steps; a called workflow has its own."""
    for step in steps:
        yield from (name for name, _ in step.verb.values) if isinstance(step.verb, Set) else ()
        yield from _set_in(inner_steps(step))


class _InnerNames:
    """The names inside a step of the child, as far as their values do not depend on what the child does.

    `hidden` are names that get their value inside the step, `values` those that are known nevertheless.
    """

    __slots__ = ("_hidden", "_outer", "_set", "_step", "_values")

    def __init__(
        self, outer: Names, step: Step, *hidden: str, values: Mapping[str, Any] | None = None
    ) -> None:
        self._outer, self._step, self._hidden = outer, step, hidden
        self._set = frozenset(_set_in(inner_steps(step)))
        member = step.verb.member if isinstance(step.verb, Agent) else None
        self._values = (values or {}) if member is None else {"member": member}

    def lookup(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name in self._hidden or name in ("feedback", "work", "change"):
            _raise_unknown(name)
        match name:
            case "steps":
                return LazyMap(self._step_result, lambda: ())
            case "vars":
                return LazyMap(self._variable, lambda: ())
            case "with":
                return LazyMap(self._parameter, lambda: ())
            case _ if name in dict(self._step.parameters):
                return self._parameter(name)
            case _:
                return self._outer.lookup(name)

    def fact(self, query: tuple[str, str]) -> NoReturn:
        raise NeedFact(query)

    def _parameter(self, name: str) -> Any:
        parameters = dict(self._step.parameters)
        return fill(parameters[name], self._outer) if name in parameters else self._outer.lookup("with")[name]

    def _step_result(self, name: str) -> Any:
        verb = self._step.verb
        is_inside = isinstance(verb, Block) and name in verb.index
        return _raise_unknown(name) if is_inside else self._outer.lookup("steps")[name]

    def _variable(self, name: str) -> Any:
        return _raise_unknown(name) if name in self._set else self._outer.lookup("vars")[name]


class _CalledNames:
    """The names inside a called workflow: its inputs and variables, and nothing of its caller."""

    __slots__ = ("_call", "_outer", "_set")

    def __init__(self, outer: Names, call: Call) -> None:
        self._outer, self._call = outer, call
        self._set = frozenset(_set_in(call.workflow.body.steps))

    def lookup(self, name: str) -> Any:
        match name:
            case "inputs":
                return self._inputs()
            case "vars":
                return LazyMap(self._variable, lambda: ())
            case "run" | "env":
                return self._outer.lookup(name)
            case _:
                return _raise_unknown(name)

    def fact(self, query: tuple[str, str]) -> NoReturn:
        raise NeedFact(query)

    def _inputs(self) -> Mapping[str, Any]:
        values = fill(dict(self._call.values), self._outer)
        assert isinstance(values, Mapping)
        return {each.name: values.get(each.name, each.default) for each in self._call.workflow.inputs}

    def _variable(self, name: str) -> Any:
        initial = self._call.workflow.vars
        return _raise_unknown(name) if name in self._set or name not in initial else initial[name]


Names: TypeAlias = InstanceNames | _InnerNames | _CalledNames


def _raise_unknown(name: str) -> NoReturn:
    # Not MissingValue: `default(x, y)` must not take y for a value that is determined later.
    raise ExprError(f"the value of {name} is determined later")

"""The values of the names in an expression, for one instance of a run.

Maps compute their fields on demand, so that reading one field of one step costs the same in a run of ten steps and in
one of ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podium.core import addresses
from podium.core.addresses import FINALLY, INPUTS, ROOT
from podium.core.expressions.nodes import MissingValue, NeedFact
from podium.core.expressions.templates import Value, fill
from podium.core.model import Agent, Call, Check, Command, ForEach, Gates, Git, Repeat, Review
from podium.core.queries.conversations import turn_text
from podium.core.queries.graph import body_of, fresh_children, tree_in_view
from podium.core.queries.step_results import fields_of, needed_iterations, work_of
from podium.core.queries.teams import name_in_team, question_to
from podium.core.state import Instance, Leaf, Scope, State, number_of

DOLLAR = 1_000_000
_ALWAYS = ("inputs", "vars", "steps", "run", "env", "with", "loop", "feedback", "work", "change")


class LazyMap(Mapping[str, Any]):
    """A map whose values `find` computes on demand."""

    __slots__ = ("_find", "_keys")

    def __init__(self, find: Callable[[str], Any], keys: Callable[[], tuple[str, ...]]) -> None:
        self._find = find
        self._keys = keys

    def __getitem__(self, key: str) -> Any:
        return self._find(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())


class InstanceNames:
    """The names visible to one instance.

    `testing`: for the test of a loop; `inner` is the loop's newest round, whose steps the test can read. `inside`: for the
    outputs of a workflow, which see its own names and not its caller's.
    """

    __slots__ = ("_inner", "_inside", "_instance", "_state", "_testing")

    def __init__(
        self,
        state: State,
        instance: Instance,
        *,
        inner: Instance | None = None,
        testing: bool = False,
        inside: bool = False,
    ) -> None:
        self._state = state
        self._instance = instance
        self._inner = inner
        self._testing = testing
        self._inside = inside

    def lookup(self, name: str) -> Any:
        match name:
            case "inputs":
                return self._inputs()
            case "vars":
                return LazyMap(self._var, self._var_names)
            case "steps":
                return LazyMap(self._step, lambda: ())
            case "run":
                return self._run()
            case "env":
                return self._started().env
            case "with":
                return LazyMap(self._parameter, self._parameter_names)
            case "loop":
                return self._loop()
            case "feedback":
                return list(self._instance.feedback)
            case "work":
                return fields_of(self._state, self._judged())
            case "change":
                return self._change()
            case "message" if self._instance.place.role == "member":
                return self._message()
            case _:
                return self._item(name)

    def fact(self, query: tuple[str, str]) -> Any:
        for fact in self._instance.facts:
            if (fact.function, fact.argument, fact.tree) == (*query, tree_in_view(self._instance)):
                return fact.value
        raise NeedFact(query)

    def _started(self) -> Any:
        assert self._state.started is not None
        return self._state.started

    def _call(self) -> Scope:
        """The Call whose inputs and variables this instance sees."""
        instance = self._instance
        if self._inside or instance.place.path == ROOT:
            assert isinstance(instance, Scope)
            return instance
        while True:
            instance = self._state.instances[instance.place.parent]
            if isinstance(instance.place.step.verb, Call):
                assert isinstance(instance, Scope)
                return instance

    def _inputs(self) -> Any:
        boxed = self._state.vars.get((self._call().place.path, INPUTS))
        return {} if boxed is None else boxed[0]

    def _var(self, name: str) -> Any:
        call = self._call()
        frame = call.place.path if self._inside else self._instance.place.frame
        assert isinstance(call.place.step.verb, Call)
        while True:
            boxed = self._state.vars.get((frame, name))
            if boxed is not None:
                return boxed[0]
            if frame == call.place.path:
                break
            parent = self._state.instances[self._state.instances[frame].place.parent]
            frame = parent.place.path if isinstance(parent.place.step.verb, Call) else parent.place.frame
        initial = call.place.step.verb.workflow.vars
        if name not in initial:
            raise MissingValue(f"vars.{name} has not been set")
        return initial[name]

    def _var_names(self) -> tuple[str, ...]:
        verb = self._call().place.step.verb
        assert isinstance(verb, Call)
        return tuple(verb.workflow.vars)

    def _run(self) -> Mapping[str, Any]:
        facts = self._started().run
        values = {name: getattr(facts, name) for name in ("id", "name", "branch", "base", "date")}
        values["usd"] = self._state.usd / DOLLAR
        values["number"] = 1 if facts.series is None else facts.series.number
        call = self._call()
        if call.closing:
            values["outcome"], values["reason"] = _body_outcome(self._state, call)
        elif self._inside:
            values["outcome"], values["reason"] = "passed", ""  # Only a workflow that passes has outputs.
        return values

    def visible(self) -> tuple[str, ...]:
        """Every name that `lookup` may know here; some of them may have no value."""
        loops = [scope.place.step.verb for scope, _ in self._loops()]
        items = (verb.name for verb in loops if isinstance(verb, ForEach))
        return tuple(dict.fromkeys((*_ALWAYS, *items, *self._parameter_names(), "member", "attempt")))

    def step_names(self) -> tuple[str, ...]:
        """The steps that `steps.x` may name here, whether they have a result or not."""
        scopes = (scope.place.step.verb for scope in self._enclosing() if isinstance(scope, Scope))
        bodies = (body_of(verb) for verb in scopes)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
        return tuple(dict.fromkeys(name for body in bodies if body is not None for name in body.index))

    def parameter(self, name: str) -> tuple[Value, InstanceNames]:
        """What `with` says of a name, and the names that are visible there. Raises MissingValue."""
        for instance in self._enclosing():
            for key, value in instance.place.step.parameters:
                if key == name:
                    return value, InstanceNames(self._state, instance)
        raise MissingValue(f"with.{name} does not exist")

    def _parameter(self, name: str) -> Any:
        value, outside = self.parameter(name)
        return fill(value, outside)

    def _parameter_names(self) -> tuple[str, ...]:
        return tuple(key for instance in self._enclosing() for key, _ in instance.place.step.parameters)

    def _enclosing(self) -> Iterator[Instance]:
        """This instance and all enclosing ones, up to and including the Call."""
        instance, call = self._instance, self._call().place.path
        while True:
            yield instance
            if instance.place.path == call:
                return
            instance = self._state.instances[instance.place.parent]

    def _loops(self) -> Iterator[tuple[Scope, Instance]]:
        """The enclosing loops, innermost first, each with the current iteration."""
        below = self._inner
        for instance in self._enclosing():
            if below is not None and isinstance(instance.place.step.verb, ForEach | Repeat):
                assert isinstance(instance, Scope)
                if below.place.role == "step":
                    yield instance, below
            below = instance

    def _loop(self) -> Mapping[str, Any]:
        loop: Mapping[str, Any] | None = None
        rounds = [(scope, iteration.place.index) for scope, iteration in self._loops()]
        if self._testing and self._inner is None:
            assert isinstance(self._instance, Scope)
            rounds.insert(0, (self._instance, -1))  # `loop` exists before the first round, too.
        for scope, slot in reversed(rounds):
            outer = {} if loop is None else {"outer": loop}
            elapsed = (self._state.at - scope.place.entered) / 1000
            loop = {"index": slot, "number": slot + 1, "total": scope.total, "elapsed": elapsed, **outer}
            if slot >= 0 and scope.dependents:
                loop["needs"] = needed_iterations(self._state, scope, slot)
        if loop is None:
            raise MissingValue("loop is only available inside a loop")
        return loop

    def _item(self, name: str) -> Any:
        for scope, iteration in self._loops():
            verb = scope.place.step.verb
            if isinstance(verb, ForEach) and verb.name == name:
                return scope.items[iteration.place.index]
        for instance in self._enclosing():
            verb = instance.place.step.verb
            if name == "member" and isinstance(verb, Agent) and verb.member is not None:
                return verb.member
            for key, value in instance.place.step.parameters:
                if key == name:
                    return fill(value, InstanceNames(self._state, instance))
        if name == "attempt":
            return self._attempt()
        raise MissingValue(f"{name} is not defined here")

    def _attempt(self) -> int:
        """The number of the counted attempt of the step; for a gate that of the step it judges."""
        for instance in self._enclosing():
            if isinstance(instance.place.step.verb, Gates):
                return self._state.instances[instance.place.parent].tries + 1
        return self._instance.tries + 1

    def _step(self, name: str) -> Any:
        inner = self._inner
        if inner is not None:
            if inner.place.step.name == name:
                return fields_of(self._state, inner)
            child = self._child(inner, name)
            if child is not None:
                return fields_of(self._state, child)
        for instance in self._enclosing():
            child = self._child(instance, name)
            if child is not None:
                return fields_of(self._state, child)
        raise MissingValue(f"steps.{name} has no valid result that can be read here")

    def _child(self, scope: Instance, name: str) -> Instance | None:
        """The newest visit of a step of this scope, if its result is valid."""
        verb = scope.place.step.verb
        if not isinstance(scope, Scope):
            return None
        body = body_of(verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
        index = None if body is None else body.index.get(name)
        if index is None:
            return None
        visit = self._state.latest.get((scope.place.path, index))
        if visit is None or not visit.fresh:
            return None
        return self._state.instances[visit.path]

    def _judged(self) -> Instance:
        """The judged step: for a gate the enclosing step, for a review the last step in `of`."""
        for instance in self._enclosing():
            verb = instance.place.step.verb
            if isinstance(verb, Gates):
                return self._state.instances[instance.place.parent]
            if isinstance(verb, Review) and verb.of:
                return work_of(self._state, instance, verb.of[-1])
        raise MissingValue("work and change are only available in gates and reviews")

    def _message(self) -> Mapping[str, Any]:
        """What this member of a team was asked, and by whom."""
        asker = self._state.instances[self._instance.place.parent]
        ask = question_to(self._state, self._instance)
        question = "please look at the finished work" if ask is None else ask.question
        files = [] if ask is None else list(ask.files)
        turn = turn_text(self._state, self._instance)
        more = {"turn": turn} if turn else {}
        return {"sender": name_in_team(asker), "question": question, "files": files, **more}

    def _change(self) -> Any:
        judged = self._judged()
        answer = judged.answer if isinstance(judged, Leaf) else None
        none: Mapping[str, Any] = {"files": 0, "added": 0, "removed": 0, "paths": []}
        change = none if answer is None or answer.change is None else answer.change
        return {**change, **self._measured(judged)}

    def _measured(self, judged: Instance) -> Mapping[str, Any]:
        """The coverage and test results of its command gates, for the reviews and people that judge after them.

        Commands and checks themselves see nothing, because they run in parallel and the result would depend on timing.
        """
        if isinstance(self._instance.place.step.verb, Command | Check):
            return {}
        around = self._state.instances.get(judged.place.parent)
        lands = isinstance(judged.place.step.verb, Git) and isinstance(around, Scope)
        # What lands was measured by the steps before.
        measured = fresh_children(self._state, around) if lands and isinstance(around, Scope) else (judged,)
        reports = [report for step in measured for report in self._reports(step)]
        covered = [report["coverage"] for report in reports if "coverage" in report]
        tests = [{"tests": report["tests"]} for report in reports if "tests" in report]
        return {**({"coverage": min(covered)} if covered else {}), **(tests[-1] if tests else {})}

    def _reports(self, step: Instance) -> Iterator[Mapping[str, Any]]:
        """The results of a step's gates, and for a command its own."""
        gates = self._state.instances.get(addresses.attempt(step.place.path, number_of(step)))
        if isinstance(gates, Scope):
            yield from (_result(gate) for gate in fresh_children(self._state, gates))
        if isinstance(step.place.step.verb, Command):
            yield _result(step)


def _result(instance: Instance) -> Mapping[str, Any]:
    return (None if instance.ending is None else instance.ending.result) or {}


def _body_outcome(state: State, call: Scope) -> tuple[str, str]:
    """The outcome and reason of a workflow's body, for its `finally`."""
    outcome, _, reason = state.instances[addresses.child(call.place.path, FINALLY)].place.topic.partition(" ")
    return (outcome, reason) if outcome else _outcome_of_last(state, call)


def _outcome_of_last(state: State, call: Scope) -> tuple[str, str]:
    """What can be said about a body in a log that does not say how it ended."""
    if call.cancelling:
        return "cancelled", ""
    last = None if call.last is None else state.instances[call.last].ending
    if call.bad and last is not None:
        return "failed", last.reason
    return ("passed", "") if last is None else (last.outcome, last.reason)

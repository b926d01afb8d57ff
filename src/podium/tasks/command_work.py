"""Builds the work of a command, and finds the commands that must pass again because their tree was merged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from podium.core import addresses
from podium.core.addresses import ROOT
from podium.core.decide.entry import result_tree
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import ExprError, Names, NeedFact
from podium.core.expressions.templates import fill, fill_argv
from podium.core.expressions.values import Meter, as_text, is_list, is_map
from podium.core.model import Call, Command, Gates, Git, Repeat, Step
from podium.core.payloads import Amounts
from podium.core.queries.disputes import claims_before, claims_of, steps_above
from podium.core.queries.graph import merges_members, tree_in_view, workflow_of
from podium.core.queries.names import InstanceNames
from podium.core.queries.steps import all_steps, has_judge_after, written_touches
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.step_settings import written_values
from podium.core.types import Address, Millis, Tree
from podium.tasks.reads import chains_read
from podium.tasks.task import AttemptTask, CommandWork, Fact
from podium.tasks.task_names import capture
from podium.workflow.test_gates.listing import has_earlier_files


def command_work_of(state: State, started: AttemptStarted) -> CommandWork:
    leaf = state.instances[started.path]
    gates = _gates_around(leaf, state)
    protected_from = _tree_before_work(leaf, state)
    has_own_base = gates is None and started.base != started.start
    before = started.base if has_own_base else protected_from
    declared = () if gates is None else written_touches(state.instances[gates.place.parent].place.step)
    work = CommandWork(gates is not None, before, protected_from, declared)
    if not has_earlier_files(leaf.place.step.verb):
        return work
    return replace(work, **_judging_of_tests(leaf, gates, state))


def _judging_of_tests(leaf: Instance, gates: Instance | None, state: State) -> Mapping[str, Any]:
    """What counts if earlier tests fail: the author's reasons, and whether a judge can accept them."""
    judged = None if gates is None else state.instances[gates.place.parent]
    is_landing = judged is not None and isinstance(judged.place.step.verb, Git)
    return {
        "claims": claims_before(state, leaf) if judged is None else claims_of(state, judged),
        "has_judge": has_judge_after(steps_above(state, leaf)),
        "accepted": tuple(sorted(state.accepted_tests)),
        "waived": _waived_tests(state) if is_landing else (),
    }


def _waived_tests(state: State) -> tuple[str, ...]:
    """A landing is judged as a whole, so what one command of the run may let pass counts for all."""
    root = state.root.verb
    commands = [step.verb for _, step, _ in all_steps(root.workflow)] if isinstance(root, Call) else []
    tests = [verb.tests for verb in commands if isinstance(verb, Command) and verb.tests is not None]
    globs = (glob for each in tests for glob in each.may_change)
    return tuple(dict.fromkeys(glob for glob in globs if isinstance(glob, str)))


def rechecks_of(state: State, tree: Tree, below: Address | None = None) -> tuple[AttemptTask, ...]:
    """The commands that passed on a tree, each once; of the whole run, or of one instance and everything inside it.

    Of the whole run, the commands that passed on the tree of a parallel member also count: the tree has its work.
    """
    passed: dict[object, Leaf] = {}
    for leaf in _passed_commands(state):
        if below is not None and not _is_within(leaf.place.path, below):
            continue
        if leaf.place.start == tree or (below is None and any(_members_passed(state, leaf))):
            passed.setdefault(_key(state, leaf), leaf)
    return tuple(_recheck(state, leaf, below) for leaf in passed.values())


def rechecks_of_merged(state: State, scope: Address, waiting: Collection[Address]) -> tuple[AttemptTask, ...]:
    """The commands that passed on the trees of members whose work is on the head of this scope, each once."""
    passed: dict[object, Leaf] = {}
    for leaf in _passed_commands(state):
        for member in _members_passed(state, leaf):
            if member.place.parent == scope and member.place.path not in waiting:
                passed.setdefault(_key(state, leaf), leaf)
    return tuple(_recheck(state, leaf, scope) for leaf in passed.values())


def facts_of(instance: Instance) -> tuple[Fact, ...]:
    """The recorded facts about the files that the instance sees."""
    view = tree_in_view(instance)
    return tuple(
        Fact((fact.function, fact.argument), fact.value) for fact in instance.facts if fact.tree == view
    )


def command_key(step: Step, names: Names) -> tuple[Any, ...]:
    """The identity of a command with its values filled in, since an item or an input may choose what it tests."""
    verb = step.verb
    assert isinstance(verb, Command)
    around = written_values(step.settings, ("dir", "env", "protect", "workspace", "network", "secrets"))
    filled = (to_plain(fill(value, names)) for value in (verb.stdin, *around))
    return (fill_argv(verb.argv, names), verb.script, verb.shell, report_paths(verb, names), *filled)


def report_paths(verb: Command, names: Names) -> list[str]:
    """Where a command writes its reports."""
    report = dict(verb.coverage or {}).get("report")
    return [as_text(fill(value, names), Meter()) for value in (verb.junit, report) if value is not None]


def to_plain(value: Any) -> Any:
    """The value as plain lists and dicts; values of the core may be lazy or frozen."""
    if is_list(value):
        return [to_plain(item) for item in value]
    return {key: to_plain(item) for key, item in value.items()} if is_map(value) else value


def _recheck(state: State, leaf: Leaf, below: Address | None) -> AttemptTask:
    """The start is filled in later, when the tree that the command must pass on is known.

    Before a landing only accepted tests count; a member that is merged may still wait for its judge.
    """
    pending = set() if below is None else {str(row["id"]) for each in state.disputes for row in each.rows}
    step, start = leaf.place.step, leaf.place.start
    started = AttemptStarted(
        at=Millis(0),
        path=leaf.place.path,
        attempt=leaf.attempt,
        reserve=Amounts(),
        base=start,
        timeout=step.timeout,
    )
    chains = chains_read(step, workflow_of(state, leaf.place).config)
    gates = _gates_around(leaf, state)
    return AttemptTask(
        started=started,
        step=step,
        values=capture(InstanceNames(state, leaf), chains),
        work=CommandWork(
            gates is not None,
            start,
            _tree_before_work(leaf, state),
            accepted=tuple(sorted(state.accepted_tests | pending)),
            waived=_waived_tests(state) if below is None else (),
        ),
        view=tree_in_view(leaf),
        facts=facts_of(leaf),
    )


def _tree_before_work(leaf: Instance, state: State) -> Tree | None:
    """The tree that protected files and earlier tests come from: the one before the judged work.

    It is that of the first entry: a later visit or round starts from work that was judged, but whose tests may have
    been changed. If the work was moved onto a branch since, it is that of the branch.
    """
    gates = _gates_around(leaf, state)
    owner = None if gates is None else state.instances[gates.place.parent]
    first = _first_entry(owner or state.instances[leaf.place.parent], state)
    rebased = state.rebased
    if rebased is not None and first.place.entered < rebased.entered:
        return rebased.rebase.onto
    if gates is not None:
        return gates.place.base if first is owner else first.place.base
    return first.base or (None if state.started is None else state.started.tree)


def _first_entry(instance: Instance, state: State) -> Instance:
    """The first visit to the step, in the first round of the loops around it; the instance itself if there is no other."""
    path = instance.place.path
    if "~" not in path and "[" not in path:
        return instance
    rounds = {
        scope.place.path for scope in _scopes_above(state, path) if isinstance(scope.place.step.verb, Repeat)
    }
    return state.instances.get(addresses.first_entry(path, rounds)) or instance


def _scopes_above(state: State, path: Address) -> Iterator[Instance]:
    while path in state.instances:
        yield state.instances[path]
        if path == ROOT:
            return
        path = state.instances[path].place.parent


def _gates_around(leaf: Instance, state: State) -> Instance | None:
    path = leaf.place.parent
    while path != ROOT:
        scope = state.instances[path]
        if isinstance(scope.place.step.verb, Gates):
            return scope
        path = scope.place.parent
    return None


def _passed_and_keeps_nothing(leaf: Leaf) -> bool:
    passed = leaf.ending is not None and leaf.ending.outcome == "passed"
    return passed and isinstance(leaf.place.step.verb, Command) and leaf.place.step.touches == ()


def _is_within(path: Address, around: Address) -> bool:
    return path == around or path.startswith((f"{around}/", f"{around}#", f"{around}["))


def _passed_commands(state: State) -> Iterator[Leaf]:
    for instance in state.instances.values():
        if isinstance(instance, Leaf) and _passed_and_keeps_nothing(instance):
            yield instance


def _members_passed(state: State, leaf: Leaf) -> Iterator[Instance]:
    """The parallel members around a command that went onto the head with the very tree on which it passed.

    The first member goes there as it is, the others are merged; the commands of both count.
    """
    path = leaf.place.path
    while path != ROOT:
        member = state.instances[path]
        scope = state.instances[member.place.parent]
        if not _is_fresh(state, member):
            return
        passed = member.ending is not None and member.ending.outcome == "passed"
        is_member = member.place.role == "step" and isinstance(scope, Scope) and merges_members(scope)
        if passed and is_member and result_tree(state, member) == leaf.place.start != member.base:
            yield member
        path = member.place.parent


def _is_fresh(state: State, instance: Instance) -> bool:
    """Whether its result is still valid; gates belong to the attempt that they judge."""
    if instance.place.role != "step":
        return True
    visit = state.latest.get((instance.place.parent, instance.place.index))
    return visit is not None and visit.fresh and visit.path == instance.place.path


def _key(state: State, leaf: Leaf) -> object:
    """A key by which identical commands of different steps run only once."""
    names = InstanceNames(state, leaf)
    try:
        return repr(command_key(leaf.place.step, names))
    except (ExprError, NeedFact):
        return leaf.place.path

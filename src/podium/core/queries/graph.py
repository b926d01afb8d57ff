"""How instances relate to the static graph: children, their order, and whose variables they use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal, assert_never

from podium.core.events import StepEnded
from podium.core.expressions.nodes import Const
from podium.core.model import (
    Agent,
    Block,
    Call,
    Command,
    ForEach,
    Gates,
    Git,
    Human,
    Join,
    Members,
    Panel,
    Repeat,
    Review,
    ScopeVerb,
    Step,
    Target,
    Verb,
    Workflow,
    Write,
)
from podium.core.queries.steps import children_of
from podium.core.state import Instance, Leaf, OpenNeeds, Order, Placement, Scope, State
from podium.core.step_settings import ChildRun, Prompt
from podium.core.types import ACTIONS, CONTINUING_OUTCOMES, TO_A_PERSON, Address, Outcome, Role, Tree

SCOPES: Final = (Block, Members, Review, ForEach, Repeat, Call, Gates)
BLOCKS: Final = (Block, Call)
LOOPS: Final = (ForEach, Repeat)
JUDGES: Final = (Gates, Review)
TOGETHER: Final = (Gates, Review, Members)
"""The verbs whose children all judge, or work from, the same tree."""
WORK: Final = (Agent, Command, Git, Write, ChildRun)

QUESTIONS: Final = {
    name: Step(name=f"!{name}", verb=Human(Prompt(text)))
    for name, text in {
        "exhausted": "All attempts are used up. Retry with guidance, accept the best attempt, or fail?",
        "consent": "A crash interrupted this step, and it may already have taken effect. Run it again?",
        "price": "This agent reports no price; each call counts with the full amount reserved for it. Continue?",
        "tool": "May the agent do this?",
        "protected": "Protected files were changed. Accept the changes?",
        "advice": "A rule of the breaker was hit. What should the run do?",
        "confirm": "The reviewers approve. Do you?",
        "no_verdict": "No reviewer gave a valid verdict. Do you approve the work?",
        "veto": "The reviewers approve. You can still reject the work.",
    }.items()
}
"""The engine's own questions; no step in a file can have a name with `!`."""

PRICE: Final = "price:"
"""The prefix of `about` in a question about an agent without a price; the agent's name follows."""

NO_VERDICT: Final = "no_verdict"
"""The reason of a review in which no reviewer gave a valid verdict, and the question to a person about it."""

HALTED: Final = "halted"
"""The reason of an end that a person or the advisor decided."""


def actions_of(step: Step) -> tuple[str, ...]:
    """The actions that a person may answer this question with."""
    special = ACTIONS.get(step.name)
    if special is not None:
        return special
    if isinstance(step.verb, Human) and step.verb.answers:
        return ("answer", "abort")
    return ("approve", "reject", "abort")


def order_of(scope: Scope) -> Order:
    """The order in which a scope enters its children; computed once, when it is entered."""
    return scope.place.order


def order_of_verb(verb: Verb) -> Order:
    match verb:
        case Call():
            return _block_order(verb.workflow.body)
        case Block():
            return _block_order(verb)
        case ForEach():
            return "dag" if verb.needs is not None else "many"
        case Repeat():
            return "repeat"
        case _:
            return "many"


def _block_order(block: Block) -> Order:
    return "many" if block.kind == "par" else block.kind


def body_of(verb: ScopeVerb) -> Block | None:
    """The block whose step names are visible to the children of this scope."""
    match verb:
        case Call():
            return verb.workflow.body
        case Block():
            return verb
        case _:
            return None


def dependents_of(scope: Scope) -> tuple[tuple[int, ...], ...]:
    """For each child of a graph, the children that directly need it."""
    verb = scope.place.step.verb
    body = verb.workflow.body if isinstance(verb, Call) else verb
    return body.dependents if isinstance(body, Block) else scope.dependents


def descendants_of(scope: Scope, index: int) -> tuple[int, ...]:
    """This child of a graph and all children that directly or indirectly need it, in order."""
    return _reachable(dependents_of(scope), index)


def builders_on(state: State, scope: Scope, index: int) -> tuple[int, ...]:
    """The descendants of this child, and the children that build on its work because they change the same files."""
    dependents = [list(direct) for direct in dependents_of(scope)]
    for other in range(scope.next):
        visit = state.latest.get((scope.place.path, other))
        for before in () if visit is None else state.instances[visit.path].place.after:
            dependents[before].append(other)
    return _reachable(dependents, index)


def _reachable(dependents: Sequence[Sequence[int]], index: int) -> tuple[int, ...]:
    reached, todo = {index}, [index]
    while todo:
        for dependent in dependents[todo.pop()]:
            if dependent not in reached:
                reached.add(dependent)
                todo.append(dependent)
    return tuple(sorted(reached))


def join_of(scope: Scope) -> Join:
    """How the trees of this scope's parallel members are combined."""
    match verb := scope.place.step.verb:
        case Call():
            return verb.workflow.body.join
        case Block() | Members() | ForEach():
            return verb.join
        case _:
            return "discard"


def merges_members(scope: Scope) -> bool:
    """Whether the trees of this scope's children are merged one by one onto its head."""
    match verb := scope.place.step.verb:
        case ForEach() | Members():
            return join_of(scope) not in ("best", "discard")
        case Block():
            return verb.kind == "par" and join_of(scope) not in ("best", "discard")
        case Call():
            return verb.workflow.body.kind == "par" and join_of(scope) not in ("best", "discard")
        case _:
            return False


def child_step(state: State, parent: Instance, role: Role, index: int, about: str) -> Step:
    """The static step of a child that is about to be entered."""
    step = parent.place.step
    verb = step.verb
    match role:
        case "step":
            if isinstance(verb, LOOPS):
                return verb.body
            assert isinstance(verb, SCOPES)
            panel = panel_of(verb)
            if panel is not None and isinstance(parent, Scope):
                return _panel_member(children_of(verb)[0], panel, parent.items[index], parent.keys[index])
            return children_of(verb)[index]
        case "gates":
            assert step.gates is not None
            return step.gates
        case "question":
            return QUESTIONS[about.partition(":")[0]]
        case "advice":
            advisor = None if about.startswith(TO_A_PERSON) else workflow_of(state, parent.place).advisor
            return advisor or QUESTIONS["advice"]
        case "member":
            return leader_of(state, parent).place.step.verb.team[index].step  # type: ignore[union-attr]  # only agents have teams
        case "finally":
            assert isinstance(verb, Call) and verb.workflow.finally_ is not None
            return verb.workflow.finally_
        case _:
            assert_never(role)


def leader_of(state: State, instance: Instance) -> Instance:
    """The step whose team the instance belongs to: the instance itself unless it is a member."""
    while instance.place.role == "member":
        instance = state.instances[instance.place.parent]
    return instance


def panel_of(verb: Verb) -> Panel | None:
    return verb.panel if isinstance(verb, Members | Review) else None


def _panel_member(pattern: Step, panel: Panel, value: str, name: str) -> Step:
    """The member of a panel that this value names."""
    verb = pattern.verb
    assert isinstance(verb, Agent)
    # A role that is known only now is looked up by the attempt, with its agent.
    if panel.key == "role":
        verb = replace(verb, role=Const(value), member=name)
    elif value in panel.roles:
        verb = replace(verb, role=Const(value), agent=None, member=name)
    else:
        verb = replace(verb, agent=value, member=name)
    return pattern._replace(name=name, verb=verb)


def workflow_of(state: State, place: Placement) -> Workflow:
    """The workflow an instance belongs to: that of its own or the nearest enclosing Call."""
    verb = place.step.verb
    while not isinstance(verb, Call):
        place = state.instances[place.parent].place
        verb = place.step.verb
    return verb.workflow


def frame_of_child(parent: Instance, step: Step, path: Address) -> Address:
    """The address whose variables a child uses: its own for parallel members and iterations, else its parent's."""
    verb = parent.place.step.verb
    shared = parent.place.path if isinstance(verb, Call) else parent.place.frame
    if isinstance(step.verb, Call) or not isinstance(parent, Scope):
        return shared
    match verb:
        case Block():
            return shared if verb.kind == "seq" else path
        case Call():
            return shared if verb.workflow.body.kind == "seq" else path
        case ForEach():
            return path
        case _:
            return shared


def frame_of_variable(state: State, instance: Instance, name: str) -> Address:
    """The address where a variable is set: outside the iterations of loops that carry it."""
    frame = instance.place.frame
    while not isinstance(state.instances[frame].place.step.verb, Call):
        loop = state.instances[state.instances[frame].place.parent]
        verb = loop.place.step.verb
        if not isinstance(verb, ForEach) or name not in verb.carry:
            return frame
        frame = loop.place.frame
    return frame


def is_accepted(step: Step, ending: StepEnded) -> bool:
    """Whether a child's end is a success for its parent: a continuing outcome, or one that `on` accepts."""
    if ending.limit_hit is not None:
        return False
    target = target_after(step, ending)
    if target is None:
        return ending.outcome in CONTINUING_OUTCOMES
    return target.kind == "next" or (ending.outcome in CONTINUING_OUTCOMES and target.kind != "fail")


def side_of(scope: Scope, child: Instance) -> Literal["ok", "skipped", "bad"]:
    """Whether an ended child counts as ok, skipped or bad for its scope."""
    ending = child.ending
    assert ending is not None
    if not is_accepted(child.place.step, ending):
        return "ok" if ending.limit_hit is None and _is_tolerated(scope, child.place.index) else "bad"
    return "skipped" if ending.outcome == "skipped" else "ok"


def _is_tolerated(scope: Scope, index: int) -> bool:
    """Whether the graph does not fail if this child fails: all steps that need it allow for it."""
    if scope.place.order != "dag" or isinstance(scope.place.step.verb, ForEach):
        return False
    steps, dependents = children_of(scope.place.step.verb), dependents_of(scope)[index]  # type: ignore[arg-type]  # Block or Call
    return bool(dependents) and all(steps[dependent].needs_rule != "all" for dependent in dependents)


def open_needs(state: State, scope: Scope, index: int, stale: set[int]) -> OpenNeeds:
    """The needs of a child of a graph of steps that have not ended or are about to become stale."""
    step = children_of(scope.place.step.verb)[index]  # type: ignore[arg-type]  # Block or Call
    visits = [state.latest.get((scope.place.path, need)) for need in step.needs if need not in stale]
    ended = [state.instances[visit.path] for visit in visits if visit is not None and visit.fresh]
    left = len(step.needs) - len(ended)
    return OpenNeeds(left, _are_unmet(step, ended, is_last=not left))


def _are_unmet(step: Step, needs: Sequence[Instance], *, is_last: bool) -> bool:
    """Whether the needs that have ended keep a step from running; with `any` this is known only after the last one."""
    endings = [(need.place.step, need.ending) for need in needs]
    accepted = [ending is not None and is_accepted(needed, ending) for needed, ending in endings]
    is_limited = any(ending is not None and ending.limit_hit is not None for _, ending in endings)
    if step.needs_rule == "all":
        return not all(accepted)
    if step.needs_rule == "any":
        return is_limited or (is_last and bool(step.needs) and not any(accepted))
    return is_limited


def tree_in_view(instance: Instance) -> Tree | None:
    """The tree in which facts about files are looked up."""
    return instance.head if isinstance(instance, Scope) and instance.phase == "open" else instance.base


def fresh_children(state: State, scope: Scope) -> Iterator[Instance]:
    """The children whose results are valid, in order. O(width)."""
    for index in range(scope.next):
        visit = state.latest.get((scope.place.path, index))
        if visit is not None and visit.fresh:
            yield state.instances[visit.path]


def best_member(state: State, scope: Scope) -> Instance | None:
    """The passed member with the highest score; the first one if none has a score."""
    passed = [
        child
        for child in fresh_children(state, scope)
        if child.ending is not None and child.ending.outcome == "passed"
    ]
    return max(passed, key=_score_of, default=None)


def _score_of(member: Instance) -> float:
    assert member.ending is not None
    return -1.0 if member.ending.score is None else member.ending.score


def failed_gates(state: State, gates: Instance) -> tuple[Instance, ...]:
    """The gates that an attempt did not pass, in order."""
    assert isinstance(gates, Scope)
    return tuple(
        gate
        for gate in fresh_children(state, gates)
        if gate.ending is not None and gate.ending.outcome not in CONTINUING_OUTCOMES
    )


def live_children(state: State, scope: Instance) -> tuple[Address, ...]:
    """All children that have not ended. O(width), but called only once, when a scope is cancelled."""
    addresses: list[Address] = []
    if scope.side_child is not None:
        addresses.append(scope.side_child)
    if isinstance(scope, Leaf):
        return tuple(addresses)
    for index in range(scope.next):
        visit = state.latest.get((scope.place.path, index))
        if visit is not None and state.instances[visit.path].phase != "ended":
            addresses.append(visit.path)
    return tuple(addresses)


def target_after(step: Step, ending: StepEnded) -> Target | None:
    """The target of an ended step; None if its file has none for the outcome."""
    target = step.on.get(ending.outcome)
    if target is None or not target.choices:
        return target
    chosen = -1 if ending.route is None else ending.route.entry
    return target.choices[chosen].target if 0 <= chosen < len(target.choices) else None


def targets_of(step: Step) -> Iterator[tuple[Outcome, Target]]:
    """Every target that an outcome may lead to."""
    for outcome, target in step.on.items():
        for choice in target.choices:
            yield outcome, choice.target
        if not target.choices:
            yield outcome, target

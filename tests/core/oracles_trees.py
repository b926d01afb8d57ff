"""Oracles for trees (language.md 5-6): the base of each step, its resulting tree, and that joins lose nothing."""

from __future__ import annotations

from collections import Counter, defaultdict

from podium.core.events import (
    AttemptEnded,
    AttemptStarted,
    CancelOrdered,
    JoinAsked,
    JoinEnded,
    JoinQueued,
    StepEnded,
    StepEntered,
    StepReopened,
)
from podium.core.model import Gates, Members, Review
from podium.core.types import Address, Tree
from tests.core.run_log import InstanceLog, RunLog, body_of


def check_heads(run_log: RunLog) -> None:
    """The head of a sequence moves only with passed steps, and a jump back from a failure resets it to before the target."""
    heads: dict[Address, Tree | None] = {}
    before: dict[tuple[Address, int], Tree | None] = {}
    refused: set[Address] = set()
    for event in run_log.log:
        match event:
            case StepEntered():
                heads[event.path] = event.start
                if _is_sequence(run_log, event.parent) and event.role == "step":
                    # The target itself may have been skipped by a route.
                    earlier = [
                        before.pop((event.parent, i)) for i in event.stale if (event.parent, i) in before
                    ]
                    if earlier and not event.keeps_head:
                        heads[event.parent] = earlier[0]
                    head = heads.get(event.parent, event.base)
                    step = run_log.instances[event.path].step
                    keeps_base = event.keeps_head and step is not None and step.has_worker
                    base = earlier[0] if keeps_base else head
                    assert event.base == base, f"{event.path} builds on {event.base}, not on {base}"
                    assert not event.keeps_head or event.start == head, (
                        f"{event.path} does not start from the head"
                    )
                    before[(event.parent, event.index)] = event.base
                    heads[event.parent] = head
            case StepReopened():
                before = {key: tree for key, tree in before.items() if key[0] != event.path}
                if event.path in refused:
                    # It starts again from the conflicting work of others.
                    heads.pop(event.path, None)
            case JoinEnded():
                refused.update(member.path for member in event.refused)
                if event.tree is not None and _is_sequence(run_log, event.path):
                    # The joined work of its needs in a graph; a sequence has nothing else to join.
                    heads[event.path] = event.tree
            case StepEnded():
                instance = run_log.instances[event.path]
                if event.outcome not in ("passed", "partial"):
                    assert event.tree is None, f"{event.path} {event.outcome} and leaves {event.tree}"
                elif event.tree is not None and instance.parent is not None and _is_step(instance):
                    heads[instance.parent] = event.tree
            case _:
                pass


def _is_sequence(run_log: RunLog, path: Address) -> bool:
    block = body_of(run_log.instances[path].step)
    return block is not None and block.kind == "seq"


def _is_step(instance: InstanceLog) -> bool:
    return instance.entered is not None and instance.entered.role == "step"


def check_joins(run_log: RunLog) -> None:
    """Every queued member is joined or refused exactly once, one join at a time, and only what passed is joined."""
    queued: Counter[Address] = Counter()
    asked: dict[Address, JoinAsked] = {}
    handled: Counter[Address] = Counter()
    refused: set[Address] = set()
    cancelled = {event.path for event in run_log.log if isinstance(event, CancelOrdered)}
    for event in run_log.log:
        match event:
            case JoinQueued():
                queued[event.path] += 1
                refused.discard(event.path)
            case JoinAsked():
                assert event.path not in asked, f"two joins at once in {event.path!r}"
                asked[event.path] = event
                if event.gated:
                    assert all(queued[path] > handled[path] for path, _ in event.members)
            case JoinEnded():
                join = asked.pop(event.path)
                if join.gated:
                    handled.update(path for path, _ in join.members)
                    refused.update(member.path for member in event.refused)
            case AttemptStarted() | StepReopened():
                refused.discard(event.path)
            case StepEnded(outcome="passed", reason=""):
                assert event.path not in refused, f"{event.path} was refused and passed"
            case _:
                pass
    for path, count in queued.items():
        assert handled[path] == count or _was_cancelled(run_log, path, cancelled), f"{path} was never merged"


def _was_cancelled(run_log: RunLog, path: Address, cancelled: set[Address]) -> bool:
    return any(instance.path in cancelled for instance in run_log.around(path))


def check_results(run_log: RunLog) -> None:
    """A scope's resulting tree comes from passed members; `best` takes one of them, `discard` and reviews none."""
    for instance in run_log:
        if (
            instance.ended is None
            or instance.step is None
            or instance.ended.tree is None
            or instance.expanded is None
        ):
            continue
        verb = instance.step.verb
        assert not isinstance(verb, Gates | Review), f"{instance.path} judges and changes files"
        if isinstance(verb, Members) and verb.join == "discard":
            raise AssertionError(f"{instance.path} discards and hands on {instance.ended.tree}")
        if isinstance(verb, Members) and verb.join == "best":
            _check_best(run_log, instance)
        else:
            assert instance.ended.tree in _possible(run_log, instance), (
                f"{instance.path} hands on {instance.ended.tree}"
            )


def _check_best(run_log: RunLog, instance: InstanceLog) -> None:
    trees: list[tuple[float, Tree | None]] = []
    for child in run_log.newest(instance):
        if child.ended is not None and child.entered is not None and child.ended.outcome == "passed":
            score = -1.0 if child.ended.score is None else child.ended.score
            # The best member may have changed nothing: then its tree is its start tree, which on a later visit is the tree of
            # the previous visit and not the base of the list.
            trees.append((score, child.ended.tree or child.entered.start))
    top = max(score for score, _ in trees)
    assert instance.ended is not None
    assert instance.ended.tree in {tree for score, tree in trees if score == top}


def _possible(run_log: RunLog, instance: InstanceLog) -> set[Tree | None]:
    """The trees of passed children, of joins in this scope, and the tree the scope started from."""
    trees: set[Tree | None] = set()
    for path in instance.children:
        child = run_log.instances[path]
        if child.ended is not None and child.ended.outcome in ("passed", "partial"):
            trees.add(child.ended.tree)
    trees.update(e.tree for e in run_log.log if isinstance(e, JoinEnded) and _inside(e.path, instance))
    if instance.entered is not None:
        entries = (run_log.instances[path].entered for path in instance.children)
        trees.update((instance.entered.start, *(entry.base for entry in entries if entry is not None)))
    return trees


def _inside(path: Address, instance: InstanceLog) -> bool:
    return path == instance.path or path in instance.children


def check_failed_members_leave_nothing(run_log: RunLog) -> None:
    """The resulting tree of a scope contains no attempt of a member that did not pass."""
    bad: dict[Address, set[Tree]] = defaultdict(set)
    for instance in run_log:
        if instance.parent is None or instance.ended is None or not _is_step(instance):
            continue
        if instance.ended.outcome != "passed":
            bad[instance.parent].update(
                a.tree for a in instance.answers if a.tree is not None and a.tree.startswith(instance.path)
            )
    for path, trees in bad.items():
        ended = run_log.instances[path].ended
        # A later visit starts from there and may have changed nothing.
        children = (run_log.instances[child].ended for child in run_log.instances[path].children)
        trees -= {end.tree for end in children if end is not None and end.outcome == "passed"}
        # A reopened scope starts from the tree of its last attempt, so only its own result can be checked.
        reopened = any(isinstance(e, StepReopened) and e.path == path for e in run_log.log)
        assert reopened or ended is None or ended.tree not in trees, (
            f"{path!r} hands on the work of a failed member"
        )


def check_nothing_is_lost(run_log: RunLog) -> None:
    """The resulting tree of a passed scope contains the work of every passed child whose result is valid."""
    parts = _parts(run_log)
    for path, fresh in _fresh_children(run_log).items():
        instance = run_log.instances[path]
        if instance.ended is None or instance.ended.outcome != "passed" or _drops_work(instance):
            continue
        contained = _contained(
            parts, instance.ended.tree or (instance.entered.base if instance.entered else None)
        )
        for child in fresh:
            tree = None if child.ended is None or child.ended.outcome != "passed" else child.ended.tree
            assert tree is None or tree in contained, f"{path!r} loses the work of {child.path}"


def _parts(run_log: RunLog) -> dict[Tree, set[Tree]]:
    """The trees that each tree contains: an attempt its start tree, a join all joined trees."""
    parts: dict[Tree, set[Tree]] = defaultdict(set)
    started: dict[Address, AttemptStarted] = {}
    requests: dict[Address, JoinAsked] = {}
    for event in run_log.log:
        match event:
            case AttemptStarted():
                started[event.path] = event
            case AttemptEnded() if event.tree is not None:
                start = started[event.path].start
                parts[event.tree].update(() if start is None else (start,))
            case JoinAsked():
                requests[event.path] = event
            case JoinEnded() if event.tree is not None:
                refused = {member.path for member in event.refused}
                join = requests[event.path]
                parts[event.tree].update((join.onto, *(t for p, t in join.members if p not in refused)))
            case _:
                pass
    return parts


def _contained(parts: dict[Tree, set[Tree]], tree: Tree | None) -> set[Tree]:
    contained: set[Tree] = set()
    todo = [] if tree is None else [tree]
    while todo:
        one = todo.pop()
        if one not in contained:
            contained.add(one)
            todo.extend(parts.get(one, ()))
    return contained


def _fresh_children(run_log: RunLog) -> dict[Address, list[InstanceLog]]:
    """For each scope, the children whose results were valid when it ended."""
    newest: dict[Address, dict[int, InstanceLog]] = defaultdict(dict)
    for event in run_log.log:
        match event:
            case StepEntered(role="step"):
                for index in event.stale:
                    newest[event.parent].pop(index, None)
                newest[event.parent][event.index] = run_log.instances[event.path]
            case StepReopened():
                newest.pop(event.path, None)
            case _:
                pass
    return {path: list(children.values()) for path, children in newest.items()}


def _drops_work(instance: InstanceLog) -> bool:
    """Whether a scope may drop work: reviews keep nothing, `best` and `discard` only some, an adopted visit its old tree."""
    step = instance.step
    if (
        step is None
        or isinstance(step.verb, Gates | Review)
        or (instance.entered is not None and instance.entered.adopt)
    ):
        return True
    block = body_of(step)
    join = block.join if block is not None and block.kind == "par" else getattr(step.verb, "join", "queue")
    return join in ("best", "discard") and not (block is not None and block.kind != "par")

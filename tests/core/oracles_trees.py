"""Judges of trees (language.md 5-6): what a step builds on, what becomes of it, and that joins lose nothing."""

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
from podium.core.types import Path, Tree
from tests.core.story import Story, Tale, body_of


def check_heads(story: Story) -> None:
    """The head of a sequence moves by passed steps only, and a way back takes it to where it was before the target."""
    heads: dict[Path, Tree | None] = {}
    before: dict[tuple[Path, int], Tree | None] = {}
    refused: set[Path] = set()
    for event in story.log:
        match event:
            case StepEntered():
                heads[event.path] = event.start
                if _is_sequence(story, event.parent) and event.role == "step":
                    if event.stale:
                        # The target itself may have been jumped over on the way here.
                        since = [i for i in event.stale if (event.parent, i) in before]
                        if since:
                            heads[event.parent] = before[(event.parent, since[0])]
                        for index in since:
                            del before[(event.parent, index)]
                    head = heads.get(event.parent, event.base)
                    assert event.base == head, f"{event.path} builds on {event.base}, the head is {head}"
                    before[(event.parent, event.index)] = head
                    heads[event.parent] = head
            case StepReopened():
                before = {key: tree for key, tree in before.items() if key[0] != event.path}
                if event.path in refused:
                    # It begins again with the work of those it clashed with, which is not its own.
                    heads.pop(event.path, None)
            case JoinEnded():
                refused.update(member.path for member in event.refused)
                if event.tree is not None and _is_sequence(story, event.path):
                    # The work of its needs, in a graph: a sequence has nothing else to join.
                    heads[event.path] = event.tree
            case StepEnded():
                tale = story.tales[event.path]
                if event.outcome != "passed":
                    assert event.tree is None, f"{event.path} {event.outcome} and leaves {event.tree}"
                elif event.tree is not None and tale.parent is not None and _is_step(tale):
                    heads[tale.parent] = event.tree
            case _:
                pass


def _is_sequence(story: Story, path: Path) -> bool:
    block = body_of(story.tales[path].step)
    return block is not None and block.kind == "seq"


def _is_step(tale: Tale) -> bool:
    return tale.entered is not None and tale.entered.role == "step"


def check_joins(story: Story) -> None:
    """Every queued member is joined or refused exactly once, one join at a time, and only what passed is joined."""
    queued: Counter[Path] = Counter()
    asked: dict[Path, JoinAsked] = {}
    handled: Counter[Path] = Counter()
    refused: set[Path] = set()
    cancelled = {event.path for event in story.log if isinstance(event, CancelOrdered)}
    for event in story.log:
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
        assert handled[path] == count or _was_cancelled(story, path, cancelled), f"{path} was never merged"


def _was_cancelled(story: Story, path: Path, cancelled: set[Path]) -> bool:
    return any(tale.path in cancelled for tale in story.around(path))


def check_results(story: Story) -> None:
    """What a scope hands on comes from members that passed; `best` takes one of them, `discard` and judges none."""
    for tale in story:
        if tale.ended is None or tale.step is None or tale.ended.tree is None or tale.expanded is None:
            continue
        verb = tale.step.verb
        assert not isinstance(verb, Gates | Review), f"{tale.path} judges and changes files"
        if isinstance(verb, Members) and verb.join == "discard":
            raise AssertionError(f"{tale.path} discards and hands on {tale.ended.tree}")
        if isinstance(verb, Members) and verb.join == "best":
            _check_best(story, tale)
        else:
            assert tale.ended.tree in _possible(story, tale), f"{tale.path} hands on {tale.ended.tree}"


def _check_best(story: Story, tale: Tale) -> None:
    found: list[tuple[float, Tree | None]] = []
    for child in story.newest(tale):
        if child.ended is not None and child.entered is not None and child.ended.outcome == "passed":
            score = -1.0 if child.ended.score is None else child.ended.score
            # The best may have had nothing to add: what it was given is its work, and on a later visit that is
            # what the visit before left, not what the list builds on.
            found.append((score, child.ended.tree or child.entered.start))
    top = max(score for score, _ in found)
    assert tale.ended is not None
    assert tale.ended.tree in {tree for score, tree in found if score == top}


def _possible(story: Story, tale: Tale) -> set[Tree | None]:
    """Trees of children that passed, of joins made here, and where the scope itself was started from."""
    found: set[Tree | None] = set()
    for path in tale.children:
        child = story.tales[path]
        if child.ended is not None and child.ended.outcome == "passed":
            found.add(child.ended.tree)
    found.update(e.tree for e in story.log if isinstance(e, JoinEnded) and _inside(e.path, tale))
    if tale.entered is not None:
        found.update((tale.entered.start, *(story.tales[path].entered.base for path in tale.children)))  # type: ignore[union-attr]  # children were entered
    return found


def _inside(path: Path, tale: Tale) -> bool:
    return path == tale.path or path in tale.children


def check_failed_members_leave_nothing(story: Story) -> None:
    """No attempt of a member that did not pass is part of what its scope hands on."""
    bad: dict[Path, set[Tree]] = defaultdict(set)
    for tale in story:
        if tale.parent is None or tale.ended is None or not _is_step(tale):
            continue
        if tale.ended.outcome != "passed":
            bad[tale.parent].update(
                a.tree for a in tale.answers if a.tree is not None and a.tree.startswith(tale.path)
            )
    for path, trees in bad.items():
        ended = story.tales[path].ended
        # A later visit goes on from there, and may have found nothing to add to it.
        children = (story.tales[child].ended for child in story.tales[path].children)
        trees -= {end.tree for end in children if end is not None and end.outcome == "passed"}
        # A reopened scope goes on from what its last attempt left, so only its own plain result can be judged.
        reopened = any(isinstance(e, StepReopened) and e.path == path for e in story.log)
        assert reopened or ended is None or ended.tree not in trees, (
            f"{path!r} hands on the work of a failed member"
        )


def check_nothing_is_lost(story: Story) -> None:
    """What a scope that has passed hands on contains the work of every child that passed and still counts."""
    parts = _parts(story)
    for path, fresh in _fresh_children(story).items():
        tale = story.tales[path]
        if tale.ended is None or tale.ended.outcome != "passed" or _drops_work(tale):
            continue
        kept = _contained(parts, tale.ended.tree or (tale.entered.base if tale.entered else None))
        for child in fresh:
            tree = None if child.ended is None or child.ended.outcome != "passed" else child.ended.tree
            assert tree is None or tree in kept, f"{path!r} loses the work of {child.path}"


def _parts(story: Story) -> dict[Tree, set[Tree]]:
    """What each tree was made of: an attempt of what it started from, a join of all that was joined."""
    parts: dict[Tree, set[Tree]] = defaultdict(set)
    started: dict[Path, AttemptStarted] = {}
    asked: dict[Path, JoinAsked] = {}
    for event in story.log:
        match event:
            case AttemptStarted():
                started[event.path] = event
            case AttemptEnded() if event.tree is not None:
                start = started[event.path].start
                parts[event.tree].update(() if start is None else (start,))
            case JoinAsked():
                asked[event.path] = event
            case JoinEnded() if event.tree is not None:
                refused = {member.path for member in event.refused}
                join = asked[event.path]
                parts[event.tree].update((join.onto, *(t for p, t in join.members if p not in refused)))
            case _:
                pass
    return parts


def _contained(parts: dict[Tree, set[Tree]], tree: Tree | None) -> set[Tree]:
    found: set[Tree] = set()
    todo = [] if tree is None else [tree]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo.extend(parts.get(one, ()))
    return found


def _fresh_children(story: Story) -> dict[Path, list[Tale]]:
    """Per scope the children whose results counted when it ended."""
    newest: dict[Path, dict[int, Tale]] = defaultdict(dict)
    for event in story.log:
        match event:
            case StepEntered(role="step"):
                for index in event.stale:
                    newest[event.parent].pop(index, None)
                newest[event.parent][event.index] = story.tales[event.path]
            case StepReopened():
                newest.pop(event.path, None)
            case _:
                pass
    return {path: list(children.values()) for path, children in newest.items()}


def _drops_work(tale: Tale) -> bool:
    """Judges keep nothing, `best` and `discard` only some; whoever takes an older visit takes its older tree."""
    step = tale.step
    if (
        step is None
        or isinstance(step.verb, Gates | Review)
        or (tale.entered is not None and tale.entered.adopt)
    ):
        return True
    block = body_of(step)
    join = block.join if block is not None and block.kind == "par" else getattr(step.verb, "join", "queue")
    return join in ("best", "discard") and not (block is not None and block.kind != "par")

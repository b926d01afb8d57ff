"""Bugs for tools/mutants.py: ways back, feedback, gates, pass rules, trees."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import FLOW, Bug

TREES: Final = "tests/core/test_properties_trees.py::test_"

READABLE: Final = (FLOW + "after_a_jump_back_no_result_from_the_target_on_can_be_read",)
STALE: Final = (FLOW + "a_jump_back_makes_all_steps_from_the_target_on_stale",)
BLOCKING: Final = ("tests/core/test_gates_that_block.py",)
FEEDBACK: Final = (FLOW + "feedback_reaches_the_next_attempt_and_the_next_visit",)
GATES: Final = (FLOW + "a_step_passes_only_if_its_last_attempt_passed_all_gates",)
RULES: Final = (FLOW + "the_outcome_of_members_follows_their_pass_rule",)
PANELS: Final = (FLOW + "a_review_passes_only_by_valid_approvals_of_the_tree_shown",)


HEADS: Final = (TREES + "the_head_moves_only_with_passed_steps_and_back_with_jumps",)
JOINS: Final = (TREES + "every_queued_member_is_joined_or_refused_exactly_once",)
RESULTS: Final = (TREES + "a_scope_hands_on_only_work_that_passed",)
LOST: Final = (TREES + "no_work_that_passed_is_lost",)
LEFT_OVER: Final = (TREES + "a_failed_member_leaves_nothing_on_the_head",)

BACK_BUGS: Final = (
    Bug(
        "only the target of a jump is made stale",
        "decide/entry.py",
        "return tuple(range(index, scope.next))",
        "return (index,)",
        STALE,
    ),
    Bug(
        "all but the target of a jump is made stale",
        "decide/entry.py",
        "return tuple(range(index, scope.next))",
        "return tuple(range(index + 1, scope.next))",
        STALE,
    ),
    Bug(
        "what a jump made stale can still be read",
        "queries/names.py",
        "if visit is None or not visit.fresh:",
        "if visit is None:",
        READABLE,
    ),
    Bug(
        "a sequence that went back says it has been further",
        "evolve/scopes.py",
        "next=event.index + 1 if back else max(",
        "next=max(",
        STALE,
    ),
    Bug(
        "the feedback of an attempt is lost",
        "decide/attempts.py",
        "return next_attempt(leaf, failure.feedback, now)",
        "return next_attempt(leaf, (), now)",
        FEEDBACK,
    ),
    Bug(
        "the feedback of a gate is lost",
        "decide/attempts.py",
        "feedback = tuple(gate.place.path for gate in failed)",
        "feedback = tuple(path for gate in failed)",
        FEEDBACK,
    ),
    Bug(
        "a gate that blocks does not block a block",
        "decide/completion.py",
        "final = end.final or end.outcome in CONTINUING_OUTCOMES",
        "final = end.outcome in CONTINUING_OUTCOMES",
        BLOCKING,
    ),
    Bug(
        "the feedback of a jump is lost",
        "evolve/scopes.py",
        "carry = (*scope.outgoing_feedback, *event.feedback)",
        "carry = scope.outgoing_feedback",
        FEEDBACK,
    ),
    Bug(
        "feedback stops at a step that has no worker",
        "evolve/scopes.py",
        "outgoing_feedback=()\n        if step.has_worker\n",
        "outgoing_feedback=()\n        if step\n",
        FEEDBACK,
    ),
)

GATE_BUGS: Final = (
    Bug(
        "the last stage of gates is skipped",
        "decide/scopes.py",
        "for stage in verb.stages:",
        "for stage in verb.stages[:-1]:",
        GATES,
    ),
    Bug(
        "gates that failed count as passed",
        "decide/attempts.py",
        'if gates.ending.outcome != "passed":',
        'if gates.ending.outcome == "aborted":',
        GATES,
    ),
    Bug("one bad gate is forgiven", "decide/scopes.py", "if not scope.bad:", "if scope.bad <= 1:", GATES),
    Bug(
        "accept_best takes work whose commands failed",
        "evolve/endings.py",
        "if not fit or leaf.answer is None:",
        "if leaf.answer is None:",
        GATES,
    ),
    Bug(
        "a reviewer too few is enough",
        "decide/pass_rules.py",
        "if ok >= max(1, required_passes(review.rule, len(outcomes))):",
        "if ok >= max(1, required_passes(review.rule, len(outcomes)) - 1):",
        PANELS,
    ),
    Bug(
        "a majority rounds down",
        "decide/pass_rules.py",
        "return total // 2 + 1 if total else 0",
        "return total // 2",
        RULES,
    ),
    Bug(
        "a share rounds down",
        "decide/pass_rules.py",
        "math.ceil(rule * total - 1e-9)",
        "math.floor(rule * total)",
        RULES,
    ),
    Bug(
        "a skipped member counts against the rest",
        "decide/scopes.py",
        "(_entered_children(state, scope) if scope.breaking else scope.total) - scope.skipped",
        "(_entered_children(state, scope) if scope.breaking else scope.total)",
        RULES,
    ),
)

TREE_BUGS: Final = (
    Bug(
        "a failed scope hands on its tree",
        "decide/completion.py",
        "tree=final_tree(state, scope) if _keeps_work(scope, end) and not _is_elsewhere(scope) else None",
        "tree=final_tree(state, scope) if not _is_elsewhere(scope) else None",
        HEADS,
    ),
    Bug(
        "a failed member moves the head",
        "evolve/endings.py",
        'if event.outcome not in ("passed", "partial") or event.tree is None or',
        "if event.tree is None and isinstance(child, Leaf) and child.answer is not None and child.answer.tree is not None:\n        return child.answer.tree\n    if event.tree is None or",
        LEFT_OVER,
    ),
    Bug(
        "a step that passed loses its work when it leads back",
        "decide/entry.py",
        "return ending is not None and ending.outcome in CONTINUING_OUTCOMES",
        "return False",
        ("tests/core/test_kept_work.py",),
    ),
    Bug(
        "the head is not put back on a jump",
        "evolve/scopes.py",
        "head=event.base if back and not event.keeps_head else parent.head",
        "head=parent.head",
        ("tests/core/test_trees.py",),
    ),
    Bug(
        "a step that is gone back to builds on what came after it",
        "decide/entry.py",
        "return _head_before(state, scope, pending.stale)",
        "return scope.head",
        HEADS,
    ),
    Bug(
        "a passed step does not move the head",
        "evolve/endings.py",
        'if order in ("seq", "repeat"):\n        return event.tree',
        'if order in ("seq", "repeat"):\n        return scope.head',
        HEADS,
    ),
    Bug(
        "a join that was refused counts as joined",
        "evolve/joins.py",
        'outcome: JoinStatus = refused.get(path, "joined")',
        'outcome: JoinStatus = "joined"',
        JOINS,
    ),
    Bug(
        "best takes the worst",
        "queries/graph.py",
        "return max(passed, key=_score_of, default=None)",
        "return min(passed, key=_score_of, default=None)",
        RESULTS,
    ),
)

KEPT_BUGS: Final = (
    Bug(
        "items that need each other leave no work",
        "evolve/endings.py",
        'is_graph = order == "dag" and not isinstance(scope.place.step.verb, ForEach)',
        'is_graph = order == "dag"',
        LOST,
    ),
    Bug(
        "a skipped step loses what it was given",
        "queries/branch_trees.py",
        "todo.extend(reversed((*steps[index].needs, *child.place.after)))",
        "todo.extend(())",
        LOST,
    ),
    Bug(
        "a graph with one branch hands on what it began with",
        "queries/branch_trees.py",
        "return sinks[0][1] if sinks else scope.start_tree",
        "return scope.start_tree",
        LOST,
    ),
    Bug(
        "gates queue up to be merged",
        "decide/joins.py",
        'member.place.path == ROOT or member.place.role != "step" or tree is None',
        "member.place.path == ROOT or tree is None",
        JOINS,
    ),
    Bug(
        "a batch waits for somebody who cannot come",
        "decide/joins.py",
        "(scope.live > waiting or more)",
        "(scope.live > waiting or scope.next < scope.total)",
        ("tests/core/test_trees.py::test_a_batch_is_joined_when_it_is_full_or_no_member_can_follow",),
    ),
    Bug(
        "a head that moved is not noticed",
        "decide/joins.py",
        "return not (is_first and scope.head == member.base)",
        "return not is_first",
        LOST,
    ),
)

OF_GIT: Final = ("tests/core/test_gates_of_git.py",)

GIT_BUGS: Final = (
    Bug(
        "a landing is not judged before it lands",
        "decide/attempts.py",
        "return judged_first and passed_gates(state, leaf, leaf.attempt) is not None",
        "return judged_first",
        OF_GIT,
    ),
    Bug(
        "what moved meanwhile lands unjudged",
        "decide/attempts.py",
        "isinstance(leaf.place.step.verb, Git) and answer.reason != MOVED",
        "isinstance(leaf.place.step.verb, Git)",
        OF_GIT,
    ),
    Bug(
        "older gates count although newer ones failed",
        "decide/attempts.py",
        'return gates if gates.ending is not None and gates.ending.outcome == "passed" else None',
        "return gates",
        OF_GIT,
    ),
    Bug(
        "a refused landing is taken as the best",
        "decide/attempts.py",
        "if leaf.best is None or is_refused or isinstance(leaf.place.step.verb, Git):",
        "if leaf.best is None or is_refused:",
        OF_GIT,
    ),
    Bug(
        "a broken gate is blamed on the worker",
        "decide/attempts.py",
        'outcome: Outcome = ending.outcome if ending.outcome in ("aborted", "error") else "failed"',
        'outcome: Outcome = "aborted" if ending.outcome == "aborted" else "failed"',
        OF_GIT,
    ),
    Bug(
        "a block is tried again after a broken gate",
        "decide/completion.py",
        'broken = ending.outcome == "error"',
        "broken = False",
        OF_GIT,
    ),
)

TIME_BUGS: Final = (
    Bug(
        "a command does not wait for its backoff",
        "decide/repeats.py",
        "if learns or is_old:",
        "if step:",
        ("tests/core/test_backoff.py",),
    ),
    Bug(
        "a limit on time ends as a timeout of the step",
        "decide/attempts.py",
        "exhausted = ledger.out_of_time(state, leaf.place.ledger)",
        "exhausted = None",
        ("tests/core/test_time_limits.py",),
    ),
)

UPGRADE_BUGS: Final = (
    Bug(
        "at_most does not bound a computed limit",
        "queries/computed.py",
        "return number if setting.most is None else min(number, setting.most)",
        "return number",
        (
            "tests/core/test_computed_settings.py::test_at_most_bounds_the_value_and_takes_its_place_in_a_forecast",
        ),
    ),
    Bug(
        "a stronger agent comes one failure late",
        "queries/steps.py",
        "return sum(entry.after <= tries for entry in step.retry.upgrade)",
        "return sum(entry.after < tries for entry in step.retry.upgrade)",
        ("tests/core/test_upgrades.py::test_the_next_agent_takes_over_after_its_number_of_failed_tries",),
    ),
    Bug(
        "another agent gets a model that it does not have",
        "queries/steps.py",
        "model=entry.model if entry.agent or entry.model else verb.model,",
        "model=entry.model or verb.model,",
        ("tests/core/test_upgrades.py::test_an_upgrade_of_the_agent_leaves_its_model_behind",),
    ),
    Bug(
        "a stronger agent is replaced by the fallback of the one before",
        "evolve/leaves.py",
        "if counted and upgrade_after(leaf.place.step, leaf.tries + 1) > upgrade_of(leaf):",
        "if False:",
        ("tests/core/test_upgrades.py::test_the_stronger_agent_has_the_whole_list_of_fallbacks",),
    ),
    Bug(
        "a stronger agent is reserved by what the first one used",
        "decide/dispatch.py",
        "typical = None if leaf.uncounted.fallback or upgrade else",
        "typical = None if leaf.uncounted.fallback else",
        ("tests/core/test_upgrades.py::test_the_typical_use_is_that_of_the_own_agent",),
    ),
)

BUGS: Final = (*UPGRADE_BUGS, *TIME_BUGS, *GIT_BUGS, *BACK_BUGS, *GATE_BUGS, *TREE_BUGS, *KEPT_BUGS)

"""Bugs for tools/mutants.py: life and log, order, repeats, crashes, cancelling."""

from __future__ import annotations

from typing import Final, NamedTuple


class Bug(NamedTuple):
    """One change of one file under src/podium/core, and the tests of which one must fail."""

    name: str
    file: str
    old: str
    """Must occur exactly once in the file."""
    new: str
    tests: tuple[str, ...]


LIFE: Final = "tests/core/test_properties.py::test_"
FLOW: Final = "tests/core/test_properties_flow.py::test_"

ENDS: Final = (LIFE + "every_run_ends_and_leaves_nothing_behind",)
ILLEGAL: Final = (LIFE + "a_repeated_event_or_one_after_the_end_is_illegal",)
TWICE: Final = (LIFE + "a_duplicate_report_changes_nothing",)
ORDERLESS: Final = (LIFE + "the_order_of_completions_does_not_change_the_view",)
FRAMES: Final = (LIFE + "parallel_branches_do_not_see_each_others_variables",)
SETTLED: Final = (LIFE + "a_settled_state_leaves_nothing_to_decide",)
PENDING: Final = (LIFE + "pending_effects_are_exactly_those_requested_and_unanswered",)
SAME: Final = (LIFE + "the_same_messages_at_the_same_times_give_the_same_log",)
ONCE: Final = (LIFE + "an_attempt_that_must_not_be_repeated_is_performed_once",)
FROM_LOG: Final = (LIFE + "a_view_from_the_events_alone_equals_the_state",)

NEEDS: Final = (FLOW + "a_step_starts_only_after_its_needs_passed",)
CANCEL: Final = (FLOW + "a_cancel_is_final_and_reaches_every_attempt",)
FINALLY: Final = (FLOW + "finally_runs_exactly_once_whatever_happened",)
FORCE: Final = (FLOW + "force_ends_the_clean_up_too",)


LIFE_BUGS: Final = (
    Bug(
        "a loop goes on after a break",
        "decide/scopes.py",
        "if scope.breaking or scope.limit_hit is not None:",
        "if scope.limit_hit is not None:",
        (FLOW + "after_a_break_a_loop_starts_no_iteration_and_lets_the_running_ones_finish",),
    ),
    Bug(
        "a reservation of money is never released",
        "ledger.py",
        "reserved=_minus(ledger.reserved, reserve)",
        "reserved=ledger.reserved",
        ENDS,
    ),
    Bug(
        "slots are not given back",
        "evolve/leaves.py",
        "busy=state.busy - (not by_hand)",
        "busy=state.busy",
        ENDS,
    ),
    Bug(
        "the head of the queue skips one",
        "evolve/leaves.py",
        "    head = state.queue_head\n",
        "    head = state.queue_head + 1\n",
        ENDS,
    ),
    Bug(
        "an ended child does not wake its parent",
        "decide/decide.py",
        "    return (parent.place.path, *(live_children(state, parent) if is_won else ()))",
        "    return (path,)",
        ENDS,
    ),
    Bug(
        "a cost is not booked on its step",
        "evolve/leaves.py",
        "MicroUsd(instance.usd + usd)",
        "MicroUsd(usd)",
        FROM_LOG,
    ),
    Bug(
        "a cancel may be ordered twice",
        "evolve/leaves.py",
        "    if instance.cancelling:\n",
        "    if False:\n",
        ILLEGAL,
    ),
    Bug(
        "an event after the end is taken",
        "evolve/evolve.py",
        "    if state.ended is not None:\n",
        "    if False:\n",
        ILLEGAL,
    ),
    Bug(
        "a fact may be asked for twice",
        "evolve/leaves.py",
        'raise IllegalEvent(f"{event.path!r} has already requested a fact")',
        "pass",
        ILLEGAL,
    ),
    Bug(
        "a place in the queue may be taken twice",
        "evolve/leaves.py",
        "    if leaf.ticket >= 0:\n",
        "    if False:\n",
        ILLEGAL,
    ),
    Bug(
        "a jump may be ordered twice",
        "evolve/scopes.py",
        "if scope.jump == event.target:",
        "if False:",
        ILLEGAL,
    ),
    Bug(
        "a join may be asked for twice",
        "evolve/joins.py",
        'raise IllegalEvent(f"{event.path!r} has already requested a join")',
        "pass",
        ILLEGAL,
    ),
    Bug(
        "a stale answer is accepted",
        "handle.py",
        "isinstance(effect, IN_FLIGHT) and effect.started.attempt == message.attempt",
        "isinstance(effect, IN_FLIGHT)",
        TWICE,
    ),
    Bug(
        "a timer of a retry fires twice",
        "evolve/timers.py",
        'if instance.phase == "paused":\n        _check_due(state, event)\n        state.pending.discard(("timer", event.path))',
        'if instance.phase == "paused":\n        _check_due(state, event)',
        TWICE,
    ),
    Bug(
        "a timer of a block fires twice",
        "evolve/timers.py",
        'scope._replace(expired=True))\n        state.pending.discard(("timer", path))',
        "scope._replace(expired=True))",
        TWICE,
    ),
    Bug(
        "the pause before another attempt of a block never ends",
        "evolve/timers.py",
        'state.pending.discard(("retry", path))',
        "pass",
        TWICE,
    ),
    Bug(
        "a join that was made is still pending",
        "evolve/joins.py",
        'state.pending.discard(("join", event.path))',
        "pass",
        TWICE,
    ),
    Bug(
        "a pause is drawn by chance",
        "decide/repeats.py",
        'f"{path}#{number}".encode()',
        '__import__("os").urandom(8)',
        SAME,
    ),
)

ORDER_BUGS: Final = (
    Bug(
        "parallel children share variables",
        "queries/graph.py",
        "if isinstance(step.verb, Call) or not isinstance(parent, Scope):",
        "if True:",
        FRAMES,
    ),
    Bug(
        "a step runs past a failed need",
        "decide/decide.py",
        "return unmet is not None and unmet.bad",
        "return False",
        NEEDS,
    ),
    Bug(
        "a step is released one need early",
        "evolve/endings.py",
        "if needs.left == 0:",
        "if needs.left <= 1:",
        NEEDS,
    ),
    Bug(
        "a graph forgives one failure",
        "decide/scopes.py",
        "    if scope.bad and pass_rules.tally",
        "    if scope.bad > 1 and pass_rules.tally",
        NEEDS,
    ),
    Bug(
        "a way back in a graph leaves the dependents",
        "decide/entry.py",
        "return builders_on(state, scope, index)",
        "return (index,)",
        NEEDS,
    ),
    Bug(
        "an outcome that leads on counts as a failure",
        "queries/graph.py",
        'return target.kind == "next" or',
        "return",
        ("tests/core/test_outcomes.py::test_an_outcome_in_a_graph_stops_only_the_steps_that_need_it",),
    ),
    Bug(
        "iterations share variables",
        "queries/graph.py",
        "case ForEach():\n            return path",
        "case ForEach():\n            return shared",
        FRAMES,
    ),
    Bug(
        "the variables of a child leak into the run",
        "evolve/endings.py",
        "(frame_of_variable(state, instance, name), name)",
        "(addresses.ROOT, name)",
        FRAMES,
    ),
    Bug(
        "the first failure is chosen by time",
        "decide/scopes.py",
        "return next((ending for ending in bad if ending.exit), bad[0])",
        "bad.sort(key=lambda ending: ending.at)\n    return next((ending for ending in bad if ending.exit), bad[0])",
        ORDERLESS,
    ),
    Bug(
        "only what ended last is told to the next attempt of a scope",
        "decide/completion.py",
        'if scope.place.order in ("seq", "repeat"):',
        "if True:",
        ORDERLESS,
    ),
)

CRASH_BUGS: Final = (
    Bug(
        "what must not be repeated is redone after a crash",
        "handle.py",
        "if not place.step.repeatable or (reserve.calls and shortfall(after, ",
        "if (reserve.calls and shortfall(after, ",
        ONCE,
    ),
    Bug(
        "a doubted step runs again without consent",
        "decide/attempts.py",
        '.get("action") == "rerun":',
        '.get("action") != "rerun":',
        ONCE,
    ),
    Bug(
        "a member that queues for a join does not wake its scope",
        "decide/decide.py",
        "return (state.instances[event.path].place.parent,)",
        "return (event.path,)",
        SETTLED,
    ),
    Bug(
        "a member that was merged is not woken",
        "decide/decide.py",
        "return (event.path, *(instance.merged if isinstance(instance, Scope) else ()))",
        "return (event.path,)",
        SETTLED,
    ),
    Bug(
        "an order to cancel is no effect",
        "evolve/leaves.py",
        '        state.pending.put(("attempt", event.path), CancelAttempt(effect.started, effect.by_hand))\n',
        "        pass\n",
        PENDING,
    ),
    Bug(
        "a wait that is over is still pending",
        "evolve/leaves.py",
        'state.pending.discard(("wait", event.path))',
        "pass",
        PENDING,
    ),
    Bug(
        "a question is closed by the first of two approvals",
        "evolve/leaves.py",
        "    if enough:\n",
        "    if approvals:\n",
        PENDING,
    ),
)

CANCEL_BUGS: Final = (
    Bug(
        "a cancel reaches one level only",
        "decide/decide.py",
        "return (event.path, *live_children(state, state.instances[event.path]))",
        "return (event.path,)",
        CANCEL,
    ),
    Bug(
        "a cancelled scope goes on",
        "decide/decide.py",
        "if instance.cancelling or (isinstance(instance, Scope) and instance.expired):",
        "if isinstance(instance, Leaf) and instance.cancelling:",
        CANCEL,
    ),
    Bug(
        "a cancelled step tries again",
        "decide/decide.py",
        "if instance.cancelling or (isinstance(instance, Scope) and instance.expired):",
        "if isinstance(instance, Scope) and (instance.cancelling or instance.expired):",
        CANCEL,
    ),
    Bug("finally is cancelled too", "decide/decide.py", 'if place.role == "finally":', "if False:", FINALLY),
    Bug(
        "finally is left out after a cancel",
        "decide/decide.py",
        'opened = instance.phase == "open" and',
        'opened = instance.phase == "ready" and',
        FINALLY,
    ),
    Bug(
        "finally runs twice after a cancel",
        "decide/decide.py",
        "if opened and not instance.closing and",
        "if opened and",
        FINALLY,
    ),
    Bug(
        "finally is left out after a failure",
        "decide/completion.py",
        "    if last is None:\n",
        '    if last is None or end.outcome != "passed":\n',
        FINALLY,
    ),
    Bug(
        "force spares the clean-up",
        "decide/decide.py",
        "if state.forced and state.cancelling:",
        "if False:",
        FORCE,
    ),
)

BUGS: Final = (*LIFE_BUGS, *ORDER_BUGS, *CRASH_BUGS, *CANCEL_BUGS)

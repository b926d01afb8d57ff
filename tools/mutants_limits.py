"""Bugs for tools/mutants.py: bounds, money, breaker, people, guidance, pause, facts, signals."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import FLOW, Bug

LIMITS: Final = "tests/core/test_properties_limits.py::test_"

BOUNDS: Final = (FLOW + "visits_tries_transitions_and_widths_are_bounded",)
QUOTA: Final = (FLOW + "a_quota_that_never_resets_ends_the_step",)
MONEY: Final = (LIMITS + "at_every_start_the_reservation_fits_every_ledger",)
QUESTIONS: Final = (LIMITS + "questions_count_as_transitions",)
BREAKER: Final = (LIMITS + "no_cycle_is_repeated_without_asking",)
ADVICE: Final = (LIMITS + "advice_is_followed",)
PEOPLE: Final = (LIMITS + "several_approvals_come_from_that_many_people_who_were_asked",)
PAUSE: Final = (LIMITS + "nothing_is_dispatched_while_a_run_is_paused",)
GUIDANCE: Final = (LIMITS + "guidance_reaches_workers_until_one_of_them_passes",)
SIGNALS: Final = (LIMITS + "a_signal_ends_exactly_the_waits_for_it",)
FACTS: Final = (LIMITS + "facts_are_requested_before_the_decision_and_never_twice",)

BUDGET: Final = (
    (
        "tests/core/test_properties_budget.py::"
        "test_no_limit_is_exceeded_by_more_than_calls_used_beyond_their_reservation"
    ),
)
HABITS: Final = (
    (
        "tests/core/test_properties_budget.py::"
        "test_nothing_is_overspent_if_calls_stay_within_their_typical_use"
    ),
)
LOST: Final = ("tests/core/test_lost_calls.py::test_repeated_crashes_do_not_repeat_a_call_beyond_its_limit",)
TOKENS: Final = (
    "tests/core/test_ledger.py::test_with_count_tokens_a_call_without_a_price_counts_only_tokens",
)
CIRCLES: Final = "tests/core/test_advice.py::test_"

LOOP_BUGS: Final = (
    Bug(
        "what calls have used before is not reserved",
        "decide/dispatch.py",
        "usd = usd if typical.usd is None else typical.usd",
        "usd = usd if typical.usd is None else min(usd, typical.usd)",
        HABITS,
    ),
    Bug(
        "money that others hold is spent again",
        "ledger.py",
        "MicroUsd(spent.usd + reserved.usd + unknown.usd)",
        "MicroUsd(spent.usd + unknown.usd)",
        BUDGET,
    ),
    Bug(
        "what has no price binds although tokens are counted",
        "ledger.py",
        'unknown_cost != "count_tokens"',
        'unknown_cost != "refuse"',
        TOKENS,
    ),
    Bug(
        "a finding that is open again is no reversal",
        "decide/breaker.py",
        "(is_open and name in fixed)",
        "(is_open and name in ())",
        (CIRCLES + "the_breaker_asks_when_a_reviewer_reopens_a_fixed_finding",),
    ),
    Bug(
        "a tree may be judged either way",
        "decide/breaker.py",
        "verdicts.get(visit.judged, visit.outcome) != visit.outcome",
        "False",
        (CIRCLES + "the_breaker_asks_when_a_reviewer_changes_its_verdict_on_the_same_tree",),
    ),
    Bug(
        "the newest version is taken for the best",
        "decide/breaker.py",
        "score = judged if ending.score is None else ending.score",
        "score = -1.0",
        (CIRCLES + "force_complete_accepts_the_version_with_the_best_review_score",),
    ),
)

BOUND_BUGS: Final = (
    Bug(
        "one try too many",
        "decide/attempts.py",
        "if leaf.tries + 1 < allowed",
        "if leaf.tries + 1 <= allowed",
        BOUNDS,
    ),
    Bug(
        "one transition too many",
        "ledger.py",
        "ledger.transitions >= ledger.limits.transitions",
        "ledger.transitions > ledger.limits.transitions",
        BOUNDS,
    ),
    Bug(
        "one wait for quota too many",
        "decide/repeats.py",
        "uncounted.quota <= QUOTA_WAITS",
        "uncounted.quota <= QUOTA_WAITS + 1",
        QUOTA,
    ),
    Bug(
        "one transient retry too many",
        "decide/repeats.py",
        "uncounted.transient <= step.retry.transient",
        "uncounted.transient <= step.retry.transient + 1",
        BOUNDS,
    ),
    Bug(
        "one repair too many",
        "decide/attempts.py",
        "leaf.uncounted.repair <= leaf.place.step.retry.repair",
        "leaf.uncounted.repair <= leaf.place.step.retry.repair + 1",
        BOUNDS,
    ),
    Bug(
        "one fallback too many",
        "decide/repeats.py",
        "uncounted.fallback < len(verb.fallback)",
        "uncounted.fallback <= len(verb.fallback)",
        BOUNDS,
    ),
    Bug(
        "one parallel member too many",
        "decide/scopes.py",
        "return scope.live < width(state, scope)",
        "return scope.live <= width(state, scope)",
        BOUNDS,
    ),
    Bug("one slot too many", "decide/dispatch.py", "if state.busy >= slots", "if state.busy > slots", BOUNDS),
    Bug(
        "one round too many",
        "decide/scopes.py",
        "if scope.next < count_of(state, scope, verb.max):",
        "if scope.next <= count_of(state, scope, verb.max):",
        BOUNDS,
    ),
    Bug(
        "the cap of a repeat is ignored",
        "decide/scopes.py",
        "if scope.next < count_of(state, scope, verb.max):",
        "if True:",
        BOUNDS,
    ),
    Bug(
        "questions are no transitions",
        "ledger.py",
        'return role in ("question", "advice")',
        "return False",
        QUESTIONS,
    ),
    Bug(
        "visits are no transitions",
        "ledger.py",
        "return visit > 1 or not parent.in_for_each",
        "return visit == 1 and not parent.in_for_each",
        QUESTIONS,
    ),
)

MONEY_BUGS: Final = (
    Bug(
        "money: what has no price is free",
        "ledger.py",
        "not event.cost_known and",
        "not event and",
        MONEY,
    ),
    Bug(
        "money: a call that a crash repeats is not counted",
        "evolve/evolve.py",
        "leaves.book_lost_attempt(state, path)",
        "pass",
        LOST,
    ),
    Bug(
        "money: an inner ledger forgets its parent",
        "evolve/scopes.py",
        "ledger.new_ledger(path, parent.place.ledger, limits, carried)",
        "ledger.new_ledger(path, None, limits, carried)",
        MONEY,
    ),
    Bug(
        "money: refused while it is only held",
        "decide/dispatch.py",
        "if book.busy or book.reserved != Amounts():",
        "if False:",
        MONEY,
    ),
    Bug(
        "money: the reservation may go beyond the limit",
        "ledger.py",
        "used.usd + reserve.usd > limits.usd",
        "used.usd > limits.usd",
        MONEY,
    ),
    Bug(
        "money: what is held does not count",
        "ledger.py",
        "MicroUsd(spent.usd + reserved.usd + unknown.usd)",
        "MicroUsd(spent.usd + unknown.usd)",
        MONEY,
    ),
    Bug(
        "one call too many",
        "ledger.py",
        "used.calls + reserve.calls > limits.calls",
        "used.calls > limits.calls",
        MONEY,
    ),
    Bug(
        "tokens that are spent do not count",
        "ledger.py",
        "spent.tokens + reserved.tokens + unknown.tokens",
        "reserved.tokens + unknown.tokens",
        MONEY,
    ),
)

BREAKER_BUGS: Final = (
    Bug(
        "breaker: visits are ignored",
        "decide/breaker.py",
        "if visits is not None and visit > visits:",
        "if False:",
        BREAKER,
    ),
    Bug(
        "breaker: one visit too many",
        "decide/breaker.py",
        "if visits is not None and visit > visits:",
        "if visits is not None and visit > visits + 1:",
        BREAKER,
    ),
    Bug(
        "breaker: a cycle is ignored",
        "decide/breaker.py",
        "if rules.cycle is not None and is_cycle(",
        "if visit < 1 and rules.cycle is not None and is_cycle(",
        BREAKER,
    ),
    Bug(
        "breaker: a cycle has one step only",
        "decide/breaker.py",
        "for length in range(1, len(trail) // times + 1):",
        "for length in range(1, min(2, len(trail) // times + 1)):",
        BREAKER,
    ),
    Bug(
        "breaker: halt is not obeyed",
        "decide/advice.py",
        'if decision.action in ("halt", "dump_context"):',
        'if decision.action == "dump_context":',
        ADVICE,
    ),
    Bug(
        "breaker: force_complete enters the step once more",
        "decide/advice.py",
        'if decision.action == "force_complete":',
        "if False:",
        ADVICE,
    ),
)

PEOPLE_BUGS: Final = (
    Bug(
        "one approver counts twice",
        "decide/approvals.py",
        "return any(approval.by == by for approval in approvals)",
        "return False",
        PEOPLE,
    ),
    Bug(
        "one approval too few is enough",
        "evolve/leaves.py",
        "len(approvals) >= leaf.approval_request.approvals",
        "len(approvals) + 1 >= leaf.approval_request.approvals",
        PEOPLE,
    ),
    Bug(
        "the no of a person counts as a yes",
        "decide/approvals.py",
        'return "rejected"',
        'return "passed"',
        PEOPLE,
    ),
    Bug(
        "guidance is delivered twice",
        "evolve/leaves.py",
        "guidance=guidance.after_start(state.guidance, event) if event.guidance else state.guidance",
        "guidance=state.guidance",
        GUIDANCE,
    ),
    Bug(
        "guidance goes to whoever comes first",
        "decide/dispatch.py",
        "guidance=guidance_for(state, leaf, reuses=reuses) if takes_guidance(leaf) else (),",
        "guidance=guidance_for(state, leaf, reuses=reuses),",
        GUIDANCE,
    ),
    Bug(
        "a pause is ignored",
        "decide/dispatch.py",
        "if state.queue_head == state.queue_tail or state.paused:",
        "if state.queue_head == state.queue_tail:",
        PAUSE,
    ),
    Bug(
        "facts are asked for twice",
        "evolve/leaves.py",
        "facts_of_tree = (*(fact for fact in instance.facts if fact.tree == event.tree), event)",
        "facts_of_tree = (event,)",
        FACTS,
    ),
)

HEARD_BUGS: Final = (
    Bug(
        "money: a run outlives its own limit",
        "evolve/endings.py",
        "limit_hit=parent.limit_hit if event.limit_hit is None else event.limit_hit",
        "limit_hit=event.limit_hit or parent.limit_hit",
        MONEY,
    ),
    Bug(
        "the clean-up hides what was decided",
        "evolve/endings.py",
        "last_answer=event.path if is_answer else parent.last_answer",
        "last_answer=event.path",
        ADVICE,
    ),
    Bug(
        "a decision to stop is tried again",
        "decide/advice.py",
        "decision.guidance or rule, limit_hit=ROOT\n",
        "decision.guidance or rule\n",
        ADVICE,
    ),
    Bug(
        "a signal wakes everybody who waits",
        "handle.py",
        'verb.what == "signal" and verb.detail.get("signal") == name',
        'verb.what == "signal"',
        SIGNALS,
    ),
    Bug(
        "an escalation shuts the others out",
        "evolve/timers.py",
        "(*request.by, *verb.oversight.escalate_to) if request.by else ()",
        "(*request.by, *verb.oversight.escalate_to)",
        ("tests/core/test_people.py::test_an_escalation_does_not_restrict_who_may_answer",),
    ),
    Bug(
        "a reminder reminds nobody",
        "effects.py",
        '    TimerFired: "person",\n',
        "",
        ("tests/core/test_people.py::test_reminders_repeat_and_an_escalation_adds_people",),
    ),
    Bug(
        "anybody may answer",
        "decide/approvals.py",
        "return not approvers or any(",
        "return True or any(",
        ("tests/core/test_handle.py::test_an_approval_must_match_the_question",),
    ),
    Bug(
        "an answer about another tree is taken",
        "handle.py",
        "answered = (message.function, message.argument, message.tree)",
        "answered = (message.function, message.argument, query and query.tree)",
        ("tests/core/test_handle.py::test_a_fact_about_another_tree_is_ignored",),
    ),
)

BUGS: Final = (*LOOP_BUGS, *BOUND_BUGS, *MONEY_BUGS, *BREAKER_BUGS, *PEOPLE_BUGS, *HEARD_BUGS)

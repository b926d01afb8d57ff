"""Bugs for tools/mutants.py: bounds, money, breaker, people, claims, guidance, pause, facts, signals."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import FLOW, Bug

LIMITS: Final = "tests/core/test_properties_limits.py::test_"

BOUNDS: Final = (FLOW + "visits_tries_transitions_and_widths_are_bounded",)
QUOTA: Final = (FLOW + "a_quota_that_never_opens_again_is_given_up",)
MONEY: Final = (LIMITS + "at_every_start_the_sum_fits_every_ledger",)
QUESTIONS: Final = (LIMITS + "questions_count_as_transitions",)
BREAKER: Final = (LIMITS + "no_circle_is_walked_unasked",)
ADVICE: Final = (LIMITS + "advice_is_carried_out",)
PEOPLE: Final = (LIMITS + "a_yes_of_several_is_given_by_that_many_who_were_asked",)
CLAIMS: Final = (LIMITS + "attempts_in_flight_never_claim_the_same_files",)
PAUSE: Final = (LIMITS + "nothing_is_dispatched_while_a_run_is_paused",)
GUIDANCE: Final = (LIMITS + "guidance_is_delivered_once_to_a_worker",)
SIGNALS: Final = (LIMITS + "a_signal_reaches_those_who_wait_for_it_and_nobody_else",)
FACTS: Final = (LIMITS + "facts_are_asked_before_the_decision_and_never_twice",)

BUDGET: Final = (
    (
        "tests/core/test_properties_budget.py::"
        "test_no_limit_is_passed_by_more_than_calls_in_flight_used_beyond_their_reservation"
    ),
)
HABITS: Final = (
    (
        "tests/core/test_properties_budget.py::"
        "test_nothing_is_overspent_where_calls_use_no_more_than_they_did_before"
    ),
)
LOST: Final = (
    "tests/core/test_lost_calls.py::test_a_call_is_not_repeated_for_ever_by_one_crash_after_the_other",
)
TOKENS: Final = (
    "tests/core/test_ledger.py::test_where_tokens_are_counted_a_price_nobody_told_binds_nothing_but_them",
)
CIRCLES: Final = "tests/core/test_advice.py::test_"

LOOP_BUGS: Final = (
    Bug(
        "what calls have used before is not reserved",
        "decide/dispatch.py",
        "usd = usd if past.usd is None else past.usd",
        "usd = usd if past.usd is None else min(usd, past.usd)",
        HABITS,
    ),
    Bug(
        "money that others hold is spent again",
        "ledger.py",
        "MicroUsd(spent.usd + held.usd + unknown.usd)",
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
        (CIRCLES + "a_reviewer_that_opens_again_what_it_called_fixed_is_questioned",),
    ),
    Bug(
        "a tree may be judged either way",
        "decide/breaker.py",
        "verdicts.get(visit.judged, visit.outcome) != visit.outcome",
        "False",
        (CIRCLES + "a_reviewer_that_judges_the_same_tree_the_other_way_is_questioned",),
    ),
    Bug(
        "the newest version is taken for the best",
        "decide/breaker.py",
        "score = scores.get(ending.tree, -1.0)",
        "score = -1.0",
        (CIRCLES + "the_version_that_reviewers_scored_best_is_the_one_that_is_taken",),
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
        "decide/attempts.py",
        "soft.quota <= QUOTA_WAITS",
        "soft.quota <= QUOTA_WAITS + 1",
        QUOTA,
    ),
    Bug(
        "one transient retry too many",
        "decide/attempts.py",
        "soft.transient <= step.retry.transient",
        "soft.transient <= step.retry.transient + 1",
        BOUNDS,
    ),
    Bug(
        "one repair too many",
        "decide/attempts.py",
        "leaf.soft.repair <= leaf.place.step.retry.repair",
        "leaf.soft.repair <= leaf.place.step.retry.repair + 1",
        BOUNDS,
    ),
    Bug(
        "one fallback too many",
        "decide/attempts.py",
        "soft.fallback < len(verb.fallback)",
        "soft.fallback <= len(verb.fallback)",
        BOUNDS,
    ),
    Bug(
        "one parallel member too many",
        "decide/scopes.py",
        "more = scope.next < _open_until(scope) and scope.live < width(state, scope)",
        "more = scope.next < _open_until(scope) and scope.live <= width(state, scope)",
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
        "return visit > 1 or not parent.fanned",
        "return visit == 1 and not parent.fanned",
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
        "leaves.lost(state, path)",
        "pass",
        LOST,
    ),
    Bug(
        "money: an inner ledger forgets its parent",
        "evolve/scopes.py",
        "ledger.opened(path, parent.place.ledger, limits, past)",
        "ledger.opened(path, None, limits, past)",
        MONEY,
    ),
    Bug(
        "money: refused while it is only held",
        "decide/dispatch.py",
        "if book.busy or book.held != Amounts():",
        "if False:",
        MONEY,
    ),
    Bug(
        "money: the reservation may go beyond the limit",
        "ledger.py",
        "taken.usd + reserve.usd > limits.usd",
        "taken.usd > limits.usd",
        MONEY,
    ),
    Bug(
        "money: what is held does not count",
        "ledger.py",
        "MicroUsd(spent.usd + held.usd + unknown.usd)",
        "MicroUsd(spent.usd + unknown.usd)",
        MONEY,
    ),
    Bug(
        "one call too many",
        "ledger.py",
        "taken.calls + reserve.calls > limits.calls",
        "taken.calls > limits.calls",
        MONEY,
    ),
    Bug(
        "tokens that are spent do not count",
        "ledger.py",
        "spent.tokens + held.tokens + unknown.tokens",
        "held.tokens + unknown.tokens",
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
        "return any(answer.by == by for answer in given)",
        "return False",
        PEOPLE,
    ),
    Bug(
        "one approval too few is enough",
        "evolve/leaves.py",
        "len(given) >= leaf.asked.approvals",
        "len(given) + 1 >= leaf.asked.approvals",
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
        "claims are ignored",
        "decide/dispatch.py",
        "if claim and _clashes(state, claim, waiting):",
        "if False:",
        CLAIMS,
    ),
    Bug(
        "a claim of everything overlaps nothing",
        "decide/dispatch.py",
        'if a == "all" or b == "all":\n        return True',
        'if a == "all" or b == "all":\n        return False',
        CLAIMS,
    ),
    Bug(
        "guidance is delivered twice",
        "evolve/leaves.py",
        "guidance=() if event.guidance else state.guidance",
        "guidance=state.guidance",
        GUIDANCE,
    ),
    Bug(
        "guidance goes to whoever comes first",
        "decide/dispatch.py",
        "guidance=state.guidance if works else ()",
        "guidance=state.guidance",
        GUIDANCE,
    ),
    Bug(
        "a pause is ignored",
        "decide/dispatch.py",
        "if state.head == state.tail or state.paused:",
        "if state.head == state.tail:",
        PAUSE,
    ),
    Bug(
        "facts are asked for twice",
        "evolve/leaves.py",
        "known = (*(fact for fact in instance.facts if fact.tree == event.tree), event)",
        "known = (event,)",
        FACTS,
    ),
)

HEARD_BUGS: Final = (
    Bug(
        "money: a run outlives its own limit",
        "evolve/endings.py",
        "hard=parent.hard if event.hard is None else event.hard",
        "hard=event.hard or parent.hard",
        MONEY,
    ),
    Bug(
        "the clean-up hides what was decided",
        "evolve/endings.py",
        "told=event.path if spoke else parent.told",
        "told=event.path",
        ADVICE,
    ),
    Bug(
        "a decision to stop is tried again",
        "decide/advice.py",
        "decision.guidance or rule, hard=ROOT)",
        "decision.guidance or rule)",
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
        "evolve/leaves.py",
        "(*asked.by, *verb.oversight.escalate_to) if asked.by else ()",
        "(*asked.by, *verb.oversight.escalate_to)",
        ("tests/core/test_people.py::test_an_escalation_shuts_nobody_out",),
    ),
    Bug(
        "a reminder reminds nobody",
        "effects.py",
        '    TimerFired: "person",\n',
        "",
        ("tests/core/test_people.py::test_reminders_come_again_and_an_escalation_widens_the_circle",),
    ),
    Bug(
        "anybody may answer",
        "decide/approvals.py",
        "return not whom or any(",
        "return True or any(",
        ("tests/core/test_handle.py::test_an_approval_must_fit_the_question",),
    ),
    Bug(
        "an answer about another tree is taken",
        "handle.py",
        "query = (message.function, message.argument, message.tree)",
        "query = (message.function, message.argument, getattr(asked, 'tree', None))",
        ("tests/core/test_handle.py::test_an_answer_about_another_tree_is_not_the_answer",),
    ),
)

BUGS: Final = (*LOOP_BUGS, *BOUND_BUGS, *MONEY_BUGS, *BREAKER_BUGS, *PEOPLE_BUGS, *HEARD_BUGS)

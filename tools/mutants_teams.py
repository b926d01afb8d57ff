"""Bugs for tools/mutants.py: teams whose members ask each other."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import Bug

TESTS: Final = "tests/core/test_teams_property.py"
LOST: Final = (f"{TESTS}::test_nothing_is_lost_doubled_or_endless",)
ENDLESS: Final = (f"{TESTS}::test_two_that_always_ask_end_at_exactly_the_limit",)

BUGS: Final = (
    Bug(
        "a circle of members that wait for each other is entered",
        "queries/teams.py",
        "if ask.to in waiting_names(state, leaf):",
        "if False:",
        LOST,
    ),
    Bug(
        "the report of a process that was thought dead answers a later attempt",
        "handle.py",
        "return isinstance(effect, IN_FLIGHT) and effect.started.attempt == message.attempt",
        "return isinstance(effect, IN_FLIGHT)",
        LOST,
    ),
    Bug(
        "a note for one member is delivered to each of its attempts",
        "queries/mailboxes.py",
        "and (not note.to or (note.to == own and not note.is_read))",
        "and (not note.to or note.to == own)",
        LOST,
    ),
    Bug(
        "all attempts of a worker share one address for answers",
        "queries/teams.py",
        "return addresses.child(addresses.attempt(leaf.place.path, leaf.attempt), ask.to, earlier + 1)",
        "return addresses.child(addresses.attempt(leaf.place.path, 1), ask.to, earlier + 1)",
        LOST,
    ),
    Bug(
        "messages have no limit",
        "ledger.py",
        "if limit is not None and ledger.messages + more > limit:",
        "if limit is not None and ledger.messages + more > limit + 40:",
        ENDLESS,
    ),
    Bug(
        "two asks of one member in one attempt share an answer",
        "queries/teams.py",
        "earlier = sum(other.to == ask.to for other in asks[:number])",
        "earlier = 0",
        LOST,
    ),
    Bug(
        "a name that is not in the team is replied to as if it were known",
        "decide/teams.py",
        "replies.append(Reply(ask.to, refused=refused))",
        "replies.append(Reply(ask.to, leaf.place.path))",
        LOST,
    ),
    Bug(
        "the files that a member changed are lost",
        "evolve/endings.py",
        "member_tree=event.tree or changed.member_tree",
        "member_tree=changed.member_tree",
        LOST,
    ),
    Bug(
        "work of an attempt that asked is judged",
        "decide/attempts.py",
        "return after_asked(state, leaf, answer, now)",
        "return after_asked(state, leaf, answer, now) if leaf.place.step.gates is None else _after_ok(state, leaf, answer, now)",
        LOST,
    ),
    Bug(
        "an answer about other files counts as known",
        "queries/teams.py",
        'f"{question}\\0{files}", tree',
        'f"{question}\\0{files}", None',
        LOST,
    ),
    Bug(
        "a refused ask does not count as a message",
        "evolve/leaves.py",
        "ledger.count_messages(state, leaf.place.ledger, len(event.asks))",
        "ledger.count_messages(state, leaf.place.ledger, len([a for a in event.asks if a.to != 'nobody']))",
        ENDLESS,
    ),
    Bug(
        "a worker is not told that its ask was refused",
        "decide/teams.py",
        "            replies.append(Reply(ask.to, refused=refused))\n            continue",
        "            continue",
        LOST,
    ),
)

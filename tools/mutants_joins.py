"""Bugs for tools/mutants.py: joins, races and panels."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import Bug

RACES: Final = ("tests/core/test_joins.py",)

BUGS: Final = (
    Bug(
        "a step whose needs may fail runs after a limit",
        "queries/graph.py",
        """        case "done":
            return is_limited
""",
        """        case "done":
            return False
""",
        RACES,
    ),
    Bug(
        "one failed need blocks a step that needs any",
        "queries/graph.py",
        "(is_last and bool(step.needs) and not any(accepted))",
        "(is_last and bool(step.needs) and not all(accepted))",
        RACES,
    ),
    Bug(
        "a failure that one step needs to pass is forgiven",
        "queries/graph.py",
        "return bool(dependents) and all(",
        "return bool(dependents) and any(",
        RACES,
    ),
    Bug(
        "a failure that no step needs is forgiven",
        "queries/graph.py",
        "return bool(dependents) and all(",
        "return all(",
        RACES,
    ),
    Bug(
        "members are entered after others have won",
        "decide/scopes.py",
        "_has_room(state, scope) and not is_settled(state, scope)",
        "_has_room(state, scope)",
        RACES,
    ),
    Bug(
        "the rest is not stopped",
        "decide/decide.py",
        'if place.role == "step" and is_rest(state, parent, instance):',
        "if False:",
        RACES,
    ),
    Bug(
        "a batch merges more winners than are needed",
        "decide/joins.py",
        "size = min(size, open_places(state, scope))",
        "size = max(size, 1)",
        RACES,
    ),
    Bug(
        "work that is being merged is thrown away",
        "decide/pass_rules.py",
        "return all(path != member.place.path for path, _ in members)",
        "return True",
        RACES,
    ),
    Bug(
        "merged work is stopped",
        "decide/pass_rules.py",
        'if not is_settled(state, scope) or member.join_status == "joined":',
        "if not is_settled(state, scope):",
        RACES,
    ),
)

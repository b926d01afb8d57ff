"""Bugs for tools/mutants.py: joins, races and panels."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import Bug

RACES: Final = ("tests/core/test_joins.py",)

PANELS: Final = ("tests/core/test_panels.py",)

BUGS: Final = (
    Bug(
        "a step whose needs may fail runs after a limit",
        "queries/graph.py",
        "not any(accepted))\n    return is_limited",
        "not any(accepted))\n    return False",
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
    Bug(
        "a panel may have a member too many",
        "decide/expansion.py",
        "elif count > most:",
        "elif count > most + 1:",
        PANELS,
    ),
    Bug(
        "an empty panel passes",
        "decide/expansion.py",
        "    elif not names:\n",
        "    elif names is None:\n",
        PANELS,
    ),
    Bug(
        "members that see each other work at once",
        "decide/admission.py",
        """        case Members(in_turn=True):
            parallel = 1
""",
        """        case Members(in_turn=True):
            parallel = 9
""",
        PANELS,
    ),
    Bug(
        "an item reads items that it does not need",
        "queries/step_results.py",
        "if index in scope.dependents[child.place.index]",
        "if index not in scope.dependents[child.place.index]",
        PANELS,
    ),
)

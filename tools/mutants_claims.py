"""Bugs for tools/mutants.py: file claims of parallel children."""

from __future__ import annotations

from typing import Final

from tools.mutants_core import Bug

PROPERTY: Final = ("tests/core/test_claims_property.py",)
SEPARATE: Final = (
    "tests/core/test_properties_limits.py::test_parallel_children_never_claim_the_same_files",
    *PROPERTY,
)
CASES: Final = ("tests/core/test_claims.py",)

BUGS: Final = (
    Bug(
        "claims are ignored",
        "decide/admission.py",
        "if not any(overlap(claim, other) for other in others):",
        "if True:",
        SEPARATE,
    ),
    Bug(
        "a claim lasts until the work is queued to be merged",
        "decide/admission.py",
        "return [state.instances[path].place.claim for path in scope.claimants]",
        "return [c.place.claim for c in map(state.instances.__getitem__, scope.claimants) if c.join_status is None]",
        CASES,
    ),
    Bug(
        "a claim is kept after its child",
        "evolve/endings.py",
        "return tuple([path for path in scope.claimants if path != child.place.path])",
        "return scope.claimants",
        PROPERTY,
    ),
    Bug(
        "a member that waited starts from the fork",
        "decide/entry.py",
        "case _ if overlap(pending.claim, scope.changed):",
        "case _ if False:",
        PROPERTY,
    ),
    Bug(
        "a branch does not build on work in the same files",
        "queries/branch_trees.py",
        "if not claim or not isinstance(verb, BLOCKS):",
        "if True:",
        PROPERTY,
    ),
    Bug(
        "an undeclared agent claims nothing",
        "queries/claims.py",
        "return EVERYTHING if isinstance(step.verb, Agent) else ()",
        "return ()",
        CASES,
    ),
    Bug(
        "a loop inside a child claims the files of its first item",
        "queries/claims.py",
        "for item in items)",
        "for item in items[:1])",
        CASES,
    ),
    Bug(
        "an inner variable is read before it is set",
        "queries/claims.py",
        "return _raise_unknown(name) if name in self._set else self._outer",
        "return _raise_unknown(name) if not name else self._outer",
        CASES,
    ),
    Bug(
        "the result of an inner step is read from an outer one",
        "queries/claims.py",
        "inside = isinstance(verb, Block) and name in verb.index",
        "inside = False",
        CASES,
    ),
    Bug(
        "a child that was overtaken is forgotten",
        "evolve/scopes.py",
        "return (*scope.ready, *range(scope.next, index))",
        "return scope.ready",
        CASES,
    ),
    Bug(
        "a way back leaves what was built on the old work",
        "queries/graph.py",
        "            dependents[before].append(other)",
        "            pass",
        CASES,
    ),
)

"""Projects of the supervisor format with several loops, for `test_supervised_files`: templates, hooks, domain roles, people."""

from __future__ import annotations

from tests.e2e.supervised_larger import MAKE, Sample, rejects, visits, writes

RELEASE = """\
name: release_train
description: A weekly release
settings: {parallel_reviews: false, require_tests: true}
steps:
  scope: {role: planner, outputs: [scope_notes, file_list], next: Scope-OK}
  Scope-OK: {type: human_gate, description: "Is the scope right?", on_reject: scope, next: build-it}
  build-it:
    role: implementer
    config: {tdd: false}
    retry_policy: {max_attempts: 2}
    next: lint
  lint: {type: orchestrator_gate, command: "make lint", on_fail: build-it, max_retries: 5, next: two-eyes}
  two-eyes:
    parallel: true
    roles: [reviewer_gemini, reviewer_codex]
    gate: BOTH_APPROVED
    on_reject: build-it
    next: docs
  docs: {type: orchestrator_gate, command: "test -s CHANGES.md", on_fail: write-docs, next: commit}
  commit: {type: orchestrator_gate, command: git commit, terminal: true}
  write-docs: {role: implementer_fast, next: docs}
hooks: {pre_commit: [lint]}
"""
BUG_HUNT = """\
workflow:
  name: bug-hunt
  initial_step: reproduce
  steps:
    fix: {role: implementer, next: prove, context_scope: component_only}
    prove:
      gate_type: orchestrator
      command: |
        set -e
        test -f fixed.txt
        grep -q ok fixed.txt
      on_fail: fix
      max_retries: 3
      next: risk
    reproduce: {role: investigator, outputs: [cause], next: fix}
    risk: {role: security_auditor, gate: "SECURITY_STATUS: PASSED", on_reject: reproduce, next: release}
    release: {gate_type: human, description: "Release the fix?", on_reject: fix, next: land}
    land: {gate_type: orchestrator, command: git commit, human_approval: true, terminal: true}
"""
DESK = """\
workflow:
  template: desk
  overrides:
    implement: {role: quant_dev, config: {coverage: 0}}
    risk_validation: {position: after implement, role: risk_manager, on_reject: implement, next: check}
  disable: [slow_check]
"""
DESK_TEMPLATE = """\
name: desk
steps:
  implement: {role: implementer, next: slow_check}
  slow_check: {type: orchestrator_gate, command: "false", next: check}
  check: {type: orchestrator_gate, command: make test, on_fail: implement, next: commit}
  commit: {type: orchestrator_gate, command: git commit}
"""
FIVE_TRIES = """\
workflow:
  name: five-tries
  steps:
    Code: {role: implementer, next: Check}
    Check: {type: orchestrator_gate, command: "grep -q 5 a.txt", on_fail: Code, max_retries: 6, next: Land}
    Land: {type: orchestrator_gate, command: git commit, terminal: true}
"""
NIGHT_SHIFT = """\
workflow:
  name: night-shift
  steps:
    design: {role: etl_architect, outputs: [table_notes], next: design_validation}
    design_validation: {role: schema_guard, on_reject: design, next: load}
    load: {role: implementer, retry_policy: {max_attempts: 3, on_failure: ask_human}, next: rows}
    rows: {type: orchestrator_gate, command: "test -s rows.csv", on_fail: load, next: more}
    more: {role: test_engineer, config: {test_types: [contract]}, next: again}
    again: {type: orchestrator_gate, command: make e2e, on_fail: load, max_retries: 2, next: commit}
    commit: {type: orchestrator_gate, command: git commit, terminal: true}
"""

PROJECTS = {
    "a release train with a hook and late documentation": Sample(
        RELEASE,
        "scope scope_ok build_it lint:failed build_it~2 lint~2:failed build_it~3 lint~3:failed build_it~4 lint~4 "
        "two_eyes:rejected build_it~5 lint~5 two_eyes~2 docs:failed write_docs docs~2 commit",
        "- {match: {step: scope}, output: {scope_notes: n, file_list: [a.py]}}\n"
        + visits("build_it", "broken", "one", "two", "three")
        + "- {match: {step: build_it, visit: 4}, write: {a.py: four}, delete: [broken], text: four}\n"
        + writes("build_it", "a.py", "five", 5)
        + rejects("two_eyes/reviewer_gemini", 1)
        + writes("write_docs", "CHANGES.md"),
        MAKE, lands=("a.py", "CHANGES.md"), answers=("approve",),
    ),
    "a bug hunt that goes back to its first step": Sample(
        BUG_HUNT,
        "reproduce fix prove:failed fix~2 prove~2 risk:rejected reproduce~2 fix~3 prove~3 risk~2 release:rejected "
        "fix~4 prove~4 risk~3 release~2 land_approval land",
        "".join(f"- {{match: {{step: reproduce, visit: {n}}}, output: {{cause: c{n}}}}}\n" for n in (1, 2))
        + visits("fix", "fixed.txt", "no", "ok 2", "ok 3", "ok 4")
        + rejects("risk/security_auditor", 1),
        lands=("fixed.txt",), answers=("reject", "approve", "approve"),
    ),
    "a composition with domain roles that rejects twice": Sample(
        DESK,
        "implement risk_validation:rejected implement~2 risk_validation~2:rejected implement~3 risk_validation~3 check commit",
        visits("implement", "s.py", "1", "2", "3")
        + rejects("risk_validation/risk_manager", 1)
        + rejects("risk_validation/risk_manager", 2),
        {
            **MAKE,
            "desk.yaml": DESK_TEMPLATE,
            ".podium/roles/quant_dev.yaml": "extends: implementer\nsystem_prompt_additions: Vectorize.\n",
            ".podium/roles/risk_manager.yaml": "extends: reviewer\nsystem_prompt_additions: Reject risk.\n",
        },
        lands=("s.py",),
    ),
    "a gate with more retries than a breaker allows": Sample(
        FIVE_TRIES,
        "code check:failed code~2 check~2:failed code~3 check~3:failed code~4 check~4:failed code~5 check~5 land",
        visits("code", "a.txt", "1", "2", "3", "4", "5"),
        lands=("a.txt",),
    ),
    "a night shift of roles that design, load and test": Sample(
        NIGHT_SHIFT,
        "design design_validation:rejected design~2 design_validation~2 load rows more again:failed load~2 rows~2 more~2 again~2 commit",
        "".join(f"- {{match: {{step: design, visit: {n}}}, output: {{table_notes: n{n}}}}}\n" for n in (1, 2))
        + rejects("design_validation/schema_guard", 1)
        + "- {match: {step: load, visit: 1}, write: {rows.csv: '1', broken: x}, text: one}\n"
        + "- {match: {step: load, visit: 2}, write: {rows.csv: '2'}, delete: [broken], text: two}\n"
        + visits("more", "tests/test_rows.py", "a", "b"),
        {
            **MAKE,
            ".podium/roles/etl_architect.yaml": "extends: planner\n",
            ".podium/roles/schema_guard.yaml": "extends: reviewer\nsystem_prompt_additions: Guard the schema.\n",
        },
        lands=("rows.csv", "tests/test_rows.py"),
    ),
}  # fmt: skip

"""Files of the other formats that are not workflows, each with all of its keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import converted

STATES = """
orchestrator: {agent: claude, persona: p/lead.md, session: {enabled: true}, checkpoints: [{on: loop_warning}, {on: timeout_warning}]}
agents:
  ollama: {type: ollama, model_tiers: {small: {vram_range: [0, 6], recommended: {writer: tiny}, fallback: tiny}}}
  claude: {type: cli, command: "claude -p {prompt}", resume_command: x, cost_per_1k: {input: 0.0015}}
  judge: {type: cli, command: gemini, persona: p/judge.md}
  poet: {type: cli, command: codex, persona: p/poet.md}
personas: {writer: p/writer_persona.md}
states:
  start: {type: initial, next: draft}
  check: {type: single, agent: judge, input: "d/*.md", transitions: {proceed: sum, retry: draft, halt: halt}}
  draft: {type: fan-out, agents: [claude], input: [story.md, notes.md], output: "d/{agent}.md", transitions: {all_success: check}}
  sum: {type: orchestrator-task, persona: writer, input: "d/*.md", output: s.md, transitions: {success: rhyme}}
  rhyme: {type: single, agent: poet, input: s.md, transitions: {success: done, failure: sum}}
  bare: {type: fan-out, agents: [claude]}
  done: {type: terminal, status: success}
  halt: {type: terminal, status: failed}
circuit_breaker:
  rules:
    - {name: timeout, condition: elapsed_s >= 90}
    - {name: cost_limit, condition: total_cost_usd >= 2.5}
    - {name: transition_limit, condition: transition_count >= 20}
    - {name: cycle_detection}
  safety_limits: {max_runtime_hard: 3600}
logging: {runs_dir: r, run_id_format: x, capture: {prompts: true, tokens: true}, retention_days: 7}
settings: {retry_count: 1, timeout_per_agent: 60, parallel_fanout: true}
"""


def native(tmp_path: Path, text: str) -> str:
    path = tmp_path / "flow.yaml"
    path.write_text(text)
    return converted(path)


@pytest.mark.req("R040")
def test_a_states_format_file_with_all_its_keys_is_translated(tmp_path: Path) -> None:
    translated = native(tmp_path, STATES)
    for part in (
        "time: 90s",
        "usd: 2.5",
        "cycle: 2",
        "limits: {time: 1h}",
        "price: {input: 1.5}",
        "vram: [0, 6]",
        "keep: 7d",
        'context: ["${{ inputs.story }}", "${{ inputs.notes }}"]',
        "on: {passed: end, else: sum}",
        "near: 80%",
        "ask: orchestrator",
        "system: p/writer_persona.md",
        "prompts: true",
        "timeout: 1m",
        "retry: {attempts: 2, transient: 1}",
        "role: poet",
        "## sum\n",
    ):
        assert part in translated
    assert translated.index("  draft:") < translated.index("  check:")


@pytest.mark.req("R121")
def test_a_gates_format_step_keeps_its_criterion_folder_and_reviewer(tmp_path: Path) -> None:
    text = """
workflow: {id: w, name: W}
steps:
  - {id: A, agent: {type: planner, worktree: ./app/}, success_criterion: make test exits 0, signal: {type: stdout_exit}, gate: G}
  - {id: B, agent: {type: planner, launch: interactive}, success_criterion: it is good}
gates:
  - {id: G, reviewer: {level: human}}
"""
    translated = native(tmp_path, text)
    for part in ("- run: make test", "dir: app", "human: ", "only part of the prompt", "agent: human"):
        assert part in translated
    assert "done:" not in translated


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "name: s\nalgorithm: {}\npriority_order: []\ntoken_budget: 9\ninputs: [target_file, git_diff]",
            "diff: true",
        ),
        (
            "name: security_audit\nalgorithm: {}\npriority_order: []\ntoken_budget: 9\ninputs: []",
            "strategy: security_audit",
        ),
        ("git: {auto_branch: true}", 'git: {branch: "ai/${{ run.id }}", on_failure: stash}'),
        ("git: {branch_pattern: x}", "has no effect: auto_branch is not true"),
        (
            "workers: {a: {type: ssh}}\nroles: {r: {preferred_worker: a, fallback_worker: b}}",
            "runs_on: [a, b]",
        ),
        ("policies: {p: {max_attempts: 2, jitter: 0.1}}\nsteps: {plan: {retry_policy: p}}", "jitter: 10%"),
        ("continuity: {max_continuation_turns: 2, continuation_roles: [planner]}", "turns: 2"),
        (
            "limits: {step_timeout_seconds: 3, workflow_max_steps: 9, default_token_budget: 5}",
            "transitions: 9",
        ),
        (
            "approval_gates: {a: {action: auto_approve, conditions: [file_count < 3, no_breaking_changes]}}",
            "change.files < 3 and not touched('**/api/**', 'interfaces/**')",
        ),
        (
            "approval_gates: {a: {action: require_approval, conditions: [changes_auth_code], timeout_minutes: 5}}",
            "veto: 5m",
        ),
        (
            "approval_gates: {a: {action: notify_and_timeout, notification: slack}}",
            "your own configuration defines under notify",
        ),
        ("cli: claude\ncontext: {include: [$INTERFACE_DEFINITIONS, a]}", "include: [$INTERFACES, a]"),
        ("name: b\nextends: a\nsteps: {commit: {type: orchestrator_gate}}", "commit: {}"),
        (
            "extends: reviewer\ngates: [{command: make}]\nflags: [-p, --model=opus, --output-format, json]",
            "model: opus",
        ),
        ("phase_output: {components: [{id: a, files: [x], depends_on: [b]}]}", "needs: [b]"),
        ("workflow: {template: mvp, overrides: {plan: {role: planner}}, disable: [x]}", "disable: [x]"),
        (
            "name: b\nhooks: {pre_commit: [lint]}\nsteps: {commit: {type: orchestrator_gate, command: git commit}}",
            "gates: [lint]",
        ),
        (
            "name: b\nextends: a\nsteps: {x: {roles: [a_external], position: before plan}}",
            "a_external: {extends: a",
        ),
        (
            "name: b\nsteps: {x: {role: planner, next: x, human_approval: true, context_scope: component_only}}",
            "strategy: component_only",
        ),
        (
            "name: b\nsteps: {plan: {role: planner, outputs: [file_targets], next: x}, x: {role: planner, context_scope: component_only}}",
            'target: ["${{ steps.plan.output.file_targets }}"]',
        ),
        (
            "projects: [{name: a, path: ./a, roles: [r-1]}, {name: b}]\ncross_project_dependencies: {a: {depends_on: [b]}}",
            "r_1",
        ),
    ],
)
def test_a_supervisor_format_file_is_translated_to_its_native_form(
    tmp_path: Path, text: str, part: str
) -> None:
    assert part in native(tmp_path, text)

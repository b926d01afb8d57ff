"""Samples of the supervisor format."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflow.dialects.samples.sample import Map, Sample


def supervised(step: Map) -> Map:
    others = {
        "plan": {"role": "planner", "next": "it"},
        "end_it": {"gate_type": "orchestrator", "command": "make"},
    }
    return {"workflow": {"initial_step": "plan", "steps": {**others, "it": step}}}  # fmt: skip


def role(mapping: Map) -> Map:
    return {"cli": "claude", **mapping}


SUPERVISED_STEP: Map = {
    "type": "human_gate",
    "gate_type": "human",
    "description": "Words.",
    "next": "plan",
    "on_fail": "plan",
    "terminal": True,
    "required": True,
    "human_approval": True,
    "max_retries": 4,
    "outputs": ["text"],
    "config": {"coverage": 80},
    "retry_policy": {"max_attempts": 5},
    "context_scope": "component_only",
    "parallel": True,
    "role": "implementer",
    "roles": ["reviewer", "reviewer_gemini"],
    "command": "make test",
    "gate": "OK",
    "on_reject": "plan",
}
SUPERVISOR: Mapping[str, Sample] = {
    "the top level of a workflow": Sample(
        lambda it: it or supervised({"role": "planner"}), {}, supervised({"role": "tech_lead"})
    ),
    "workflow": Sample(
        lambda it: {"workflow": {"steps": {"plan": {"role": "planner"}, "more": {"role": "tech_lead"}}, **it}},
        {},
        {
            "initial_step": "more",
            "steps": {"plan": {"role": "tech_lead"}},
            "name": "other",
            "description": "Words.",
            "template": "mvp",
        },
    ),
    "the top level of a template": Sample(
        lambda it: {"steps": {"plan": {"role": "planner", "next": "commit"}, "commit": {"type": "orchestrator_gate", "command": "git commit"}}, **it},
        {"name": "w"},
        {
            "name": "other",
            "description": "Words.",
            "extends": "mvp",
            "settings": {"human_approval": True},
            "steps": {"plan": {"role": "tech_lead", "terminal": True}},
            "hooks": {"pre_commit": ["lint"]},
            "disable": ["plan"],
        },
    ),
    "settings of a template": Sample(
        lambda it: {"name": "w", "extends": "mvp", "settings": it, "steps": {"plan": {"role": "planner"}}},
        {},
        {
            "human_approval": True,
            "require_tests": True,
            "security_review": True,
            "auto_pr": True,
            "require_changelog": True,
            "parallel_reviews": False,
            "dual_review": True,
            "audit_trail": False,
        },
    ),
    "hooks": Sample(
        lambda it: {"name": "w", "hooks": it, "steps": {"commit": {"type": "orchestrator_gate", "command": "git commit"}}},
        {},
        {"pre_commit": ["lint"]},
    ),
    "steps.NAME, with a role": Sample(supervised, {"role": "planner"}, SUPERVISED_STEP),
    "steps.NAME, a review": Sample(supervised, {"role": "reviewer"}, {**SUPERVISED_STEP, "parallel": False}),
    "steps.NAME, with a command or type: orchestrator_gate": Sample(
        supervised, {"gate_type": "orchestrator", "command": "make lint"}, {**SUPERVISED_STEP, "gate_type": "human"}
    ),
    "steps.NAME, type: human_gate": Sample(supervised, {"type": "human_gate"}, {**SUPERVISED_STEP, "human_approval": False}),
    "steps.NAME.retry_policy": Sample(
        lambda it: supervised({"role": "planner", "retry_policy": {"max_attempts": 2, **it}}),
        {},
        {"max_attempts": 5, "on_failure": "ask_human"},
    ),
    "a role": Sample(
        role,
        {},
        {
            "name": "r",
            "extends": "reviewer",
            "description": "Words.",
            "cli": "codex",
            "system_prompt_additions": "Be strict.",
            "context": {"include": ["a"]},
            "allowed_tools": ["read_file"],
            "gates": [{"name": "lint", "command": "make"}],
            "strengths": ["x"],
            "config": {"a": 1},
            "preferred_worker": "gpu",
            "fallback_worker": "local",
            "version": "1.0",
            "author": "ada",
            "flags": ["--model", "opus"],
            "template": "t.md",
            "dependencies": [{"name": "base"}],
        },
    ),
    "context of a role": Sample(
        lambda it: role({"context": it}),
        {},
        {
            "include": ["a"],
            "always_include": ["b"],
            "exclude": ["c"],
            "git_diff": True,
            "token_budget": 9,
        },
    ),
    "gates of a role": Sample(
        lambda it: role({"gates": [{"command": "make", **it}]}),
        {},
        {"name": "lint", "command": "make lint", "on_fail": "block"},
    ),
    "the top level of a configuration": Sample(
        lambda it: {"continuity": {}, **it},
        {},
        {
            "roles": {"r": {"cli": "claude"}},
            "limits": {"workflow_max_steps": 9},
            "continuity": {"continuation_roles": ["planner"]},
            "policies": {"p": {"max_attempts": 2}},
            "steps": {"plan": {"retry_policy": "p"}},
            "git": {"auto_branch": True},
            "workers": {"gpu": {"type": "ssh"}},
            "adaptive": {"locked_assignments": {"planner": "claude"}},
            "approval_gates": {"low": {"action": "auto_approve", "conditions": ["file_count < 3"]}},
        },
    ),
    "limits": Sample(
        lambda it: {"limits": {"workflow_max_steps": 2, **it}},
        {},
        {
            "step_timeout_seconds": 9,
            "step_max_retries": 9,
            "workflow_max_steps": 9,
            "default_token_budget": 9,
            "max_token_budget": 9,
            "retry_base_delay_seconds": 9,
            "retry_max_delay_seconds": 9,
            "retry_exponential_base": 9,
        },
    ),
    "continuity": Sample(
        lambda it: {"continuity": {"continuation_roles": ["planner"], **it}},
        {},
        {
            "allow_continuation": False,
            "max_continuation_turns": 9,
            "continuation_roles": ["tech_lead"],
            "default_mode": "continued",
        },
    ),
    "policies.NAME": Sample(
        lambda it: {"policies": {"p": {"max_attempts": 2, **it}}},
        {},
        {
            "max_attempts": 9,
            "initial_delay_seconds": 9,
            "backoff_multiplier": 9,
            "max_delay_seconds": 9,
            "jitter": 0.5,
        },
    ),
    "steps.NAME of retry policies": Sample(
        lambda it: {"policies": {"p": {"max_attempts": 2}}, "steps": {"plan": it}}, {}, {"retry_policy": "p"}
    ),
    "git": Sample(
        lambda it: {"continuity": {}, "git": it},
        {"auto_branch": True},
        {"auto_branch": True, "branch_pattern": "ai/{task}", "auto_commit": True, "dry_run_preview": True},
    ),
    "workers.NAME": Sample(
        lambda it: {"workers": {"gpu": it}},
        {},
        {
            "type": "ssh",
            "host": "h",
            "user": "u",
            "key_file": "k",
            "workflow": "w",
            "capabilities": ["gpu"],
            "default": False,
        },
    ),
    "adaptive": Sample(
        lambda it: {"adaptive": it},
        {},
        {
            "locked_assignments": {"planner": "claude"},
            "enabled": True,
            "min_samples_before_adapt": 9,
            "adaptation_interval_days": 9,
            "max_deviation_from_default": 0.2,
        },
    ),
    "approval_gates.NAME": Sample(
        lambda it: {"approval_gates": {"low": {"action": "notify_and_timeout", **it}}},
        {},
        {
            "conditions": ["file_count < 3"],
            "action": "auto_approve",
            "timeout_minutes": 9,
            "approvers": ["ada"],
            "min_approvers": 1,
            "notification": "slack",
        },
    ),
    "a packing strategy": Sample(
        lambda it: {"name": "n", "algorithm": {}, "priority_order": [], "token_budget": 9, **it},
        {},
        {
            "name": "reviewer_diff",
            "inputs": ["git_diff"],
            "token_budget": 8,
            "algorithm": {"1": "x"},
            "priority_order": ["a"],
            "description": "Words.",
        },
    ),
    "feature": Sample(
        lambda it: {"feature": {"phases": [{"id": "P", "components": [{"id": "C", "files": ["a"]}]}], **it}},
        {},
        {"id": "F", "title": "T", "description": "Words.", "phases": [{"id": "Q", "components": [{"id": "C", "files": ["a"]}]}]},
    ),
    "feature.phases": Sample(
        lambda it: {"feature": {"phases": [{"id": "P", "sequence": 2, "components": [], **it}, {"id": "Z", "sequence": 3, "components": []}]}},
        {},
        {
            "id": "Q",
            "title": "T",
            "description": "Words.",
            "sequence": 9,
            "components": [{"id": "C", "files": ["a"]}],
            "interfaces": [{"name": "I", "type": "openapi", "definition": "x"}],
        },
    ),
    "phases.components": Sample(
        lambda it: {"feature": {"phases": [{"id": "P", "components": [{"id": "C", "files": ["a"], **it}]}]}},
        {},
        {"id": "D", "title": "T", "description": "Words.", "files": ["b"], "depends_on": ["E"]},
    ),
    "phases.interfaces": Sample(
        lambda it: {"feature": {"phases": [{"id": "P", "components": [], "interfaces": [{"name": "I", **it}]}]}},
        {},
        {"name": "J", "type": "openapi", "definition": "x"},
    ),
    "the top level of a file of projects": Sample(
        lambda it: {"projects": [{"name": "api", "path": "api", "roles": ["planner"]}, {"name": "web"}], **it},
        {},
        {"projects": [{"name": "web"}], "cross_project_dependencies": {"web": {"depends_on": ["api"]}}},
    ),
    "projects": Sample(
        lambda it: {"projects": [{"name": "api", **it}]}, {}, {"name": "web", "path": "web", "roles": ["planner"]}
    ),
    "cross_project_dependencies.NAME": Sample(
        lambda it: {"projects": [{"name": "api"}, {"name": "web"}], "cross_project_dependencies": {"web": it}},
        {},
        {"depends_on": ["api"]},
    ),
}  # fmt: skip

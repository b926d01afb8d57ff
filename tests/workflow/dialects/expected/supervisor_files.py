"""Roles, settings, policies and features of the supervisor format."""

from __future__ import annotations

from typing import Any

from tests.workflow.dialects.expected.kinds import Expectation, Key, Loads

CONFIG = ".podium/config.yaml"
BUILD = """podium: 1
name: uses
inputs: {task: string}
steps:
  feature:
    build: feature.yaml
    component: {role: implementer, prompt: "{{ component.id }}"}
"""


def role(name: str, *key: Any, gives: dict[str, Any], also: tuple[str, ...] = ()) -> Loads:
    return Loads(
        key=key,
        kind="role",
        path=f".podium/roles/{name}.yaml",
        user=f"podium: 1\nname: uses\nsteps:\n  one: {{role: {name}, prompt: Do it.}}\n",
        gives={f"roles/{name}/{path}": value for path, value in gives.items()},
        also=also,
    )


def config(*key: Any, gives: dict[str, Any], also: tuple[str, ...] = (), **more: Any) -> Loads:
    return Loads(key=key, kind="configuration", path=CONFIG, gives=gives, also=also, **more)


USES_ALL = "podium: 1\nname: uses\nsteps:\n  one: {role: ROLE, prompt: Do it.}\n"
ETL: Key = ("S3", "Data Pipeline / ETL", 2)

EXPECTATIONS: tuple[Expectation, ...] = (
    role(
        "trader",
        *("S3", "Role Definition Schema", 1),
        gives={
            "context/always/0": "config/risk_limits.py",
            "context/exclude/0": "**/backtest/**",
            "gates/0/on_fail": "block",
            "gates/0/run": "python -m risk.validate",
            "tools/0": "read",
        },
    ),
    role("risk_manager", *("S3", "Trading/Finance Platform", 1), gives={"gates/0/name": "backtest_risk"}),
    role("quant_dev", *("S3", "Trading/Finance Platform", 2), gives={"context/always/1": "libs/signals/**"}),
    role(
        "ui_designer",
        *("S3", "Web Application", 1),
        gives={"agent": "claude", "context/exclude/0": "**/*.test.*"},
    ),
    role("state_architect", *("S3", "Web Application", 2), gives={"touches": []}),
    role("cli_ux_dev", *("S3", "CLI Tool Development", 1), gives={"touches/0": "**"}),
    role("schema_guard", *("S3", "Data Pipeline / ETL", 1), gives={"touches": []}),
    role("etl_architect", *ETL, gives={"context/always/0": "dags/**"}),
    role("api_dev", *("S3", "Backend API Development", 1), gives={"touches/0": "**"}),
    role("security_auditor", *("S3", "Security Auditing", 1), gives={"agent": "claude"}),
    role("infra_reviewer", *("S3", "Infrastructure / DevOps", 1), gives={"context/always/2": "k8s/**"}),
    role(
        "test_engineer",
        *("S3", "Test Engineer Role Definition", 1),
        gives={"with/min_tests_per_component": 3, "gates/0/run": "pytest --cov --cov-fail-under=70"},
    ),
    role("risk_manager", *("S3", "3. Role Marketplace", 1), gives={"context/always/0": "**/risk*.py"}),
    config(
        *("S3", "Strategy Interface", 1),
        gives={"context/strategy": "implementer_targeted", "context/budget": 25000, "context/diff": True},
    ),
    Loads(
        key=("S3", "Interface-First Locking (Critical for Parallelism)", 1),
        kind="feature",
        path="feature.yaml",
        user=BUILD,
        gives={"steps/feature/build": "feature.yaml"},
        also=(
            "file: types/LoginRequest.d.ts",
            "file: api/login_endpoint.yaml",
            "needs: [user_model]",
        ),
    ),
    Loads(
        key=("S3", "Explicit Declaration", 1),
        kind="feature",
        path="feature.yaml",
        user=BUILD,
        gives={"steps/feature/build": "feature.yaml"},
        also=("needs: [backend.auth_endpoints]", "touches: [models/user.py, migrations/001_users.py]"),
    ),
    config(
        *("S3", "Role Configuration", 1),
        user=USES_ALL.replace("ROLE", "reviewer_gemini"),
        gives={"roles/reviewer_gemini/context/diff": True, "roles/reviewer_gemini/context/budget": 15000},
        files={"prompts/review_strict.j2": "Be strict about {{ inputs.task }}."},
        also=("include: [$TARGET, $TARGET_IMPORTS]", "agent: codex"),
    ),
    config(
        *("S3", "Safety & Limits", 1),
        gives={
            "limits/transitions": 50,
            "retries/default/attempts": 4,
            "retries/default/backoff/max": "1m",
            "defaults/timeout": "5m",
            "defaults/retry": "default",
            "breaker/visits": 4,
            "context/budget": 20000,
            "context/max_budget": 50000,
        },
    ),
    config(
        *("S3", "3. Conversation Continuity", 1),
        user=USES_ALL.replace("ROLE", "planner"),
        gives={"roles/planner/continuity/turns": 3},
        also=("investigator",),
    ),
    config(
        *("S3", "Retry Policy Configuration", 1),
        gives={
            "retries/aggressive/attempts": 5,
            "retries/conservative/backoff/max": "2m",
            "retries/default/backoff/jitter": "10%",
            "defaults/steps/implement/retry": "aggressive",
        },
    ),
    config(
        *("S3", "5. Git Integration", 1),
        user="podium: 1\nname: uses\ninputs: {task: string}\nsteps: {one: {run: ['true']}}\n",
        gives={"steps/git_start/gates/0/name": "preview"},
        also=("ai/${{ run.id }}-${{ slug(inputs.task, 40) }}",),
    ),
    config(
        *("S3", "2. Remote Execution", 1),
        user=USES_ALL.replace("ROLE", "investigator"),
        gives={"roles/investigator/runs_on": ["cloud_gpu", "local"]},
    ),
    config(
        *("S3", "4. Metrics & Adaptive Role Assignment", 1),
        user=USES_ALL.replace("ROLE", "planner"),
        gives={"roles/planner/agent": "claude"},
    ),
    config(
        *("S3", "5. Human Approval Gates", 1),
        gives={
            "policies/approval/0/approvals": 2,
            "policies/approval/1/by": ["tech_lead", "security_team"],
            "policies/approval/2/level": "auto",
            "policies/approval/3/veto": "30m",
            "policies/approval/4": {"level": "human"},
        },
    ),
)

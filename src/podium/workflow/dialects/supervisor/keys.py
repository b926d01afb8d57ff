"""The keys of the supervisor format, and what becomes of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podium.workflow.dialects.key_register import (
    FOR_READERS,
    Key,
    Part,
    refused,
    translated,
    without_effect,
)

FILE: Final = Part("the top level of a workflow", translated(workflow="the workflow"))
WORKFLOW: Final = Part(
    "workflow",
    translated(
        initial_step="the first step",
        steps="`steps`",
        name="`name`",
        description="`description`",
        template="`extends`",
        overrides="`steps` that change those of the template",
        disable="`disable`",
    ),
)
TEMPLATE: Final = Part(
    "the top level of a template",
    translated(
        name="`name`",
        description="`description`",
        extends="`extends`",
        settings="`inputs` that are true or false, `switches` and `reviews`",
        steps="`steps`",
        hooks="gates of the step `commit`",
        disable="`disable`",
    ),
)
SWITCHES: Final = ("human_approval", "require_tests", "security_review", "auto_pr", "require_changelog")
"""Settings that become inputs; `switches` adds what they require where no step has it."""
SETTINGS: Final = Part(
    "settings of a template",
    {
        **translated(
            **{name: f"`inputs.{name}`, and `switches: [{name}]`" for name in SWITCHES},
            parallel_reviews="`reviews.parallel`",
            dual_review="`reviews.dual`: each review gets a second reviewer of another vendor",
        ),
        "audit_trail": without_effect("every run has an audit.log", True),
    },
)
HOOKS: Final = Part("hooks", translated(pre_commit="gates of the step `commit`"))

ANY_STEP: Final = {
    **translated(
        type="the kind of the step",
        gate_type="the kind of the step",
        description="`description`, the question of a human gate",
        next="`on.passed`",
        on_fail="`on.failed`",
        terminal="`on: {passed: end}`",
        position="`after` or `before` a step of the template",
        required="`required`",
        human_approval="a person approves, as a gate or as a step before a commit",
        max_retries="`retry.attempts`, or `retry.visits` where the step does not work itself",
    ),
}
STRATEGIES: Final = frozenset(
    "component_only planner_docset implementer_targeted reviewer_diff security_audit investigator_wide".split()
)
NOT_WORK: Final = {
    name: refused("only a step with a role that works has it", "remove it")
    for name in ("outputs", "config", "retry_policy", "context_scope")
}
STEPS: Final[Mapping[str, Part]] = {
    "work": Part(
        "steps.NAME, with a role",
        {
            **ANY_STEP,
            **translated(
                role="`role`",
                outputs="`output.schema`; a role that changes files has these as its output",
                config="`with`; `tdd`, `coverage` and `min_tests_per_component` are also a gate",
                retry_policy="`retry`",
                context_scope="`context.strategy`: `component_only`, or the name of another strategy",
            ),
            "parallel": without_effect("a step with one role is one worker", False),
        },
    ),
    "review": Part(
        "steps.NAME, a review",
        {
            **ANY_STEP,
            **NOT_WORK,
            **translated(
                role="`review`",
                roles="`review` with a list",
                gate="nothing: a step with it is a review, and the verdict decides",
                on_reject="`of`, and `on.rejected`",
                parallel="`parallel`: false is one reviewer after the other",
            ),
        },
    ),
    "command": Part(
        "steps.NAME, with a command or type: orchestrator_gate",
        {
            **ANY_STEP,
            **NOT_WORK,
            **translated(command="`run`; `git commit` is `git: {land: ...}`"),
            "outputs": without_effect("the output of a command is what it prints"),
            "role": refused("Podium runs this step itself", "write a step of its own for the role"),
            "roles": refused("Podium runs this step itself", "write a step of its own for the review"),
            "gate": without_effect("the exit code of the command decides"),
            "on_reject": refused("a command cannot be rejected", "write on_fail"),
            "parallel": without_effect("a command is one process", False),
        },
    ),
    "approval": Part(
        "steps.NAME, type: human_gate",
        {
            **ANY_STEP,
            **NOT_WORK,
            **translated(on_reject="`on.rejected`"),
            "role": refused("a person decides this step", "write a step of its own for the role"),
            "roles": refused("a person decides this step", "write a step of its own for the review"),
            "command": refused("a person decides this step", "write a step of its own for the command"),
            "gate": without_effect("the answer of the person decides"),
            "human_approval": without_effect("the step itself asks a person", True),
            "parallel": without_effect("a person answers one question", False),
        },
    ),
}
RETRY_POLICY: Final = Part(
    "steps.NAME.retry_policy",
    translated(max_attempts="`retry.attempts`", on_failure="`ask_human` is `retry.on_exhausted: human`"),
)

ROLE: Final = Part(
    "a role",
    {
        **translated(
            name=FOR_READERS,
            extends="`extends`",
            description="`description`",
            cli="`agent`",
            system_prompt_additions="`system`",
            context="`context`",
            allowed_tools="`tools`",
            gates="`gates`",
            strengths="`strengths`",
            flags="`model` for `--model`; options that the type of the agent gives itself need no other form, others are refused",
            template="`prompt`: a file in `prompts/`, for steps of this role",
            config="`with`; `tdd`, `coverage` and `min_tests_per_component` are also a gate",
            preferred_worker="`runs_on`",
            fallback_worker="`runs_on`",
            version=FOR_READERS,
            author=FOR_READERS,
            dependencies=FOR_READERS,
        ),
    },
)
CONTEXT: Final = Part(
    "context of a role",
    translated(
        include="`context.include`; `git diff` is `context.diff`",
        always_include="`context.always`",
        exclude="`context.exclude`",
        git_diff="`context.diff`",
        token_budget="`context.budget`",
    ),
)
ROLE_GATE: Final = Part("gates of a role", translated(name="`name`", command="`run`", on_fail="`on_fail`"))

CONFIGURATION: Final = Part(
    "the top level of a configuration",
    {
        **translated(
            roles="`roles`",
            limits="`limits`, `retries`, `defaults`, `breaker` and `context`",
            continuity="`continuity` of roles",
            policies="`retries`",
            steps="`defaults.steps`",
            git="`git`",
            workers="see its keys below",
            adaptive="`agent` of roles",
            approval_gates="`policies.approval`, and `git.approval`: people approve by it before anything lands",
        )
    },
)
LIMITS: Final = Part(
    "limits",
    translated(
        step_timeout_seconds="`defaults.timeout`",
        step_max_retries="`retries.default.attempts` and `breaker.visits`, each one more",
        workflow_max_steps="`limits.transitions`",
        default_token_budget="`context.budget`",
        max_token_budget="`context.max_budget`",
        retry_base_delay_seconds="`retries.default.backoff.first`",
        retry_max_delay_seconds="`retries.default.backoff.max`",
        retry_exponential_base="`retries.default.backoff.times`",
    ),
)
CONTINUITY: Final = Part(
    "continuity",
    {
        **translated(
            allow_continuation="`continuity` of the roles, unless it is false",
            max_continuation_turns="`continuity.turns`",
            continuation_roles="the roles with `continuity`",
        ),
        "default_mode": without_effect(
            "an attempt is a new conversation unless its role has continuity", "fresh"
        ),
    },
)
POLICY: Final = Part(
    "policies.NAME",
    translated(
        max_attempts="`retries.NAME.attempts`",
        initial_delay_seconds="`retries.NAME.backoff.first`",
        backoff_multiplier="`retries.NAME.backoff.times`",
        max_delay_seconds="`retries.NAME.backoff.max`",
        jitter="`retries.NAME.backoff.jitter`",
    ),
)
POLICY_OF_STEP: Final = Part(
    "steps.NAME of retry policies", translated(retry_policy="`defaults.steps.NAME.retry`")
)
GIT: Final = Part(
    "git",
    translated(
        auto_branch="`git.branch`, and `git.on_failure: stash`",
        branch_pattern="`git.branch`; `{task_id}` is `run.id`, `{description}` the words of the task",
        auto_commit="`git.commit`: work lands although no step says so",
        dry_run_preview="`git.preview`",
    ),
)
WORKERS: Final = Part(
    "workers.NAME",
    {
        name: without_effect("everything runs on this machine")
        for name in ("type", "host", "user", "key_file", "workflow", "capabilities")
    }
    | {"default": without_effect("everything runs on this machine", True)},
)
ADAPTIVE: Final = Part(
    "adaptive",
    {
        **translated(
            locked_assignments="`agent` of the roles",
            enabled="`adaptive.policy`",
            min_samples_before_adapt="`adaptive.min_samples`",
            adaptation_interval_days="`adaptive.interval`",
            max_deviation_from_default="`adaptive.max_deviation`",
        ),
    },
)
APPROVAL: Final = Part(
    "approval_gates.NAME",
    {
        **translated(
            conditions="`when` of a rule in `policies.approval`",
            action="`level`",
            timeout_minutes="`veto`",
            approvers="`by`",
            min_approvers="`approvals`",
        ),
        "notification": without_effect(
            "messages go to the channels that your own configuration defines under notify"
        ),
    },
)
STRATEGY: Final = Part(
    "a packing strategy",
    {
        **translated(
            name="`context.strategy`",
            inputs="`context.include` and `context.diff`",
            token_budget="`context.budget`",
        ),
        "algorithm": without_effect("how files are chosen is built in"),
        "priority_order": without_effect("the order of the parts is built in"),
        "description": Key("translated", FOR_READERS),
    },
)

FEATURE: Final = Part(
    "feature",
    translated(id="`id`", title="`title`", description="`description`", phases="`phases`, in their sequence"),
)
PHASE: Final = Part(
    "feature.phases",
    translated(
        id="the name of the phase",
        title="`title`",
        description="`description`",
        sequence="the order of the phases",
        components="`components`",
        interfaces="`interfaces`",
    ),
)
COMPONENT: Final = Part(
    "phases.components",
    translated(
        id="the name of the component",
        title="`description` where there is none",
        description="`description`",
        files="`touches`",
        depends_on="`needs`",
    ),
)
INTERFACE: Final = Part(
    "phases.interfaces",
    translated(
        name="the name of the file",
        type="the place of the file, and the `check` of it",
        definition="its `text`",
    ),
)
PROJECTS: Final = Part(
    "the top level of a file of projects",
    translated(projects="a loop over them", cross_project_dependencies="`needs` of the loop"),
)
PROJECT: Final = Part("projects", translated(name="its key", path="`dir` and `touches`", roles="`role`"))
DEPENDENCIES: Final = Part("cross_project_dependencies.NAME", translated(depends_on="`needs`"))

REGISTER: Final = (
    FILE,
    WORKFLOW,
    TEMPLATE,
    SETTINGS,
    HOOKS,
    *STEPS.values(),
    RETRY_POLICY,
    ROLE,
    CONTEXT,
    ROLE_GATE,
    CONFIGURATION,
    LIMITS,
    CONTINUITY,
    POLICY,
    POLICY_OF_STEP,
    GIT,
    WORKERS,
    ADAPTIVE,
    APPROVAL,
    STRATEGY,
    FEATURE,
    PHASE,
    COMPONENT,
    INTERFACE,
    PROJECTS,
    PROJECT,
    DEPENDENCIES,
)

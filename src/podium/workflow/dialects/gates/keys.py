"""The keys of the gates format, and what becomes of each."""

from __future__ import annotations

from typing import Final

from podium.workflow.dialects.key_register import Part, translated

FILE: Final = Part(
    "the top level", translated(workflow="the name of the workflow", steps="`steps`", gates="`gates`")
)
HEADER: Final = Part(
    "workflow",
    translated(
        id="`name`",
        name="`description` where there is none, and the goal in prompts",
        description="`description`, and the goal in prompts",
        context_files="`context`",
    ),
)
STEP: Final = Part(
    "steps",
    translated(
        id="the name of the step where it has none",
        name="the name of the step",
        agent="`role`, or `agent: human`",
        inputs="`context`",
        outputs="`output.files`",
        success_criterion="a gate for COMMAND exits 0, `output.files` for a file that must exist; any other sentence is only part of the prompt",
        signal="`done`",
        gate="`gates`, or a step of its own if it leads elsewhere",
    ),
)
AGENT: Final = Part(
    "steps.agent",
    translated(
        type="`role`",
        launch="`interactive` is `agent: human`; `headless` and `subagent` run the role's agent",
        worktree="`dir`, and the only folder that may change",
        context="`context`",
    ),
)
SIGNAL: Final = Part(
    "steps.signal", translated(type="the form of `done`", value="the file or the commit message it waits for")
)
GATE: Final = Part(
    "gates",
    translated(
        id="the name of the gate where it has none",
        name="the name of the gate",
        reviewer="`review` or `human`",
        on_pass="`on.passed`",
        on_fail="`on.rejected`, or another attempt",
        max_retries="`retry: {attempts: N, per: run, on_exhausted: human}`; a gate of level `human` asks a person each time",
    ),
)
REVIEWER: Final = Part(
    "gates.reviewer", translated(level="`level`; `human` asks a person", agent_type="the role that reviews")
)
ON_PASS: Final = Part("gates.on_pass", translated(next_step="`on.passed`"))
ON_FAIL: Final = Part(
    "gates.on_fail",
    translated(
        next_step="`on.rejected`",
        retry_context_path="the file of the run's `.workflow/` with the findings, which are also part of the next prompt",
    ),
)
REGISTER: Final = (FILE, HEADER, STEP, AGENT, SIGNAL, GATE, REVIEWER, ON_PASS, ON_FAIL)

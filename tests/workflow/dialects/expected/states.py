"""The blocks of the states format."""

from __future__ import annotations

from tests.workflow.dialects.expected.kinds import Blocks, Expectation, Key, Loads, Runs

PIPELINE: Key = ("S0", "workflow_config.yaml", 1)
RULES: Key = ("S0", "Rules (Config)", 1)
GATED: Key = ("S0", "Example: Adding a Quality Gate", 1)
GATES: Key = ("S0", "Multiple Quality Gate Types", 1)
APPROVAL: Key = ("S0", "Human Approval State", 1)
CHECKPOINTS: Key = ("S0", "Orchestrator Checkpoints", 1)
HARD: Key = ("S0", "Hard Limits (Safety Net)", 1)

PERSONAS = {
    f"prompts/{name}.md": f"You are {name}.\n"
    for name in (
        "writer_persona",
        "auditor_persona",
        "synthesizer_persona",
        "orchestrator_persona",
        "quality_gate_persona",
        "quality_gate_strict",
        "quality_gate_lenient",
        "tech_reviewer",
    )
}
FILES = {
    **PERSONAS,
    "input/story_input.md": "A machine that wrote.\n",
    "workflow/input/story_input.md": "A machine that wrote.\n",
}
USERS = "personas: {writer: prompts/writer_persona.md, auditor: prompts/auditor_persona.md}\n"
DRAFT = """
  draft:
    type: fan-out
    agents: [claude, gemini, codex]
    output: "drafts/{agent}_draft.md"
    transitions: {all_success: NEXT, partial_success: NEXT, all_failure: halt}
"""


def _gated(blocks: Blocks) -> str:
    """The block ends with "continue pattern": the state it leads to is terminal here."""
    return f"{blocks[GATED]}{USERS}".replace("  # ... continue pattern", "  final-audit: {type: terminal}")


def _gates(blocks: Blocks) -> str:
    text = blocks[GATES].replace("states:\n", f"states:{DRAFT.replace('NEXT', 'draft-check')}")
    first, second = 'input: "drafts/*.md"', "transitions: {proceed: NEXT, retry: draft, halt: halt}"
    for target in ("final-check", "complete"):
        text = text.replace("    # ...", f"    {first}\n    {second.replace('NEXT', target)}", 1)
    return text


def _approval(blocks: Blocks) -> str:
    agents = blocks[GATES].partition("states:")[0]
    synthesize = (
        "  synthesize:\n    type: orchestrator-task\n    persona: writer\n"
        '    output: "final/final_post.md"\n    transitions: {success: final-audit, failure: halt}\n'
    )
    return agents + USERS + blocks[APPROVAL].replace("  # ... existing states ...\n", synthesize)


EXPECTATIONS: tuple[Expectation, ...] = (
    Runs(
        key=PIPELINE,
        text=lambda blocks: blocks[PIPELINE],
        files=FILES,
        cast="- {match: {step: draft/gemini}, error: refused}\n",
        steps=("draft:partial", "cross_audit", "synthesize", "final_audit", "final_analysis"),
        artifacts=(
            "draft/claude/claude_draft.md",
            "draft/codex/codex_draft.md",
            "cross_audit/gemini/gemini_audit.md",
            "synthesize/final_post.md",
            "final_audit/claude/claude_final_audit.md",
            "final_analysis/final_analysis.md",
        ),
    ),
    Loads(
        key=RULES,
        kind="configuration",
        path=".podium/config.yaml",
        gives={
            "breaker/visits": 2,
            "breaker/cycle": 2,
            "breaker/transitions": 20,
            "breaker/time": "30m",
            "breaker/usd": 5,
            "limits/transitions": 50,
            "limits/time": "1h",
            "limits/usd": 10,
        },
    ),
    Runs(
        key=GATED,
        text=_gated,
        files=FILES,
        cast="- {match: {step: draft_check/quality_gate, visit: 1}, verdict: {decision: reject, score: 3}}\n",
        steps=(
            "draft",
            "draft_check:rejected",
            "draft~2",
            "draft_check~2",
            "cross_audit",
            "audit_check",
            "synthesize",
            "synth_check",
        ),
        artifacts=("synthesize/final_post.md",),
    ),
    Runs(key=GATES, text=_gates, files=FILES, steps=("draft", "draft_check", "final_check")),
    Runs(
        key=APPROVAL,
        text=_approval,
        files=FILES,
        answers=("reject: Shorter, please.", "approve"),
        steps=(
            "synthesize",
            "final_audit",
            "human_approval:rejected",
            "synthesize~2",
            "final_audit~2",
            "human_approval~2",
        ),
    ),
    Loads(
        key=CHECKPOINTS,
        kind="configuration",
        path=".podium/config.yaml",
        files=FILES,
        gives={
            "breaker/ask": "orchestrator",
            "breaker/disagree": 3,
            "breaker/retries": 2,
            "breaker/near": "80%",
            "breaker/complete": True,
            "roles/orchestrator/agent": "claude",
        },
    ),
    Loads(
        key=HARD,
        kind="configuration",
        path=".podium/config.yaml",
        gives={"limits/transitions": 50, "limits/time": "1h", "limits/usd": 10},
    ),
)

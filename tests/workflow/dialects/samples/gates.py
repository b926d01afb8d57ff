"""Samples of the gates format."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflow.dialects.samples.sample import Map, Sample

AGENT: Map = {"type": "implementor", "launch": "headless"}
PLAIN_GATE: Map = {"id": "G", "reviewer": {"level": "notify"}}


def gates(step: Map, gate: Map | None = None) -> Map:
    first = {"id": "A", "agent": AGENT, **({"gate": "G"} if gate else {}), **step}
    last = {"id": "B", "agent": {"type": "planner"}}
    return {"workflow": {"id": "w"}, "steps": [first, last], **({"gates": [gate]} if gate else {})}


GATES: Mapping[str, Sample] = {
    "the top level": Sample(
        lambda it: {"workflow": {"id": "w"}, "steps": [{"id": "A", "agent": AGENT, "gate": "G"}], "gates": [PLAIN_GATE], **it},
        {},
        {
            "workflow": {"id": "other"},
            "steps": [{"id": "B", "agent": AGENT, "gate": "G"}],
            "gates": [{**PLAIN_GATE, "max_retries": 4}],
        },
    ),
    "workflow": Sample(
        lambda it: {"workflow": {"id": "w", **it}, "steps": [{"id": "A", "agent": AGENT}]},
        {},
        {"id": "other", "name": "Index", "description": "Words.", "context_files": ["README.md"]},
    ),
    "steps": Sample(
        lambda it: gates(it, None if "gate" not in it else PLAIN_GATE),
        {"agent": {"type": "implementor", "launch": "interactive"}},
        {
            "id": "X",
            "name": "write-tests",
            "agent": {"type": "planner"},
            "inputs": ["a.md"],
            "outputs": ["b.md"],
            "success_criterion": "make test exits 0",
            "signal": {"type": "sentinel_file", "value": "done.txt"},
            "gate": "G",
        },
    ),
    "steps.agent": Sample(
        lambda it: gates({"agent": {**AGENT, **it}}),
        {},
        {"type": "planner", "launch": "interactive", "worktree": "app/", "context": ["a.md"]},
    ),
    "steps.signal": Sample(
        lambda it: gates({"agent": {"type": "implementor", "launch": "interactive"}, "signal": {"type": "sentinel_file", "value": "a", **it}}),
        {},
        {"type": "git_commit", "value": "b"},
    ),
    "gates": Sample(
        lambda it: gates({"gate": it.get("id", "G")}, {**PLAIN_GATE, **it}),
        {},
        {
            "id": "H",
            "name": "check",
            "reviewer": {"level": "human"},
            "on_pass": {"next_step": "DONE"},
            "on_fail": {"next_step": "B"},
            "max_retries": 4,
        },
    ),
    "gates.reviewer": Sample(
        lambda it: gates({}, {"id": "G", "reviewer": it}), {}, {"level": "human", "agent_type": "planner"}
    ),
    "gates.on_pass": Sample(lambda it: gates({}, {**PLAIN_GATE, "on_pass": it}), {}, {"next_step": "DONE"}),
    "gates.on_fail": Sample(
        lambda it: gates({}, {**PLAIN_GATE, "on_fail": it}),
        {},
        {"next_step": "B", "retry_context_path": ".workflow/feedback-{n}.md"},
    ),
}  # fmt: skip

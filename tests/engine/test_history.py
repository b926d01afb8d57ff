"""What the log keeps of all runs of a project, for whoever compares them later."""

from __future__ import annotations

import pytest

from podium.core.events import AttemptEnded
from tests.engine.kit import TEAM, Project

LOOP = "  write: {agent: w, prompt: write it, touches: [a.txt], gates: [{review: w}], retry: 3}\n"
CAST = "".join(
    f"- {{match: {{step: write, attempt: {n}}}, write: {{a.txt: v{n}}}, cost_usd: 0.5, usage: {{input: 100}}}}\n"
    f"- {{match: {{step: 'write#{n}/review/w'}}, verdict: {{decision: {word}, score: {score}}}}}\n"
    for n, word, score in ((1, "reject", 4), (2, "approve", 9))
)


@pytest.mark.req("R217")
def test_runs_calls_scores_and_iterations_are_kept_for_other_processes(project: Project) -> None:
    file = project.flow(LOOP, head=TEAM, cast=CAST)
    runs = [project.run(file)[0] for _ in range(2)]

    other = project.other()
    assert sorted(head.run for head in other.facade.runtime.heads()) == sorted(runs)
    for run in runs:
        ends = [event for event in other.events(run) if isinstance(event, AttemptEnded)]
        calls = [
            (end.path, end.attempt, (end.result or {})["agent"], end.used.tokens, end.used.usd, end.verdict)
            for end in ends
        ]
        assert [call[:5] for call in calls] == [
            ("write", 1, "w", 100, 500_000),
            ("write#1/review/w", 1, "w", 0, 0),
            ("write", 2, "w", 100, 500_000),
            ("write#2/review/w", 1, "w", 0, 0),
        ]
        assert [call[5].score for call in calls if call[5] is not None] == [4, 9]


LED = """\
  work:
    repeat: {until: steps.lead.output.done, max: 4}
    steps:
      lead: {agent: lead, prompt: "What is next?", touches: [], output: {schema: {done: bool, what: string}}}
      follow: {when: not steps.lead.output.done, agent: w, prompt: "${what}", touches: [a.txt]}
""".replace("${what}", "{{ steps.lead.output.what }}")
PLAIN = "  follow: {agent: w, prompt: Paint it., touches: [a.txt]}\n"
PAID = """\
- {match: {step: work/lead, iteration: 1}, output: {done: false, what: Paint it.}, cost_usd: 0.25}
- {match: {step: work/lead, iteration: 2}, output: {done: true, what: ''}, cost_usd: 0.25}
- {match: {prompt: Paint it}, write: {a.txt: blue}, cost_usd: 0.5}
"""


@pytest.mark.req("R233")
def test_an_agent_may_lead_and_what_that_costs_stands_beside_the_same_work_without_it(
    project: Project,
) -> None:
    team = TEAM.replace("agents:\n", "agents:\n  lead: {type: scripted, script: cast.yaml}\n")
    for name, steps in (("led", LED), ("plain", PLAIN)):
        head = team.replace("name: flow", f"name: {name}")
        _, state = project.run(project.flow(steps, head=head, cast=PAID))
        assert state.ended is not None
        assert state.ended.status == "passed"

    views, _ = project.facade.queries.runs()

    assert {view.workflow: view.usd for view in views} == {"led": 1_000_000, "plain": 500_000}

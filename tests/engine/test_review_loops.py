"""Review loops that would never end are stopped by the rule that fits, and what was best is kept: issues of every peer."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.events import ApprovalGiven, StepEntered
from podium.core.messages import Approve
from podium.core.types import Address
from podium.views.files.run_json import run_data
from podium.views.text.next_steps import next_steps
from tests.engine.kit import TEAM, Project, git, outcome

pytestmark = pytest.mark.slow

STEPS = """\
  write: {agent: w, prompt: write it, touches: [a.txt]}
  judge: {review: w, of: write, on: {rejected: write}}
  land: {git: {land: main, message: done}}
"""
ADVICE = Address("#1/!advice")


def version(visit: int, text: str) -> str:
    return f"- {{match: {{step: write, visit: {visit}}}, text: said {visit}, write: {{a.txt: {text}}}}}\n"


def verdict(visit: int, score: int, *findings: tuple[str, str]) -> str:
    found = ", ".join(
        f"{{id: {name}, severity: major, issue: {name}, status: {status}}}" for name, status in findings
    )
    said = f"{{decision: reject, score: {score}, findings: [{found}]}}"
    return f"- {{match: {{step: judge/w, visit: {visit}}}, verdict: {said}}}\n"


REVERSES = (
    "".join(version(n, f"v{n}") for n in range(1, 5))
    + verdict(1, 4, ("long", "open"))
    + verdict(2, 8, ("long", "fixed"), ("short", "open"))
    + verdict(3, 5, ("long", "open"), ("short", "fixed"))
    + verdict(4, 5, ("short", "open"))
)
OSCILLATES = (
    version(1, "one") + version(2, "two") + version(3, "one") + "".join(verdict(n, 4 + n) for n in (1, 2, 3))
)
PLATEAUS = "".join(version(n, f"v{n}") for n in range(1, 6)) + "".join(
    verdict(n, score) for n, score in ((1, 4), (2, 7), (3, 5), (4, 6), (5, 6))
)

CASES = [
    # breaker, cast, the rule that stops it, how often the writer had worked, the text that is kept
    ("{reversals: 2, visits: 9, cycle: 9, plateau: 9}", REVERSES, "reversals", 4, "v2"),
    ("{visits: 9, cycle: 9}", OSCILLATES.replace("text: said 3", "text: said 1"), "repeat", 3, "one"),
    ("{visits: 9, cycle: 9}", PLATEAUS, "plateau", 5, "v2"),
]


@pytest.mark.req("R126", "R131", "R132", "X5", "C6")
@pytest.mark.parametrize(("rules", "cast", "rule", "visits", "kept"), CASES, ids=[case[2] for case in CASES])
def test_a_review_loop_that_gets_nowhere_is_stopped_by_its_rule_and_the_best_is_kept(
    tmp_path: Path, rules: str, cast: str, rule: str, visits: int, kept: str
) -> None:
    project = Project(tmp_path)
    file = project.flow(STEPS, head=f"{TEAM}breaker: {rules}\n", cast=cast)

    run, state = project.run(file)

    (asked,) = [e for e in project.events(run) if isinstance(e, StepEntered) and e.role == "advice"]
    assert (asked.path, asked.about) == (ADVICE, rule)
    assert sum(i.place.step.name == "write" for i in state.instances.values()) == visits

    project.say(run, Approve(ADVICE, "force_complete", "ann", "good enough"))
    state = project.resume(run)

    (given,) = [e for e in project.events(run) if isinstance(e, ApprovalGiven)]
    assert (given.path, given.action, given.by, given.text) == (
        ADVICE,
        "force_complete",
        "ann",
        "good enough",
    )
    assert outcome(state, f"write~{visits + 1}") == "passed"
    assert outcome(state, "land") == "passed"
    assert git(tmp_path, "show", "main:a.txt") == kept


@pytest.mark.req("X5", "R132")
def test_a_run_has_a_ledger_of_findings_and_a_trend_and_the_writer_gets_exactly_what_is_open(
    tmp_path: Path,
) -> None:
    cast = (
        "".join(version(n, f"v{n}") for n in (1, 2, 3))
        + verdict(1, 4, ("F1", "open"), ("F2", "open"))
        + verdict(2, 6, ("F1", "fixed"), ("F2", "open"))
        + verdict(3, 8, ("F2", "fixed")).replace("reject", "approve")
    )
    project = Project(tmp_path)
    run, _ = project.run(project.flow(STEPS, head=TEAM, cast=cast))

    (found,) = run_data(project.view(run))["reviews"]
    assert (found["review"], found["trend"]) == ("judge", "improving")
    assert [(one["score"], one["open"]) for one in found["rounds"]] == [(4, 2), (6, 1), (8, 0)]
    assert [(one["id"], one["status"], one["first"], one["last"]) for one in found["findings"]] == [
        ("F1", "fixed", "judge", "judge~2"),
        ("F2", "fixed", "judge", "judge~3"),
    ]
    logs = project.root / ".podium" / "runs" / run / "agent_logs"
    told = (logs / "write~3" / "1" / "prompt.md").read_text("utf-8")
    latest = told[: told.find("Earlier, in short")]
    assert "F2 [major]: F2" in latest
    assert "F1 [major]" not in latest


@pytest.mark.req("R128", "R132")
def test_an_advisor_is_told_where_the_run_has_been_what_it_has_used_and_where_reviews_are_going(
    tmp_path: Path,
) -> None:
    """And a decision that is typed goes on by itself."""
    head = f"{TEAM}roles: {{wise: {{agent: w, system: You decide., touches: []}}}}\nbreaker: {{visits: 9, cycle: 9, ask: wise}}\n"
    advice = "- match: {prompt: breaker was hit}\n  output: {action: force_complete, reason: good enough}\n"
    project = Project(tmp_path)
    run, state = project.run(project.flow(STEPS, head=head, cast=advice + PLATEAUS))

    (folder,) = (project.root / ".podium" / "runs" / run / "agent_logs").glob("*!advice*")
    told = (folder / "1" / "prompt.md").read_text("utf-8")
    for words in (
        'the rule "plateau" of its breaker was hit',
        "Used by the run so far: ",
        "- write~5, visit 5: passed",
        'Review "judge": 5 rounds, scores 4, 7, 5, 6, 6, plateau',
    ):
        assert words in told, told
    assert outcome(state, "land") == "passed"
    assert git(tmp_path, "show", "main:a.txt") == "v2"


@pytest.mark.req("X5", "R132")
def test_when_attempts_are_used_up_the_best_scored_is_taken_and_not_the_last(tmp_path: Path) -> None:
    steps = (
        "  write: {agent: w, prompt: write it, touches: [a.txt], gates: [{name: look, review: w}],"
        " retry: {attempts: 3, on_exhausted: accept_best}}\n"
    )
    texts = {1: "one", 2: "two", 3: "three"}
    cast = "".join(
        f"- {{match: {{step: write, attempt: {n}}}, text: said {n}, write: {{a.txt: {text}}}}}\n"
        for n, text in texts.items()
    )
    project = Project(tmp_path)
    file = project.flow(steps, head=TEAM, cast=cast)
    judged = "".join(
        f"- {{match: {{step: write/look/w, prompt: '\\+{texts[n]}'}}, verdict: {{decision: reject, score: {score},"
        f" findings: [{{severity: major, issue: meh}}]}}}}\n"
        for n, score in ((1, 4), (2, 7), (3, 5))
    )
    project.write("cast.yaml", judged + cast)

    _, state = project.run(file)

    assert outcome(state, "write") == "passed"
    ending = state.instances[Address("write")].ending
    assert ending is not None and ending.tree is not None
    assert ending.reason == "exhausted"
    assert git(tmp_path, "show", f"{ending.tree}:a.txt") == "two"


@pytest.mark.req("X2", "R130")
def test_a_hard_limit_ends_with_5_and_what_was_done_before_is_kept_and_named(tmp_path: Path) -> None:
    steps = "  first: {agent: w, prompt: one, touches: [a.txt]}\n  second: {agent: w, prompt: two, touches: [b.txt]}\n"
    cast = "- {match: {step: first}, cost_usd: 0.8, write: {a.txt: kept}}\n"
    project = Project(tmp_path)
    run, state = project.run(project.flow(steps, head=f"{TEAM}limits: {{usd: 1}}\n", cast=cast))

    assert state.ended is not None
    assert (state.ended.status, state.ended.exit) == ("limited", 5)
    view = project.view(run)
    assert view.tree is not None
    assert git(tmp_path, "show", f"{view.tree}:a.txt") == "kept"
    assert f"podium diff {run}" in [hint.command for hint in next_steps(view)]
    assert "limit on usd" in (view.message or "")

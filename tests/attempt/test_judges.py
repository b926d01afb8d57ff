"""Reviewers: what they are given, what counts as a verdict, and what becomes of their findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from podium.attempt.agent.verdict import verdict_of, verdict_schema, with_ids
from podium.core.types import Tree
from podium.tasks.task import ReviewScope
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.contracts.contract import OutputFault
from tests.attempt.agent_attempts import ask
from tests.git.kit import Project, git, put

pytestmark = pytest.mark.slow

LOOP = """
    steps:
      it:
        agent: w
        prompt: Write it
        touches: ["src/**"]
        gates: [{name: look, review: [w]}]
"""
TREE = Tree("a" * 40)
GOOD = {"decision": "approve", "score": 9, "findings": [], "summary": "ok", "nonce": "n1", "tree": TREE}


@pytest.mark.req("R110", "R113")
def test_a_rejection_goes_back_to_the_writer_with_its_findings(project: Project, tmp_path: Path) -> None:
    cast = """
        - match: {step: it/look/w, attempt: 1}
          verdict:
            decision: reject
            score: 3
            summary: not yet
            findings: [{severity: major, issue: no greeting, path: src/app.py, fix: greet}, {severity: minor, issue: short}]
        - match: {step: it, prompt: '\\[major\\] \\(src/app.py\\): no greeting Suggested: greet'}
          write: {src/app.py: "print('hello')\\n"}
        - match: {step: it}
          write: {src/app.py: "x = 5\\n"}
    """
    asked, played = ask(project, tmp_path, LOOP, cast)

    assert played.ending("it").outcome == "passed"
    first = played.answer("it#1/look/w")
    assert first.verdict is not None
    assert (first.verdict.decision, first.verdict.score, first.verdict.summary) == ("reject", 3, "not yet")
    assert first.verdict.tree == played.answers("it")[0].tree
    second = asked.log("it#2/look/w", 1, "prompt.md")
    assert "Open findings of the last round" in second
    assert str(first.verdict.findings[0]["id"]) in second
    assert "+print('hello')" in second and "-----BEGIN diff " in second


PLANNED = """
    steps:
      plan: {agent: w, prompt: Plan, touches: [], output: {schema: Plan}}
      fine: {review: [w], of: plan}
      it: {agent: w, prompt: Write it}
      look: {review: [w], of: it}
"""


@pytest.mark.req("R089")
def test_a_reviewer_has_the_diff_the_changed_files_in_full_and_the_plan(
    project: Project, tmp_path: Path
) -> None:
    lines = [f"line_{n} = {n}" for n in range(40)]
    put(
        project.root,
        {"src/long.py": "x = 1\n" * 11_000, "src/forty.py": "\n".join(lines), "src/other.py": "alone"},
    )
    put(project.root, {"src/gone.py": "once", "src/bytes": "\0"})
    git(project.root, "add", ".")
    git(project.root, "commit", "-qm", "more")
    changed = "\n".join(["line_0 = 100", *lines[1:]])
    plan = {"title": "Count from 100", "summary": "s", "steps": [], "files": [], "risks": [], "questions": []}
    written = {
        "src/forty.py": changed,
        "src/long.py": "x = 2\n" * 11_000,
        "src/new.py": "new = 1",
        "src/bytes": "\0\0",
    }
    cast = [
        {"match": {"step": "plan"}, "output": plan},
        {"match": {"step": "it"}, "write": written, "delete": ["src/gone.py"]},
    ]
    asked, _ = ask(project, tmp_path, PLANNED, json.dumps(cast))

    told = asked.log("look/w", 1, "prompt.md")
    assert "+line_0 = 100" in told
    assert f"src/forty.py:\n{changed}\n-----END file " in told, "also what is far from the change"
    assert "Too long to be shown; they are in your workspace:\n-----BEGIN files " in told
    assert told.count("new = 1") == 1, "of a new file the diff has everything"
    assert "alone" not in told
    assert "The plan that it follows:\n-----BEGIN plan " in told
    assert "Count from 100" in told
    assert "The plan that it follows" not in asked.log("fine/w", 1, "prompt.md"), "it is what is judged"


@pytest.mark.req("R111")
def test_what_a_reviewer_writes_into_its_checkout_is_dropped(project: Project, tmp_path: Path) -> None:
    cast = """
        - match: {step: it/look/w}
          write: {src/app.py: "evil\\n", evil.py: x}
        - match: {step: it}
          write: {src/app.py: "x = 5\\n"}
    """
    _, played = ask(project, tmp_path, LOOP, cast)

    assert played.ending("it").outcome == "passed"
    assert played.answer("it#1/look/w").tree == played.answer("it").tree


@pytest.mark.req("R111")
def test_a_verdict_that_answers_another_request_is_never_an_approval(
    project: Project, tmp_path: Path
) -> None:
    cast = """
        - match: {step: it/look/w}
          output: {decision: approve, score: 10, findings: [], summary: yes, nonce: old, tree: old}
        - match: {step: it}
          write: {src/app.py: "x = 5\\n"}
    """
    retry = "retry: {attempts: 1, on_exhausted: fail}\n        on: {error: fail}"
    flow = LOOP.replace("[w]}]", f"[w]}}]\n        {retry}")
    _, played = ask(project, tmp_path, flow, cast)

    assert (played.ending("it").outcome, played.ending("it").reason) == ("error", "no_verdict")
    answers = played.answers("it#1/look/w")
    assert [answer.kind for answer in answers] == ["malformed"] * 2, "the same answer is not repaired again"
    assert "nonce" in (answers[0].result or {})["message"]
    assert played.ending("it#1/look").outcome == "error"


def test_a_phrase_as_the_last_line_approves_and_other_words_reject(project: Project, tmp_path: Path) -> None:
    flow = """
        steps:
          it: {agent: w, prompt: Write a poem, touches: []}
          look: {review: [c], of: it, phrase: LGTM, on: {rejected: it}}
        limits: {unknown_cost: count_tokens}
        agents:
          w: {type: scripted}
          c: {type: command, command: [sh, say.sh]}
    """
    say = 'if grep -q "is visit 2"; then echo "fine now"; echo LGTM; else echo "no rhyme"; echo "LGTM?"; fi\n'
    (project.root / "say.sh").write_text(say)
    git(project.root, "add", "say.sh")
    git(project.root, "commit", "-qm", "say")
    asked, played = ask(project, tmp_path, flow)

    first, second = played.answer("look/c"), played.answer("look~2/c")
    assert first.verdict is not None and first.verdict.decision == "reject"
    assert first.verdict.findings[0]["issue"] == "no rhyme\nLGTM?"
    assert second.verdict is not None and second.verdict.decision == "approve"
    assert "no rhyme" in asked.log("it~2", 1, "prompt.md")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"nonce": "n2"}, "does not repeat the nonce"),
        ({"tree": "b" * 40}, "is about tree b"),
        ({"score": 11}, "score: is 11, more than 10"),
        ({"score": "9"}, "score: is string, not integer"),
        ({"decision": "yes"}, 'decision: is "yes", not one of'),
        ({"findings": None}, "findings: is null, not array"),
        ({"findings": [{"issue": "x"}]}, 'findings[0]: "severity" is missing'),
        ({"approved": True}, '"approved" is not an allowed field'),
    ],
)
def test_a_verdict_counts_only_with_its_shape_nonce_and_tree(changed: dict[str, object], said: str) -> None:
    """R111"""
    assert not isinstance(verdict_of("", (True, GOOD), nonce="n1", tree=TREE), OutputFault)

    found = verdict_of("", (True, {**GOOD, **changed}), nonce="n1", tree=TREE)

    assert isinstance(found, OutputFault)
    assert said in found.message


def test_prose_around_a_verdict_is_no_verdict() -> None:
    """R111"""
    found = verdict_of('I approve. {"decision": "approve"}', (False, None), nonce="n1", tree=TREE)

    assert isinstance(found, OutputFault)


def test_outside_of_git_there_is_no_tree_to_repeat() -> None:
    found = verdict_of("", (True, {**GOOD, "tree": "none"}), nonce="n1", tree=None)

    assert not isinstance(found, OutputFault)
    assert found.tree is None


def test_the_same_finding_has_the_same_id_in_the_next_round_wherever_its_line_went() -> None:
    one = {"severity": "major", "issue": "No  test", "path": "a.py", "line": 3}
    moved = {"severity": "minor", "issue": "no test", "path": "a.py", "line": 90}
    elsewhere = {**one, "path": "b.py"}

    ids = [finding["id"] for finding in with_ids([one, elsewhere, one])]

    assert ids[0] == with_ids([moved])[0]["id"]
    assert len(set(ids)) == 3
    assert with_ids([{**one, "id": "F7"}])[0]["id"] == "F7"
    assert with_ids([{**one, "id": "../x"}])[0]["id"] == ids[0]
    assert with_ids([one])[0]["status"] == "open"


def test_the_schema_of_a_verdict_is_a_review_and_leaves_the_built_in_one_alone() -> None:
    assert set(verdict_schema()["properties"]) - set(BUILTIN["Review"]["properties"]) == {"nonce", "tree"}
    assert "nonce" not in BUILTIN["Review"]["required"]


@pytest.mark.parametrize(
    ("answer", "decision", "score", "issues"),
    [
        ({"decision": "proceed", "quality_score": 8}, "approve", 8.0, []),
        ({"decision": "Retry", "score": 4, "feedback": "Shorter"}, "reject", 4.0, []),
        ({"decision": "halt", "issues": ["no story"]}, "abort", None, ["no story"]),
        (
            {"decision": "retry", "issues": [{"severity": "odd", "issue": "x", "fix": "y"}]},
            "reject",
            None,
            ["x"],
        ),
        ({"decision": "approve", "score": 3, "findings": [{"issue": "x"}]}, "approve", 3.0, ["x"]),
    ],
)
def test_a_quality_gate_answers_in_its_own_words_or_with_a_review(
    answer: dict[str, object], decision: str, score: float | None, issues: list[str]
) -> None:
    """R111"""
    gate = ReviewScope(form="quality_gate")
    verdict = verdict_of("", (True, answer), nonce="n1", tree=TREE, review=gate)

    assert not isinstance(verdict, OutputFault)
    assert (verdict.decision, verdict.score, verdict.tree) == (decision, score, TREE)
    assert [finding["issue"] for finding in verdict.findings] == issues


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"decision": "fine"}, "answers proceed, retry or halt"),
        ({"decision": "proceed", "quality_score": 11}, "a number from 1 to 10"),
        ({"decision": "proceed", "quality_score": "high"}, "a number from 1 to 10"),
        (["proceed"], "not a JSON object"),
    ],
)
def test_a_quality_gate_with_another_answer_gives_no_verdict(answer: object, fault: str) -> None:
    verdict = verdict_of("", (True, answer), nonce="n1", tree=TREE, review=ReviewScope(form="quality_gate"))

    assert isinstance(verdict, OutputFault)
    assert fault in verdict.message


@pytest.mark.parametrize(
    ("text", "where", "approves"),
    [
        ("Fine.\nSHIP IT!", "last_line", True),
        ("Perfect! SHIP IT! Great work.", "last_line", False),
        ("ship it", "last_line", False),
        ("Perfect! SHIP IT! Great work.", "anywhere", True),
        ("ship it", "anywhere", True),
        ("Ship  it.", "anywhere", True),
        ("This needs work on shipping", "anywhere", False),
        ("my relationship items", "anywhere", False),
    ],
)
def test_a_phrase_approves_as_the_last_line_or_anywhere(
    text: str, where: Literal["last_line", "anywhere"], *, approves: bool
) -> None:
    """R104"""
    review = ReviewScope(phrase="SHIP IT!", approve=where)
    verdict = verdict_of(text, (False, None), nonce="n1", tree=TREE, review=review)

    assert not isinstance(verdict, OutputFault)
    assert (verdict.decision == "approve") is approves


def test_open_findings_are_carried_into_the_next_visit(project: Project, tmp_path: Path) -> None:
    """X5"""
    flow = """
        steps:
          it: {agent: w, prompt: Write it, gates: [{name: look, review: [w], bar: critical}]}
          test: {run: [sh, -c, "exit 1"], on: {failed: it}, when: steps.it.visit < 2}
    """
    cast = """
        - match: {step: it/look/w}
          verdict: {decision: approve, findings: [{id: M7, severity: minor, issue: rough}]}
    """
    asked, played = ask(project, tmp_path, flow, cast)

    assert played.state.ended is not None and played.state.ended.outcome == "passed"
    assert "Open findings" not in asked.log("it#1/look/w", 1, "prompt.md")
    assert "- M7 [minor]: rough" in asked.log("it~2#1/look/w", 1, "prompt.md")


@pytest.mark.req("X5")
def test_a_finding_that_a_round_does_not_mention_stays_open_for_writer_and_reviewer(
    project: Project, tmp_path: Path
) -> None:
    cast = """
        - match: {step: it/look/w, prompt: "N8 [^\\n]*: sharp"}
          verdict: {decision: approve, findings: [{id: M7, status: fixed, severity: major, issue: rough}]}
        - match: {step: it/look/w, prompt: Open findings}
          verdict: {decision: reject, findings: [{id: N8, severity: major, issue: sharp}]}
        - match: {step: it/look/w}
          verdict: {decision: reject, findings: [{id: M7, severity: major, issue: rough}]}
        - match: {step: it, attempt: 1}
          write: {src/app.py: "x = 5\\n"}
        - match: {step: it, attempt: 2}
          write: {src/app.py: "x = 6\\n"}
        - match: {step: it}
          write: {src/app.py: "x = 7\\n"}
    """
    asked, _ = ask(project, tmp_path, LOOP, cast)

    writer, reviewer = asked.log("it", 3, "prompt.md"), asked.log("it#3/look/w", 1, "prompt.md")
    for finding in ("M7 [major]: rough", "N8 [major]: sharp"):
        assert finding in writer
        assert finding in reviewer


@pytest.mark.req("X5")
def test_from_the_second_round_on_a_reviewer_is_told_what_is_new_since_the_last(
    project: Project, tmp_path: Path
) -> None:
    cast = """
        - match: {step: it/look/w, prompt: Open findings}
          verdict: {decision: approve}
        - match: {step: it/look/w}
          verdict: {decision: reject, findings: [{id: M7, severity: major, issue: rough}]}
        - match: {step: it, attempt: 1}
          write: {src/app.py: "x = 5\\n"}
        - match: {step: it}
          write: {src/new.py: "y = 6\\n"}
    """
    asked, _ = ask(project, tmp_path, LOOP, cast)

    first, second = (asked.log(f"it#{number}/look/w", 1, "prompt.md") for number in (1, 2))
    assert "since the last round" not in first
    new = second[second.index("Of this, since the last round") : second.index("Open findings")]
    assert "+y = 6" in new
    assert "+x = 5" not in new
    assert "+x = 5" in second

"""The findings over the rounds of a review, and their trend."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.payloads import Verdict
from podium.core.types import Address
from podium.views.run.findings import JudgedStep, ReviewHistory, reviews_of


def said(path: str, score: float | None, *findings: tuple[str, str]) -> JudgedStep:
    found: tuple[dict[str, Any], ...] = tuple(
        {"id": name, "status": status, "severity": "major", "path": "a.py", "issue": f"issue {name}"}
        for name, status in findings
    )
    return JudgedStep(Address(path), Verdict("reject", score, found))


def only(*judged: JudgedStep) -> ReviewHistory:
    (found,) = reviews_of(judged)
    return found


@pytest.mark.req("X5")
def test_a_finding_has_its_first_and_last_round_and_its_newest_status() -> None:
    found = only(
        said("review/w", 4, ("F1", "open"), ("F2", "open")),
        said("review~2/w", 6, ("F1", "fixed"), ("F3", "open")),
        said("review~3/w", 6, ("F3", "disputed")),
    )

    assert found.review == "review"
    assert found.rounds == ("review", "review~2", "review~3")
    assert [(one.id, one.status, one.first, one.last) for one in found.findings] == [
        ("F1", "fixed", "review", "review~2"),
        ("F2", "open", "review", "review"),
        ("F3", "disputed", "review~2", "review~3"),
    ]
    assert {(one.severity, one.path, one.by) for one in found.findings} == {("major", "a.py", "w")}
    assert found.open == (2, 2, 2)


def test_the_same_id_from_two_reviewers_is_two_findings_in_one_round() -> None:
    found = only(said("it#1/look/v", 4, ("F1", "open")), said("it#1/look/w", 8, ("F1", "fixed")))

    assert (found.review, found.scores, found.open, found.trend) == ("it/look", (6.0,), (1,), "")
    assert [(one.by, one.status) for one in found.findings] == [("v", "open"), ("w", "fixed")]


def test_rounds_of_a_review_are_visits_or_attempts() -> None:
    found = reviews_of(
        [
            said("a", 1),
            said("it#1/look/w", 5),
            said("other/w", 3),
            said("it#2/look/w", 6),
            said("it~2#1/look/w", 7),
        ]
    )

    assert [(one.review, len(one.rounds)) for one in found] == [("", 1), ("it/look", 3), ("other", 1)]


@pytest.mark.req("R132", "X5")
@pytest.mark.parametrize(
    ("scores", "still_open", "trend"),
    [
        ((4, 7), (2, 2), "improving"),
        ((4, 7, 7), (2, 2, 1), "plateau"),
        ((4, 7, 5, 6), (2, 2, 2, 2), "plateau"),
        ((4, 7, 5), (2, 1, 1), "diverging"),
        ((None, None), (3, 1), "improving"),
        ((None, None), (1, 1), "plateau"),
        ((None, None), (1, 3), "diverging"),
        ((None, 5), (1, 3), "diverging"),
        ((5,), (1,), ""),
    ],
)
def test_a_trend_depends_on_scores_else_on_open_findings(
    scores: tuple[float | None, ...], still_open: tuple[int, ...], trend: str
) -> None:
    most = max(still_open)
    rounds = [
        said(
            f"r~{number}/w",
            score,
            *((f"F{n}", "open" if n < count else "fixed") for n in range(most)),
        )
        for number, (score, count) in enumerate(zip(scores, still_open, strict=True), start=2)
    ]

    assert only(*rounds).trend == trend

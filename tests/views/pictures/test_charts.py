"""The elastic axis: time runs forward, work keeps its proportions, and a long wait is a short break."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from podium.core.types import Address, MicroUsd, Millis
from podium.views.pictures.charts import BREAK, WORK, BarOf, axis_of, bars, timeline
from podium.views.run.attempts import AttemptView

SPANS = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**6)).map(
        lambda span: (Millis(span[0]), Millis(span[0] + span[1]))
    ),
    min_size=1,
    max_size=30,
)
MINUTE = 60_000
NIGHT = 12 * 60 * MINUTE


def attempt(path: str, start: int, end: int | None, kind: str = "ok") -> AttemptView:
    ended = None if end is None else Millis(end)
    return AttemptView(Address(path), 1, Millis(start), ended, "" if end is None else kind, usd=MicroUsd(5))


@given(SPANS)
def test_later_is_never_left_of_earlier(spans: list[tuple[Millis, Millis]]) -> None:
    axis = axis_of(spans)
    times = sorted(time for span in spans for time in span)
    xs = [axis.x(time) for time in times]

    assert xs == sorted(xs)
    assert xs[0] >= 0
    assert xs[-1] <= axis.width + 1e-6


@given(SPANS)
def test_the_axis_is_as_wide_as_its_work_and_its_breaks(spans: list[tuple[Millis, Millis]]) -> None:
    axis = axis_of(spans)
    breaks = sum(stretch.is_break for stretch in axis.stretches)

    assert axis.width <= WORK + BREAK * breaks + 1e-6


def test_a_night_of_waiting_takes_a_few_pixels_and_the_work_keeps_its_share() -> None:
    axis = axis_of([(Millis(0), Millis(MINUTE)), (Millis(NIGHT), Millis(NIGHT + 3 * MINUTE))])

    assert [stretch.is_break for stretch in axis.stretches] == [False, True, False]
    assert [round(stretch.width) for stretch in axis.stretches] == [WORK // 4, BREAK, 3 * WORK // 4]


def test_every_attempt_has_a_bar_with_its_words() -> None:
    drawn = timeline(
        [
            attempt("work", 0, MINUTE, "failed"),
            attempt("work~2", MINUTE, 2 * MINUTE),
            attempt("work#1/tests", NIGHT, NIGHT + 5_000),
            attempt("other", NIGHT + 5_000, None),
        ],
        Millis(NIGHT + 10_000),
    )
    root = ET.fromstring(drawn)
    bars_ = [node for node in root.iter("g") if "bar" in str(node.get("class"))]

    assert [str(node.get("class")).split()[1] for node in bars_] == ["failed", "passed", "passed", "running"]
    assert bars_[0].get("aria-label") == "work attempt 1: failed, 1m00s"
    assert [node.text for node in root.iter("text") if node.get("class") == "label"] == [
        "work",
        "work/tests",
        "other",
    ]
    assert "nothing worked for 11h58m" in drawn


def test_a_run_without_attempts_has_no_timeline() -> None:
    assert timeline([], Millis(0)) == ""


def test_an_unknown_cost_is_said_and_the_longest_bar_fills_the_chart() -> None:
    drawn = bars([BarOf("a", 2.0, "$2.00"), BarOf("b", 1.0, "$1.00 and 1 call of unknown cost")], "costs")
    widths = [float(str(node.get("width"))) for node in ET.fromstring(drawn).iter("rect")]

    assert widths[0] == 2 * widths[1]
    assert "$1.00 and 1 call of unknown cost" in drawn
    assert bars([], "costs") == ""

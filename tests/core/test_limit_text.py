"""The message of a reached limit gives its numbers."""

from __future__ import annotations

import pytest

from podium.core.addresses import ROOT
from podium.core.decide.limit_text import limit_message
from podium.core.payloads import Amounts
from podium.core.policy import Limits
from podium.core.state import Ledger
from podium.core.types import Address, MicroUsd, Millis, Unit
from podium.views.run.why import ReachedLimit, limit_of_message

LIMITS = Limits(
    usd=MicroUsd(5_000_000), tokens=100, calls=3, time=Millis(60_000), window=9, transitions=5, members=2
)
SPENT = Ledger(
    ROOT, None, LIMITS, Amounts(MicroUsd(4_123_456), 90, 3), window=9, worked=Millis(60_500), transitions=5
)


@pytest.mark.parametrize(
    ("unit", "numbers"),
    [
        ("usd", "$4.12346 spent, $0.00 reserved, $1.00 requested, $5.00 allowed"),
        ("tokens", "90 spent, 0 reserved, 20 requested, 100 allowed"),
        ("calls", "3 spent, 0 reserved, 1 requested, 3 allowed"),
        ("time", "60.5 s used, 60 s allowed"),
        ("window", "9 used, 9 allowed"),
        ("transitions", "5 used, 5 allowed"),
        ("members", "7 used, 2 allowed"),
    ],
)
def test_a_reached_limit_says_what_is_spent_and_what_is_allowed(unit: Unit, numbers: str) -> None:
    reserve = Amounts(MicroUsd(1_000_000), 20, 1)

    message = limit_message(SPENT, unit, Millis(0), reserve, needed=7)

    assert message == f"the limit on {unit} of the run is reached: {numbers}"


def test_calls_of_unknown_cost_are_named_and_so_is_the_step() -> None:
    ledger = Ledger(Address("build"), ROOT, LIMITS, unknown=Amounts(MicroUsd(2_000_000)))

    message = limit_message(ledger, "usd", Millis(0))

    assert message == (
        'the limit on usd of "build" is reached: '
        "$0.00 spent, $2.00 of unknown cost, $0.00 reserved, $0.00 requested, $5.00 allowed"
    )


@pytest.mark.parametrize("path", ["", "build", "each[2]/work"])
def test_the_limit_of_a_message_is_found_again(path: str) -> None:
    ledger = Ledger(Address(path), None, LIMITS)

    assert limit_of_message(limit_message(ledger, "usd", Millis(0))) == ReachedLimit("usd", path)


def test_any_other_message_is_about_no_limit() -> None:
    assert limit_of_message("the gate failed") is None

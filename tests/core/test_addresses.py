"""The address of the first entry to a step, from that of a later one."""

from __future__ import annotations

import pytest

from podium.core.addresses import first_entry
from podium.core.types import Address


@pytest.mark.parametrize(
    ("path", "loops", "expected"),
    [
        ("work", (), "work"),
        ("work~3", (), "work"),
        ("block~2/work~3", (), "block/work"),
        ("loop[4]/work", ("loop",), "loop[1]/work"),
        ("each[4]/work~2", (), "each[4]/work"),
        ("each[2]/loop[3]/work", ("each[2]/loop",), "each[2]/loop[1]/work"),
        ("loop~2[3]/work", ("loop~2",), "loop[1]/work"),
    ],
)
def test_visits_and_rounds_lead_back_to_the_first_entry(
    path: str, loops: tuple[str, ...], expected: str
) -> None:
    assert first_entry(Address(path), {Address(loop) for loop in loops}) == expected

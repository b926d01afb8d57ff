"""A sample of a suite leaves no test file out, and its seed says which cases it has."""

from __future__ import annotations

from tests.sample import left_out

IDS = [
    *(f"a.py::one[{case}]" for case in range(10)),
    *(f"a.py::two_{number}" for number in range(10)),
    "b.py::one[only]",
]


def test_every_file_keeps_its_share_and_at_least_one_case() -> None:
    rest = left_out(IDS, 0.3, seed="1")

    assert len(rest) == 14
    assert all(node_id.startswith("a.py::") for node_id in rest)


def test_the_same_seed_chooses_the_same_cases_in_any_order_and_another_seed_others() -> None:
    assert left_out(IDS, 0.3, seed="1") == left_out(IDS[::-1], 0.3, seed="1")
    assert len({left_out(IDS, 0.3, seed=str(seed)) for seed in range(9)}) > 1


def test_everything_runs_unless_a_share_is_named() -> None:
    assert left_out(IDS, 1.0, seed="1") == frozenset()

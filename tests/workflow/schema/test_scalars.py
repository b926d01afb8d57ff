"""Scalar values of the language: how they are read, and invalid values."""

from __future__ import annotations

from typing import Any

import pytest

from podium.workflow.schema import scalars
from podium.workflow.schema.fields import InvalidValue


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("90s", 90_000),
        ("5m", 300_000),
        ("2h", 7_200_000),
        ("3d", 259_200_000),
        ("1h30m", 5_400_000),
        ("1d2h3m4s", 93_784_000),
        ("0s", 0),
        (0, 0),
        ("3650d", 315_360_000_000),
    ],
)
def test_a_duration_is_read_in_milliseconds(text: Any, millis: int) -> None:
    assert scalars.duration(text) == millis


@pytest.mark.parametrize(
    "text", ["", "5", "m5", "5m2h", "1.5h", 5, True, False, None, [], "5 m", "3650d1s", "9" * 5000 + "d"]
)
def test_an_invalid_duration_is_refused(text: Any) -> None:
    with pytest.raises(InvalidValue):
        scalars.duration(text)


@pytest.mark.parametrize("name", ["Lessons", "../x", "", "9a", "a" * 64, 5, "a/b", "a.b"])
def test_an_invalid_name_of_a_memory_is_refused(name: Any) -> None:
    assert scalars.memory_name("build-notes_2") == "build-notes_2"
    with pytest.raises(InvalidValue):
        scalars.memory_name(name)


@pytest.mark.parametrize(
    ("text", "count"), [("200k", 200_000), ("2M", 2_000_000), ("1.5k", 1_500), (7, 7), (0, 0)]
)
def test_tokens_are_a_number_or_a_short_form(text: Any, count: int) -> None:
    assert scalars.tokens(text) == count


@pytest.mark.parametrize(
    ("text", "size"), [("512M", 512 << 20), ("20g", 20 << 30), ("1.5 KiB", 1536), (7, 7), ("2TB", 2 << 40)]
)
def test_a_size_has_a_unit_or_is_a_number_of_bytes(text: Any, size: int) -> None:
    assert scalars.size(text) == size


@pytest.mark.parametrize("text", ["", "G", "2X", -1, 0, "0G", True, None, 1.5, [1]])
def test_an_invalid_size_is_refused(text: Any) -> None:
    with pytest.raises(InvalidValue):
        scalars.size(text)


@pytest.mark.parametrize("text", ["200", "k", "2m", -1, True, None, 1.5])
def test_an_invalid_number_of_tokens_is_refused(text: Any) -> None:
    with pytest.raises(InvalidValue):
        scalars.tokens(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [("all", "all"), ("any", "any"), ("majority", "majority"), (2, 2), ("95%", 0.95), ("100%", 1.0)],
)
def test_a_pass_rule_is_a_word_a_number_or_a_percentage(text: Any, rule: Any) -> None:
    assert scalars.pass_rule(text) == rule


@pytest.mark.parametrize("text", ["most", 0, -1, True, "101%", "x%", [], None, 1.5])
def test_an_invalid_pass_rule_is_refused(text: Any) -> None:
    with pytest.raises(InvalidValue):
        scalars.pass_rule(text)


@pytest.mark.parametrize("text", ["101%", "95", 95, None])
def test_an_invalid_percentage_is_refused(text: Any) -> None:
    with pytest.raises(InvalidValue):
        scalars.share(text)


def test_an_inserted_value_is_allowed_as_a_count() -> None:
    assert scalars.count("${{ inputs.n }}") == "${{ inputs.n }}"
    assert scalars.parallel(True) is True
    assert scalars.parallel(4) == 4


@pytest.mark.parametrize("parse", [scalars.count, scalars.parallel])
@pytest.mark.parametrize("value", [0, -1, "four", None, 1.5])
def test_an_invalid_count_is_refused(parse: Any, value: Any) -> None:
    with pytest.raises(InvalidValue):
        parse(value)


def test_true_and_false_are_expressions() -> None:
    assert scalars.expression(True) == "true"
    assert scalars.expression(False) == "false"
    assert scalars.expression("a == b") == "a == b"


@pytest.mark.parametrize(("value", "depth"), [("full", "full"), (1, 1), (50, 50)])
def test_a_history_is_full_or_has_a_number_of_commits(value: Any, depth: Any) -> None:
    assert scalars.history_depth(value) == depth


@pytest.mark.parametrize("value", ["all", 0, -1, True, None, 1.5])
def test_an_invalid_depth_of_a_history_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValue, match="full or a number of commits"):
        scalars.history_depth(value)

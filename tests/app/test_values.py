"""What a person types over all files."""

from __future__ import annotations

import pytest

from podium.app.values import parse_settings, parse_values
from podium.errors import ConfigurationError


@pytest.mark.req("R076")
def test_settings_are_spelled_as_in_a_file() -> None:
    typed = (
        "limits.usd=20",
        "limits.time=2h",
        "roles.reviewer.agent=codex",
        "protect=[docs/**, a]",
        "sandbox=none",
    )

    assert parse_settings(typed) == {
        "limits": {"usd": 20, "time": "2h"},
        "roles": {"reviewer": {"agent": "codex"}},
        "protect": ["docs/**", "a"],
        "sandbox": "none",
    }


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("limits.usd",), "is not a setting"),
        (("limits..usd=1",), "is not a setting"),
        (("steps.a=1",), '"steps" is not a setting'),
        (("limits.usd=[",), "--set limits.usd:1"),
        (("sandbox=none", "sandbox.level=limits"), "so is something around it"),
    ],
)
def test_what_is_no_setting_is_refused(typed: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_settings(typed)

    assert told in caught.value.message


def test_typed_values_are_json_and_what_is_no_number_of_it_is_text() -> None:
    assert parse_values(("a=1", "b=NaN", "c=[true]", "d=x")) == {"a": 1, "b": "NaN", "c": [True], "d": "x"}
    with pytest.raises(ConfigurationError, match="a is inf, which is not a number in JSON"):
        parse_values(("a=1e999",))

"""Reading exactly one JSON value: a fence around it is allowed, prose is not (R111)."""

from __future__ import annotations

from typing import Any

import pytest

from podium.workflow.contracts.single_json import NotOneValue, one_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        (' "a"\n', "a"),
        ("null", None),
        ('```json\n{"a": "```"}\n```', {"a": "```"}),
        ("```\n[1]```", [1]),
    ],
)
def test_a_text_that_is_one_json_value_is_read(text: str, value: Any) -> None:
    assert one_json(text) == value


@pytest.mark.parametrize(
    ("text", "message_part"),
    [
        ("  ", "is empty"),
        ("```\n\n```", "is empty"),
        ("1 2", "there is more text after it, from line 1 column 3"),
        ("```json\n1\n```\nthat is it", "expecting value"),
        ("{'a': 1}", "line 1 column 2"),
        ('{"a": 1, "a": 1}', '"a" occurs twice'),
        ("-Infinity", "-Infinity is not a JSON number"),
        ("9" * 30, "64 bits"),
        ("-" + "9" * 5000, "64 bits"),
        ("9" * 20, "does not fit into 64 bits"),
        ("[" * 50_000, "nested too deep"),
    ],
)
def test_any_other_text_is_refused_with_the_place(text: str, message_part: str) -> None:
    """R111"""
    with pytest.raises(NotOneValue) as refused:
        one_json(text)

    assert message_part in str(refused.value)

"""Exactly one JSON value: a fence around it is allowed, prose is not (R111)."""

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
def test_a_whole_text_is_one_value(text: str, value: Any) -> None:
    assert one_json(text) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  ", "is empty"),
        ("```\n\n```", "is empty"),
        ("1 2", "something stands behind it, from line 1 column 3"),
        ("```json\n1\n```\nthat is it", "expecting value"),
        ("{'a': 1}", "line 1 column 2"),
        ('{"a": 1, "a": 1}', '"a" stands in it twice'),
        ("-Infinity", "-Infinity is not a number"),
        ("9" * 30, "64 bits"),
        ("-" + "9" * 5000, "64 bits"),
        ("9" * 20, "does not fit into 64 bits"),
        ("[" * 50_000, "nested too deep"),
    ],
)
def test_anything_else_is_none_and_the_place_is_named(text: str, said: str) -> None:
    """R111"""
    with pytest.raises(NotOneValue) as refused:
        one_json(text)

    assert said in str(refused.value)

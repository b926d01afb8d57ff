"""Reading exactly one JSON value: a fence around it is allowed, prose is not (R111)."""

from __future__ import annotations

from typing import Any

import pytest

from podium.workflow.contracts.single_json import NotOneValue, fenced_json, one_json


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
        ("[" * 50_000, "nested too deeply"),
        ("[" * 60 + "]" * 60, "nested more than"),
    ],
)
def test_any_other_text_is_refused_with_the_place(text: str, message_part: str) -> None:
    """R111"""
    with pytest.raises(NotOneValue) as refused:
        one_json(text)

    assert message_part in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("So:\n```json\n[1]\n```\nDone.", [1]),
        ("So:\r\n```JSON\r\n[1]\r\n```\r\n", [1]),
        ("```\n[1]\n```\nand\n```sh\nls\n```", [1]),
        ("```\nnot this\n```\n```json\n2\n```\n", 2),
    ],
)
def test_the_only_fenced_value_of_a_text_is_read(text: str, value: object) -> None:
    assert fenced_json(text) == value


@pytest.mark.parametrize("text", ["", "[1]", "```json\n1\n```\n```json\n2\n```", "```\n1\n```\n```\n2\n```"])
def test_a_text_without_exactly_one_fenced_value_is_refused(text: str) -> None:
    with pytest.raises(NotOneValue, match="fenced JSON values"):
        fenced_json(text)

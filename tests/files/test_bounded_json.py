"""JSON of others is parsed up to a number of values, whatever is in its strings."""

from __future__ import annotations

import json

import pytest

from podium.files.bounded_json import TooManyValues, loads


def test_a_value_is_what_the_standard_library_gives() -> None:
    value = {"a": [1, 2.5, None, {"b": "c, [d] {e}"}]}

    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value).encode(), most=8) == value


def test_more_values_than_allowed_are_refused() -> None:
    with pytest.raises(TooManyValues, match="more than 3 values"):
        loads("[1, 2, 3, 4]", most=3)


def test_commas_and_brackets_in_texts_do_not_count() -> None:
    text = '",[{\\" ,,'

    assert loads(json.dumps([text] * 3), most=3) == [text] * 3


@pytest.mark.parametrize("text", ['{"a": ",,,,', '"' + '\\"' * 2000, '",,,,\\'])
def test_a_text_without_an_end_is_an_error_of_json(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        loads(text, most=2)

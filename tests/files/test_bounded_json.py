"""JSON of others is parsed up to a number of values, whatever is in its strings."""

from __future__ import annotations

import json

import pytest

from podium.files.bounded_json import TooDeep, TooManyValues, loads, storable


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


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, '{"a": ' * 100_000 + "1" + "}" * 100_000])
def test_a_value_of_too_many_levels_is_an_error_that_every_caller_catches(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        loads(text)


def test_what_is_stored_has_no_half_of_a_surrogate_pair() -> None:
    value = loads(r'{"\ud800": ["a\udfffb", "\ud83d\ude00", 1, null, {"x": "é"}]}')

    assert storable(value) == {"\ufffd": ["a\ufffdb", "\U0001f600", 1, None, {"x": "é"}]}


def test_what_is_stored_has_a_bounded_number_of_levels() -> None:
    storable(loads("[" * 100 + "]" * 100))

    with pytest.raises(TooDeep, match="more than 100 levels"):
        storable(loads("[" * 101 + "]" * 101))

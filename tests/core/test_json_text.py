"""The one encoder for many values writes what `json` does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.json_text import compact_json, json_writer, read_json, spaced_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(PLAIN)
def test_a_plain_value_is_written_as_json_does(value: Any) -> None:
    assert spaced_json(value) == json.dumps(value, ensure_ascii=False)
    assert compact_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert read_json(spaced_json(value)) == value


def test_a_value_that_is_not_plain_is_text_for_people_and_a_fault_elsewhere() -> None:
    assert spaced_json({"x": {1j}}) == '{"x": "{1j}"}'
    with pytest.raises(TypeError):
        compact_json({"x": {1j}})


@pytest.mark.parametrize(
    "text", ["", "{", '{"x":}', '{"x": [1, }', "{}{}", "{},", "{} x", "[] []", "\ufeff{}"]
)
def test_a_text_that_is_not_one_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1 column \d|BOM"):
        read_json(text)
    assert read_json(' {"x": 1} \n') == {"x": 1}


def test_a_failed_value_leaves_nothing_behind() -> None:
    with pytest.raises(TypeError):
        compact_json([1, 1j])
    assert compact_json([1]) == "[1]"


def test_without_the_fast_encoder_the_text_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)

    assert json_writer(separators=(",", ":"))({"a": [1, "é"]}) == '{"a":[1,"é"]}'

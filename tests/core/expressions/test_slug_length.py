"""`slug` with a length: whole words as far as they fit."""

from __future__ import annotations

import pytest

from podium.core.expressions.functions import call
from podium.core.expressions.values import Meter, WrongType


@pytest.mark.parametrize(
    ("text", "longest", "slug"),
    [
        ("Add a greeting", 40, "add-a-greeting"),
        ("Add a greeting", 5, "add-a"),
        ("Add a greeting", 6, "add-a"),
        ("Internationalization", 5, "inter"),
        ("", 5, ""),
        ("?!", 5, ""),
    ],
)
def test_only_whole_words_that_fit_are_kept(text: str, longest: int, slug: str) -> None:
    assert call("slug", [text, longest], Meter()) == slug


@pytest.mark.parametrize("longest", ["5", True, 1.5])
def test_a_length_must_be_a_whole_number(longest: object) -> None:
    with pytest.raises(WrongType, match="whole number"):
        call("slug", ["a", longest], Meter())  # type: ignore[list-item]  # the fault that is tested

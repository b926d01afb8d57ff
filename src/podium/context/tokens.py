"""Estimates how many tokens a text takes, without a vocabulary.

The rule counts words, numbers, signs and line breaks. On 2,000 files of five languages its median error against the
o200k vocabulary was 4.4 %, half of that of bytes / 4. Use at most SAFE_SHARE of a budget because of the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

SCALE: Final = 0.86
SAFE_SHARE: Final = 0.9
BYTES_AT_MOST: Final = 16
"""Of a token, in text with long words and deep indentation."""


def count_tokens(text: str) -> int:
    """The estimated number of tokens."""
    return math.ceil(_units(text) * SCALE)


class TokenCounter(NamedTuple):
    """A way to count tokens, and its name in manifests."""

    name: str
    count: Callable[[str], int]


RULE: Final = TokenCounter("words", count_tokens)


def corrected(counter: TokenCounter, factor: float) -> TokenCounter:
    """The counter with the factor that was measured for a model."""
    if factor == 1.0:
        return counter
    return TokenCounter(f"{counter.name} x {factor:.2f}", partial(_times, counter, factor))


def _times(counter: TokenCounter, factor: float, text: str) -> int:
    return math.ceil(counter.count(text) * factor)


def fewest_tokens(size: int) -> int:
    """A number that a text of so many bytes rarely stays below, to skip the counting of long ones."""
    return size // BYTES_AT_MOST


def _units(text: str) -> float:
    words = sum(_of_word(len(word)) for word in _WORDS.findall(text))
    numbers = sum(-(-len(digits) // 3) for digits in _NUMBERS.findall(text))
    signs = sum((len(run) + 1) // 2 for run in _SIGNS.findall(text))
    breaks = len(_BREAKS.findall(text))
    others = 0.0
    if not text.isascii():
        others = 0.4 * sum(len(run.encode("utf-8", "surrogatepass")) for run in _OTHERS.findall(text))
    return words + numbers + signs + breaks + others


def _of_word(length: int) -> int:
    """Words end after some letters; what is longer is data, which has no words."""
    return 1 if length <= 7 else 2 if length <= 14 else max(3, length // 6)


_WORDS: Final = re.compile(r"[A-Za-z]+")
_NUMBERS: Final = re.compile(r"[0-9]+")
_SIGNS: Final = re.compile(r"[!-/:-@\[-`{-~]+")
_BREAKS: Final = re.compile(r"\n\s*")
_OTHERS: Final = re.compile(r"[^\x00-\x7f]+")

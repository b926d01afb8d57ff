"""The words of code and prose by which files are found: whole identifiers and their parts, in lower case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

MAX_WORDS: Final = 1_500
"""Of one file, the most frequent; the rest of a larger one says little."""
MAX_TASK_WORDS: Final = 200
MIN_LENGTH: Final = 3
MAX_LENGTH: Final = 60
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*|[^\W\d_]+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
STOP: Final = frozenset(
    "the and for with this that from are not but was has have when then else all any can will should must its into "
    "use uses used add adds added fix fixes fixed make makes made also only does instead before after which".split()
)


def words_of(text: str) -> Mapping[str, int]:
    """How often each identifier and each part of one occurs; of many words, the most frequent."""
    counts: Counter[str] = Counter()
    for identifier, number in Counter(_IDENTIFIER.findall(text)).items():
        for word in spellings(identifier):
            counts[word] += number
    if len(counts) <= MAX_WORDS:
        return dict(counts)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_WORDS])


def spellings(identifier: str) -> Iterable[str]:
    """The identifier and its parts: `bulk_create` also is `bulk` and `create`."""
    if len(identifier) > MAX_LENGTH:
        return ()
    parts = [part.lower() for part in _PARTS.findall(identifier)]
    whole = identifier.lower().strip("_$")
    return dict.fromkeys(word for word in (whole, *parts) if len(word) >= MIN_LENGTH and word not in STOP)


def task_words(text: str) -> dict[str, str]:
    """The words of a task, each with the identifier it was part of."""
    words: dict[str, str] = {}
    for identifier in _IDENTIFIER.findall(text):
        for word in spellings(identifier):
            words.setdefault(word, identifier if word == identifier.lower().strip("_$") else word)
        if len(words) >= MAX_TASK_WORDS:
            break
    return words

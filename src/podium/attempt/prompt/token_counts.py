"""How tokens of a model are counted: by a vocabulary if this machine has one, corrected by what the model has reported.

Only agents that answer in one call are measured: what a program sends around the prompt is not known.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache as remembered
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.context.cache import FactCache
from podium.context.tokens import RULE, TokenCounter, corrected

if TYPE_CHECKING:
    from podium.attempt.agent.resolve import ResolvedAgent

MIN_SAMPLES: Final = 5
STEP: Final = 0.05
"""Factors are rounded, so that one more sample rarely changes a pack."""
SMALLEST, LARGEST = 0.5, 2.5
MIN_TOKENS: Final = 200
"""A shorter prompt says little: what the service adds to it would count too much."""
VOCABULARY: Final = "o200k_base"
FILE: Final = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The name that tiktoken gives the vocabulary in TIKTOKEN_CACHE_DIR."""
DIGEST: Final = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def model_key(worker: ResolvedAgent) -> str:
    return f"{worker.type}:{worker.model or ''}"


def counter_for(cache: FactCache, model: str) -> TokenCounter:
    counter = vocabulary_counter(os.environ.get("TIKTOKEN_CACHE_DIR", "")) or RULE
    samples = [] if not model else cache.usage(f"{model}:{counter.name}")
    if len(samples) < MIN_SAMPLES:
        return counter
    ratio = sum(reported for _, reported in samples) / sum(estimated for estimated, _ in samples)
    return corrected(counter, round(min(max(ratio, SMALLEST), LARGEST) / STEP) * STEP)


def note_usage(cache: FactCache, model: str, prompt: str, reported: int) -> None:
    """Keep what a model reported for a prompt; later packs for it are counted by that."""
    counter = vocabulary_counter(os.environ.get("TIKTOKEN_CACHE_DIR", "")) or RULE
    estimated = counter.count(prompt)
    if estimated >= MIN_TOKENS and reported > 0:
        cache.add_usage(f"{model}:{counter.name}", estimated, reported)


@remembered
def vocabulary_counter(folder: str) -> TokenCounter | None:
    """A counter by tiktoken, if the extra is installed and the vocabulary is in its folder; it is never downloaded."""
    file = Path(folder) / FILE
    if not folder or not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != DIGEST:
        return None
    try:
        import tiktoken
    except ImportError:
        return None
    encoding: Any = tiktoken.get_encoding(VOCABULARY)
    return TokenCounter(VOCABULARY, lambda text: len(encoding.encode_ordinary(text)))

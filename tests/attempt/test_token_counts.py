"""How tokens of a model are counted: corrected by its reports, and by a vocabulary only if its file is right."""

from __future__ import annotations

from pathlib import Path

from podium.adapters.stores.code_facts import open_code_facts
from podium.attempt.prompt.token_counts import FILE, counter_for, note_usage, vocabulary_counter
from podium.context.cache import MemoryFacts
from podium.context.tokens import RULE

PROMPT = "one two three\n" * 200


def test_a_few_reports_change_nothing() -> None:
    cache = MemoryFacts()
    for _ in range(4):
        note_usage(cache, "api:m", PROMPT, 5000)

    assert counter_for(cache, "api:m") is RULE


def test_the_factor_of_a_model_is_rounded_and_bounded(tmp_path: Path) -> None:
    with open_code_facts(tmp_path / "facts.db") as cache:
        for _ in range(30):
            note_usage(cache, "api:m", PROMPT, round(RULE.count(PROMPT) * 1.21))
            note_usage(cache, "api:odd", PROMPT, RULE.count(PROMPT) * 90)

        counter = counter_for(cache, "api:m")
        assert (counter.name, counter.count(PROMPT)) == ("words x 1.20", round(RULE.count(PROMPT) * 1.2))
        assert counter_for(cache, "api:odd").name == "words x 2.50"
        assert counter_for(cache, "api:other") is RULE
        assert len(cache.usage("api:m:words")) == 20


def test_a_short_prompt_says_nothing() -> None:
    cache = MemoryFacts()
    note_usage(cache, "api:m", "hello", 900)

    assert cache.usage("api:m:words") == ()


def test_a_vocabulary_is_taken_only_from_the_very_file(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("aGVsbG8= 0\n")

    assert vocabulary_counter(str(tmp_path)) is None
    assert vocabulary_counter("") is None

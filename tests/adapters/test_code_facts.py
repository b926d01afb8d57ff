"""The cache of facts about code: shared, only added to, and never a reason for a pack to fail."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from podium.adapters.stores.code_facts import open_code_facts
from podium.context.cache import FactCache
from podium.context.facts import with_words
from tests.context.projects import facts_of

FACTS = {name: facts_of("a.py", f"def {name}():\n    return {name}_value\n") for name in ("one", "two")}


def check(cache: FactCache) -> None:
    assert {name: with_words(facts, {}) for name, facts in FACTS.items()} == cache.load(
        ["one", "two", "none"]
    )
    assert cache.postings(["one_value", "absent"], ["one", "two"]) == {"one_value": {"one": 1}, "absent": {}}
    assert cache.postings(["one_value"], ["two"]) == {"one_value": {}}


def test_facts_survive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "facts.db"
    with open_code_facts(path) as cache:
        cache.add(FACTS)
        cache.keep_history("commit", b"data")
    with open_code_facts(path) as cache:
        check(cache)
        assert cache.history("commit") == b"data" and cache.history("other") is None
        cache.add(FACTS)
        check(cache)


def test_a_damaged_or_unusable_cache_is_replaced_by_memory(tmp_path: Path) -> None:
    damaged, folder = tmp_path / "damaged.db", tmp_path / "folder.db"
    damaged.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    folder.mkdir()
    for path in (damaged, folder):
        with open_code_facts(path) as cache:
            cache.add(FACTS)
            assert cache.load(["one"]).keys() == {"one"}
            assert cache.postings(["one_value"], ["one"]) == {"one_value": {"one": 1}}


def test_a_fault_in_the_middle_ends_the_use_of_the_file_only(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with open_code_facts(path) as cache:
        cache.add({"one": FACTS["one"]})
        other = apsw.Connection(str(path))
        other.execute("drop table fact")
        other.close()
        cache.add({"two": FACTS["two"]})
        assert cache.load(["two"]).keys() == {"two"}


@pytest.mark.parametrize("size", [1, 500])
def test_many_keys_are_found_as_few_are(tmp_path: Path, size: int) -> None:
    keys = [f"key{number}" for number in range(size)]
    with open_code_facts(tmp_path / "facts.db") as cache:
        cache.add(dict.fromkeys(keys, FACTS["one"]))
        assert cache.load(keys).keys() == set(keys)

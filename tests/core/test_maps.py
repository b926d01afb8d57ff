"""A persistent map behaves like a dict whose older versions stay valid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.persistent_map import PersistentMap

STEPS = st.lists(st.tuples(st.sampled_from(("set", "drop")), st.integers(0, 40), st.integers()), max_size=120)


@given(STEPS, st.booleans())
def test_a_map_behaves_like_a_dict_and_keeps_insertion_order(
    steps: list[tuple[str, int, int]], drafted: bool
) -> None:
    plain: dict[int, int] = {}
    found: PersistentMap[int, int] = PersistentMap()
    for word, key, value in steps:
        draft = found.draft()
        if word == "set":
            draft.put(key, value)
            found = draft.freeze() if drafted else found.set(key, value)
            plain[key] = value
        else:
            draft.discard(key)
            found = draft.freeze() if drafted else found.drop(key)
            plain.pop(key, None)
    assert dict(found.items()) == plain
    assert len(found) == len(plain)
    assert bool(found) == bool(plain)
    assert set(found.keys()) == set(plain)
    assert sorted(found.values()) == sorted(plain.values())
    for key in range(41):
        assert found.get(key) == plain.get(key)
        assert (key in found) == (key in plain)


def test_an_older_version_does_not_change() -> None:
    old = PersistentMap({1: "a"})
    new = old.set(2, "b").drop(1)
    assert dict(old.items()) == {1: "a"}
    assert dict(new.items()) == {2: "b"}


def test_a_draft_changes_in_place_and_leaves_its_origin_unchanged() -> None:
    origin = PersistentMap({1: "a"})
    draft = origin.draft()
    draft.put(2, "b")
    draft.discard(1)
    draft.discard(3)
    assert dict(origin.items()) == {1: "a"}
    assert draft.freeze() == PersistentMap({2: "b"})
    other = origin.draft()
    assert other.set(2, "c").drop(1) is other
    assert other.freeze() == PersistentMap({2: "c"})


def test_only_a_draft_changes_in_place() -> None:
    found = PersistentMap({1: "a"})
    with pytest.raises(TypeError):
        found.put(2, "b")
    with pytest.raises(TypeError):
        found.discard(1)


def test_an_unchanged_draft_freezes_to_the_same_map_object() -> None:
    origin = PersistentMap({1: "a"})
    assert origin.draft().freeze() is origin
    assert origin.freeze() is origin


def test_a_large_overlay_is_merged_into_a_new_base() -> None:
    found: PersistentMap[int, int] = PersistentMap()
    for number in range(500):
        found = found.set(number, number)
    assert len(found._over) <= 24 + 23
    assert dict(found.items()) == {number: number for number in range(500)}


def test_a_missing_key_raises_key_error() -> None:
    found = PersistentMap({1: "a"}).drop(1)
    with pytest.raises(KeyError):
        found[1]
    with pytest.raises(KeyError):
        found[2]
    assert found.drop(2) is found


def test_a_map_is_equal_by_value_has_a_repr_and_is_not_hashable() -> None:
    empty: PersistentMap[int, int] = PersistentMap()
    assert PersistentMap({1: 2}) == empty.set(1, 2)
    assert PersistentMap({1: 2}) != {1: 2}
    assert repr(PersistentMap({1: 2})) == "PersistentMap({1: 2})"
    with pytest.raises(TypeError):
        hash(PersistentMap())

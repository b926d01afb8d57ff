"""A fast dataclass behaves like a standard one; only its methods are generated later."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any, Generic, TypeVar

import pytest

from podium.fast_dataclass import dataclass, quick, replacer
from podium.fast_dataclass import replace as fast_replace

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is."""

    file: str
    line: int = 1
    inner: tuple[int, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(slots=True)
class Basket:
    name: str
    items: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Known:
    name: str
    cache: dict[str, int] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Box(Generic[Item]):
    content: Item


class Child(Place):
    """Adds no field."""

    __slots__ = ()


def test_a_record_takes_positional_and_keyword_arguments_and_defaults() -> None:
    assert Place("a") == Place(file="a", line=1, inner=())
    assert (Place("a", 2).file, Place("a", 2).line, Place("a", 2).shown) == ("a", 2, "a:2")
    assert Place.__doc__ == "Where something is."


@pytest.mark.parametrize(("args", "named"), [((), {}), (("a", 1, (), 2), {}), (("a",), {"x": 1})])
def test_wrong_arguments_are_refused_by_name(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"Place\.__init__\(\)"):
        Place(*args, **named)


def test_a_frozen_record_cannot_be_changed() -> None:
    place = Place("a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'line'"):
        place.line = 2  # type: ignore[misc]  # what is tried
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'line'"):
        del place.line
    with pytest.raises(FrozenInstanceError):
        place.other = 2  # type: ignore[attr-defined]  # what is tried
    assert place == Place("a")


def test_a_record_has_slots_and_no_dict() -> None:
    assert not hasattr(Place("a"), "__dict__")
    basket = Basket("b")
    basket.name = "c"
    with pytest.raises(AttributeError):
        basket.other = 1  # type: ignore[attr-defined]  # what is tried
    assert basket.name == "c"


def test_equal_records_of_the_same_class_have_equal_hashes() -> None:
    assert Place("a") == Place("a") != Place("b")
    assert hash(Place("a")) == hash(Place("a"))
    assert len({Version(1), Version(1, 0), Version(2)}) == 2
    assert len({Box((1,)), Box((1,)), Place("a"), Child("a")}) == 3
    assert Box(math.nan) != Box(float("nan"))
    assert Box(math.nan) == Box(math.nan), "as in a tuple, what is the same object is equal"
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(())


def test_without_eq_a_record_equals_only_itself() -> None:
    token = Token("a")
    assert token != Token("a")
    assert {token: 1}[token] == 1


def test_a_mutable_record_has_no_hash() -> None:
    assert Basket("a") == Basket("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Basket("a"))


def test_a_field_with_compare_false_is_not_compared() -> None:
    assert Known("a", {"x": 1}) == Known("a", {})
    assert hash(Known("a", {"x": 1})) == hash(Known("a"))


def test_a_factory_makes_a_new_default_each_time() -> None:
    first, second = Basket("a"), Basket("a")
    first.items.append(1)
    assert (first.items, second.items, Basket("a", [2]).items) == ([1], [], [2])


def test_records_are_ordered_by_their_fields() -> None:
    assert sorted([Version(2), Version(1, 5), Version(1)]) == [Version(1), Version(1, 5), Version(2)]
    assert Version(1) <= Version(1) < Version(1, 1)
    assert Version(2) >= Version(2) > Version(1)
    with pytest.raises(TypeError):
        _ = Version(1) < Box(2)  # type: ignore[operator]  # what is tried


def test_a_record_has_the_repr_of_a_dataclass() -> None:
    assert repr(Place("a", inner=(1,))) == "Place(file='a', line=1, inner=(1,))"
    assert repr(Nothing()) == "Nothing()"


def test_a_record_can_be_matched_by_position() -> None:
    match Place("a", 3):
        case Place(file, line):
            assert (file, line) == ("a", 3)


def test_the_functions_of_dataclasses_accept_a_record() -> None:
    assert is_dataclass(Place)
    assert is_dataclass(Place("a"))
    assert [(known.name, known.type, known.default) for known in fields(Place)] == [
        ("file", "str", dataclasses.MISSING),
        ("line", "int", 1),
        ("inner", "tuple[int, ...]", ()),
    ]
    assert fields(Place) == fields(Place("b")), "made once"
    assert replace(Place("a"), line=7) == Place("a", 7)
    assert asdict(Known("a", {"b": 1})) == {"name": "a", "cache": {"b": 1}}


@pytest.mark.parametrize("record", [Place("a", 2, (3,)), Version(1), Known("a", {"b": 1}), Basket("a", [1])])
def test_a_record_can_be_pickled_and_copied(record: Any) -> None:
    for again in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):
        assert again == record


def test_a_subclass_without_fields_inherits_everything() -> None:
    child = Child("a", 2)
    assert (child.file, child.line, repr(child)) == ("a", 2, "Child(file='a', line=2, inner=())")
    assert child == Child("a", 2) != Place("a", 2)
    assert replace(child, line=3) == Child("a", 3)


def test_a_record_must_have_slots() -> None:
    with pytest.raises(AssertionError):
        dataclass(frozen=True, slots=False)


@quick
@dataclass(frozen=True, slots=True)
class Seat:
    row: int
    free: bool = True


def test_quick_replace_changes_fields_and_keeps_the_record_frozen() -> None:
    old: Any = Seat(1)

    new: Any
    for _ in range(2):  # The first call generates the method, the second uses it.
        new = old._replace(free=False)

        assert (old, new) == (Seat(1), Seat(1, free=False))
        assert type(new) is Seat
        with pytest.raises(FrozenInstanceError):
            setattr(new, "row", 2)  # noqa: B010 (mypy knows that it is frozen)
        with pytest.raises(AttributeError):
            old._replace(colour="red")


def test_a_replacer_changes_exactly_its_fields() -> None:
    freed = replacer(Seat, "free")

    seat = freed(Seat(3), free=False)

    assert seat == Seat(3, free=False)
    assert type(seat) is Seat
    with pytest.raises(FrozenInstanceError):
        setattr(seat, "row", 2)  # noqa: B010 (mypy knows that it is frozen)
    with pytest.raises(TypeError):
        freed(Seat(3))
    with pytest.raises(TypeError):
        freed(Seat(3), free=True, row=2)
    with pytest.raises(AttributeError, match="Seat has no field colour"):
        replacer(Seat, "colour")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    name: str = "get"
    key: str = field(repr=False)
    """Required, although a field with a default comes before it."""
    note: str = field(default="", repr=False, compare=False)
    headers: dict[str, str] = field(default_factory=dict)


def test_fields_by_keyword_only_need_no_order() -> None:
    call = Call(key="secret")

    assert (call.name, call.key, call.note, call.headers) == ("get", "secret", "", {})
    assert call == Call(key="secret", note="other")
    assert replace(call, key="new").key == "new"
    assert pickle.loads(pickle.dumps(call)) == call
    assert Call.__match_args__ == ()
    with pytest.raises(TypeError):
        Call("get", key="secret")  # type: ignore[call-arg]  # what is tried
    with pytest.raises(TypeError):
        Call()  # type: ignore[call-arg]  # what is tried


def test_a_field_without_repr_is_not_printed() -> None:
    assert repr(Call(key="secret", note="hidden")) == "Call(name='get', headers={})"


@dataclass(frozen=True, slots=True)
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError(f"{self.number} is odd")


def test_a_record_is_checked_when_it_is_made_and_when_it_is_replaced() -> None:
    assert replace(Even(2), number=4) == Even(4)
    with pytest.raises(ValueError, match="3 is odd"):
        Even(3)
    with pytest.raises(ValueError, match="5 is odd"):
        replace(Even(4), number=5)


def test_the_fast_replace_does_what_the_standard_one_does() -> None:
    call = Call(key="secret", note="hidden")

    for _ in range(2):  # The first call generates the function, the second uses it.
        assert fast_replace(call, name="put") == replace(call, name="put")
        assert fast_replace(call, name="put").note == "hidden"
        assert fast_replace(Even(2), number=4) == Even(4)
        with pytest.raises(ValueError, match="5 is odd"):
            fast_replace(Even(4), number=5)
        with pytest.raises(FrozenInstanceError):
            setattr(fast_replace(call, name="put"), "name", "get")  # noqa: B010 (mypy knows that it is frozen)
        with pytest.raises(AttributeError):
            fast_replace(call, colour="red")  # type: ignore[call-arg]  # what is tried


def test_a_record_with_a_check_cannot_be_copied_without_it() -> None:
    with pytest.raises(AssertionError, match="Even"):
        quick(Even)

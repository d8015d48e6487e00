"""Classes whose methods are made later are as those of the standard library."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Hashable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import ClassVar, Generic, TypeVar

import pytest

from hypot.core.dataclass import dataclass

T = TypeVar("T")


def point(dataclass):
    @dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list = field(default_factory=list, hash=False, kw_only=True)
        note: str = field(default="", compare=False, repr=False)
        COUNT: ClassVar[int] = 7

        def __post_init__(self):
            if self.x < 0:
                raise ValueError("negative")

    return Point


def tally(dataclass):
    @dataclass(slots=True)
    class Tally:
        seen: set = field(default_factory=set)
        total: float = 0.0

    return Tally


def by_hand(dataclass):
    @dataclass(frozen=True, slots=True)
    class ByHand:
        """Has methods of its own."""

        x: int

        def __init__(self, text):
            object.__setattr__(self, "x", len(text))

        def __eq__(self, other):
            return isinstance(other, type(self))

        def __hash__(self):
            return 1

        def __repr__(self):
            return "by hand"

    return ByHand


def same(dataclass):
    @dataclass(frozen=True, slots=True, eq=False)
    class Same:
        x: int

    return Same


def derived(dataclass):
    @dataclass(frozen=True, slots=True, repr=False)
    class Base(Generic[T]):
        a: T
        z: int = field(default=1, kw_only=True)

    @dataclass(frozen=True, slots=True)
    class Derived(Base[int]):
        b: int = 5

    return Derived


@dataclass(frozen=True, slots=True)
class Kept:
    x: int
    more: tuple = ()


CLASSES = [
    (point, [((1,), {}), ((1, 3), {}), ((1,), {"tags": ["a"]}), ((1,), {"note": "x"}), ((1, 2), {"tags": []})]),
    (tally, [((), {}), (({1},), {}), ((), {"total": 2.0})]),
    (by_hand, [(("abc",), {}), (("d",), {})]),
    (same, [((1,), {}), ((2,), {})]),
    (derived, [((1,), {}), ((1, 6), {}), ((1,), {"z": 2})]),
]


def both(make):
    return make(dataclass), make(dataclasses.dataclass)


def outcome(call, *args, **given):
    """What it returns, or the error that it raises."""
    try:
        return call(*args, **given)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)


@pytest.mark.parametrize(("make", "calls"), CLASSES)
def test_objects_are_alike(make, calls):
    """Text, fields, equality and hashes."""
    ours, theirs = ([cls(*args, **given) for args, given in calls] for cls in both(make))
    # The standard repr and hash are by address.
    if make is not same:
        assert list(map(repr, ours)) == list(map(repr, theirs))
        assert [outcome(hash, one) for one in ours] == [outcome(hash, one) for one in theirs]
    assert list(map(asdict, ours)) == list(map(asdict, theirs))
    assert [[a == b for b in ours] for a in ours] == [[a == b for b in theirs] for a in theirs]


@pytest.mark.parametrize(("make", "_"), CLASSES)
def test_classes_are_alike(make, _):
    """Signatures, slots, and what can be hashed."""
    ours, theirs = both(make)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__slots__ == theirs.__slots__
    assert ours.__match_args__ == theirs.__match_args__
    assert issubclass(ours, Hashable) == issubclass(theirs, Hashable)
    assert [(f.name, f.default, f.kw_only, f.compare) for f in fields(ours)] == [
        (f.name, f.default, f.kw_only, f.compare) for f in fields(theirs)
    ]
    assert ours.__init__.__qualname__ == theirs.__init__.__qualname__
    assert ours.__init__.__module__ == __name__


@pytest.mark.parametrize(
    ("args", "given"),
    [((), {}), ((1, 2, "", []), {}), ((1,), {"z": 3}), ((-1,), {}), ((1,), {"x": 1})],
)
def test_wrong_arguments_give_the_same_error(args, given):
    ours, theirs = both(point)
    assert outcome(ours, *args, **given) == outcome(theirs, *args, **given)


def test_a_default_is_made_for_each_object():
    one, other = (tally(dataclass)() for _ in range(2))
    one.seen.add(1)
    assert other.seen == set()


def test_frozen_objects_do_not_change():
    """Not even fields that do not exist."""
    cls = point(dataclass)
    one = cls(1)
    for name in ("x", "unknown"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(one, name, 2)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(one, name)
    assert replace(one, y=5) == cls(1, 5)
    with pytest.raises(ValueError, match="negative"):
        replace(one, x=-1)


def test_a_changeable_object_changes():
    one = tally(dataclass)()
    one.total = 3.0
    assert one.total == 3.0
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_the_default_of_another_class_needs_no_method():
    """A frozen object may be a default: it has a hash, which is not made to find that out."""

    @dataclass(frozen=True, slots=True)
    class Outer:
        inner: Kept = Kept(1)

    assert Outer().inner == Kept(1)
    with pytest.raises(ValueError, match="mutable default"):
        dataclass(slots=True)(type("Wrong", (), {"__annotations__": {"a": list}, "a": []}))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301
def test_copies(again):
    """Also to other processes."""
    one = Kept(3, (1,))
    assert again(one) == one
    assert type(again(one)) is Kept


def test_a_hash_can_be_asked_of_the_class():
    """Before it was made, and after."""
    cls = point(dataclass)
    one = cls(1)
    assert cls.__hash__(one) == hash(one) == cls.__hash__(one)

"""Values that are kept with the object that they are derived from."""

import gc
import pickle
import weakref
from copy import copy, deepcopy
from dataclasses import replace

import pytest

from hypot.kinds.base import Ref
from hypot.kinds.derived import MOST_KEPT, derived
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa, refusals
from hypot.kinds.hvpa.intervals import Ranges, counts_of, intervals_of, largest_total, share
from hypot.kinds.node import replaced
from hypot.kinds.vpa.allowed import allowed

# More than any cache of the project holds.
MANY = 20_000


class Counted:
    """A derived value, and how often it was made."""

    def __init__(self):
        self.times = 0

        @derived
        def named(ref, *more):
            self.times += 1
            return ref.name, more

        self.named = named


@pytest.fixture
def counted():
    return Counted()


def test_a_value_is_made_once_however_many_objects_there_are(counted):
    """Whatever the order in which they are asked for."""
    refs = [Ref(name=str(number)) for number in range(MANY)]
    for _ in range(3):
        assert [counted.named(ref)[0] for ref in refs] == [ref.name for ref in refs]
    assert counted.times == MANY


def test_equal_objects_have_their_own_values(counted):
    """Values belong to an object, not to its content; equality and hash leave them out."""
    one, other = Ref(name="web"), Ref(name="web")
    counted.named(one)
    assert (one, hash(one), repr(one)) == (other, hash(other), repr(other))
    counted.named(other)
    assert counted.times == 2


def test_arguments_make_another_value(counted):
    """Each is made once."""
    ref = Ref(name="web")
    for _ in range(2):
        assert counted.named(ref) == ("web", ())
        assert counted.named(ref, "cpu") == ("web", ("cpu",))
        assert counted.named(ref, "cpu", 1) == ("web", ("cpu", 1))
    assert counted.times == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda ref: replaced(ref, name="api"),
        lambda ref: replace(ref, name="api"),
        lambda ref: replaced(copy(ref), name="api"),
        lambda ref: replaced(deepcopy(ref), name="api"),
        lambda ref: replaced(pickle.loads(pickle.dumps(ref)), name="api"),  # noqa: S301  of its own making
    ],
    ids=["replaced", "replace", "copy", "deepcopy", "pickle"],
)
def test_a_changed_copy_is_read_again(counted, change):
    """It starts without values; the original keeps its own."""
    ref = Ref(name="web")
    counted.named(ref)
    changed = change(ref)
    assert not hasattr(changed, "derived_values")
    assert counted.named(changed)[0] == "api"
    assert counted.named(ref)[0] == "web"
    assert counted.times == 2


def test_an_object_keeps_a_bounded_number_of_values(counted):
    """Arguments may come from pods, whose names and limits can change without end."""
    ref = Ref(name="web")
    for number in range(10 * MOST_KEPT):
        assert counted.named(ref, number) == ("web", (number,))
        assert len(ref.derived_values) <= MOST_KEPT
    assert counted.named(ref) == ("web", ())


def test_a_failure_is_not_kept():
    """The next call tries again."""

    @derived
    def fails(ref):
        raise KeyError(ref.name)

    ref = Ref(name="web")
    for _ in range(2):
        with pytest.raises(KeyError, match="web"):
            fails(ref)


def manifest(**spec):
    body = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "hpa": {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 4}}},
        "scalingIntervals": [{"maxReplicas": 4, "maxResources": {"cpu": "1", "memory": "1Gi"}}],
        **spec,
    }
    return {"apiVersion": Hvpa.API_VERSION, "kind": "Hvpa", "metadata": {"name": "web"}, "spec": body}


@pytest.mark.parametrize("spec", [{}, {"scaleUp": "soon"}], ids=["readable", "partly readable"])
def test_values_go_with_their_object(spec):
    """Nothing is left for the garbage collector, which runs seldom in the controller."""

    class Value:
        """Unlike an Hvpa, it can be referred to weakly."""

    @derived
    def something(_):
        return Value()

    hvpa = Hvpa.from_dict(manifest(**spec))
    gone = weakref.ref(something(hvpa))
    assert (hvpa.readable() is hvpa) == (not spec)
    assert bool(refusals(hvpa)) == bool(spec)
    for resource in ("cpu", "memory"):
        assert intervals_of(hvpa.readable(), "app", resource)
        assert largest_total(hvpa.readable(), "app", resource)
        share(hvpa, "overlap", resource)
    assert counts_of(hvpa.readable()) == (1, 4)
    assert not allowed(hvpa, "app").switched_off
    gc.disable()
    try:
        del hvpa
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("count", "kept"), [(4, True), (10_000, False)])
def test_long_lists_of_intervals_are_not_kept(count, kept):
    """One has an interval for each count, so a few objects could take much memory; equal ones are shared."""
    intervals = [{"maxReplicas": count, "maxResources": {"cpu": "1", "memory": "1Gi"}}]
    one, other = (Hvpa.from_dict(manifest(scalingIntervals=intervals)) for _ in range(2))
    found = intervals_of(one, "app", "cpu")
    assert len(found) == count
    assert found is intervals_of(other, "app", "cpu")
    assert largest_total(one, "app", "cpu") == largest_total(other, "app", "cpu") > 0
    held = [value.intervals for value in one.derived_values.values() if isinstance(value, Ranges)]
    assert held == ([found] if kept else [])


def test_the_readable_part_is_always_the_same_object():
    """What is derived from it is kept as well."""
    hpa = HPA.from_dict({"spec": {"minReplicas": "one", "maxReplicas": 3}})
    part = hpa.readable()
    assert part is not hpa
    assert (part.min_replicas, part.max_replicas) == (None, 3)
    assert hpa.readable() is part
    assert part.readable() is part

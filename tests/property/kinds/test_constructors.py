"""Whatever a keyword is given: a constructor makes an object, or raises one exception with its problems."""

import inspect
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum, IntEnum

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hypot import (
    FROZEN,
    HPA,
    VPA,
    WPA,
    Change,
    ContainerPolicy,
    ContainerScaling,
    EvictionRequirement,
    Hvpa,
    InvalidAutoscaler,
    MaintenanceWindow,
    Quantity,
    Recommender,
    Ref,
    ResourceChanges,
    ScaleType,
    ScalingRules,
    Tortoise,
    WatermarkRules,
    WorkloadAutoscaler,
    band,
    cpu,
    external,
    interval,
    limit,
    memory,
    on,
    pods,
    resource_band,
)


def hashable(one):
    """Whether it can be the key of a mapping."""
    try:
        hash(one)
    except TypeError:
        return False
    return True


class Word(Enum):
    """Words that authors keep in an enumeration."""

    OFF = "Off"


class Number(IntEnum):
    """Likewise numbers."""

    FEW = 3


ITSELF: list = []
ITSELF.append(ITSELF)
D = "deployment/web"

LONG = "9" * 5000
# What a call needs besides the keyword that is tried.
KINDS = {
    HPA: {"target": D, "max_replicas": 5},
    WPA: {"target": D, "max_replicas": 5, "metrics": [band("rate", low=1)]},
    VPA: {"target": D},
    Hvpa: {"target": D, "intervals": [interval(3, cpu="1", memory="1Gi")]},
    Tortoise: {"target": D},
    WorkloadAutoscaler: {"target": D},
}
PARTS = {
    cpu: {"utilization": 70},
    memory: {"average": "1Gi"},
    pods: {"name": "rate", "average": 1},
    on: {"of": "ingress/shop", "name": "rate", "value": 1},
    external: {"name": "rate", "value": 1},
    limit: {"pods": 1},
    ScalingRules: {},
    ScaleType: {},
    WatermarkRules: {},
    band: {"name": "rate", "low": 1},
    resource_band: {"name": "cpu", "low": 1},
    interval: {"max_replicas": 3},
    Change: {},
    ResourceChanges: {},
    MaintenanceWindow: {},
    Recommender: {},
    ContainerPolicy: {},
    ContainerScaling: {"name": "app"},
    EvictionRequirement: {},
    Ref: {},
}
# Where a part goes.
USES = [
    (HPA, "metrics"),
    (HPA, "scale_up"),
    (WPA, "metrics"),
    (WPA, "recommender"),
    (WPA, "scale_down"),
    (VPA, "containers"),
    (VPA, "eviction_requirements"),
    (Hvpa, "intervals"),
    (Hvpa, "scale_up"),
    (Hvpa, "hpa_scale_down"),
    (Hvpa, "metrics"),
    (Hvpa, "overlap"),
    (Hvpa, "window"),
    (Tortoise, "containers"),
    (Tortoise, "target"),
    (WorkloadAutoscaler, "containers"),
    (WorkloadAutoscaler, "late_metric"),
]

PARTS_AS_VALUES = [
    FROZEN,
    cpu(utilization=70),
    band("rate", low=1),
    WatermarkRules(percent=1),
    limit(pods=1),
    interval(3),
    ContainerPolicy("app"),
    ContainerScaling("app"),
    Change(percentage=3),
    ResourceChanges(cpu=Change("1")),
    Ref("v1", "Pod", "web"),
    HPA(D, max_replicas=3),
]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.decimals(),
    st.sampled_from(["30%", "Off", "Auto", "cpu", "app", "5m", "1Gi", "a/b"]),
    st.sampled_from([object(), object, len, 1j, date(2026, 1, 1), timedelta(minutes=5), timedelta.max, timedelta]),
    st.sampled_from([Decimal("sNaN"), Decimal("1e999999"), Word.OFF, Number.FEW, Quantity.parse("250m"), ITSELF, ...]),
    st.sampled_from(
        [np.int64(3), np.float64(0.5), np.bool_(1), np.str_("Off"), np.float32(0.1), np.timedelta64(5, "m")]
    ),
    st.sampled_from(PARTS_AS_VALUES),
)
words = st.one_of(
    scalars.filter(hashable),
    st.sampled_from(
        [
            "container_name",
            "extra",
            "self",
            "cpu",
            "memory",
            "app",
            "mode",
            "max_allowed",
            "kind",
            "name",
            "metadata",
            "spec",
            "apiVersion",
        ]
    ),
)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.tuples(inner, inner),
        st.dictionaries(words, inner, max_size=3),
        st.dictionaries(st.sampled_from(["cpu", "memory", "app"]), inner, max_size=3),
        st.lists(inner, max_size=2).map(iter),
    ),
    max_leaves=6,
)


def keywords_of(function):
    """What an author writes; `extra` is for what reading does not know."""
    return [name for name in inspect.signature(function).parameters if name not in {"self", "extra"}]


def made(function, **given):
    """What is made; None if it was refused, with problems that each have a place."""
    try:
        return function(**given)
    except InvalidAutoscaler as refusal:
        problems, text = refusal.problems, str(refusal)
    assert problems
    assert all(problem.path for problem in problems)
    assert text
    return None


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), value=junk)
@example(data=None, value=FROZEN)
@example(data=None, value="30%")
@example(data=None, value=3)
@example(data=None, value=None)
@example(data=None, value=("a", "b", "c"))
@example(data=None, value=["app"])
@example(data=None, value={"app": "Off"})
@example(data=None, value={"app": ContainerPolicy("app")})
@example(data=None, value=Word.OFF)
@example(data=None, value=LONG)
@example(data=None, value=f"{LONG}s")
@example(data=None, value=[{"app": 1}])
def test_every_keyword_takes_any_value(kind, data, value):
    """The named examples go to all keywords."""
    names = keywords_of(kind) if data is None else [data.draw(st.sampled_from(keywords_of(kind)))]
    for name in names:
        one = made(kind, **{**KINDS[kind], name: value})
        if one is not None:
            assert not [problem for problem in one.problems() if problem.severity == "error"]
            assert kind.from_dict(one.to_dict()) == one
            assert kind.from_yaml(one.to_yaml()) == one


@pytest.mark.parametrize("part", PARTS)
@given(data=st.data(), value=junk)
def test_every_keyword_of_a_part_takes_any_value(part, data, value):
    """A part may be made, and is refused by the object that it is given to, wherever that is."""
    name = data.draw(st.sampled_from(keywords_of(part)))
    one = made(part, **{**PARTS[part], name: value})
    if one is None:
        return
    kind, place = data.draw(st.sampled_from(USES))
    made(kind, **{**KINDS[kind], place: data.draw(st.sampled_from([one, [one], {"app": one}]))})

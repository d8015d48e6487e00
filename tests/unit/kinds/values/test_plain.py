"""What authors give, in the types that a manifest has."""

from collections import UserDict
from datetime import timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from types import MappingProxyType

import numpy as np
import pytest

from hypot import HPA, VPA, Hvpa, Quantity, cpu, interval
from hypot.kinds.values.plain import plain


class Mode(Enum):
    """As a program of an author may have it."""

    OFF = "Off"


class Count(IntEnum):
    """Likewise."""

    MOST = 9


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (Quantity.parse("250m"), "250m"),
        (Decimal("0.5"), "0.5"),
        (Decimal(3), 3),
        (Decimal("1e999999"), "1E+999999"),
        (Decimal("sNaN"), "sNaN"),
        (np.int64(3), 3),
        (np.float64(0.5), 0.5),
        (np.str_("Off"), "Off"),
        (Mode.OFF, "Off"),
        (Count.MOST, 9),
        (True, True),
        (None, None),
        (("cpu", Mode.OFF), ["cpu", "Off"]),
        (MappingProxyType({"cpu": Decimal(1)}), {"cpu": 1}),
        (UserDict({"a": "b"}), {"a": "b"}),
    ],
)
def test_a_value_gets_a_type_of_json(given, made):
    """The exact type, so that it is written and compared like what is read."""
    assert plain(given) == made
    assert type(plain(given)) is type(made)


def test_what_has_no_such_type_stays():
    """The rules say what is wrong with it."""
    value = object()
    assert plain(value) is value


def test_constructors_take_these_values():
    """They are kept as a manifest has them."""
    made = HPA(
        "deployment/web",
        max_replicas=np.int64(9),
        min_replicas=Decimal(2),
        metrics=[cpu(average=Quantity.parse("250m"))],
    )
    assert made == HPA("deployment/web", max_replicas=9, min_replicas=2, metrics=[cpu(average="250m")])
    assert type(made.max_replicas) is int
    assert VPA("deployment/web", mode=Mode.OFF, evict_after_oom=timedelta(minutes=5)) == VPA(
        "deployment/web", mode="Off", evict_after_oom=300
    )


def test_what_is_given_may_change_afterwards():
    """An object that was checked stays as it was."""
    bounds, labels, resources = {"cpu": "1"}, {"a": "b"}, ["cpu"]
    vpa = VPA(
        "deployment/web", labels=labels, containers={"app": {"max_allowed": bounds, "controlled_resources": resources}}
    )
    hvpa = Hvpa("deployment/web", intervals=[interval(1, cpu="1", memory="1Gi")], knobs=labels)
    hpa = HPA("deployment/web", max_replicas=3, annotations=labels)
    before = [one.to_dict() for one in (vpa, hvpa, hpa)]
    bounds["cpu"], labels["a"] = "-1", 3
    resources.append("disk")
    assert [one.to_dict() for one in (vpa, hvpa, hpa)] == before

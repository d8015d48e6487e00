"""One observation from whole numbers."""

import pytest

from hypot.core.bank.observed import observed_of

# Two pods of one core that may use 1.2 and use 0.6 and 0.7, with 50 and 60 requests per second, of which 1.5 are late.
USUAL = {
    "pods": 2,
    "used": 1300,
    "requests": 2000,
    "caps": 2400,
    "rate": 110_000,
    "late": 1500,
    "at": 985.0,
    "window": 30.0,
    "replicas": 3,
    "ready": 2,
    "cpu": 1000,
    "base": 500,
    "limit": 600,
    "memory": 2**30,
    "memory_used": 2**30,
    "memory_limits": 2**32,
    "restarted": 400.0,
}


def test_means_of_pods():
    """Cores and requests of each pod."""
    o = observed_of(**USUAL)
    assert (o.use, o.cap, o.request, o.rate, o.late) == pytest.approx((0.65, 1.2, 1.0, 55.0, 0.75))
    assert (o.known, o.at, o.window, o.replicas, o.ready, o.cpu) == (True, 985.0, 30.0, 3, 2, 1000)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"pods": 0, "used": 0, "requests": 0, "caps": 0}, {"known": False, "use": 0.0, "request": 0.0}),
        # There is something to divide by, even if pods may use nothing.
        ({"caps": 0}, {"cap": 0.0005}),
        ({"rate": -1}, {"rate": -1.0, "late": 0.75}),
        ({"late": -1}, {"rate": 55.0, "late": -1.0}),
        ({"rate": 0, "late": 0}, {"rate": 0.0, "late": 0.0}),
        # The ratio is that of the template: without a limit, or with one below the request, it is 1.
        ({}, {"ratio": 1.2}),
        ({"limit": -1}, {"ratio": 1.0}),
        ({"limit": 500}, {"ratio": 1.0}),
        ({"limit": 400}, {"ratio": 1.0}),
        ({"limit": 2000}, {"ratio": 4.0}),
        ({"base": 0}, {"ratio": 1.0}),
        # Nine gigabytes cost as much as a core.
        ({"memory": 0}, {"memory_price": 0.0}),
        ({"memory": 9_090_909_091}, {"memory_price": 1.0}),
        ({}, {"filled": 0.25}),
        ({"memory_limits": 0}, {"filled": 0.0}),
        ({}, {"restarted": 400.0}),
    ],
)
def test_what_may_be_absent(changes, found):
    """A rate that is not known is negative; so is no limit."""
    o = observed_of(**{**USUAL, **changes})
    assert {name: getattr(o, name) for name in found} == {name: pytest.approx(value) for name, value in found.items()}

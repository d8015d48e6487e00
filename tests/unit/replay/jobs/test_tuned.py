"""Which variant of a grid is the best on the tuning part."""

from types import SimpleNamespace

import pytest

from hypot.replay.jobs.comparison import tuned
from hypot.replay.score.scorecard import Scores

FAMILIES = {"hpa": ["cpu=50", "cpu=70", "cpu=90"]}


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ({"cpu=50": (3.0, 0.1), "cpu=70": (2.0, 0.9), "cpu=90": (1.0, 1.1)}, "cpu=70"),
        ({"cpu=50": (3.0, 2.0), "cpu=70": (2.0, 1.5), "cpu=90": (1.0, 9.0)}, "cpu=90"),
        ({"cpu=50": (None, 0.1), "cpu=70": (2.0, 1.5), "cpu=90": (3.0, 0.5)}, "cpu=90"),
    ],
)
def test_the_slo_comes_before_the_price(scores, best):
    """A cheaper one that misses the SLO is chosen only if all miss it; one without a price is never chosen."""
    judged = [
        SimpleNamespace(policy=name, tuning=Scores(price=price, budget=budget))
        for name, (price, budget) in scores.items()
    ]
    assert tuned(judged, FAMILIES) == {"hpa": best}


def test_without_a_tuning_part_nothing_is_chosen():
    """Nor from a family with one member."""
    assert tuned([SimpleNamespace(policy="cpu=50", tuning=None)], FAMILIES) == {}
    assert tuned([SimpleNamespace(policy="web", tuning=Scores(price=1.0, budget=0.0))], {"web": ["web"]}) == {}

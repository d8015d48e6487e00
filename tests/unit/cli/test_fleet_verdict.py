"""The sentence about a fleet of workloads."""

from dataclasses import replace

import pytest

from hypot.cli.replay.output import fleet_verdict
from hypot.replay.jobs.comparison import Comparison
from hypot.replay.score.scorecard import Scores


class _Judged:
    """What a comparison needs of a policy."""

    def __init__(self, policy, cost, *, kept):
        self.policy = policy
        self.scores = replace(Scores(), cost=cost, budget=0.5 if kept else 2.0, late=0.1, lost=0.0)


def fleet(**policies):
    """A fleet of two workloads, by the cost and whether the SLO is kept on each."""
    return [
        Comparison(
            workload=f"w{i}",
            source="x.csv",
            start=0.0,
            end=1.0,
            judged=tuple(_Judged(name, cost, kept=kept[i]) for name, (cost, kept) in policies.items()),
            static=Scores(),
            notes=(),
        )
        for i in range(2)
    ]


BOTH, ONE, NONE = (True, True), (True, False), (False, False)


@pytest.mark.parametrize(
    ("policies", "sentence"),
    [
        ({"hpa": (1, BOTH)}, "hpa keeps the SLO on all 2 workloads: $2.00 in total."),
        ({"hpa": (1, NONE)}, "hpa does not keep the SLO on any of 2 workloads; the cost is $2.00 in total."),
        (
            {"hpa": (1, NONE), "wpa": (2, NONE)},
            "No policy keeps the SLO on any of 2 workloads; hpa costs least: $2.00 in total.",
        ),
        (
            {"hpa": (1, NONE), "wpa": (1, NONE)},
            "No policy keeps the SLO on any of 2 workloads; the cost is $2.00 in total.",
        ),
        ({"hpa": (1, BOTH), "wpa": (1, BOTH)}, "hpa and wpa keep the SLO on all 2 workloads: $2.00 in total each."),
        (
            {"hpa": (1, BOTH), "wpa": (2, BOTH)},
            "hpa keeps the SLO on all 2 workloads, as often as any, and costs least of those: $2.00 in total.",
        ),
        (
            {"hpa": (2, ONE), "wpa": (1, NONE)},
            "hpa keeps the SLO on 1 of 2 workloads: $4.00 in total. wpa costs $2.00 and keeps it on none.",
        ),
        (
            {"hpa": (2, BOTH), "wpa": (1, ONE)},
            "hpa keeps the SLO on all 2 workloads: $4.00 in total. wpa costs $2.00 and keeps it on 1.",
        ),
    ],
)
def test_the_verdict_of_a_fleet(policies, sentence):
    """One policy is compared with nothing, equal ones are named together, and none is called the best with 0 of 2."""
    assert fleet_verdict(fleet(**policies)) == sentence

"""The four worked examples of the seed document: when pods grow, when they shrink, and what they keep.

What the percentile says a pod needs, times the replicas, is what all pods together need. Where pods grow, the document
gives only the size that they reach; where they shrink, every step is compared.
"""

from math import inf

from conformance.harness import each_case
from conformance.tortoise.cases import settings_of, tortoise
from hypot.core.sizes.right_size import may_shrink
from hypot.policy.tortoise.sizes import SizedResource, bounds_of, counts_of, horizontal_size

PLACE = ("app", "cpu")


@each_case("tortoise_seed_examples.json")
def test_seed_example(case):
    """The size that is reached is that of the document, and each shrink on the way that of the original."""
    given, expect = case["given"], case["expect"]
    recommended, written = replayed(given)
    assert written[-1] == expect.get("final_request_millicores", expect.get("kept_request_millicores"))
    if written[-1] < given["initial_request_cpu_millicores"]:
        steps = expect["steps"]
        assert recommended == [step["recommended_millicores"] for step in steps]
        assert written == [step["applied_millicores"] for step in steps]


def replayed(given):
    """The size that is wanted and the one that is written after each step; pods shrink at most once an hour."""
    settings = settings_of(
        {key: given[key] for key in given if key in KNOBS}, maximum_max_replicas=100, shrinks_per_day=24
    )
    least = {"cpu_millicores": given["min_allocated_cpu_millicores"]}
    spec = {"resource_policy": [{"container_name": "app", "min_allocated_resources": least}]}
    owner = tortoise({"spec": spec}, policies={"app": {"cpu": "Horizontal"}})
    counts, bounds = counts_of(owner, settings), bounds_of(owner, PLACE, settings)
    size, last = given["initial_request_cpu_millicores"], -inf
    recommended, written = [], []
    for step in given["steps"]:
        count, used, now = step["replicas"], step["vpa_max_recommendation_millicores"], step["minute"] * 60.0
        one = SizedResource(PLACE, size, *bounds, used, total=count * used)
        wanted = horizontal_size(one, count, counts, settings, several=False)
        if wanted > size:
            size = wanted
        elif wanted < size and may_shrink(settings.shrinks_per_day, last, now):
            size, last = wanted, now
        recommended.append(wanted)
        written.append(size)
    return recommended, written


KNOBS = (
    "minimum_min_replicas",
    "preferred_max_replicas",
    "maximum_cpu_request_millicores",
    "max_allowed_scaling_down_ratio",
)

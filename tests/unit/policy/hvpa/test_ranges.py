"""The sizes of an Hvpa in a namespace with LimitRanges, as new pods get them."""

from dataclasses import replace

import pytest

from builders import reason_of
from hypot.core.amount import to_milli
from hypot.policy.model.seen import LimitRange
from unit.policy.hvpa.hvpa_cases import policy, vpa
from unit.policy.hvpa.hvpa_world import asking, box, decided, hvpa, limits_of, one, sentences, sizes, world

G = 10**9
# Two pods, whatever they need.
TWO = {
    "hpa": {"deploy": False, "template": {"spec": {"minReplicas": 2, "maxReplicas": 2}}},
    "scalingIntervals": [{"maxReplicas": 2, "maxResources": sizes("40", "400G")}],
}
APP = box(cpu=500, memory=G, limits=sizes(1000, 2 * G))


def ranges(kind="Container", low=None, high=None):
    amounts = [{r: to_milli(r, a) for r, a in (each or {}).items()} for each in (low, high)]
    return (LimitRange(kind, *amounts),)


def fitted(*containers, app, spec=None, **bounds):
    return decided(spec or hvpa(**TWO), world(2, *containers, app=app, limit_ranges=ranges(**bounds)))


def test_no_more_than_the_range_allows():
    """A maximum applies to the limit, and the request keeps its proportion to it."""
    decision = fitted(APP, app=sizes(1500, G), high=sizes(2000))
    assert one(decision) == (2, sizes(1000, G))
    assert limits_of(decision) == sizes(2000, 2 * G)
    assert sentences(decision, "limit-range") == ["Because of a LimitRange cpu of app is 1, not 1500m."]
    assert reason_of(decision, "ScalingLimited") == "True/CutAtAllowed"


def test_no_less_than_the_range_allows():
    """The minimum applies even if less would be enough."""
    assert one(fitted(APP, app=sizes(100, G), low=sizes(300))) == (2, sizes(300, G))


@pytest.mark.parametrize("more", [{}, {"high": sizes(8000)}])
def test_a_size_within_the_range_is_left_alone(more):
    """Also if there is no range."""
    decision = fitted(APP, app=sizes(1500, G), **more)
    assert one(decision) == (2, sizes(1500, G))
    assert not sentences(decision, "limit-range")


def test_a_size_at_the_maximum_stays():
    """Else rounding would change it a little in every reconcile."""
    for cpu, limit in ((1985, 4266), (4048, 4051), (1750, 1987)):
        there = box(cpu=cpu, memory=G, limits=sizes(limit, 2 * G))
        assert not fitted(there, app=sizes(9000, G), high=sizes(limit + 1)).moves


def test_the_other_resource_still_moves():
    """A resource at its maximum does not block the other."""
    there = box(cpu=1985, memory=G, limits=sizes(4266, 2 * G))
    assert one(fitted(there, app=sizes(9000, 2 * G), high=sizes(4267)))[1] == sizes(1985, 2 * G)


def test_fewer_pods_that_would_be_too_small():
    """Fewer, larger pods are no gain if they may not be larger."""
    spec = hvpa(scalingIntervals=[{"maxReplicas": 2, "maxResources": sizes("4", "40G")}])
    asked = {"sources": [asking(app=sizes(6000, 4 * G))]}
    there = world(4, box(cpu=1000, memory=G, limits=sizes(1000, G)))
    assert one(decided(spec, there, **asked))[0] == 2
    narrow = world(4, *there.pods[0].containers, limit_ranges=ranges(high=sizes(1500)))
    decision = decided(spec, narrow, **asked)
    assert (decision.moves, decision.reason) == (False, "")
    assert sentences(decision, "limit-range")[0].endswith("which would be less in total than now: nothing changes.")


@pytest.mark.parametrize(
    "own", [{"mode": "Off"}, {"controlledValues": "RequestsOnly"}, {"controlledResources": ["memory"]}]
)
def test_what_is_not_its_own_is_left_alone(own):
    """A LimitRange changes nothing that the Hvpa does not control."""
    spec = hvpa(**TWO, vpa=vpa(policy(**own)))
    decision = fitted(APP, app=sizes(1500, 2 * G), spec=spec, high=sizes(900))
    assert not sentences(decision, "limit-range")


def test_containers_share_what_a_pod_may_have():
    """Raised or not, they share it; a pod that cannot be made to fit is left to the webhook."""
    both = (box(cpu=500, limits=sizes(500)), box("proxy", cpu=500, limits=sizes(500)))
    targets = {"app": sizes(cpu=3000), "proxy": sizes(cpu=1000)}
    seen = world(2, *both, **targets, limit_ranges=ranges("Pod", high=sizes(2000)))
    found = {size.container: size.requests["cpu"] for size in decided(hvpa(**TWO), seen).desired_sizes}
    assert found == {"app": 1500, "proxy": 500}
    bare = world(2, box(cpu=500), app=sizes(cpu=1500), limit_ranges=ranges(high=sizes(1000)))
    assert one(decided(hvpa(**TWO), bare)) == (2, sizes(1500))


def test_the_order_of_pods_does_not_matter():
    """Other containers of a pod use part of what its namespace allows; the same cluster gets the same decision."""
    there = world(2, APP, app=sizes(1500, G), limit_ranges=ranges("Pod", high=sizes(2000)))
    first, second = there.pods
    fuller = replace(second, containers=(*second.containers, box("helper", cpu=400, limits=sizes(800))))
    decisions = [decided(hvpa(**TWO), replace(there, pods=pods)) for pods in ((first, fuller), (fuller, first))]
    assert one(decisions[0]) == one(decisions[1]) == (2, sizes(1000, G))

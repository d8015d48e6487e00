"""How policies, LimitRanges and limits change recommendations."""

import pytest

from builders import MI
from hypot.core.sizes.fit import LARGEST, in_proportion, pod_split, proportional_limit, range_for_request, within
from hypot.kinds.vpa.fields import ResourcePolicy
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Bounds, Container, Failure, LimitRange, Pod
from hypot.policy.model.size import Size
from hypot.policy.vertical.fit import Fitted, capped, fit, merged, with_integer_cpu, within_pod_range

MIB = 1024 * 1024


def policy(**each):
    """Policies by container; `every` is the policy for all others."""
    written = [{"containerName": "*" if name == "every" else name, **own} for name, own in each.items()]
    return ResourcePolicy.read({"containerPolicies": written})


def app(requests=None, limits=None, **more):
    return Container("app", {"cpu": 100} if requests is None else requests, limits or {}, **more)


def one(container=None, *others):
    return Pod("web-0", containers=(container or app(), *others))


def cpu(target, lower=None, upper=None, name="app"):
    return Bounds(name, {"cpu": target}, {"cpu": lower} if lower else {}, {"cpu": upper} if upper else {})


def fitted_cpu(bounds, own=None, pod=None, ranges=()):
    return {each.container: each.target["cpu"] for each in fit(bounds, own, pod or one(), ranges).bounds}


class TestArithmetic:
    """Plain numbers."""

    @pytest.mark.parametrize(
        ("limit", "request_", "recommended", "default", "expected"),
        [
            (200, 100, 50, 0, 100),
            (0, 100, 50, 200, 100),
            (300, 100, 50, 200, 150),
            (0, 100, 50, 0, None),
            (200, 100, 0, 0, None),
            (200, 0, 50, 0, 50),
            (100, 100, 50, 0, 50),
            (100, 30, 50, 0, 166),
        ],
    )
    def test_a_limit_keeps_its_ratio(self, limit, request_, recommended, default, expected):
        """Without a limit and a default there is none; a limit without a request is the request."""
        assert proportional_limit(limit, request_, recommended, default) == (expected, False)

    def test_a_limit_beyond_the_largest_number_is_cut(self):
        """The cut is reported."""
        assert proportional_limit(10**13, 1, 10**13, 0) == (LARGEST, True)

    @pytest.mark.parametrize(
        ("amount", "low", "high", "expected"),
        [
            (5, 0, 0, (5, False, False)),
            (5, 7, 0, (7, True, False)),
            (5, 0, 3, (3, False, True)),
            (5, 7, 3, (3, True, True)),
            (5, 5, 5, (5, False, False)),
        ],
    )
    def test_the_maximum_wins(self, amount, low, high, expected):
        """Zero is no bound, and a minimum above the maximum does not count."""
        assert within(amount, low, high) == expected

    @pytest.mark.parametrize(
        ("low", "high", "limit", "request_", "default", "expected"),
        [
            (100, 400, 200, 100, 0, (100, 200)),
            (100, 400, 0, 100, 0, (100, 0)),
            (100, 400, 0, 100, 200, (100, 200)),
            (100, 400, 200, 0, 0, (100, 400)),
            (0, 0, 200, 100, 0, (0, 0)),
            (100, 0, 50, 100, 0, (200, 0)),
        ],
    )
    def test_a_limit_range_bounds_the_request_by_its_limit(self, low, high, limit, request_, default, expected):
        """A request without a limit has a minimum and no maximum."""
        assert range_for_request(low, high, limit, request_, default) == expected

    @pytest.mark.parametrize(
        ("requests", "limits", "low", "high", "expected"),
        [
            (100, 200, 100, 200, None),
            (100, 0, 500, 50, None),
            (100, 200, 150, 0, (100, 150, True)),
            (100, 200, 0, 150, (200, 150, False)),
            (300, 200, 250, 0, (200, 250, False)),
            (300, 200, 250, 150, (200, 150, False)),
        ],
    )
    def test_the_containers_of_a_pod_share_a_range(self, requests, limits, low, high, expected):
        """Requests are raised to the minimum, limits are cut to the maximum; without limits nothing changes."""
        assert pod_split(requests, limits, low, high) == expected

    def test_rounding(self):
        """Up where parts must reach a minimum; a share of zero leaves the amount unchanged."""
        assert in_proportion(10, 3, 1).amount == 3
        assert in_proportion(10, 3, 1, up=True).amount == 4
        assert in_proportion(10, 0, 7).amount == 10


class TestForAllPods:
    """What the recommender does before it sees any pod."""

    def test_a_policy_of_its_own_comes_before_the_general_one(self):
        """Not both: the general policy applies to containers without their own."""
        own = policy(every={"maxAllowed": {"cpu": "50m"}}, app={"maxAllowed": {"cpu": "80m"}})
        result = capped([cpu(100), cpu(100, name="side")], own, Knobs())
        assert [each.target["cpu"] for each in result] == [80, 50]

    def test_the_cluster_bounds_what_the_policy_does_not(self):
        """Resource by resource, and a policy may be wider than the cluster's bound."""
        knobs = Knobs(max_allowed_cpu=50, max_allowed_memory=5)
        given = Bounds("app", {"cpu": 100, "memory": 10}, uncapped={"cpu": 100, "memory": 10})
        (result,) = capped([given], policy(app={"maxAllowed": {"cpu": "80m"}}), knobs)
        assert result.target == {"cpu": 80, "memory": 5}
        assert result.uncapped == given.uncapped

    def test_a_policy_that_cannot_be_read_bounds_nothing(self):
        """The rules of the kind report it."""
        (result,) = capped([cpu(100)], policy(app={"maxAllowed": {"cpu": "much"}, "minAllowed": []}), Knobs())
        assert result.target == {"cpu": 100}

    def test_whole_cores_where_an_annotation_asks(self):
        """All four figures, cpu only, and only for the value true."""
        given = Bounds("app", {"cpu": 1001, "memory": 7}, {"cpu": 1}, {"cpu": 2000}, {"cpu": 1500})
        named = "vpa-post-processor.kubernetes.io/app_integerCPU"
        assert with_integer_cpu([given], {named: "true"}) == (
            Bounds("app", {"cpu": 2000, "memory": 7}, {"cpu": 1000}, {"cpu": 2000}, {"cpu": 2000}),
        )
        assert with_integer_cpu([given], {named: "yes"}) == (given,)


class TestForOnePod:
    """What limits and ranges do."""

    def test_the_policy_overrides_the_limit_range(self):
        """Both are reported."""
        ranges = (LimitRange("Container", high={"cpu": 150}),)
        container = app({"cpu": 100}, {"cpu": 100})
        result = fit([cpu(400)], policy(app={"minAllowed": {"cpu": "300m"}}), one(container), ranges)
        assert result.bounds == (cpu(300),)
        assert result.notes == {"app": ("cpu capped to fit Max in container LimitRange", "cpu capped to minAllowed")}

    def test_lower_and_upper_are_fitted_too_and_not_reported(self):
        """The notes are about what is written, which is the target."""
        own = policy(app={"minAllowed": {"cpu": "50m"}, "maxAllowed": {"cpu": "150m"}})
        result = fit([cpu(100, 10, 900)], own, one(), ())
        assert result.bounds == (cpu(100, 50, 150),)
        assert result.notes == {}

    def test_all_that_a_container_will_have(self):
        """Resources without a recommendation stay; the patch has only what is written."""
        container = app({"cpu": 100, "memory": 64 * MI}, {"cpu": 200, "memory": 128 * MI})
        (result,) = fit([cpu(50)], None, one(container), ()).containers
        assert result.size == Size("app", {"cpu": 50, "memory": 64 * MIB}, {"cpu": 100, "memory": 128 * MIB})
        assert result.patch == Size("app", {"cpu": 50}, {"cpu": 100})

    def test_limits_stay_where_only_requests_are_controlled(self):
        """The request stays below its limit."""
        container = app({"cpu": 100}, {"cpu": 200})
        own = policy(every={"controlledValues": "RequestsOnly"})
        (result,) = fit([cpu(500)], own, one(container), ()).containers
        assert result.size == Size("app", {"cpu": 200}, {"cpu": 200})
        assert result.patch == Size("app", {"cpu": 200})

    def test_the_ratio_is_that_of_the_running_pod(self):
        """After a resize in place the status shows the new size first."""
        container = app({"cpu": 100}, {"cpu": 100}, actual_requests={"cpu": 100}, actual_limits={"cpu": 300})
        (size,) = fit([cpu(50)], None, one(container), ()).sizes
        assert size.limits == {"cpu": 150}

    @pytest.mark.parametrize(
        ("own", "sidecar"), [(policy(app={"mode": "Off"}), False), (policy(every={"mode": "Off"}), False), (None, True)]
    )
    def test_what_is_switched_off_is_left_alone(self, own, sidecar):
        """Even if there is a recommendation for it. Native sidecars are not sized."""
        assert fit([cpu(500)], own, one(app(sidecar=sidecar)), ()) == Fitted()

    @pytest.mark.parametrize("bounds", [(), (cpu(500, name="gone"),)])
    def test_nothing_without_a_recommendation(self, bounds):
        """Not even what a LimitRange of pods would cut: nothing scales down on missing data."""
        ranges = (LimitRange("Pod", high={"cpu": 10}),)
        assert fit(bounds, policy(app={}), one(app({"cpu": 100}, {"cpu": 100})), ranges) == Fitted()

    def test_unknown_limit_ranges_hold(self):
        """A size that might be refused is not written."""
        result = fit([cpu(500)], None, one(), Failure("forbidden"))
        assert result == Fitted((), "the LimitRanges of the namespace cannot be read: forbidden")

    def test_the_first_of_two_recommendations_counts(self):
        """As in every list with duplicates."""
        assert fitted_cpu([cpu(500), cpu(700)]) == {"app": 500}


class TestPodRange:
    """A LimitRange of pods, divided among the containers."""

    CONTAINERS = (app({"cpu": 100}, {"cpu": 100}), Container("side", {"cpu": 100}, {"cpu": 100}))

    def test_containers_without_a_recommendation_take_part(self):
        """With their requests, so that the pod as a whole fits."""
        ranges = (LimitRange("Pod", high={"cpu": 200}),)
        assert fitted_cpu([cpu(300)], None, one(*self.CONTAINERS), ranges) == {"app": 150, "side": 50}

    @pytest.mark.parametrize(
        ("own", "side"),
        [(policy(side={"mode": "Off"}), {}), (None, {"sidecar": True}), (None, {"target": {"memory": 5}})],
    )
    def test_unmanaged_containers_keep_their_part(self, own, side):
        """Off means no change, so the others fit into the rest: a pod above the range could not be created again."""
        ranges = (LimitRange("Pod", high={"cpu": 200}),)
        beside = Container("side", {"cpu": 100}, {"cpu": 100}, sidecar="sidecar" in side)
        given = [cpu(300), *([Bounds("side", side["target"])] if "target" in side else [])]
        result = fit(given, own, one(self.CONTAINERS[0], beside), ranges)
        assert result.sizes[0] == Size("app", {"cpu": 100}, {"cpu": 100})
        assert all(size.requests["cpu"] == 100 for size in result.sizes)

    def test_a_range_without_room_is_not_shared(self):
        """Unmanaged containers exceed it already, and nothing that we write could fix that."""
        ranges = (LimitRange("Pod", high={"cpu": 100}),)
        own = policy(side={"mode": "Off"})
        assert fitted_cpu([cpu(300)], own, one(*self.CONTAINERS), ranges) == {"app": 300}

    def test_a_recommendation_without_bounds_gets_none(self):
        """A container that joins has only a target, while others may have all three."""
        ranges = (LimitRange("Pod", high={"cpu": 200}),)
        result = fit([cpu(300, 200, 500)], None, one(*self.CONTAINERS), ranges)
        assert result.bounds[0].upper == {"cpu": 166}
        assert (result.bounds[1].lower, result.bounds[1].upper) == ({}, {})

    def test_what_has_no_entry_counts_and_stays(self):
        """Called alone, the function does not know why."""
        of_pods = LimitRange("Pod", high={"cpu": 200})
        result = within_pod_range((cpu(300, name="side"),), one(*self.CONTAINERS), of_pods, "cpu", "target")
        assert result == (cpu(150, name="side"),)

    def test_all_items_of_a_namespace_apply(self):
        """Items of one type are merged; the last default counts."""
        ranges = (
            LimitRange("Container", {"cpu": 1, "memory": 5}, {"cpu": 9}, {"cpu": 3}),
            LimitRange("Pod", {"cpu": 100}),
            LimitRange("Container", {"cpu": 2}, {"cpu": 8, "memory": 7}),
        )
        expected = LimitRange("Container", {"cpu": 2, "memory": 5}, {"cpu": 8, "memory": 7}, {"cpu": 3})
        assert merged(ranges, "Container") == expected
        assert merged(ranges, "PersistentVolumeClaim") is None

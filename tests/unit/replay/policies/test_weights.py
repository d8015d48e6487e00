"""The weight-based policy: the proposal's tables, the examples of its critics, and the released controller's gates."""

from dataclasses import replace

import pytest

from builders import decided, hpa, queue
from hypot.kinds.hpa.fields import external
from hypot.kinds.hvpa.intervals import Share
from hypot.kinds.hvpa.weights import Weight, weight_at
from hypot.policy.model.size import Size
from hypot.replay.policies.weights import (
    Blend,
    Direction,
    Situation,
    blended,
    is_count_limited,
    plain_blend,
    released,
    released_count,
    weight_for_count,
)

HALF = Weight(50, 1, 4)
# kube-apiserver as the proposal quotes it: first only replicas, at the end only size.
KUBE_APISERVER = (Weight(0, 1, 3), Weight(100, 4, 4))
MEGABYTE = 10**6


def walked(steps, replicas=1, memory=300, weight=50):
    """Replicas and exact megabytes after each pair of recommendations."""
    rows, size = [], memory * MEGABYTE
    for desired, target in steps:
        replicas, size = plain_blend(replicas, desired, weight), blended(size, target * MEGABYTE, weight)
        rows.append((replicas, size / MEGABYTE))
    return rows


def situation(replicas, desired, size, targets, *, limited=True):
    return Situation(replicas, desired, limited, (size,), {size.container: targets})


@pytest.mark.parametrize(("needed", "limited"), [(1, False), (3, False), (4, False), (5, True), (50, True)])
def test_the_condition_of_the_hpa_says_whether_it_is_limited(needed, limited):
    """At most four replicas: exactly four is not a limit, and neither is the minimum of two."""
    spec = hpa(external("queue", average=1), min_replicas=2, max_replicas=4)
    asked = decided(spec, queue(needed * 1000, 3))
    assert is_count_limited(asked) is limited


class TestDocuments:
    """The plain blend gives the numbers that are printed against it."""

    @pytest.mark.parametrize(
        ("steps", "expected"),
        [
            ([(2, 600), (3, 675), (4, 751)], [(2, 450), (3, 562.5), (4, 656.75)]),
            ([(3, 900), (4, 1200), (4, 1200)], [(2, 600), (3, 900), (4, 1050)]),
            ([(4, 1200), (4, 1000)], [(3, 750), (4, 875)]),
        ],
    )
    def test_the_tables_of_the_proposal(self, steps, expected):
        """The printed results are right, 562.5 and 656.75 are rounded; the sums next to them are not.

        In the second table the first step is 1 + (3-1) x 0.5, not (2-1), and the third begins with 3, not with 2.
        """
        assert walked(steps) == expected

    def test_the_same_need_ends_in_three_sizes(self):
        """The proposal's objection: at four replicas the size depends on the way there."""
        ends = {walked(steps)[-1] for steps in ([(2, 600), (3, 675), (4, 751)], [(3, 900), (4, 1200), (4, 1200)])}
        assert len(ends) == 2

    def test_nine_cores_for_a_need_of_five(self):
        """Half of four more replicas times half of four more cores."""
        replicas, cores = plain_blend(1, 5, 50), blended(1000, 5000, 50)
        assert (replicas, cores) == (3, 3000)
        assert replicas * cores == 9000

    @pytest.mark.parametrize(("usage", "replicas", "expected"), [(1.5, 1, 2), (2.1, 2, 3), (3.2, 3, 4)])
    def test_only_one_axis_moves(self, usage, replicas, expected):
        """An HPA that acts first asks for one more each time; half of one rounds to one, so the size never changes."""
        desired = -int(-usage // 1)
        assert released_count(replicas, desired, 50) == expected
        assert plain_blend(replicas, desired, 50) == expected
        assert blended(1000, 1000, 50) == 1000

    @pytest.mark.parametrize(("current", "desired", "plain", "rounded"), [(4, 1, 3, 2), (4, 3, 4, 3), (4, 2, 3, 3)])
    def test_going_down(self, current, desired, plain, rounded):
        """Half a step is rounded up in the documents, and away from the current count in the controller."""
        assert plain_blend(current, desired, 50) == plain
        assert released_count(current, desired, 50) == rounded


class TestWeights:
    """Which weight applies."""

    def test_the_first_that_matches(self):
        """The first weight that matches the current count; none outside of all ranges."""
        assert [weight_at(KUBE_APISERVER, count) for count in (1, 3, 4, 5)] == [0, 0, 100, None]
        assert weight_at((HALF, *KUBE_APISERVER), 4) == 50

    @pytest.mark.parametrize(
        ("weights", "current", "desired", "expected"),
        [
            (KUBE_APISERVER, 2, 3, 0),
            (KUBE_APISERVER, 4, 2, 0),
            (KUBE_APISERVER, 4, 5, 100),
            (KUBE_APISERVER, 9, 5, 100),
            ((Weight(100, 1, 1), Weight(40, 2, 5)), 1, 3, 40),
            ((Weight(30, 1, 1), Weight(60, 2, 2), Weight(100, 3, 5)), 4, 1, 60),
        ],
    )
    def test_all_weight_on_size_leaves_the_count_its_neighbour(self, weights, current, desired, expected):
        """Scaling in uses the previous weight, scaling out the next; outside of all ranges the count stays."""
        assert weight_for_count(weights, current, desired) == expected


class TestReleased:
    """One round of the released controller."""

    BLEND = Blend((Weight(40, 1, 3),))
    APP = Size("app", {"cpu": 300, "memory": 200 * MEGABYTE}, {"memory": 5000 * MEGABYTE})
    NOW = situation(2, 3, APP, {"cpu": 1300, "memory": 3000 * MEGABYTE})

    def test_both_axes(self):
        """The count rounds up, sizes change by the weight, and limits keep their proportion."""
        found = released(self.BLEND, self.NOW)
        expected = Size("app", {"cpu": 700, "memory": 1320 * MEGABYTE}, {"memory": 33_000 * MEGABYTE})
        assert found == (3, (expected,), frozenset())

    def test_sizes_are_raised_only_where_replicas_cannot(self):
        """While the HPA can still scale up, size is blocked."""
        found = released(self.BLEND, replace(self.NOW, count_limited=False))
        assert found == (3, (self.APP,), frozenset({"UpdatePolicy"}))

    def test_without_a_recommendation_of_the_hpa(self):
        """The count stays, but sizes are not blocked."""
        found = released(self.BLEND, replace(self.NOW, desired=None))
        assert (found.replicas, found.blocked) == (2, frozenset())
        assert found.sizes != (self.APP,)

    @pytest.mark.parametrize("urgent", [False, True])
    def test_urgency_opens_the_way_up(self, urgent):
        """Urgency bypasses stabilisation, the minimum change and the wait for replicas."""
        share = {"cpu": Share(10_000), "memory": Share(10**12)}
        slow = Direction(stabilization=300, least=share)
        blend = replace(self.BLEND, size_up=slow, count_up=slow)
        now = replace(self.NOW, since_last=10, count_limited=False, urgent=urgent)
        found = released(blend, now)
        assert (found.sizes != (self.APP,)) is urgent
        assert found.blocked == (frozenset() if urgent else frozenset({"StabilizationWindow", "UpdatePolicy"}))

    @pytest.mark.parametrize(
        ("closed", "in_window", "reason"),
        [
            (Direction("Off"), True, "UpdatePolicy"),
            (Direction(stabilization=300), True, "StabilizationWindow"),
            (Direction("MaintenanceWindow"), False, "MaintenanceWindow"),
            (Direction(least={"cpu": Share(10_000), "memory": Share(10**12)}), True, "MinChange"),
        ],
    )
    def test_each_gate_going_down(self, closed, in_window, reason):
        """Each axis has its own gates; the minimum change applies to sizes only."""
        now = replace(self.NOW, desired=1, targets={"app": {"cpu": 100}}, since_last=10, in_window=in_window)
        blend = replace(self.BLEND, size_down=closed, count_down=closed)
        found = released(blend, now)
        assert found.sizes == (self.APP,)
        assert found.blocked == frozenset({reason})
        assert found.replicas == (1 if reason == "MinChange" else 2)

    def test_no_weight_on_size(self):
        """Pods stay too large: at weight 0 sizes never fall again."""
        blend = Blend(KUBE_APISERVER)
        large = Size("app", {"cpu": 8000}, {})
        found = released(blend, situation(1, 1, large, {"cpu": 100}, limited=False))
        assert found == (1, (large,), frozenset({"Weight"}))

    def test_no_weight_on_the_count(self):
        """With all weight on size the count stays."""
        found = released(Blend((Weight(100, 1, 3),)), self.NOW)
        assert (found.replicas, found.blocked) == (2, frozenset({"Weight"}))

    def test_starvation_by_the_minimum_change(self):
        """X+900m is recommended, but the minimum change is 1000m: nothing changes, though 1500m are missing."""
        blend = Blend((Weight(100, 1, 1),), size_up=Direction(least={"cpu": Share(1000)}))
        etcd = Size("etcd", {"cpu": 1000}, {})
        found = released(blend, situation(1, None, etcd, {"cpu": 1900}))
        assert found == (1, (etcd,), frozenset({"MinChange"}))

    def test_limits_that_are_left_alone(self):
        """Requests are capped at limits that stay unchanged."""
        blend = replace(self.BLEND, requests_only=frozenset({"app"}))
        size = Size("app", {"memory": 200 * MEGABYTE}, {"memory": 900 * MEGABYTE})
        found = released(blend, replace(self.NOW, sizes=(size,)))
        assert found.sizes[0].requests["memory"] == 900 * MEGABYTE
        assert found.sizes[0].limits == size.limits

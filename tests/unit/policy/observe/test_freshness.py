"""Which usage samples count as fresh."""

import pytest

from builders import NOW, hpa, pod, sample, seen, wpa
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa.fields import BandMetric, ResourceBand
from hypot.policy.families import family_of
from hypot.policy.model.seen import Container, Ended, Failure, PodSample
from hypot.policy.observe.freshness import (
    OLDEST,
    Freshness,
    fresh,
    frozen_clock_jump,
    is_clock_jump,
    is_old,
    is_untimely,
)
from unit.policy.hvpa.hvpa_world import hvpa

BOOT = 5000.0
NEW = Freshness()


def looked(state=NEW, now=NOW, boot=BOOT, **ages):
    """Check pods whose samples have these ages, with windows of 30 s."""
    samples = {name: sample(100, at=now - age) for name, age in ages.items()}
    return fresh(samples, state, now, boot)


def unmeasured(autoscaler, looked_at):
    return family_of(autoscaler).unmeasured(autoscaler, looked_at)


class TestAge:
    """Age by the wall clock."""

    @pytest.mark.parametrize(
        ("age", "window", "old"),
        [(90, 15, False), (91, 15, True), (90, 30, False), (91, 30, True), (180, 60, False), (181, 60, True)],
    )
    def test_three_windows_and_at_least_ninety_seconds(self, age, window, old):
        """A sample is old after three windows or 90 s, whichever is longer."""
        assert is_old(NOW - age, window, NOW) is old
        kept, stale, _ = fresh({"a": sample(1, at=NOW - age, window=window)}, NEW, NOW, BOOT)
        assert ("a" in stale, "a" in kept) == (old, not old)

    def test_only_what_is_stale_is_left_out(self):
        """A pod whose sample is stale counts as a pod without metrics."""
        kept, stale, _ = looked(a=10, b=100, c=20)
        assert (set(kept), stale) == ({"a", "c"}, {"b"})

    def test_all_may_be_stale(self):
        """If all samples are stale, none is kept."""
        kept, stale, _ = looked(a=1000, b=100)
        assert (kept, stale) == ({}, {"a", "b"})

    def test_no_samples(self):
        """Without samples nothing is stale."""
        assert fresh({}, NEW, NOW, BOOT) == ({}, frozenset(), NEW)

    @pytest.mark.parametrize("time", [float("nan"), float("inf"), float("-inf")])
    def test_what_is_no_time_is_stale(self, time):
        """A sample whose time is not finite is stale; other samples are kept."""
        kept, stale, _ = fresh({"a": sample(1), "b": sample(1, at=time)}, NEW, NOW, BOOT)
        assert (set(kept), stale) == ({"a"}, {"b"})

    @pytest.mark.parametrize(("age", "untimely"), [(90, False), (91, True), (-30, False), (-31, True)])
    def test_an_answer_is_of_its_time(self, age, untimely):
        """An answer is untimely if it is too old or too far in the future."""
        assert is_untimely(NOW - age, NOW) is untimely


class TestMovement:
    """Progress of timestamps by the boot clock."""

    def test_a_timestamp_that_stands_still_is_stale(self):
        """Also if the wall clock was set back and the sample looks young."""
        samples, state = {"a": sample(1, at=NOW)}, NEW
        for seconds in range(0, 91, 15):
            kept, _, state = fresh(samples, state, NOW, BOOT + seconds)
            assert kept == samples
        assert fresh(samples, state, NOW, BOOT + 91)[1] == {"a"}

    def test_one_that_moves_is_fresh_again(self):
        """A sample is fresh again as soon as its timestamp moves."""
        _, stale, state = fresh({"a": sample(1, at=NOW)}, Freshness({"a": (NOW, BOOT - 200)}), NOW, BOOT)
        assert stale == {"a"}
        _, stale, state = fresh({"a": sample(1, at=NOW + 15)}, state, NOW + 15, BOOT + 15)
        assert (stale, state) == (frozenset(), Freshness({"a": (NOW + 15, BOOT + 15)}))

    def test_others_that_move_do_not_help(self):
        """Each pod is judged by its own samples."""
        state = Freshness({"a": (NOW - 60, BOOT - 95), "b": (NOW - 60, BOOT - 95)})
        samples = {"a": sample(1, at=NOW - 60), "b": sample(1, at=NOW)}
        assert fresh(samples, state, NOW, BOOT)[1] == {"a"}

    def test_pods_that_are_gone_are_forgotten(self):
        """Pods that are gone are dropped, so the state does not grow."""
        _, _, state = looked(a=10, b=10)
        _, _, state = looked(state, a=10)
        assert set(state.first) == {"a"}


class TestAhead:
    """Samples from the future."""

    @pytest.mark.parametrize(("ahead", "stale"), [(30, False), (31, True)])
    def test_a_node_whose_clock_is_wrong(self, ahead, stale):
        """Up to 30 s ahead counts as clock drift."""
        assert looked(a=10, b=-ahead)[1] == ({"b"} if stale else set())

    def test_our_own_clock_is_behind(self):
        """If all samples are ahead alike, those whose timestamps move are fresh."""
        kept, stale, state = looked(a=-3600, b=-3620, c=-3660)
        assert (set(kept), stale) == ({"a", "b", "c"}, frozenset())
        samples = {"a": sample(1, at=NOW + 3600), "b": sample(1, at=NOW + 3720)}
        assert fresh(samples, state, NOW + 100, BOOT + 100)[1] == {"a"}

    def test_one_that_is_far_from_the_others_is_not_alike(self):
        """A sample far ahead of the others is stale."""
        assert looked(a=-3600, b=-3610, c=-9000)[1] == {"c"}


class TestClockJump:
    """The wall clock and the boot clock should advance alike."""

    @pytest.mark.parametrize(
        ("wall", "boot", "jump", "is_one"),
        [(15, 15, 0, False), (20, 15, 5, False), (10, 15, -5, False), (21, 15, 6, True), (-3585, 15, -3600, True)],
    )
    def test_the_difference_of_their_progress(self, wall, boot, jump, is_one):
        """More than five seconds, in either direction, is a jump and not drift."""
        found = frozen_clock_jump(NOW, BOOT, NOW + wall, BOOT + boot)
        assert found == jump
        assert is_clock_jump(found) is is_one


class TestUnmeasured:
    """Ready pods that a WatermarkPodAutoscaler would take for idle."""

    CPU = BandMetric("Resource", resource=ResourceBand("cpu", {"matchLabels": {"app": "web"}}, "200m", "100m"))

    def test_a_pod_without_a_sample_and_one_without_the_resource_are_named(self):
        """Pods that are not ready, or not selected, need no sample."""
        pods = [pod(name, labels={"app": "web"}) for name in "abc"]
        pods += [pod("d", labels={"app": "web"}, ready="False"), pod("e", labels={"app": "other"})]
        looked_at = seen(5, pods=tuple(pods), pod_metrics={"a": sample(100), "b": sample(None, 100)})
        assert unmeasured(wpa(self.CPU), looked_at) == ("b", "c")

    def test_a_pod_of_which_a_container_is_missing_is_named(self):
        """Every container needs a cpu value, native sidecars too; init containers do not."""
        app, helper = Container("app"), Container("helper", sidecar=True)
        whole = pod("a", labels={"app": "web"}, containers=(app, helper), init_containers=(Container("init"),))
        used = {"app": {"cpu": 100}, "helper": {"cpu": 5}}
        cases = [
            used,
            {"helper": {"cpu": 5}},
            {**used, "app": {"memory": 7}},
            {**used, "debug": {"cpu": 1}},
            {**used, "debug": {}},
        ]
        found = [PodSample(NOW, 15.0, tuple(each.items())) for each in cases]
        named = [unmeasured(wpa(self.CPU), seen(1, pods=(whole,), pod_metrics={"a": each})) for each in found]
        assert named == [(), ("a",), ("a",), (), ("a",)]

    def test_none_is_named_where_nothing_could_be_read(self):
        """Then the metric itself has failed."""
        assert unmeasured(wpa(self.CPU), seen(1, pods=(pod("a"),), pod_metrics=Failure("gone"))) == ()


class TestNotFolded:
    """Pods for which the histograms get no new sample."""

    KINDS = pytest.mark.parametrize("autoscaler", [VPA("deployment/web"), hvpa()], ids=["VPA", "Hvpa"])

    @KINDS
    @pytest.mark.parametrize("samples", [Failure("gone"), {}, {"other": sample(100, 100)}])
    def test_all_that_are_there_where_nothing_was_measured(self, autoscaler, samples):
        """Without any sample every pod counts, ready or not, however young."""
        pods = (pod("a"), pod("b", ready="False"), pod("c", ready_since=NOW - 5), pod("d", phase="Pending"))
        assert unmeasured(autoscaler, seen(4, pods=pods, pod_metrics=samples)) == ("a", "b", "c", "d")

    @KINDS
    def test_those_that_had_the_time_to_be_measured(self, autoscaler):
        """Both resources are needed, ready or not; pods that terminate, are new or do not run yet are not named."""
        old, new = NOW - OLDEST - 1, NOW - OLDEST
        pods = (
            pod("a", ready_since=old),
            pod("b", ready_since=old),
            pod("c", ready_since=old),
            pod("d", ready_since=new),
            pod("e", ready="False", ready_since=old),
            pod("f", ready_since=old, deleted=True),
            pod("g", ready="False", ready_since=new, started=old),
            pod("h", ready="False", phase="Pending", ready_since=old),
            pod("i", ready="False", ready_since=old, containers=(Container("app", ended=Ended("Error", old, new)),)),
        )
        looked_at = seen(9, pods=pods, pod_metrics={"a": sample(100, 100), "b": sample(100)})
        assert unmeasured(autoscaler, looked_at) == ("b", "c", "e")

    def test_none_where_usage_decides_nothing(self):
        """An HPA has its own rule, and an Hvpa without a size recommender uses other metrics."""
        looked_at = seen(1, pods=(pod("a"),), pod_metrics=Failure("gone"))
        assert unmeasured(hpa(), looked_at) == unmeasured(hvpa(vpa={"deploy": False}), looked_at) == ()

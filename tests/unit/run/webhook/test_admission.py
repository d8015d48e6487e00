"""The sizes of new pods: by container, within what their namespace allows, and never a pod that is refused."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Failure, LimitRange
from hypot.policy.model.size import Size
from hypot.policy.observe.read_pods import read_amounts, read_pod
from hypot.policy.vertical.limits import admits
from hypot.run.webhook.admission import patch_for
from unit.policy.sizes_world import box, recommended
from unit.run.webhook.admission_world import applied, both, learned, pod, scaled, sizer, sizes_for

MI, GI = 2**20, 2**30
# In milli-units, as everything observed is.
GIB = GI * 1000


def after(autoscaler, document, ranges=()):
    """Resources by container after the webhook."""
    sizes = sizes_for(autoscaler, document, ranges)
    done = applied(document, patch_for(document, sizes, {}))
    return {each["name"]: each.get("resources") for each in done["spec"]["containers"]}


class TestPatch:
    """The operations of the patch."""

    def test_a_container_gets_exactly_its_size(self):
        """It gets requests and limits, by its name."""
        document = pod(box("log"), box("app", limits=both("2", "2Gi")))
        size = Size("app", {"cpu": 300, "memory": 512 * MI}, {"cpu": 600, "memory": GI})
        done = applied(document, patch_for(document, [size], {}))
        assert done["spec"]["containers"][1]["resources"] == {
            "requests": both("300m", "512Mi"),
            "limits": both("600m", "1Gi"),
        }
        assert done["spec"]["containers"][0] == document["spec"]["containers"][0]

    @pytest.mark.parametrize("given_", [{}, {"resources": None}, {"resources": {}}, {"resources": {"limits": None}}])
    def test_maps_that_are_missing_are_made(self, given_):
        """Any part of them may be missing."""
        document = pod({"name": "app", **given_})
        done = applied(document, patch_for(document, [Size("app", {"cpu": 300}, {"cpu": 600})], {}))
        resources = done["spec"]["containers"][0]["resources"]
        assert resources == {"requests": {"cpu": "300m"}, "limits": {"cpu": "600m"}}

    def test_other_resources_and_other_amounts_stay(self):
        """Only resources that the size has are changed."""
        resources = {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}, "claims": []}
        document = pod({"name": "app", "resources": resources})
        done = applied(document, patch_for(document, [Size("app", {"cpu": 300})], {}))
        expected = {**resources, "requests": {"cpu": "300m", "nvidia.com/gpu": "1"}}
        assert done["spec"]["containers"][0]["resources"] == expected

    def test_only_a_mark_where_nothing_changes(self):
        """Equal amounts may be written differently; the mark shows that the webhook was asked."""
        document = pod(box("app", "1000m", "1024Mi"))
        operations = patch_for(document, [Size("app", {"cpu": 1000, "memory": GI})], {"a": "b"})
        assert operations == [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]
        assert patch_for(applied(document, operations), [Size("app", {"cpu": 1000, "memory": GI})], {"a": "b"}) == []

    def test_nothing_for_containers_that_are_not_there(self):
        """A container that was removed from the template is not an error."""
        assert patch_for(pod(), [Size("gone", {"cpu": 1})], {"a": "b"}) == []

    @pytest.mark.parametrize("annotations", [None, {"team": "sre"}])
    def test_annotations_are_added(self, annotations):
        """Existing annotations stay, and a slash in a name is escaped."""
        document = pod()
        if annotations:
            document["metadata"]["annotations"] = annotations
        done = applied(document, patch_for(document, [Size("app", {"cpu": 300})], {"hypot.dev/sized-by": "Hvpa/web"}))
        assert done["metadata"]["annotations"] == {**(annotations or {}), "hypot.dev/sized-by": "Hvpa/web"}

    @pytest.mark.parametrize("odd", [{}, {"metadata": []}, {"metadata": {}, "spec": {"containers": {}}}, {"spec": 1}])
    def test_nothing_for_what_is_not_a_pod(self, odd):
        """Nothing is raised."""
        assert patch_for(odd, [Size("app", {"cpu": 300})], {}) == []


class TestVPA:
    """Sizes by the status of a VerticalPodAutoscaler, fitted to the pod."""

    def test_the_target_and_limits_in_proportion(self):
        """The result is that of the updater."""
        found = after(
            sizer(recommended("app", ("300m", "512Mi"))), pod(box("app", "100m", "1Gi", limits={"cpu": "200m"}))
        )
        assert found["app"] == {"requests": both("300m", "512Mi"), "limits": {"cpu": "600m"}}

    @pytest.mark.parametrize("mode", ["Initial", "Recreate", "Auto", "InPlace", "InPlaceOrRecreate"])
    def test_every_mode_but_off_sizes_new_pods(self, mode):
        """Initial is included, which does nothing else."""
        assert after(sizer(recommended(target=("2", None)), mode=mode), pod())["app"]["requests"]["cpu"] == "2"

    def test_off_is_left_alone(self):
        """It only recommends."""
        assert sizes_for(sizer(recommended(target=("2", None)), mode="Off"), pod(), ()) == ()

    @pytest.mark.parametrize("said", [{"LowConfidence": "True"}, {"RecommendationProvided": "False"}])
    def test_advice_with_low_confidence_is_not_used(self, said):
        """The conditions of the status may say so."""
        assert sizes_for(sizer(recommended(target=("2", None)), **said), pod(), ()) == ()

    def test_a_spec_that_cannot_be_decided_with_sizes_nothing(self):
        """Its bounds cannot be relied on."""
        bad = sizer(recommended(target=("64", None)), policies=[{"containerName": "app", "maxAllowed": {"cpu": "two"}}])
        assert sizes_for(bad, pod(), ()) == ()

    def test_policies_hold(self):
        """A container that is off, a maximum, and requests only."""
        policies = [
            {"containerName": "off", "mode": "Off"},
            {"containerName": "most", "maxAllowed": {"cpu": "2"}},
            {"containerName": "only", "controlledValues": "RequestsOnly"},
        ]
        names = ("off", "most", "only")
        figures = [recommended(name, ("4", None)) for name in names]
        found = after(sizer(*figures, policies=policies), pod(*(box(n, "1", None, limits={"cpu": "3"}) for n in names)))
        assert {name: (each["requests"]["cpu"], each["limits"]["cpu"]) for name, each in found.items()} == {
            "off": ("1", "3"),
            "most": ("2", "6"),
            "only": ("3", "3"),
        }

    def test_the_bounds_of_the_cluster_hold(self):
        """Knobs come from the settings, and from the annotations of the object."""
        advice = recommended(target=("4", None))
        assert sizes_for(sizer(advice), pod(), (), Knobs(max_allowed_cpu=1500))[0].requests["cpu"] == 1500

    def test_sidecars_are_left_alone(self):
        """They run next to the containers that are sized."""
        sidecar = {**box("mesh"), "restartPolicy": "Always"}
        document = pod(box("app"), initContainers=[sidecar])
        sizes = sizes_for(sizer(recommended("mesh", ("4", None)), recommended("app", ("2", None))), document, ())
        assert [size.container for size in sizes] == ["app"]

    @pytest.mark.parametrize("target", ["0", "1e30", "-1", "much"])
    def test_an_amount_that_no_container_has_is_none(self, target):
        """The other resource is still sized."""
        assert after(sizer(recommended(target=(target, "2Gi"))), pod(box()))["app"]["requests"] == both("1", "2Gi")

    def test_a_status_that_comes_with_the_pod_is_not_used(self):
        """A status that the creator of a pod writes is not that of a kubelet."""
        reported = {
            "containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "64"}, "limits": {"cpu": "64"}}}]
        }
        document = {**pod(box("app", "1", None, limits={"cpu": "2"})), "status": reported}
        assert after(sizer(recommended(target=("2", None))), document)["app"]["limits"] == {"cpu": "4"}


class TestHolds:
    """A VerticalPodAutoscaler that is held: the pod keeps what it was written with."""

    WRITTEN = {"requests": both("1", "1Gi"), "limits": both("2", "2Gi")}  # noqa: RUF012
    # More cpu and less memory than that.
    ADVICE = recommended(target=("2", "512Mi"))

    def held(self, may_shrink=True, ranges=(), **annotations):  # noqa: FBT002
        named = {f"hypot.dev/{key}": word for key, word in annotations.items()}
        document = pod(box("app", limits=both("2", "2Gi")))
        sizes = sizes_for(sizer(self.ADVICE, annotations=named), document, ranges, may_shrink=may_shrink)
        done = applied(document, patch_for(document, sizes, {}))
        return sizes, done["spec"]["containers"][0]["resources"]

    @pytest.mark.parametrize("word", [{"paused": "true"}, {"hold": "3"}, {"paused": "maybe"}, {"hold": "many"}])
    def test_a_paused_autoscaler_sizes_no_pods(self, word):
        """New pods come up as written, also where the value cannot be read."""
        assert self.held(**word) == ((), self.WRITTEN)

    def test_down_only_grows(self):
        """Each amount is handled by itself."""
        assert self.held(paused="down")[1] == {"requests": both("2", "1Gi"), "limits": both("4", "2Gi")}

    def test_up_only_shrinks(self):
        """Each amount is handled by itself."""
        assert self.held(paused="up")[1] == {"requests": both("1", "512Mi"), "limits": both("2", "1Gi")}

    def test_what_holds_for_all_is_as_a_pause(self):
        """Nothing is smaller than written; with scale-up paused too, nothing changes."""
        assert self.held(may_shrink=False)[1] == {"requests": both("2", "1Gi"), "limits": both("4", "2Gi")}
        assert self.held(may_shrink=False, paused="up")[1] == self.WRITTEN
        assert self.held(paused="false")[1] == {"requests": both("2", "512Mi"), "limits": both("4", "1Gi")}

    @pytest.mark.parametrize(
        ("reported", "reason", "cpu", "memory"),
        [
            ("True", "Conflict", "1", "1Gi"),
            ("True", "OtherLeader", "2", "1Gi"),
            ("True", "ColdStart", "2", "1Gi"),
            ("True", "StaleWatch", "2", "1Gi"),
            ("True", "Governor", "2", "512Mi"),
            ("True", "", "2", "1Gi"),
            ("False", "Conflict", "2", "512Mi"),
            ("Unknown", "Conflict", "2", "512Mi"),
        ],
    )
    def test_what_the_status_says_holds_for_new_pods_too(self, reported, reason, cpu, memory):
        """On any replica: in a conflict pods come up as written, with other holds they come up no smaller."""
        vpa = sizer(self.ADVICE, ScalingBlocked=reported)
        vpa.status["conditions"][0]["reason"] = reason
        assert after(vpa, pod())["app"]["requests"] == both(cpu, memory)

    @pytest.mark.parametrize("word", ["up", "false"])
    def test_an_annotation_itself_has_the_direction(self, word):
        """The condition does not say the direction, and may be about an earlier annotation."""
        vpa = sizer(self.ADVICE, annotations={"hypot.dev/paused": word}, ScalingBlocked="True")
        vpa.status["conditions"][0]["reason"] = "Paused"
        assert after(vpa, pod())["app"]["requests"]["memory"] == "512Mi"

    def test_a_namespace_that_would_refuse_what_is_left(self):
        """Containers share a maximum: one may not grow where the other does not shrink."""
        figures = [recommended("a", ("3", None)), recommended("b", ("1", None))]
        boxes = [box(name, "2", None, limits={"cpu": "2"}) for name in ("a", "b")]
        high = (LimitRange("Pod", high={"cpu": 4000}),)
        assert sizes_for(sizer(*figures), pod(*boxes), high) != ()
        assert sizes_for(sizer(*figures), pod(*boxes), high, may_shrink=False) == ()

    def test_what_an_hvpa_recorded_is_what_runs(self):
        """Its size was admitted with the decision: a new pod is like the others, whatever holds now."""
        hvpa = scaled(("app", {"cpu": "500m"}, {}), annotations={"hypot.dev/paused": "true"})
        assert sizes_for(hvpa, pod(), (), may_shrink=False)[0].requests == {"cpu": 500}


class TestHvpa:
    """Sizes by the last scaling of an Hvpa."""

    def test_the_recorded_size(self):
        """Requests and limits are as decided."""
        hvpa = scaled(("app", both("700m", "2Gi"), both("1400m", "3Gi")))
        found = after(hvpa, pod(box("app", limits=both("2", "2Gi"))))
        assert found["app"] == {"requests": both("700m", "2Gi"), "limits": both("1400m", "3Gi")}

    def test_what_it_leaves_alone_stays(self):
        """Its record names all containers as they were; the template may have changed since."""
        policies = [{"containerName": "off", "mode": "Off"}, {"containerName": "app", "controlledResources": ["cpu"]}]
        record = [(name, both("2", "2Gi"), {}) for name in ("app", "off")]
        found = after(scaled(*record, policies=policies), pod(box("app"), box("off"), box("new")))
        assert {name: each["requests"] for name, each in found.items()} == {
            "app": both("2", "1Gi"),
            "off": both("1", "1Gi"),
            "new": both("1", "1Gi"),
        }

    def test_the_template_may_be_what_is_sized(self):
        """Then a pod comes up as written."""
        for annotations, count in (({"hypot.dev/resize": "Template"}, 0), ({"hypot.dev/resize": "InPlace"}, 1)):
            hvpa = scaled(("app", both("2", "2Gi"), {}), annotations=annotations)
            assert len(sizes_for(hvpa, pod(), ())) == count

    def test_a_request_never_passes_its_limit(self):
        """A limit that is not in the record grows with the request; an uncontrolled limit bounds it."""
        document = pod(box("app", "1", None, limits={"cpu": "1500m"}))
        record = ("app", {"cpu": "2"}, {})
        only = [{"containerName": "app", "controlledValues": "RequestsOnly"}]
        assert after(scaled(record), document)["app"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
        kept = after(scaled(record, policies=only), document)["app"]
        assert kept == {"requests": {"cpu": "1500m"}, "limits": {"cpu": "1500m"}}

    @pytest.mark.parametrize("status", [None, [], {"lastScaling": 1}, {"lastScaling": {"vpaStatus": {}}}])
    def test_without_a_record_nothing(self, status):
        """A record that cannot be read counts as missing."""
        made = scaled().to_dict()
        assert sizes_for(Hvpa.from_dict({**made, "status": status}), pod(), ()) == ()


def test_kinds_that_only_count_size_nothing():
    """An HPA has no sizes."""
    assert sizes_for(HPA("deployment/web", max_replicas=3), pod(), ()) == ()


class Ratio(NamedTuple):
    """A LimitRange that bounds the ratio of limit to request."""

    type: str
    ratio: dict[str, int]
    low: dict[str, int] = {}  # noqa: RUF012
    high: dict[str, int] = {}  # noqa: RUF012
    default: dict[str, int] = {}  # noqa: RUF012


class TestLimitRanges:
    """A pod is never changed so that its namespace would refuse it."""

    def test_a_container_is_cut_to_the_maximum(self):
        """Its limit keeps the proportion, for both kinds."""
        high = LimitRange("Container", high={"cpu": 2000})
        document = pod(box("app", "1", None, limits={"cpu": "2"}))
        cut = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
        assert after(sizer(recommended(target=("4", None))), document, (high,))["app"] == cut
        assert after(scaled(("app", {"cpu": "4"}, {"cpu": "8"})), document, (high,))["app"] == cut

    def test_a_container_is_raised_to_the_minimum(self):
        """Its limit is not below it."""
        low = LimitRange("Container", {"cpu": 500})
        document = pod(box("app", "1", None, limits={"cpu": "2"}))
        found = after(scaled(("app", {"cpu": "100m"}, {"cpu": "200m"})), document, (low,))["app"]
        assert found == {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}

    def test_containers_share_the_maximum_of_a_pod(self):
        """A container that is not sized keeps what it has."""
        high = LimitRange("Pod", high={"cpu": 4000})
        boxes = [box(name, "500m", None, limits={"cpu": "500m"}) for name in ("app", "web", "log")]
        record = [(name, {"cpu": "3"}, {"cpu": "3"}) for name in ("app", "web")]
        found = after(scaled(*record), pod(*boxes), (high,))
        assert [found[name]["limits"]["cpu"] for name in ("app", "web", "log")] == ["1750m", "1750m", "500m"]

    def test_the_range_wins_over_the_policy(self):
        """A minimum of the autoscaler above the maximum of the namespace would be refused."""
        high = LimitRange("Container", high={"cpu": 2000})
        policies = [{"containerName": "app", "minAllowed": {"cpu": "4"}}]
        document = pod(box("app", "1", None, limits={"cpu": "1"}))
        found = after(sizer(recommended(target=("1", None)), policies=policies), document, (high,))
        assert found["app"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}

    def test_left_as_it_is_where_nothing_fits(self):
        """The decided size breaks the allowed ratio."""
        document = pod(box("app", "1", None, limits={"cpu": "1"}))
        hvpa = scaled(("app", {"cpu": "1"}, {"cpu": "4"}))
        assert sizes_for(hvpa, document, (Ratio("Container", {"cpu": 2000}),)) == ()
        assert sizes_for(hvpa, document, (Ratio("Container", {"cpu": 4000}),)) != ()
        assert sizes_for(hvpa, document, (Ratio("Pod", {"cpu": 2000}),)) == ()

    def test_left_as_it_is_where_ranges_are_not_known(self):
        """It is unknown what the namespace accepts."""
        assert sizes_for(sizer(recommended(target=("2", None))), pod(), Failure("not read yet")) == ()

    def test_left_as_it_is_where_the_pod_has_resources_as_a_whole(self):
        """Its containers have to stay within them."""
        document = pod(resources={"requests": {"cpu": "2"}})
        assert sizes_for(sizer(recommended(target=("4", None))), document, ()) == ()

    def test_init_containers_count_for_a_pod(self):
        """The largest counts; it is unknown whether a sidecar runs at the same time, so both must fit."""
        same = [
            box(name, cpu, None, limits={"cpu": cpu}) for name, cpu in (("app", "1"), ("setup", "3"), ("mesh", "1"))
        ]
        document = read_pod(pod(same[0], initContainers=[same[1], {**same[2], "restartPolicy": "Always"}]))
        ranges = [LimitRange("Pod", {"cpu": 3000}), LimitRange("Pod", high={"cpu": 4000})]
        assert admits(document, ranges)
        assert not admits(document, [LimitRange("Pod", {"cpu": 3001})])
        assert not admits(document, [LimitRange("Pod", high={"cpu": 3999})])

    @pytest.mark.parametrize(
        ("limit_range", "taken"),
        [
            (LimitRange("Container", {"cpu": 1000}), True),
            (LimitRange("Container", {"cpu": 1001}), False),
            (LimitRange("Container", {"memory": 1}), False),
            (LimitRange("Container", high={"cpu": 2000}), True),
            (LimitRange("Container", high={"cpu": 1999}), False),
            (LimitRange("Container", high={"memory": GIB}), False),
            (LimitRange("PersistentVolumeClaim", {"cpu": 9000}), True),
        ],
    )
    def test_the_checks_of_an_api_server(self, limit_range, taken):
        """A minimum needs a request and a maximum needs a limit."""
        assert admits(read_pod(pod(box("app", "1", None, limits={"cpu": "2"}))), [limit_range]) is taken


CPUS = st.integers(1, 8000)
RANGES = st.lists(
    st.builds(
        lambda kind, low, high: LimitRange(kind, {"cpu": low} if low else {}, {"cpu": high} if high else {}),
        st.sampled_from(["Container", "Pod"]),
        st.none() | CPUS,
        st.none() | CPUS,
    ),
    max_size=3,
)
BOXES = st.lists(st.tuples(CPUS, st.floats(1, 4)), min_size=1, max_size=3)


@given(BOXES, st.lists(CPUS, min_size=3, max_size=3), RANGES, st.booleans())
def test_no_patch_makes_a_pod_that_is_refused(boxes, targets, ranges, by_vpa):
    """For any ranges: a changed pod is accepted; a second review changes nothing more."""
    document = pod(
        *(box(f"c{i}", f"{cpu}m", None, limits={"cpu": f"{int(cpu * ratio)}m"}) for i, (cpu, ratio) in enumerate(boxes))
    )
    wanted = [(f"c{i}", cpu) for i, cpu in enumerate(targets)]
    if by_vpa:
        autoscaler = sizer(*(recommended(name, (f"{cpu}m", None)) for name, cpu in wanted))
    else:
        autoscaler = scaled(*((name, {"cpu": f"{cpu}m"}, {"cpu": f"{2 * cpu}m"}) for name, cpu in wanted))
    operations = patch_for(document, sizes_for(autoscaler, document, ranges), {})
    done = applied(document, operations)
    if operations:
        assert admits(read_pod(done), ranges)
    if not ranges:
        requests = [read_amounts(each["resources"]["requests"])["cpu"] for each in done["spec"]["containers"]]
        assert requests == targets[: len(boxes)]
        assert patch_for(done, sizes_for(autoscaler, done, ranges), {}) == []


class TestAutoscaler:
    """The cpu that an Autoscaler recorded."""

    @pytest.mark.parametrize(
        ("autoscaler", "cpu"),
        [
            (learned(), "1500m"),
            (learned(axes="Size"), "1500m"),
            # One that only reports, or leaves sizes alone, records nothing that counts.
            (learned(mode="Off"), "500m"),
            (learned(axes="Replicas"), "500m"),
            (learned(resourcePolicy={"containerPolicies": [{"containerName": "app", "mode": "Off"}]}), "500m"),
            (learned(annotations={"hypot.dev/resize": "Template"}), "500m"),
            # Bounds may have changed since: four times the request of the manifest, or what is written.
            (learned("9"), "2"),
            (learned("100m"), "500m"),
            (
                learned(resourcePolicy={"containerPolicies": [{"containerName": "*", "maxAllowed": {"cpu": "750m"}}]}),
                "750m",
            ),
            (learned("nothing"), "500m"),
            (learned("0"), "500m"),
        ],
    )
    def test_the_cpu_of_a_new_pod(self, autoscaler, cpu):
        """Memory stays as in the manifest."""
        found = after(autoscaler, pod(box(cpu="500m")))["app"]["requests"]
        assert found == {"cpu": cpu, "memory": "1Gi"}

    def test_a_limit_follows(self):
        """Where the manifest has one; it is never below the request."""
        with_limit = box(cpu="500m", limits={"cpu": "1"})
        assert after(learned("1500m", "3"), pod(with_limit))["app"]["limits"] == {"cpu": "3"}
        assert after(learned("1500m", "1"), pod(with_limit))["app"]["limits"] == {"cpu": "1500m"}
        assert "limits" not in after(learned("1500m", "3"), pod(box(cpu="500m")))["app"]

    def test_only_the_container_that_it_sizes(self):
        """That with the largest cpu request; a container that is not recorded stays as it is."""
        found = after(learned(), pod(box(cpu="500m"), box("proxy", cpu="100m")))
        assert (found["app"]["requests"]["cpu"], found["proxy"]["requests"]["cpu"]) == ("1500m", "100m")
        found = after(learned(), pod(box(cpu="500m"), box("proxy", cpu="2")))
        assert (found["app"]["requests"]["cpu"], found["proxy"]["requests"]["cpu"]) == ("500m", "2")

    def test_without_a_request_there_is_nothing_to_size(self):
        """Nor without containers of that name."""
        assert sizes_for(learned(), pod(box(cpu=None)), ()) == ()
        assert sizes_for(learned(), pod(box("other")), ()) == ()

"""VerticalPodAutoscalers and Hvpas with workloads and each other: the less common cases."""

import pytest

from hypot.lint import check
from unit.lint.lint_cases import (
    WEB,
    changed,
    checkpoint,
    container,
    cpu,
    external,
    hpa,
    hpa_block,
    hvpa,
    limited,
    memory,
    of_container,
    sized,
    thing,
    vpa,
    vpa_block,
    workload,
    wpa,
)

ON_HVPA = {"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa"}
OFF = {"updatePolicy": {"updateMode": "Off"}}


def findings(rule, *objects, kubernetes="1.37"):
    return [one for one in check(*objects, kubernetes=kubernetes).findings if one.rule == rule]


def rules(*objects, kubernetes="1.37"):
    return [one.rule for one in check(*objects, kubernetes=kubernetes).findings]


def mode(word, **policy):
    return vpa(updatePolicy={"updateMode": word} | policy)


def limit_range(name="compute", kind="Container", **item):
    return thing("v1", "LimitRange", name, limits=[{"type": kind} | item])


class TestTarget:
    @pytest.mark.parametrize("kind", ["DaemonSet", "Job", "CronJob"])
    def test_sizes_need_no_replica_count(self, kind):
        """A VPA can size what cannot be scaled; an Hvpa needs both."""
        group = "apps/v1" if kind == "DaemonSet" else "batch/v1"
        target = {"apiVersion": group, "kind": kind}
        assert rules(vpa(target=target)) == ["target-not-given"]
        assert "target-not-scalable" in rules(hvpa(targetRef=WEB | target))

    def test_pods_and_services_are_no_workload(self):
        """They can be neither scaled nor sized."""
        (found,) = findings("target-not-scalable", vpa(target={"apiVersion": "v1", "kind": "Pod"}))
        assert found.field == "spec.targetRef.kind"

    @pytest.mark.parametrize("version", ["extensions/v1beta1", ""])
    def test_vertical_autoscaler_uses_the_kind(self, version):
        """Kubernetes' own workloads are found whatever the group says; an Hvpa needs the group too."""
        assert rules(vpa(target={"apiVersion": version}), workload(replicas=2)) == []
        assert "target-kind" in rules(hvpa(targetRef=WEB | {"apiVersion": version}), workload())

    def test_misspelt_kind(self):
        """A kind must be spelt exactly."""
        (found,) = findings("target-kind", vpa(target={"kind": "deployment"}))
        assert "nothing is sized" in found.message

    @pytest.mark.parametrize("scaler", [vpa(target={"name": "wbe"}), hvpa(targetRef=WEB | {"name": "wbe"})])
    def test_mistyped_name(self, scaler):
        """If other workloads of the kind exist it is a warning, at the name."""
        (found,) = findings("target-missing", scaler, workload())
        assert found.field == "spec.targetRef.name"

    def test_hvpa_sets_replicas_too(self):
        """A fixed count conflicts, a count of zero switches it off, and a budget is compared with its minimum."""
        budget = thing("policy/v1", "PodDisruptionBudget", selector={"matchLabels": {"app": "web"}}, minAvailable=2)
        assert rules(hvpa(), workload(replicas=3)) == ["replicas-on-target"]
        (found,) = findings("target-at-zero", hvpa(), workload(replicas=0))
        assert found.message == "0 replicas switch Hvpa shop/web off"
        assert rules(hvpa(), workload(), budget) == ["pdb-blocks-evictions"]

    def test_pods_behind_an_hvpa_are_known(self):
        """An HPA that scales an Hvpa is checked against the pods of the Hvpa's target."""
        scaled = hpa(target=ON_HVPA, metrics=[of_container("api")])
        assert findings("container-missing", scaled, hvpa(), workload())

    def test_object_given_twice(self):
        """Duplicates are reported as for other kinds."""
        assert findings("duplicate-object", vpa(), vpa())
        assert findings("duplicate-object", hvpa(), hvpa())


class TestConflicts:
    @pytest.mark.parametrize("other", [hpa("b"), wpa("b"), hvpa("b")])
    def test_hvpa_and_another_that_scales_its_target(self, other):
        """Each of the two has a finding, at its target reference, that names the other."""
        found = findings("two-autoscalers", hvpa(), other, workload())
        assert {one.name for one in found} == {"web", "b"}
        assert all("undo each other's writes" in one.message for one in found)
        assert {one.field for one in found if one.kind == "Hvpa"} == {"spec.targetRef"}

    def test_hpa_should_scale_the_hvpa(self):
        """The hint is to let it scale the Hvpa."""
        found = findings("two-autoscalers", hvpa(), hpa(), workload())
        assert all("scale the Hvpa" in one.hint for one in found)
        assert not findings("two-autoscalers", hvpa(), hpa(target=ON_HVPA), workload())

    @pytest.mark.parametrize("word", ["Off", False])
    def test_hvpa_that_only_recommends(self, word):
        """Off in both directions writes nothing, so there is no conflict."""
        off = {"updatePolicy": {"updateMode": word}}
        silent = hvpa(scaleUp=off, scaleDown=off)
        assert not findings("two-autoscalers", silent, hpa(), workload())
        assert not findings("two-sizers", silent, vpa(), workload())
        assert findings("two-sizers", hvpa(scaleUp=off), vpa(), workload())

    @pytest.mark.parametrize("word", ["Initial", "Recreate", "InPlace", None])
    def test_hvpa_and_a_vertical_autoscaler_that_acts(self, word):
        """Any mode but Off writes requests, even if only when pods start."""
        found = findings("two-sizers", hvpa(), mode(word) if word else vpa(updatePolicy=None), workload())
        assert [one.kind for one in found] == ["Hvpa", "VerticalPodAutoscaler"]
        assert "undo each other's writes" in found[0].message

    @pytest.mark.parametrize("other", [vpa("b", **OFF), vpa("b", target={"name": "api"}), vpa()])
    def test_no_conflict_in_size(self, other):
        """A VPA that only recommends, a VPA for another target, and the same object again."""
        assert not findings("two-sizers", vpa(), other)

    def test_template_of_an_hvpa_is_its_own(self):
        """An object that a controller made from the vpa block belongs to the Hvpa."""
        owners = [{"apiVersion": "autoscaling.k8s.io/v1alpha1", "kind": "Hvpa", "name": "web", "uid": "1"}]
        owned = changed(vpa("web-vpa"), "metadata", "ownerReferences", to=owners)
        assert not findings("two-sizers", hvpa(), owned)

    def test_two_hvpas_are_reported_once(self):
        """The finding that they scale the same target is enough."""
        assert not findings("two-sizers", hvpa(), hvpa("b"))

    def test_group_of_the_released_redesign(self):
        """It is read as the same kind, and reported as old."""
        alias = hvpa("b") | {"apiVersion": "autoscaling.gardener.cloud/v1alpha1"}
        assert len(findings("two-autoscalers", hvpa(), alias)) == 2
        assert findings("old-api-version", alias)

    def test_metrics_of_an_hvpa_and_its_sizes_are_one_decision(self):
        """Utilisation within an Hvpa is not a conflict with sizes."""
        assert not findings("vpa-conflict", hvpa(hpa=hpa_block(cpu(70))), workload(), vpa())


class TestSizes:
    def test_policies_of_an_hvpa(self):
        """They are in its template of a VerticalPodAutoscaler."""
        (found,) = findings("policy-container-missing", hvpa(vpa=vpa_block({"containerName": "api"})), workload())
        assert found.field == "spec.vpa.template.spec.resourcePolicy.containerPolicies[0].containerName"

    def test_containers_that_a_policy_may_name(self):
        """Native sidecars keep running and may be named, ordinary init containers have ended."""
        pod = {"initContainers": [container("proxy", restartPolicy="Always"), container("prepare")]}
        assert not findings("policy-container-missing", sized({"containerName": "proxy"}), workload(pod=pod))
        (found,) = findings("policy-container-missing", sized({"containerName": "prepare"}), workload(pod=pod))
        assert "is an init container" in found.message

    @pytest.mark.parametrize("policy", [{"containerName": "*"}, {"containerName": "app"}])
    def test_policy_that_is_found(self, policy):
        """The name of a container, or the star for all others."""
        assert not findings("policy-container-missing", sized(policy), workload())

    def test_policies_of_a_vpa_that_is_off(self):
        """They are not applied."""
        quiet = sized({"containerName": "api", "maxAllowed": {"cpu": "4"}}, **OFF)
        assert not rules(quiet, workload(), limit_range(max={"cpu": "2"}))

    @pytest.mark.parametrize(
        ("bounds", "outcome"),
        [
            ({"maxAllowed": {"cpu": "2"}, "minAllowed": {"cpu": "500m"}}, None),
            ({"maxAllowed": {"cpu": "2001m"}}, "no container ever reaches it"),
            ({"minAllowed": {"cpu": "2001m"}}, "the API server rejects every such pod"),
            ({"minAllowed": {"cpu": "499m"}}, "no container ever reaches it"),
            ({"maxAllowed": {"cpu": "499m"}}, "the API server rejects every such pod"),
            ({"maxAllowed": {"memory": "64Gi"}}, None),
            ({"maxAllowed": {"cpu": "many"}}, None),
        ],
    )
    def test_half_a_core_to_two(self, bounds, outcome):
        """A bound outside the range is never reached, or leads to pods that are refused."""
        allowed = limit_range(min={"cpu": "500m"}, max={"cpu": "2"})
        found = findings("limit-range-bounds", sized(bounds), allowed)
        assert [one.message.partition(": ")[2] for one in found] == ([outcome] if outcome else [])

    def test_narrowest_of_several_ranges_applies(self):
        """The message names its LimitRange."""
        ranges = limit_range(max={"cpu": "8"}), limit_range("small", max={"cpu": "2"})
        (found,) = findings("limit-range-bounds", hvpa(vpa=vpa_block({"maxAllowed": {"cpu": "4"}})), *ranges)
        assert "LimitRange shop/small" in found.message

    def test_ranges_that_say_nothing_of_containers(self):
        """A range of pods, or of another namespace."""
        elsewhere = changed(limit_range(max={"cpu": "2"}), "metadata", "namespace", to="prod")
        of_pods = limit_range(kind="Pod", max={"cpu": "2"})
        assert not findings("limit-range-bounds", sized({"maxAllowed": {"cpu": "4"}}), elsewhere, of_pods)

    @pytest.mark.parametrize(
        ("scaler", "beside", "reported"),
        [
            (mode("Recreate"), [workload()], True),
            (mode("InPlaceOrRecreate"), [workload(replicas=1)], True),
            (mode("Recreate"), [workload(replicas=2)], False),
            (mode("Recreate", minReplicas=3), [workload(replicas=2)], True),
            (mode("Recreate"), [workload(replicas=0)], False),
            (mode("Initial"), [workload(replicas=1)], False),
            (mode("Off"), [workload(replicas=1)], False),
            (mode("Recreate"), [workload(), hpa(metrics=[external()])], False),
            (mode("Recreate"), [], False),
        ],
    )
    def test_too_few_replicas(self, scaler, beside, reported):
        """Two are needed by default, a workload without a count has one, and a scaled workload may have any."""
        assert bool(findings("too-few-replicas", scaler, *beside)) is reported

    def test_knobs_say_how_many_are_needed(self):
        """An annotation replaces the field, and in-place resizes may be exempt."""
        one = changed(vpa(), "metadata", "annotations", to={"hypot.dev/min-replicas": "1"})
        let_off = changed(vpa(), "metadata", "annotations", to={"hypot.dev/in-place-skips-budget": "true"})
        assert not rules(one, workload(replicas=1))
        assert not rules(let_off, workload(replicas=1))

    def test_daemon_sets_have_no_count(self):
        """They have one pod per node."""
        target = {"kind": "DaemonSet"}
        assert not findings("too-few-replicas", vpa(target=target), workload(kind="DaemonSet"))

    @pytest.mark.parametrize(
        ("policy", "reported"),
        [
            (None, "updateMode is not set"),
            ({"updateMode": "Recreate"}, "updateMode Recreate evicts"),
            ({"updateMode": "Auto"}, ""),
            ({"updateMode": "InPlace"}, ""),
        ],
    )
    def test_eviction_where_a_resize_would_do(self, policy, reported):
        """Recreate is the default. What Auto means has a finding of its own."""
        found = findings("recreates-pods", vpa(updatePolicy=policy))
        assert [one.message.startswith(reported) for one in found] == ([True] if reported else [])


RESTARTED = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
FOR_MEMORY = {"resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]}
BY_TEMPLATE = {"annotations": {"hypot.dev/resize": "Template"}}
NO_CPU = {"vpa": vpa_block({"controlledResources": ["memory"]})}
ONE_COUNT = {"scalingIntervals": [{"maxReplicas": 2, "maxResources": {"cpu": "1", "memory": "2Gi"}}]}
FIXED = {"scalingIntervals": [{"maxReplicas": 4, "effectiveIntervalExtrapolation": "horizontalOnly"}]}
SWITCHED_OFF = {way: {"updatePolicy": {"updateMode": "Off"}} for way in ("scaleUp", "scaleDown")}


class TestRestarts:
    @pytest.mark.parametrize(
        ("objects", "kubernetes", "field"),
        [
            ([hvpa()], "1.33", ""),
            ([hvpa()], "1.32", "spec.scalingIntervals"),
            ([hvpa(**BY_TEMPLATE)], "1.37", "metadata.annotations.hypot.dev/resize"),
            ([hvpa(), workload("web", container(**RESTARTED))], "1.37", "spec.targetRef"),
            ([hvpa(), workload("web", container(**FOR_MEMORY))], "1.37", ""),
            ([hvpa(**NO_CPU), workload("web", container(**RESTARTED))], "1.37", ""),
            ([hvpa(annotations={"hypot.dev/resize": "InPlace"})], "1.32", ""),
            ([hvpa(**ONE_COUNT)], "1.32", ""),
            ([hvpa(**FIXED)], "1.32", ""),
            ([hvpa(**SWITCHED_OFF)], "1.32", ""),
        ],
    )
    def test_an_hvpa_whose_pods_restart(self, objects, kubernetes, field):
        """By the version, the annotation or the resizePolicy; not if no size changes, or only sizes do."""
        found = findings("restarts-pods", *objects, kubernetes=kubernetes)
        assert [one.field for one in found] == ([field] if field else [])


class TestSources:
    def test_default_metric_counts(self):
        """Without a block, and without metrics in it, cpu at 80 % is the target."""
        (absent,) = findings("hpa-dominates", hvpa(hpa=None))
        (empty,) = findings("hpa-dominates", hvpa(hpa=hpa_block()))
        assert absent.message == empty.message
        assert "80 %" in absent.message
        assert "default" in absent.message

    @pytest.mark.parametrize(
        "manifest",
        [
            hvpa(hpa=hpa_block(cpu(70)), vpa=vpa_block(deploy=False)),
            hvpa(hpa=hpa_block(cpu(70), deploy=False)),
            hvpa(hpa=hpa_block(cpu(type="AverageValue", averageValue="500m"))),
            hvpa(hpa=hpa_block(external())),
        ],
    )
    def test_nothing_to_dominate(self, manifest):
        """Only one source, an amount per pod, or a metric that is not a resource."""
        assert not findings("hpa-dominates", manifest)

    def test_each_metric_below_a_hundred_is_reported(self):
        """For memory and cpu, for one container and for all."""
        found = findings("hpa-dominates", hvpa(hpa=hpa_block(cpu(120), memory(), of_container("app"))))
        assert [one.field for one in found] == [
            "spec.hpa.template.spec.metrics[1].resource.target.averageUtilization",
            "spec.hpa.template.spec.metrics[2].containerResource.target.averageUtilization",
        ]

    def test_metrics_of_the_released_controller_are_found(self):
        """autoscaling/v2beta1 has the target next to the name; it is read as the newer field."""
        old = {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 70}}
        assert findings("hpa-dominates", hvpa(hpa=hpa_block(old)))

    def test_rules_over_metrics_reach_into_the_template(self):
        """A metric that always fails is reported there too, with its place."""
        block = hpa_block(cpu(100), cpu(120), of_container("api"))
        behavior = limited(periodSeconds=10)["spec"]["behavior"]
        block["template"]["spec"]["behavior"] = behavior
        found = {one.rule: one for one in check(hvpa(hpa=block), workload()).findings}
        assert found.keys() == {"duplicate-metric", "container-missing", "short-period", "hpa-dominates"}
        assert "spec.hpa.template.spec.metrics[0]" in found["duplicate-metric"].message
        assert found["short-period"].field.startswith("spec.hpa.template.spec.behavior.scaleDown")


class TestVersions:
    def test_versions_of_every_kind(self):
        """Old versions are read as the newest; other versions are not served."""
        assert rules(vpa() | {"apiVersion": "autoscaling.k8s.io/v1beta2"})[0] == "old-api-version"
        assert rules(vpa() | {"apiVersion": "autoscaling.k8s.io/v2"})[0] == "api-version-not-served"
        assert rules(hvpa() | {"apiVersion": "autoscaling.k8s.io/v1"})[0] == "api-version-not-served"
        assert rules(checkpoint() | {"apiVersion": "autoscaling.k8s.io/v0"}) == ["api-version-not-served"]

    def test_kinds_of_other_groups_are_left_alone(self):
        """A kind of the same name in another group is not ours."""
        assert rules(vpa() | {"apiVersion": "example.com/v1"}, hvpa() | {"apiVersion": "example.com/v1"}) == []

    def test_autoscalers_are_counted(self):
        """Checkpoints are not autoscalers."""
        assert check(vpa(), hvpa("b", targetRef=WEB | {"name": "b"}), checkpoint()).autoscalers == 2

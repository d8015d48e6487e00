"""Targets, conflicts, budgets and quotas: the less common cases."""

import json

import pytest

from hypot.lint import check
from unit.lint.lint_cases import (
    autoscaler,
    band,
    changed,
    container,
    cpu,
    external,
    hpa,
    memory,
    of_container,
    paced,
    pods,
    thing,
    tortoise,
    workload,
    wpa,
)

REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def findings(rule, *objects, kubernetes="1.37"):
    return [one for one in check(*objects, kubernetes=kubernetes).findings if one.rule == rule]


def scaled_object(name="web", annotations=None, **spec):
    made = thing("keda.sh/v1alpha1", "ScaledObject", name, scaleTargetRef={"name": "web"}, **spec)
    return changed(made, "metadata", "annotations", to=annotations or {})


def vpa(update="Recreate", /, **policy):
    spec = {"targetRef": REF, "updatePolicy": {"updateMode": update}}
    if policy:
        spec["resourcePolicy"] = {"containerPolicies": [policy]}
    return thing("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", **spec)


def budget(selector=None, api_version="policy/v1", **spec):
    selector = {"matchLabels": {"app": "web"}} if selector is None else selector
    return thing(api_version, "PodDisruptionBudget", selector=selector, **spec)


class TestTarget:
    @pytest.mark.parametrize("ref", [{"kind": "deployment"}, {"kind": "Replicaset"}, {"apiVersion": "v1"}])
    def test_wrong_spelling_or_group(self, ref):
        """Kinds are looked up exactly; before 1.34 the group is not required."""
        found = check(hpa(target=ref), kubernetes="1.33").findings
        assert [one.rule for one in found] == ["target-kind"]

    def test_missing_group_is_reported_once(self):
        """From 1.34 on the API server refuses it itself."""
        found = check(hpa(target={"apiVersion": "v1"})).findings
        assert [one.rule for one in found] == ["reference-version"]

    def test_replication_controller_has_no_group(self):
        """It is the only such kind in the core group."""
        assert not findings("target-kind", hpa(target={"apiVersion": "v1", "kind": "ReplicationController"}))

    def test_workload_of_another_namespace(self):
        """An autoscaler reaches its own namespace only, and the message names the other."""
        away = changed(workload(), "metadata", "namespace", to="prod")
        (found,) = findings("target-missing", hpa(), away)
        assert "there is one in namespace prod" in found.message

    @pytest.mark.parametrize(("of_scaler", "of_target"), [("shop", None), (None, "shop"), (None, "prod")])
    def test_a_namespace_that_is_not_written_is_unknown(self, of_scaler, of_target):
        """A kustomization or `kubectl -n` may say which one it is, so it is not another one."""
        scaler = changed(hpa(), "metadata", "namespace", to=of_scaler)
        away = changed(workload(), "metadata", "namespace", to=of_target)
        assert not findings("target-missing", scaler, away)
        assert findings("target-not-given", scaler, away)

    def test_owned_replica_sets_are_not_compared(self):
        """Objects that a controller made do not turn advice into a warning."""
        owned = {"ownerReferences": [{"kind": "Deployment", "name": "x", "controller": True}]}
        made = workload("x-1", kind="ReplicaSet", metadata=owned)
        scaler = hpa(target={"kind": "ReplicaSet"})
        assert [one.rule for one in check(scaler, made).findings] == ["target-not-given"]

    def test_zero_replicas_are_not_a_fixed_count(self):
        """A manifest with 0 replicas switches its autoscaler off; nothing else is reported."""
        assert [one.rule for one in check(hpa(), workload(replicas=0)).findings] == ["target-at-zero"]

    @pytest.mark.parametrize(("count", "sets"), [(1, "1 replica"), (3, "3 replicas")])
    def test_a_fixed_count(self, count, sets):
        """The message names the count."""
        (found,) = findings("replicas-on-target", hpa(), workload(replicas=count))
        assert found.message.startswith(f"every apply sets {sets} and overrides")

    def test_dry_run_does_not_scale(self):
        """A fixed count is fine with a WatermarkPodAutoscaler in a dry run."""
        assert not findings("replicas-on-target", wpa(dryRun=True), workload(replicas=3))

    def test_a_target_without_pods_of_its_own(self):
        """A Balancer selects the pods of the Deployments behind it: they are not foreign."""
        selector = {"matchLabels": {"app": "web"}}
        balancer = thing("balancer.x-k8s.io/v1alpha1", "Balancer", selector=selector)
        scaler = hpa(target={"apiVersion": "balancer.x-k8s.io/v1alpha1", "kind": "Balancer"})
        behind = [workload(name, labels={"app": "web", "zone": name}) for name in ("a", "b")]
        assert not check(scaler, balancer, *behind).findings

    def test_a_target_in_an_old_group(self):
        """It is in the input, and only its version is reported."""
        old = changed(workload(), "apiVersion", to="extensions/v1beta1")
        assert [one.rule for one in check(hpa(), old).findings] == ["neighbour-not-served"]

    def test_pods_of_what_the_target_made_are_its_own(self):
        """The ReplicaSets of a Deployment in a dump are not foreign pods."""
        owned = {"ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}]}
        made = workload("web-5d4", kind="ReplicaSet", labels={"app": "web", "hash": "5d4"}, metadata=owned)
        assert not check(hpa(), workload(), made).findings


class TestTwoAutoscalers:
    @pytest.mark.parametrize("other", [hpa("b"), wpa("b"), scaled_object("b")])
    def test_any_mix_is_reported_on_both(self, other):
        """Each of the two has a finding that names the other."""
        assert len(findings("two-autoscalers", hpa(), other, workload())) == 2

    def test_version_of_the_reference_does_not_matter(self):
        """Only group, kind, namespace and name matter."""
        assert findings("two-autoscalers", hpa(), hpa("b", target={"apiVersion": "apps/v1beta1"}))

    @pytest.mark.parametrize(
        "other",
        [
            hpa("b", target={"name": "api"}),
            changed(hpa("b"), "metadata", "namespace", to="prod"),
            scaled_object("b", {"autoscaling.keda.sh/paused": "true"}),
            hpa(),
        ],
    )
    def test_no_conflict(self, other):
        """Another target, another namespace, a paused object, and the same object again."""
        assert not findings("two-autoscalers", hpa(), other)

    def test_autoscaler_of_a_scaled_object_is_its_own(self):
        """KEDA makes a HorizontalPodAutoscaler and owns it."""
        owners = [{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "controller": True}]
        assert not findings("two-autoscalers", hpa("keda-hpa-web", owners=owners), scaled_object())

    @pytest.mark.parametrize("name", ["tortoise-hpa-web", "web"])
    def test_a_tortoise_that_decides(self, name):
        """It edits no HPA, so any HPA of its target is a second autoscaler, also one that it made before."""
        there = hpa(name)
        assert bool(findings("two-autoscalers", tortoise(), there)) == (name == "web")
        found = findings("two-autoscalers", tortoise(annotations={"hypot.dev/decide": "true"}), there)
        assert len(found) == 2
        assert "remove the annotation hypot.dev/decide of the Tortoise" in found[0].hint

    def test_an_autoscaler_that_acts(self):
        """It sets replicas, unless it is Off, as by default, or has the axes Size."""
        assert len(findings("two-autoscalers", autoscaler(updateMode="Auto"), hpa())) == 2
        assert len(findings("two-autoscalers", autoscaler(updateMode="Auto", axes="Replicas"), tortoise())) == 2
        assert not findings("two-autoscalers", autoscaler(), hpa())
        assert not findings("two-autoscalers", autoscaler(updateMode="Auto", axes="Size"), hpa())

    def test_an_autoscaler_that_sizes(self):
        """With another that sizes the same pods; one that sets both axes is one of two autoscalers anyway."""
        sizes = autoscaler(updateMode="Auto", axes="Size")
        assert len(findings("two-sizers", sizes, vpa())) == 2
        assert len(findings("two-sizers", sizes, tortoise())) == 2
        assert len(findings("two-sizers", sizes, autoscaler("second", updateMode="Auto", axes="Size"))) == 2
        assert not findings("two-sizers", autoscaler(updateMode="Auto"), tortoise())
        assert not findings("two-sizers", sizes, vpa("Off"))
        assert not findings("two-sizers", autoscaler(updateMode="Auto", axes="Replicas"), vpa())

    def test_an_autoscaler_that_changes_the_request(self):
        """An HPA that scales on a share of the request follows what it writes."""
        sizes = {"updateMode": "Auto", "axes": "Size"}
        [found] = findings("vpa-conflict", hpa(), autoscaler(**sizes), workload())
        assert found.message.startswith("Autoscaler shop/web sets the cpu requests of container app")
        off = {"containerPolicies": [{"containerName": "app", "mode": "Off"}]}
        assert not findings("vpa-conflict", hpa(), autoscaler(**sizes, resourcePolicy=off), workload())
        assert not findings("vpa-conflict", hpa(), autoscaler(axes="Size"), workload())

    def test_autoscaler_that_keda_takes_over(self):
        """With the annotation the ScaledObject becomes the owner of the autoscaler that it names."""
        advanced = {"horizontalPodAutoscalerConfig": {"name": "web"}}
        annotations = {"scaledobject.keda.sh/transfer-hpa-ownership": "true"}
        assert not findings("two-autoscalers", hpa(), scaled_object("web", annotations, advanced=advanced))

    @pytest.mark.parametrize(
        ("spec", "writes"),
        [
            ({}, True),
            ({"applyPolicy": {"mode": "Apply"}}, True),
            ({"applyPolicy": {"mode": "Preview"}}, False),
            ({"policy": {"applyMode": "None"}}, False),
        ],
    )
    def test_an_autoscaler_of_datadog_conflicts(self, spec, writes):
        """It sets counts, unless it only previews them."""
        theirs = thing("datadoghq.com/v1alpha2", "DatadogPodAutoscaler", targetRef=REF, **spec)
        found = findings("two-autoscalers", hpa(), theirs)
        assert {(one.kind, one.field) for one in found} == (
            {("HorizontalPodAutoscaler", "spec.scaleTargetRef"), ("DatadogPodAutoscaler", "spec.targetRef")}
            if writes
            else set()
        )

    @pytest.mark.parametrize(
        ("spec", "fields"),
        [
            ({"minReplicaCount": 101}, ["minReplicaCount"]),
            ({"maxReplicaCount": 0}, ["maxReplicaCount"]),
            ({"idleReplicaCount": 0}, ["idleReplicaCount"]),
            ({"idleReplicaCount": 0, "minReplicaCount": 1}, []),
            ({"minReplicaCount": "many"}, []),
            ({}, []),
        ],
    )
    def test_bounds_that_keda_refuses(self, spec, fields):
        """Its defaults are 0 and 100."""
        assert [one.field for one in findings("scaled-object-bounds", scaled_object(**spec))] == [
            f"spec.{field}" for field in fields
        ]

    def test_many_conflicts_are_counted(self):
        """The message names three and counts the rest."""
        found = findings("two-autoscalers", *(hpa(f"web-{i}") for i in range(6)))
        assert "HorizontalPodAutoscaler shop/web-3 and 2 more" in found[0].message


class TestAmbiguousSelector:
    def test_wider_selector_includes_the_other_pods(self):
        """One direction is enough: the pods of the narrow selector belong to both."""
        wide = workload("web", labels={"app": "shop"})
        narrow = workload("api", labels={"app": "shop", "part": "api"})
        found = findings("ambiguous-selector", hpa(), hpa("api", target={"name": "api"}), wide, narrow)
        assert [one.name for one in found] == ["web", "api"]

    def test_third_workload_in_between(self):
        """Pods of a Job that both selectors match stop both."""
        web, api = (workload(n, labels={n: "yes"}) for n in ("web", "api"))
        both = workload("job", kind="Job", labels={"web": "yes", "api": "yes"})
        scalers = hpa(), hpa("api", target={"name": "api"})
        assert len(findings("ambiguous-selector", *scalers, web, api, both)) == 2
        assert not findings("ambiguous-selector", *scalers, web, api)

    def test_expressions_count(self):
        """Selectors without a plain label are compared too."""
        anything = workload("api", labels={"app": "web"})
        anything["spec"]["selector"] = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        assert findings("ambiguous-selector", hpa(), hpa("api", target={"name": "api"}), workload(), anything)


class TestVpa:
    @pytest.mark.parametrize(
        ("mode", "policy"),
        [
            ("Off", {}),
            (False, {}),
            ("Initial", {}),
            ("Auto", {"containerName": "app", "mode": "Off"}),
            ("Auto", {"containerName": "*", "mode": "Off"}),
            ("Auto", {"containerName": "*", "controlledResources": ["memory"]}),
        ],
    )
    def test_no_conflict(self, mode, policy):
        """It does not change running pods, or not this container, or not this resource."""
        assert not findings("vpa-conflict", hpa(), workload(), vpa(mode, **policy))

    @pytest.mark.parametrize("mode", ["Auto", "Recreate", "InPlaceOrRecreate", None])
    def test_modes_that_change_running_pods(self, mode):
        """All other modes do."""
        assert findings("vpa-conflict", hpa(), workload(), vpa(mode))

    @pytest.mark.parametrize("metric", [pods(), external()])
    def test_metrics_that_are_no_resource(self, metric):
        """They work with any VerticalPodAutoscaler."""
        assert not findings("vpa-conflict", hpa(metrics=[metric]), workload(), vpa())

    def test_only_the_container_of_the_metric_matters(self):
        """A policy for the sidecar is no conflict with a metric of the application."""
        two = workload("web", container(), container("proxy"))
        scaler = hpa(metrics=[of_container("proxy")])
        assert findings("vpa-conflict", scaler, two, vpa("Auto", containerName="app", mode="Off"))
        assert not findings("vpa-conflict", scaler, two, vpa("Auto", containerName="proxy", mode="Off"))

    def test_without_the_workload_the_default_policy_decides(self):
        """The containers are unknown then."""
        (found,) = findings("vpa-conflict", hpa(), vpa())
        assert "the cpu requests of the containers" in found.message

    @pytest.mark.parametrize(
        "scaler", [hpa(metrics=[cpu(type="AverageValue", averageValue="500m")]), wpa(metrics=[band("Resource")])]
    )
    def test_amounts_are_no_share_of_the_request(self, scaler):
        """The request may change, and the count that follows from usage stays the same."""
        assert not findings("vpa-conflict", scaler, workload(), vpa())


REPLACE, RAISE = "replace minAvailable by maxUnavailable: 1", "or raise minReplicas to"
ALONE = "; with one pod, each eviction is an outage"
ALL = "all pods to be healthy, however many there are: no pod can ever be evicted"


class TestBudget:
    @pytest.mark.parametrize(
        ("spec", "blocks"),
        [
            ({"minAvailable": 1}, False),
            ({"minAvailable": 2}, True),
            ({"minAvailable": 3}, True),
            ({"minAvailable": "50%"}, False),
            ({"minAvailable": "51%"}, True),
            ({"maxUnavailable": 0}, True),
            ({"maxUnavailable": "0%"}, True),
            ({"maxUnavailable": "1%"}, False),
            ({"maxUnavailable": 1}, False),
            ({}, False),
            ({"minAvailable": "many"}, False),
        ],
    )
    def test_at_two_replicas(self, spec, blocks):
        """Percentages are rounded up, as the disruption controller does."""
        assert bool(findings("pdb-blocks-evictions", hpa(), workload(), budget(**spec))) is blocks

    def test_pods_of_all_covered_workloads_count(self):
        """Two of four may go when a second workload is under the same budget."""
        both = {"matchLabels": {"part": "shop"}}
        covered = [workload(n, labels={"app": n, "part": "shop"}) for n in ("web", "api")]
        covered[1]["spec"]["replicas"] = 2
        assert not findings("pdb-blocks-evictions", hpa(), *covered, budget(both, minAvailable=3))
        assert findings("pdb-blocks-evictions", hpa(), *covered, budget(both, minAvailable=4))

    def test_empty_selector_takes_all_in_v1_only(self):
        """In policy/v1beta1 it selected none."""
        assert findings("pdb-blocks-evictions", hpa(), workload(), budget({}, minAvailable=2))
        assert not findings("pdb-blocks-evictions", hpa(), workload(), budget({}, "policy/v1beta1", minAvailable=2))

    @pytest.mark.parametrize(
        ("least", "spec", "message", "hint"),
        [
            (
                1,
                {"minAvailable": 1},
                "1 healthy pod, and there is 1 at the minimum of @",
                f"{REPLACE}, {RAISE} 2{ALONE}",
            ),
            (
                1,
                {"minAvailable": 2},
                "2 healthy pods, and there is 1 at the minimum of @",
                f"{REPLACE}, {RAISE} 3{ALONE}",
            ),
            (2, {"minAvailable": 2}, "2 healthy pods, and there are 2 at the minimum of @", f"{REPLACE}, {RAISE} 3"),
            (
                None,
                {"minAvailable": "50%"},
                "50% of the pods, which is 1 of 1 at the minimum of @",
                f"{REPLACE}, {RAISE} 2{ALONE}",
            ),
            (
                3,
                {"minAvailable": "90%"},
                "90% of the pods, which is 3 of 3 at the minimum of @",
                f"{REPLACE}, {RAISE} 10",
            ),
            (3, {"minAvailable": "100%"}, ALL, REPLACE),
            (3, {"maxUnavailable": 0}, ALL, "set maxUnavailable: 1"),
            (1, {"maxUnavailable": "0%"}, ALL, f"set maxUnavailable: 1{ALONE}"),
        ],
    )
    def test_what_helps(self, least, spec, message, hint):
        """More replicas help only if the budget then lets one go; a budget has one of both fields."""
        (found,) = findings("pdb-blocks-evictions", hpa(minReplicas=least), workload(), budget(**spec))
        when = "HorizontalPodAutoscaler shop/web: no pod can be evicted then"
        assert (found.message, found.hint) == (f"requires {message.replace('@', when)}", hint)

    def test_of_several_workloads(self):
        """The minimums of all that it covers count together."""
        both = {"matchLabels": {"part": "shop"}}
        covered = [workload(n, labels={"app": n, "part": "shop"}) for n in ("web", "api")]
        (found,) = findings("pdb-blocks-evictions", hpa(), *covered, budget(both, minAvailable=3))
        pods = "3 at the minimum of the 2 workloads that it covers: no pod can be evicted then"
        assert found.message == f"requires 3 healthy pods, and there are {pods}"
        assert found.hint == f"{REPLACE}, or raise minReplicas until there are 4"

    def test_workload_that_is_not_scaled(self):
        """Budgets of other workloads are not checked."""
        assert not findings("pdb-blocks-evictions", workload(replicas=1), budget(minAvailable=1))


class TestQuota:
    @pytest.mark.parametrize(
        ("hard", "enough"),
        [
            ({"cpu": "4"}, False),
            ({"pods": 9}, False),
            ({"pods": 10}, True),
            ({"requests.memory": "4Gi"}, False),
            ({"memory": "5Gi"}, True),
            ({"limits.cpu": "1"}, True),
            ({"services": 1}, True),
            ({"cpu": "much"}, True),
        ],
    )
    def test_ten_pods_of_half_a_core_and_512_mebibytes(self, hard, enough):
        """Each kind of quota is compared with what all pods request; without limits there is nothing to compare."""
        assert (
            bool(findings("quota-too-small", hpa(), workload(), thing("v1", "ResourceQuota", hard=hard))) is not enough
        )

    @pytest.mark.parametrize(
        ("most", "cpu", "message"),
        [
            (1, "100m", "1 pod needs 500m cpu, and ResourceQuota shop/web allows 100m, enough for 0 pods"),
            (2, "500m", "2 pods need 1 cpu, and ResourceQuota shop/web allows 500m, enough for 1 pod"),
        ],
    )
    def test_the_message(self, most, cpu, message):
        """One pod is not called pods."""
        quota = thing("v1", "ResourceQuota", hard={"cpu": cpu})
        (found,) = findings("quota-too-small", hpa(minReplicas=1, maxReplicas=most), workload(), quota)
        assert found.message == message

    def test_scoped_quota_is_for_some_pods_only(self):
        """It is unknown for which."""
        scoped = thing("v1", "ResourceQuota", hard={"pods": 1}, scopes=["BestEffort"])
        assert not findings("quota-too-small", hpa(), workload(), scoped)


class TestAutoscaler:
    """What an Autoscaler has in common with other kinds."""

    def test_a_schedule_for_the_other_axis(self):
        """It sets what its axes say."""
        plan = [{"cron": "0 8 * * *", "duration": "1h", "minReplicas": 4, "minAllowed": {"app": {"cpu": "1"}}}]
        notes = {"hypot.dev/schedule": json.dumps(plan)}

        def unused(**spec):
            found = findings("schedule-unused", autoscaler(annotations=notes, **spec), workload())
            return [one.message for one in found]

        assert unused() == []
        assert unused(axes="Size") == [
            "an Autoscaler with the axes Size does not count replicas, so minReplicas has no effect"
        ]
        assert unused(axes="Replicas") == [
            "an Autoscaler with the axes Replicas does not size pods, so minAllowed has no effect"
        ]

    def test_bounds(self):
        """Its minimum is two pods, and a maximum that is not written is no wish for a hundred."""
        quota = thing("v1", "ResourceQuota", hard={"pods": "5"})
        assert not findings("single-replica", autoscaler())
        assert findings("single-replica", autoscaler(maxReplicas=1))
        assert findings("min-equals-max", autoscaler(minReplicas=3, maxReplicas=3))
        assert not findings("min-equals-max", autoscaler(axes="Size", minReplicas=3, maxReplicas=3))
        assert not findings("quota-too-small", autoscaler(), workload(), quota)
        assert findings("quota-too-small", autoscaler(maxReplicas=6), workload(), quota)

    @pytest.mark.parametrize(
        ("policy", "axes", "found"),
        [
            ({"mode": "Off"}, "Both", "no container that may be sized of"),
            ({"controlledResources": ["memory"]}, "Size", "no container that may be sized of"),
            ({"mode": "Off"}, "Replicas", None),
            ({"maxAllowed": {"cpu": "2"}}, "Both", None),
        ],
    )
    def test_a_request_that_may_be_sized(self, policy, axes, found):
        """Also where it only reports: then nothing is learned."""
        spec = {"axes": axes, "resourcePolicy": {"containerPolicies": [{"containerName": "*", **policy}]}}
        messages = [one.message for one in findings("needs-cpu-request", autoscaler(**spec), workload())]
        assert [text.startswith(found or "") for text in messages] == ([True] if found else [])

    def test_a_policy_for_a_container_that_pods_do_not_have(self):
        """As for a VPA; one that is Off or sets no sizes uses none."""
        policy = {"resourcePolicy": {"containerPolicies": [{"containerName": "api", "maxAllowed": {"cpu": "2"}}]}}
        acts = {"updateMode": "Auto", **policy}
        assert findings("policy-container-missing", autoscaler(**acts), workload())
        assert not findings("policy-container-missing", autoscaler(**policy), workload())
        assert not findings("policy-container-missing", autoscaler(axes="Replicas", **acts), workload())


class TestPaceAndMetrics:
    def test_watermark_directions_and_window(self):
        """A factor of 0 and a short window mean the same as for a HorizontalPodAutoscaler."""
        off = wpa(scaleDownLimitFactor="0", scaleUpLimitFactor=0, downscaleForbiddenWindowSeconds=30)
        rules = {one.rule for one in check(off, workload()).findings}
        assert rules == {"no-scale-down", "no-scale-up", "wpa-slow-scale-up"}
        assert findings("no-down-window", wpa(downscaleForbiddenWindowSeconds=59))

    def test_a_window_of_zero_next_to_a_sizer_is_reported_once(self):
        """As shorter than the time between sizes; a VPA that is Off changes none."""
        none = hpa(metrics=[pods()], behavior={"scaleDown": {"stabilizationWindowSeconds": 0}})
        acting, off = vpa("Recreate"), vpa("Off")
        assert [one.rule for one in check(none, acting).findings if "window" in one.rule] == ["window-below-sizing"]
        assert [one.rule for one in check(none, off).findings if "window" in one.rule] == ["no-down-window"]

    def test_tolerance_behind_a_closed_gate_is_reported_once(self):
        """A tolerance that is dropped is not also reported as too wide."""
        found = check(paced(tolerance="10"), workload(), kubernetes="1.34").findings
        assert [one.rule for one in found] == ["gate-closed"]

    def test_container_metrics_before_their_gate(self):
        """ContainerResource is on by default from 1.27."""
        scaler = hpa(metrics=[of_container("app")])
        assert findings("gate-closed", scaler, kubernetes="1.26")
        assert not findings("gate-closed", scaler, kubernetes="1.27")

    def test_whole_cores_of_large_pods_are_meant(self):
        """Sixteen cores are not a mistake if a pod requests sixteen."""
        scaler = hpa(metrics=[cpu(type="AverageValue", averageValue="16")])
        assert findings("unit-slip", scaler, workload())
        assert not findings("unit-slip", scaler, workload("web", container(requests={"cpu": "16"})))

    @pytest.mark.parametrize(
        ("amount", "request_", "fix"),
        [
            (70, "500m", "70 % of the pod's request is 350m"),
            (70, None, "write an amount of cpu, such as 350m; a watermark is no percentage"),
            (250, "500m", "write the unit: 250m"),
        ],
    )
    def test_a_percentage_as_a_watermark(self, amount, request_, fix):
        """The amount that is meant is a share of the request; 70 millicores are not."""
        metric = band("Resource", highWatermark=amount, lowWatermark=40)
        pods = workload("web", container(requests={"cpu": request_} if request_ else {"memory": "1Gi"}))
        (finding,) = findings("unit-slip", wpa(metrics=[metric]), pods)
        assert finding.hint == fix

    def test_a_percentage_as_an_amount_per_pod(self):
        (finding,) = findings("unit-slip", hpa(metrics=[cpu(type="AverageValue", averageValue="70")]), workload())
        assert finding.hint.startswith("for a percentage of the request, write type: Utilization and averageUtiliz")

    @pytest.mark.parametrize(("amount", "slip"), [("512", True), ("512k", True), ("1Mi", False), ("1500m", True)])
    def test_bytes_of_memory(self, amount, slip):
        """Less than a mebibyte for each pod is always a mistake."""
        scaler = hpa(metrics=[memory(type="AverageValue", averageValue=amount), cpu()])
        hints = [f"write the unit: {amount.rstrip('km')}Mi, or Gi"] if slip else []
        assert [one.hint for one in findings("unit-slip", scaler)] == hints

    @pytest.mark.parametrize(
        ("algorithm", "most", "of"),
        [
            ("average", 20, "for each pod"),
            ("absolute", 10, "for all pods together"),
            ("absolute", 11, None),
        ],
    )
    def test_slip_in_a_watermark(self, algorithm, most, of):
        """Marks per pod are amounts too; marks of a sum may be as large as maxReplicas pods of eight cores."""
        metric = band("Resource", highWatermark=80, lowWatermark=40)
        found = findings("unit-slip", wpa(algorithm=algorithm, maxReplicas=most, metrics=[metric]))
        assert [one.message for one in found] == ([f"highWatermark 80 means 80 whole cores {of}"] if of else [])

    @pytest.mark.parametrize(
        ("bound", "hint"),
        [
            ({"cpu": "250"}, "write the unit: 250m"),
            ({"memory": 128}, "write the unit: 128Mi, or Gi"),
            ({"cpu": "2", "memory": "2Gi"}, None),
            ({"cpu": "8"}, None),
            ({"cpu": 8}, None),
            ({"cpu": 96}, None),
        ],
    )
    def test_slip_in_a_bound(self, bound, hint):
        """The fix is the unit that was meant. A maximum may be as large as a node."""
        found = findings("unit-slip", vpa(containerName="app", maxAllowed=bound))
        assert [one.hint for one in found] == ([hint] if hint else [])

    @pytest.mark.parametrize(("seconds", "slow"), [(600, False), (601, True), (3600, True)])
    def test_a_long_window_makes_it_slow(self, seconds, slow):
        """The lowest proposal of the window counts, so nothing is added before it is over."""
        found = findings("slow-scale-up", hpa(behavior={"scaleUp": {"stabilizationWindowSeconds": seconds}}))
        assert [one.field for one in found] == ["spec.behavior.scaleUp.stabilizationWindowSeconds"] * slow

    @pytest.mark.parametrize(("select", "slow"), [("Max", False), ("Min", True), (None, False), ("Disabled", False)])
    def test_the_policy_that_is_selected_makes_it_slow(self, select, slow):
        """One pod in five minutes beside doubling: only Min makes it count."""
        limits = [
            {"type": "Pods", "value": 1, "periodSeconds": 300},
            {"type": "Percent", "value": 100, "periodSeconds": 60},
        ]
        rules = {"policies": limits, **({"selectPolicy": select} if select else {})}
        assert bool(findings("slow-scale-up", hpa(maxReplicas=50, behavior={"scaleUp": rules}))) is slow

    def test_a_percentage_that_adds_one_pod_at_a_time(self):
        """It is rounded up, so it always gets there."""
        rules = {"policies": [{"type": "Percent", "value": 1, "periodSeconds": 1800}]}
        (found,) = findings("slow-scale-up", hpa(minReplicas=2, maxReplicas=1000, behavior={"scaleUp": rules}))
        assert "takes about 146 h" in found.message

    @pytest.mark.parametrize(
        ("metric", "field"),
        [
            (external(type="Value", averageValue="1"), "averageValue"),
            (external(type="AverageValue", value="1"), "value"),
            (of_container("app", type="AverageValue", averageUtilization=70), "averageUtilization"),
        ],
    )
    def test_field_decides_for_every_source_but_object(self, metric, field):
        """The controller ignores the type."""
        (found,) = findings("target-type-mismatch", hpa(metrics=[metric]))
        assert f"but the controller uses {field}" in found.message

    def test_same_name_of_another_queue_is_another_metric(self):
        """The selector is part of a metric's identity."""
        mail = changed(external(), "external", "metric", "selector", to={"matchLabels": {"queue": "mail"}})
        assert not findings("duplicate-metric", hpa(metrics=[external(), mail]))
        assert findings("duplicate-metric", hpa(metrics=[external(), mail, mail]))

    def test_never_served_version(self):
        """Any other group or version is not a HorizontalPodAutoscaler."""
        assert findings("api-version-not-served", hpa(api_version="autoscaling/v3"))
        assert findings("api-version-not-served", hpa(api_version="apps/v1"))
        assert findings("api-version-not-served", wpa() | {"apiVersion": "datadoghq.com/v1"})
        assert not check(hpa(api_version="example.com/v1")).findings

    def test_annotations_of_the_watermark_controller(self):
        """Each has its own syntax."""
        prefix = "wpa.datadoghq.com"
        assert findings("wpa-annotation", wpa(annotations={f"{prefix}/skip-owner-check": "True"}))
        assert not findings("wpa-annotation", wpa(annotations={f"{prefix}/skip-owner-check": "false"}))
        assert findings("wpa-annotation", wpa(annotations={f"{prefix}/logs-attributes": "team=shop"}))
        assert not findings("wpa-annotation", wpa(annotations={f"{prefix}/logs-attributes": '{"team": "shop"}'}))

    def test_selector_that_includes_other_workloads(self):
        """Their usage is added to the sum."""
        scaler = wpa(metrics=[band("Resource", metricSelector={"matchLabels": {"part": "shop"}})])
        mine, other = (workload(n, labels={"app": n, "part": "shop"}) for n in ("web", "api"))
        (found,) = findings("wpa-selector-too-wide", scaler, mine, other)
        assert "pods of Deployment shop/api," in found.message
        assert not findings("wpa-selector-too-wide", scaler, mine)

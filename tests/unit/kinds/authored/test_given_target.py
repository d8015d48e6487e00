"""Targets that are given as whole workloads: what is read of them, and what is checked."""

import json
from types import SimpleNamespace

import pytest

from hypot.kinds.authored.given_target import given_target
from hypot.kinds.base import InvalidAutoscaler, Ref
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu, memory, on
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import interval
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import band, resource_band


def deployment(*containers, namespace="shop", **spec):
    """A Deployment with these containers: a name, or a name and its requests."""
    written = [
        {"name": one} if isinstance(one, str) else {"name": one[0], "resources": {"requests": one[1]}}
        for one in containers
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"template": {"spec": {"containers": written, **spec}}},
    }


INTERVALS = [interval(2, cpu="1", memory="1Gi")]
BAND, CPU = band("rate", low=1), cpu(average="1")
WEB = deployment(("app", {"cpu": "500m", "memory": "1Gi"}), "proxy")


def problems(write):
    with pytest.raises(InvalidAutoscaler) as raised:
        write()
    return [(problem.path, problem.rule) for problem in raised.value.problems]


class TestMetrics:
    """What an HPA needs of its pods."""

    @pytest.mark.parametrize(
        ("metrics", "found"),
        [
            (None, [("metrics", "request-missing")]),
            ([cpu(utilization=70)], [("metrics[0]", "request-missing")]),
            ([cpu(utilization=70, container="app")], []),
            ([cpu(utilization=70, container="proxy")], [("metrics[0]", "request-missing")]),
            ([cpu(average="500m"), memory(average="1Gi", container="app")], []),
            ([cpu(average="500m", container="nope")], [("metrics[0].container", "container-missing")]),
            (
                [cpu(utilization=0, container="ap"), memory(utilization=70)],
                [
                    ("metrics[0].utilization", "utilization"),
                    ("metrics[0].container", "container-missing"),
                    ("metrics[1]", "request-missing"),
                ],
            ),
        ],
    )
    def test_requests_and_containers_are_checked(self, metrics, found):
        """A utilization needs the request of every container that counts; all problems come at once."""
        if not found:
            HPA(WEB, max_replicas=5, metrics=metrics)
            return
        assert problems(lambda: HPA(WEB, max_replicas=5, metrics=metrics)) == found

    def test_a_similar_name_is_proposed(self):
        """Most wrong names are misspelt."""
        with pytest.raises(InvalidAutoscaler, match=r"did you mean proxy\?"):
            HPA(WEB, max_replicas=5, metrics=[cpu(average="1", container="prox")])

    def test_sidecars_and_requests_of_the_pod_count(self):
        """A native sidecar needs a request, unless the pod itself has one."""
        sidecar = {"name": "mesh", "restartPolicy": "Always"}
        with_sidecar = deployment(("app", {"cpu": "1"}), initContainers=[sidecar, {"name": "setup"}])
        assert problems(lambda: HPA(with_sidecar, max_replicas=5)) == [("metrics", "request-missing")]
        whole = deployment("app", resources={"requests": {"cpu": "1"}}, initContainers=[sidecar])
        assert HPA(whole, max_replicas=5).max_replicas == 5

    def test_only_a_name_is_not_checked(self):
        """Then `check` reports it, with the workload beside it."""
        assert HPA("deployment/web", max_replicas=5, metrics=[cpu(average="1", container="nope")]).name == "web"


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (lambda: VPA(WEB, containers=[ContainerPolicy("*"), ContainerPolicy("api")]), "containers[1].container_name"),
        (lambda: VPA(WEB, containers={"app": {"mode": "Off"}, "api": {"mode": "Off"}}), "containers[1].container_name"),
        (
            lambda: Hvpa(WEB, intervals=[interval(2, cpu="1", memory="1Gi")], containers=[ContainerPolicy("api")]),
            "containers[0].container_name",
        ),
        (lambda: Tortoise(WEB, containers={"api": {"cpu": "Horizontal"}}), 'containers["api"].container_name'),
    ],
)
def test_policies_name_containers_that_exist(write, found):
    """A policy for another container would never be used."""
    assert problems(write) == [(found, "policy-container-missing")]


class TestNamespace:
    """An autoscaler is in the namespace of its target."""

    def test_it_follows_from_the_target(self):
        """Nobody needs to write it twice."""
        assert HPA(WEB, max_replicas=5, metrics=[cpu(average="1")]).namespace == "shop"
        assert HPA(WEB, max_replicas=5, metrics=[cpu(average="1")], namespace="shop").namespace == "shop"

    def test_another_one_is_refused(self):
        """It would never find its target. Everything else is said too."""
        assert problems(lambda: HPA(WEB, max_replicas=5, namespace="other")) == [
            ("namespace", "target-namespace"),
            ("metrics", "request-missing"),
        ]


class TestOtherLibraries:
    """Their objects, as they are; the real packages are tested with `make test-interop`."""

    @pytest.mark.parametrize(
        "target",
        [
            WEB,
            SimpleNamespace(raw=WEB, kind="Deployment", name="web", version="apps/v1"),
            SimpleNamespace(to_dict=lambda: WEB),
            SimpleNamespace(to_json=lambda: json.dumps(WEB), to_dict=lambda: {"metadata": {"name": "other"}}),
        ],
    )
    def test_their_manifest_is_read(self, target):
        """In the form of kr8s, lightkube, and the official client."""
        given = given_target(target)
        assert (given.ref, given.namespace) == (Ref("apps/v1", "Deployment", "web"), "shop")
        assert given.template is not None
        assert given.template.names == ["app", "proxy"]

    def test_a_class_of_the_official_client_says_its_kind(self):
        """Objects out of a list have no kind and no apiVersion."""
        made = type("V1Deployment", (), {"to_json": lambda _: json.dumps({"metadata": {"name": "web"}})})()
        assert given_target(made).ref == Ref("apps/v1", "Deployment", "web")

    def test_a_generic_resource_of_lightkube_says_its_kind(self):
        """It has none in its own fields."""
        info = SimpleNamespace(resource=SimpleNamespace(group="argoproj.io", version="v1alpha1", kind="Rollout"))
        found = {"_api_info": info, "to_dict": lambda _: {"metadata": {"name": "web"}}}
        # It is a mapping too, with values of other classes.
        made = type("Rollout", (dict,), found)(metadata=SimpleNamespace(name="web"))
        assert given_target(made).ref == Ref("argoproj.io/v1alpha1", "Rollout", "web")


def labelled(**labels):
    """A Deployment whose pods have these labels."""
    one = deployment(("app", {"cpu": "500m"}))
    one["spec"]["template"]["metadata"] = {"labels": labels}
    return one


@pytest.mark.parametrize(
    ("write", "found"),
    [
        (
            lambda: Hvpa(WEB, intervals=INTERVALS, metrics=[cpu(average="1", container="ap")]),
            ("metrics[0].container", "container-missing"),
        ),
        (
            lambda: WPA(
                labelled(app="web"), max_replicas=3, metrics=resource_band("cpu", low=1, labels={"app": "api"})
            ),
            ("metrics[0].resource.selector", "wpa-selector-misses-pods"),
        ),
        (lambda: HPA(labelled() | {"kind": "DaemonSet"}, max_replicas=3), ("target.kind", "target-not-scalable")),
        (lambda: HPA("service/web", max_replicas=3), ("target.kind", "target-not-scalable")),
        (lambda: WPA("ds/web", max_replicas=3, metrics=BAND), ("target.kind", "target-not-scalable")),
        (lambda: HPA(HPA(WEB, max_replicas=3, metrics=CPU), max_replicas=3), ("target.kind", "target-not-scalable")),
        (lambda: VPA("service/web"), ("target.kind", "target-not-scalable")),
        (lambda: VPA("pod/web"), ("target.kind", "target-not-scalable")),
        (lambda: VPA("deploymnt/web"), ("target.kind", "target-kind")),
        (lambda: VPA({"kind": "Foo", "name": "web"}), ("target.kind", "target-kind")),
        (lambda: WPA("deploymnt/web", max_replicas=3, metrics=BAND), ("target.kind", "target-kind")),
        (lambda: Hvpa("deploymnt/web", intervals=INTERVALS), ("target.kind", "target-kind")),
        (lambda: Tortoise("deploymnt/web"), ("target.kind", "target-kind")),
        (lambda: on("queue/shop", "depth", value=1), ("of.kind", "target-kind")),
        (lambda: HPA("deploymnt/web", max_replicas=3), ("target.api_version", "reference-version")),
    ],
)
def test_a_target_on_which_it_cannot_act_is_refused(write, found):
    """By what lint knows of kinds, containers and labels."""
    assert found in problems(write)


@pytest.mark.parametrize("word", ["deploymnt/web", "deploymet/web", "Deploymnt/web"])
def test_a_misspelt_kind_is_recognised(word):
    """Also where any group is allowed."""
    for write in (lambda: HPA(word, max_replicas=3), lambda: VPA(word), lambda: Tortoise(word)):
        with pytest.raises(InvalidAutoscaler, match=r"did you mean Deployment of apps/v1\?"):
            write()


def test_a_name_alone_says_what_is_missing():
    """It was taken for the kind."""
    with pytest.raises(InvalidAutoscaler, match='write "deployment/web"'):
        HPA("web", max_replicas=3)
    with pytest.raises(InvalidAutoscaler, match='write "deployment/web"'):
        VPA("web")


@pytest.mark.parametrize(
    ("given", "ref"),
    [
        ("daemonset/x", Ref("apps/v1", "DaemonSet", "x")),
        ("ds/x", Ref("apps/v1", "DaemonSet", "x")),
        ("job/x", Ref("batch/v1", "Job", "x")),
        ("cronjobs/x", Ref("batch/v1", "CronJob", "x")),
        ("rs/x", Ref("apps/v1", "ReplicaSet", "x")),
        ("rc/x", Ref("v1", "ReplicationController", "x")),
        ("DEPLOYMENTS/x", Ref("apps/v1", "Deployment", "x")),
        ("argoproj.io/v1alpha1/Rollout/x", Ref("argoproj.io/v1alpha1", "Rollout", "x")),
        ("example.com/v1/Foo/x", Ref("example.com/v1", "Foo", "x")),
        ("v1/Foo/x", Ref("v1", "Foo", "x")),
        ("Foo.v1.example.com/x", Ref("example.com/v1", "Foo", "x")),
        ("deployments.v1.apps/x", Ref("apps/v1", "Deployment", "x")),
        (Ref(kind="Deployment", name="x"), Ref("apps/v1", "Deployment", "x")),
        ({"kind": "Deployment", "name": "x"}, Ref("apps/v1", "Deployment", "x")),
        (SimpleNamespace(kind="Deployment", name="x"), Ref("apps/v1", "Deployment", "x")),
    ],
)
def test_a_target_is_named_as_in_kubectl(given, ref):
    """By its word, or with its group and version."""
    assert given_target(given).ref == ref
    assert VPA(given).target == ref


def test_a_reference_is_completed():
    """A kind that everybody has needs no API version."""
    assert HPA(Ref(kind="Deployment", name="web"), max_replicas=3) == HPA("deployment/web", max_replicas=3)

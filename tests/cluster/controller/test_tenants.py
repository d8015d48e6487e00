"""What somebody who may edit one namespace can do to the others: nothing. On a real control plane."""

import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cluster.plane.controlplane import WORKLOAD_CONTROLLERS, ControlPlane
from cluster.plane.waiting import eventually
from cluster.running.alone import controlling
from cluster.running.hostile import HPA, Tenant
from cluster.running.shapes import CPU_BAND, HVPA, QUICKLY, WPA, RecommenderService, both_axes, watermarks
from cluster.running.stage import Stage, Workload
from hypot.core.quantity import milli

SOON = 60


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    """Without the HPA controller: hypot scales by HPAs too."""
    stage = Stage(plane).start()
    plane.start_controllers(names=WORKLOAD_CONTROLLERS)
    yield stage
    stage.stop()


def recommended(url: str, **tls: object) -> dict[str, object]:
    recommender = {"url": url, "targetType": "cpu", "highWatermark": "80", "lowWatermark": "50"}
    spec = watermarks(recommender={**recommender, "tlsConfig": tls} if tls else recommender)
    del spec["metrics"]
    return spec


def test_hostile_recommenders_stop_nobody(stage: Stage, namespace: str) -> None:
    """Files that never end, addresses of others, answers that break parsers: the other workload is scaled."""
    pipe = stage.plane.folder / f"{namespace}.pipe"
    os.mkfifo(pipe)
    deep: dict[str, object] = {}
    for _ in range(400):
        deep = {"a": deep}
    asked = {"targetReplicas": 10**400, "reason": "t0k3n", "error": {"message": "t0k3n", "code": 5}, "deep": deep}
    web = Workload(stage, namespace, load=400).create(2)
    mine = web.autoscaler(*WPA, watermarks())
    with RecommenderService(stage.plane.ca, lambda _: asked) as service:
        hostile = {
            "pipe": recommended(service.url, caFile=str(pipe)),
            "device": recommended(service.url, caFile="/dev/zero"),
            "outside": recommended(service.url, caFile="/etc/passwd"),
            "insecure": recommended(service.url, insecureSkipVerify=True),
            "metadata": recommended("http://169.254.169.254/latest/meta-data/"),
            "apiserver": recommended("https://kubernetes.default.svc/api"),
            "itself": recommended("http://127.0.0.1:8080/metrics"),
            "server-name": recommended(service.url, caFile="ca.pem", serverName="a\0b"),
            "answer": recommended(service.url, caFile="ca.pem"),
        }
        others = {}
        for name, spec in hostile.items():
            target = Workload(stage, namespace, name=name, load=10).create(1)
            others[name] = target, target.autoscaler(*WPA, spec)
        allowed = {"recommenderHosts": [service.host], "recommenderFiles": str(stage.plane.folder)}
        with controlling(stage, namespace, **allowed) as hypot:
            eventually(lambda: mine.condition("ScalingActive").get("status") == "True", SOON)
            web.load = 3000
            eventually(lambda: web.replicas() == 10, SOON)
            for name, (target, wpa) in others.items():
                found = eventually(lambda one=wpa: one.condition("ScalingActive"), SOON)
                assert found["status"] == "False", name
                assert "t0k3n" not in str(wpa.status()), name
                assert target.replicas() == 1, name
            hypot.until_reconciled(2)
            assert hypot.lines("reconcile failed") == []
            assert len(hypot.lines("cannot ask")) <= len(hostile)


@pytest.mark.parametrize("deep", [b"[" * 3000 + b"]" * 3000, b'{"y":' * 3000 + b"1" + b"}" * 3000], ids=["list", "map"])
def test_an_object_that_is_nested_too_deeply_stops_nobody(deep: bytes, stage: Stage, namespace: str) -> None:
    """The API server stores it and sends it in every list and watch; the others are scaled in both directions.

    Its managedFields are as deep if it is made of maps.
    """
    target = Workload(stage, namespace, name="deep", load=10).create(1)
    hvpa = target.autoscaler(*HVPA, both_axes())
    web = Workload(stage, namespace, load=400).create(2)
    mine = web.autoscaler(*WPA, watermarks())
    with controlling(stage, namespace) as hypot:
        eventually(lambda: mine.condition("ScalingActive").get("status") == "True", SOON)
        with suppress(RecursionError):  # The answer is nested as deeply.
            hvpa.api.patch(hvpa.path, b'{"spec":{"hpa":{"template":{"metadata":{"x":' + deep + b"}}}}}")
        eventually(lambda: hypot.lines("object skipped"), SOON)
        assert {(line["namespace"], line["name"]) for line in hypot.lines("object skipped")} == {(namespace, "deep")}
        web.load = 3000
        eventually(lambda: web.replicas() == 10, SOON)
        web.load = 400
        eventually(lambda: web.replicas() < 10, SOON)
    with controlling(stage, namespace):
        web.load = 3000
        eventually(lambda: web.replicas() == 10, SOON)


# What the victims use in all, and how many pods each should have then.
REST = {"web": (400, 2), "api": (200, 2), "db": (300, 1)}
BUSY = {"web": (3000, 10), "api": (500, 5), "db": (3000, 3)}
LATER = {"web": (400, 8), "api": (500, 5), "db": (300, 1)}
KINDS = dict.fromkeys(("HorizontalPodAutoscaler", "VerticalPodAutoscaler", "WatermarkPodAutoscaler", "Hvpa"), "act")
# An Hvpa makes no smaller change of cpu, so sizes differ by less.
SMALLEST_CHANGE = 40


def by_own_cpu(name: str) -> dict[str, object]:
    """A selector of metrics that is empty would select all pods of the namespace."""
    own = {**CPU_BAND["resource"], "metricSelector": {"matchLabels": {"app": name}}}
    return watermarks(metrics=[{**CPU_BAND, "resource": own}])


class Victims:
    """Workloads of a tenant who does nothing to others; one HPA, one WatermarkPodAutoscaler and one Hvpa scale them."""

    def __init__(self, stage: Stage, namespace: str) -> None:
        self.workloads = {name: Workload(stage, namespace, name, load) for name, (load, _) in REST.items()}
        for name, (_, replicas) in REST.items():
            self.workloads[name].create(replicas)
        target = {"type": "AverageValue", "averageValue": "100m"}
        cpu = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        self.workloads["api"].autoscaler(*HPA, {"minReplicas": 1, "maxReplicas": 12, "metrics": [cpu]})
        self.workloads["web"].autoscaler(*WPA, by_own_cpu("web"))
        self.workloads["db"].autoscaler(*HVPA, both_axes())

    def use(self, loads: dict[str, tuple[int, int]]) -> None:
        for name, (load, _) in loads.items():
            self.workloads[name].load = load

    def counts(self) -> dict[str, int]:
        return {name: each.replicas() for name, each in self.workloads.items()}

    def sizes(self) -> dict[str, list[int]]:
        """The millicores of each pod."""
        return {name: sorted(milli(one["cpu"]) for one in each.requests()) for name, each in self.workloads.items()}


def are_alike(some: Victims, others: Victims) -> bool:
    """Whether all have the same pods; they do not while some are still made or removed."""
    both = list(zip(some.sizes().values(), others.sizes().values(), strict=True))
    if any(len(one) != len(other) for one, other in both):
        return False
    pairs = [pair for one, other in both for pair in zip(one, other, strict=True)]
    return all(abs(one - other) < SMALLEST_CHANGE for one, other in pairs)


def test_a_hostile_namespace_changes_nothing_for_the_others(stage: Stage, namespace: str) -> None:
    """The others get the same counts and sizes as their twins, which another controller scales undisturbed."""
    hostile, twin = f"{namespace}-hostile", f"{namespace}-twin"
    for each in (hostile, twin):
        stage.api.create("/api/v1/namespaces", {"metadata": {"name": each}})
    tenant = Tenant(stage, hostile)
    disturbed, undisturbed = Victims(stage, namespace), Victims(stage, twin)
    # Two more that scale down when the victims do.
    shrinking = [Workload(stage, hostile, f"shrinking-{number}", load=600).create(4) for number in range(2)]
    for each in shrinking:
        each.autoscaler(*WPA, by_own_cpu(each.name))
    config = {"kinds": KINDS, "settings": QUICKLY}
    with (
        controlling(stage, namespace, watchNamespaces=[namespace, hostile], **config) as hypot,
        controlling(stage, twin, **config),
    ):
        tenant.attack()
        both = (disturbed, undisturbed)
        for loads in (REST, BUSY, LATER):
            for each in both:
                each.use(loads)
            for each in shrinking if loads is LATER else ():
                each.load = 40
            wanted = {name: count for name, (_, count) in loads.items()}
            for each in both:
                eventually(lambda one=each, wanted=wanted: one.counts() == wanted, SOON)
            eventually(lambda: are_alike(*both), SOON)
        hypot.until_reconciled(2)
        assert hypot.lines("reconciled")[-1]["objects"] > 300
        assert hypot.lines("reconcile failed") == []
        assert [line["error"] for line in hypot.lines("reconciled") if line["error"]] == []
        assert hypot.lines("internal error") == []
        assert hypot.get("/healthz")[0] == 200

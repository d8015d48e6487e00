"""What somebody who may edit one namespace can do to the others: nothing. On a real control plane."""

import os
from contextlib import suppress

import pytest

from cluster.plane.waiting import eventually
from cluster.running.alone import controlling
from cluster.running.shapes import HVPA, WPA, RecommenderService, both_axes, watermarks
from cluster.running.stage import Stage, Workload

SOON = 60


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

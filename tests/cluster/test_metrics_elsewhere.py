"""Two metrics servers behind a real aggregator: the real HPA controller scales by a metric that is passed on."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from cluster.plane.waiting import eventually
from cluster.running.fronted import fronted_plane, hpa_stage
from cluster.running.metrics import (
    GROUP,
    NAME,
    OUTSIDE,
    OWN,
    CountingPods,
    Forwarder,
    FrontedPlane,
    MetricsProcess,
    api_service,
    rules_for,
)
from cluster.running.stage import Stage, Workload
from cluster.running.tortoises import hpas

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
ELSEWHERE, HITS = "elsewhere", "hits_per_second"
LONG = 60


@pytest.fixture(scope="module")
def fronted(plane: object) -> Iterator[FrontedPlane]:
    """One of its own, besides the one that tests share."""
    del plane
    with fronted_plane() as made:
        yield made


@pytest.fixture(scope="module")
def stage(fronted: FrontedPlane) -> Iterator[Stage]:
    with hpa_stage(fronted, [ELSEWHERE]) as made:
        yield made


@pytest.fixture(scope="module")
def pods() -> Iterator[CountingPods]:
    made = CountingPods().start()
    yield made
    made.stop()


def written(folder: Path, leaf: trustme.LeafCert) -> str:
    """A directory as a mounted Secret has it."""
    folder.mkdir()
    (folder / "tls.crt").write_bytes(b"".join(each.bytes() for each in leaf.cert_chain_pems))
    (folder / "tls.key").write_bytes(leaf.private_key_pem.bytes())
    return str(folder)


@pytest.fixture(scope="module")
def other(fronted: FrontedPlane, stage: Stage, pods: CountingPods) -> Iterator[MetricsProcess]:
    """The server that is asked: no APIService leads to it, and it has an authority of its own."""
    del stage
    servers = trustme.CA()
    servers.cert_pem.write_to_path(str(fronted.folder / "servers.pem"))
    rules = fronted.folder / "other.yaml"
    rules.write_text(rules_for(pods.port, requests_total=HITS), encoding="utf-8")
    certificate = written(fronted.folder / "other", servers.issue_cert("127.0.0.1"))
    own = {"namespace": ELSEWHERE, "service": ELSEWHERE, "certificate": certificate}
    made = MetricsProcess(fronted, "other", rules, **own)
    made.start()
    eventually(made.is_ready, LONG)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(fronted: FrontedPlane, stage: Stage, pods: CountingPods, other: MetricsProcess) -> Iterator[MetricsProcess]:
    """The server that the cluster asks."""
    rules = fronted.folder / "rules.yaml"
    rules.write_text(rules_for(pods.port), encoding="utf-8")
    config = {
        "forwardTo": f"https://127.0.0.1:{other.secure}",
        "forwardCaFile": str(fronted.folder / "servers.pem"),
        "forwardCertificate": written(
            fronted.folder / "client", fronted.proxies.issue_cert(common_name="front-proxy-client")
        ),
    }
    made = MetricsProcess(fronted, "metrics", rules, **config)
    forwarder = Forwarder(lambda: [made] if made.is_ready() else []).start()
    service = {"metadata": {"name": OUTSIDE}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    stage.api.create(f"/api/v1/namespaces/{OWN}/services", service)
    for version in ("v1beta2", "v1beta1"):
        stage.api.create(SERVICES, api_service(version, forwarder.port))
    made.start()
    eventually(made.is_ready, LONG)
    yield made
    made.stop()
    forwarder.stop()


@pytest.fixture
def shop(stage: Stage) -> str:
    name = f"shop-{time.monotonic_ns() % 10**8}"
    stage.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def test_the_hpa_scales_by_a_metric_of_the_other_server(
    stage: Stage, server: MetricsProcess, pods: CountingPods, shop: str
) -> None:
    """Both names are listed; 1,800 requests per second for at most 300 per pod are six pods."""
    web = Workload(stage, shop).create(3)
    metric = {"metric": {"name": HITS}, "target": {"type": "AverageValue", "averageValue": "300"}}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": web.name},
        "minReplicas": 3,
        "maxReplicas": 10,
        "metrics": [{"type": "Pods", "pods": metric}],
    }
    stage.api.create(hpas(shop), {"metadata": {"name": "web"}, "spec": spec})
    pods.serve(1800, web)
    eventually(lambda: web.replicas() == 6, LONG)
    found = stage.api.get(f"/apis/{GROUP}/v1beta2")["resources"]
    assert [each["name"] for each in found] == [f"pods/{NAME}", f"pods/{HITS}"]
    assert "hypot_metrics_forward_up 1" in server.get("/metrics")[1]


def test_the_user_is_checked_on_both_sides(stage: Stage, server: MetricsProcess, shop: str) -> None:
    """An account without rights gets no metric of the other server; with a right it is answered by that server."""
    del server
    path = f"/apis/{GROUP}/v1beta2/namespaces/{shop}/pods/*/{HITS}"
    tenant = stage.plane.client("tenant")
    assert tenant.call("GET", path).status == 403
    rule = {"apiGroups": [GROUP], "resources": [f"pods/{HITS}"], "verbs": ["get"]}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "hits"}
    base = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{shop}"
    stage.api.create(f"{base}/roles", {"metadata": {"name": "hits"}, "rules": [rule]})
    stage.api.create(f"{base}/rolebindings", {"metadata": {"name": "hits"}, "roleRef": ref, "subjects": [subject]})
    # Answers of both servers about rights count for a minute.
    fresh = path.replace(HITS, "none")
    assert tenant.call("GET", fresh).status == 403
    assert stage.api.call("GET", fresh).status == 404
    assert eventually(lambda: tenant.call("GET", path).ok, 2 * LONG)


def test_the_other_server_is_gone(stage: Stage, other: MetricsProcess, server: MetricsProcess, shop: str) -> None:
    """Own metrics are served and listed as ever, and the API stays available."""
    web = Workload(stage, shop).create(2)
    other.stop()
    eventually(lambda: _names(stage) == [f"pods/{NAME}"], LONG)
    own = f"/apis/{GROUP}/v1beta2/namespaces/{shop}/pods/*/{NAME}"
    eventually(lambda: len(stage.api.get(own)["items"]) == len(web.pods()) == 2, LONG)
    assert stage.api.call("GET", own.replace(NAME, HITS)).status == 503
    assert "hypot_metrics_forward_up 0" in server.get("/metrics")[1]


def _names(stage: Stage) -> list[str]:
    return [each["name"] for each in stage.api.get(f"/apis/{GROUP}/v1beta2")["resources"]]

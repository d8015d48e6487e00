"""`hypot metrics` behind a real aggregator: the real HPA controller scales by the request rate that it serves."""

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cluster.plane.waiting import eventually
from cluster.running.alone import controlling
from cluster.running.film import Film
from cluster.running.fronted import fronted_plane, hpa_stage
from cluster.running.metrics import (
    GROUP,
    NAME,
    OUTSIDE,
    OWN,
    QUICK,
    CountingPods,
    Forwarder,
    FrontedPlane,
    MetricsProcess,
    api_service,
    rules_for,
)
from cluster.running.replicas import Load, Replicas
from cluster.running.shapes import HVPA, QUICKLY, both_axes
from cluster.running.stage import PATHS, Stage, Workload, stays
from cluster.running.tortoises import hpas
from hypot.cli.pair.command import command as pair_command
from hypot.cli.run.manifests import command
from hypot.core.quantity import milli

Object = dict[str, Any]
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
RATE = f"/apis/{GROUP}/v1beta2/namespaces/{{}}/pods/*/{NAME}"
LONG = 60


@pytest.fixture(scope="module")
def fronted(plane: object) -> Iterator[FrontedPlane]:
    """One of its own, besides the one that tests share."""
    del plane
    with fronted_plane() as made:
        yield made


@pytest.fixture(scope="module")
def stage(fronted: FrontedPlane) -> Iterator[Stage]:
    with hpa_stage(fronted) as made:
        yield made


@pytest.fixture(scope="module")
def pods() -> Iterator[CountingPods]:
    made = CountingPods().start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def rules(fronted: FrontedPlane, pods: CountingPods) -> Path:
    made = fronted.folder / "rules.yaml"
    made.write_text(rules_for(pods.port), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def installed(stage: Stage, rules: Path) -> list[Object]:
    """What `hypot manifests` prints is applied, but for the APIServices: they lead to the forwarder."""
    done = CliRunner().invoke(command, ["--metrics", str(rules), "--image", "hypot", "-o", "json"])
    assert done.exit_code == 0, done.output
    made: list[Object] = json.loads(done.output)["items"]
    for each in made:
        if each["kind"] != "APIService":
            stage.api.create(collection(each), each)
    return made


def collection(each: Object) -> str:
    """Where an object is created."""
    base = f"/apis/{each['apiVersion']}" if "/" in each["apiVersion"] else f"/api/{each['apiVersion']}"
    kind = each["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    namespace = each["metadata"].get("namespace")
    return f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"


@pytest.fixture(scope="module")
def replicas(fronted: FrontedPlane, stage: Stage, rules: Path, installed: list[Object]) -> Iterator[Replicas]:
    """The pods of the Deployment, and the APIServices that lead to the one that is ready."""
    del installed
    made = Replicas(stage, fronted, rules)
    forwarder = Forwarder(made.ready).start()
    service = {"metadata": {"name": OUTSIDE}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    stage.api.create(f"/api/v1/namespaces/{OWN}/services", service)
    for version in ("v1beta2", "v1beta1"):
        stage.api.create(SERVICES, api_service(version, forwarder.port))
    made.start()
    eventually(made.ready, LONG)
    yield made
    made.stop()
    forwarder.stop()


@pytest.fixture
def shop(stage: Stage) -> str:
    name = f"shop-{time.monotonic_ns() % 10**8}"
    stage.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def values(stage: Stage, namespace: str, path: str = RATE) -> dict[str, float]:
    """What the API server answers: the value of each pod."""
    answer = stage.api.call("GET", path.format(namespace))
    items = answer.body["items"] if answer.ok else ()
    return {item["describedObject"]["name"]: _number(item["value"]) for item in items}


def _number(written: str) -> float:
    return float(written[:-1]) / 1000 if written.endswith("m") else float(written)


def autoscaled(stage: Stage, namespace: str, least: int = 3) -> Workload:
    """A Deployment of three pods, and an HPA for 300 requests/s per pod."""
    web = Workload(stage, namespace).create(3)
    metric = {"metric": {"name": NAME}, "target": {"type": "AverageValue", "averageValue": "300"}}
    down = {"stabilizationWindowSeconds": 2, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 1}]}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": web.name},
        "minReplicas": least,
        "maxReplicas": 10,
        "metrics": [{"type": "Pods", "pods": metric}],
        "behavior": {"scaleDown": down},
    }
    stage.api.create(hpas(namespace), {"metadata": {"name": "web"}, "spec": spec})
    return web


def condition(stage: Stage, version: str) -> str:
    found = stage.api.get(f"{SERVICES}/{version}.{GROUP}").get("status", {}).get("conditions") or [{}]
    return f"{found[0].get('status')} {found[0].get('reason')}"


def ready(replicas: Replicas) -> MetricsProcess:
    return eventually(lambda: next(iter(replicas.ready()), None), LONG)


def direct(replica: MetricsProcess, path: str, token: str = "", **headers: str) -> int:
    """The status that the server itself answers, without the API server in between."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    more = {"Authorization": f"Bearer {token}"} if token else {}
    asked = urllib.request.Request(f"https://127.0.0.1:{replica.secure}{path}", headers={**headers, **more})
    try:
        with urllib.request.urlopen(asked, timeout=30, context=tls) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_api_server_accepts_the_installation(stage: Stage, installed: list[Object]) -> None:
    """Each object, without a warning about a field."""
    for each in installed:
        asked = {"dryRun": "All", "fieldValidation": "Strict"}
        answer = stage.api.call("POST", collection(each), each, query=asked)
        assert answer.ok or answer.status == 409, answer


def test_both_versions_are_available(stage: Stage, replicas: Replicas) -> None:
    """The aggregator trusts the certificate, and finds the APIs by discovery."""
    del replicas
    for version in ("v1beta2", "v1beta1"):
        eventually(lambda version=version: condition(stage, version) == "True Passed", LONG)
    found = eventually(lambda: stage.api.get(f"/apis/{GROUP}/v1beta2")["resources"])
    assert [each["name"] for each in found] == [f"pods/{NAME}"]


def test_the_hpa_controller_scales_by_the_rate(stage: Stage, replicas: Replicas, pods: CountingPods, shop: str) -> None:
    """Three pods of 450 requests/s are five pods at a target of 300, and three again when the load is gone."""
    del replicas
    web = autoscaled(stage, shop)
    pods.serve(1350, web)
    eventually(lambda: web.replicas() == 5, LONG)
    assert stays(web.replicas, 8) == 5
    pods.serve(300, web)
    eventually(lambda: web.replicas() == 3, LONG)
    eventually(lambda: [round(value, -1) for value in values(stage, shop).values()] == [100] * 3, LONG)


def test_who_may_read(stage: Stage, replicas: Replicas, shop: str) -> None:
    """401 without an identity, 403 without the right, and a name in a header is nothing without the certificate."""
    replica, path = ready(replicas), RATE.format(shop).replace("*", "%2A")
    assert direct(replica, path) == 401
    assert direct(replica, path, "wrong") == 401
    assert direct(replica, path, **{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}) == 401
    assert direct(replica, path, "tenant-of-a-test") == 403
    assert direct(replica, path, "admin-of-a-test") == 200
    role = {"metadata": {"name": "read"}, "rules": [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["get"]}]}
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{shop}"
    stage.api.create(f"{rbac}/roles", role)
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}
    stage.api.create(f"{rbac}/rolebindings", {"metadata": {"name": "read"}, "roleRef": ref, "subjects": [subject]})
    # A refusal counts for a minute.
    other = path.replace(NAME, "another_metric")
    assert eventually(lambda: direct(replica, other, "tenant-of-a-test") == 404, LONG)
    tenant = stage.plane.client("tenant")
    assert tenant.call("GET", RATE.format(OWN)).status == 403
    assert eventually(lambda: tenant.call("GET", RATE.format(shop)).status == 200, LONG)


def test_a_rule_that_changes_is_applied(
    stage: Stage, replicas: Replicas, rules: Path, pods: CountingPods, shop: str
) -> None:
    """The server keeps running, and serves the metric by its new name without a gap."""
    del replicas
    web = Workload(stage, shop).create(2)
    pods.serve(100, web)
    eventually(lambda: len(values(stage, shop)) == 2, LONG)
    rules.write_text(rules_for(pods.port, requests_total="rps"), encoding="utf-8")
    try:
        renamed = RATE.replace(NAME, "rps")
        eventually(lambda: len(values(stage, shop, renamed)) == 2, LONG)
    finally:
        rules.write_text(rules_for(pods.port), encoding="utf-8")
    eventually(lambda: len(values(stage, shop)) == 2, LONG)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_killed_leader_changes_no_workload(
    stage: Stage, replicas: Replicas, pods: CountingPods, shop: str, report: Callable[[str], None], *, warm: bool
) -> None:
    """The Service leads to the leader only, and to the other pod when the Lease has expired; the HPA waits."""
    replicas.stop()
    replicas.start(warm=warm)
    web = autoscaled(stage, shop, least=1)
    pods.serve(750, web)
    eventually(lambda: len(values(stage, shop)) == 3, LONG)
    assert stays(web.replicas, 3) == 3
    (leader,) = replicas.leaders()
    assert [name for name, is_ready in replicas.endpoints().items() if is_ready] == [leader]
    assert len(replicas.endpoints()) == 2
    counts = set()

    def over() -> float | None:
        counts.add(web.replicas())
        return load.values_again(killed, 3)

    with Load(stage.plane.client("admin"), RATE.format(shop), replicas) as load:
        eventually(lambda: len(load.answers) > 5, LONG)
        replicas.by_pod[leader].kill()
        killed = time.monotonic()
        with_values = eventually(over, 2 * LONG)
        answered = load.again(killed)
    (other,) = replicas.leaders()
    assert other != leader
    assert [name for name, is_ready in replicas.endpoints().items() if is_ready] == [other]
    assert answered is not None
    assert load.endpoints == {0, 1}
    assert counts == {3}
    assert stays(web.replicas, 5) == 3
    kind, bar = ("warm", 5) if warm else ("cold", 2 * QUICK["scrapePeriod"])
    report(
        f"a {kind} replica answers {answered:.1f} s after the leader was killed (bar 20), "
        f"and has values {with_values - answered:.1f} s later (bar {bar})"
    )
    replicas.stop()
    replicas.start()


def test_a_stopped_leader_hands_over(
    stage: Stage, replicas: Replicas, pods: CountingPods, shop: str, report: Callable[[str], None]
) -> None:
    """It releases the Lease, so the other pod is ready without waiting for it to expire."""
    web = Workload(stage, shop).create(2)
    pods.serve(100, web)
    eventually(lambda: len(values(stage, shop)) == 2, LONG)
    leader = next(name for name, replica in replicas.by_pod.items() if replica in replicas.ready())
    began = time.monotonic()
    replicas.by_pod[leader].stop()
    (other,) = [name for name in replicas.by_pod if name != leader]
    eventually(lambda: replicas.endpoints() == {leader: False, other: True}, LONG)
    report(f"the Service leads to the other replica {time.monotonic() - began:.1f} s after the leader was stopped")
    replicas.stop()
    replicas.start()


def printed_pair(folder: Path, hvpa: Object) -> list[Object]:
    """What `hypot pair` prints for a workload under this Hvpa."""
    file = folder / "hvpa.json"
    file.write_text(json.dumps(hvpa), encoding="utf-8")
    options = ["--rate", "300", "--counter", "requests_total", "-f", str(file)]
    done = CliRunner().invoke(pair_command, ["deployment/web", *options])
    assert done.exit_code == 0, done.output
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def test_from_an_hvpa_to_the_pair_and_back(
    stage: Stage, replicas: Replicas, pods: CountingPods, shop: str, tmp_path: Path
) -> None:
    """As docs/pair.md says. No pod restarts, and the pods together never request less than they use."""
    del replicas
    used = 1200
    web = Workload(stage, shop, load=used).create(2, "600m")
    hvpa = web.autoscaler(*HVPA, both_axes())
    pods.serve(500, web)

    def sizes() -> list[int]:
        return sorted(milli(one["cpu"]) for one in web.requests())

    def is_at(count: int, least: int) -> bool:
        return web.replicas() == len(sizes()) == count and sizes()[0] >= least

    with Film(stage.api, f"/api/v1/namespaces/{shop}/pods") as film, controlling(stage, shop, settings=QUICKLY):
        eventually(lambda: is_at(2, 680), LONG)
        began = film.until_current()
        before = {pod["metadata"]["uid"] for pod in web.pods()}
        hvpa.annotate(**{"hypot.dev/paused": "true"})
        made = printed_pair(tmp_path, hvpa.get())
        for one in made:
            stage.api.create(PATHS[one["kind"]].format(shop), one)
        scaler = f"{PATHS['HorizontalPodAutoscaler'].format(shop)}/web"
        eventually(lambda: stage.api.get(scaler).get("status", {}).get("currentMetrics"), LONG)
        assert eventually(lambda: hvpa.condition("ScalingBlocked").get("status") == "True", LONG)
        assert stays(lambda: (web.replicas(), {pod["metadata"]["uid"] for pod in web.pods()}), 8) == (2, before)
        pods.serve(1000, web)
        eventually(lambda: is_at(4, 300), LONG)
        for one in made:
            stage.api.call("DELETE", f"{PATHS[one['kind']].format(shop)}/web")
        hvpa.annotate(**{"hypot.dev/paused": None})
        eventually(lambda: is_at(2, 680), LONG)
        assert min(film.totals()[began - 1 : film.until_current()]) >= used
    restarts = [status["restartCount"] for pod in film.states for status in pod["status"].get("containerStatuses", ())]
    assert set(restarts) == {0}


def test_the_apis_are_gone_with_their_pods(stage: Stage, shop: str) -> None:
    """A pod that is deleted has no value any more."""
    web = Workload(stage, shop).create(2)
    eventually(lambda: len(values(stage, shop)) == 2, LONG)
    path = f"{PATHS['Deployment'].format(shop)}/{web.name}"
    stage.api.patch(path, {"spec": {"replicas": 0}})
    eventually(lambda: stage.api.get(RATE.format(shop))["items"] == [], LONG)

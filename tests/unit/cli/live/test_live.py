"""decide --live and lint --live on a cluster in memory."""

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from fake_cluster import FakeCluster
from fake_objects import refusal
from hypot.cli.live import for_decide, session
from hypot.cluster.config import Access, AccessError
from hypot.cluster.port import Answer, UnreachableError, encoded
from hypot.core.instant import read_time
from unit.cli.command import hypot
from unit.cli.test_decide import world
from unit.replay.manifests import deployment

ROOT = Path(__file__).resolve().parents[4]
AT = "2026-03-02T09:30:20Z"
PODS = "/api/v1/namespaces/shop/pods"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop"


@pytest.fixture
def cluster(monkeypatch):
    """A cluster in memory, which the commands reach instead of a real one."""
    made = FakeCluster()
    made.fixed["/version"] = Answer(200, encoded({"major": "1", "minor": "36+"}))

    @asynccontextmanager
    async def opened(_):
        yield made

    monkeypatch.setattr(session, "Api", opened)
    monkeypatch.setattr(session, "read_access", lambda *_: Access("https://cluster.example", namespace="shop"))
    monkeypatch.setattr(for_decide.time, "time", lambda: read_time(AT))
    return made


def filled(cluster, *objects):
    for data in objects:
        cluster.put({**data, "metadata": dict(data["metadata"])})
    return cluster


def live(verb, *arguments):
    return hypot(verb, "--live", *arguments)


def offline(err, *more):
    """The command that was printed, run."""
    command = err.split("the same answer without the cluster: hypot ")[1].splitlines()[0].split()
    return hypot(command[0], *command[1:], *more)


def decided(result):
    return [(one["autoscaler"]["name"], one["verdict"], one["steps"]) for one in result.json["decisions"]]


def test_decisions_are_those_of_a_dump(cluster, tmp_path):
    """From the same objects, at the same time; and again from the saved file."""
    objects = world()
    filled(cluster, *objects)
    dump = tmp_path / "all.yaml"
    dump.write_text("---\n".join(yaml.safe_dump(one) for one in objects), encoding="utf-8")
    expected = decided(hypot("decide", "-f", dump, "--now", AT, "--kubernetes", "1.36", "-o", "json"))
    result = live("decide", "-o", "json", "--save", tmp_path / "saved.json")
    assert result.status == 0, result.err
    assert decided(result) == expected
    assert decided(offline(result.err, "-o", "json")) == expected
    assert result.json["nowFrom"] == "cluster"


def test_nothing_is_changed(cluster):
    """All requests are reads, of the needed kinds in the one namespace."""
    live("decide", "-n", "shop")
    filled(cluster, *world())
    live("decide", "-n", "shop")
    live("lint", "-n", "shop")
    assert {request.method for request in cluster.calls} == {"GET"}
    listed = {request.path for request in cluster.calls if request.path != "/version"}
    assert all("/namespaces/shop/" in path for path in listed), listed
    assert not any("secrets" in path or "configmaps" in path for path in listed)


def test_pages_and_an_expired_list(cluster, monkeypatch):
    """A list that expires begins again; nothing is read twice."""
    monkeypatch.setattr("hypot.cli.live.reader.PAGE", 1)
    filled(cluster, *world(replicas=3))
    expired = []

    def fault(request):
        if request.path == PODS and "continue" in request.query and not expired:
            expired.append(request)
            return refusal(410, "expired")
        return None

    cluster.faults = fault
    result = live("decide", "-o", "json")
    assert (result.status, len(expired)) == (0, 1), result.err
    assert "3 ready" in result.out


def forbid(cluster, *paths):
    cluster.faults = lambda request: refusal(403, "not allowed") if request.path in paths else None


@pytest.mark.parametrize("path", [PODS, "/apis/apps/v1/namespaces/shop/deployments"])
def test_without_pods_or_targets_nothing_shrinks(cluster, tmp_path, path):
    """What is missing is named, the count is undecided, and the saved file says the same."""
    filled(cluster, *world(replicas=9, cpu="1m"))
    forbid(cluster, path)
    result = live("decide", "-o", "json", "--save", tmp_path / "saved.yaml")
    assert result.status == 1
    assert "not read:" in result.err
    assert "not allowed" in result.err
    assert decided(result)[0][1] == "undecided"
    again = offline(result.err, "-o", "json")
    assert (again.status, decided(again)) == (1, decided(result))
    assert "not allowed" in json.dumps(result.json)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refusal(403, "not allowed"), "pods.metrics.k8s.io in shop: not allowed"),
        (refusal(404, "gone"), "is metrics-server installed?"),
        (UnreachableError("no answer"), "no answer"),
        (Answer(200, b"[[[["), "not read: pods.metrics.k8s.io"),
    ],
)
def test_without_usage_nothing_shrinks(cluster, answer, says):
    """Whatever the reason, which is named in the decision too."""
    filled(cluster, *world(replicas=9, cpu="1m"))
    cluster.faults = lambda request: answer if "/apis/metrics.k8s.io/" in request.path else None
    result = live("decide", "-o", "json")
    assert result.status == 1
    assert says in result.err
    assert decided(result)[0][1] == "undecided"


def test_old_usage_is_ignored(cluster):
    """As the controller does; a metrics server that hangs repeats its last answer."""
    filled(cluster, *world(replicas=9, cpu="1m", at="2026-03-02T09:00:00Z"))
    result = live("decide", "-o", "json")
    assert "ignored the usage of 9 pods" in result.err
    assert decided(result)[0][1] == "undecided"


def test_an_object_that_cannot_be_read_hurts_only_itself(cluster):
    """It is named, and the others are decided."""
    filled(cluster, *world())
    path = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
    good = json.dumps(world()[0]).encode()
    deep = b'{"metadata":{"name":"deep","namespace":"shop"},"spec":' + b"[" * 9000 + b"]" * 9000 + b"}"
    cluster.fixed[path] = Answer(200, b'{"metadata":{},"items":[' + good + b"," + deep + b"]}")
    result = live("decide", "-o", "json")
    assert result.status == 1
    assert "horizontalpodautoscalers.autoscaling/deep in shop: it cannot be read" in result.err
    assert [name for name, _, _ in decided(result)] == ["web"]


def external(*names):
    metrics = [
        {
            "type": "External",
            "external": {
                "metric": {"name": name, "selector": {"matchLabels": {"queue": "a"}}},
                "target": {"type": "AverageValue", "averageValue": "10"},
            },
        }
        for name in names
    ]
    hpa = world()[0]
    return {**hpa, "spec": {**hpa["spec"], "metrics": metrics}}


def test_metrics_without_labels_are_for_their_query_only(cluster, tmp_path):
    """Some adapters answer without labels; the saved file keeps which query an answer is for."""
    filled(cluster, external("depth"), *world()[1:])
    item = {"metricName": "depth", "metricLabels": {}, "timestamp": AT, "value": "80"}
    cluster.fixed[f"{EXTERNAL}/depth"] = Answer(200, encoded({"items": [item]}))
    result = live("decide", "-o", "json", "--save", tmp_path / "saved.yaml")
    assert [verdict for _, verdict, _ in decided(result)] == ["up"]
    assert decided(offline(result.err, "-o", "json")) == decided(result)
    saved = yaml.safe_load((tmp_path / "saved.yaml").read_text(encoding="utf-8"))["items"]
    links = [one["metadata"]["selfLink"] for one in saved if one["kind"] == "ExternalMetricValueList"]
    assert links == [f"{EXTERNAL}/depth?labelSelector=queue%3Da"]


def test_a_metric_that_is_refused_is_named(cluster, tmp_path):
    """With the adapter's own words, offline too."""
    filled(cluster, external("depth"), *world()[1:])
    cluster.fixed[f"{EXTERNAL}/depth"] = refusal(500, "the queue is asleep")
    result = live("decide", "-o", "json", "--save", tmp_path / "saved.json.gz")
    assert "not read: the metric depth in shop" in result.err
    assert "the queue is asleep" in result.out
    assert decided(offline(result.err, "-o", "json")) == decided(result)


def test_old_metrics_are_refused(cluster):
    """As the controller does."""
    filled(cluster, external("depth"), *world()[1:])
    item = {"metricName": "depth", "metricLabels": {}, "timestamp": "2026-03-02T08:00:00Z", "value": "1"}
    cluster.fixed[f"{EXTERNAL}/depth"] = Answer(200, encoded({"items": [item]}))
    assert "depth is too old" in live("decide", "-o", "json").out


def test_a_custom_target_is_read_by_its_scale(cluster, tmp_path):
    """Found by discovery."""
    ref = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}
    hpa = world()[0]
    filled(cluster, {**hpa, "spec": {**hpa["spec"], "scaleTargetRef": ref}}, *world()[2:])
    resources = [
        {"name": "rollouts", "kind": "Rollout", "namespaced": True},
        {"name": "rollouts/scale", "kind": "Scale", "namespaced": True},
    ]
    cluster.serve("argoproj.io/v1alpha1", *resources)
    path = "/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts/web"
    metadata = {"name": "web", "namespace": "shop", "uid": "5"}
    rollout = {"metadata": metadata, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}}}
    scale = {"metadata": metadata, "spec": {"replicas": 2}, "status": {"replicas": 2, "selector": "app=web"}}
    cluster.fixed |= {path: Answer(200, encoded(rollout)), f"{path}/scale": Answer(200, encoded(scale))}
    result = live("decide", "rollout.v1alpha1.argoproj.io/web", "-o", "json", "--save", tmp_path / "saved.yaml")
    assert result.status == 0, result.err
    assert decided(offline(result.err, "-o", "json")) == decided(result)


def test_only_what_is_asked_for_is_decided(cluster):
    """By target or by name; others still count as conflicts."""
    other = {**world()[0], "metadata": {"name": "other", "namespace": "shop"}}
    filled(cluster, *world(), other)
    result = live("decide", "hpa/web", "-o", "json")
    assert [name for name, _, _ in decided(result)] == ["web"]
    assert "shop/other" in result.out
    both = live("decide", "deploy/web", "-o", "json")
    assert [name for name, _, _ in decided(both)] == ["other", "web"]
    assert live("decide", "deploy/wbe").status == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["decide", "--live", "-f", "x.yaml"], "but not both"),
        (["lint", "--live", "x.yaml"], "but not both"),
        (["decide", "-f", "x.yaml", "-A"], "--all-namespaces needs --live"),
        (["decide", "-f", "x.yaml", "--save", "y"], "--save needs --live"),
        (["lint", ".", "--context", "x"], "--context needs --live"),
        (["lint", ".", "-n", "x"], "-n needs --live"),
        (["decide", "--live", "web"], "write KIND/NAME"),
        (["decide", "--live", "-A", "-n", "shop"], "-A reads all namespaces; leave it out to read shop only"),
        (["lint", "--live", "-A", "-n", "shop"], "-A reads all namespaces"),
        (["decide", "--live", "--save", "nowhere/x.yaml"], "cannot write this file"),
        (["decide"], "read the cluster with --live"),
        (["lint"], "read the cluster with --live"),
    ],
)
def test_bad_usage(cluster, arguments, says):
    """Before anything is read."""
    result = hypot(*arguments)
    assert (result.status, result.out) == (2, "")
    assert says in result.err
    assert not cluster.calls


def test_an_empty_namespace_says_where_to_look(cluster):
    """Exit status 1: there was nothing to decide."""
    result = live("decide")
    assert result.status == 1
    assert "no autoscaler in namespace shop of https://cluster.example" in result.err
    assert "-A reads all namespaces" in result.err
    assert cluster.calls


def test_credentials_and_connection(cluster, monkeypatch):
    """One line each, and exit status 2."""
    cluster.faults = lambda _: refusal(401, "Unauthorized")
    result = live("decide")
    assert result.status == 2
    assert "does not accept these credentials" in result.err
    cluster.faults = lambda _: UnreachableError("GET /version: connection refused")
    result = live("lint")
    assert result.status == 2
    assert result.err.startswith(
        "Error: GET /version: connection refused; check the server, or choose another context ("
    )

    def broken(*_):
        raise AccessError("config: no such file")

    monkeypatch.setattr(session, "read_access", broken)
    assert live("decide").err.strip() == "Error: config: no such file"


def test_the_cluster_is_linted(cluster, tmp_path):
    """As its saved file, but without lines, and with certainty about what is missing."""
    hpa = world()[0]
    filled(cluster, {**hpa, "spec": {**hpa["spec"], "minReplicas": 9}})
    result = live("lint", "-o", "json", "--save", tmp_path / "saved.yaml")
    found = {one["rule"]: one for one in result.json["findings"]}
    assert found["target-missing"]["message"] == "there is no Deployment shop/web"
    assert (found["target-missing"]["file"], found["target-missing"]["line"]) == ("", None)
    text = live("lint")
    assert "1 object" in text.out.splitlines()[-1]
    assert "file" not in text.out.splitlines()[-1]
    assert offline(result.err).status == result.status
    locations = [one["locations"] for one in json.loads(live("lint", "-o", "sarif").out)["runs"][0]["results"]]
    assert all("logicalLocations" in places[0] for places in locations)


def test_a_refusal_makes_the_linter_less_certain(cluster):
    """Deployments that it may not see are not missing."""
    filled(cluster, world()[0])
    forbid(cluster, "/apis/apps/v1/namespaces/shop/deployments")
    result = live("lint", "-o", "json")
    assert "target-missing" not in result.out
    assert result.status == 1


def test_recommend_reads_the_workloads_of_a_cluster(cluster, tmp_path):
    """Histories are found by namespace and name; what is recommended has nothing that a cluster adds."""
    resources = {"requests": {"cpu": "4", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "1Gi"}}
    one = deployment(containers=[{"name": "app", "resources": resources}], replicas=2, namespace="shop", uid="7")
    filled(cluster, {**one, "status": {"replicas": 2}})
    demand, known = tmp_path / "demand.csv", tmp_path / "world.yaml"
    demand.write_text("time,workload,cores\n" + "".join(f"{60 * i},shop/web,1.0\n" for i in range(121)))
    known.write_text("tick: 60s\ndemand: {leadIn: 0s}\n")
    given = (demand, "--world", known, "--engine", "plain")
    [found] = live("recommend", *given, "-o", "json").json["workloads"]
    assert (found["namespace"], found["today"]) == ("shop", "no autoscaler: 2 replicas (cluster)")
    sized = next(each for each in found["tried"] if each["name"] == "right-sized")
    assert sized["monthlyCost"] < found["tried"][0]["monthlyCost"]
    assert not any(
        word in live("recommend", *given, "-o", "patch").out for word in ("uid", "status", "resourceVersion")
    )
    assert {request.method for request in cluster.calls} == {"GET"}

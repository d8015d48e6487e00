"""The metrics server as a process runs it: real pods on the loopback, a cluster in memory, and the API over TLS."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from fake_cluster import FakeCluster
from hypot.cluster.port import Answer, encoded
from hypot.core.quantity import milli
from hypot.metricsapi import app as module
from hypot.metricsapi.app import MetricsServer
from hypot.metricsapi.config import MetricsConfig
from hypot.metricsapi.rules_file import RulesFile
from hypot.serving.readers import ACCESS_REVIEWS, TOKEN_REVIEWS
from ports import free_port
from unit.cluster.server import served, serving, until_stopped
from unit.serving.front_proxy import PROXIES, certificate, config_map, presenting

pytestmark = pytest.mark.asyncio
WITHIN = 30.0
OWN = "hypot-system"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases/hypot-metrics"
HPA = {"X-Remote-User": "system:serviceaccount:kube-system:horizontal-pod-autoscaler"}
TENANTS = {"tenant"}
RATE = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/%2A/requests_per_second"
SERVICE = {"namespace": OWN, "name": "hypot-metrics", "port": 443}


def rules(*metrics):
    served_of = [{"counter": counter, "names": [name]} for counter, name in metrics]
    rule = {"name": "web", "pods": {"matchLabels": {"app": "web"}}, "scrape": {"port": "http"}, "metrics": served_of}
    head = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules", "metadata": {"name": "shop"}}
    return json.dumps({**head, "spec": {"rules": [rule]}})


REQUESTS = ("requests_total", "requests_per_second")


def api_service(name="v1beta2.custom.metrics.k8s.io", service="hypot-metrics"):
    spec = {"service": {**SERVICE, "name": service}, "group": "custom.metrics.k8s.io", "version": "v1beta2"}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name},
        "spec": {**spec, "groupPriorityMinimum": 100, "versionPriority": 200},
    }


def pod(name, port, address="127.0.0.1", **labels):
    container = {"name": "app", "ports": [{"name": "http", "containerPort": port}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "shop", "name": name, "uid": f"uid-{name}", "labels": {"app": "web", **labels}},
        "spec": {"containers": [container]},
        "status": {"phase": "Running", "podIP": address},
    }


class Pods:
    """Pods whose counter grows by 100 with each scrape."""

    def __init__(self):
        self.scrapes = 0

    async def answer(self, _request):
        self.scrapes += 1
        count = 100 * self.scrapes
        return web.Response(text=f'requests_total{{code="200"}} {count}\nerrors_total {self.scrapes}\n')

    @asynccontextmanager
    async def running(self):
        runner = web.ServerRunner(web.Server(self.answer), shutdown_timeout=0)
        await runner.setup()
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        try:
            yield port
        finally:
            await runner.cleanup()


def reviewing(request):
    """The HPA controller may read everywhere, and one token reads only in its namespace."""
    spec = json.loads(request.body or b"{}").get("spec", {}) if request.method == "POST" else {}
    if request.path == TOKEN_REVIEWS:
        user = {"username": spec["token"], "groups": ["system:authenticated"]}
        return Answer(201, encoded({"status": {"authenticated": spec["token"] in TENANTS, "user": user}}))
    if request.path == ACCESS_REVIEWS:
        namespace = spec.get("resourceAttributes", {}).get("namespace")
        allowed = spec["user"] == HPA["X-Remote-User"] or namespace == "shop" or "nonResourceAttributes" in spec
        return Answer(201, encoded({"status": {"allowed": allowed}}))
    return None


def small_cluster(*things):
    cluster = FakeCluster()
    cluster.faults = reviewing
    for each in (config_map(), api_service(), *things):
        cluster.put(each)
    return cluster


@asynccontextmanager
async def running(cluster, file, **config):
    """A replica that runs until the end of the block."""
    ports = {"secure_port": 0, "probe_port": 0, "metrics_port": 0}
    fast = {"scrape_period": 1.0, "min_sample_gap": 0.1, "max_sample_age": 5.0}
    made = MetricsConfig(listen="127.0.0.1", pod_networks=("127.0.0.0/8",), **{**ports, **fast, **config})
    async with serving(served(cluster)) as access:
        source = RulesFile(str(file), config=made)
        app = MetricsServer(made, access, source, source.read())
        async with until_stopped(app, cluster):
            yield app


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RULES_EVERY", 0.1)
    monkeypatch.setattr(module, "GRACE", 0.1)
    made = tmp_path / "rules.yaml"
    made.write_text(rules(REQUESTS))
    return made


async def asked(app, path, leaf=None, **headers):
    """The status and the body of an answer of the API."""
    connector = aiohttp.TCPConnector(ssl=presenting(app.certificate.ca_pem, leaf))
    async with (
        aiohttp.ClientSession(connector=connector, requote_redirect_url=False) as session,
        session.get(f"https://127.0.0.1:{app.listener.port}{path}", headers=headers) as got,
    ):
        return got.status, await got.json() if got.content_type == "application/json" else await got.text()


async def page(port, path):
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as got:
        return got.status, await got.text()


async def eventually(what):
    async with asyncio.timeout(WITHIN):
        while not (found := await what()):  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(0.05)
    return found


async def is_ready(app):
    return app.certificate is not None and (await page(app.probes.port, "/readyz"))[0] == 200


async def items(app, path=RATE):
    status, body = await asked(app, path, certificate(PROXIES), **HPA)
    return body["items"] if status == 200 else []


async def test_a_rate_is_scraped_and_served(file):
    """From the watch of the pods to the answer for the HPA controller, as the API server passes it on."""
    pods = Pods()
    async with pods.running() as port, running(small_cluster(pod("web-1", port)), file) as app:
        await eventually(lambda: is_ready(app))
        (item,) = await eventually(lambda: items(app))
        assert item["describedObject"] == {
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-1",
            "uid": "uid-web-1",
            "apiVersion": "v1",
        }
        assert item["metric"] == {"name": "requests_per_second", "selector": None}
        assert milli(item["value"]) > 0
        text = (await page(app.metrics.port, "/metrics"))[1]
        assert 'hypot_metrics_targets{rule="web"} 1' in text
        assert "hypot_metrics_leader 1" in text


async def test_who_may_read(file):
    """Without an identity 401, without the right 403, and headers without the certificate are ignored."""
    async with running(small_cluster(), file) as app:
        await eventually(lambda: is_ready(app))
        other = RATE.replace("shop", "bank")
        assert (await asked(app, RATE))[0] == 401
        assert (await asked(app, RATE, **HPA))[0] == 401
        assert (await asked(app, RATE, Authorization="Bearer wrong"))[0] == 401
        assert (await asked(app, RATE, Authorization="Bearer tenant"))[0] == 200
        status, body = await asked(app, other, Authorization="Bearer tenant")
        assert (status, body["kind"], body["reason"], body["code"]) == (403, "Status", "Forbidden", 403)
        assert "tenant may not get pods/requests_per_second of custom.metrics.k8s.io in the namespace bank" in str(body)
        assert (await asked(app, "/readyz"))[0] == 200


async def test_the_api_services_of_this_server_get_its_authority(file):
    """Those that name another server stay as they are."""
    other = api_service("v1beta1.custom.metrics.k8s.io", "prometheus-adapter")
    cluster = small_cluster(other)
    async with running(cluster, file) as app:
        await eventually(lambda: is_ready(app))
        path = "/apis/apiregistration.k8s.io/v1/apiservices/{}.custom.metrics.k8s.io"
        assert cluster.get(path.format("v1beta2"))["spec"]["caBundle"]
        assert "caBundle" not in cluster.get(path.format("v1beta1"))["spec"]


async def test_rules_that_change_are_applied_without_a_gap(file):
    """What was known of a pod stays if it means the same; invalid rules are reported and not applied."""
    pods = Pods()
    async with pods.running() as port, running(small_cluster(pod("web-1", port)), file) as app:
        await eventually(lambda: is_ready(app))
        await eventually(lambda: items(app))
        file.write_text("kind: MetricRules\n")
        await eventually(lambda: _true(app.rules_trouble))
        assert "hypot_metrics_rules_invalid 1" in (await page(app.metrics.port, "/metrics"))[1]
        assert await items(app)
        file.write_text(rules(REQUESTS).replace('"names": ["requests_per_second"]', '"names": ["rps"]'))
        await eventually(lambda: items(app, RATE.replace("requests_per_second", "rps")))
        assert app.rules_trouble == ""
        assert (await asked(app, RATE, certificate(PROXIES), **HPA))[0] == 404


async def _true(what):
    return what


async def test_one_replica_leads_and_another_takes_over(file):
    """The one that does not lead is not ready and scrapes nothing; it takes over when the other one stops."""
    pods = Pods()
    async with pods.running() as port:
        cluster = small_cluster(pod("web-1", port))
        async with running(cluster, file) as second:
            async with running(cluster, file) as first:
                leader, other = await eventually(lambda: _led(first, second))
                await eventually(lambda: is_ready(leader))
                await eventually(lambda: items(leader))
                assert "does not lead" in (await page(other.probes.port, "/readyz"))[1]
                assert other.counts.scrapes.scrapes == 0
                assert (await asked(other, RATE, certificate(PROXIES), **HPA))[0] == 503
            if leader is first:
                await eventually(lambda: is_ready(second))
                await eventually(lambda: items(second))
    assert cluster.get(LEASE)["spec"]["holderIdentity"] == ""


async def _led(first, second):
    if first.lease.leading:
        return first, second
    return (second, first) if second.lease.leading else None


async def test_a_warm_replica_scrapes_and_is_not_ready(file):
    """So that its values are there when it has to take over."""
    pods = Pods()
    async with pods.running() as port:
        cluster = small_cluster(pod("web-1", port))
        async with running(cluster, file, warm=True) as first:
            await eventually(lambda: is_ready(first))
            async with running(cluster, file, warm=True) as second:
                await eventually(lambda: _true(second.certificate))
                await eventually(lambda: items(second))
                assert not await is_ready(second)

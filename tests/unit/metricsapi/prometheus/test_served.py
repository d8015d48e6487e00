"""From pods that a real Prometheus scrapes to the answer of the metrics server."""

import json

import pytest
from aiohttp import web

from hypot.core.quantity import milli
from hypot.metricsapi import app as app_module
from unit.metricsapi.test_app import (
    HPA,
    RATE,
    Pods,
    asked,
    eventually,
    is_ready,
    items,
    page,
    pod,
    running,
    small_cluster,
)
from unit.replay.traces.prometheus_server import needs_prometheus, serving
from unit.serving.front_proxy import PROXIES, certificate

pytestmark = [pytest.mark.asyncio, needs_prometheus]


def scraping(port):
    """A Prometheus that knows the pod by the labels that its discovery in Kubernetes would give."""
    labels = {"namespace": "shop", "pod": "web-1"}
    target = {"targets": [f"127.0.0.1:{port}"], "labels": labels}
    jobs = [{"job_name": name, "static_configs": [target]} for name in ("web", "again")]
    return json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs})


def rules(**source):
    metric = {"counter": "requests_total", "names": ["requests_per_second"], "external": True}
    rule = {"name": "web", "pods": {"matchLabels": {"app": "web"}}, "metrics": [metric], "prometheus": source}
    head = {"apiVersion": "metrics.hypot.dev/v1alpha1", "kind": "MetricRules", "metadata": {"name": "shop"}}
    return json.dumps({**head, "spec": {"rules": [rule]}})


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(app_module, "RULES_EVERY", 0.1)
    monkeypatch.setattr(app_module, "GRACE", 0.1)
    return tmp_path / "rules.yaml"


class FailingPods(Pods):
    """Pods that can stop to answer."""

    fail = False

    async def answer(self, request):
        return web.Response(status=500) if self.fail else await super().answer(request)


ONE_JOB = {"where": {"matchLabels": {"job": "web"}}, "window": 2}


async def test_a_rate_is_asked_and_served(file, tmp_path):
    """Each list is made by the same code as for scrapes; without one scrape to choose, nothing is served."""
    pods = Pods()
    file.write_text(rules(**ONE_JOB))
    async with pods.running() as port:
        with serving(tmp_path, "", 300, scraping(port)) as address:
            async with running(small_cluster(pod("web-1", port, "")), file, prometheus=address) as app:
                await eventually(lambda: is_ready(app))
                (item,) = await eventually(lambda: items(app))
                assert item["describedObject"]["uid"] == "uid-web-1"
                # Two jobs scrape it once a second, and each scrape counts 100.
                assert 100_000 <= milli(item["value"]) <= 300_000
                assert 1 <= item["windowSeconds"] <= 4
                path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/requests_per_second"
                assert (await asked(app, path, certificate(PROXIES), **HPA))[1]["items"][0]["metricLabels"][
                    "pod"
                ] == "web-1"
                text = (await page(app.metrics.port, "/metrics"))[1]
                assert 'hypot_metrics_targets{rule="web"} 1' in text
                assert "hypot_metrics_scrapes_total 0" in text
                assert "hypot_metrics_queries_total 0" not in text
                # Both jobs have the counter, and their sum would be twice the truth.
                file.write_text(rules(window=2))
                await eventually(lambda: _several(app))
                assert (await asked(app, RATE, certificate(PROXIES), **HPA))[1].get("items") == []


async def _several(app):
    (target,) = app.collector.targets
    return "several scrapes" in target.trouble


async def test_a_pod_that_does_not_answer_any_more(file, tmp_path):
    """Prometheus says at once that its series ended; then the value ages, and is not served any more."""
    pods = FailingPods()
    file.write_text(rules(**ONE_JOB))
    async with pods.running() as port:
        with serving(tmp_path, "", 300, scraping(port)) as address:
            async with running(
                small_cluster(pod("web-1", port, "")), file, prometheus=address, max_sample_age=3.0
            ) as app:
                await eventually(lambda: is_ready(app))
                await eventually(lambda: items(app))
                pods.fail = True
                await eventually(lambda: _gone(app))
                (target,) = app.collector.targets
                assert target.trouble == "Prometheus has no requests_total of it"
                assert app.counts.queries.faults["missing"] > 0


async def _gone(app):
    status, body = await asked(app, RATE, certificate(PROXIES), **HPA)
    return status == 200 and body["items"] == []

"""How long new pods wait for their size while the controller reconciles 2,000 autoscalers with 10,000 pods.

One process reconciles and answers, as `hypot run` does; another sends requests over TLS, 40 per second. There is no API
server: its answers come from memory, so a reconcile only computes, which is the worst case for the webhook.
"""

import asyncio
import http.client
import json
import multiprocessing
import ssl
import statistics
import sys
import time

import msgspec
import structlog

from hypot.cluster.clock import boot
from hypot.cluster.discovery import Discovery
from hypot.cluster.port import Answer
from hypot.core.instant import show_time
from hypot.policy.model.settings import Settings
from hypot.run.act.actor import Actor
from hypot.run.act.execute import Executor
from hypot.run.config import RunConfig
from hypot.run.internal_errors import InternalErrors
from hypot.run.observe.leases import Leases
from hypot.run.observe.observer import Observer
from hypot.run.observe.pod_metrics import MetricsApi
from hypot.run.observe.watches import Watches
from hypot.run.outcome import FINE
from hypot.run.reconcile import Clocks, Reconciler
from hypot.run.report.reporter import Reporter
from hypot.run.store.shards import Shards
from hypot.run.store.usage_history import UsageHistory
from hypot.run.store.usage_store import UsageStore
from hypot.run.webhook.finder import Finder
from hypot.run.webhook.server import Webhook
from hypot.serving.certificate_holder import CertificateHolder
from hypot.serving.certificates import issue
from hypot.serving.garbage import collect_seldom

WORKLOADS, PODS, SPACES = 2000, 5, 20
SECONDS, PER_SECOND = 20, 40
KIND = "Hvpa"
REPORT = """\
The webhook answers while the controller reconciles without a pause: {} requests over TLS ({} pods were sized; {}
reconciles over 2,000 Hvpas and 10,000 pods, median {:.2f} s): median {}, p99 {} (bar 100 ms), slowest {}.
"""
NEVER = {"cpu": {"value": "1000"}, "memory": {"value": "1000Gi"}, "replicas": {"value": "1000"}}
NOW = "2000-01-01T00:00:00Z"
SIZE = {"cpu": "200m", "memory": "128Mi"}


def metadata(name, number, **more):
    return {"name": name, "namespace": f"n{number % SPACES}", "uid": f"{name}-uid", "resourceVersion": "1", **more}


def deployment(number):
    labels = {"app": f"w{number}"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "resources": {"requests": SIZE}}]},
    }
    spec = {"replicas": PODS, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": metadata(f"w{number}", number), "spec": spec, "status": {"replicas": PODS}}


def pod(number, which):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"w{number}-abc", "controller": True}
    labels = {"app": f"w{number}", "pod-template-hash": "abc"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-15T10:01:00Z"}
    return {
        "metadata": metadata(f"w{number}-abc-{which}", number, labels=labels, ownerReferences=[owner]),
        "spec": {"nodeName": "node-1", "containers": [{"name": "app", "resources": {"requests": SIZE}}]},
        "status": {"phase": "Running", "startTime": "2026-11-15T10:00:00Z", "conditions": [ready]},
    }


def hvpa(number):
    """An Hvpa with a recorded size for new pods; it makes no further moves."""
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    hpa = {"minReplicas": 1, "maxReplicas": 10, "metrics": [{"type": "Resource", "resource": cpu}]}
    recorded = {"containerName": "app", "resources": {"requests": {"cpu": "250m", "memory": "160Mi"}}}
    return {
        "metadata": metadata(f"w{number}", number),
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"w{number}"},
            "hpa": {"deploy": True, "template": {"spec": hpa}},
            "vpa": {"deploy": True},
            "scaleUp": {"minChange": NEVER},
            "scaleDown": {"minChange": NEVER},
            "scalingIntervals": [{"maxReplicas": 10, "maxResources": {"cpu": "1", "memory": "1Gi"}}],
        },
        "status": {"lastScaling": {"vpaStatus": {"containerResources": [recorded]}}},
    }


def samples(workloads, pods):
    """The answer of a metrics server, with a placeholder for the time."""
    usage = {"cpu": "140000000n", "memory": "100000Ki"}
    return msgspec.json.encode(
        {
            "items": [
                {
                    "metadata": {**pod(i, j)["metadata"]},
                    "timestamp": NOW,
                    "window": "15s",
                    "containers": [{"name": "app", "usage": usage}],
                }
                for i in range(workloads)
                for j in range(pods)
            ]
        }
    )


class Server:
    """An API server that answers at once."""

    def __init__(self, workloads=WORKLOADS, pods=PODS, wall=time.time):
        self.usage, self.wall = samples(workloads, pods), wall

    async def call(self, request):
        if "metrics.k8s.io" in request.path:
            return Answer(200, self.usage.replace(NOW.encode(), show_time(self.wall() - 5).encode()))
        return Answer(200, b'{"items":[],"metadata":{"resourceVersion":"2"}}')

    def watch(self, request):
        raise NotImplementedError(request.path)


class Nobody:
    async def ask(self, asking, now):
        del now
        return [None for _ in asking]


def filled(port, config, workloads=WORKLOADS, pods=PODS, autoscalers=None):
    """The watches of workloads, their pods and their autoscalers: functions of a number, by kind."""
    watches = Watches(port, config)
    made = {KIND: hvpa} if autoscalers is None else autoscalers
    for watched, things in (
        (watches.workloads[0], (deployment(i) for i in range(workloads))),
        (watches.pods, (pod(i, j) for i in range(workloads) for j in range(pods))),
        *((watches.autoscalers[kind], map(make, range(workloads))) for kind, make in made.items()),
    ):
        reflector = watched.reflectors[0]
        for thing in things:
            place = thing["metadata"]["namespace"], thing["metadata"]["name"]
            reflector.rows[place] = reflector._keep(thing)  # noqa: SLF001  as a watch would
    for watched in watches.all:
        watched.reflectors[0].lists = 1
    return watches


def reconciler_of(port, watches, config, clocks):
    settings, history, discovery = Settings(), UsageHistory(Settings()), Discovery(port)
    actor = Actor(port, watches, discovery)

    async def record(_):
        return FINE

    return Reconciler(
        config,
        watches,
        Observer(port, watches, MetricsApi(port, ()), history, discovery, Nobody(), settings),
        history,
        actor,
        UsageStore(port, history, ()),
        Executor(actor, record, settings, lambda: True, dry_run=True),
        Reporter(port, watches, "bench"),
        Shards(port, "hypot-system"),
        Leases(port, config),
        clocks,
        InternalErrors(),
    )


def ask(port, ca, answers):
    """Send reviews from a separate process, so that only the waiting time for the server is measured."""
    tls = ssl.create_default_context(cadata=ca)
    tls.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=tls, timeout=10)
    taken, patched = [], 0
    for number in range(SECONDS * PER_SECOND):
        thing = pod(number % WORKLOADS, 9)
        request = {"uid": "u", "operation": "CREATE", "namespace": thing["metadata"]["namespace"], "object": thing}
        request["resource"] = {"group": "", "version": "v1", "resource": "pods"}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        body = json.dumps(review)
        began = time.perf_counter()
        connection.request("POST", "/mutate", body, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        taken.append(time.perf_counter() - began)
        patched += "patch" in answer["response"]
        time.sleep(max(0.0, 1 / PER_SECOND - taken[-1]))
    answers.put((taken, patched))


async def play():
    port = Server()
    config = RunConfig.from_dict({"optIn": "all", "kinds": {KIND: "act"}})
    watches = filled(port, config)
    reconciler = reconciler_of(port, watches, config, Clocks(time.time, boot))
    await reconciler.resume()
    issued = issue(["127.0.0.1"], time.time())
    finder = Finder(watches, boot)
    webhook = Webhook(finder.find, finder.limit_ranges_of)
    await webhook.start("127.0.0.1", 0, CertificateHolder(issued))
    tidy = asyncio.ensure_future(collect_seldom())
    await reconciler.reconcile()
    answers = multiprocessing.get_context("spawn").Queue()
    client = multiprocessing.get_context("spawn").Process(target=ask, args=(webhook.port, issued.ca_pem, answers))
    client.start()
    reconciles = []
    while answers.empty() and client.is_alive():
        reconciles.append((await reconciler.reconcile()).seconds)
    taken, patched = answers.get(timeout=30)
    assert patched == len(taken), f"only {patched} of {len(taken)} pods were sized"
    client.join()
    tidy.cancel()
    await webhook.stop()
    p99 = sorted(taken)[int(len(taken) * 0.99)]
    times = [f"{1000 * each:.0f} ms" for each in (statistics.median(taken), p99, max(taken))]
    return REPORT.format(len(taken), patched, len(reconciles), statistics.median(reconciles), *times)


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    print(asyncio.run(play()), end="")

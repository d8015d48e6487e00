"""A cluster in memory with a workload called web, clocks, and the controller as `hypot run` builds it."""

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import aiohttp
import msgspec
import pytest

from fake_cluster import FakeCluster
from hypot.cluster.config import Access
from hypot.cluster.port import Answer, Request, encoded
from hypot.core.instant import show_time
from hypot.policy.model.decision import condition_of
from hypot.policy.model.settings import Settings
from hypot.run.addresses import AllowedAddresses
from hypot.run.app import App
from hypot.run.config import RunConfig, default_kinds
from hypot.run.observe.certificates import Certificates
from hypot.run.observe.recommenders import Recommenders
from hypot.run.observe.watches import Watches
from hypot.run.outcome import Outcome, Reconciled
from hypot.run.store.shards import Shards
from unit.policy.sizes_world import NAMESPACE, NOW, TARGET, fleet, made, pod, sample

if TYPE_CHECKING:
    from hypot.run.reconcile import Reconciler

PERIOD = 15.0
OWN = "hypot-system"
BASE = f"/apis/apps/v1/namespaces/{NAMESPACE}"
WEB = f"{BASE}/deployments/web"
KINDS = {
    "WatermarkPodAutoscaler": f"/apis/datadoghq.com/v1alpha1/namespaces/{NAMESPACE}/watermarkpodautoscalers",
    "Hvpa": f"/apis/autoscaling.k8s.io/v1alpha1/namespaces/{NAMESPACE}/hvpas",
    "Tortoise": f"/apis/autoscaling.mercari.com/v1beta3/namespaces/{NAMESPACE}/tortoises",
    "Autoscaler": f"/apis/hypot.dev/v1alpha1/namespaces/{NAMESPACE}/autoscalers",
    "VerticalPodAutoscaler": f"/apis/autoscaling.k8s.io/v1/namespaces/{NAMESPACE}/verticalpodautoscalers",
    "HorizontalPodAutoscaler": f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers",
}
QUEUE = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/queue"
# Moves as far and as often as the watermarks ask for.
AT_ONCE = {
    "scaleUpLimitFactor": 10_000,
    "scaleDownLimitFactor": "99.9",
    "upscaleForbiddenWindowSeconds": 1,
    "downscaleForbiddenWindowSeconds": 1,
}


def all_kinds(**modes: str) -> dict[str, Any]:
    """These kinds only; all others are off."""
    return {**dict.fromkeys(default_kinds(), "off"), **modes}


def wpa(name="web", *, target=TARGET, metric="queue", annotations=None, status=None, metadata=None, **spec):
    """A WPA that keeps an external metric between 20 and 40, without delay."""
    band = {"metricName": metric, "metricSelector": {}, "highWatermark": "40", "lowWatermark": "20"}
    body = {
        "scaleTargetRef": target,
        "minReplicas": 1,
        "maxReplicas": 20,
        "metrics": [{"type": "External", "external": band}],
        **AT_ONCE,
        **spec,
    }
    more = {**({"annotations": annotations} if annotations else {}), **(metadata or {})}
    return made("datadoghq.com/v1alpha1", "WatermarkPodAutoscaler", name, body, status, **more)


def hpa(name="web", *, target=TARGET, utilization=50, status=None, annotations=None, **spec):
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
    metric["resource"]["target"]["averageUtilization"] = utilization
    body = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 20, "metrics": [metric], **spec}
    more = {"annotations": annotations} if annotations else {}
    return made("autoscaling/v2", "HorizontalPodAutoscaler", name, body, status, **more)


def learner(mode="Auto", name="web", *, annotations=None, status=None, **spec):
    """An Autoscaler of web."""
    body = {"targetRef": TARGET, **({"updateMode": mode} if mode else {}), **spec}
    return made("hypot.dev/v1alpha1", "Autoscaler", name, body, status, annotations=annotations or {})


def items(*values: Any, at: float = NOW, window: float | None = None) -> Answer:
    """The answer of the external metrics API: one value for each series."""
    reported = [
        {"value": value, "timestamp": show_time(at), **({} if window is None else {"window": window})}
        for value in values
    ]
    return Answer(200, encoded({"kind": "ExternalMetricValueList", "items": reported}))


class Loopback(AllowedAddresses):
    """Tests listen on the loopback, at ports that nobody knows before."""

    def fault(self, url):
        return "" if url.startswith(("http:", "https:")) else super().fault(url)

    def fault_of(self, _host, _port, _address):
        return ""


LOOPBACK = Loopback()


class World:
    """A cluster, its clocks and one controller; `async with` ends everything that it started."""

    def __init__(self, *objects: dict[str, Any], now: float = NOW, warm: bool = True, **config: Any) -> None:
        """`warm`: the state of an earlier run exists, but it is empty."""
        self.now, self.up, self.warm = now, 5000.0, warm
        self.cluster = FakeCluster(wall=lambda: self.now)
        self.cluster.fixed["/version"] = Answer(200, encoded({"major": "1", "minor": "36"}))
        kinds = {**default_kinds(), **config.pop("kinds", {})}
        settings = Settings(**config.pop("settings", {}))
        self.config = RunConfig(kinds=kinds, settings=settings, **{"opt_in": "all", "webhook_port": 0, **config})
        self.put(*objects)
        self._patch = pytest.MonkeyPatch()
        self._watching: asyncio.Future[None] | None = None
        self.app: App
        self.reconciler: Reconciler
        self.session: aiohttp.ClientSession

    def put(self, *objects: dict[str, Any]) -> None:
        for each in objects:
            self.cluster.put(each)

    async def __aenter__(self) -> Self:
        self._patch.setattr("hypot.run.app.wall", lambda: self.now)
        self._patch.setattr("hypot.run.app.boot", lambda: self.up)
        self.session = aiohttp.ClientSession()
        if self.warm:
            assert await Shards(self.cluster, OWN).save({"governor": {}}) == []
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        await self.stop()
        await self.session.close()
        self._patch.undo()

    async def start(self) -> None:
        """Another process begins to lead; it knows only what is in the cluster."""
        self.app = App(self.config, Access("https://127.0.0.1:1"))
        port: Any = self.cluster
        self.app.guarded, self.app.watches = port, Watches(port, self.config)
        self.app.sizes_new_pods = True
        self._watching = asyncio.ensure_future(self.app.watches.run())
        for watched in self.app.watches.all:
            await asyncio.gather(*[reflector.wait_synced() for reflector in watched.reflectors])
        self.reconciler = await self.app._reconciler(self.session, Recommenders(self.session, LOOPBACK, Certificates()))
        await self.reconciler.resume()

    async def stop(self) -> None:
        """Stop as a kill does: nothing more is written."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def replaced(self) -> None:
        """The process stops as it should, and another takes over."""
        await self.reconciler.stop()
        await self.restart()

    async def settle(self) -> None:
        """Wait until the watches have reported every change."""
        quiet = 0
        while quiet < 20:
            quiet = 0 if any(watcher.queue.qsize() for watcher in self.cluster._watchers) else quiet + 1
            await asyncio.sleep(0)

    def passes(self, seconds: float = PERIOD) -> None:
        self.now, self.up = self.now + seconds, self.up + seconds

    async def reconcile(self, after: float = PERIOD) -> Reconciled:
        self.passes(after)
        await self.settle()
        self.cluster.calls.clear()
        reconciled = await self.reconciler.reconcile()
        await self.settle()
        return reconciled

    async def outcome(self, kind: str = "WatermarkPodAutoscaler", name: str = "web", after: float = PERIOD) -> Outcome:
        """The outcome of a reconcile for one object."""
        return self.of(await self.reconcile(after), kind, name)

    @staticmethod
    def of(reconciled: Reconciled, kind: str = "WatermarkPodAutoscaler", name: str = "web") -> Outcome:
        return next(one for one in reconciled.outcomes if one.key == (kind, NAMESPACE, name))

    # What is in the cluster.

    @property
    def replicas(self) -> int:
        return self.at(WEB)["spec"]["replicas"]

    def at(self, path: str) -> dict[str, Any]:
        found = self.cluster.get(path)
        assert found is not None, path
        return found

    def status(self, kind: str = "WatermarkPodAutoscaler", name: str = "web") -> dict[str, Any]:
        return self.at(f"{KINDS[kind]}/{name}").get("status") or {}

    def condition(self, type_: str, kind: str = "WatermarkPodAutoscaler", name: str = "web") -> dict[str, Any]:
        listed = self.status(kind, name).get("conditions") or []
        return next((each for each in listed if each["type"] == type_), {})

    def events(self, reason: str = "") -> list[dict[str, Any]]:
        """The events about objects of the namespace."""
        found = self.cluster.objects(f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events")
        found += self.cluster.objects(f"/api/v1/namespaces/{NAMESPACE}/events")
        return [each for each in found if not reason or each["reason"] == reason]

    # What happens in the cluster.

    def queue(self, *values: Any) -> None:
        """An external metric, as of now."""
        self.cluster.fixed[QUEUE] = items(*values, at=self.now)

    def uses(self, cpu: str, memory: str = "512Mi", count: int | None = None) -> None:
        """The usage of all pods, as of now."""
        for index in range(self.replicas if count is None else count):
            self.uses_of(index, cpu, memory)

    def uses_of(self, index: int, cpu: str, memory: str = "512Mi") -> None:
        """The usage of one pod, as of now."""
        self.put({**sample(index, cpu, memory), "timestamp": show_time(self.now)})

    def annotate(self, kind: str = "WatermarkPodAutoscaler", name: str = "web", **annotations: str) -> None:
        """Set annotations of hypot.dev, and remove all others."""
        there = self.at(f"{KINDS[kind]}/{name}")
        there["metadata"]["annotations"] = {f"hypot.dev/{key}": word for key, word in annotations.items()}
        self.put(there)

    def scaled(self, replicas: int) -> None:
        """A user sets the count manually."""
        there = self.at(WEB)
        self.put({**there, "spec": {**there["spec"], "replicas": replicas}})

    def follow(self) -> None:
        """Do what controllers and kubelets do: create or remove pods up to the count, all ready."""
        there, wanted = self.at(WEB), self.replicas
        self.put({**there, "status": {**there.get("status", {}), "replicas": wanted}})
        found = {each["metadata"]["name"] for each in self.cluster.objects(f"/api/v1/namespaces/{NAMESPACE}/pods")}
        for index in range(max(wanted, len(found))):
            if index < wanted and f"web-{index}" not in found:
                self.put(ready(index, *there["spec"]["template"]["spec"]["containers"]))
            elif index >= wanted:
                self.cluster.remove(f"/api/v1/namespaces/{NAMESPACE}/pods/web-{index}")

    # The requests that it got.

    def writes(self, part: str = "") -> list[Request]:
        """The writes of the last reconcile whose path has this part."""
        return [call for call in self.cluster.calls if call.writes and part in call.path]

    def asked(self, part: str) -> list[Request]:
        return [call for call in self.cluster.calls if not call.writes and part in call.path]


def ready(index: int = 0, *containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A pod that is ready."""
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": show_time(NOW - 7200)}]
    return pod(index, *containers, status={"conditions": conditions}, **more)


def web(count: int = 2, *containers: dict[str, Any]) -> list[dict[str, Any]]:
    """The workload, with pods that are ready."""
    there = fleet(count, *containers)
    return [*there[:2], *[ready(index, *containers) for index in range(count)]]


def body(request: Request) -> Any:
    return msgspec.json.decode(request.body or b"{}")


def blocked(outcome: Outcome) -> tuple[str, str]:
    """The reason and the message of the hold that is reported."""
    kind = "AbleToScale" if outcome.key[0] == "HorizontalPodAutoscaler" else "ScalingBlocked"
    found = condition_of(outcome.decision.conditions, kind)
    return ("", "") if found is None else (found.reason, found.message)

"""One running twin: its namespace, what the metrics APIs report about it, and the execution of its script."""

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

from cluster.plane.api import Api, ApiError
from cluster.standins.kubelet import Kubelet, Rule
from cluster.standins.metricsserver import Answer, MetricsServer, Query, RefusedError, frozen, lagging, lying, stamp
from cluster.twins.script import Step
from cluster.twins.shapes import Metric, Shape

Object = dict[str, Any]
OTHER = "other"
REFUSING = "refuse-scale"
# Two syncs of the controller and a moment.
ASLEEP_AFTER = 3.0


class Twin:
    """Runs in a thread of its own; `play` returns when its script is over."""

    def __init__(self, shape: Shape, api: Api, kubelet: Kubelet, server: MetricsServer) -> None:
        self.shape, self.api, self.kubelet, self.server = shape, api, kubelet, server
        self.namespace = f"twin-{shape.name}"
        self.step = Step(tuple(1.0 for _ in shape.metrics))
        self._apps = f"/apis/apps/v1/namespaces/{self.namespace}/deployments"
        self._hpas = f"/apis/autoscaling/v2/namespaces/{self.namespace}/horizontalpodautoscalers"

    def create(self) -> None:
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.kubelet.rules[self.namespace] = Rule(ready_after=self.shape.ready_after)
        self.server.answers[self.namespace] = self.say
        self.api.create(self._apps, self.shape.deployment())
        self.api.create(self._hpas, self.shape.hpa())

    def play(self, script: tuple[Step, ...], over: Event) -> None:
        for step in script:
            with self.during(step):
                over.wait(step.seconds)
            if over.is_set():
                return

    def during(self, step: Step) -> AbstractContextManager[None]:
        """The world as a step makes it, while the step lasts."""
        self.step = step
        happens: Callable[[Step], AbstractContextManager[None]] = getattr(self, f"_{step.hazard or 'calm'}")
        return happens(step)

    def say(self, query: Query) -> list[Object]:
        """What the metrics APIs report about this namespace, at the current usage."""
        for number, metric in enumerate(self.shape.metrics):
            if not _asks(query, metric):
                continue
            if self.step.hazard == "hush" or self._silenced(number):
                raise RefusedError
            if query.api == "metrics.k8s.io":
                return self._usage(query)
            amount = round(metric.at_target * self._ratio(number))
            return self._of_pods(query, amount) if metric.kind == "pods" else _totals(query, metric, amount)
        raise RefusedError(404, "NotFound")

    def _silenced(self, number: int) -> bool:
        return self.step.hazard == "silence" and self.step.amount % len(self.shape.metrics) == number

    def _ratio(self, number: int) -> float:
        return 0.0 if self.step.hazard in {"zero", "wake"} else self.step.ratios[number]

    def _usage(self, query: Query) -> list[Object]:
        """Usage by container of each visible pod; the containers of a pod share it evenly."""
        amounts = {
            metric.kind: metric.at_target * self._ratio(number)
            for number, metric in enumerate(self.shape.metrics)
            if metric.kind in {"cpu", "memory"}
        }
        return [_pod_metrics(pod, query, self._own(pod, amounts)) for pod in self._seen_pods(query.labels)]

    def _own(self, pod: Object, amounts: dict[str, float]) -> dict[str, int]:
        """Usage of this pod: it differs a little from pod to pod."""
        own = 0.85 + 0.3 * _share(pod["metadata"]["name"], self.step.seed)
        return {name: round(amount * own) for name, amount in {"cpu": 50.0, "memory": 5e10, **amounts}.items()}

    def _of_pods(self, query: Query, amount: int) -> list[Object]:
        values = []
        for pod in self._seen_pods(query.labels):
            own = round(amount * (0.85 + 0.3 * _share(pod["metadata"]["name"], self.step.seed)))
            described = {
                "kind": "Pod",
                "apiVersion": "v1",
                "namespace": self.namespace,
                "name": pod["metadata"]["name"],
            }
            values.append(_value(query, described, own))
        return values

    def _seen_pods(self, labels: str) -> list[Object]:
        """The pods that metrics report; some may be hidden."""
        hidden = self.step.amount if self.step.hazard in {"hide", "roll"} else 0
        return self._pods(labels)[hidden:]

    def _pods(self, labels: str) -> list[Object]:
        """The running pods, by name."""
        query = {"labelSelector": labels, "fieldSelector": "status.phase=Running"}
        found = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods", query=query)["items"]
        return sorted(found, key=lambda pod: pod["metadata"]["name"])

    def _running(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self._pods(f"app={self.shape.name}")]

    @contextmanager
    def _calm(self, _: Step) -> Iterator[None]:
        yield

    _hide = _silence = _hush = _zero = _calm

    @contextmanager
    def _ruled(self, **changes: Any) -> Iterator[None]:
        """Another rule for the pods for a while."""
        rule = self.kubelet.rules[self.namespace]
        self.kubelet.rules[self.namespace] = replace(rule, **changes)
        yield
        self.kubelet.rules[self.namespace] = rule

    def _pend(self, _: Step) -> AbstractContextManager[None]:
        """No new pod starts."""
        return self._ruled(starts=False)

    def _linger(self, _: Step) -> AbstractContextManager[None]:
        """Deleted pods continue to run."""
        return self._ruled(gone_after=None)

    @contextmanager
    def _said_by(self, answer: Answer) -> Iterator[None]:
        self.server.answers[self.namespace] = answer
        yield
        self.server.answers[self.namespace] = self.say

    def _freeze(self, _: Step) -> AbstractContextManager[None]:
        return self._said_by(frozen(self.say))

    def _lag(self, step: Step) -> AbstractContextManager[None]:
        return self._said_by(lagging(self.say, 3 * step.amount))

    def _lie(self, step: Step) -> AbstractContextManager[None]:
        return self._said_by(lying(self.say, lambda item: _thousandfold(item) if step.amount % 2 else item))

    @contextmanager
    def _unready(self, step: Step) -> Iterator[None]:
        """Some pods become unready while an answer is on its way, and ready again at the end."""
        names = self._running()[: step.amount + 1]
        with self.server.held(self.namespace) as hold:
            hold.asked.wait(3)
            self._set_ready(names, ready=False)
            time.sleep(0.3)
        yield
        self._set_ready(names, ready=True)

    @contextmanager
    def _fail(self, step: Step) -> Iterator[None]:
        for name in self._running()[: step.amount // 2 + 1]:
            with _unless_gone():
                self.kubelet.fail(self.namespace, name)
        yield

    def _set_ready(self, names: list[str], *, ready: bool) -> None:
        for name in names:
            with _unless_gone():
                self.kubelet.set_ready(self.namespace, name, ready=ready)

    @contextmanager
    def _scale(self, step: Step) -> Iterator[None]:
        """Another client scales."""
        self.api.patch(f"{self._apps}/{self.shape.name}/scale", {"spec": {"replicas": 3 * step.amount or 1}})
        yield

    @contextmanager
    def _pause(self, _: Step) -> Iterator[None]:
        """Another client scales to zero, and back."""
        path = f"{self._apps}/{self.shape.name}/scale"
        self.api.patch(path, {"spec": {"replicas": 0}})
        yield
        self.api.patch(path, {"spec": {"replicas": 2}})

    @contextmanager
    def _roll(self, step: Step) -> Iterator[None]:
        """A rollout: for a while there are more pods than requested."""
        annotations = {"metadata": {"annotations": {"rolled": str(step.seed)}}}
        self.api.patch(f"{self._apps}/{self.shape.name}", {"spec": {"template": annotations}})
        yield

    @contextmanager
    def _wake(self, step: Step) -> Iterator[None]:
        """No demand until the target is at zero; then the user raises the minimum."""
        time.sleep(ASLEEP_AFTER)
        with self._edited({"minReplicas": step.amount + 1}):
            yield

    @contextmanager
    def _edit(self, step: Step) -> Iterator[None]:
        """The user changes the bounds."""
        with self._edited({"minReplicas": step.amount or self.shape.low, "maxReplicas": 2 + 2 * step.amount}):
            yield

    @contextmanager
    def _edited(self, bounds: Object) -> Iterator[None]:
        path = f"{self._hpas}/{self.shape.name}"
        self.api.patch(path, {"spec": bounds})
        yield
        self.api.patch(path, {"spec": {"minReplicas": self.shape.low, "maxReplicas": self.shape.high}})

    @contextmanager
    def _refuse(self, _: Step) -> Iterator[None]:
        """An admission policy forbids every change of scale."""
        root, name = "/apis/admissionregistration.k8s.io/v1", REFUSING
        self.api.create(f"{root}/validatingadmissionpolicies", _policy(self.namespace))
        binding = {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}}
        self.api.create(f"{root}/validatingadmissionpolicybindings", binding)
        yield
        self.api.delete(f"{root}/validatingadmissionpolicybindings/{name}")
        self.api.delete(f"{root}/validatingadmissionpolicies/{name}")

    @contextmanager
    def _remove(self, _: Step) -> Iterator[None]:
        """The target is deleted, and created again."""
        self.api.delete(f"{self._apps}/{self.shape.name}", query={"propagationPolicy": "Background"})
        yield
        self.api.create(self._apps, self.shape.deployment())

    @contextmanager
    def _conflict(self, _: Step) -> Iterator[None]:
        """A second HPA whose target's selector matches the pods of the first."""
        hpa, deployment = self.shape.hpa(), self.shape.deployment()
        for made in (hpa, deployment):
            made["metadata"]["name"] = OTHER
        hpa["spec"]["scaleTargetRef"]["name"] = OTHER
        deployment["spec"]["selector"]["matchLabels"] = {"tier": "web"}
        deployment["spec"]["template"]["metadata"]["labels"] = {"tier": "web", "app": OTHER}
        self.api.create(self._apps, deployment)
        self.api.create(self._hpas, hpa)
        yield
        self.api.delete(f"{self._hpas}/{OTHER}")
        self.api.delete(f"{self._apps}/{OTHER}", query={"propagationPolicy": "Background"})


@contextmanager
def _unless_gone() -> Iterator[None]:
    """A pod may be deleted by a scale-down at any moment."""
    try:
        yield
    except ApiError as error:
        if error.answer.status != 404:
            raise


def _asks(query: Query, metric: Metric) -> bool:
    if query.api == "metrics.k8s.io":
        return metric.kind in {"cpu", "memory"}
    return query.metric == metric.name


def _share(name: str, seed: int) -> float:
    """A number between 0 and 1 that depends on a name."""
    return zlib.crc32(f"{name} {seed}".encode()) / 2**32


def _pod_metrics(pod: Object, query: Query, usage: dict[str, int]) -> Object:
    sidecars = [c for c in pod["spec"].get("initContainers", ()) if c.get("restartPolicy") == "Always"]
    containers = [*pod["spec"]["containers"], *sidecars]
    each = {name: f"{amount // len(containers)}m" for name, amount in usage.items()}
    metadata = {key: pod["metadata"].get(key) for key in ("name", "namespace", "labels", "creationTimestamp")}
    return {
        "metadata": metadata,
        "timestamp": stamp(query.at),
        "window": "10s",
        "containers": [{"name": c["name"], "usage": each} for c in containers],
    }


def _value(query: Query, described: Object, amount: int) -> Object:
    metric: Object = {"name": query.metric}
    if query.metric_labels:
        key, _, word = query.metric_labels.partition("=")
        metric["selector"] = {"matchLabels": {key: word}}
    return {
        "describedObject": described,
        "metric": metric,
        "timestamp": stamp(query.at),
        "windowSeconds": 30,
        "value": f"{amount}m",
    }


def _totals(query: Query, metric: Metric, amount: int) -> list[Object]:
    """One value for an object; two series for an external metric."""
    if metric.kind == "object":
        described = metric.spec["object"]["describedObject"]
        return [_value(query, {**described, "namespace": query.namespace, "name": query.name}, amount)]
    labels = dict([query.labels.split("=")]) if query.labels else {}
    series = [
        {"metricLabels": {**labels, "part": part}, "value": f"{value}m"}
        for part, value in (("a", amount // 3), ("b", amount - amount // 3))
    ]
    return [{"metricName": query.metric, "timestamp": stamp(query.at), **one} for one in series]


def _thousandfold(item: Object) -> Object:
    containers = [
        {**c, "usage": {name: f"{text[:-1]}" for name, text in c["usage"].items()}} for c in item["containers"]
    ]
    return {**item, "containers": containers}


def _policy(namespace: str) -> Object:
    matched = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["deployments/scale"],
    }
    return {
        "metadata": {"name": REFUSING},
        "spec": {
            "matchConstraints": {
                "resourceRules": [matched],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            },
            "validations": [{"expression": "false", "message": "not now"}],
        },
    }

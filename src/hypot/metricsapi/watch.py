"""Keeps the targets up to date with the pods and namespaces of the cluster."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

import structlog

from hypot.cluster.port import Port
from hypot.cluster.reflector import NamespacedName, Reflector
from hypot.kinds.values.nested import inner
from hypot.metricsapi.plan import ScrapePlan
from hypot.metricsapi.served_pods import PodAddresses, ServedPod, read_served_pod
from hypot.metricsapi.targets import ScrapeTarget, ScrapeTargets, Unreachable

Labels = Mapping[str, str]
log = structlog.get_logger()
_TODO: Mapping[Unreachable, str] = {
    "port": "no container of the pod has a port of the name in the rule: correct the rule, or write a number",
    "address": "the pod has no address that may be scraped: see podNetworks in the configuration",
}


class PodWatch:
    """Watches pods of all namespaces, or only of those that the rules name. `on_new` gets new targets."""

    def __init__(
        self, port: Port, plan: ScrapePlan, addresses: PodAddresses, on_new: Callable[[list[ScrapeTarget]], None]
    ) -> None:
        self.targets = ScrapeTargets(plan)
        self._plan, self._addresses, self._on_new = plan, addresses, on_new
        # How many pods of a rule could not be scraped.
        self._unreachable: Counter[tuple[str, Unreachable]] = Counter()
        places = [f"/api/v1/namespaces/{name}/pods" for name in plan.watched()] or ["/api/v1/pods"]
        self._pods: list[Reflector[ServedPod]] = [
            Reflector(port, path, keep=self._keep, on_change=self._changed) for path in places
        ]
        self._namespaces: Reflector[Labels] | None = None
        if any(rule.needs_namespaces for rule in plan.rules):
            self._namespaces = Reflector(port, "/api/v1/namespaces", keep=_labels, on_change=self._relabelled)

    @property
    def _reflectors(self) -> list[Reflector[ServedPod] | Reflector[Labels]]:
        return [*self._pods, *([self._namespaces] if self._namespaces is not None else [])]

    @property
    def awaited(self) -> str:
        """What has not been listed yet; empty if everything has."""
        return next((f"the list of {each.path}" for each in self._reflectors if not each.synced), "")

    async def run(self) -> None:
        await asyncio.gather(*[each.run() for each in self._reflectors])

    def _keep(self, data: dict[str, object]) -> ServedPod | None:
        pod = read_served_pod(data, self._addresses)
        if pod is None or not any(rule.pods.matches(pod.labels) for rule in self._plan.rules):
            return None
        return pod

    def _changed(self, key: NamespacedName, pod: ServedPod | None) -> None:
        before = self.targets.unreachable.get(key)
        new = self.targets.update(key, pod, self._labels_of(key[0]))
        for rule, why in self.targets.unreachable.get(key, {}).items():
            if before is None or rule not in before:
                self._say_unreachable(key, rule, why)
        if new:
            self._on_new(new)

    def _say_unreachable(self, key: NamespacedName, rule: str, why: Unreachable) -> None:
        """At 1, 2, 4, 8 … pods: a wrong name of a port is wrong for all of them."""
        self._unreachable[rule, why] += 1
        times = self._unreachable[rule, why]
        if times & (times - 1) == 0:
            namespace, pod = key
            log.warning(
                "a pod cannot be scraped", rule=rule, namespace=namespace, pod=pod, times=times, todo=_TODO[why]
            )

    def _labels_of(self, namespace: str) -> Labels | None:
        return None if self._namespaces is None else self._namespaces.rows.get(("", namespace))

    def _relabelled(self, key: NamespacedName, _: Labels | None) -> None:
        """The labels of a namespace changed, so other rules may choose its pods."""
        for reflector in self._pods:
            for (namespace, name), pod in list(reflector.rows.items()):
                if namespace == key[1]:
                    self._changed((namespace, name), pod)


def _labels(data: dict[str, object]) -> Labels:
    return {str(key): str(value) for key, value in inner(data, "metadata", "labels").items()}

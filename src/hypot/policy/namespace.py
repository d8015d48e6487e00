"""The pods of one namespace, their metrics, and which autoscalers claim them."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.kinds.selector import Selector, SelectorError, parse_selector
from hypot.policy.bylabel import ByLabel
from hypot.policy.podrow import labels_of, name_of, read_pod, read_sample
from hypot.policy.seen import Failure, Pod, PodSample


class Namespace:
    """Takes everything first; answers are computed when first asked for, and once per selector."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._pods: dict[str, Mapping[str, Any]] = {}
        self._samples: dict[str, Mapping[str, Any]] = {}
        self._claims: dict[str, list[str]] = {}
        self._pods_by_label: ByLabel[str] | None = None
        self._samples_by_label: ByLabel[str] | None = None
        self._read_pods: dict[str, Pod] = {}
        self._read_samples: dict[str, PodSample] = {}
        self._selected: dict[str, tuple[Pod, ...]] = {}
        self._claimed: dict[str, list[str]] | None = None
        self._claimants: dict[str, tuple[str, ...]] = {}

    def take_pod(self, data: Mapping[str, Any]) -> None:
        self._pods[name_of(data)] = data

    def take_sample(self, data: Mapping[str, Any]) -> None:
        self._samples[name_of(data)] = data

    def take_claim(self, selector: str, autoscaler: str) -> None:
        """An autoscaler whose target has this selector."""
        self._claims.setdefault(selector, []).append(autoscaler)

    def pods(self, selector: str) -> tuple[Pod, ...]:
        """The pods of a scale's selector; none where it is empty or cannot be read, which the policies tell."""
        if selector not in self._selected:
            wanted = selector_of(selector)
            names = self._pod_index().select(wanted) if wanted else []
            self._selected[selector] = tuple([self._pod(name) for name in names])
        return self._selected[selector]

    def _pod_index(self) -> ByLabel[str]:
        if self._pods_by_label is None:
            self._pods_by_label = ByLabel([(labels_of(data), name) for name, data in self._pods.items()])
        return self._pods_by_label

    def _pod(self, name: str) -> Pod:
        if name not in self._read_pods:
            self._read_pods[name] = read_pod(self._pods[name])
        return self._read_pods[name]

    def samples(self, selectors: Iterable[Selector | None]) -> Mapping[str, PodSample] | Failure:
        """The metrics of the pods that any of these selectors matches."""
        if not self._samples:
            path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{self.name}/pods"
            return Failure(f"no PodMetrics of namespace {self.name} in the input; add them: kubectl get --raw {path}")
        index = self._sample_index()
        names = [name for selector in selectors if selector for name in index.select(selector)]
        return {name: self._sample(name) for name in names}

    def _sample_index(self) -> ByLabel[str]:
        if self._samples_by_label is None:
            self._samples_by_label = ByLabel([(self._sample_labels(name), name) for name in self._samples])
        return self._samples_by_label

    def _sample_labels(self, name: str) -> Mapping[str, str]:
        """The metrics' own labels; where a metrics server gives none, those of the pod."""
        return labels_of(self._samples[name]) or labels_of(self._pods.get(name, {}))

    def _sample(self, name: str) -> PodSample:
        if name not in self._read_samples:
            self._read_samples[name] = read_sample(self._samples[name], self._sample_labels(name))
        return self._read_samples[name]

    def claimants(self, selector: str) -> tuple[str, ...]:
        """The autoscalers that claim any pod of this selector."""
        if selector not in self._claimants:
            claimed = self._claimed_pods()
            chosen = dict.fromkeys(claim for pod in self.pods(selector) for claim in claimed.get(pod.name, ()))
            self._claimants[selector] = tuple([name for claim in chosen for name in self._claims[claim]])
        return self._claimants[selector]

    def _claimed_pods(self) -> dict[str, list[str]]:
        """Each pod and the claims on it, so that no autoscaler need be compared with every other."""
        if self._claimed is None:
            self._claimed = {}
            for selector in self._claims:
                for pod in self.pods(selector):
                    self._claimed.setdefault(pod.name, []).append(selector)
        return self._claimed


def selector_of(text: str) -> Selector | None:
    """A scale's selector, or None where it is empty or cannot be read."""
    try:
        return parse_selector(text) if text else None
    except SelectorError:
        return None

"""The pods of one namespace, their metrics, and which autoscalers claim them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hypot.kinds.selector import Selector, SelectorError, parse_selector
from hypot.policy.absent import Absent
from hypot.policy.bylabel import ByLabel
from hypot.policy.seen import Failure, Pod, PodSample


class Namespace:
    """Takes everything first; answers are computed when first asked for, and once per selector."""

    def __init__(self, name: str, absent: Absent) -> None:
        self.name = name
        self._absent = absent
        self._pods: dict[str, Pod] = {}
        self._samples: dict[str, PodSample] = {}
        self._claims: dict[str, list[str]] = {}
        self._pods_by_label: ByLabel[Pod] | None = None
        self._samples_by_label: ByLabel[str] | None = None
        self._selected: dict[str, tuple[Pod, ...]] = {}
        self._claimed: dict[str, list[str]] | None = None
        self._claimants: dict[str, tuple[str, ...]] = {}

    def take_pod(self, pod: Pod) -> None:
        self._pods[pod.name] = pod

    def take_sample(self, pod: str, sample: PodSample) -> None:
        self._samples[pod] = sample

    def take_claim(self, selector: str, autoscaler: str) -> None:
        """An autoscaler whose target has this selector."""
        self._claims.setdefault(selector, []).append(autoscaler)

    def pods(self, selector: str) -> tuple[Pod, ...]:
        """The pods of a scale's selector; none where it is empty or cannot be read, which the policies tell."""
        if selector not in self._selected:
            wanted = selector_of(selector)
            self._selected[selector] = tuple(self._pod_index().select(wanted)) if wanted else ()
        return self._selected[selector]

    def _pod_index(self) -> ByLabel[Pod]:
        if self._pods_by_label is None:
            self._pods_by_label = ByLabel([(pod.labels, pod) for pod in self._pods.values()])
        return self._pods_by_label

    def samples(self, selectors: Iterable[Selector | None]) -> Mapping[str, PodSample] | Failure:
        """The metrics of the pods that any of these selectors matches."""
        if not self._samples:
            return Failure(self._absent.samples(self.name))
        index = self._sample_index()
        names = [name for selector in selectors if selector for name in index.select(selector)]
        return {name: self._samples[name] for name in names}

    def _sample_index(self) -> ByLabel[str]:
        if self._samples_by_label is None:
            self._samples = {name: self._labelled(name, sample) for name, sample in self._samples.items()}
            self._samples_by_label = ByLabel([(sample.labels, name) for name, sample in self._samples.items()])
        return self._samples_by_label

    def _labelled(self, name: str, sample: PodSample) -> PodSample:
        """With the metrics' own labels; where a metrics server gives none, with those of the pod."""
        pod = self._pods.get(name)
        return sample if sample.labels or pod is None else replace(sample, labels=pod.labels)

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

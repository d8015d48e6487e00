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
        self._odd_samples: ByLabel[str] | None = None
        self._odd_names: set[str] = set()
        self._selected: dict[Selector, tuple[Pod, ...]] = {}
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
        wanted = selector_of(selector)
        return self._chosen(wanted) if wanted else ()

    def _chosen(self, selector: Selector) -> tuple[Pod, ...]:
        found = self._selected.get(selector)
        if found is None:
            found = self._selected[selector] = tuple(self._pod_index().select(selector))
        return found

    def _pod_index(self) -> ByLabel[Pod]:
        if self._pods_by_label is None:
            self._pods_by_label = ByLabel([(pod.labels, pod) for pod in self._pods.values()])
        return self._pods_by_label

    def samples(self, selectors: Iterable[Selector | None]) -> Mapping[str, PodSample] | Failure:
        """The metrics of the pods that any of these selectors matches."""
        if not self._samples:
            return Failure(self._absent.samples(self.name))
        odd, samples = self._odd(), self._samples
        found: dict[str, PodSample] = {}
        for selector in selectors:
            if selector is None:
                continue
            for pod in self._chosen(selector):
                if pod.name in samples and pod.name not in self._odd_names:
                    found[pod.name] = samples[pod.name]
            for name in odd.select(selector):
                found[name] = samples[name]
        return found

    def _odd(self) -> ByLabel[str]:
        """Samples with other labels than their pod, or of no pod that is known. One without any gets its pod's."""
        if self._odd_samples is None:
            odd: list[tuple[Mapping[str, str], str]] = []
            for name, sample in list(self._samples.items()):
                pod = self._pods.get(name)
                if pod is None or (sample.labels and sample.labels != pod.labels):
                    odd.append((sample.labels, name))
                elif not sample.labels:
                    self._samples[name] = replace(sample, labels=pod.labels)
            self._odd_names = {name for _, name in odd}
            self._odd_samples = ByLabel(odd)
        return self._odd_samples

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

"""The pods of one namespace, their metrics, and which autoscalers claim them."""

from collections.abc import Iterable, Mapping

from hypot.kinds.selector import Selector
from hypot.policy.absent import Absent
from hypot.policy.bylabel import ByLabel
from hypot.policy.podindex import PodIndex, selector_of
from hypot.policy.seen import Failure, Pod, PodSample


class Namespace:
    """Takes everything first; answers are computed when first asked for."""

    def __init__(self, name: str, absent: Absent, earlier: PodIndex | None = None) -> None:
        """An earlier index is used again where the pods turn out to be the same."""
        self.name = name
        self._absent, self._earlier = absent, earlier
        self._pods: dict[str, Pod] = {}
        self._samples: dict[str, PodSample] = {}
        self._claims: dict[str, list[str]] = {}
        self._index: PodIndex | None = None
        self._odd_samples: ByLabel[str] | None = None
        self._odd_names: set[str] = set()
        self._claimed: dict[str, list[str]] | None = None
        self._claimants: dict[str, tuple[str, ...]] = {}

    def take_pod(self, pod: Pod) -> None:
        self._pods[pod.name] = pod

    def take_sample(self, pod: str, sample: PodSample) -> None:
        self._samples[pod] = sample

    def take_claim(self, selector: str, autoscaler: str) -> None:
        """An autoscaler whose target has this selector."""
        self._claims.setdefault(selector, []).append(autoscaler)

    def index(self) -> PodIndex:
        """Of all pods, as they are once they were all taken."""
        if self._index is None:
            known = self._earlier
            self._index = known if known is not None and known.is_of(self._pods) else PodIndex(self._pods)
        return self._index

    def pods(self, selector: str) -> tuple[Pod, ...]:
        """The pods of a scale's selector."""
        return self.index().of_scale(selector)

    def all_pods(self) -> Iterable[Pod]:
        return self._pods.values()

    def samples(self, selectors: Iterable[Selector | None]) -> Mapping[str, PodSample] | Failure:
        """The metrics of the pods that any of these selectors matches."""
        if not self._samples:
            return Failure(self._absent.samples(self.name))
        odd, index = self._odd(), self.index()
        found: dict[str, PodSample] = {}
        for selector in selectors:
            if selector is not None:
                found |= self._sampled(index.select(selector))
                found |= {name: self._samples[name] for name in odd.select(selector)}
        return found

    def samples_of(self, selector: str) -> Mapping[str, PodSample] | Failure:
        """The same for the selector of a scale."""
        if not self._samples or self._odd():
            return self.samples([selector_of(selector)])
        return self._sampled(self.pods(selector))

    def _sampled(self, pods: Iterable[Pod]) -> dict[str, PodSample]:
        """Of these pods; samples that do not belong to their labels are found by their own."""
        samples, odd = self._samples, self._odd_names
        names = [pod.name for pod in pods]
        return {name: samples[name] for name in names if name in samples and name not in odd}

    def _odd(self) -> ByLabel[str]:
        """Samples with other labels than their pod, or of no pod that is known. One without any gets its pod's."""
        if self._odd_samples is None:
            odd: list[tuple[Mapping[str, str], str]] = []
            for name, sample in list(self._samples.items()):
                pod = self._pods.get(name)
                if pod is None or (sample.labels and sample.labels != pod.labels):
                    odd.append((sample.labels, name))
                elif not sample.labels:
                    self._samples[name] = sample._replace(labels=pod.labels)
            self._odd_names = {name for _, name in odd}
            self._odd_samples = ByLabel(odd)
        return self._odd_samples

    def claimants(self, selector: str) -> tuple[str, ...]:
        """The autoscalers that claim any pod of this selector."""
        if selector not in self._claimants:
            claimed = self._claimed_pods()
            chosen = dict.fromkeys([claim for pod in self.pods(selector) for claim in claimed.get(pod.name, ())])
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

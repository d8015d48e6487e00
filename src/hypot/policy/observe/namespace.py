"""The pods of one namespace by selector, their metrics, and which autoscalers claim them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from hypot.kinds.selector import Requirement, Selector, SelectorError, parse_selector
from hypot.policy.model.seen import Failure, Pod, PodSample
from hypot.policy.observe.absent import Absent

T = TypeVar("T")


class ByLabel(Generic[T]):
    """An index of every label; a selector looks only at the objects that have the rarest label it asks for."""

    def __init__(self, things: Iterable[tuple[Mapping[str, str], T]]) -> None:
        self._things = list(things)
        self._places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, (labels, _) in enumerate(self._things):
            for label in labels.items():
                self._places[label].append(place)

    def __len__(self) -> int:
        return len(self._things)

    def select(self, selector: Selector) -> list[T]:
        """What matches, in the order of insertion."""
        things = self._things
        if (label := _only(selector)) is not None:
            return [things[place][1] for place in self._places.get(label, ())]
        found = []
        for place in self._candidates(selector):
            labels, thing = things[place]
            if selector.matches(labels):
                found.append(thing)
        return found

    def _candidates(self, selector: Selector) -> Iterable[int]:
        narrowed = [self._having(r) for r in selector.requirements if r.operator == "in"]
        if not narrowed:
            return range(len(self._things))
        return sorted(place for places in min(narrowed, key=_size) for place in places)

    def _having(self, requirement: Requirement) -> list[list[int]]:
        return [self._places.get((requirement.key, value), []) for value in set(requirement.values)]


def _only(selector: Selector) -> tuple[str, str] | None:
    """The label of a selector that asks for exactly one label and value: then the index alone answers it."""
    if len(selector.requirements) != 1:
        return None
    (wanted,) = selector.requirements
    return (wanted.key, wanted.values[0]) if wanted.operator == "in" and len(wanted.values) == 1 else None


def _size(places: list[list[int]]) -> int:
    return sum(map(len, places))


class PodIndex:
    """Finds pods by selector; answers are computed on first use, once per selector."""

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self.pods = pods
        self._by_label: ByLabel[Pod] | None = None
        self._selected: dict[Selector, tuple[Pod, ...]] = {}
        self._selected_by_text: dict[str, tuple[Pod, ...]] = {}

    def is_of(self, pods: Mapping[str, Pod]) -> bool:
        """Whether this index was built from exactly these pod objects."""
        known = self.pods
        return len(known) == len(pods) and all(known.get(name) is pod for name, pod in pods.items())

    def select(self, selector: Selector) -> tuple[Pod, ...]:
        found = self._selected.get(selector)
        if found is None:
            found = self._selected[selector] = tuple(self._labelled().select(selector))
        return found

    def of_scale(self, selector: str) -> tuple[Pod, ...]:
        """The pods of a scale's selector; none if it is empty or unreadable, which the policies report."""
        found = self._selected_by_text.get(selector)
        if found is None:
            wanted = selector_of(selector)
            found = self._selected_by_text[selector] = self.select(wanted) if wanted else ()
        return found

    def _labelled(self) -> ByLabel[Pod]:
        if self._by_label is None:
            self._by_label = ByLabel([(pod.labels, pod) for pod in self.pods.values()])
        return self._by_label


def selector_of(text: str) -> Selector | None:
    """A scale's selector, or None if it is empty or unreadable."""
    try:
        return parse_selector(text) if text else None
    except SelectorError:
        return None


class Namespace:
    """Takes all objects first; answers are computed on first use."""

    def __init__(self, name: str, absent: Absent, earlier: PodIndex | None = None) -> None:
        """An earlier index is reused if the pods are the same."""
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
        """Record an autoscaler whose target has this selector."""
        self._claims.setdefault(selector, []).append(autoscaler)

    def index(self) -> PodIndex:
        """The index of all pods; call it only after all pods were taken."""
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
        """The metrics of the pods of a scale's selector."""
        if not self._samples or self._odd():
            return self.samples([selector_of(selector)])
        return self._sampled(self.pods(selector))

    def _sampled(self, pods: Iterable[Pod]) -> dict[str, PodSample]:
        """The samples of these pods, except those whose labels differ from their pod's."""
        samples, odd = self._samples, self._odd_names
        names = [pod.name for pod in pods]
        return {name: samples[name] for name in names if name in samples and name not in odd}

    def _odd(self) -> ByLabel[str]:
        """Samples with other labels than their pod, or without a known pod. A sample without labels gets its pod's."""
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
        """Each pod and the claims on it, so that autoscalers are not compared pairwise."""
        if self._claimed is None:
            self._claimed = {}
            for selector in self._claims:
                for pod in self.pods(selector):
                    self._claimed.setdefault(pod.name, []).append(selector)
        return self._claimed

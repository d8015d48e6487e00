"""The pods of one namespace, found by selector. A value: whoever has the same pods again may use it again."""

from collections.abc import Mapping

from hypot.kinds.selector import Selector, SelectorError, parse_selector
from hypot.policy.bylabel import ByLabel
from hypot.policy.seen import Pod


class PodIndex:
    """Answers are computed when first asked for, and once per selector."""

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self.pods = pods
        self._by_label: ByLabel[Pod] | None = None
        self._selected: dict[Selector, tuple[Pod, ...]] = {}
        self._selected_by_text: dict[str, tuple[Pod, ...]] = {}

    def is_of(self, pods: Mapping[str, Pod]) -> bool:
        """Whether it is made of these very pods."""
        known = self.pods
        return len(known) == len(pods) and all(known.get(name) is pod for name, pod in pods.items())

    def select(self, selector: Selector) -> tuple[Pod, ...]:
        found = self._selected.get(selector)
        if found is None:
            found = self._selected[selector] = tuple(self._labelled().select(selector))
        return found

    def of_scale(self, selector: str) -> tuple[Pod, ...]:
        """The pods of a scale's selector; none where it is empty or cannot be read, which the policies tell."""
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
    """A scale's selector, or None where it is empty or cannot be read."""
    try:
        return parse_selector(text) if text else None
    except SelectorError:
        return None

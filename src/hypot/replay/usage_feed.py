"""The history of usage that recommenders read: samples of all pods, once a minute, and kills for want of memory."""

from collections.abc import Mapping, Sequence

from hypot.core.amount import RESOURCES
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa_knobs import Knobs
from hypot.policy.seen import Bounds, UsageView
from hypot.policy.usage_view import listed
from hypot.replay.parts import Scene
from hypot.replay.rules_vpa import usage_of
from hypot.replay.usage import EVERY, UNKNOWN, bound, observe


class UsageFeed:
    """Folds what the pods use into histograms, as a recommender does, and shows what they say."""

    every = EVERY

    def __init__(self, autoscaler: VPA | Hvpa, scene: Scene) -> None:
        self.usage = usage_of(autoscaler, scene.container, scene.settings)
        self._container = scene.container

    def step(self, scene: Scene, i: int, now: float) -> None:
        observe(self.usage, scene.c, scene.p, i, now, scene.eyes.blind(now))
        bound(self.usage)

    def view(self) -> UsageView:
        return self

    def containers(self) -> tuple[str, ...]:
        return (self._container,)

    def estimate(
        self, knobs: Knobs | Mapping[str, Knobs], containers: Sequence[str], resources: Mapping[str, Sequence[str]]
    ) -> tuple[Bounds, ...]:
        """What is known was made with the knobs of the one autoscaler that asks."""
        del knobs
        u = self.usage
        figures = {
            name: [u.lower[place], u.target[place], u.upper[place]]
            for place, name in enumerate(RESOURCES)
            if u.target[place] != UNKNOWN
        }
        found = {self._container: figures} if figures and self._container in containers else {}
        return listed(found, resources)

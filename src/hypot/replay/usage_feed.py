"""The history of usage that recommenders read: samples of all pods, once a minute, and kills for want of memory."""

from math import inf

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa_knobs import for_container, knobs_from
from hypot.kinds.vpa_parts import policy_of
from hypot.policy.seen import UsageView
from hypot.policy.usage import Sample, Usage
from hypot.replay.parts import Scene
from hypot.replay.signals import cpu_sample, is_sampled, memory_sample

EVERY = 60.0
_OWNER = "replay"


class UsageFeed:
    """Folds what the pods use into histograms, as a recommender does."""

    every = EVERY

    def __init__(self, autoscaler: VPA | Hvpa, scene: Scene, start: float) -> None:
        if isinstance(autoscaler, Hvpa):
            annotations, policies = autoscaler.vpa_annotations, autoscaler.container_policies
        else:
            annotations, policies = autoscaler.annotations, autoscaler.resource_policy
        knobs = for_container(knobs_from(annotations, scene.settings.vpa), policy_of(policies, scene.container))
        self._usage = Usage()
        self._row = self._usage.declare(_OWNER, scene.container, knobs, start)
        self._told: dict[str, float] = {}

    def view(self) -> UsageView:
        return self._usage.view(_OWNER)

    def step(self, scene: Scene, i: int, now: float) -> None:
        c, p, usage = scene.c, scene.p, self._usage
        samples: list[Sample] = []
        names: set[str] = set()
        for k in range(c.used[0]):
            pods = scene.eyes.names(k)
            names.update(pods)
            if c.killed_at[k] > -inf:
                self._tell_kill(pods, c.killed_at[k], c.memory[k])
            if is_sampled(c, p, k, now) and not scene.eyes.blind(now):
                cpu, memory = float(cpu_sample(c, p, k, i)), float(memory_sample(c, p, k, i))
                samples += [(usage.instance(self._row, pod), cpu, memory, now - p.lag) for pod in pods]
        if samples:
            usage.observe(samples)
        usage.retain(names)
        usage.expire(now)

    def _tell_kill(self, pods: list[str], at: float, requested: int) -> None:
        for pod in pods:
            if self._told.get(pod) != at:
                self._told[pod] = at
                self._usage.oom(self._usage.instance(self._row, pod), at, requested)

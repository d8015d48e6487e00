"""What scales a workload today, and the workload itself, as far as the manifests say."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypot.kinds.base import Ref
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import cpu
from hypot.kinds.text.load import LoadedFiles
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.policy.families import family_of
from hypot.policy.model.settings import Settings
from hypot.policy.observe.snapshot import read_autoscaler
from hypot.replay.policies.make import made
from hypot.replay.policies.policy import Policy
from hypot.replay.policies.read import POLICY, read_policies
from hypot.replay.policies.start import start_of_world
from hypot.replay.world.parameters import World

TODAY = "today"
# What Kubernetes' own documentation and `kubectl autoscale` take where nobody says a target.
USUAL_TARGET = 80


class ScaledWorkload(NamedTuple):
    """A workload: what it is, what scales it, and the bounds of both axes."""

    target: Ref
    # Empty if nothing says it.
    namespace: str
    # The fewest and the most replicas.
    bounds: tuple[int, int]
    bounds_why: str
    containers: tuple[ContainerPolicy, ...]
    # Its manifest, and those of its autoscalers.
    workload: LoadedFiles | None = None
    scalers: tuple[LoadedFiles, ...] = ()

    @property
    def autoscalers(self) -> tuple[Autoscaler, ...]:
        return tuple([read_autoscaler(one.data) for one in self.scalers])

    @property
    def active(self) -> tuple[LoadedFiles, ...]:
        """Without those that only report."""
        return tuple([one for one in self.scalers if not _is_off(read_autoscaler(one.data))])


def _is_off(autoscaler: Autoscaler) -> bool:
    return bool(family_of(autoscaler).is_off(autoscaler))


def today_of(subject: ScaledWorkload, world: World, settings: Settings) -> tuple[Policy, str]:
    """The policy that it has today, and where that comes from. Raises PolicyError if it cannot be replayed."""
    parts = [*([] if subject.workload is None else [subject.workload]), *subject.active]
    if not parts:
        return _usual(subject, world), f"nothing says what scales it: an HPA at {USUAL_TARGET} % cpu is assumed"
    named = [LoadedFiles(_in_today(one.data), one.source) for one in parts]
    [policy] = read_policies(named, world, settings.kubernetes, settings.gates)
    names = " and ".join(f"{one.KIND} {one.name}" for one in policy.autoscalers)
    where = ", ".join(map(_place, subject.active or parts))
    return policy, f"{names or f'no autoscaler: {policy.workload.replicas} replicas'} ({where})"


def _place(one: LoadedFiles) -> str:
    """An object of a cluster has no line."""
    return f"{one.source.file}:{one.source.line}" if one.source.line else one.source.file


def _in_today(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same object, as a part of the policy called today."""
    metadata = data.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    annotations = metadata.get("annotations")
    metadata["annotations"] = {**(annotations if isinstance(annotations, dict) else {}), POLICY: TODAY}
    return {**data, "metadata": metadata}


def _usual(subject: ScaledWorkload, world: World) -> Policy:
    target, (low, high) = subject.target, subject.bounds
    namespace = subject.namespace or None
    metric = cpu(utilization=USUAL_TARGET)
    hpa = HPA(target, min_replicas=low, max_replicas=high, metrics=[metric], namespace=namespace)
    return made(TODAY, [(hpa, None)], start_of_world(world, target.kind or "", target.name or ""), ())


def described(policy: Policy) -> str:
    """What it is, in a few words."""
    if not policy.autoscalers:
        replicas = policy.workload.replicas
        return f"{replicas} pod{'' if replicas == 1 else 's'}"
    return " + ".join(map(_words, policy.autoscalers))


def _words(autoscaler: Autoscaler) -> str:
    if not isinstance(autoscaler, HPA):
        return info_of(autoscaler).abbreviation
    targets = cpu_targets(autoscaler)
    return f"HPA {targets[0]} %" if targets else "HPA"


def cpu_targets(hpa: HPA) -> Sequence[int]:
    """The percentages of its metrics of cpu. An HPA without metrics has the default."""
    if not hpa.metrics:
        return (USUAL_TARGET,)
    sources = [one.resource for one in hpa.metrics if one.resource is not None and one.resource.name == "cpu"]
    targets = [one.target.utilization for one in sources if one.target is not None]
    return tuple([one for one in targets if one is not None])

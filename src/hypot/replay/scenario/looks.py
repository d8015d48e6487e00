"""The observations ("looks") that a policy gets in a scenario of single decisions.

In a file, `start` is the current state and `looks` are the observations, one after the other, `every` so often:

    start: {replicas: 10, cpu: 1, memory: 1Gi}
    every: 15s
    looks:
    - {use: {cpu: 7}, times: 20}        cpu of all pods together, for twenty looks
    - {use: {cpu: 7}, missing: 1}       one pod was not measured
    - {broken: true}                    no metric can be read
    - {metrics: {latency: 150m}}        External metrics by name
    - {need: {memory: 3G}}              the total for which an HPA recommends replicas and a VPA a size
    - {use: {cpu: 7}, after: 1h}        the clock jumps

`cycle` repeats all looks; `needs` replaces them by a demand of cpu; `ways` are several lists of looks with the same
end; `orders` are random orders of all looks but the last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypot.core.amount import CPU, RESOURCES, of_milli, to_milli
from hypot.core.quantity import QuantityError, milli
from hypot.kinds.catalogue import Autoscaler
from hypot.policy.families import family_of
from hypot.policy.model.seen import (
    Bounds,
    Container,
    CountAdvice,
    Failure,
    Owner,
    Pod,
    PodSample,
    Recommendation,
    Scale,
    Seen,
    metric_key,
)
from hypot.policy.model.settings import Settings
from hypot.replay.scenario.demand import trace_of

Look = Mapping[str, Any]
APP, WEB = "app", "web"
LOOKS = ("looks", "needs", "ways")
_KEYS = {"use", "missing", "broken", "metrics", "need", "after", "times"}
_OLD, _STARTUP = 86400.0, 60.0
# The age of a sample, and the time that it covers.
_AGE, _WINDOW = 15.0, 30.0
BROKEN = Failure("the metrics could not be read: the value is not a number")


class LookError(ValueError):
    """A look that cannot be used."""


@dataclass(frozen=True, slots=True)
class FleetState:
    """A number of pods of one size; amounts are millicores and bytes."""

    replicas: int
    size: Mapping[str, int]

    def total(self, resource: str) -> int:
        return self.replicas * self.size.get(resource, 0)


def start_of(data: Mapping[str, Any]) -> FleetState:
    start = data.get("start")
    if not isinstance(start, Mapping) or not isinstance(start.get("replicas"), int):
        raise LookError("start: write the current state, such as {replicas: 3, cpu: 500m}")
    return FleetState(start["replicas"], amounts({name: start[name] for name in RESOURCES if name in start}))


def amounts(written: Mapping[str, Any]) -> dict[str, int]:
    """Amounts of resources, from quantities."""
    try:
        return {resource: of_milli(resource, milli(amount)) for resource, amount in written.items()}
    except (QuantityError, KeyError) as error:
        raise LookError(f"{dict(written)}: {error}") from error


def ways_of(data: Mapping[str, Any], every: float) -> list[list[Look]]:
    """Every list of looks, with each look repeated as its `times` says."""
    forms = [form for form in LOOKS if form in data]
    if len(forms) != 1:
        raise LookError(f"write one of {', '.join(LOOKS)}, not {' and '.join(forms) or 'none'}")
    if "ways" in data:
        return [_unfolded(looks) for looks in data["ways"].values()]
    if "needs" in data:
        return [_sampled(data["needs"], every)]
    looks, orders = list(data["looks"]), data.get("orders")
    if not orders:
        return [_unfolded(looks) * int(data.get("cycle", 1))]
    rng = np.random.default_rng(int(orders["seed"]))
    shuffled = [[looks[i] for i in rng.permutation(len(looks) - 1)] for _ in range(int(orders["count"]))]
    return [_unfolded([*order, looks[-1]]) for order in shuffled]


def _unfolded(looks: Sequence[Look]) -> list[Look]:
    for look in looks:
        strange = set(look) - _KEYS
        if strange:
            raise LookError(f"{min(strange)}: unknown key of a look; the keys are {', '.join(sorted(_KEYS))}")
    return [look for look in looks for _ in range(int(look.get("times", 1)))]


def _sampled(needs: Mapping[str, Any], every: float) -> list[Look]:
    """Looks at a demand of cpu, one every `every` seconds."""
    trace = trace_of(needs)
    at = np.arange(trace.times[0], trace.times[-1], every)
    return [{"need": {CPU: f"{round(value * 1000)}m"}} for value in np.interp(at, trace.times, trace.values)]


def seen_of(state: FleetState, look: Look, autoscaler: Autoscaler, now: float) -> Seen:
    """What an autoscaler observes."""
    pods = tuple([_pod(state, i, now) for i in range(state.replicas)])
    need = amounts(look.get("need") or {})
    target = {resource: -(-total // state.replicas) for resource, total in need.items()}
    counts = [-(-total // state.size[resource]) for resource, total in need.items() if state.size.get(resource)]
    return Seen(
        now,
        Scale(state.replicas, state.replicas, f"app={WEB}"),
        pods,
        BROKEN if look.get("broken") else _samples(pods, look, now),
        external_metrics=_external(autoscaler, look),
        size_advice=Recommendation((Bounds(APP, target),), "recommendations of the scenario") if need else None,
        count_advice=CountAdvice(max(counts), state.replicas, "the HPA of the scenario") if counts else None,
    )


def _pod(state: FleetState, index: int, now: float) -> Pod:
    name = f"{WEB}-1-{index}"
    requests = {resource: to_milli(resource, size) for resource, size in state.size.items()}
    return Pod(
        name,
        ready="True",
        ready_since=now - _OLD + _STARTUP,
        started=now - _OLD,
        containers=(Container(APP, requests),),
        labels={"app": WEB},
        owners=(Owner("ReplicaSet", f"{WEB}-1"),),
        uid=name,
    )


def _samples(pods: Sequence[Pod], look: Look, now: float) -> dict[str, PodSample]:
    """An even share of the total usage for each pod; the first pods are those that were not measured."""
    used = {resource: milli(written) for resource, written in (look.get("use") or {}).items()}
    if not used:
        return {}
    each = {resource: round(total / len(pods)) for resource, total in used.items()}
    there = pods[int(look.get("missing", 0)) :]
    return {pod.name: PodSample(now - _AGE, _WINDOW, ((APP, each),), pod.labels) for pod in there}


def _external(autoscaler: Autoscaler, look: Look) -> dict[str, tuple[int, ...] | Failure]:
    values: Mapping[str, Any] = {} if look.get("broken") else look.get("metrics") or {}
    return {
        metric_key(name, selector): (milli(values[name]),) if name in values else BROKEN
        for name, selector in family_of(autoscaler).questions(autoscaler, Settings()).external
    }

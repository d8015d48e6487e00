"""Recommended sizes, read from the histograms without changing them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hypot.core.amount import RESOURCES, round_up
from hypot.core.dataclass import dataclass
from hypot.core.usage import estimate
from hypot.core.usage.columns import Columns
from hypot.core.usage.histogram import Bank
from hypot.core.usage.layout import IntArray
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Bounds

Amounts = npt.NDArray[np.int64]


class Recipe(NamedTuple):
    """The knobs of one resource; percentiles of the lower bound, the target and the upper bound."""

    percentiles: tuple[float, float, float]
    unit: float
    margin: float
    interval: float
    minimum: int
    grain: int


@lru_cache(1024)
def recipes(knobs: Knobs) -> tuple[Recipe, Recipe]:
    """The recipes for cpu, whose histograms are in cores, and for memory."""
    cpu = Recipe(
        (knobs.lower_cpu_percentile, knobs.target_cpu_percentile, knobs.upper_cpu_percentile),
        1000.0,
        knobs.safety_margin,
        knobs.confidence_interval_cpu,
        knobs.pod_min_cpu,
        knobs.round_cpu,
    )
    memory = Recipe(
        (knobs.lower_memory_percentile, knobs.target_memory_percentile, knobs.upper_memory_percentile),
        1.0,
        knobs.safety_margin,
        knobs.confidence_interval_memory,
        knobs.pod_min_memory,
        knobs.round_memory,
    )
    return cpu, memory


class SizeBasis(NamedTuple):
    """The data that sizes are read from: histograms by resource, and when and how often cpu was sampled, by row."""

    cpu: Bank
    memory: Bank
    sampled: Columns

    def sizes(self, rows: IntArray, knobs: Knobs, sharing: int) -> tuple[Amounts, Amounts]:
        """Cpu and memory of many containers, in three rows each. `sharing` containers share a pod's minimum.

        The confidence of memory depends on the samples of cpu, as upstream.
        """
        cpu, memory = recipes(knobs)
        sampled = [self.sampled[name][rows] for name in ("first", "last", "samples")]
        return _sizes(self.cpu, rows, cpu, sampled, sharing), _sizes(self.memory, rows, memory, sampled, sharing)

    def size(self, row: int, knobs: Knobs, sharing: int) -> dict[str, list[int]]:
        """The same for one container, by resource; a resource that was never measured is absent."""
        sampled = [self.sampled[name][row].item() for name in ("first", "last", "samples")]
        found: dict[str, list[int]] = {}
        for resource, bank, recipe in zip(RESOURCES, (self.cpu, self.memory), recipes(knobs), strict=True):
            usage = bank.percentiles(row, recipe.percentiles)
            if usage[1]:
                found[resource] = [
                    round_up(amount, recipe.grain) for amount in _figures(usage, recipe, sampled, sharing)
                ]
        return found


def _sizes(bank: Bank, rows: IntArray, recipe: Recipe, sampled: Sequence[Any], sharing: int) -> Amounts:
    usage = bank.percentile(rows, np.array(recipe.percentiles)[:, None])
    return round_up(np.array(_figures(usage, recipe, sampled, sharing), np.int64), recipe.grain)


def _figures(usage: Iterable[Any], recipe: Recipe, sampled: Sequence[Any], sharing: int) -> tuple[Any, Any, Any]:
    first, last, samples = sampled
    sure = estimate.confidence(first, last, samples, recipe.interval)
    low, middle, high = (value * recipe.unit for value in usage)
    return estimate.bounds(low, middle, high, recipe.margin, sure, estimate.share(recipe.minimum, sharing))


@dataclass(frozen=True, slots=True)
class View:
    """Read-only access to the histograms of one target's containers."""

    known: SizeBasis
    rows: Mapping[str, int]

    def containers(self) -> tuple[str, ...]:
        return tuple(sorted(self.rows))

    def estimate(
        self,
        knobs: Knobs | Mapping[str, Knobs],
        containers: Sequence[str],
        resources: Mapping[str, Sequence[str]],
    ) -> tuple[Bounds, ...]:
        """What each of these containers should have, sorted by name; all of them share the pod's minimum.

        It has only resources that are controlled, by default both, and that were ever measured: missing data lowers
        no size.
        """
        together = set(containers)
        found: dict[str, dict[str, list[int]]] = {}
        for name in together.intersection(self.rows):
            each = knobs if isinstance(knobs, Knobs) else knobs[name]
            sizes = self.known.size(self.rows[name], each, len(together))
            if sizes:
                found[name] = sizes
        return listed(found, resources)


def listed(
    figures: Mapping[str, Mapping[str, Sequence[int]]], resources: Mapping[str, Sequence[str]]
) -> tuple[Bounds, ...]:
    """Lower bound, target and upper bound of each container as a recommendation, sorted by name."""
    return tuple(_bounds(name, figures[name], resources.get(name, RESOURCES)) for name in sorted(figures))


def _bounds(name: str, figures: Mapping[str, Sequence[int]], controlled: Sequence[str]) -> Bounds:
    kept = [resource for resource in figures if resource in controlled]
    lower, target, upper = ({resource: figures[resource][i] for resource in kept} for i in range(3))
    return Bounds(name, target, lower, upper, target)

"""Which container has which row: aggregates and instances, from their first observation until they are forgotten."""

from collections.abc import Container, Hashable
from math import inf

import numpy as np
import numpy.typing as npt

from hypot.core.usage.columns import NONE, Chains, Columns, ColumnType
from hypot.core.usage.histogram import Bank, check_half_life
from hypot.core.usage.layout import CPU_LAYOUT, MEMORY_LAYOUT, FloatArray, IntArray
from hypot.kinds.vpa.knobs import Knobs

AGGREGATE = {
    # The index of its knobs; NONE if the row is free.
    "kind": ColumnType(np.int32, NONE),
    "created": ColumnType(np.float64),
    "first": ColumnType(np.float64, inf),
    "last": ColumnType(np.float64, -inf),
    "samples": ColumnType(np.int64),
    "loaded": ColumnType(np.bool_),
    # Another aggregate of the same owner.
    "sibling": ColumnType(np.int32, NONE),
}
INSTANCE = {
    "aggregate": ColumnType(np.int32, NONE),
    "last_cpu": ColumnType(np.float64, -inf),
    "last_memory": ColumnType(np.float64, -inf),
    "window_end": ColumnType(np.float64, -inf),
    "memory_peak": ColumnType(np.float64),
    "oom_peak": ColumnType(np.float64),
    # Another instance of the same pod.
    "beside": ColumnType(np.int32, NONE),
}


class UsageRows:
    """Aggregates and instances by number, valid until they are forgotten.

    All containers of one name under one owner make up an aggregate; a container of one pod is an instance of it.
    """

    def __init__(self) -> None:
        # Rows of these three are allocated and freed together, so an aggregate has the same number in all of them.
        self.cpu, self.memory = Bank(CPU_LAYOUT), Bank(MEMORY_LAYOUT)
        self.aggregates = Columns(AGGREGATE)
        self.instances = Columns(INSTANCE)
        self._owners = Chains[Hashable](self.aggregates, "sibling")
        self._pods = Chains[str](self.instances, "beside")
        self._containers: list[str] = []
        self._kinds: dict[Knobs, int] = {}
        self._knobs: list[Knobs] = []
        self._intervals = np.zeros(0)

    def declare(self, owner: Hashable, container: str, knobs: Knobs, now: float) -> int:
        """The aggregate of these containers, created if necessary; changed knobs apply from now on."""
        check_half_life(knobs.cpu_half_life)
        check_half_life(knobs.memory_half_life)
        kind = self._kind_of(knobs)
        row = self._find(owner, container)
        if row == NONE:
            row = self._new(owner, container, knobs, now)
        elif self.aggregates["kind"][row] != kind:
            self.cpu.change_half_life(row, knobs.cpu_half_life, now)
            self.memory.change_half_life(row, knobs.memory_half_life, now)
        self.aggregates["kind"][row] = kind
        return row

    def instance(self, aggregate: int, pod: str) -> int:
        """The instance of this pod, created if necessary. `pod` is any text that identifies it, such as its uid."""
        for number in self._pods.rows(pod):
            if self.instances["aggregate"][number] == aggregate:
                return number
        number = self.instances.new()
        self.instances["aggregate"][number] = aggregate
        self._pods.put(pod, number)
        return number

    def aggregate(self, owner: Hashable, container: str) -> int:
        row = self._find(owner, container)
        if row == NONE:
            raise ValueError(f"nothing is known of container {container!r} of {owner!r}: declare it first")
        return row

    def knobs(self, aggregate: int) -> Knobs:
        return self._knobs[int(self.aggregates["kind"][aggregate])]

    def retain(self, pods: Container[str]) -> None:
        """Drop the instances of all other pods, which no longer exist; the usage they contributed stays."""
        for pod in [pod for pod in self._pods if pod not in pods]:
            for number in list(self._pods.rows(pod)):
                self._let_go(number)

    def forget(self, owner: Hashable) -> None:
        """Forget everything about an owner that no longer exists."""
        self._forget(list(self._owners.rows(owner)))

    def _find(self, owner: Hashable, container: str) -> int:
        return next((row for row in self._owners.rows(owner) if self._containers[row] == container), NONE)

    def _new(self, owner: Hashable, container: str, knobs: Knobs, now: float) -> int:
        row = self.cpu.new(knobs.cpu_half_life)
        self.memory.new(knobs.memory_half_life)
        self.aggregates.new()
        self.aggregates["created"][row] = now
        self._owners.put(owner, row)
        if row == len(self._containers):
            self._containers.append(container)
        self._containers[row] = container
        return row

    def _forget(self, rows: list[int]) -> None:
        for number in np.flatnonzero(np.isin(self._instances_aggregates(), rows)).tolist():
            self._let_go(number)
        for row in rows:
            self._owners.take(row)
            self.cpu.free(row)
            self.memory.free(row)
            self.aggregates.free(row)

    def _let_go(self, number: int) -> None:
        self._pods.take(number)
        self.instances.free(number)

    def _instances_aggregates(self) -> npt.NDArray[np.int32]:
        """The aggregate of each instance, by its number."""
        aggregates: npt.NDArray[np.int32] = self.instances["aggregate"][: len(self.instances)]
        return aggregates

    def _kind_of(self, knobs: Knobs) -> int:
        kind = self._kinds.get(knobs)
        if kind is None:
            kind = self._kinds[knobs] = len(self._knobs)
            self._knobs.append(knobs)
        return kind

    def _intervals_of(self, aggregates: IntArray) -> FloatArray:
        if len(self._intervals) != len(self._knobs):
            self._intervals = np.array([knobs.memory_interval for knobs in self._knobs])
        intervals: FloatArray = self._intervals[self.aggregates["kind"][aggregates]]
        return intervals

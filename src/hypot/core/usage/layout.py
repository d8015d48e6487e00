"""How the values of a histogram are divided into buckets."""

from math import ceil, isfinite, log
from typing import Self

import numpy as np
import numpy.typing as npt

from hypot.core.dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Buckets by their starts. Weights below epsilon count as 0. Histograms of the same layout can be merged.

    Create a layout with `exponential`, where each bucket is `ratio` times as wide as the one before, or with `linear`.
    """

    starts: FloatArray
    # Where each bucket ends. The last bucket has no end, so its start is used.
    ends: FloatArray
    epsilon: float
    size: float
    ratio: float

    @classmethod
    def exponential(cls, largest: float, first: float, ratio: float, epsilon: float) -> Self:
        if not (0 < largest < float("inf") and first > 0 and ratio > 1 and epsilon > 0 and isfinite(ratio)):
            raise ValueError(
                f"buckets up to {largest} from {first} by {ratio} with epsilon {epsilon} are invalid: "
                "largest, first and epsilon must be above 0, ratio above 1"
            )
        count = ceil(log(largest * (ratio - 1) / first + 1) / log(ratio)) + 1
        starts = [0.0, *(first * (ratio**bucket - 1) / (ratio - 1) for bucket in range(1, count))]
        return cls._of(starts, epsilon, first, ratio)

    @classmethod
    def linear(cls, largest: float, size: float, epsilon: float) -> Self:
        if not (0 < largest < float("inf") and size > 0 and epsilon > 0):
            raise ValueError(
                f"buckets up to {largest} of {size} with epsilon {epsilon} are invalid: each value must be above 0"
            )
        count = ceil(largest / size) + 1
        return cls._of([bucket * size for bucket in range(count)], epsilon, size, 1.0)

    @classmethod
    def _of(cls, starts: list[float], epsilon: float, size: float, ratio: float) -> Self:
        return cls(np.array(starts), np.array([*starts[1:], starts[-1]]), epsilon, size, ratio)

    def __len__(self) -> int:
        return len(self.starts)

    def buckets(self, values: npt.ArrayLike) -> IntArray:
        """The buckets of values. Negative values and NaN fall into the first bucket."""
        given = np.fmax(values, 0.0)
        if self.ratio == 1.0:
            steps = given / self.size
        else:
            steps = np.log(given * (self.ratio - 1) / self.size + 1) / np.log(self.ratio)
            steps = np.where(given < self.size, 0.0, steps)
        return np.minimum(steps, len(self) - 1).astype(np.intp)


# Changing these requires a new checkpoint version. Units are cores and bytes; the lightest sample weighs 0.1.
CPU_LAYOUT = Layout.exponential(1000.0, 0.01, 1.05, 0.0001)
MEMORY_LAYOUT = Layout.exponential(1e12, 1e7, 1.05, 0.0001)

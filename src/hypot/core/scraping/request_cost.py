"""What a request of each class costs: least squares over increments, without negative costs.

    cpu seconds = base * seconds + the sum of cost[class] * requests[class]

Of each increment only products are kept, added up with weights that halve in each half-life. A row begins with the
seconds; the requests of each class follow. Classes that always move together cannot be separated: they get one common
cost, and are marked as `shared`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from math import exp2, inf, sqrt
from typing import NamedTuple

from hypot.core.dataclass import dataclass

# Weights grow with time, until they are this many half-lives ahead; then all sums shrink.
HALF_LIVES_AHEAD = 32.0
# Added to the diagonal of products that were scaled to 1: no direction of the data counts as exactly nothing.
RIDGE = 1e-6
SMALL_RIDGE = 1e-10
# The share of a column in directions without data, from which it cannot be separated, and which of two it shares.
UNSEEN, LINKED = 0.05, 0.01
# A column whose squares add up to less has no data any more.
EMPTY = 1e-100
# A cost is known if its standard error is below this share of it, or of the mean cost.
KNOWN_WITHIN = 0.25
# An idle pod is known within this many cores.
LEAST_IDLE = 0.01
# Fewer observations say nothing: this many, and some for each class.
LEAST_OBSERVATIONS, LEAST_PER_COLUMN = 10.0, 2.0

Matrix = list[list[float]]


@dataclass(slots=True)
class CostSums:
    """Sums of products. `at` is in seconds and may go back a little."""

    half_life: float
    reference: float | None = None
    rows: float = 0.0
    cpu: float = 0.0
    cpu_squares: float = 0.0
    columns: list[float] = field(default_factory=list)
    with_cpu: list[float] = field(default_factory=list)
    # The products of two columns: row `i` has those with columns 0 to `i`.
    products: Matrix = field(default_factory=list)

    def add(self, at: float, row: Sequence[float], cpu: float) -> None:
        """Take one increment: its seconds, its requests by class, and its cpu seconds. Later rows may be longer."""
        weight = self._weight(at)
        for size in range(len(self.columns), len(row)):
            self.columns.append(0.0)
            self.with_cpu.append(0.0)
            self.products.append([0.0] * (size + 1))
        self.rows += weight
        self.cpu += weight * cpu
        self.cpu_squares += weight * cpu * cpu
        for i, value in enumerate(row):
            if value:
                weighted, products = weight * value, self.products[i]
                self.columns[i] += weighted
                self.with_cpu[i] += weighted * cpu
                for j in range(i + 1):
                    products[j] += weighted * row[j]

    def _weight(self, at: float) -> float:
        if self.reference is None:
            self.reference = at
        if at > self.reference + HALF_LIVES_AHEAD * self.half_life:
            self._shrink(exp2((self.reference - at) / self.half_life))
            self.reference = at
        return exp2((at - self.reference) / self.half_life)

    def _shrink(self, factor: float) -> None:
        self.rows, self.cpu, self.cpu_squares = self.rows * factor, self.cpu * factor, self.cpu_squares * factor
        self.columns = [factor * each for each in self.columns]
        self.with_cpu = [factor * each for each in self.with_cpu]
        self.products = [[factor * each for each in row] for row in self.products]

    def observations(self, now: float) -> float:
        """How many rows count, each with its weight of now."""
        return 0.0 if self.reference is None else self.rows * exp2((self.reference - now) / self.half_life)


class CostFit(NamedTuple):
    """The costs that fit best. Column 0 is a second of a pod, the others are a request of each class."""

    costs: tuple[float, ...] = ()
    # Standard errors; infinite for a column without data.
    errors: tuple[float, ...] = ()
    # Whether a column always moved together with others.
    shared: tuple[bool, ...] = ()
    # How many requests count of each class, with their weights.
    requests: tuple[float, ...] = ()
    observations: float = 0.0
    # The share of the variance of cpu that the costs explain.
    explained: float = 0.0
    cpu_per_row: float = 0.0
    # For `leverage`: the scale of each column, 0 without data, and the inverse of the scaled products.
    scales: tuple[float, ...] = ()
    inverse: Sequence[Sequence[float]] = ()

    @property
    def mean(self) -> float:
        """The cost of a request of the mix."""
        return _mean(self.costs, self.requests, range(1, len(self.costs)))

    @property
    def suffices(self) -> bool:
        """Whether there are enough observations."""
        return self.observations >= LEAST_OBSERVATIONS + LEAST_PER_COLUMN * len(self.costs)

    def knows(self, column: int) -> bool:
        """Whether the cost of this column is exact enough to be shown."""
        least = KNOWN_WITHIN * max(self.costs[column], self.mean)
        return self.suffices and least > 0 and self.errors[column] <= least

    @property
    def knows_idle(self) -> bool:
        """Whether the cost of a second without requests is exact enough to be shown."""
        if not self.suffices or not self.costs:
            return False
        return self.errors[0] <= max(KNOWN_WITHIN * self.costs[0], LEAST_IDLE)

    def weights(self) -> tuple[float | None, ...]:
        """The cost of each class relative to the mean of the known ones; None for those that are not known.

        A class without a weight counts once. So weights keep the sum of the mix that they were learned from.
        """
        known = [i for i in range(1, len(self.costs)) if self.knows(i)]
        mean = _mean(self.costs, self.requests, known)
        return tuple([self.costs[i] / mean if mean > 0 and i in known else None for i in range(1, len(self.costs))])

    def expected(self, row: Sequence[float]) -> float:
        """The cpu seconds of a row by these costs."""
        return sum([cost * value for cost, value in zip(self.costs, row, strict=False)])

    def leverage(self, row: Sequence[float]) -> float:
        """How new the mix of a row is, whatever its size: 1 if all observations say as much about it as itself."""
        expected = self.expected(row)
        if expected <= 0 or any(value and not scale for value, scale in _padded(row, self.scales)):
            return inf
        size = self.cpu_per_row / expected
        scaled = [size * value / scale if scale else 0.0 for value, scale in _padded(row, self.scales)]
        products = zip(scaled, self.inverse, strict=True)
        return sum([a * sum([b * c for b, c in zip(scaled, line, strict=True)]) for a, line in products if a])


def _padded(row: Sequence[float], scales: Sequence[float]) -> Iterable[tuple[float, float]]:
    size = max(len(row), len(scales))
    return zip([*row, *[0.0] * (size - len(row))], [*scales, *[0.0] * (size - len(scales))], strict=True)


def _mean(costs: Sequence[float], requests: Sequence[float], columns: Iterable[int]) -> float:
    chosen = list(columns)
    total = sum([requests[i] for i in chosen])
    return sum([costs[i] * requests[i] for i in chosen]) / total if total > 0 else 0.0


def fitted(sums: CostSums, now: float) -> CostFit:
    """The costs that fit the sums best."""
    observations, size = sums.observations(now), len(sums.columns)
    if sums.reference is None or observations <= 0 or size == 0:
        return CostFit()
    aged = observations / sums.rows
    scales = [sqrt(each) if (each := aged * sums.products[i][i]) > EMPTY else 0.0 for i in range(size)]
    used = [i for i in range(size) if scales[i]]
    gram = _symmetric(sums.products, used, [sqrt(aged) / scales[i] for i in used])
    inverse = inverted(gram, RIDGE)
    members = [sorted(used[i] for i in group) for group in _groups(inverse)]
    shared = [False] * size
    for group in members:
        for i in group:
            shared[i] = len(group) > 1
    # What a pod uses without requests cannot be separated from requests that never vary: then all counts as theirs.
    parts = [[i for i in group if i or len(group) == 1] for group in members]
    costs, errors, left = _fit_parts(sums, aged, parts, observations)
    about_mean = aged * sums.cpu_squares - (aged * sums.cpu) ** 2 / observations
    whole = [[0.0] * size for _ in range(size)]
    for a, i in enumerate(used):
        for b, j in enumerate(used):
            whole[i][j] = inverse[a][b]
    return CostFit(
        tuple(costs),
        tuple(errors),
        tuple(shared),
        tuple(aged * each for each in sums.columns),
        observations,
        _explained(left, about_mean, aged * sums.cpu_squares),
        sums.cpu / sums.rows,
        tuple(scales),
        whole,
    )


def _fit_parts(
    sums: CostSums, aged: float, parts: Sequence[Sequence[int]], observations: float
) -> tuple[list[float], list[float], float]:
    """The cost and the error of each column, where the columns of a part have one; and what is left unexplained."""
    size = len(sums.columns)
    products = [[aged * _product(sums.products, one, other) for other in parts] for one in parts]
    with_cpu = [aged * sum([sums.with_cpu[i] for i in part]) for part in parts]
    scales = [sqrt(products[k][k]) for k in range(len(parts))]
    gram = _symmetric(products, range(len(parts)), [1.0 / scale for scale in scales])
    right = [value / scale for value, scale in zip(with_cpu, scales, strict=True)]
    found = nonnegative(gram, right)
    explained = sum([x * (2.0 * r - _dot(line, found)) for x, r, line in zip(found, right, gram, strict=True)])
    left = max(aged * sums.cpu_squares - explained, 0.0)
    free = max(observations - len(parts), 1.0)
    costs, errors = [0.0] * size, [inf] * size
    inverse = inverted(gram, SMALL_RIDGE)
    for k, part in enumerate(parts):
        for i in part:
            costs[i] = found[k] / scales[k]
            errors[i] = sqrt(left / free * max(inverse[k][k], 0.0)) / scales[k]
    return costs, errors, left


def _product(products: Matrix, one: Sequence[int], other: Sequence[int]) -> float:
    return sum([products[max(i, j)][min(i, j)] for i in one for j in other])


def _symmetric(products: Matrix, used: Sequence[int], factors: Sequence[float]) -> Matrix:
    """The products of these columns, each column times its factor."""
    pairs = list(zip(used, factors, strict=True))
    return [[products[max(i, j)][min(i, j)] * f * g for j, g in pairs] for i, f in pairs]


def _explained(left: float, about_mean: float, squares: float) -> float:
    if about_mean <= 1e-9 * squares:
        # Cpu never varied, so there is nothing to explain.
        return 1.0 if squares > 0 and left <= 1e-6 * squares else 0.0
    return max(0.0, 1.0 - left / about_mean)


def _groups(inverse: Matrix) -> list[list[int]]:
    """Which columns cannot be separated: those that share a direction in which there is no data.

    The inverse of products with a ridge is large in exactly these directions.
    """
    left, found = list(range(len(inverse))), []
    while left:
        group, new = [left[0]], [left.pop(0)]
        while new:
            i = new.pop()
            if RIDGE * inverse[i][i] < UNSEEN:
                continue
            linked = [j for j in left if abs(RIDGE * inverse[i][j]) > LINKED and RIDGE * inverse[j][j] >= UNSEEN]
            left = [j for j in left if j not in linked]
            group += linked
            new += linked
        found.append(group)
    return found


def inverted(gram: Matrix, ridge: float) -> Matrix:
    """The inverse of a positive definite matrix with a ridge, by Gauss and Jordan, in place of a copy."""
    work = [[value + ridge if i == j else value for j, value in enumerate(line)] for i, line in enumerate(gram)]
    for k in range(len(work)):
        pivot = 1.0 / max(work[k][k], ridge / 2)
        line = work[k] = [value * pivot for value in work[k]]
        line[k] = pivot
        for i, each in enumerate(work):
            if i != k and (factor := each[k]):
                each[k] = 0.0
                work[i] = [value - factor * other for value, other in zip(each, line, strict=True)]
    return work


def nonnegative(gram: Matrix, right: Sequence[float]) -> list[float]:
    """The least squares solution without negative entries, by Lawson and Hanson."""
    size = len(right)
    free = [True] * size
    # Most often no entry is negative.
    found = _without_negative(gram, right, [0.0] * size, free)
    least = 1e-12 * max([abs(value) for value in right], default=0.0)
    for _ in range(3 * size):
        slopes = [-inf if free[i] else right[i] - _dot(gram[i], found) for i in range(size)]
        best = max(range(size), key=slopes.__getitem__)
        if free[best] or slopes[best] <= least:
            break
        free[best] = True
        found = _without_negative(gram, right, found, free)
    return found


def _without_negative(gram: Matrix, right: Sequence[float], found: list[float], free: list[bool]) -> list[float]:
    """The solution for the free entries; those that would become negative stop being free."""
    while chosen := [i for i, is_free in enumerate(free) if is_free]:
        solved = _solved(gram, right, chosen)
        if min(solved) > 0:
            whole = [0.0] * len(found)
            for i, value in zip(chosen, solved, strict=True):
                whole[i] = value
            return whole
        pairs = list(zip(chosen, solved, strict=True))
        steps = {i: found[i] / (found[i] - value) if found[i] > value else 0.0 for i, value in pairs if value <= 0}
        first = min(steps, key=steps.__getitem__)
        for i, value in pairs:
            found[i] = max(found[i] + steps[first] * (value - found[i]), 0.0)
        found[first], free[first] = 0.0, False
    return [0.0] * len(found)


def _solved(gram: Matrix, right: Sequence[float], chosen: Sequence[int]) -> list[float]:
    """Solve the equations of the chosen entries, by Cholesky."""
    lower: Matrix = []
    forward: list[float] = []
    for k, i in enumerate(chosen):
        line: list[float] = []
        for m in range(k):
            line.append((gram[i][chosen[m]] - _dot(line, lower[m])) / lower[m][m])
        line.append(sqrt(max(gram[i][i] + SMALL_RIDGE - _dot(line, line), SMALL_RIDGE / 2)))
        forward.append((right[i] - _dot(line, forward)) / line[k])
        lower.append(line)
    for k in reversed(range(len(chosen))):
        above = sum([lower[m][k] * forward[m] for m in range(k + 1, len(chosen))])
        forward[k] = (forward[k] - above) / lower[k][k]
    return forward


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    """The products of the entries that both have."""
    return sum([a * b for a, b in zip(one, other, strict=False)])

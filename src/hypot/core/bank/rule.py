"""What an autoscaler goes by: its settings, what it observed now, and what it has learned. Plain numbers throughout."""

from math import inf
from typing import Any, NamedTuple

from hypot.core.bank.bank import RuleBank, new_bank
from hypot.core.bank.forecasts import FORECASTS, KEPT
from hypot.core.bank.lateness import USUAL_KAPPA
from hypot.core.bank.season import DAY, WEEK, Season, new_season

UNKNOWN = -1.0
# How many past counts of ready pods are kept.
COUNTS_KEPT = 16
# How long a pod takes until it serves, until that was measured; and how long a change of size takes. In seconds.
USUAL_START = 60.0
USUAL_RESIZE = 15.0
# How long a pod that is removed still costs, in seconds.
STOP = 30.0
# What a byte of memory costs, in cores: nine gigabytes cost as much as a core.
BYTE_PRICE = 0.11e-9
DAY_LENGTH = 86400.0


class AutoscalerRule(NamedTuple):
    """The settings. Times are seconds, sizes millicores."""

    step: float
    counts: bool
    sizes: bool
    least_pods: int
    most_pods: int
    least_cpu: int
    most_cpu: int
    grain: int
    # What a late request costs, in multiples of its core-time; and when it is late.
    late_price: float
    late_after: float
    # How long a pod that is removed still costs.
    stop: float
    # The length of a day, which is shorter in a test.
    day: float


class ObservedLoad(NamedTuple):
    """One observation. Amounts are means of the measured pods, in cores; times are seconds."""

    # Whether there is a sample of any pod.
    known: bool
    # When the window of the samples ended, and its length.
    at: float
    window: float
    replicas: int
    ready: int
    use: float
    cap: float
    request: float
    # Requests per second and late ones of each pod, UNKNOWN without such a metric.
    rate: float
    late: float
    # The size that pods should have now: request and limit of the largest pod in millicores, and their ratio.
    cpu: int
    ratio: float
    # The price of a pod's memory, in cores; and how full it is, as a share of its limit: 0 if that is not known.
    memory_price: float
    filled: float
    # When pods last restarted for a new size; -inf: never.
    restarted: float


class LearnedLoad(NamedTuple):
    """What was learned of a workload. Columns with one element are changed in place."""

    # A ring of the demand in the last steps, how many steps it has, and the place of the newest.
    demand: Any
    known: Any
    newest: Any
    day: Season
    week: Season
    # The largest jump of the demand within the lead of counts and of sizes, and the largest demand; all fade.
    jumps: Any
    peak: Any
    kappa: Any
    # The core-seconds of a request, and the cores that a pod uses without any; and the means that both follow from:
    # rate, use, rate squared, rate times use.
    work: Any
    base: Any
    means: Any
    # How long pods take to serve; the last order, how many pods have served since, since when some that it asks for do
    # not serve, and whether that is because they were just ordered.
    start: Any
    ordered: Any
    served: Any
    missing_since: Any
    starting: Any
    # The ready pods of the last steps, with the time of each.
    ready: Any
    ready_at: Any
    ready_newest: Any
    # The most that a pod has used, and what it can use if that is less than it may; 0 if not known. Then the use at
    # which it stays, for how many steps, and by which share the demand usually changes in a step.
    most_used: Any
    reach: Any
    level: Any
    flat: Any
    changes: Any
    # The means of use, of how full the memory is, of use squared, and of use times that.
    memory: Any
    # How many steps passed since pods were at their cap or changed their size; and the size then.
    calm: Any
    sized: Any
    # When the last and the first observation was made, and until when nothing is released.
    last: Any
    first: Any
    keeps_until: Any


class ShapeProposal(NamedTuple):
    """What was decided last, and what it was decided from."""

    replicas: Any
    cpu: Any
    # The demand now, and what the deciding rules plan for: the count and the size.
    demand: Any
    planned: Any
    # What pods should use at most, in cores; and the count and millicores before bounds and holds.
    use: Any
    asked: Any
    # The fewest pods that the use which was seen so far allows.
    fewest: Any
    # Whether pods are at their cap, and whether there is nothing to go by.
    saturated: Any
    blind: Any


class AutoscalerPast(NamedTuple):
    """Everything that must survive until the next decision."""

    learned: LearnedLoad
    counts: RuleBank
    sizes: RuleBank
    proposal: ShapeProposal
    # Room for the forecasts of a step.
    made: Any


def nothing_learned() -> AutoscalerPast:
    learned = LearnedLoad(
        demand=[0.0] * KEPT,
        known=[0],
        newest=[0],
        day=new_season(DAY),
        week=new_season(WEEK),
        jumps=[1.0, 1.0],
        peak=[0.0],
        kappa=[USUAL_KAPPA],
        work=[UNKNOWN],
        base=[0.0],
        means=[0.0, 0.0, 0.0, 0.0],
        start=[USUAL_START],
        ordered=[0],
        served=[0],
        missing_since=[inf],
        starting=[0],
        ready=[0] * COUNTS_KEPT,
        ready_at=[-inf] * COUNTS_KEPT,
        ready_newest=[0],
        most_used=[0.0],
        reach=[0.0],
        level=[0.0],
        flat=[0],
        changes=[0.0],
        memory=[0.0, 0.0, 0.0, 0.0],
        calm=[0],
        sized=[0],
        last=[-inf],
        first=[-inf],
        keeps_until=[-inf],
    )
    proposal = ShapeProposal([0], [0], [UNKNOWN], [UNKNOWN, UNKNOWN], [UNKNOWN], [0, 0], [1], [0], [0])
    return AutoscalerPast(learned, new_bank(), new_bank(), proposal, [0.0] * FORECASTS)

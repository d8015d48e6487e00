"""A workload in plain numbers for tests of `core.bank`: pods that serve what is asked for, and their autoscaler."""

from math import inf

from hypot.core.bank.decide import advise
from hypot.core.bank.rule import AutoscalerPast, AutoscalerRule, ObservedLoad, nothing_learned

EPOCH = 1_700_000_000.0
# How late samples are, and the length of their window, in seconds.
LAG, WINDOW = 15.0, 30.0
# A usual rule: on both axes, from half a core to four cores.
USUAL = AutoscalerRule(
    step=15.0,
    counts=True,
    sizes=True,
    least_pods=2,
    most_pods=50,
    least_cpu=500,
    most_cpu=4000,
    grain=50,
    late_price=10.0,
    late_after=0.25,
    stop=30.0,
    day=86400.0,
)


class Workload:
    """Pods that share the demand, and what is decided for them, step by step. A change has an effect at once."""

    def __init__(
        self, rule: AutoscalerRule = USUAL, replicas: int = 2, cpu: int = 1000, ratio: float = 1.2, work: float = 0.0
    ) -> None:
        self.rule, self.replicas, self.cpu, self.ratio, self.work = rule, replicas, cpu, ratio, work
        self.past, self.now = nothing_learned(), EPOCH
        # The count and size of each step, and whether it changed anything.
        self.course: list[tuple[int, int]] = []

    @property
    def capacity(self) -> int:
        """In millicores of all pods together."""
        return self.replicas * self.cpu

    @property
    def changes(self) -> list[int]:
        """The steps that changed something."""
        course = self.course
        return [i for i in range(1, len(course)) if course[i] != course[i - 1]]

    def observed(self, demand: float, *, known: bool = True) -> ObservedLoad:
        """What pods use of this demand in cores: no more than they may."""
        request = self.cpu / 1000.0
        cap = request * self.ratio
        uses = [min(cap, demand / pods) for pods in self.pods_then()]
        use = sum(uses) / len(uses)
        rate = use / self.work if self.work > 0.0 else -1.0
        return ObservedLoad(
            known=known,
            at=self.now - LAG,
            window=WINDOW,
            replicas=self.replicas,
            ready=self.replicas,
            use=use if known else 0.0,
            cap=cap,
            request=request,
            rate=rate,
            late=-1.0,
            cpu=self.cpu,
            ratio=self.ratio,
            memory_price=0.118,
            filled=self.filled(use),
            restarted=-inf,
        )

    def filled(self, _use: float) -> float:
        """How full the memory of a pod is at this use; not known here."""
        return 0.0

    def pods_then(self) -> list[int]:
        """How many pods there were every few seconds in the window of the samples."""
        counts = [self.replicas if not self.course else self.course[0][0], *[count for count, _ in self.course]]
        backs = [int((LAG + after) // self.rule.step) for after in range(2, int(WINDOW), 5)]
        return [counts[-1 - min(back, len(counts) - 1)] for back in backs]

    def step(self, demand: float, *, known: bool = True) -> None:
        """Observe, decide, and put it into effect."""
        advise(self.rule, self.past, self.observed(demand, known=known), self.now)
        self.replicas, self.cpu = self.past.proposal.replicas[0], self.past.proposal.cpu[0]
        self.course.append((self.replicas, self.cpu))
        self.now += self.rule.step

    def steps(self, demand: float, count: int) -> None:
        for _ in range(count):
            self.step(demand)


def copied(past: AutoscalerPast) -> AutoscalerPast:
    """The same numbers in columns of their own."""
    return _copied(past)


def _copied(given):
    return type(given)(*[_copied(one) if isinstance(one, tuple) else list(one) for one in given])

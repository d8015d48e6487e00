"""The scores of a run by name: unit, meaning and which direction is better. Tables, JSON and docs use it."""

from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal

Better = Literal["low", "high", ""]
# The families of scores, each by its first score.
FAMILIES = {
    "cost": "Cost",
    "late": "Quality",
    "under": "Elasticity",
    "slack": "Waste and harm",
    "replica_changes": "Effort",
    "shape": "Shape",
    "price": "All in one",
}


def _score(unit: str, better: Better, why: str, digits: int = 2) -> Any:
    return field(default=None, metadata={"unit": unit, "better": better, "why": why, "digits": digits})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of one run. None: there was nothing to divide by, or nothing to compare with."""

    # Cost
    cost: float | None = _score("$", "low", "Requested cpu and memory at their prices, including pods that start.")
    cpu_hours: float | None = _score("core-h", "low", "Requested cpu.", 1)
    memory_hours: float | None = _score("GB-h", "low", "Requested memory.", 1)
    node_cost: float | None = _score("$", "low", "The nodes on which these pods run.")
    lower_bound: float | None = _score("$", "", "The cheapest pods, tick by tick, that serve as much in time.")
    to_lower_bound: float | None = _score("x", "low", "Cost over the lower bound.")
    to_static: float | None = _score("x", "low", "Cost over the cost of the static peak.")
    # Quality
    late: float | None = _score("%", "low", "Requests that were answered after the deadline.", 3)
    late_minutes: float | None = _score("min", "low", "Time with more late and lost requests than the SLO allows.", 1)
    lost: float | None = _score("%", "low", "Requests that timed out, or died with their pod.", 3)
    budget: float | None = _score("x", "low", "Late and lost requests over what the SLO allows.")
    p99: float | None = _score("ms", "low", "99th percentile of latency over all requests.", 0)
    worst_p99: float | None = _score("ms", "low", "The worst 5-minute mean of the 99th percentile.", 0)
    recovery: float | None = _score("s", "low", "Median time from a violation of the SLO to its end.", 0)
    longest_recovery: float | None = _score("s", "low", "The longest such time.", 0)
    # Elasticity
    under: float | None = _score("%", "low", "Missing supply, as a share of the demand.")
    over: float | None = _score("%", "low", "Supply beyond the demand, as a share of the demand.", 1)
    over_supply: float | None = _score("%", "low", "Supply beyond the demand, as a share of the supply.", 1)
    under_time: float | None = _score("%", "low", "Time with too little supply.")
    over_time: float | None = _score("%", "low", "Time with too much supply.", 1)
    instability: float | None = _score("%", "low", "5-minute steps in which supply and demand moved differently.", 1)
    deviation: float | None = _score("", "low", "Under, over supply, both times and instability in one figure.", 1)
    speedup: float | None = _score("x", "high", "How much better under, over and both times are than HPA 70 %.")
    # Waste and harm
    slack: float | None = _score("%", "low", "Requested cpu that is not used.", 1)
    slack_memory: float | None = _score("%", "low", "Requested memory that is not used.", 1)
    idle_cores: float | None = _score("cores", "low", "Requested cpu that is not used, in cores on average.")
    idle_memory: float | None = _score("GiB", "low", "Requested memory that is not used, on average.")
    throttled: float | None = _score("%", "low", "Pod time at the cpu cap.")
    ooms: float | None = _score("/pod-day", "low", "Out-of-memory kills.", 3)
    oom_bad: bool | float | None = _score("", "low", "More than one OOM kill per day for ten pods.")
    efficiency: float | None = _score("%", "high", "Arriving work, as a share of the paid cpu.", 1)
    # Effort
    replica_changes: float | None = _score("/day", "low", "Changes of replicas.", 1)
    size_changes: float | None = _score("/day", "low", "Changes of the pod size.", 1)
    restarts: float | None = _score("/day", "low", "Pods that restarted for a change of size.", 1)
    disruption: float | None = _score("pod-s", "low", "Pod time that is paid for and does not serve.", 0)
    reversals: float | None = _score("/day", "low", "Changes of direction within 30 minutes.", 1)
    path: float | None = _score("x", "low", "How far supply moved, over how far demand moved.")
    # Shape
    shape: float | None = _score("", "low", "Waste by the shape alone: mean log of total over least total.", 3)
    horizontal: float | None = _score("", "", "The share of the growth that went to replicas.")
    paradox: int | None = _score("", "low", "Changes that moved total and size in opposite directions.", 0)
    stuck: float | None = _score("h", "low", "Time below 20 % usage at the end, though a smaller shape exists.")
    starving: float | None = _score("s", "low", "The longest time at the cap without any action.", 0)
    overshoot: float | None = _score("x", "low", "Raised supply over the most demand of 10 minutes, at worst.")
    peak_pods: int | None = _score("", "", "The most pods at once.", 0)
    # All in one
    price: float | None = _score("$", "low", "Cost, late and lost requests, and restarts at the world's prices.")

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def families() -> dict[str, tuple["Field[Any]", ...]]:
    """The scores of each family, in order."""
    found: dict[str, list[Field[Any]]] = {}
    family = ""
    for score in fields(Scores):
        family = FAMILIES.get(score.name, family)
        found.setdefault(family, []).append(score)
    return {name: tuple(scores) for name, scores in found.items()}

"""What must be remembered about sizes: resizes that wait, changes of the count, and pods at their cap."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from hypot.kinds.vpa_parts import amounts_of

Amounts = Mapping[str, Mapping[str, int]]


class Recount(NamedTuple):
    """The last change of the number of replicas, when it was seen, and the sizes that were recommended before it."""

    at: float
    before: int
    after: int
    advice: Amounts

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Vertical:
    """The past of one autoscaler's sizes."""

    # When the workload last got more of anything.
    last_up: float | None = None
    # At the last look: how many replicas there were, and which sizes were recommended.
    replicas: int | None = None
    advice: Amounts = field(default_factory=dict, hash=False)
    recount: Recount | None = field(default=None, hash=False)
    # `container/resource` -> the time of the first sample of those that are all at the cap.
    hot: Mapping[str, float] = field(default_factory=dict, hash=False)
    # Pod uid -> when its resize was first seen to wait.
    stuck: Mapping[str, float] = field(default_factory=dict, hash=False)
    # Pod uid -> what no node had room for.
    infeasible: Mapping[str, Amounts] = field(default_factory=dict, hash=False)
    # When a pod was last evicted so that it comes back with another size.
    evicted: float | None = None

    def counted(self, replicas: int, at: float) -> "Vertical":
        """As it is at this look: whoever changed the count, what was recommended before was learnt at another.

        Nothing is learnt at zero, so that is no count.
        """
        if replicas in {0, self.replicas}:
            return self
        if self.replicas is None:
            return replace(self, replicas=replicas)
        recount = Recount(at, self.replicas, replicas, self.advice)
        return replace(self, replicas=replicas, recount=recount)

    def learnt(self, advice: Amounts) -> "Vertical":
        """With what is recommended now; of a container that is not spoken of, the last word stays."""
        known = {**self.advice, **advice}
        return self if known == self.advice else replace(self, advice=known)

    @classmethod
    def from_status(cls, status: Mapping[str, Any], at: float | None) -> Self:
        """What an Hvpa's status remembers: the last scaling, and the sizes that were recommended before it."""
        advice = _written_sizes(status.get("lastProcessedRecommendations"))
        scaling = status.get("lastScaling")
        counts = scaling.get("hpaStatus") if isinstance(scaling, Mapping) else None
        if at is None or not isinstance(counts, Mapping):
            return cls(advice=advice)
        before, after = counts.get("currentReplicas"), counts.get("desiredReplicas")
        if type(before) is not int or type(after) is not int or before == after or before < 1:
            return cls(advice=advice)
        return cls(replicas=after, advice=advice, recount=Recount(at, before, after, advice))

    def to_dict(self) -> dict[str, Any]:
        return {
            "lastUp": self.last_up,
            "replicas": self.replicas,
            "advice": _plain(self.advice),
            "recount": None if self.recount is None else self.recount.to_dict(),
            "hot": dict(self.hot),
            "stuck": dict(self.stuck),
            "infeasible": {uid: _plain(amounts) for uid, amounts in self.infeasible.items()},
            **({} if self.evicted is None else {"evicted": self.evicted}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        recount = data.get("recount")
        return cls(
            last_up=data.get("lastUp"),
            replicas=data.get("replicas"),
            advice=dict(data.get("advice") or {}),
            recount=None if recount is None else Recount(**recount),
            hot=dict(data.get("hot") or {}),
            stuck=dict(data.get("stuck") or {}),
            infeasible=dict(data.get("infeasible") or {}),
            evicted=data.get("evicted"),
        )


NO_PAST = Vertical()


def _written_sizes(data: Any) -> dict[str, dict[str, int]]:
    """Requests by container, as a status writes them; what cannot be read is left out."""
    sizes = data.get("vpaStatus") if isinstance(data, Mapping) else None
    listed = sizes.get("containerResources") if isinstance(sizes, Mapping) else None
    found: dict[str, dict[str, int]] = {}
    for each in listed if isinstance(listed, list) else ():
        resources = each.get("resources") if isinstance(each, Mapping) else None
        if isinstance(resources, Mapping):
            found[str(each.get("containerName"))] = amounts_of(resources.get("requests"))
    return found


def _plain(amounts: Amounts) -> dict[str, dict[str, int]]:
    return {container: dict(each) for container, each in amounts.items()}

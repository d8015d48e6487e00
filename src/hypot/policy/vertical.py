"""What must be remembered about sizes: resizes that wait, changes of the count, and pods at their cap."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

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

    def to_dict(self) -> dict[str, Any]:
        return {
            "lastUp": self.last_up,
            "replicas": self.replicas,
            "advice": _plain(self.advice),
            "recount": None if self.recount is None else self.recount.to_dict(),
            "hot": dict(self.hot),
            "stuck": dict(self.stuck),
            "infeasible": {uid: _plain(amounts) for uid, amounts in self.infeasible.items()},
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
        )


NO_PAST = Vertical()


def _plain(amounts: Amounts) -> dict[str, dict[str, int]]:
    return {container: dict(each) for container, each in amounts.items()}

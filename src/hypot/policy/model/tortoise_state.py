"""What a Tortoise keeps from one decision to the next, beyond what every autoscaler keeps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import isfinite
from typing import Any, Self

from hypot.core.dataclass import dataclass
from hypot.kinds.hvpa.fields import MOST_REPLICAS
from hypot.kinds.tortoise.status import PHASES
from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.model.size import Place

PERCENT = 100


def key_of(place: Place) -> str:
    return "/".join(place)


@dataclass(frozen=True, slots=True)
class TortoiseState:
    """What it learned, its phase, and what its HPA should have."""

    # One for each place that is scaled by replicas, at least one; the last ones stay if none is.
    learned: tuple[Learned, ...]
    phase: str = ""
    # `container/resource` -> since when it is scaled by replicas and observed.
    since: Mapping[str, float] = field(default_factory=dict, hash=False)
    # `container/resource` -> the target utilization in percent.
    targets: Mapping[str, int] = field(default_factory=dict, hash=False)
    # When the targets were last computed, and the highest average utilization of each since then, in percent.
    retargeted: float | None = None
    busiest: Mapping[str, float] = field(default_factory=dict, hash=False)
    # The minimum of the HPA without a planned one, from which an emergency steps back.
    low: int = 0
    # The maximum that holds without an HPA, because hypot decides the count; 0 if there is none.
    high: int = 0
    # The minimum that the HPA got because it is planned; 0 if none is.
    planned: int = 0
    # Since when pods at the preferred count need more than they have.
    short_since: float | None = None

    def scales(self, places: Iterable[Place], at: float) -> "TortoiseState":
        """With these places, and no others, scaled by replicas."""
        keys = [key_of(place) for place in places]
        if list(self.since) == keys and set(self.targets).issubset(keys):
            return self
        began = {each.place: each.since for each in self.learned}
        since = {key: self.since.get(key, began.get(key, at)) for key in keys}
        targets = {key: percent for key, percent in self.targets.items() if key in since}
        return replace(self, since=since, targets=targets)

    def learned_in(self, place: str) -> Learned | None:
        """What was learned about this place."""
        return next((each for each in self.learned if each.place == place), None)

    def learns(self, layout: SlotLayout, places: Iterable[Place], at: float) -> "TortoiseState":
        """With a table of these slots for each of these places, and no others; that of a new place begins now."""
        keys = [key_of(place) for place in places]
        if [(each.place, each.layout) for each in self.learned] == [(key, layout) for key in keys]:
            return self
        known = {
            each.place: each if each.layout == layout else each.relaid(layout, at)
            for each in self.learned
            if each.place in keys
        }
        learned = tuple([known.get(key) or Learned.begun(layout, key, at) for key in keys])
        since = {key: began for key, began in self.since.items() if key in known}
        return replace(self, learned=learned, since=since)

    def taught(self, histories: Sequence[Learned]) -> "TortoiseState":
        """With what recorded usage says about the time before it began to observe.

        A place need not be observed for a week if its history has enough data.
        """
        known = {each.place: each for each in histories}
        learned = tuple([each.after(known[each.place]) if each.place in known else each for each in self.learned])
        enough = {place: history.since for place, history in known.items() if history.is_enough()}
        since = {key: min(at, enough.get(key, at)) for key, at in self.since.items()}
        return replace(self, learned=learned, since=since)

    def until(self, now: float) -> "TortoiseState":
        """Without times in the future. Slots stay: they are of the clock that was observed."""
        since = {key: min(at, now) for key, at in self.since.items()}
        retargeted = None if self.retargeted is None else min(self.retargeted, now)
        short_since = None if self.short_since is None else min(self.short_since, now)
        return replace(self, since=since, retargeted=retargeted, short_since=short_since)

    @property
    def newest(self) -> float:
        return max(self.retargeted or 0.0, *self.since.values(), 0.0)

    def essence(self) -> tuple[Any, ...]:
        """What must not be lost: all but the slot in progress, and what was observed since targets were computed."""
        slots = [(each.layout, each.place, each.since, each.codes, each.left_out) for each in self.learned]
        return slots, self.phase, self.since, self.targets, self.retargeted, self.low, self.high, self.planned

    def to_dict(self) -> dict[str, Any]:
        return {
            "learned": self.learned[0].to_dict(),
            **({"alsoLearned": [each.to_dict() for each in self.learned[1:]]} if self.learned[1:] else {}),
            "phase": self.phase,
            "since": dict(self.since),
            "targets": dict(self.targets),
            "retargeted": self.retargeted,
            **({"busiest": dict(self.busiest)} if self.busiest else {}),
            "low": self.low,
            **({"high": self.high} if self.high else {}),
            **({"planned": self.planned} if self.planned else {}),
            **({} if self.short_since is None else {"shortSince": self.short_since}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Raises a ValueError if it is not what `to_dict` gives."""
        try:
            phase, retargeted = str(data["phase"]), data["retargeted"]
            return cls(
                tuple([Learned.from_dict(each) for each in (data["learned"], *data.get("alsoLearned", ()))]),
                phase if phase in PHASES else "",
                {str(key): _number(at) for key, at in data["since"].items()},
                {str(key): int(percent) for key, percent in data["targets"].items() if 0 < int(percent) <= PERCENT},
                None if retargeted is None else _number(retargeted),
                {str(key): _number(average) for key, average in data.get("busiest", {}).items()},
                _count(data["low"]),
                _count(data.get("high", 0)),
                _count(data.get("planned", 0)),
                None if data.get("shortSince") is None else _number(data["shortSince"]),
            )
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"the state of a Tortoise cannot be read: {error}") from error


def _count(written: Any) -> int:
    return min(max(int(written), 0), MOST_REPLICAS)


def _number(written: Any) -> float:
    number = float(written)
    if not isfinite(number):
        raise ValueError(f"{written} is not a number")
    return number

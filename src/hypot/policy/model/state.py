"""The state that one decision passes to the next: explicit, frozen, serialisable."""

from collections.abc import Mapping
from dataclasses import field, replace
from math import inf
from typing import Any, NamedTuple, Self

from hypot.core.axes.gate import swings_after
from hypot.core.dataclass import dataclass
from hypot.core.instant import read_time, show_time
from hypot.core.replicas.window import NO_SLOT, last_older
from hypot.kinds.identity import TORTOISE_CONDITIONS
from hypot.kinds.vpa.fields import amounts_of
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.decision import Condition, Conditions, Decision
from hypot.policy.model.plan import Plan
from hypot.policy.model.tortoise_state import TortoiseState

Amounts = Mapping[str, Mapping[str, int]]


class Recount(NamedTuple):
    """The last change of the replica count, when it was observed, and the sizes that were recommended before it."""

    at: float
    before: int
    after: int
    advice: Amounts

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


class RecentUse(NamedTuple):
    """The average of the total that a utilization asked for, and the recent peak of usage, each with its time."""

    mean: float
    at: float
    peak: float
    peak_at: float

    def until(self, now: float) -> "RecentUse":
        return self._replace(at=min(self.at, now), peak_at=min(self.peak_at, now))

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Vertical:
    """The history of one autoscaler's sizes."""

    # When the workload last got more of anything.
    last_up: float | None = None
    last_down: float | None = None
    # Scale-downs that restarted pods and were soon reversed, less those that lasted.
    swings: int = 0
    # The replica count and the recommended sizes at the last observation.
    replicas: int | None = None
    advice: Amounts = field(default_factory=dict, hash=False)
    recount: Recount | None = field(default=None, hash=False)
    # `container/resource` -> the time of the first of the consecutive samples at the cap.
    hot: Mapping[str, float] = field(default_factory=dict, hash=False)
    # `container/resource` -> what its utilization lately asked for.
    recent: Mapping[str, RecentUse] = field(default_factory=dict, hash=False)
    # Pod uid -> when its resize was first observed to wait.
    stuck: Mapping[str, float] = field(default_factory=dict, hash=False)
    # Pod uid -> the requests that its node cannot grant.
    infeasible: Mapping[str, Amounts] = field(default_factory=dict, hash=False)
    # When a pod was last evicted to change its size.
    evicted: float | None = None
    # When pods were last restarted for their size without an eviction: in place, or by a new template.
    restarted: float | None = None
    # How many of the last evictions in a row were only tries, because the pods before came back without their size.
    tries: int = 0

    def counted(self, replicas: int, at: float) -> "Vertical":
        """Record the current count. After a change by any writer, earlier recommendations belong to another count.

        Zero is ignored: nothing is learnt from zero replicas.
        """
        if replicas in {0, self.replicas}:
            return self
        if self.replicas is None:
            return replace(self, replicas=replicas)
        recount = Recount(at, self.replicas, replicas, self.advice)
        return replace(self, replicas=replicas, recount=recount)

    def learnt(self, advice: Amounts) -> "Vertical":
        """With the current recommendation; containers that it does not mention keep their last one."""
        known = {**self.advice, **advice}
        return self if known == self.advice else replace(self, advice=known)

    def resized(self, at: float, *, grows: bool, window: float | None) -> "Vertical":
        if not grows:
            return replace(self, last_down=at)
        if window is None:
            return replace(self, last_up=at)
        restarted = max(_or_never(self.evicted), _or_never(self.restarted))
        swings = swings_after(self.swings, _or_never(self.last_up), _or_never(self.last_down), restarted, window, at)
        return replace(self, last_up=at, swings=swings)

    def used(self, recent: Mapping[str, RecentUse]) -> "Vertical":
        """With what utilization asks for now; what it does not mention stays."""
        known = {**self.recent, **recent}
        return self if known == self.recent else replace(self, recent=known)

    @classmethod
    def from_status(cls, status: Mapping[str, Any], at: float | None) -> Self:
        """Read from an Hvpa's status: the last scaling, and the sizes that were recommended before it."""
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
            **({} if self.last_down is None else {"lastDown": self.last_down}),
            **({"swings": self.swings} if self.swings else {}),
            "replicas": self.replicas,
            "advice": _plain(self.advice),
            "recount": None if self.recount is None else self.recount.to_dict(),
            "hot": dict(self.hot),
            **({"recent": {key: each.to_dict() for key, each in self.recent.items()}} if self.recent else {}),
            "stuck": dict(self.stuck),
            "infeasible": {uid: _plain(amounts) for uid, amounts in self.infeasible.items()},
            **({} if self.evicted is None else {"evicted": self.evicted}),
            **({} if self.restarted is None else {"restarted": self.restarted}),
            **({"tries": self.tries} if self.tries else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        recount = data.get("recount")
        return cls(
            last_up=data.get("lastUp"),
            last_down=data.get("lastDown"),
            swings=data.get("swings") or 0,
            replicas=data.get("replicas"),
            advice=dict(data.get("advice") or {}),
            recount=None if recount is None else Recount(**recount),
            hot=dict(data.get("hot") or {}),
            recent={key: RecentUse(**each) for key, each in (data.get("recent") or {}).items()},
            stuck=dict(data.get("stuck") or {}),
            infeasible=dict(data.get("infeasible") or {}),
            evicted=data.get("evicted"),
            restarted=data.get("restarted"),
            tries=data.get("tries") or 0,
        )


NO_PAST = Vertical()


def _written_sizes(data: Any) -> dict[str, dict[str, int]]:
    """Requests by container from a status; unreadable entries are left out."""
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


class TimedValues(NamedTuple):
    """Values and the times they were recorded at; slots of old values are reused."""

    values: tuple[int, ...] = ()
    times: tuple[float, ...] = ()

    def with_entry(self, value: int, at: float, reusable_before: float) -> "TimedValues":
        """Record a value, in the last slot older than the cut-off if there is one; recording it twice has no effect."""
        if at in self.times and (value, at) in zip(self.values, self.times, strict=True):
            return self
        slot = last_older(self.times, reusable_before)
        if slot == NO_SLOT:
            return TimedValues((*self.values, value), (*self.times, at))
        values, times = list(self.values), list(self.times)
        values[slot], times[slot] = value, at
        return TimedValues(tuple(values), tuple(times))

    def lasting(self, value: int, at: float, reusable_before: float) -> "TimedValues":
        """Record a recommendation. Only the last time of a value counts, so the time of one that lasts moves on."""
        if self.times and self.values[self.newest] == value:
            return self.lasted(at)
        return self.with_entry(value, at, reusable_before)

    @property
    def newest(self) -> int:
        """The index of the newest entry; there must be one."""
        return self.times.index(max(self.times))

    def lasted(self, at: float) -> "TimedValues":
        """The newest entry lasted until this time; nothing changes without entries."""
        if not self.times:
            return self
        newest = self.newest
        return self._replace(times=(*self.times[:newest], max(at, self.times[newest]), *self.times[newest + 1 :]))

    def until(self, now: float) -> "TimedValues":
        return self._replace(times=tuple([min(at, now) for at in self.times]))

    def to_list(self) -> list[dict[str, Any]]:
        return [{"value": v, "at": t} for v, t in zip(self.values, self.times, strict=True)]


EMPTY = TimedValues()


class State(NamedTuple):
    """The history of one autoscaler.

    >>> State().recommendations is None
    True
    """

    # Raw recommendations; None if the autoscaler was never observed, which differs from empty.
    recommendations: TimedValues | None = None
    # Since when recommendations are known, if that is later than the autoscaler's creation.
    since: float | None = None
    # Scale events by direction, and the time of a scaling of unknown size.
    ups: TimedValues = EMPTY
    downs: TimedValues = EMPTY
    unknown_move: float | None = None
    last_scale: float | None = None
    desired: int = 0
    conditions: Conditions = ()
    scalings: int = 0
    vertical: Vertical = NO_PAST
    # The plan under way: a decision on count and sizes takes more than one step.
    plan: Plan | None = None
    # What a Tortoise learned, and where it is in its life cycle.
    tortoise: TortoiseState | None = None
    # What an Autoscaler learned.
    autoscaler: AutoscalerState | None = None

    def until(self, now: float) -> "State":
        """Without times in the future: otherwise a clock that was set back would freeze windows until it catches up.

        Sample times come from another clock and stay.
        """
        if self._newest() <= now:
            return self
        return self._replace(
            recommendations=None if self.recommendations is None else self.recommendations.until(now),
            since=_until(self.since, now),
            ups=self.ups.until(now),
            downs=self.downs.until(now),
            unknown_move=_until(self.unknown_move, now),
            last_scale=_until(self.last_scale, now),
            conditions=tuple([each._replace(since=min(each.since, now)) for each in self.conditions]),
            vertical=_sizes_until(self.vertical, now),
            plan=None if self.plan is None else replace(self.plan, since=min(self.plan.since, now)),
            tortoise=None if self.tortoise is None else self.tortoise.until(now),
            autoscaler=None if self.autoscaler is None else self.autoscaler.until(now),
        )

    def _newest(self) -> float:
        """The newest time in the state. It runs with every decision, so it allocates as little as possible."""
        times = [self.last_scale or 0.0, self.unknown_move or 0.0, self.since or 0.0]
        times += [each.since for each in self.conditions]
        times += self.ups.times
        times += self.downs.times
        if self.recommendations is not None:
            times += self.recommendations.times
        sizes = self.vertical
        if sizes is not NO_PAST:
            times += (sizes.last_up or 0.0, sizes.last_down or 0.0, sizes.evicted or 0.0, sizes.restarted or 0.0)
            times += sizes.stuck.values()
            times.append(0.0 if sizes.recount is None else sizes.recount.at)
            times += [each.at for each in sizes.recent.values()]
        if self.plan is not None:
            times.append(self.plan.since)
        if self.tortoise is not None:
            times.append(self.tortoise.newest)
        if self.autoscaler is not None:
            times.append(self.autoscaler.newest)
        return max(times)

    def after_deciding(self, recommendations: TimedValues | None, vertical: Vertical | None = None) -> "State":
        """The state after a decision, before any action: only observations and recommendations are added."""
        return self._replace(recommendations=recommendations, vertical=self.vertical if vertical is None else vertical)

    def after_report(self, decision: Decision) -> "State":
        """The state before the decision is written: its conditions, and the count if that does not change."""
        stays = decision.decided and (decision.by_pod or not decision.moves)
        desired = decision.desired if stays and decision.desired is not None else self.desired
        return self._replace(conditions=decision.unwritten, desired=desired)

    def first_seen(self, replicas: int, at: float) -> "State":
        """The state at the start of a controller: the current count is the first recommendation."""
        return self._replace(recommendations=TimedValues((replicas,), (at,)), since=at)

    def acted(self, decision: Decision, at: float) -> "State":
        """The state after the decision was written. Only here does an action enter the state."""
        if not decision.moves or decision.desired is None or decision.current is None:
            return self
        moved = self._replace(
            last_scale=at,
            desired=decision.desired,
            conditions=decision.conditions,
            scalings=self.scalings + 1,
            vertical=self._resized(decision, at) if decision.desired_sizes else self.vertical,
        )
        if decision.event_period is None:
            return moved
        return moved.with_event(decision.current, decision.desired, at, decision.event_period)

    def _resized(self, decision: Decision, at: float) -> Vertical:
        if decision.window is None:
            # Only a change of size counts.
            return (
                self.vertical.resized(at, grows=decision.enlarges, window=None) if decision.resizes else self.vertical
            )
        return self.vertical.resized(at, grows=decision.grows, window=decision.window)

    def reported(self, decision: Decision) -> "State":
        """The state with the conditions that were reported after the writes."""
        return self._replace(conditions=decision.conditions)

    def old_status(self) -> dict[str, Any]:
        """The part of a status that only a successful write changes."""
        last = None if self.last_scale is None else show_time(self.last_scale)
        return {"desiredReplicas": self.desired, "lastScaleTime": last}

    def with_event(self, before: int, after: int, at: float, period: float) -> "State":
        """Record a scale event in its direction, in the slot of an event older than every policy's period."""
        cutoff = at - period
        if after > before:
            return self._replace(ups=self.ups.with_entry(after - before, at, cutoff))
        return self._replace(downs=self.downs.with_entry(before - after, at, cutoff))

    @classmethod
    def from_status(cls, status: Any) -> Self:
        """Read from an object's own status: times and conditions; it has no sizes of past scalings."""
        if not isinstance(status, Mapping):
            return cls()
        scaling = status.get("lastScaling")
        written = scaling.get("lastUpdated") if isinstance(scaling, Mapping) else status.get("lastScaleTime")
        last = read_time(written)
        desired = status.get("desiredReplicas")
        count = status.get("scalingEventsCount")
        return cls(
            unknown_move=last,
            last_scale=last,
            desired=desired if isinstance(desired, int) else 0,
            conditions=reported_conditions(status),
            scalings=count if isinstance(count, int) else 0,
            vertical=Vertical.from_status(status, last) if "lastScaling" in status else NO_PAST,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "recommendations": None if self.recommendations is None else self.recommendations.to_list(),
            "since": self.since,
            "ups": self.ups.to_list(),
            "downs": self.downs.to_list(),
            "unknownMove": self.unknown_move,
            "lastScale": self.last_scale,
            "desired": self.desired,
            "conditions": [dict(zip(Condition._fields, each, strict=True)) for each in self.conditions],
            "scalings": self.scalings,
            **({} if self.vertical == NO_PAST else {"vertical": self.vertical.to_dict()}),
            **({} if self.plan is None else {"plan": self.plan.to_dict()}),
            **({} if self.tortoise is None else {"tortoise": self.tortoise.to_dict()}),
            **({} if self.autoscaler is None else {"autoscaler": self.autoscaler.to_dict()}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            recommendations=_history(data.get("recommendations")),
            since=data.get("since"),
            ups=_history(data.get("ups")) or EMPTY,
            downs=_history(data.get("downs")) or EMPTY,
            unknown_move=data.get("unknownMove"),
            last_scale=data.get("lastScale"),
            desired=int(data.get("desired", 0)),
            conditions=read_conditions(data.get("conditions")),
            scalings=int(data.get("scalings", 0)),
            vertical=Vertical.from_dict(data["vertical"]) if data.get("vertical") else NO_PAST,
            plan=_plan(data.get("plan")),
            tortoise=_tortoise(data.get("tortoise")),
            autoscaler=_autoscaler(data.get("autoscaler")),
        )


def _or_never(at: float | None) -> float:
    return -inf if at is None else at


def _until(at: float | None, now: float) -> float | None:
    return None if at is None else min(at, now)


def _sizes_until(sizes: Vertical, now: float) -> Vertical:
    recount = sizes.recount
    return replace(
        sizes,
        last_up=_until(sizes.last_up, now),
        last_down=_until(sizes.last_down, now),
        recount=None if recount is None else recount._replace(at=min(recount.at, now)),
        recent={key: each.until(now) for key, each in sizes.recent.items()},
        stuck={uid: min(at, now) for uid, at in sizes.stuck.items()},
        evicted=_until(sizes.evicted, now),
        restarted=_until(sizes.restarted, now),
    )


def _plan(data: Any) -> Plan | None:
    """Read a plan; None if it is unreadable: what is left to do is then decided again."""
    try:
        return None if data is None else Plan.from_dict(data)
    except ValueError:
        return None


def _tortoise(data: Any) -> TortoiseState | None:
    """Read what a Tortoise learned; None if it is unreadable: then it starts over."""
    try:
        return TortoiseState.from_dict(data) if isinstance(data, Mapping) else None
    except ValueError:
        return None


def _history(data: Any) -> TimedValues | None:
    if data is None:
        return None
    return TimedValues(tuple(int(e["value"]) for e in data), tuple(float(e["at"]) for e in data))


def reported_conditions(status: Mapping[str, Any]) -> Conditions:
    """The conditions in a status; those of a Tortoise are a part of its `conditions`."""
    found = status.get("conditions")
    return read_conditions(found.get(TORTOISE_CONDITIONS) if isinstance(found, Mapping) else found)


def without_conditions(status: Mapping[str, Any]) -> dict[str, Any]:
    """The rest of the status."""
    found = status.get("conditions")
    rest = {key: value for key, value in status.items() if key != "conditions"}
    if isinstance(found, Mapping):
        rest["conditions"] = {key: value for key, value in found.items() if key != TORTOISE_CONDITIONS}
    return rest


def read_conditions(data: Any) -> Conditions:
    return tuple(_condition(c) for c in data if isinstance(c, Mapping)) if isinstance(data, list) else ()


def _condition(data: Mapping[str, Any]) -> Condition:
    since = data.get("since")
    if not isinstance(since, int | float):
        since = read_time(data.get("lastTransitionTime")) or 0.0
    kind, status, reason, message = (str(data.get(key) or "") for key in ("type", "status", "reason", "message"))
    return Condition(kind, status, reason, message, float(since))


def _autoscaler(data: Any) -> AutoscalerState | None:
    """Read what an Autoscaler learned; None if it is unreadable: it learns anew."""
    try:
        return None if data is None else AutoscalerState.from_dict(data)
    except ValueError:
        return None

"""The report of a decision on count and sizes: proposals, gates, and the new size of each container."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypot.core.amount import brief, brief_pair, readable
from hypot.core.axes.interval import replicas_for
from hypot.core.instant import show_time
from hypot.kinds.base import count_of
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.intervals import counts_of, intervals_of
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.hvpa.gates import Gate, scale_type
from hypot.policy.hvpa.resolve import ContainerNeed, Resolution, Sized, Vote
from hypot.policy.model.decision import Event, Move, MoveReport, main_reason
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size, changes_of, resources_of, shown
from hypot.policy.model.state import State
from hypot.policy.stages.report import Effect, Findings, Refusal, sentence, summary
from hypot.policy.stages.saturation import Saturation, usage_message

# The status fields of the last scaling and of the sizes for new pods.
SCALING, SIZES, LISTED = "lastScaling", "vpaStatus", "containerResources"
# What asks for a count, by the name of its source.
ASKS = {"hpa": "the HPA"}


class HvpaFindings(Findings):
    """Collects findings during the decision of an Hvpa."""

    def __init__(self, hvpa: Hvpa, seen: Seen, state: State) -> None:
        super().__init__(hvpa, seen, state)
        self.hvpa = hvpa
        self.vertical = state.vertical
        self.urgent = ""
        self.blocked: dict[str, Gate] = {}
        self.limits: list[str] = []
        self.unknown += list(seen.notes)

    def report_recommendations(self, missing: list[str]) -> None:
        if missing:
            self.condition("RecommendationProvided", "False", "PartlyMissing", missing[0])
            return
        self.condition("RecommendationProvided", "True", "Recommended", "every enabled source has a recommendation")

    def report_saturation(self, pressure: Saturation) -> None:
        for place, one in pressure.twice.items():
            total = brief(place[1], one.total)
            message = f"{usage_message(place, one)}, in two samples: it needs at least {total} in total"
            at_once = "neither stabilisation nor the minimum change delays it"
            self.step("recommend", "saturated", None, None, sentence(f"{message}, and {at_once}"))
        for place, one in pressure.once.items():
            self.unknown.append(
                f"{usage_message(place, one)}, in one sample; after a second such sample, neither stabilisation nor "
                "the minimum change delays a scale-up"
            )
        for name, resource in pressure.uncapped:
            self.unknown.append(
                f"{resource} of {name} is almost or fully used and has no limit; without the Node in the input "
                "it is unknown whether it is saturated"
            )

    def report_need(self, need: ContainerNeed) -> None:
        if not need.totals:
            return
        message = ", ".join(
            f"{resource} {brief(resource, total.amount)} ({total.source}; has "
            f"{brief(resource, need.current_size.totals[resource])})"
            for resource, total in need.totals.items()
        )
        numbers = {
            "container": need.container,
            "direction": need.direction,
            "totals": {r: {"total": readable(r, t.amount), "source": t.source} for r, t in need.totals.items()},
        }
        self.step("resolve", "total", None, None, f"{need.container} needs in total: {message}.", numbers)

    def report_vote(self, current: int, point: Resolution, needs: Iterable[ContainerNeed]) -> str:
        """Report the vote for this count; returns the reason of the decision if the count changes."""
        vote, replicas = point.vote, point.replicas
        message = ""
        if vote is not None and vote.resource:
            message = _vote_reason(vote, needs)
            numbers = {"container": vote.container, "resource": vote.resource, "source": vote.source}
            why = self._why(vote, current, needs)
            self.step("resolve", "interval", current, vote.replicas, sentence(f"{message}: {why}"), numbers)
        elif vote is not None and vote.replicas != current:
            message = f"{ASKS.get(vote.source, vote.source)} asks for {count_of(vote.replicas, 'replica')}"
            self.step("resolve", "votes", current, vote.replicas, sentence(message), {"source": vote.source})
        asked = current if vote is None else vote.replicas
        if replicas != asked:
            message = self.report_interval_bound(asked, replicas)
        return message if replicas != current else ""

    def report_interval_bound(self, asked: int, replicas: int) -> str:
        """Report that the intervals limit the count; returns the message."""
        most = "most" if asked > replicas else "least"
        message = f"the intervals are for at {most} {count_of(replicas, 'replica')}"
        self.step("restrain", "intervals", asked, replicas, sentence(message))
        return message

    def _why(self, vote: Vote, current: int, needs: Iterable[ContainerNeed]) -> str:
        """Why a total asks for this count."""
        count = count_of(vote.replicas, "replica")
        if vote.keeps_room:
            return f"{count} must remain"
        need = next(need for need in needs if need.container == vote.container)
        asked = replicas_for(need.intervals(self.hvpa, vote.resource), vote.total, current)
        written = intervals_of(self.hvpa, vote.container, vote.resource)
        if vote.replicas == asked > replicas_for(written, vote.total, current):
            limit = brief(vote.resource, need.current_size.limits[vote.resource])
            return f"{count} are needed, because each has a fixed limit of {limit} (RequestsOnly)"
        return f"its interval is for {count}{self._minimum(vote)}"

    def _minimum(self, vote: Vote) -> str:
        """A remark if no interval is for fewer replicas."""
        least = counts_of(self.hvpa)[0]
        return ", the minimum" if vote.replicas == least > 1 else ""

    def size_reason(self, needs: Iterable[ContainerNeed]) -> str:
        """The container, resource and source with the largest relative change of size."""
        had = {size.container: size.requests for size in self.sizes}
        gets = {size.container: size.requests for size in self.desired_sizes}
        changes = [
            (_share_of_change(total.amount, need.current_size.totals[resource]), need.container, resource, total)
            for need in needs
            for resource, total in need.totals.items()
            if had[need.container].get(resource) != gets[need.container].get(resource)
        ]
        if not changes:
            return "" if self.desired_sizes == self.sizes else "the sizes are fitted to a LimitRange"
        _, container, resource, total = max(changes, key=lambda change: change[:3])
        return needs_total(resource, container, total.amount, total.source)

    def report_size(self, need: ContainerNeed, result: Sized, desired: int) -> None:
        old, new = need.current_size.size, result.size
        at_limit, at_most = self._caps(result)
        self.limits += [f"{resource} of {need.container} is capped at its limit" for resource in at_limit]
        self.limits += [f"{resource} of {need.container} is capped at its maximum" for resource in at_most]
        if new == old:
            return
        pairs = changes_of(old.requests, new.requests)
        changes = ", ".join(f"{resource} from {had} to {gets}" for resource, (had, gets) in pairs.items())
        message = f"{need.container} at {count_of(desired, 'replica')}: {changes or 'only its limits change'}"
        rising = isinstance(self.seen.scale, Scale) and desired > self.seen.scale.replicas
        while_what = "replicas are added" if rising else "a recommendation is missing"
        why_kept = f"kept: nothing is lowered while {while_what}"
        for resources, one, several in (
            (result.kept, f"is {why_kept}", f"are {why_kept}"),
            (result.budgeted, "includes the base load of each replica", "include the base load of each replica"),
            (at_limit, "is capped at its limit", "are capped at their limits"),
            (at_most, "is capped at its maximum", "are capped at their maximum"),
        ):
            if resources:
                message += f"; {' and '.join(resources)} {one if len(resources) == 1 else several}"
        numbers = {"container": need.container, "requests": shown(new.requests), "limits": shown(new.limits)}
        self.step("resolve", "size", None, None, f"{message}.", numbers)

    def _caps(self, result: Sized) -> tuple[list[str], list[str]]:
        """The resources that are capped at their limit, because limits are not controlled, and the others."""
        size, follows = result.size, not allowed(self.hvpa, result.size.container).requests_only
        at_limit = [r for r in result.capped if not follows and size.requests[r] == size.limits.get(r)]
        return at_limit, [r for r in result.capped if r not in at_limit]

    def report_ranges(self, wanted: Iterable[Size], taken: Iterable[Size], *, stays: bool) -> None:
        changes = [
            (f"{resource} of {asked.container}", *brief_pair(resource, asked.requests[resource], amount))
            for asked, gets in zip(wanted, taken, strict=True)
            for resource, amount in gets.requests.items()
            if amount != asked.requests[resource]
        ]
        message = ", ".join(f"{what} is {gets}, not {asked}" for what, asked, gets in changes) or "limits differ"
        message = f"because of a LimitRange {message}"
        message = f"{message}, which would be less in total than now: nothing changes" if stays else message
        self.step("restrain", "limit-range", None, None, sentence(message))
        self.limits += [f"{what} is limited by a LimitRange" for what, _, _ in changes]

    def report_limits(self, needs: Iterable[ContainerNeed]) -> None:
        reason = "CutAtAllowed"
        for need in needs:
            for resource, total in need.totals.items():
                intervals = intervals_of(self.hvpa, need.container, resource)
                if intervals and total.amount > intervals[-1].high:
                    reason, most = "BeyondLastInterval", brief(resource, intervals[-1].high)
                    self.limits.append(f"{resource} of {need.container} exceeds the last interval's maximum of {most}")
                elif intervals and total.amount > need.intervals(self.hvpa, resource)[-1].high:
                    self.limits.append(f"{resource} of {need.container} is capped at its limit")
        if self.limits:
            self.condition("ScalingLimited", "True", reason, "; ".join(sorted(set(self.limits))))
        else:
            self.condition("ScalingLimited", "False", "WithinIntervals", "the needed totals are within the intervals")

    def report_blocked(self) -> None:
        if not self.blocked:
            self.condition("ScalingBlocked", "False", "NotBlocked", "nothing is blocked")
            return
        name, gate = min(self.blocked.items())
        self.condition("ScalingBlocked", "True", gate.reason, f"{name}: {gate.message}")

    def status(self, scale: Scale) -> dict[str, Any]:
        """The status if nothing changes."""
        recount = self.vertical.recount
        return {
            "replicas": scale.status_replicas,
            "targetSelector": scale.selector,
            "desiredReplicas": self.state.desired,
            "scaleUpUpdatePolicy": {"updateMode": scale_type(self.hvpa, "up").mode},
            "scaleDownUpdatePolicy": {"updateMode": scale_type(self.hvpa, "down").mode},
            "overrideScaleUpStabilization": bool(self.urgent),
            "replicasAtRecommendation": recount.before if recount else scale.replicas,
            "lastProcessedRecommendations": self._processed(),
            "lastBlockedScaling": blockings(gate.reason for gate in self.blocked.values()),
        }

    def _processed(self) -> dict[str, Any]:
        """The recommended sizes that this decision used."""
        sizes = [
            {"containerName": name, "resources": {"requests": shown(advice)}}
            for name, advice in sorted(self.vertical.advice.items())
        ]
        return {"vpaStatus": {"containerResources": sizes}}


def report(hvpa: Hvpa, move: Move, state: State, _settings: Settings, effect: Effect) -> MoveReport:
    """The report of a written move."""
    if not move.decided:
        return MoveReport(move.unwritten, (), _with_recorded(move.observed, effect))
    status: dict[str, Any] = {"desiredReplicas": move.desired}
    if move.moves:
        status[SCALING] = _new_scaling(move)
    elif state.last_scale is not None:
        status[SCALING] = {**last_scaling(hvpa), "lastUpdated": show_time(state.last_scale)}
    if move.wanted is not None and move.wanted.moves:
        known = move.observed.get("lastBlockedScaling")
        listed = known if isinstance(known, list) else []
        reasons = [str(one.get("reason")) for one in listed if isinstance(one, Mapping)]
        status["lastBlockedScaling"] = blockings([*reasons, main_reason(move.holds or ())])
    event = Event("Normal", "Scaled", f"{summary(move)}; reason: {move.reason}")
    return MoveReport(move.unwritten, (event,) if move.moves else (), {**status, **_with_recorded(status, effect)})


def refused(hvpa: Hvpa, _move: Move, state: State, message: str) -> Refusal:
    """The report of a move that could not be written."""
    last = None if state.last_scale is None else {"lastUpdated": show_time(state.last_scale)}
    status = {"desiredReplicas": state.desired or None, SCALING: last_scaling(hvpa) or last}
    return Refusal("Ready", "FailedUpdate", "FailedScaling", message, status)


def last_scaling(hvpa: Hvpa) -> Mapping[str, Any]:
    """The last scaling in the object's status."""
    return _scaling_in(hvpa.status)


def _scaling_in(status: Any) -> Mapping[str, Any]:
    found = status.get(SCALING) if isinstance(status, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def blockings(reasons: Iterable[str]) -> list[dict[str, str]]:
    return [{"reason": reason} for reason in sorted(set(reasons))]


def listed_sizes(sizes: Iterable[Size]) -> dict[str, Any]:
    """Sizes in the format in which the status records them for new pods."""
    return {LISTED: [{"containerName": name, "resources": each} for name, each in resources_of(sizes).items()]}


def recorded_sizes(status: Any) -> Any:
    """The sizes for new pods in a status, in the format of `listed_sizes`."""
    return _scaling_in(status).get(SIZES)


def _new_scaling(move: Move) -> dict[str, Any]:
    return {
        "lastUpdated": show_time(move.at),
        "hpaStatus": {"currentReplicas": move.current, "desiredReplicas": move.desired},
        SIZES: listed_sizes(move.desired_sizes),
    }


def _with_recorded(status: Mapping[str, Any], effect: Effect) -> dict[str, Any]:
    """The last scaling with the recorded sizes, if those differ from the decided ones."""
    if not effect.sizes_differ:
        return {}
    made = {**_scaling_in(status), SIZES: effect.recorded}
    return {SCALING: {key: each for key, each in made.items() if each is not None}}


def _share_of_change(total: int, now: int) -> float:
    return abs(total - now) / max(now, 1)


def needs_total(resource: str, container: str, total: int, source: str) -> str:
    return f"{resource} of {container} needs {brief(resource, total)} in total ({source})"


def _vote_reason(vote: Vote, needs: Iterable[ContainerNeed]) -> str:
    """The total behind a vote; with the largest total, if that asks for fewer replicas."""
    needed = next(need.totals[vote.resource] for need in needs if need.container == vote.container)
    message = needs_total(vote.resource, vote.container, needed.amount, needed.source)
    if needed.amount == vote.total:
        return message
    return f"{message}, and its count follows from the {brief(vote.resource, vote.total)} ({vote.source})"

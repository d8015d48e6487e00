"""One decision of an Hvpa: from the totals needed to a number of replicas and their size."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypot.core.amount import CPU, MEMORY
from hypot.core.axes.gate import HOLDS, count_gate, movement_gate, remains
from hypot.core.axes.interval import may_get_less, reachable
from hypot.kinds.base import count_of
from hypot.kinds.hvpa import Hvpa, refusals
from hypot.kinds.hvpa.intervals import counts_of, largest_total
from hypot.kinds.problem import Problem
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.hvpa.count_source import count_proposal, samples_lag
from hypot.policy.hvpa.gates import (
    DIRECTIONS,
    OPEN,
    REASONS,
    Direction,
    Gate,
    change_gate,
    direction_of,
    scale_type,
    time_gate,
)
from hypot.policy.hvpa.proposal import HvpaContext, SizeProposal, Source, Total, total_of
from hypot.policy.hvpa.report import HvpaFindings
from hypot.policy.hvpa.resolve import (
    ContainerNeed,
    Resolution,
    Vote,
    grows_while_shrinking,
    largest_vote,
    sized,
    vote_of,
)
from hypot.policy.hvpa.size_source import size_proposal
from hypot.policy.hvpa.urgency import urgency
from hypot.policy.model.current_size import CurrentSize, current_size
from hypot.policy.model.decision import Move
from hypot.policy.model.plan import needs_clearly_more
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place, Size
from hypot.policy.model.state import State
from hypot.policy.stages.report import kebab, sentence
from hypot.policy.stages.saturation import Saturation, saturation
from hypot.policy.vertical.controlled import controlled
from hypot.policy.vertical.ranges import in_ranges, loses

SOURCES: tuple[Source, ...] = (count_proposal, size_proposal)
SATURATED = "saturation"
MISSING = Gate("MissingData", "there is no scale-down while a recommendation is missing")
_HOLDS = {REASONS[gate] for gate in HOLDS}


def decide(
    hvpa: Hvpa, seen: Seen, state: State, settings: Settings, sources: Sequence[Source] = SOURCES
) -> tuple[Move, State]:
    """Decide what hypot does now and why; also return the new state. Nothing is written or reported here."""
    return _HvpaPass(hvpa, seen, state, settings, sources).run()


def recommend(context: HvpaContext, sources: Sequence[Source] = SOURCES) -> tuple[SizeProposal, ...]:
    """What each source proposes; sources that are switched off propose nothing."""
    return tuple([proposal for source in sources if (proposal := source(context)) is not None])


def needs_of(
    context: HvpaContext, proposals: tuple[SizeProposal, ...], pressure: Saturation
) -> tuple[ContainerNeed, ...]:
    """What each container that may be sized needs in total."""
    return tuple(
        [
            _need(context, one, proposals, pressure)
            for one in context.current_sizes
            if one.container not in context.switched_off
        ]
    )


def _need(
    context: HvpaContext, one: CurrentSize, proposals: tuple[SizeProposal, ...], pressure: Saturation
) -> ContainerNeed:
    totals: dict[str, Total] = {}
    asked: list[tuple[str, Total]] = []
    controlled = allowed(context.hvpa, one.container).controlled
    for resource in controlled:
        place, now = (one.container, resource), one.totals[resource]
        total = total_of(place, now, proposals)
        asked += [(resource, _asked(proposal, place)) for proposal in proposals if place in proposal.totals]
        if place in pressure.twice:
            hot = Total(pressure.twice[place].total, SATURATED)
            asked.append((resource, hot))
            total = hot if total is None or hot.amount > total.amount else total
        if total is not None:
            totals[resource] = total
    most = {r: largest_total(context.hvpa, one.container, r, one.limits.get(r)) for r in totals}
    amounts = {r: reachable(total.amount, one.totals[r], most[r]) for r, total in totals.items()}
    saturated = any((one.container, r) in pressure.twice for r in controlled)
    return ContainerNeed(one, totals, tuple(asked), amounts, direction_of(one.totals, amounts), saturated)


def _asked(proposal: SizeProposal, place: Place) -> Total:
    bound, raised = proposal.bounded.get(place, ""), proposal.raised.get(place)
    return Total(proposal.totals[place], proposal.source, bound, raised)


def gate_of(context: HvpaContext, need: ContainerNeed, *, missing: bool) -> Gate:
    """Whether a container may change now; the first gate that blocks counts."""
    if need.direction == "none":
        return OPEN
    pressing = bool(context.urgency) or need.saturated
    timed = _time_gate(context, need.direction, urgent=pressing)
    change = change_gate(context.hvpa, need.direction, need.current_size.totals, need.amounts)
    way = DIRECTIONS.index(need.direction)
    return _gate(movement_gate(way, timed.number, missing, pressing, change == OPEN), timed, change)


def _time_gate(context: HvpaContext, direction: Direction, *, urgent: bool) -> Gate:
    swings = context.vertical.swings
    return time_gate(context.hvpa, direction, context.last_scale, context.seen.now, urgent=urgent, swings=swings)


def outcome_gate(context: HvpaContext, need: ContainerNeed, size: Size) -> Gate:
    """Whether a resource that changes enough really gets another amount at the current count."""
    now = need.current_size.totals
    totals = {resource: size.requests[resource] * context.replicas for resource in need.totals}
    changed = {resource: need.amounts[resource] for resource, total in totals.items() if total != now[resource]}
    rises = any(totals[resource] > now[resource] for resource in changed)
    if rises and (context.urgency or need.saturated):
        return OPEN
    return change_gate(context.hvpa, need.direction, now, changed)


def _gate(number: int, *gates: Gate) -> Gate:
    """The gate with this number, with its message."""
    return next(gate for gate in (OPEN, MISSING, *gates) if gate.number == number)


def forbidding(hvpa: Hvpa) -> list[Problem]:
    """The errors that make a decision impossible."""
    return [problem for problem in refusals(hvpa) if _forbids(problem)]


def _forbids(problem: Problem) -> bool:
    """Whether this problem makes a decision impossible; an unreadable knob has a default."""
    return problem.rule == "recommendations" or (problem.where[0] == "spec" and problem.rule != "knob")


def _silence(hvpa: Hvpa) -> str:
    return "every container is switched off" if hvpa.uses_vpa else "no source is switched on"


def paradox_gate(hvpa: Hvpa, need: ContainerNeed, current: int, voted: int) -> Gate:
    """On a scale-down, no replicas are removed if that would make every pod larger."""
    if need.direction != "down" or voted >= current or not grows_while_shrinking(hvpa, need, current, voted):
        return OPEN
    message = f"with {count_of(voted, 'replica')} each pod would need higher requests although the total falls"
    return Gate("ParadoxicalScaling", message)


class _HvpaPass(HvpaFindings):
    """One pass, in the order of the stages."""

    def __init__(self, hvpa: Hvpa, seen: Seen, state: State, settings: Settings, sources: Sequence[Source]) -> None:
        super().__init__(hvpa, seen, state)
        self.settings, self.sources = settings, sources
        # Whether a source has no recommendation, and whether any source measures the usage of pods.
        self.missing = self.measures = False
        # Whether more than one container may be sized.
        self.has_others = False

    def run(self) -> tuple[Move, State]:
        problems = forbidding(self.hvpa)
        if problems:
            return self._bad_spec("; ".join(str(problem) for problem in problems))
        if self.hvpa.is_weight_based:
            return self._bad_spec("spec.weightBasedScalingIntervals is not supported: use spec.scalingIntervals")
        scale = self.seen.scale
        if isinstance(scale, Failure):
            self.no_scale(scale, "FailedGetScale")
            self.reported.pop("AbleToScale", None)
            self.condition("Ready", "False", "FailedGetScale", scale.message)
            return self._undecided(None)
        self.condition("Ready", "True", "TargetRead", "the target and its scale were read")
        self.vertical = self.vertical.counted(scale.replicas, self.now)
        if scale.replicas == 0:
            self.step("restrain", "scaling-disabled", 0, 0, "The target has zero replicas: autoscaling stays off.")
            return self._finish(scale, 0, "")
        return self._decided(scale)

    def _bad_spec(self, message: str) -> tuple[Move, State]:
        self.condition("Ready", "False", "InvalidSpec", message)
        self.step("observe", "bad-spec", None, None, sentence(message))
        self.failed(message, "spec")
        return self._undecided(self.seen.scale.replicas if isinstance(self.seen.scale, Scale) else None)

    def _decided(self, scale: Scale) -> tuple[Move, State]:
        context, pressure = self._context(scale)
        if not context.current_sizes:
            message = "there is neither a pod nor a pod template of the target, so no size is known"
            return self._no_recommendation(scale, message)
        proposals = recommend(context, self.sources)
        self.steps += [step for proposal in proposals for step in proposal.steps]
        self.report_saturation(pressure)
        missing = [proposal.missing for proposal in proposals if proposal.missing]
        if not any(proposal.totals or proposal.replicas is not None for proposal in proposals) and not pressure.twice:
            return self._no_recommendation(scale, missing[0] if missing else _silence(self.hvpa))
        self.report_recommendations(missing)
        self.missing, self.measures = bool(missing), any(proposal.measured for proposal in proposals)
        needs = needs_of(context, proposals, pressure)
        for need in needs:
            self.report_need(need)
        advice = next((proposal.advice for proposal in proposals if proposal.advice), {})
        recent = {key: each for proposal in proposals for key, each in proposal.recent.items()}
        self.vertical = self.vertical.learnt(advice).used(recent)
        return self._resolved(context, needs, proposals)

    def _context(self, scale: Scale) -> tuple[HvpaContext, Saturation]:
        current_sizes = current_size(self.seen, scale.replicas)
        off = frozenset([one.container for one in current_sizes if allowed(self.hvpa, one.container).switched_off])
        self.sizes = self.desired_sizes = tuple([one.size for one in current_sizes])
        self.has_others = len(current_sizes) - len(off) > 1
        urgent = self.urgent = urgency(self.seen, current_sizes, off, self.vertical.last_up, self.state.last_scale)
        if urgent:
            message = f"{urgent}: neither stabilisation nor the minimum change delays a scale-up"
            self.step("observe", "urgent", None, None, sentence(message))
            rules = [allowed(self.hvpa, one.container) for one in current_sizes if one.container not in off]
            if not any(MEMORY in rule.controlled for rule in rules):
                message = "this object does not size memory: raise the memory limit, or let its VPA control memory"
                self.step("observe", "memory-not-sized", None, None, sentence(message))
        pressure = self._pressure([one.container for one in current_sizes if one.container not in off])
        context = HvpaContext(
            self.hvpa,
            self.seen,
            scale,
            current_sizes,
            off,
            self.state.last_scale,
            self.vertical,
            self.settings,
            urgent,
            pressure.measured,
        )
        return context, pressure

    def _pressure(self, containers: list[str]) -> Saturation:
        pressure = saturation(self.seen, containers, self.vertical.hot)
        if pressure.hot != self.vertical.hot:
            self.vertical = replace(self.vertical, hot=pressure.hot)
        return pressure

    def _no_recommendation(self, scale: Scale, message: str) -> tuple[Move, State]:
        self.condition("RecommendationProvided", "False", "NoRecommendation", message)
        self.step("resolve", "hold-on-failure", scale.replicas, scale.replicas, sentence(f"{message}: nothing changes"))
        self.failed(message, "internal")
        return self._undecided(scale.replicas)

    def _vote(self, context: HvpaContext, need: ContainerNeed) -> Vote | None:
        """The vote of one container; a held container votes for the current count, a waiting one does not vote."""
        current = context.replicas
        if not need.totals:
            # It was not measured yet, so it is unknown whether fewer replicas would be enough.
            return Vote(current, need.container) if self.measures else None
        gate = gate_of(context, need, missing=self.missing)
        if gate == OPEN:
            return self._asked(context, need)
        self._block(need, gate)
        return Vote(current, need.container) if gate.reason in _HOLDS else None

    def _asked(self, context: HvpaContext, need: ContainerNeed) -> Vote | None:
        """The vote for what it needs; if its limits are fixed, other replicas are all that gives it more."""
        vote = vote_of(self.hvpa, need, context.replicas)
        if vote is None or not allowed(self.hvpa, need.container).requests_only:
            return vote
        count = self._with_room(context, vote.replicas)
        return vote._replace(replicas=count, keeps_room=count != vote.replicas)

    def _block(self, need: ContainerNeed, gate: Gate) -> None:
        self.blocked[need.container] = gate
        waits = "waits, unless other containers change" if self.has_others else "waits"
        message = "stays as it is" if gate.reason in _HOLDS else waits
        self.step("restrain", kebab(gate.reason), None, None, f"{need.container} {message}: {gate.message}.")

    def _count_votes(self, context: HvpaContext, proposals: tuple[SizeProposal, ...]) -> list[Vote]:
        """Votes without sizes; the time gates apply to them too."""
        asked = [(one.source, self._in_intervals(one.replicas)) for one in proposals if one.replicas is not None]
        return [
            Vote(self._with_room(context, self._in_time(context, source, count)), source=source)
            for source, count in asked
        ]

    def _with_room(self, context: HvpaContext, count: int) -> int:
        """This count, or more if pods that can get no more than now would reach their cap."""
        current = context.replicas
        if count >= current:
            return count
        fewest = {place[0]: each.fewest(current) for place, each in context.pressures.items() if place[1] == CPU}
        container = max(fewest, key=lambda name: (fewest[name], name), default="")
        least = fewest.get(container, 0)
        message = f"with fewer than {count_of(least, 'replica')}, {CPU} of {container} would reach its cap"
        if least and samples_lag(context):
            least, message = current, "replicas were removed, and samples do not show yet what the others have to do"
        if least <= count:
            return count
        self.step("restrain", "kept-replicas", count, least, sentence(message))
        return least

    def _in_intervals(self, count: int) -> int:
        low, high = counts_of(self.hvpa)
        inside = min(max(count, low), high)
        if inside != count:
            self.report_interval_bound(count, inside)
        return inside

    def _in_time(self, context: HvpaContext, source: str, count: int) -> int:
        """This count if the gates allow it now, else the current count."""
        current = context.replicas
        direction: Direction = "up" if count > current else "down"
        timed = _time_gate(context, direction, urgent=bool(context.urgency))
        gate = _gate(count_gate(count, current, timed.number, self.missing), timed)
        if gate == OPEN:
            return count
        self.blocked[f"replicas by {source}"] = gate
        self.step("restrain", kebab(gate.reason), count, current, sentence(gate.message))
        return current

    def _resolved(
        self, context: HvpaContext, needs: tuple[ContainerNeed, ...], proposals: tuple[SizeProposal, ...]
    ) -> tuple[Move, State]:
        current = context.replicas
        votes = [vote for need in needs if (vote := self._vote(context, need)) is not None]
        votes += self._count_votes(context, proposals)
        if self.missing:
            votes.append(Vote(current))
        sized_needs = [need for need in needs if need.totals]
        free = [need for need in sized_needs if need.container not in self.blocked]
        waiting = [need for need in sized_needs if need.container in self.blocked and self._waits(need)]
        reach = self._reach(context, held=len(free) + len(waiting) < len(sized_needs))
        point, frozen = self._settled(current, free, votes, reach)
        if waiting and point.changes(current, self.sizes):
            point, frozen = self._joined(context, point, (free, waiting), votes, reach)
        for need, gate in frozen:
            self._block(need, gate)
        point = self._if_enough(context, [*free, *waiting], point)
        reason = self.report_vote(current, point, needs)
        self.desired_sizes = tuple([point.size_of(size) for size in self.sizes])
        for need in needs:
            if need.container in point.results:
                self.report_size(need, point.results[need.container], point.replicas)
        replicas = self._in_ranges(current, point.replicas)
        self.report_limits(needs)
        reason = reason if replicas == point.replicas else ""
        rising = [need for need in needs if need.direction == "up" and need.container in point.results]
        caught_up = self._catch_up(rising, replicas)
        return self._finish(context.scale, replicas, reason or self.size_reason(needs) or caught_up)

    def _joined(
        self,
        context: HvpaContext,
        alone: Resolution,
        needs: tuple[list[ContainerNeed], list[ContainerNeed]],
        votes: list[Vote],
        reach: tuple[int, int],
    ) -> tuple[Resolution, list[tuple[ContainerNeed, Gate]]]:
        """Waiting containers change together with the others, so that they keep what they need.

        If they need so many replicas that the change of the count does not remain, there is nothing to go along with.
        """
        current, (free, waiting) = context.replicas, needs
        asked = [vote for need in waiting if (vote := self._asked(context, need)) is not None]
        point, frozen = self._settled(current, [*free, *waiting], [*votes, *asked], reach)
        if alone.replicas == current or remains(alone.replicas, point.replicas, current):
            return point, frozen
        kept, kept_frozen = self._settled(current, free, [*votes, Vote(current)], reach)
        if kept.changes(current, self.sizes):
            return point, frozen
        names = " and ".join(need.container for need in waiting)
        message = f"the count stays: {names} needs these replicas, and waits"
        self.step("restrain", "kept-replicas", alone.replicas, current, sentence(message))
        return kept, kept_frozen

    def _if_enough(self, context: HvpaContext, moving: list[ContainerNeed], point: Resolution) -> Resolution:
        """The result, unless bounds take away what would be worth a change of sizes."""
        if point.replicas != context.replicas:
            return point
        changed = [need for need in moving if point.changes_size(need.current_size.size)]
        gates = [(need, outcome_gate(context, need, point.results[need.container].size)) for need in changed]
        if not gates or any(gate == OPEN for _, gate in gates):
            return point
        for need, gate in gates:
            self._block(need, gate)
        return point._replace(results={})

    def _catch_up(self, rising: list[ContainerNeed], replicas: int) -> str:
        """The largest pod may have the desired size while others lack it, because an earlier move was not completed.

        Returns the reason if that is so.
        """
        plan = self.state.plan
        sizes = controlled(self.hvpa, self.desired_sizes)
        if plan is not None and not needs_clearly_more(plan, sizes, replicas):
            return ""
        wanted = {size.container: size.requests for size in self.desired_sizes}
        behind = [need.container for need in rising if self._is_behind(need.current_size, wanted[need.container])]
        if not behind:
            return ""
        self.catches_up = True
        message = f"the largest pod has the desired size of {' and '.join(behind)}, and the others get it too"
        self.step("resolve", "catch-up", None, None, sentence(message))
        return message

    def _is_behind(self, one: CurrentSize, wanted: Mapping[str, int]) -> bool:
        """Whether a pod has less than the largest of a resource that is not to be lowered."""
        had = {r: one.requests[r] for r in allowed(self.hvpa, one.container).controlled if r in one.requests}
        return any(wanted.get(r, 0) >= amount > one.least[r] for r, amount in had.items())

    def _in_ranges(self, current: int, replicas: int) -> int:
        """Fit the sizes to the LimitRanges and return the count; nothing changes if the total would be too small."""
        had, wanted = self.sizes, self.desired_sizes
        taken = in_ranges(self.hvpa, self.seen, had, wanted)
        if taken == wanted:
            return replicas
        too_few = loses(had, current, wanted, taken, replicas)
        self.report_ranges(wanted, taken, stays=too_few)
        self.desired_sizes = had if too_few else taken
        return current if too_few else replicas

    def _settled(
        self, current: int, moving: list[ContainerNeed], votes: list[Vote], reach: tuple[int, int]
    ) -> tuple[Resolution, list[tuple[ContainerNeed, Gate]]]:
        """The result of the votes, unless it removes replicas and each remaining pod would have to be larger."""
        point = self._point(current, moving, votes, reach)
        gates = [(need, paradox_gate(self.hvpa, need, current, point.replicas)) for need in moving]
        frozen = [(need, gate) for need, gate in gates if gate != OPEN]
        if not frozen:
            return point, []
        votes = [*votes, Vote(current)]
        point = self._point(current, moving, votes, reach)
        if point.replicas != current:
            # No interval is for the current count, so there must be fewer, larger pods.
            return point, []
        others = [need for need, gate in gates if gate == OPEN]
        return self._point(current, others, votes, reach), frozen

    def _point(
        self, current: int, moving: list[ContainerNeed], votes: list[Vote], reach: tuple[int, int]
    ) -> Resolution:
        """The count that the votes result in, and the sizes of the changing containers at this count."""
        best = largest_vote(votes)
        desired = min(max(current if best is None else best.replicas, reach[0]), reach[1])
        # A count that no total asks for spreads no total: pods keep at least their size.
        spreads = best is None or bool(best.resource)
        may_shrink = may_get_less(self.missing, current, desired)
        moved = [need for need in moving if need.direction != "none" or desired != current]
        results = {
            need.container: sized(self.hvpa, need, current, desired, spreads=spreads, may_shrink=may_shrink)
            for need in moved
        }
        return Resolution(desired, best, results)

    def _reach(self, context: HvpaContext, *, held: bool) -> tuple[int, int]:
        """The counts that the intervals are for, extended to the current count if it may not change yet."""
        low, high = counts_of(self.hvpa)
        current = context.replicas
        inside = min(max(current, low), high)
        if not (held and inside < current) and self._in_time(context, "intervals", inside) == inside:
            return low, high
        return min(low, current), max(high, current)

    def _waits(self, need: ContainerNeed) -> bool:
        """Whether it is blocked only by stabilisation or because it changes too little."""
        return self.blocked[need.container].reason not in _HOLDS

    def _finish(self, scale: Scale, desired: int, reason: str) -> tuple[Move, State]:
        self.report_blocked()
        move = self.move(scale.replicas, desired, self.status(scale), reason=reason)
        window = scale_type(self.hvpa, "down").stabilization_seconds or 0.0
        return move._replace(window=window), self._remembered()

    def _remembered(self) -> State:
        return self.state.after_deciding(None, self.vertical)

    def _undecided(self, current: int | None) -> tuple[Move, State]:
        return self.stays(current, self.kept_status()), self._remembered()

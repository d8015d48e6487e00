"""One decision of an Hvpa: how much in total, so how many replicas of which size."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypot.core.gate import HOLDS
from hypot.kinds.hvpa import Hvpa, refusals
from hypot.kinds.hvpa.intervals import allowed, counts_of
from hypot.kinds.problem import Problem
from hypot.policy.hvpa.count_source import count_wish
from hypot.policy.hvpa.gates import OPEN, REASONS, Direction, Gate, change_gate, direction_of, time_gate
from hypot.policy.hvpa.proposal import Glance, Source, Total, Wish, total_of
from hypot.policy.hvpa.ranges import in_ranges, loses
from hypot.policy.hvpa.report import HvpaTelling
from hypot.policy.hvpa.resolve import Need, Point, Vote, controlled, grows_while_shrinking, largest_vote, sized, vote_of
from hypot.policy.hvpa.size_source import size_wish
from hypot.policy.hvpa.urgency import urgency
from hypot.policy.model.current_size import Standing, standing
from hypot.policy.model.decision import Move
from hypot.policy.model.plan import needs_more
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place
from hypot.policy.model.state import Memory
from hypot.policy.stages.report import kebab, sentence
from hypot.policy.stages.saturation import Saturation, saturation

SOURCES: tuple[Source, ...] = (count_wish, size_wish)
SATURATED = "saturation"
MISSING = Gate("MissingData", "nothing shrinks while an answer is missing")
_HOLDS = {REASONS[gate] for gate in HOLDS}


def decide(
    hvpa: Hvpa, seen: Seen, memory: Memory, settings: Settings, sources: Sequence[Source] = SOURCES
) -> tuple[Move, Memory]:
    """What hypot would do now, why, and what it must remember. Nothing is done here, nor reported."""
    return _Pass(hvpa, seen, memory, settings, sources).run()


def recommend(glance: Glance, sources: Sequence[Source] = SOURCES) -> tuple[Wish, ...]:
    """What each source asks for; those that are switched off are not asked."""
    return tuple([wish for source in sources if (wish := source(glance)) is not None])


def needs_of(glance: Glance, wishes: tuple[Wish, ...], heat: Saturation) -> tuple[Need, ...]:
    """What each container that may be sized needs in total."""
    return tuple(
        [_need(glance, one, wishes, heat) for one in glance.standing if one.container not in glance.switched_off]
    )


def _need(glance: Glance, one: Standing, wishes: tuple[Wish, ...], heat: Saturation) -> Need:
    totals: dict[str, Total] = {}
    asked: list[tuple[str, Total]] = []
    controlled = allowed(glance.hvpa, one.container).controlled
    for resource in controlled:
        place, now = (one.container, resource), one.totals[resource]
        total = total_of(place, now, wishes)
        asked += [(resource, _asked(wish, place)) for wish in wishes if place in wish.totals]
        if place in heat.twice:
            hot = Total(heat.twice[place].total(glance.replicas), SATURATED)
            asked.append((resource, hot))
            total = hot if total is None or hot.amount > total.amount else total
        if total is not None:
            totals[resource] = total
    direction = direction_of(one.totals, {resource: total.amount for resource, total in totals.items()})
    return Need(
        one, totals, tuple(asked), direction, saturated=any((one.container, r) in heat.twice for r in controlled)
    )


def _asked(wish: Wish, place: Place) -> Total:
    return Total(wish.totals[place], wish.source, wish.bounded.get(place, ""))


def gate_of(glance: Glance, need: Need, *, missing: bool) -> Gate:
    """Whether a container may move now; the first gate that blocks counts."""
    if need.direction == "none":
        return OPEN
    urgent = bool(glance.urgency)
    door = time_gate(glance.hvpa, need.direction, glance.last_scale, glance.seen.now, urgent=urgent)
    if door != OPEN:
        return door
    if need.direction == "down" and missing:
        return MISSING
    if need.direction == "up" and (urgent or need.saturated):
        return OPEN
    return change_gate(glance.hvpa, need.direction, need.standing.totals, need.amounts)


def forbidding(hvpa: Hvpa) -> list[Problem]:
    """The errors that nothing can be decided with."""
    return [problem for problem in refusals(hvpa) if _forbids(problem)]


def _forbids(problem: Problem) -> bool:
    """Whether nothing can be decided with this; a knob that cannot be read has a default."""
    return problem.rule == "recommendations" or (problem.where[0] == "spec" and problem.rule != "knob")


def _silence(hvpa: Hvpa) -> str:
    return "every container is switched off" if hvpa.uses_vpa else "no source is switched on"


def paradox_gate(hvpa: Hvpa, need: Need, current: int, voted: int) -> Gate:
    """Going down, replicas are not taken away while that would make every pod larger."""
    if need.direction != "down" or voted >= current or not grows_while_shrinking(hvpa, need, current, voted):
        return OPEN
    words = f"with {voted} replicas each pod would have to grow although the total falls"
    return Gate("ParadoxicalScaling", words)


class _Pass(HvpaTelling):
    """One pass, in the order of the stages."""

    def __init__(self, hvpa: Hvpa, seen: Seen, memory: Memory, settings: Settings, sources: Sequence[Source]) -> None:
        super().__init__(hvpa, seen, memory)
        self.settings, self.sources = settings, sources
        # Whether some source has no answer, and whether any measures what pods use.
        self.missing = self.measures = False

    def run(self) -> tuple[Move, Memory]:
        problems = forbidding(self.hvpa)
        if problems:
            return self._bad_spec("; ".join(str(problem) for problem in problems))
        if self.hvpa.is_weight_based:
            return self._bad_spec("weightBasedScalingIntervals are not decided by: write scalingIntervals")
        scale = self.seen.scale
        if isinstance(scale, Failure):
            self.no_scale(scale, "FailedGetScale")
            self.told.pop("AbleToScale", None)
            self.condition("Ready", "False", "FailedGetScale", scale.message)
            return self._undecided(None)
        self.condition("Ready", "True", "TargetRead", "the target and its scale were read")
        self.vertical = self.vertical.counted(scale.replicas, self.now)
        if scale.replicas == 0:
            self.step("restrain", "scaling-disabled", 0, 0, "The target has zero replicas: it stays off.")
            return self._finish(scale, 0, "")
        return self._decided(scale)

    def _bad_spec(self, words: str) -> tuple[Move, Memory]:
        self.condition("Ready", "False", "InvalidSpec", words)
        self.step("observe", "bad-spec", None, None, sentence(words))
        self.failed(words, "spec")
        return self._undecided(self.seen.scale.replicas if isinstance(self.seen.scale, Scale) else None)

    def _decided(self, scale: Scale) -> tuple[Move, Memory]:
        glance = self._look(scale)
        if not glance.standing:
            words = "neither a pod nor the target's pod template is there, so no size is known"
            return self._no_recommendation(scale, words)
        wishes = recommend(glance, self.sources)
        self.steps += [step for wish in wishes for step in wish.steps]
        heat = self._heat(glance)
        missing = [wish.missing for wish in wishes if wish.missing]
        if not any(wish.totals or wish.replicas is not None for wish in wishes) and not heat.twice:
            return self._no_recommendation(scale, missing[0] if missing else _silence(self.hvpa))
        self.tell_recommendations(missing)
        self.missing, self.measures = bool(missing), any(wish.measured for wish in wishes)
        needs = needs_of(glance, wishes, heat)
        for need in needs:
            self.tell_need(need)
        advice = next((wish.advice for wish in wishes if wish.advice), {})
        self.vertical = self.vertical.learnt(advice)
        return self._resolved(glance, needs, wishes)

    def _look(self, scale: Scale) -> Glance:
        standings = standing(self.seen, scale.replicas)
        off = frozenset([one.container for one in standings if allowed(self.hvpa, one.container).switched_off])
        self.sizes = self.desired_sizes = tuple([one.size for one in standings])
        urgent = self.urgent = urgency(self.seen, standings, off, self.vertical.last_up, self.memory.last_scale)
        if urgent:
            words = f"{urgent}: upwards neither stabilisation nor the minimum change holds back"
            self.step("observe", "urgent", None, None, sentence(words))
        return Glance(
            self.hvpa, self.seen, scale, standings, off, self.memory.last_scale, self.vertical, self.settings, urgent
        )

    def _heat(self, glance: Glance) -> Saturation:
        names = [one.container for one in glance.standing if one.container not in glance.switched_off]
        heat = saturation(self.seen, names, self.vertical.hot)
        if heat.hot != self.vertical.hot:
            self.vertical = replace(self.vertical, hot=heat.hot)
        self.tell_heat(heat, glance.replicas)
        return heat

    def _no_recommendation(self, scale: Scale, words: str) -> tuple[Move, Memory]:
        self.condition("RecommendationProvided", "False", "NoRecommendation", words)
        self.step("resolve", "hold-on-failure", scale.replicas, scale.replicas, sentence(f"{words}: nothing moves"))
        self.failed(words, "internal")
        return self._undecided(scale.replicas)

    def _vote(self, glance: Glance, need: Need) -> Vote | None:
        """What one container votes for now; who is held keeps the count, and who waits says nothing by itself."""
        current = glance.replicas
        if not need.totals:
            # Nobody has measured it yet, so nobody knows whether fewer would do.
            return Vote(current, need.container) if self.measures else None
        door = gate_of(glance, need, missing=self.missing)
        if door == OPEN:
            return vote_of(self.hvpa, need, current)
        self._block(need, door)
        return Vote(current, need.container) if door.reason in _HOLDS else None

    def _block(self, need: Need, door: Gate) -> None:
        self.blocked[need.container] = door
        words = "stays as it is" if door.reason in _HOLDS else "waits, unless others move"
        self.step("restrain", kebab(door.reason), None, None, f"{need.container} {words}: {door.words}.")

    def _count_votes(self, glance: Glance, wishes: tuple[Wish, ...]) -> list[Vote]:
        """Votes for a count alone; they too wait for their time."""
        low, high = counts_of(self.hvpa)
        asked = [(wish.source, min(max(wish.replicas, low), high)) for wish in wishes if wish.replicas is not None]
        return [Vote(self._in_time(glance, source, count), source=source) for source, count in asked]

    def _in_time(self, glance: Glance, source: str, count: int) -> int:
        """This count where it may be gone to now, else the one that is there."""
        current = glance.replicas
        if count == current:
            return current
        direction: Direction = "up" if count > current else "down"
        door = time_gate(self.hvpa, direction, glance.last_scale, self.now, urgent=bool(glance.urgency))
        if door == OPEN and direction == "down" and self.missing:
            door = MISSING
        if door == OPEN:
            return count
        self.blocked[f"replicas by {source}"] = door
        self.step("restrain", kebab(door.reason), count, current, sentence(door.words))
        return current

    def _resolved(self, glance: Glance, needs: tuple[Need, ...], wishes: tuple[Wish, ...]) -> tuple[Move, Memory]:
        current = glance.replicas
        votes = [vote for need in needs if (vote := self._vote(glance, need)) is not None]
        votes += self._count_votes(glance, wishes)
        if self.missing:
            votes.append(Vote(current))
        sized_needs = [need for need in needs if need.totals]
        free = [need for need in sized_needs if need.container not in self.blocked]
        waiting = [need for need in sized_needs if need.container in self.blocked and self._waits(need)]
        reach = self._reach(glance, held=len(free) + len(waiting) < len(sized_needs))
        point, frozen = self._settled(current, free, votes, reach)
        if waiting and point.changes(current, self.sizes):
            # They move along with the others, and keep what they need.
            votes += [vote for need in waiting if (vote := vote_of(self.hvpa, need, current)) is not None]
            point, frozen = self._settled(current, [*free, *waiting], votes, reach)
        for need, door in frozen:
            self._block(need, door)
        reason = self.tell_vote(current, point)
        self.desired_sizes = tuple([point.size_of(size) for size in self.sizes])
        for need in needs:
            if need.container in point.results:
                self.tell_size(need, point.results[need.container], point.replicas)
        replicas = self._in_ranges(current, point.replicas)
        self.tell_limits(needs)
        reason = reason if replicas == point.replicas else ""
        self._catch_up([need for need in needs if need.direction == "up" and need.container in point.results], replicas)
        return self._finish(glance.scale, replicas, reason or self.size_reason(needs))

    def _catch_up(self, rising: list[Need], replicas: int) -> None:
        """The largest pod may have what all are to have, and others lack it, because an earlier move ended half way."""
        plan = self.memory.plan
        sizes = controlled(self.hvpa, self.desired_sizes)
        if plan is not None and not needs_more(plan.sizes, plan.replicas, sizes, replicas):
            return
        wanted = {size.container: size.requests for size in self.desired_sizes}
        behind = [need.container for need in rising if self._is_behind(need.standing, wanted[need.container])]
        if behind:
            self.catches_up = True
            words = f"{' and '.join(behind)}: the largest pod has the size, and others are to follow"
            self.step("resolve", "catch-up", None, None, sentence(words))

    def _is_behind(self, one: Standing, wanted: Mapping[str, int]) -> bool:
        """Whether a pod lacks what there is not to be less of."""
        had = {r: one.requests[r] for r in allowed(self.hvpa, one.container).controlled if r in one.requests}
        return any(wanted.get(r, 0) >= amount > one.least[r] for r, amount in had.items())

    def _in_ranges(self, current: int, replicas: int) -> int:
        """The count, with sizes that the namespace takes; nothing moves where that is less in total than there is."""
        had, wanted = self.sizes, self.desired_sizes
        taken = in_ranges(self.hvpa, self.seen, had, wanted)
        if taken == wanted:
            return replicas
        too_few = loses(had, current, wanted, taken, replicas)
        self.tell_ranges(wanted, taken, stays=too_few)
        self.desired_sizes = had if too_few else taken
        return current if too_few else replicas

    def _settled(
        self, current: int, moving: list[Need], votes: list[Vote], reach: tuple[int, int]
    ) -> tuple[Point, list[tuple[Need, Gate]]]:
        """Where the votes come to, unless that takes replicas away from pods that would have to grow for it."""
        point = self._point(current, moving, votes, reach)
        doors = [(need, paradox_gate(self.hvpa, need, current, point.replicas)) for need in moving]
        frozen = [(need, door) for need, door in doors if door != OPEN]
        if not frozen:
            return point, []
        votes = [*votes, Vote(current)]
        point = self._point(current, moving, votes, reach)
        if point.replicas != current:
            # No interval is for so many: then fewer and larger ones it is.
            return point, []
        others = [need for need, door in doors if door == OPEN]
        return self._point(current, others, votes, reach), frozen

    def _point(self, current: int, moving: list[Need], votes: list[Vote], reach: tuple[int, int]) -> Point:
        """The count that the votes come to, and the sizes there of those that move."""
        best = largest_vote(votes)
        desired = min(max(current if best is None else best.replicas, reach[0]), reach[1])
        # A count that nobody's total asks for spreads no total: pods keep at least their size.
        spreads = best is None or bool(best.resource)
        may_shrink = not self.missing or desired < current
        moved = [need for need in moving if need.direction != "none" or desired != current]
        results = {
            need.container: sized(self.hvpa, need, current, desired, spreads=spreads, may_shrink=may_shrink)
            for need in moved
        }
        return Point(desired, best, results)

    def _reach(self, glance: Glance, *, held: bool) -> tuple[int, int]:
        """The counts that intervals are for, and the present one where somebody left them and cannot come back yet."""
        low, high = counts_of(self.hvpa)
        current = glance.replicas
        inside = min(max(current, low), high)
        if not (held and inside < current) and self._in_time(glance, "intervals", inside) == inside:
            return low, high
        return min(low, current), max(high, current)

    def _waits(self, need: Need) -> bool:
        """Whether it is held back only by time, or because it changes too little."""
        return self.blocked[need.container].reason not in _HOLDS

    def _finish(self, scale: Scale, desired: int, reason: str) -> tuple[Move, Memory]:
        self.tell_blocked()
        return self.move(scale.replicas, desired, self.status(scale), reason=reason), self._remembered()

    def _remembered(self) -> Memory:
        return self.memory.after_deciding(None, self.vertical)

    def _undecided(self, current: int | None) -> tuple[Move, Memory]:
        old = self.hvpa.status if isinstance(self.hvpa.status, dict) else {}
        status = {key: value for key, value in old.items() if key != "conditions"}
        return self.stays(current, status), self._remembered()

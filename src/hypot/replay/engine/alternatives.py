"""Policies that hypot itself does not use, replayed for comparison: Hvpa weights, and a VPA with a horizontal step."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hypot.core.amount import RESOURCES
from hypot.kinds.base import count_of
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.hvpa.fields import MOST_REPLICAS, ScaleType
from hypot.kinds.hvpa.intervals import share_of
from hypot.kinds.hvpa.weights import Weight
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.allowed import allowed
from hypot.kinds.vpa.fields import amounts_of, policy_of
from hypot.kinds.vpa.knobs import Knobs, for_container, knobs_from
from hypot.policy.decide import decide
from hypot.policy.hvpa.gates import in_window
from hypot.policy.hvpa.urgency import urgency
from hypot.policy.model.current_size import CurrentSize, current_size
from hypot.policy.model.decision import Decision, Name, Step
from hypot.policy.model.seen import Bounds, Failure, Seen
from hypot.policy.model.size import Size, briefly
from hypot.policy.model.state import State
from hypot.policy.vertical import vpa
from hypot.policy.vertical.fit import capped
from hypot.replay.engine.deciders import Decider, Feed, Scene, carry_out
from hypot.replay.numbers.plan import NumericPlan, no_plan
from hypot.replay.policies.vpa_step import SizeRange, stepped
from hypot.replay.policies.weights import Blend, Direction, Situation, is_count_limited, released
from hypot.replay.world.lifecycle import scale_to
from hypot.replay.world.record import Moment


def blend_of(hvpa: Hvpa, container: str) -> Blend:
    """What the released HVPA controller reads from a manifest with weights."""
    first, last = hvpa.min_replicas, hvpa.max_replicas or MOST_REPLICAS
    counts, sizes = hvpa.hpa, hvpa.vpa
    return Blend(
        tuple([Weight(w.vpa_weight or 0, w.start or first, w.last or last) for w in hvpa.weights or ()]),
        _direction(counts.scale_up if counts else None),
        _direction(counts.scale_down if counts else None),
        _direction(sizes.scale_up if sizes else None),
        _direction(sizes.scale_down if sizes else None),
        requests_only=frozenset([container]) if allowed(hvpa, container).requests_only else frozenset(),
    )


def _direction(written: ScaleType | None) -> Direction:
    kind = written or ScaleType()
    mode = kind.mode if kind.mode in {"Auto", "Off", "MaintenanceWindow"} else "Auto"
    least = {resource: share_of(kind.min_change, resource) for resource in RESOURCES}
    return Direction(mode, kind.stabilization_seconds or 0.0, least)  # type: ignore[arg-type]


@dataclass(slots=True)
class Weighted:
    """The released HVPA controller: blends the proposals of an HPA and a VPA by weights."""

    hvpa: Hvpa
    blend: Blend
    every: float
    feed: Feed
    state: State = field(default_factory=State)
    last: float | None = None
    last_up: float | None = None
    plan: NumericPlan = field(default_factory=no_plan)

    def step(self, scene: Scene, i: int, now: float) -> None:
        seen = scene.observer.seen(i, now, self.feed.view())
        child = hpa_of(self.hvpa)
        asked, self.state = decide(child, seen, self.state, scene.settings)
        has = current_size(seen, scene.s.asked[0])
        blended = released(self.blend, self._situation(seen, has, asked, scene))
        sizes = tuple([one.size for one in has])
        decision = self._decision(asked, blended.replicas, sizes, blended.sizes, sorted(blended.blocked))
        if carry_out(scene, self.plan, self.hvpa, decision, now):
            self.last = now
            self.last_up = now if decision.grows else self.last_up

    def _situation(self, seen: Seen, has: tuple[CurrentSize, ...], asked: Decision, scene: Scene) -> Situation:
        urgent = urgency(seen, has, frozenset(), self.last_up, self.last)
        return Situation(
            scene.s.asked[0],
            asked.desired if asked.decided else None,
            is_count_limited(asked),
            tuple([one.size for one in has]),
            {bounds.container: bounds.target for bounds in self._targets(seen, scene)},
            None if self.last is None else seen.now - self.last,
            in_window(self.hvpa, seen.now),
            bool(urgent),
        )

    def _targets(self, seen: Seen, scene: Scene) -> Iterable[Bounds]:
        usage, policies = seen.usage, self.hvpa.container_policies
        if usage is None:
            return ()
        name, knobs = scene.container, knobs_from(self.hvpa.knob_annotations, scene.settings.vpa)
        own = {name: for_container(knobs, policy_of(policies, name))}
        found = usage.estimate(own, [name], {name: allowed(self.hvpa, name).controlled})
        return capped(found, policies, knobs)

    def _decision(
        self, asked: Decision, replicas: int, sizes: tuple[Size, ...], wanted: tuple[Size, ...], blocked: list[str]
    ) -> Decision:
        reported = "; ".join(f"{size.container} {', '.join(briefly(size.requests).values())}" for size in wanted)
        held = f", held by {', '.join(blocked)}" if blocked else ""
        message = f"Blended by weights: {count_of(replicas, 'replica')} of {reported}{held}."
        step = Step("resolve", "weights", asked.current, replicas, message)
        return asked._replace(
            autoscaler=Name(self.hvpa.API_VERSION, self.hvpa.KIND, self.hvpa.namespace, self.hvpa.name),
            desired=replicas,
            reason="blended by weights",
            steps=(*asked.steps, step),
            sizes=sizes,
            desired_sizes=wanted,
            decided=True,
            event_periods=(None, None),
        )


@dataclass(slots=True)
class Stepping:
    """A VerticalPodAutoscaler that adds or removes a replica when the needed size leaves the allowed range."""

    sizing: Decider
    autoscaler: VPA
    bounds: tuple[int, int]
    every: float
    feed: Feed
    last: float | None = None

    def step(self, scene: Scene, i: int, now: float) -> None:
        self.sizing.step(scene, i, now)
        seen = scene.observer.seen(i, now, self.feed.view())
        knobs: Knobs = knobs_from(self.autoscaler.annotations, scene.settings.vpa)
        advice = vpa.recommend(self.autoscaler, seen, knobs)
        if isinstance(advice, Failure):
            return
        own = policy_of(self.autoscaler.resource_policy, scene.container)
        least = amounts_of(own.min_allowed) if own else {}
        most = amounts_of(own.max_allowed) if own else {}
        needed = next((b.target for b in advice.containers if b.container == scene.container), {})
        current = scene.s.asked[0]
        since = None if self.last is None else now - self.last
        replicas, step = stepped(needed, SizeRange(least, most, *self.bounds), current, since)
        if replicas == current:
            return
        kind = self.autoscaler
        decision = Decision(
            Name(kind.API_VERSION, kind.KIND, kind.namespace, kind.name),
            Name("apps/v1", "Deployment", kind.namespace, scene.observer.workload),
            now,
            current,
            replicas,
            step.sentence,
            (step,),
            (),
            (),
        )
        scene.moments.append(Moment(now, decision))
        scale_to(scene.c, scene.s, scene.p, replicas, now)
        self.last = now

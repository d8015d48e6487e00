"""One decision of a VerticalPodAutoscaler: what each container should have, and which running pods get it now."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hypot.core.amount import RESOURCES, brief, show
from hypot.kinds.problem import Problem
from hypot.kinds.vpa import VPA, with_defaults
from hypot.kinds.vpa.fields import DEFAULT_RECOMMENDER, ResourcePolicy, policy_of
from hypot.kinds.vpa.knobs import Knobs, for_container, for_updates, knobs_from
from hypot.policy.model.current_size import current_size, live
from hypot.policy.model.decision import Event, Move, MoveReport, PodAction
from hypot.policy.model.seen import Bounds, Container, Failure, Pod, Recommendation, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size, briefly
from hypot.policy.model.state import State
from hypot.policy.stages.report import Effect, Findings, Refusal, sentence
from hypot.policy.vertical.act import UpdatePlan, plan
from hypot.policy.vertical.fit import Fitted, capped, fit, is_off, with_integer_cpu

NO_PODS = "No pods match this VPA object"
# For these recommenders hypot reads its own histograms; for any other it reads the recommendation in the status.
_LIKE_OURS = {DEFAULT_RECOMMENDER, "hypot"}


def decide(vpa: VPA, seen: Seen, state: State, settings: Settings) -> tuple[Move, State]:
    """Decide what the recommender and the updater do now and why; also return the new state."""
    return _VpaPass(with_defaults(vpa), seen, state, settings).run()


def recommend(vpa: VPA, seen: Seen, knobs: Knobs) -> Recommendation | Failure:
    """What each container needs: from histograms if there are any, else from the status."""
    if seen.usage is None or not follows_ours(vpa):
        advice = seen.size_advice
        return advice or Failure("there is neither a history of usage nor a recommendation in the status")
    there = {one.container for one in current_size(seen, 1)}
    policy = vpa.resource_policy
    known = [c for c in seen.usage.containers() if not there or c in there]
    sized = [c for c in known if not is_off(policy, c)]
    if known and not sized:
        return Failure("every container has mode Off")
    each = {c: for_container(knobs, policy_of(policy, c)) for c in sized}
    found = seen.usage.estimate(each, sized, {c: controlled(policy, c) for c in sized})
    if not found:
        return Failure("the history of usage has no samples of the existing containers")
    return Recommendation(found, "histograms of usage")


def follows_ours(vpa: VPA) -> bool:
    """Whether this VPA uses a recommender that reads the histograms of hypot."""
    return {ref.name for ref in vpa.recommenders or () if ref.name} <= _LIKE_OURS


def resolve(vpa: VPA, advice: Recommendation, knobs: Knobs) -> tuple[Bounds, ...]:
    """The recommendation within what the object allows."""
    found = capped(with_integer_cpu(advice.containers, vpa.annotations), vpa.resource_policy, knobs)
    return tuple(sorted(found, key=lambda bounds: bounds.container))


def restrain(
    vpa: VPA, seen: Seen, bounds: tuple[Bounds, ...], knobs: Knobs, state: State, settings: Settings
) -> tuple[Mapping[str, Fitted], UpdatePlan]:
    """The recommendation fitted to each pod, and which pods are changed now."""
    if seen.others:
        oldest = f"VerticalPodAutoscaler {seen.others[0]} is older and sizes the same pods: only the oldest acts."
        left = tuple(
            [PodAction(pod.name, "none", "older-vpa", oldest) for pod in sorted(seen.pods, key=lambda pod: pod.name)]
        )
        return {}, UpdatePlan(left, state.vertical.stuck, state.vertical.infeasible)
    fitted = _fitted(vpa, seen, bounds)
    done = plan(
        seen.pods,
        fitted,
        vpa.update_policy,
        vpa.resource_policy,
        seen.controllers,
        seen.nodes,
        for_updates(knobs, vpa.update_policy),
        settings.kubernetes,
        seen.now,
        state.vertical.stuck,
        state.vertical.infeasible,
    )
    return fitted, done


def _fitted(vpa: VPA, seen: Seen, bounds: tuple[Bounds, ...]) -> dict[str, Fitted]:
    """The recommendation fitted to each pod; it is computed once for identical pods."""
    known: list[tuple[tuple[Container, ...], Fitted]] = []
    found: dict[str, Fitted] = {}
    for pod in seen.pods:
        made = next((fitted for containers, fitted in known if containers == pod.containers), None)
        if made is None:
            made = fit(bounds, vpa.resource_policy, pod, seen.limit_ranges)
            known.append((pod.containers, made))
        found[pod.name] = made
    return found


def controlled(policy: ResourcePolicy | None, container: str) -> tuple[str, ...]:
    """Which resources of a container are sized; an empty list means none."""
    own = policy_of(policy, container)
    if own is None or own.controlled_resources is None:
        return RESOURCES
    return tuple(own.controlled_resources)


def forbids(problem: Problem) -> bool:
    """Whether this problem prevents a decision. Unknown fields may come from a newer cluster; knobs have defaults."""
    return problem.severity == "error" and problem.where[0] == "spec" and problem.rule not in {"unknown-field", "knob"}


class VpaReport(NamedTuple):
    type: str
    status: str
    reason: str = ""
    message: str = ""


def conditions_of(*, pods_matched: bool, recommended: bool) -> tuple[VpaReport, ...]:
    """The recommender's conditions; NoPodsMatched is set only while no pods match."""
    missing = ("NoPodsMatched", NO_PODS)
    provided = VpaReport("RecommendationProvided", str(recommended), *(() if recommended or pods_matched else missing))
    return (provided,) if pods_matched else (provided, VpaReport("NoPodsMatched", "True", *missing))


def report(_vpa: VPA, move: Move, _state: State, _settings: Settings, _effect: Effect) -> MoveReport:
    """The report after pods were changed."""
    events = [
        Event("Normal", reason, f"{one.pod}: {one.sentence}", one.pod)
        for action, reason in (("resize", "InPlaceResizedByVPA"), ("evict", "EvictedPod"))
        for one in move.actions
        if one.action == action
    ]
    return MoveReport(move.unwritten, tuple(events))


def refused(_vpa: VPA, _move: Move, _state: State, message: str) -> Refusal:
    """The report of a status that could not be written."""
    return Refusal("RecommendationProvided", "FailedUpdate", "FailedUpdate", message)


class _VpaPass(Findings):
    """One pass of the recommender, then of the updater."""

    def __init__(self, vpa: VPA, seen: Seen, state: State, settings: Settings) -> None:
        super().__init__(vpa, seen, state)
        self.vpa, self.settings = vpa, settings
        self.knobs = knobs_from(vpa.annotations, settings.vpa)
        self.unknown += list(seen.notes)

    def run(self) -> tuple[Move, State]:
        problems = [p for p in self.vpa.problems() if forbids(p)]
        if problems:
            message = "; ".join(str(p) for p in problems)
            self.step("observe", "bad-spec", None, None, sentence(message))
            self.failed(message, "spec")
            return self._undecided()
        scale = self.seen.scale
        if isinstance(scale, Failure):
            message = f"the target cannot be read: {scale.message}"
            self.condition("ConfigUnsupported", "True", "", message)
            self.step("observe", "no-target", None, None, sentence(message))
            self.failed(scale.message, scale.kind)
            return self._undecided()
        self.reported.pop("ConfigUnsupported", None)
        self.reported.pop("ConfigDeprecated", None)
        self.sizes = self.desired_sizes = tuple([one.size for one in current_size(self.seen, scale.replicas)])
        return self._decided(scale)

    def _decided(self, scale: Scale) -> tuple[Move, State]:
        advice = recommend(self.vpa, self.seen, self.knobs)
        matched = bool(live(self.seen.pods))
        self._report_conditions(matched=matched, recommended=not isinstance(advice, Failure))
        if isinstance(advice, Failure):
            self.step("recommend", "no-size", None, None, sentence(f"no size is recommended: {advice.message}"))
            self.failed(advice.message, advice.kind)
            return self._undecided(scale)
        bounds = resolve(self.vpa, advice, self.knobs)
        self._report_advice(advice, bounds)
        fitted, done = restrain(self.vpa, self.seen, bounds, self.knobs, self.state, self.settings)
        self.desired_sizes = self._desired(bounds)
        self._report_fitting(fitted)
        self._report_plan(done)
        return self._finish(scale, bounds, done)

    def _report_conditions(self, *, matched: bool, recommended: bool) -> None:
        self.reported.pop("NoPodsMatched", None)
        for reported in conditions_of(pods_matched=matched, recommended=recommended):
            self.condition(*reported)

    def _report_advice(self, advice: Recommendation, bounds: Iterable[Bounds]) -> None:
        raw = {each.container: each for each in advice.containers}
        for each in bounds:
            found = raw[each.container]
            message = f"{each.container}, by the {advice.origin}: {_ranges(found)}"
            numbers = {"container": each.container, "origin": advice.origin, "target": _shown(found.target)}
            self.step("recommend", "size", None, None, f"{message}.", numbers)
            if each.target != found.target:
                message = f"{each.container}: the target within what the object allows is {_listed(each.target)}"
                self.step("resolve", "allowed", None, None, f"{message}.", {"target": _shown(each.target)})

    def _desired(self, bounds: tuple[Bounds, ...]) -> tuple[Size, ...]:
        """The size of a new pod: fitted to the pod template, else to an existing pod."""
        models = [Pod("", containers=self.seen.template)] if self.seen.template else live(self.seen.pods)[:1]
        if not models:
            return self.sizes
        fitted = fit(bounds, self.vpa.resource_policy, models[0], self.seen.limit_ranges)
        made = {size.container: size for size in fitted.sizes}
        return tuple([made.get(size.container, size) for size in self.sizes])

    def _report_fitting(self, fitted: Mapping[str, Fitted]) -> None:
        """Report what was cut, once for all affected pods."""
        notes = Counter(
            f"{container}: {note}"
            for each in fitted.values()
            for container, said in each.notes.items()
            for note in said
        )
        for note, count in sorted(notes.items()):
            self.step("resolve", "fitted", None, None, f"{note}, in {count} of {len(fitted)} pods.")

    def _report_plan(self, done: UpdatePlan) -> None:
        self.actions = done.actions
        if not done.actions:
            self.step("restrain", "no-pods", None, None, "No pods match: new pods get the recommended size.")
        for (action, rule), alike in _grouped(done).items():
            names = [one.pod for one in alike]
            more = f" (the first of {len(alike)})" if len(alike) > 1 else ""
            message = f"{names[0]}{more}: {_lower(alike[0].sentence)}"
            self.step("restrain", rule, None, None, message, {"action": action, "pods": names})

    def _finish(self, scale: Scale, bounds: tuple[Bounds, ...], done: UpdatePlan) -> tuple[Move, State]:
        counts: Counter[str] = Counter(action.action for action in done.actions)
        message = [f"{counts[a]} of {len(done.actions)} pods {w}" for a, w in _DONE.items() if counts[a]]
        count, status = scale.replicas, self._status(bounds)
        move = self.move(count, count, status, reason=", ".join(message), by_pod=True)
        advice = {each.container: dict(each.target) for each in bounds}
        vertical = replace(
            self.state.vertical.learnt(advice),
            stuck=done.stuck,
            infeasible=done.infeasible,
        )
        return move, self.state.after_deciding(None, vertical)

    def _undecided(self, scale: Scale | None = None) -> tuple[Move, State]:
        move = self.stays(scale.replicas if scale else None, self.kept_status(), by_pod=True)
        return move, self.state.after_deciding(None)

    def _status(self, bounds: Iterable[Bounds]) -> dict[str, Any]:
        status: dict[str, Any] = {
            "recommendation": {"containerRecommendations": [_recommended(each) for each in bounds]}
        }
        generation = self.vpa.metadata.get("generation")
        return status if generation is None else {**status, "observedGeneration": generation}


_DONE = {"resize": "resized in place", "evict": "evicted"}


def _grouped(done: UpdatePlan) -> dict[tuple[str, str], list[PodAction]]:
    found: dict[tuple[str, str], list[PodAction]] = {}
    for action in done.actions:
        found.setdefault((action.action, action.rule), []).append(action)
    return found


def _lower(message: str) -> str:
    return f"{message[:1].lower()}{message[1:]}"


def _recommended(bounds: Bounds) -> dict[str, Any]:
    parts = {
        "target": bounds.target,
        "lowerBound": bounds.lower,
        "upperBound": bounds.upper,
        "uncappedTarget": bounds.uncapped,
    }
    return {"containerName": bounds.container, **{key: _shown(amounts) for key, amounts in parts.items() if amounts}}


def _shown(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: show(resource, amounts[resource]) for resource in RESOURCES if resource in amounts}


def _listed(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{resource} {amount}" for resource, amount in briefly(amounts).items()) or "nothing"


def _ranges(bounds: Bounds) -> str:
    parts = []
    for resource, target in briefly(bounds.target).items():
        lower, upper = bounds.lower.get(resource), bounds.upper.get(resource)
        between = "" if lower is None or upper is None else f" ({brief(resource, lower)} to {brief(resource, upper)})"
        parts.append(f"{resource} {target}{between}")
    return ", ".join(parts) or "nothing"

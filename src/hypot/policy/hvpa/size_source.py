"""The size recommendation as a source: what each pod needs at the current count, times the count."""

from collections.abc import Mapping

from hypot.core.amount import CPU, RESOURCES, brief
from hypot.core.axes.gate import AT_LEAST, AT_MOST, EXACTLY, FREE, UNSET, belief, held_to, learned_total
from hypot.kinds.base import count_of
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.hvpa.gates import settle_time
from hypot.policy.hvpa.proposal import Bound, HvpaContext, SizeProposal, kept_step
from hypot.policy.model.decision import Step, show_seconds
from hypot.policy.model.seen import Bounds, Failure, Recommendation
from hypot.policy.model.size import Place, briefly, shown
from hypot.policy.stages.estimate import estimated, knobs_for
from hypot.policy.stages.report import sentence

NAME = "vpa"
# The bounds as text.
BOUNDS: dict[int, Bound] = {FREE: "", AT_MOST: "at most", AT_LEAST: "at least", EXACTLY: "exactly"}


def size_proposal(context: HvpaContext) -> SizeProposal | None:
    """Totals from our own recommender, or from a VPA's status if configured or if there are no histograms."""
    if not context.hvpa.uses_vpa or all(one.container in context.switched_off for one in context.current_sizes):
        return None
    found = advised(context)
    if isinstance(found, Failure):
        step = Step("recommend", "no-size", None, None, sentence(f"no size is recommended: {found.message}"))
        return SizeProposal(NAME, (step,), measured=True, missing=found.message)
    return _proposal(context, found)


def advised(context: HvpaContext) -> Recommendation | Failure:
    """The recommendation. Our own recommender reads histograms; without them, the status of a VPA may have one."""
    seen = context.seen
    if context.hvpa.recommendations == "own" and seen.usage is not None:
        return Recommendation(_estimated(context), "histograms of usage")
    if seen.size_advice is not None:
        return seen.size_advice
    return Failure("there is neither a history of usage nor a VerticalPodAutoscaler with a recommendation")


def _estimated(context: HvpaContext) -> tuple[Bounds, ...]:
    names = [one.container for one in context.current_sizes if one.container not in context.switched_off]
    resources = {name: allowed(context.hvpa, name).controlled for name in names}
    return estimated(context.hvpa, context.seen.usage, resources, context.settings.vpa)


def _proposal(context: HvpaContext, found: Recommendation) -> SizeProposal:
    replicas = context.replicas
    current_size = {one.container: one for one in context.current_sizes}
    totals: dict[Place, int] = {}
    advice: dict[str, dict[str, int]] = {}
    bounded: dict[Place, Bound] = {}
    raised: dict[Place, tuple[int, int]] = {}
    stale: list[str] = []
    kept: list[Step] = []
    own = context.hvpa.recommendations == "own"
    for bounds in found.containers:
        name = bounds.container
        if name not in current_size or name in context.switched_off:
            continue
        # The cap of one pod does not cap the need of all pods: from our own recommender use the uncapped target.
        target = bounds.uncapped if own and bounds.uncapped and context.seen.usage is not None else bounds.target
        advice[name] = {resource: target[resource] for resource in RESOURCES if resource in target}
        for resource, amount in advice[name].items():
            place, now = (name, resource), current_size[name].totals[resource]
            total, bound = _learned(context, name, resource, amount)
            learned, least = held_to(total, now, bound), context.least_kept(place, now)
            totals[place] = max(learned, least)
            # A total that was held at what is there asks for no other count.
            bounded[place] = BOUNDS[EXACTLY if bound != FREE and totals[place] == now else bound]
            if learned != amount * replicas:
                stale.append(f"{resource} of {name} ({brief(resource, amount)} per pod)")
            if least > learned:
                kept.append(kept_step(place, least))
            before = _before_it_rose(context, name, resource)
            if before is not None:
                raised[place] = before
    steps = [_advice_step(advice, found.origin, replicas)]
    if stale:
        steps.append(_report_stale(context, stale))
    steps += kept
    missing = "" if totals else f"there is no recommendation for the existing containers in the {found.origin}"
    return SizeProposal(
        NAME, tuple(steps), totals, measured=True, advice=advice, bounded=bounded, raised=raised, missing=missing
    )


def _learned(context: HvpaContext, container: str, resource: str, amount: int) -> tuple[int, int]:
    """The total of a recommendation, and in which direction it must not move anything; see `core.gate.belief`."""
    recount = context.vertical.recount
    if recount is None:
        return amount * context.replicas, FREE
    knobs = knobs_for(context.hvpa, container, context.settings.vpa)
    half_life = knobs.cpu_half_life if resource == CPU else knobs.memory_half_life
    then = recount.advice.get(container, {}).get(resource, UNSET)
    counts, settle = (recount.before, recount.after), settle_time(context.hvpa)
    bound = belief(recount.at, *counts, then, amount, settle, half_life, bool(context.urgency), context.seen.now)
    return learned_total(amount, *counts, then, bound, resource == CPU), bound


def _before_it_rose(context: HvpaContext, container: str, resource: str) -> tuple[int, int] | None:
    """The total before the count rose, and that count; None if it did not rise lately."""
    recount = context.vertical.recount
    if recount is None or recount.after <= recount.before:
        return None
    then = recount.advice.get(container, {}).get(resource)
    return None if then is None else (then * recount.before, recount.before)


def _advice_step(advice: Mapping[str, Mapping[str, int]], origin: str, replicas: int) -> Step:
    message = "; ".join(f"{name} {_listed(briefly(target))}" for name, target in advice.items()) or "nothing"
    whose = "the one pod" if replicas == 1 else f"each of the {replicas} pods"
    text = f"According to the {origin} {whose} needs: {message}."
    numbers = {"origin": origin, "targets": {name: shown(target) for name, target in advice.items()}}
    return Step("recommend", "size", None, None, text, numbers)


def _listed(target: Mapping[str, str]) -> str:
    return ", ".join(f"{resource} {amount}" for resource, amount in target.items()) or "nothing"


def _report_stale(context: HvpaContext, places: list[str]) -> Step:
    recount = context.vertical.recount
    if recount is None:
        raise AssertionError("only a change of the count makes a recommendation stale")
    ago = show_seconds(context.seen.now - recount.at)
    one = len(places) == 1
    what, they_are = ("recommendation", "it is") if one else ("recommendations", "they are")
    message = (
        f"The {what} for {', '.join(places)} {'was' if one else 'were'} learnt from "
        f"{count_of(recount.before, 'pod')}, and there {'has' if recount.after == 1 else 'have'} been "
        f"{recount.after} for {ago}: {they_are} not applied a second time."
    )
    return Step("recommend", "stale-size", None, None, message, {"replicasAtRecommendation": recount.before})

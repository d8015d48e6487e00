"""How a decision of an Autoscaler is explained and reported."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any

from hypot.core.amount import brief, brief_pair
from hypot.core.bank.bank import HOLDS, RULES, SHADOW, RuleBank
from hypot.core.bank.decide import is_warm
from hypot.core.bank.lateness import late_share
from hypot.core.bank.learn import waits_for_pods
from hypot.core.bank.memory import use_that_fits
from hypot.core.bank.reach import cap_of
from hypot.core.bank.rule import AutoscalerPast, AutoscalerRule, ObservedLoad
from hypot.core.instant import show_time
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.status import BLOCKED, LEARNED, LIMITED, READY, in_words
from hypot.kinds.base import count_of
from hypot.policy.autoscaler.words import cores, dearer, next_best, rule_in_words
from hypot.policy.model.decision import Event, Move, MoveReport, show_seconds
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size, briefly, resources_of
from hypot.policy.model.state import State
from hypot.policy.stages.report import Effect, Findings, Refusal, sentence, summary

CONTAINERS, DESIRED = "containers", "desiredReplicas"
# A count and a size in the same words as numbers of a step.
COUNT, SIZE = "replicas", "size"
# The reasons of ScalingBlocked that are its own.
NO_METRICS, SATURATED = "NoMetrics", "Saturated"


class AutoscalerFindings(Findings):
    """The findings of one pass."""

    def __init__(self, autoscaler: WorkloadAutoscaler, seen: Seen, state: State) -> None:
        super().__init__(autoscaler, seen, state)
        self.autoscaler = autoscaler

    def report_failure(self, reason: str, message: str, *, kind: str = "internal") -> None:
        self.condition(READY, "False", reason, message)
        self.step("observe", "undecided", None, None, sentence(f"{message}: nothing changes"))
        self.failed(message, "spec" if kind == "spec" else "internal")

    def report_blind(self, rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, container: str) -> None:
        """No pod has metrics."""
        message = "no pod that serves has a sample of its usage"
        self.condition(BLOCKED, "True", NO_METRICS, f"{message}: nothing is scaled down")
        self.unknown.append(f"{message}; nothing is scaled down until one has")
        count, cpu = past.proposal.replicas[0], past.proposal.cpu[0]
        bounded = max(rule.least_pods, min(rule.most_pods, o.replicas)) if rule.counts else o.replicas
        grows = count > bounded or (rule.sizes and cpu > max(rule.least_cpu, o.cpu))
        text = f"{sentence(message)[:-1]}: {blind_reason(past) if grows else 'nothing is scaled down'}."
        self.step("recommend", "blind", o.replicas, count if grows else o.replicas, text)
        if bounded != o.replicas and count == bounded:
            self._report_bound(o.replicas, bounded)
        if rule.sizes and cpu != o.cpu:
            self._report_new_size(container, o.cpu, cpu)

    def report_demand(self, past: AutoscalerPast, o: ObservedLoad, container: str) -> None:
        proposal, learned = past.proposal, past.learned
        demand = cores(proposal.demand[0])
        numbers = {"demand": proposal.demand[0], "use": o.use, "cap": o.cap, "ready": o.ready}
        if proposal.saturated[0]:
            known = o.rate >= 0.0 and learned.work[0] > 0.0
            why = "by their requests" if known else "twice what they use"
            cap = cap_of(learned, o.cap)
            at_cap = f"{container} is at its cap of {cores(cap)} cores"
            if cap < o.cap:
                at_cap = f"{container} uses no more than {cores(cap)} cores, whatever its size"
            text = f"{at_cap}, so usage hides the demand: {demand} cores, {why}."
            self.step("observe", "saturated", None, None, text, numbers)
            self.condition(BLOCKED, "True", SATURATED, f"{at_cap}: nothing is scaled down")
            return
        each = f"{cores(o.use)} of {cores(o.cap)} cores in each of {count_of(o.ready, 'pod')}"
        self.step("observe", "demand", None, None, f"{container} uses {demand} cores: {each}.", numbers)

    def report_rule(
        self, rule: AutoscalerRule, past: AutoscalerPast, bank: RuleBank, planned: float, axis: str
    ) -> None:
        """The rule that decides one axis, and what others would have cost."""
        name, demand = rule_in_words(bank.rule[0], rule.step), cores(past.proposal.demand[0])
        numbers: dict[str, Any] = {"axis": axis, "rule": name, "planned": planned}
        if bank.priced[0] == 0 or not is_warm(rule, past, self.now):
            known = "Too little" if bank.priced[0] else "Nothing"
            text = f"{known} is priced yet, so '{name}' decides the {axis}; it plans for {cores(planned)} cores."
            self.step("recommend", "first-rule", None, None, text, numbers)
            return
        others = {rule_in_words(other, rule.step): dearer(bank, other) for other in [*next_best(bank), SHADOW]}
        numbers |= {"others": others, "steps": bank.priced[0]}
        dear = ", ".join(f"'{other}' {more}" for other, more in others.items())
        text = f"Of {RULES} rules for the {axis}, '{name}' was cheapest; demand is {demand} cores, it plans for "
        self.step(
            "recommend", "cheapest-rule", None, None, f"{text}{cores(planned)}. Compared with it: {dear}.", numbers
        )

    def report_count(self, rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, cap: float) -> None:
        proposal = past.proposal
        asked, count = proposal.asked[0], proposal.replicas[0]
        busy = f"pods pay at {proposal.use[0] / cap:.0%}".replace("%", " %")
        numbers = {"use": proposal.use[0], "cap": cap}
        self.step(
            "resolve", "cheapest-count", o.replicas, asked, f"{sentence(busy)[:-1]} of their cap: {asked}.", numbers
        )
        if asked > 1 and asked == proposal.fewest[0]:
            used = f"no pod has used more than {cores(past.learned.most_used[0])} cores so far"
            self.step("resolve", "explored", None, None, f"{sentence(used)[:-1]}, so none is planned to use much more.")
        bounded = max(rule.least_pods, min(rule.most_pods, asked))
        if bounded != asked:
            self._report_bound(asked, bounded)
        self.condition(LIMITED, bounded != asked, *_limited(bounded, asked))
        if o.replicas > rule.most_pods and bounded != rule.most_pods:
            self._report_bound(o.replicas, rule.most_pods)
        if count > bounded:
            text = f"{count} replicas stay: {self._why_kept(rule, past, 'a smaller change is not worth it')}."
            self.step("restrain", "kept-count", bounded, count, text)

    def report_size(
        self, rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, container: str, pods: int
    ) -> None:
        proposal = past.proposal
        asked, cpu = proposal.asked[1], proposal.cpu[0]
        numbers = {"asked": asked, "cpu": cpu, "pods": pods}
        text = f"{cores(proposal.planned[1])} cores on {count_of(pods, 'pod')} are cheapest with cpu"
        self.step("resolve", "cheapest-size", None, None, f"{text} {brief('cpu', asked)} each.", numbers)
        if cpu == o.cpu:
            if asked < o.cpu:
                kept = (
                    "at its minimum"
                    if o.cpu == rule.least_cpu
                    else self._why_kept(rule, past, "a shrink must be clear")
                )
                self.step("restrain", "kept-size", None, None, f"{container} stays at {brief('cpu', cpu)}: {kept}.")
            return
        why = ""
        if asked < cpu and pods * asked <= max(1, past.learned.served[0]) * o.cpu:
            why = f"{self._why_kept(rule, past, 'a shrink must be clear')}, so fewer pods keep the cpu of all"
        self._report_new_size(container, o.cpu, cpu, why)

    def _report_new_size(self, container: str, before: int, after: int, why: str = "") -> None:
        had, gets = brief_pair("cpu", before, after)
        text = f"{container} gets cpu {gets}, instead of {had}"
        self.step("restrain", "size", None, None, f"{text}{why and ': '}{why}.")

    def _report_bound(self, asked: int, bounded: int) -> None:
        word = "minimum" if bounded > asked else "maximum"
        self.step("restrain", word, asked, bounded, f"The {word} is {bounded}.")

    def report_memory(self, rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad) -> None:
        """Where memory is what keeps pods small."""
        fits = use_that_fits(past.learned) / o.ratio
        if fits * 1000.0 < rule.most_cpu:
            full = f"Memory is {o.filled:.0%} full".replace("%", " %")
            text = f"{full} at {cores(o.use)} cores: a pod that uses more than {cores(fits * o.ratio)} would not fit"
            self.step("resolve", "memory", None, None, f"{text}, so pods do not grow beyond that.")

    def report_fixed_size(self, past: AutoscalerPast, o: ObservedLoad, container: str) -> None:
        if past.proposal.cpu[0] < o.cpu:
            why = "pods restart for it, but even the busiest minute of the last day needs less than half of that"
            self._report_new_size(container, o.cpu, past.proposal.cpu[0], why)
            return
        ago = show_seconds(self.now - o.restarted)
        text = f"{container} keeps its size, because pods restarted for the last change of it, {ago} ago"
        self.step("restrain", "fixed-size", None, None, f"{text}: only the count changes.")

    def _why_kept(self, rule: AutoscalerRule, past: AutoscalerPast, usual: str) -> str:
        if waits_for_pods(rule, past.learned, self.now):
            return "some pods do not serve yet, or not any more"
        if past.proposal.saturated[0]:
            return "pods are at their cap"
        if self.now < past.learned.keeps_until[0]:
            wait = show_seconds(past.learned.keeps_until[0] - self.now)
            return f"the last {HOLDS[-1]} decisions are not known yet, so nothing is scaled down for another {wait}"
        return usual

    def report_learning(self, past: AutoscalerPast, warm: bool) -> None:
        if warm:
            self.condition(
                LEARNED,
                "True",
                "Priced",
                f"{count_of(past.counts.priced[0] or past.sizes.priced[0], 'decision')} priced",
            )
        else:
            self.condition(
                LEARNED, "False", "Beginning", "too little is known of this workload yet; a first rule decides"
            )

    def report_decided(self, acts: bool) -> None:
        if acts:
            self.condition(READY, "True", "Decided", "the count and the size were decided")
        else:
            self.condition(READY, "True", "ReportsOnly", "updateMode is Off: what it would do is only reported")

    def status(
        self, scale: Scale, rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, share: float | None
    ) -> dict[str, Any]:
        """The status if nothing changes."""
        learned, proposal = past.learned, past.proposal
        bank = past.counts if rule.counts else past.sizes
        saving = None
        if bank.priced[0] and bank.prices[SHADOW] > 0.0:
            saving = f"{1.0 - bank.prices[bank.rule[0]] / bank.prices[SHADOW]:.0%}".replace("%", " %")
        return {
            "replicas": scale.status_replicas,
            DESIRED: self.state.desired or None,
            "rule": in_words(rule_in_words(bank.rule[0], rule.step)),
            "busy": None if share is None else f"{share:.0%}".replace("%", " %"),
            "saving": saving,
            "learned": {
                key: value
                for key, value in {
                    "since": None if learned.first[0] == -inf else show_time(learned.first[0]),
                    "replicas": _in_use(past.counts, rule) if rule.counts else None,
                    "size": _in_use(past.sizes, rule) if rule.sizes else None,
                    "demand": None if proposal.demand[0] < 0.0 else f"{cores(proposal.demand[0])} cores",
                    "expected": _expected(rule, past),
                    "late": _late(past, o),
                    "reach": _reach(rule, past, o),
                    "startup": f"{show_seconds(learned.start[0])} until new pods serve",
                    "workPerRequest": None if learned.work[0] < 0.0 else f"{learned.work[0] * 1000.0:.3g} ms of a core",
                }.items()
                if value is not None
            },
        }


def blind_reason(past: AutoscalerPast) -> str:
    """Why something changes without metrics."""
    demand = past.proposal.demand[0]
    if demand < 0.0:
        return "the bounds of the autoscaler"
    return f"{cores(demand)} cores are expected, by the last samples and by other days"


def _reach(rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad) -> str | None:
    """What pods can use, if that is less than the largest of them may."""
    reach, largest = past.learned.reach[0], rule.most_cpu if rule.sizes else o.cpu
    return f"pods use at most {cores(reach)} cores" if 0.0 < reach < largest / 1000.0 * o.ratio else None


def _limited(bounded: int, asked: int) -> tuple[str, str]:
    if bounded == asked:
        return "WithinBounds", "the count is within the bounds"
    word = "TooFewReplicas" if bounded > asked else "TooManyReplicas"
    return word, f"the {'minimum' if bounded > asked else 'maximum'} is {bounded}"


def _in_use(bank: RuleBank, rule: AutoscalerRule) -> dict[str, Any]:
    since = bank.since[0]
    named = {"rule": in_words(rule_in_words(bank.rule[0], rule.step))}
    return named if since < 0.0 else {**named, "since": show_time(since)}


def _expected(rule: AutoscalerRule, past: AutoscalerPast) -> str | None:
    planned = past.proposal.planned[0 if rule.counts else 1]
    return None if planned < 0.0 else f"{cores(planned)} cores"


def _late(past: AutoscalerPast, o: ObservedLoad) -> str | None:
    if not o.known:
        return None
    cap = cap_of(past.learned, o.cap)
    share = min(1.0, late_share(past.learned.kappa[0], cap, o.use))
    return in_words(f"{100.0 * share:.2g} % at {o.use / cap:.0%} of the cap".replace("%", " %").replace("  %", " %"))


def _shown(sizes: Iterable[Size]) -> str:
    return "; ".join(
        f"{size.container} {', '.join(f'{r} {amount}' for r, amount in briefly(size.requests).items())}"
        for size in sizes
    )


def listed_containers(sizes: Iterable[Size]) -> list[dict[str, Any]]:
    """Sizes in the format in which the status records them for new pods."""
    return [{"containerName": name, **resources} for name, resources in resources_of(sizes).items()]


def recorded_containers(status: Any) -> Any:
    """The sizes for new pods in a status, in the format of `listed_containers`."""
    return status.get(CONTAINERS) if isinstance(status, Mapping) else None


def report(spec: WorkloadAutoscaler, move: Move, _state: State, _settings: Settings, effect: Effect) -> MoveReport:
    """The report of a written move. One that only reports records no size for new pods."""
    status: dict[str, Any] = {CONTAINERS: None if move.dry_run else _recorded(spec, move, effect)}
    if move.decided:
        status |= {DESIRED: move.desired, "size": in_words(_shown(move.desired_sizes)) or None}
    events: tuple[Event, ...] = ()
    if move.moves and not move.dry_run:
        events = (Event("Normal", "Scaled", f"{summary(move)}; reason: {move.reason}"),)
    return MoveReport(move.unwritten, events, status)


def _recorded(spec: WorkloadAutoscaler, move: Move, effect: Effect) -> Any:
    """The size for new pods: that of a move, else what is recorded already."""
    if effect.sizes_differ:
        return effect.recorded
    return listed_containers(move.desired_sizes) if move.moves else recorded_containers(spec.status)


def refused(_autoscaler: WorkloadAutoscaler, _move: Move, state: State, message: str) -> Refusal:
    """The report of a move that could not be written."""
    return Refusal(READY, "FailedUpdate", "FailedScaling", message, {DESIRED: state.desired or None})

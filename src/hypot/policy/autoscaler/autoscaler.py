"""One decision of an Autoscaler: the rule that was cheapest so far decides the count and the size."""

from hypot.core.axes.gate import UNSET
from hypot.core.axes.interval import whole_limit
from hypot.core.bank.decide import advise, changes_size, is_warm, planned_size, sized_pods
from hypot.core.bank.reach import cap_of
from hypot.core.bank.rule import AutoscalerPast, AutoscalerRule, ObservedLoad
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.autoscaler.status import BLOCKED, READY
from hypot.policy.autoscaler.observed import observed
from hypot.policy.autoscaler.report import COUNT, SIZE, AutoscalerFindings, blind_reason
from hypot.policy.autoscaler.rule import CPU, largest_node, rule_of, sized_container
from hypot.policy.autoscaler.words import cores, rule_in_words
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.current_size import CurrentSize, current_size
from hypot.policy.model.decision import Move
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from hypot.policy.vertical.ranges import in_ranges, loses


def decide(autoscaler: WorkloadAutoscaler, seen: Seen, state: State, settings: Settings) -> tuple[Move, State]:
    """Decide what hypot does now and why; also return the new state. Nothing is written or reported here."""
    return _AutoscalerPass(autoscaler, seen, state, settings).run()


class _AutoscalerPass(AutoscalerFindings):
    """One pass: `core.bank` decides, and this reports what it found."""

    def __init__(self, autoscaler: WorkloadAutoscaler, seen: Seen, state: State, settings: Settings) -> None:
        super().__init__(autoscaler, seen, state)
        self.settings = settings

    def run(self) -> tuple[Move, State]:
        scale = self.seen.scale
        if isinstance(scale, Failure):
            message = f"the target's scale could not be read: {scale.message}"
            self.report_failure("FailedGetScale", message, kind=scale.kind)
            self.warn("FailedGetScale", scale.message)
            return self._undecided(None)
        if scale.replicas == 0:
            self.condition(READY, "False", "ScalingDisabled", "the target has zero replicas, so scaling is off")
            text = "The target has zero replicas: autoscaling stays off until the target is scaled up."
            self.step("restrain", "scaling-disabled", 0, 0, text)
            return self.move(0, 0, self.kept_status(), dry_run=not self.autoscaler.acts), self.state
        current = current_size(self.seen, scale.replicas)
        self.sizes = self.desired_sizes = tuple([one.size for one in current])
        container = sized_container(self.autoscaler, self.seen.template, current)
        if container is None:
            self.report_failure(
                "NoRequest", "no container of the target that may be sized has a cpu request", kind="spec"
            )
            return self._undecided(scale.replicas)
        return self._decided(scale, container)

    def _undecided(self, replicas: int | None) -> tuple[Move, State]:
        return self.stays(replicas, self.kept_status()), self.state

    def _decided(self, scale: Scale, container: CurrentSize) -> tuple[Move, State]:
        current = scale.replicas
        node = largest_node(self.seen.nodes)
        rule = rule_of(self.autoscaler, container.container, self._base(container), self.settings, node)
        o = observed(self.autoscaler, self.seen, self.state.vertical, current, container)
        known = self.state.autoscaler
        learned = AutoscalerState.new() if known is None else known.copy()
        past = learned.past
        advise(rule, past, o, self.now)
        self.state = self.state._replace(autoscaler=learned)
        self.condition(BLOCKED, "False", "NotBlocked", "nothing is blocked")
        if o.known:
            self._explain(rule, past, o, container.container)
        else:
            self.report_blind(rule, past, o, container.container)
        desired = self._sized(rule, past, container, current)
        self._report_conditions(rule, past)
        share = o.use / o.request if o.known and o.request > 0.0 else None
        status = self.status(scale, rule, past, o, share)
        move = self.move(current, desired, status, reason=self._reason(rule, past), dry_run=not self.autoscaler.acts)
        return move, self.state

    def _base(self, container: CurrentSize) -> int:
        """The cpu request in the pod template, in millicores; without a template, the current one."""
        written = next((one.requests.get(CPU) for one in self.seen.template if one.name == container.container), None)
        return written or container.requests[CPU]

    def _explain(self, rule: AutoscalerRule, past: AutoscalerPast, o: ObservedLoad, container: str) -> None:
        self.report_demand(past, o, container)
        planned = past.proposal.planned
        if rule.counts:
            self.report_rule(rule, past, past.counts, planned[0], COUNT)
            cap = cap_of(past.learned, planned_size(rule, past, o, self.now) / 1000.0 * o.ratio)
            self.report_count(rule, past, o, cap)
        if rule.sizes and not changes_size(rule, o, self.now):
            self.report_fixed_size(past, o, container)
        elif rule.sizes:
            self.report_rule(rule, past, past.sizes, planned[1], SIZE)
            self.report_size(rule, past, o, container, sized_pods(past))
            self.report_memory(rule, past, o)

    def _sized(self, rule: AutoscalerRule, past: AutoscalerPast, container: CurrentSize, current: int) -> int:
        """Put the size into effect, within the LimitRanges; returns the count."""
        desired, cpu = past.proposal.replicas[0], past.proposal.cpu[0]
        if not rule.sizes:
            return int(desired)
        name = container.container
        if cpu != container.requests[CPU]:
            made = with_cpu(container, cpu, current, rule.grain)
            wanted = tuple([made if size.container == name else size for size in self.sizes])
            taken = in_ranges(self.autoscaler, self.seen, self.sizes, wanted)
            if taken != wanted and loses(self.sizes, current, wanted, taken, desired):
                text = "Because of a LimitRange, pods would have less in total than now: nothing changes."
                self.step("restrain", "limit-range", None, None, text)
                return current
            if taken != wanted:
                self.step("restrain", "limit-range", None, None, "The size is limited by a LimitRange.")
            self.desired_sizes = taken
        if self.desired_sizes == self.sizes and container.requests[CPU] > container.least.get(
            CPU, container.requests[CPU]
        ):
            self.catches_up = True
            self.step(
                "resolve",
                "catch-up",
                None,
                None,
                f"The largest pod has the desired size of {name}, and the others get it too.",
            )
        return int(desired)

    def _report_conditions(self, rule: AutoscalerRule, past: AutoscalerPast) -> None:
        self.report_learning(past, warm=is_warm(rule, past, self.now))
        self.report_decided(self.autoscaler.acts)

    def _reason(self, rule: AutoscalerRule, past: AutoscalerPast) -> str:
        if past.proposal.blind[0]:
            return blind_reason(past)
        if past.proposal.saturated[0]:
            return "pods are at their cap"
        axis = 0 if rule.counts else 1
        name = rule_in_words((past.counts if rule.counts else past.sizes).rule[0], rule.step)
        return f"{cores(past.proposal.planned[axis])} cores are planned for by the rule '{name}'"


def with_cpu(container: CurrentSize, cpu: int, replicas: int, grain: int) -> Size:
    """The size with this request; a limit keeps its ratio to it."""
    size = container.size
    limits = dict(size.limits)
    if CPU in limits:
        base, limit = container.written.get(CPU, (size.requests[CPU], limits[CPU]))
        limits[CPU] = whole_limit(limit, base, cpu, UNSET, UNSET, replicas, grain)
    return Size(size.container, {**size.requests, CPU: cpu}, limits)

"""Rules for how fast an autoscaler scales."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hypot.core.quantity import milli
from hypot.kinds.base import count_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.controller import SYNC_PERIOD
from hypot.kinds.hpa.fields import Limit, ScalingRules
from hypot.kinds.problem import Where
from hypot.kinds.values.nested import amount
from hypot.kinds.values.version import gate_open
from hypot.lint.input.item import Key
from hypot.lint.input.world import Autoscaler, InputWorld, changes_running_pods
from hypot.lint.rule import BOTH, HPA_ONLY, MEASURING, Hit, RuleFamily

if TYPE_CHECKING:
    from hypot.kinds.vpa import VPA

PACE = RuleFamily("ScalingRules", "How fast replicas are added and removed.", kinds=BOTH)

_SYNC = int(SYNC_PERIOD)
_SHORT_WINDOW = 60
# In seconds. A peak of half an hour is over before the replicas are there.
_SLOW, _WEEK, _LONG_UP_WINDOW = 1800, 7 * 86_400, 600
# How often a VerticalPodAutoscaler computes sizes, in seconds.
SIZING_PERIOD = 60
_UP, _DOWN = ("spec", "behavior", "scaleUp"), ("spec", "behavior", "scaleDown")


def _paces(hpa: Autoscaler[HPA]) -> Iterator[tuple[Where, ScalingRules]]:
    for key, pace in (("scaleUp", hpa.spec.scale_up), ("scaleDown", hpa.spec.scale_down)):
        if pace is not None:
            yield (*hpa.root, "behavior", key), pace


@PACE.rule(
    "short-period",
    "advice",
    title="A policy period shorter than the controller's sync",
    why="The controller syncs every 15 seconds, so a shorter period never limits anything: the policy allows its "
    "value at every sync.",
    fix="write a period of 15 seconds or more",
    example="10 seconds are less than the 15 between two syncs, so this allows its value at every sync",
    kinds=MEASURING,
)
def short_period(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpa_sources:
        for where, pace in _paces(hpa):
            for i, policy in enumerate(pace.limits or ()):
                if policy.period is not None and 0 < policy.period < _SYNC:
                    is_less = "is less" if policy.period == 1 else "are less"
                    message = f"{count_of(policy.period, 'second')} {is_less} than the {_SYNC} between two syncs"
                    at = (*where, "policies", i, "periodSeconds")
                    yield Hit(hpa.item, at, f"{message}, so this allows its value at every sync")


@PACE.rule(
    "slow-scale-up",
    "advice",
    title="A behavior that takes long to add the replicas that a peak needs",
    why="While replicas are added step by step, or only after a window, the ones that run are overloaded. Without a "
    "behavior an HPA doubles at once and every 15 seconds, or adds 4 pods.",
    fix="raise the value or shorten the period of a scaleUp policy, shorten the window, or leave scaleUp out",
    example="from minReplicas 2 to maxReplicas 50 takes about 4 h with these policies",
    kinds=HPA_ONLY,
)
def slow_scale_up(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpas:
        pace, low, high = hpa.spec.scale_up, hpa.spec.min_replicas or 1, hpa.spec.max_replicas
        if pace is None or pace.select == "Disabled":
            continue
        if pace.window is not None and pace.window > _LONG_UP_WINDOW:
            message = f"pods are added only after {_duration(pace.window)} of more load than they can bear"
            yield Hit(hpa.item, (*_UP, "stabilizationWindowSeconds"), message)
        if high is None or not pace.limits:
            continue
        times = [_seconds_from(low, high, each) for each in pace.limits]
        seconds = max(times) if pace.select == "Min" else min(times)
        if seconds > _SLOW:
            took = f"about {_duration(seconds)}" if seconds < _WEEK else "more than a week"
            message = f"from minReplicas {low} to maxReplicas {high} takes {took} with these policies"
            yield Hit(hpa.item, (*_UP, "policies"), message)


def _seconds_from(low: int, high: int, limit: Limit) -> int:
    """How long this policy alone takes; the first step is taken at once."""
    value, period = limit.value, limit.period
    if value is None or period is None or value <= 0 or period <= 0:
        return 0
    count, seconds = low, 0
    while True:
        # As the controller does: a percentage rounds up.
        count = count + value if limit.type == "Pods" else -(-count * (100 + value) // 100)
        if count >= high or seconds > _WEEK:
            return seconds
        seconds += period


def _duration(seconds: int) -> str:
    return f"{round(seconds / 3600)} h" if seconds >= 2 * 3600 else f"{seconds // 60} min"


@PACE.rule(
    "no-down-window",
    "advice",
    title="Scale-down without a stabilisation window",
    why="Without a stabilisation window a single low sample removes pods that the next one needs again. The default is "
    "300 seconds. A WatermarkPodAutoscaler has a window after the last move instead.",
    fix="leave stabilizationWindowSeconds out for 300 seconds, or write how long load may dip; 60 or more for "
    "downscaleForbiddenWindowSeconds",
    example="a window of 0 seconds lets one low sample remove pods",
)
def no_down_window(world: InputWorld) -> Iterator[Hit]:
    sized = _sized_targets(world)
    for hpa in world.hpas:
        pace = hpa.spec.scale_down
        if pace is not None and pace.window == 0 and pace.select != "Disabled" and hpa.target not in sized:
            where = (*_DOWN, "stabilizationWindowSeconds")
            yield Hit(hpa.item, where, "a window of 0 seconds lets one low sample remove pods")
    for wpa in world.wpas:
        rest = wpa.spec.down_forbidden_window
        if rest is not None and 0 < rest < _SHORT_WINDOW and amount(wpa.spec.down_factor) != 0:
            at = ("spec", "downscaleForbiddenWindowSeconds")
            yield Hit(wpa.item, at, f"pods may be removed again just {count_of(rest, 'second')} after any move")


@PACE.rule(
    "window-below-sizing",
    "warning",
    title="Replicas are removed faster than a VerticalPodAutoscaler sizes their pods",
    why="While pods get another size, what each of them serves changes. An HPA that removes replicas within that time "
    "answers the VPA, and the VPA answers it: both may swing. hypot pair writes 900 seconds.",
    fix="write a stabilizationWindowSeconds of 900, or leave it out for 300",
    example="replicas may be removed after 30 s, but VerticalPodAutoscaler shop/web changes sizes every 60 s",
    kinds=HPA_ONLY,
)
def window_below_sizing(world: InputWorld) -> Iterator[Hit]:
    sized = _sized_targets(world)
    for hpa in world.hpas if sized else ():
        pace = hpa.spec.scale_down
        vpa = sized.get(hpa.target) if hpa.target is not None else None
        if vpa is None or pace is None or pace.window is None or pace.select == "Disabled":
            continue
        if 0 <= pace.window < SIZING_PERIOD:
            message = f"replicas may be removed after {pace.window} s, but {vpa.item} changes sizes every"
            yield Hit(hpa.item, (*_DOWN, "stabilizationWindowSeconds"), f"{message} {SIZING_PERIOD} s")


def _sized_targets(world: InputWorld) -> dict[Key, "Autoscaler[VPA]"]:
    """The targets whose pods a VPA changes while they run."""
    return {vpa.target: vpa for vpa in world.vpas if vpa.target is not None and changes_running_pods(vpa)}


@PACE.rule(
    "no-scale-down",
    "advice",
    title="Scale-down is switched off",
    why="The replica count only rises; each peak costs money until someone lowers the count manually.",
    fix="ignore this if it is intended; otherwise write policies, or a scaleDownLimitFactor above 0",
    example="selectPolicy Disabled: pods are added and never removed",
)
def no_scale_down(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpas:
        if hpa.spec.scale_down is not None and hpa.spec.scale_down.select == "Disabled":
            yield Hit(hpa.item, (*_DOWN, "selectPolicy"), "selectPolicy Disabled: pods are added and never removed")
    for wpa in world.wpas:
        if amount(wpa.spec.down_factor) == 0:
            message = "a limit factor of 0 switches the direction off: pods are added and never removed"
            yield Hit(wpa.item, ("spec", "scaleDownLimitFactor"), message)


@PACE.rule(
    "no-scale-up",
    "warning",
    title="Scale-up is switched off",
    why="Load never adds a pod. Only minReplicas does.",
    fix="write policies, or a scaleUpLimitFactor above 0",
    example="selectPolicy Disabled: load never adds a pod",
)
def no_scale_up(world: InputWorld) -> Iterator[Hit]:
    for hpa in world.hpas:
        if hpa.spec.scale_up is not None and hpa.spec.scale_up.select == "Disabled":
            yield Hit(hpa.item, (*_UP, "selectPolicy"), "selectPolicy Disabled: load never adds a pod")
    for wpa in world.wpas:
        if amount(wpa.spec.up_factor) == 0:
            message = "a limit factor of 0 switches the direction off: load never adds a pod"
            yield Hit(wpa.item, ("spec", "scaleUpLimitFactor"), message)


@PACE.rule(
    "wide-tolerance",
    "warning",
    title="A tolerance of 100 % or more",
    why="The tolerance is a fraction, not a percentage: 10 means a thousand percent. At 1 or more on scaleDown no "
    "usage is low enough to remove a pod; on scaleUp usage must more than double.",
    fix="write a fraction: 0.1 or 100m for ten percent",
    example="a tolerance of 10 is 1000 %: no usage is low enough to remove a pod",
    kinds=HPA_ONLY,
)
def wide_tolerance(world: InputWorld) -> Iterator[Hit]:
    if not gate_open("HPAConfigurableTolerance", world.kubernetes):
        return
    for hpa in world.hpas:
        for where, pace in _paces(hpa):
            if pace.tolerance is None or milli(pace.tolerance) < 1000:
                continue
            percent = milli(pace.tolerance) // 10
            outcome = "no usage is low enough to remove a pod"
            if where == _UP:
                outcome = f"pods are added only above {100 + percent} % of the target"
            message = f"a tolerance of {pace.tolerance} is {percent} %: {outcome}"
            yield Hit(hpa.item, (*where, "tolerance"), message)

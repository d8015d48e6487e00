"""To an Hvpa: one axis becomes an interval, in which the other does not change."""

from hypot.authoring.convert.of_vpa import lost_of_vpa, target_of_vpa
from hypot.authoring.convert.result import CannotConvertError, Converted, Note, TargetWorkload, metadata_like
from hypot.authoring.convert.steps import DEFAULT_WINDOW
from hypot.core.amount import RESOURCES
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import DEFAULT_DOWN, DEFAULT_UP
from hypot.kinds.hpa.fields import ScalingRules
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import OFF, MinChange, ScalePolicy, ScaleType, interval
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import ANY_CONTAINER, INITIAL, ContainerPolicy
from hypot.kinds.vpa.fields import OFF as ONLY_RECOMMENDS

# The least change for which a VPA updates a pod, by the defaults of its updater.
LEAST_CHANGE_OF_VPA = "10%"
_FIRST = Note("check", "the first scaling of a new Hvpa waits for nothing, so pods may be removed at once")


def from_hpa(hpa: HPA) -> Converted:
    """One interval in which pods keep their size, so that the metrics vote for a count, as in an HPA."""
    notes = [
        Note("assumed", "pods keep their size, whatever it is: controlledResources is empty for all containers"),
        Note(
            "check",
            "an Hvpa earns its place with more intervals: add some with sizes, and remove controlledResources and "
            "`deploy: false` of its vpa",
        ),
    ]
    if (hpa.min_replicas or 1) < 1:
        notes.append(Note("lost", "minReplicas 0: an Hvpa keeps at least one pod"))
    made = Hvpa(
        hpa.target or {},
        intervals=[interval(hpa.max_replicas, extrapolation="horizontalOnly")],
        min_replicas=max(1, hpa.min_replicas or 1),
        max_replicas=hpa.max_replicas,
        metrics=hpa.metrics,
        hpa_scale_up=hpa.scale_up,
        hpa_scale_down=hpa.scale_down,
        containers=[ContainerPolicy(ANY_CONTAINER, controlled_resources=[])],
        scale_up=_held(hpa.scale_up, 0, notes, grows=True),
        scale_down=_held(hpa.scale_down, DEFAULT_WINDOW, notes, grows=False),
        use_vpa=False,
        **metadata_like(hpa),
    )
    return Converted((made,), tuple(notes))


def _held(rules: ScalingRules | None, usual: int, notes: list[Note], *, grows: bool) -> ScaleType | None:
    """What holds one direction back; an Hvpa reads no behavior but its tolerances."""
    if rules is not None and rules.select == "Disabled":
        return ScaleType(ScalePolicy(OFF))
    key, done, which = ("scaleUp", "added", "lowest") if grows else ("scaleDown", "removed", "highest")
    default = DEFAULT_UP if grows else DEFAULT_DOWN
    if rules is not None and rules.limits not in {None, default.limits}:
        notes.append(Note("lost", f"{key}: its policies: as many pods are {done} at once as the metrics say"))
    window = usual if rules is None or rules.window is None else rules.window
    if window == 0:
        return None
    text = f"{key}: the stabilization window of {window} s is a wait after the last change, and then the count of that "
    text += f"moment is used; an HPA uses the {which} of its window"
    notes.append(Note("assumed", text if grows else f"{text}, so that fewer pods are removed"))
    if not grows:
        notes.append(_FIRST)
    return ScaleType(stabilization=f"{window}s")


def from_vpa(vpa: VPA, workload: TargetWorkload) -> Converted:
    """One interval with the count that the workload has."""
    count = workload.replicas
    if not count:
        raise CannotConvertError("an Hvpa needs a count: give the manifest of the workload too, with its replicas")
    policies = vpa.container_policies
    containers = (policies.containers if policies is not None else None) or ()
    sized = [one for one in containers if one.mode != ONLY_RECOMMENDS]
    if not sized or any(resource not in (one.max_allowed or {}) for one in sized for resource in RESOURCES):
        raise CannotConvertError("an interval has a size: write maxAllowed with cpu and memory for each container")
    notes = [Note("assumed", f"always {count} pods, as the workload has now"), *lost_of_vpa(vpa)]
    mode = ScalePolicy(OFF) if vpa.mode in {ONLY_RECOMMENDS, INITIAL} else None
    held = ScaleType(mode, MinChange.of(dict.fromkeys(RESOURCES, LEAST_CHANGE_OF_VPA)))
    notes.append(Note("assumed", f"a minChange of {LEAST_CHANGE_OF_VPA}, about the change for which a VPA acts"))
    if vpa.mode == INITIAL:
        notes.append(Note("lost", "mode Initial: an Hvpa cannot size only new pods, so it only recommends"))
    made = Hvpa(
        target_of_vpa(vpa),
        intervals=[interval(count)],
        min_replicas=count,
        max_replicas=count,
        containers=containers,
        scale_up=held,
        scale_down=held,
        use_hpa=False,
        **metadata_like(vpa),
    )
    return Converted((made,), tuple(notes))

"""What to do with one pod that needs another size: resize it in place, evict it, wait for it, or keep it."""

from collections.abc import Iterable, Mapping
from math import floor
from typing import Literal, NamedTuple

from hypot.core.dataclass import dataclass
from hypot.core.sizes import fate as rules
from hypot.core.sizes.fate import spares, tolerance_of
from hypot.kinds.values.version import Version
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import ClusterNode, PendingResize, Pod
from hypot.policy.model.size import Size
from hypot.policy.vertical.budget import Controllers, controller_of
from hypot.policy.vertical.need import dies_again, observed_containers, quick_oom
from hypot.policy.vertical.pod_size import WHOLE, Sizes, fits_nowhere, has_enough, node_obstacle, parts_of
from hypot.policy.vertical.resize import gives_up, resize_obstacle, resize_verdict

StepAction = Literal["keep", "resize", "evict", "wait", "infeasible"]
LATER = "its requests are lowered only once the new pods are ready"
# A resize does not help a container that was OOM-killed within this time after its start: it does not run long enough.
OOM_WINDOW = Knobs().evict_after_oom


def is_ready(pod: Pod) -> bool:
    return pod.ready == "True"


def came_after(pod: Pod, since: float) -> bool:
    """Whether the pod was created since then, running or not. Kubernetes times are in whole seconds."""
    return pod.made is not None and pod.made >= floor(since)


def serving(pods: Iterable[Pod], sizes: Sizes) -> int:
    """How many pods are ready and have at least these sizes."""
    return sum(is_ready(pod) and has_enough(pod, sizes) for pod in pods)


class DisruptionRoom(NamedTuple):
    """How many pods may be unavailable at once, and how many this step has taken."""

    configured: int
    running: int
    taken: int = 0

    @classmethod
    def of(cls, pods: Iterable[Pod], sizes: Sizes, configured: int) -> "DisruptionRoom":
        """A pod that is about to restart for its resize counts as unavailable."""
        return cls(configured, sum(is_ready(pod) and not _is_restarting(pod, sizes) for pod in pods))

    def spares(self, pod: Pod) -> bool:
        """Whether the pod may be disrupted; a pod that is not ready is unavailable already."""
        return spares(is_ready(pod), self.running, self.configured, self.taken)

    def without(self, pod: Pod) -> "DisruptionRoom":
        return self._replace(taken=self.taken + 1) if is_ready(pod) else self

    @property
    def message(self) -> str:
        away = max(0, self.configured - self.running) + self.taken
        return f"{away} of {self.configured} pods are unavailable, and {tolerance_of(self.configured)} may be"


def _is_restarting(pod: Pod, sizes: Sizes) -> bool:
    parts = parts_of(pod.containers, sizes)
    return any(part.asked and not part.actual and part.restarts for part in parts)


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What applies to every pod in one step of a plan."""

    sizes: Sizes
    since: float
    # Whether pods may be evicted, and whether their requests may be lowered yet.
    evicts: bool
    lowers: bool
    nodes: Mapping[str, ClusterNode]
    controllers: Controllers
    kubernetes: Version
    now: float


class PodStep(NamedTuple):
    """What to do with a pod, and why. Infeasible: the pod cannot get the size, however long the plan waits.

    The sizes of a pod to evict are set in place meanwhile, if it cannot wait.
    """

    action: StepAction
    message: str = ""
    sizes: tuple[Size, ...] = ()


# Indexed by the numbers that `core.fate` uses.
_ACTIONS: tuple[StepAction, ...] = ("keep", "resize", "evict", "wait", "infeasible")


def fate_of(pod: Pod, look: PlanContext, room: DisruptionRoom) -> PodStep:
    """The step for one pod. The rules are in `core.fate`; this collects their inputs and adds the messages."""
    parts = parts_of(pod.containers, look.sizes)
    if all(part.asked and part.actual for part in parts):
        return PodStep("keep")
    sizes = tuple([part.size for part in parts if not part.asked])
    obstacle = resize_obstacle(pod, sizes, look.kubernetes) or node_obstacle(pod, sizes, look.nodes)
    killed, asked = _killed_lately(pod, look), "" if sizes else _asked(pod, look)
    given_up = not sizes and _is_given_up(pod, look)
    # Checked only for pods that may be evicted, because it takes long if there are many nodes.
    bar = _hopeless(pod, look) if look.evicts and (killed or obstacle or given_up) else ""
    case = rules.PodFacts(
        asked=not sizes,
        has=False,
        lowered=any(part.lowered for part in parts),
        restarts=any(part.restarts for part in parts),
        refused=bool(obstacle),
        given_up=given_up,
        dying=bool(killed),
        hopeless=bool(bar),
        started=pod.started is not None,
        ready=is_ready(pod),
        spared=room.spares(pod),
        never=pod.resize is not None and pod.resize.state == "infeasible",
    )
    action, why, barred = rules.fate_for(case, look.evicts, look.lowers)
    reasons = ("", LATER, killed, asked, obstacle, f"the new size restarts it, and {room.message}")
    bars = ("", f", and {bar}", ", and it has not started yet", f", and {room.message}")
    resized = action == rules.RESIZE or (why == rules.DYING and action != rules.INFEASIBLE and not obstacle)
    return PodStep(_ACTIONS[action], f"{reasons[why]}{bars[barred]}", sizes if resized else ())


def disrupts(pod: Pod, fate: PodStep, sizes: Sizes) -> bool:
    """Whether this step makes the pod unavailable for a while."""
    restarts = any(part.restarts for part in parts_of(pod.containers, sizes))
    return rules.disrupts(_ACTIONS.index(fate.action), restarts)


def _killed_lately(pod: Pod, look: PlanContext) -> str:
    killed = quick_oom(pod, observed_containers(pod), None, OOM_WINDOW)
    if killed is None or killed.name not in look.sizes or killed.sidecar:
        return ""
    dying = dies_again(killed, OOM_WINDOW, look.now)
    return f"container {killed.name} is OOM-killed soon after each start" if dying else ""


def _asked(pod: Pod, look: PlanContext) -> str:
    """The pod's spec has the size, so its node must apply it. Asking again would change nothing."""
    if pod.resize is None:
        return "its node has not applied the new size yet"
    return resize_verdict(pod.resize, _since(pod.resize, look), look.now).message


def _is_given_up(pod: Pod, look: PlanContext) -> bool:
    return pod.resize is not None and gives_up(pod.resize, _since(pod.resize, look), look.now)


def _since(resize: PendingResize, look: PlanContext) -> float:
    return look.since if resize.since is None else resize.since


def _hopeless(pod: Pod, look: PlanContext) -> str:
    """Why no new pod would have the size; empty if one would, or if it is too early to know."""
    if controller_of(pod, look.controllers) is None:
        return "it has no controller that would replace it"
    if pod.pod_requests is not None:
        return WHOLE
    if pod.started is None:
        return ""
    if came_after(pod, look.since):
        return "it started with another size than the recorded one"
    return "no node is large enough for it" if fits_nowhere(pod, look.sizes, look.nodes) else ""

"""What becomes of one pod that is to have another size: resized in place, evicted, waited for, or left as it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor
from typing import Literal, NamedTuple

from hypot.core.disruption import AT_ONCE, may_disrupt
from hypot.kinds.version import Version
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Node, Pod
from hypot.policy.model.size import Size
from hypot.policy.vertical.budget import Controllers, controller_of
from hypot.policy.vertical.need import dies_again, observed_containers, quick_oom
from hypot.policy.vertical.pod_size import WHOLE, Sizes, fits_nowhere, has_enough, node_obstacle, parts_of
from hypot.policy.vertical.resize import gives_up, resize_obstacle, told_resize

# A container that was killed for memory within this time is not helped by a resize: it is not running long enough.
OOM_WINDOW = Knobs().evict_after_oom


def is_ready(pod: Pod) -> bool:
    return pod.ready == "True"


def came_after(pod: Pod, since: float) -> bool:
    """Whether the pod was made since then, running or not yet. Times are told in whole seconds."""
    return pod.made is not None and pod.made >= floor(since)


def serving(pods: Iterable[Pod], sizes: Sizes) -> int:
    """How many pods are ready and have at least the size."""
    return sum(is_ready(pod) and has_enough(pod, sizes) for pod in pods)


class Room(NamedTuple):
    """How many pods may be away at once, and how many are taken in this step."""

    configured: int
    running: int
    taken: int = 0

    @classmethod
    def of(cls, pods: Iterable[Pod], sizes: Sizes, configured: int) -> "Room":
        """A pod that is about to be restarted for its size counts as away."""
        return cls(configured, sum(is_ready(pod) and not _is_restarting(pod, sizes) for pod in pods))

    @property
    def tolerance(self) -> int:
        return max(1, int(AT_ONCE * self.configured))

    def spares(self, pod: Pod) -> bool:
        """Whether the pod may go; one that does not serve is away already."""
        running = self.running if is_ready(pod) else self.running + 1
        return may_disrupt(running, self.configured, self.tolerance, self.taken)

    def without(self, pod: Pod) -> "Room":
        return self._replace(taken=self.taken + 1) if is_ready(pod) else self

    @property
    def words(self) -> str:
        away = max(0, self.configured - self.running) + self.taken
        return f"{away} of {self.configured} pods are away and {self.tolerance} may be"


def _is_restarting(pod: Pod, sizes: Sizes) -> bool:
    parts = parts_of(pod.containers, sizes)
    return any(part.asked and not part.actual and part.restarts for part in parts)


@dataclass(frozen=True, slots=True)
class Look:
    """What holds for every pod in one step of a plan."""

    sizes: Sizes
    since: float
    # Whether a pod may be evicted, and whether it may get less of anything yet.
    evicts: bool
    lowers: bool
    nodes: Mapping[str, Node]
    controllers: Controllers
    kubernetes: Version
    now: float


class Fate(NamedTuple):
    """What to do with a pod, and why. Infeasible is what no waiting will bring about.

    The sizes of one that is to be evicted are what it gets in place meanwhile, where it cannot wait.
    """

    deed: Literal["keep", "resize", "evict", "wait", "infeasible"]
    words: str = ""
    sizes: tuple[Size, ...] = ()


KEEP = Fate("keep")


def fate_of(pod: Pod, look: Look, room: Room) -> Fate:
    """In place first; where that cannot be, by eviction, as far as pods can be spared."""
    parts = parts_of(pod.containers, look.sizes)
    if all(part.asked and part.actual for part in parts):
        return KEEP
    if not look.lowers and any(part.lowered for part in parts):
        return Fate("wait", "it gets less only once the new pods serve")
    sizes = tuple([part.size for part in parts if not part.asked])
    obstacle = resize_obstacle(pod, sizes, look.kubernetes) or node_obstacle(pod, sizes, look.nodes)
    killed = _killed_lately(pod, look)
    if killed and look.evicts:
        fate = _evicted(pod, killed, look, room if is_ready(pod) else None)
        if fate.deed != "infeasible":
            return fate if obstacle else fate._replace(sizes=sizes)
    if not sizes:
        return _asked(pod, look, room)
    if obstacle:
        return _elsewhere(pod, obstacle, look, room)
    if any(part.restarts for part in parts) and not room.spares(pod):
        return Fate("wait", f"the new size restarts it, and {room.words}")
    return Fate("resize", "", sizes)


def disrupts(pod: Pod, fate: Fate, sizes: Sizes) -> bool:
    """Whether the pod stops serving for a while by what is done to it."""
    if fate.deed == "resize":
        return any(part.restarts for part in parts_of(pod.containers, sizes))
    return fate.deed == "evict"


def _killed_lately(pod: Pod, look: Look) -> str:
    killed = quick_oom(pod, observed_containers(pod), None, OOM_WINDOW)
    if killed is None or killed.name not in look.sizes or killed.sidecar:
        return ""
    dying = dies_again(killed, OOM_WINDOW, look.now)
    return f"container {killed.name} is killed for memory soon after each start" if dying else ""


def _asked(pod: Pod, look: Look, room: Room) -> Fate:
    """The pod's spec has the size: its node has the word. Asking for the same again would change nothing."""
    resize = pod.resize
    if resize is None:
        return Fate("wait", "its node has not taken up the new size yet")
    since = look.since if resize.since is None else resize.since
    words = told_resize(resize, since, look.now).words
    if not gives_up(resize, since, look.now):
        return Fate("wait", words)
    if resize.state == "infeasible":
        return _elsewhere(pod, words, look, room)
    return _evicted(pod, words, look, room) if look.evicts else Fate("wait", words)


def _elsewhere(pod: Pod, why: str, look: Look, room: Room) -> Fate:
    """What cannot be done in place."""
    return _evicted(pod, why, look, room) if look.evicts else Fate("infeasible", why)


def _evicted(pod: Pod, why: str, look: Look, room: Room | None) -> Fate:
    """It comes back with the recorded size, unless that has failed already. Without room it is as good as away."""
    if controller_of(pod, look.controllers) is None:
        return Fate("infeasible", f"{why}, and it has no controller that would make a new pod")
    if pod.pod_requests is not None:
        return Fate("infeasible", f"{why}, and {WHOLE}")
    if pod.started is None:
        return Fate("wait", f"{why}, and it has not started yet")
    if came_after(pod, look.since):
        return Fate("infeasible", f"{why}, and it came up with another size than was recorded")
    if fits_nowhere(pod, look.sizes, look.nodes):
        return Fate("infeasible", f"{why}, and no node is large enough for it")
    if room is not None and not room.spares(pod):
        return Fate("wait", f"{why}, and {room.words}")
    return Fate("evict", why)

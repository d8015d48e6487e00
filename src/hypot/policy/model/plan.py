"""A plan, as a value that the state stores, and the actions that carry it out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple, Self, get_args

from hypot.core.amount import RESOURCES
from hypot.core.dataclass import dataclass
from hypot.core.instant import EARLIEST, LATEST
from hypot.core.replicas.ratio import MAX_INT32
from hypot.core.sizes.disruption import is_more, replaces
from hypot.core.sizes.fit import LARGEST
from hypot.policy.model.size import Size

Resizing = Literal["InPlaceOrRecreate", "InPlace", "Template"]
RESIZE_ANNOTATION = "hypot.dev/resize"
_DEFAULT: Resizing = "InPlaceOrRecreate"
Way = Literal["up", "down"]
WAYS: tuple[Way, ...] = get_args(Way)
# No pod has more containers.
_MOST_CONTAINERS = 256

Ended = Literal["", "Done", "TimedOut", "Infeasible", "Superseded"]


class ScaleTo(NamedTuple):
    """Change the replica count, if it is still the expected one."""

    replicas: int
    expected: int


class ResizePod(NamedTuple):
    """Resize a running pod in place. Each size is complete, so that nothing is removed by leaving it out.

    `restarts`: whether a container is restarted for it.
    """

    pod: str
    uid: str
    sizes: tuple[Size, ...]
    restarts: bool = False


class EvictPod(NamedTuple):
    """Evict a pod, so that its replacement has the new size; `instead` is set in place if the pod cannot wait."""

    pod: str
    uid: str
    why: str
    instead: tuple[Size, ...] = ()


class SetTemplate(NamedTuple):
    """Write the sizes into the pod template; the workload's own controller replaces the pods."""

    sizes: tuple[Size, ...]


class RecordSize(NamedTuple):
    """Record the sizes for new pods."""

    sizes: tuple[Size, ...]


Action = ScaleTo | ResizePod | EvictPod | SetTemplate | RecordSize


@dataclass(frozen=True, slots=True)
class Plan:
    """The desired and the former count and sizes, when the plan began, and whether lowering waits for raising."""

    replicas: int
    sizes: tuple[Size, ...] = field(hash=False)
    since: float
    waits: bool
    resizing: Resizing
    before_replicas: int
    before_sizes: tuple[Size, ...] = field(default=(), hash=False)
    # The directions that the autoscaler did not allow when the plan began.
    closed: tuple[Way, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "replicas": self.replicas,
            "sizes": [_written(size) for size in self.sizes],
            "since": self.since,
            "waits": self.waits,
            "resizing": self.resizing,
            "beforeReplicas": self.before_replicas,
            "beforeSizes": [_written(size) for size in self.before_sizes],
            **({"closed": list(self.closed)} if self.closed else {}),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read a stored plan; ValueError if it is not a valid plan."""
        if not isinstance(data, Mapping):
            raise ValueError("a plan must be an object")  # noqa: TRY004  unreadable is one error
        since: Any = data.get("since")
        waits: Any = data.get("waits")
        resizing: Any = data.get("resizing")
        if type(since) not in {int, float} or not EARLIEST <= since <= LATEST:
            raise ValueError("since: must be seconds since the epoch")
        if type(waits) is not bool:
            raise ValueError("waits: must be true or false")
        if resizing not in get_args(Resizing):
            raise ValueError(f"resizing: must be one of {', '.join(get_args(Resizing))}")
        return cls(
            _count(data, "replicas"),
            _sizes(data, "sizes"),
            float(since),
            waits,
            resizing,
            _count(data, "beforeReplicas"),
            _sizes(data, "beforeSizes"),
            _closed(data.get("closed", [])),
        )

    @property
    def by_container(self) -> dict[str, Size]:
        return {size.container: size for size in self.sizes}

    @property
    def lowered(self) -> dict[str, Size]:
        """Only the requests that the plan lowers."""
        had = {size.container: size.requests for size in self.before_sizes}
        return {size.container: _less(size, had.get(size.container, {})) for size in self.sizes}


class Progress(NamedTuple):
    """The actions to do now, the plan if more steps follow or how it ended, and a message."""

    actions: tuple[Action, ...]
    plan: Plan | None
    ended: Ended
    message: str


def requests_of(before: Iterable[Size], after: Iterable[Size]) -> list[tuple[int, int]]:
    """For each request in `after`: the amount before and the amount after."""
    had = {size.container: size.requests for size in before}
    return [
        (had.get(size.container, {}).get(resource, 0), amount)
        for size in after
        for resource, amount in size.requests.items()
    ]


def needs_more(before: Iterable[Size], of_before: int, after: Iterable[Size], of_after: int) -> bool:
    """Whether the pods after need more of any resource in total than the pods before."""
    return any(is_more(amount, of_after, had, of_before) for had, amount in requests_of(before, after))


def needs_clearly_more(plan: Plan, sizes: Iterable[Size], replicas: int) -> bool:
    """Whether these pods need clearly more of any resource in total than the plan gives."""
    return any(replaces(amount, replicas, had, plan.replicas) for had, amount in requests_of(plan.sizes, sizes))


def ways_of(plan: Plan, actions: Iterable[Action]) -> Iterator[Way]:
    """The directions of these actions of the plan: up, down or both."""
    sizes = [(before, after) for before, after in requests_of(plan.before_sizes, plan.sizes) if before != after]
    for action in actions:
        if isinstance(action, ScaleTo):
            yield "up" if action.replicas > action.expected else "down"
        elif isinstance(action, ResizePod | EvictPod) and not sizes:
            # Smaller pods catch up with the others.
            yield "up"
        else:
            yield from ["up" if after > before else "down" for before, after in sizes]


def resizing_of(annotations: Mapping[str, str]) -> Resizing:
    """How pods get another size; an unknown value counts as the default."""
    written = annotations.get(RESIZE_ANNOTATION)
    return next((word for word in get_args(Resizing) if word == written), _DEFAULT)


def resizing_note(annotations: Mapping[str, str]) -> str:
    """What is wrong with the annotation; empty if nothing is."""
    written = annotations.get(RESIZE_ANNOTATION)
    if written is None or written in get_args(Resizing):
        return ""
    known = ", ".join(get_args(Resizing))
    return f"annotation {RESIZE_ANNOTATION}: {str(written)[:40]!r} is not one of {known}; {_DEFAULT} applies"


def actions_sentence(actions: Iterable[Action]) -> str:
    """The actions as a sentence."""
    done = list(actions)
    parts = [f"scale from {each.expected} to {each.replicas}" for each in done if isinstance(each, ScaleTo)]
    parts += ["write the new size into the template"] if any(isinstance(each, SetTemplate) for each in done) else []
    resized = [each.pod for each in done if isinstance(each, ResizePod)]
    parts += [f"resize {_pods(resized)} in place"] if resized else []
    evicted = [each for each in done if isinstance(each, EvictPod)]
    parts += [f"evict {_pods([each.pod for each in evicted])} ({evicted[0].why})"] if evicted else []
    message = ", ".join(parts)
    return f"{message[:1].upper()}{message[1:]}." if message else ""


def _pods(names: list[str]) -> str:
    return f"pod {names[0]}" if len(names) == 1 else f"{len(names)} pods"


def _less(size: Size, had: Mapping[str, int]) -> Size:
    return Size(size.container, {r: amount for r, amount in size.requests.items() if amount < had.get(r, 0)})


def _written(size: Size) -> dict[str, Any]:
    return {"container": size.container, "requests": dict(size.requests), "limits": dict(size.limits)}


def _closed(data: Any) -> tuple[Way, ...]:
    if not isinstance(data, list) or any(each not in WAYS for each in data):
        raise ValueError(f"closed: must be a list of {' and '.join(WAYS)}")
    return tuple(data)


def _count(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if type(value) is not int or not 0 <= value <= MAX_INT32:
        raise ValueError(f"{key}: must be a number of replicas")
    return value


def _sizes(data: Mapping[str, Any], key: str) -> tuple[Size, ...]:
    listed = data.get(key)
    if not isinstance(listed, list) or len(listed) > _MOST_CONTAINERS:
        raise ValueError(f"{key}: must be a list of at most {_MOST_CONTAINERS} sizes")
    return tuple([_size(each, key) for each in listed])


def _size(data: Any, key: str) -> Size:
    name = data.get("container") if isinstance(data, Mapping) else None
    if not isinstance(name, str):
        raise ValueError(f"{key}: a size must name its container")  # noqa: TRY004  unreadable is one error
    return Size(name, _amounts(data.get("requests"), key), _amounts(data.get("limits"), key))


def _amounts(data: Any, key: str) -> dict[str, int]:
    read = data if isinstance(data, Mapping) else {None: None}
    for resource, amount in read.items():
        if resource not in RESOURCES or type(amount) is not int or not 0 <= amount <= LARGEST:
            raise ValueError(f"{key}: requests and limits must be amounts of {' and '.join(RESOURCES)}")
    return dict(read)

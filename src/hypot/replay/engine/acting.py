"""Applies decisions to the simulated pods."""

from collections.abc import Iterable, Iterator

from hypot.policy.model.decision import PodAction
from hypot.policy.model.size import Size
from hypot.replay.world.cohorts import NONE, STOPPING, Cohorts, make_room, split
from hypot.replay.world.lifecycle import evict, resize
from hypot.replay.world.params import Params
from hypot.replay.world.site import Site

# Cpu and memory requests, and their limits; -1 where there is none.
Plain = tuple[int, int, int, int]


def plain(size: Size) -> Plain:
    requests, limits = size.requests, size.limits
    return (
        requests.get("cpu", 0),
        requests.get("memory", 0),
        limits.get("cpu", NONE),
        limits.get("memory", NONE),
    )


def size_of(sizes: Iterable[Size], container: str) -> Plain | None:
    """The size of the container that is replayed."""
    return next((plain(size) for size in sizes if size.container == container), None)


def set_template(s: Site, size: Plain) -> None:
    """Set the size of new pods."""
    s.template[0], s.template[1], s.template[2], s.template[3] = size


def current_size(c: Cohorts, k: int) -> Plain:
    return (c.cpu[k], c.memory[k], c.cpu_limit[k], c.memory_limit[k])


def isolate(c: Cohorts, p: Params, serial: int, first: int, last: int) -> list[int]:
    """The indexes of the pods with numbers `first` to `last`, split into groups that contain no other pods."""
    found = []
    k = 0
    while k < c.used[0]:
        low, high = c.offset[k], c.offset[k] + c.count[k] - 1
        if c.serial[k] == serial and c.life[k] != STOPPING and low <= last and first <= high:
            make_room(c, p.slots, c.used[0] + 4)
            if high > last:
                split(c, p.slots, k, high - last)
            found.append(split(c, p.slots, k, min(high, last) - first + 1) if low < first else k)
        k += 1
    return sorted(set(found), reverse=True)


def act_on_pods(
    c: Cohorts, s: Site, p: Params, actions: Iterable[PodAction], container: str, now: float, in_place: bool
) -> None:
    """Resize and evict pods one by one, as a VPA does; neighbours with the same action stay in one group."""
    wanted: list[tuple[str, Plain, int, int]] = []
    for action in actions:
        size = size_of(action.sizes, container)
        if action.action != "none" and size is not None:
            serial, number = (int(part) for part in action.pod.rsplit("-", 2)[1:])
            wanted.append((action.action, size, serial, number))
    for (step, size, serial), first, last in _runs(sorted(wanted)):
        for k in isolate(c, p, serial, first, last):
            if step == "evict":
                evict(c, s, p, k, c.count[k], now)
            elif in_place:
                resize(c, s, p, k, *size, now)
            else:
                c.deferred[k] = min(c.deferred[k], now)


def _runs(
    wanted: Iterable[tuple[str, Plain, int, int]],
) -> Iterator[tuple[tuple[str, Plain, int], int, int]]:
    """Pods with consecutive numbers and the same action, as one run."""
    run: tuple[tuple[str, Plain, int], int, int] | None = None
    for action, size, serial, number in wanted:
        if run is not None and run[0] == (action, size, serial) and run[2] + 1 == number:
            run = (run[0], run[1], number)
            continue
        if run is not None:
            yield run
        run = ((action, size, serial), number, number)
    if run is not None:
        yield run

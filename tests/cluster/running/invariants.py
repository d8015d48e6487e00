"""What must be true of everything that controllers write, whatever happens to them in between."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from cluster.running.proxy import Call

METRICS = "/apis/metrics.k8s.io/"
# Times in a status are whole seconds, so a reader is off by up to one.
WHOLE_SECONDS = 1.0


class Move(NamedTuple):
    """A replica count that was written and accepted, and when its reconcile read the metrics."""

    looked: float
    replicas: int


def moves(journal: Sequence[Call], deployment: str = "web") -> list[Move]:
    """Every accepted scale of one Deployment, in order."""
    found, looked = [], 0.0
    for call in list(journal):
        if call.method == "GET" and call.path.startswith(METRICS):
            looked = call.at
        elif call.kind == "scale" and call.done and f"/deployments/{deployment}/" in call.path:
            found.append(Move(looked, int(call.json["spec"]["replicas"])))
    return found


def too_far(start: int, counts: Iterable[int], up: int, down: int) -> list[tuple[int, int]]:
    """Steps beyond the limit factors, in percent; a step of one is always allowed."""
    steps = pairwise([start, *counts])
    return [(old, new) for old, new in steps if new - old > _step(old, up) or old - new > _step(old, down)]


def _step(count: int, percent: int) -> int:
    return max(1, count * percent // 100)


def too_soon(start: int, done: Sequence[Move], up: float, down: float) -> list[tuple[Move, Move]]:
    """Moves within the forbidden window after the previous move."""
    counts = [start, *[move.replicas for move in done]]
    found = []
    for (before, after), (old, new) in zip(pairwise(done), pairwise(counts[1:]), strict=True):
        window = up if new > old else down
        if new != old and after.looked - before.looked < window - WHOLE_SECONDS:
            found.append((before, after))
    return found


def turns(counts: Iterable[int]) -> int:
    """How often a count changed its direction: demand that rises and then falls allows one turn."""
    ways = [new > old for old, new in pairwise(counts) if new != old]
    return sum(one != two for one, two in pairwise(ways))


def twice(journal: Iterable[Call], kind: str) -> list[str]:
    """Pods that were evicted or resized more than once."""
    counted = Counter(call.path for call in list(journal) if call.kind == kind and call.done)
    return [path for path, times in counted.items() if times > 1]


def unguarded(journal: Iterable[Call]) -> list[str]:
    """Writes without a precondition, except creations."""
    found = []
    for call in list(journal):
        if not call.writes or call.kind == "event" or (call.method == "POST" and call.kind != "eviction"):
            continue
        body = call.json
        named = body.get("metadata") or {}
        guards = named if call.kind != "eviction" else (body.get("deleteOptions") or {}).get("preconditions") or {}
        if not guards.get("resourceVersion") and not guards.get("uid"):
            found.append(f"{call.method} {call.path}")
    return found


def impatient(journal: Sequence[Call], seconds: float) -> list[str]:
    """Calls that were repeated sooner than a busy server had asked for."""
    refused: dict[tuple[str, str], float] = {}
    found = []
    for call in list(journal):
        what = call.method, call.path
        if call.at - refused.pop(what, -seconds) < seconds:
            found.append(f"{call.method} {call.path}")
        if call.status == 429:
            refused[what] = call.at
    return found


def overlap(first: Sequence[Call], second: Sequence[Call]) -> list[Call]:
    """Writes of the second while the first still wrote; none if the first had ended before the second began."""
    last = max((call.at for call in first if call.writes and call.kind != "lease"), default=0.0)
    return [call for call in second if call.writes and call.kind != "lease" and call.at < last]

"""Makes one policy from its parts, and reports everything that prevents it from being replayed."""

from collections.abc import Iterable, Iterator, Sequence

from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.text.load import Source
from hypot.replay.policies.families import obstacles, remark_on
from hypot.replay.policies.obstacles import axis_obstacles, naming_obstacles, step_of
from hypot.replay.policies.policy import Mishap, Policy, Start
from hypot.replay.policies.start import Found
from hypot.replay.world.parameters import World

Placed = tuple[Autoscaler, Source | None]


def hindrances(
    name: str, placed: Sequence[Placed], found: Found, world: World, named: HPA | None = None
) -> list[Mishap]:
    """Why these autoscalers cannot be replayed together, apart from the rules that each must keep by itself.

    `named` is the HPA that a Tortoise among them names, if it is known.
    """
    return [*found.mishaps, *_mishaps(name, placed, found, world, named)]


def _mishaps(name: str, placed: Sequence[Placed], found: Found, world: World, named: HPA | None) -> Iterator[Mishap]:
    for i, message in axis_obstacles([one for one, _ in placed]):
        yield Mishap(placed[i][1], ("kind",), f"policy {name!r}: {message}")
    for autoscaler, source in placed:
        for where, message in obstacles(autoscaler, found.start, world):
            yield Mishap(source, where, f"{autoscaler}: {message}")
        for where, message in naming_obstacles(autoscaler, named, found.start, world):
            yield Mishap(source, where, f"{autoscaler}: {message}")


def made(name: str, placed: Sequence[Placed], start: Start, notes: Iterable[str], named: HPA | None = None) -> Policy:
    """The policy, made from parts that have no obstacles."""
    autoscalers = tuple([one for one, _ in placed])
    steps = [step for one in autoscalers if (step := step_of(one)) is not None]
    said = [*notes, *(remark for one in autoscalers if (remark := remark_on(one)))]
    return Policy(
        name,
        autoscalers,
        start,
        steps[0] if steps else None,
        any(isinstance(one, Hvpa) and one.is_weight_based for one in autoscalers),
        tuple(dict.fromkeys(said)),
        named,
        sources=tuple([source for _, source in placed]),
    )

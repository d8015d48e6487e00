"""The Tortoises of the input, with all that learning depends on: the size of their pods, and what replicas follow."""

import time
from collections import Counter
from typing import NamedTuple

from hypot.cli.files import BadInput, last_of_each, read_objects
from hypot.core.axes.shape import Counts
from hypot.kinds.base import Ref
from hypot.kinds.text.load import LoadedFiles, Source
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.policies import HORIZONTAL
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.policy.families import seen_by
from hypot.policy.model.current_size import current_size
from hypot.policy.model.learned import SlotLayout
from hypot.policy.model.seen import Failure, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.size import Place
from hypot.policy.observe.snapshot import Snapshot, key_of, may_matter
from hypot.policy.observe.targets import target_of
from hypot.policy.tortoise.edited_hpa import FIRST_TARGET, targets_in
from hypot.policy.tortoise.needs import sizes_by_place
from hypot.policy.tortoise.policies import in_force, places_of
from hypot.policy.tortoise.sizes import counts_of
from hypot.policy.tortoise.tuning import layout_of
from hypot.policy.valid import in_the_way


class TortoiseEntry(NamedTuple):
    """A Tortoise, its place in the input, its settings, and the size of its pods by container and resource."""

    tortoise: Tortoise
    source: Source
    own: TortoiseSettings
    sizes: dict[Place, int]
    # What is scaled by replicas, and its target utilization in the HPA, or the first one.
    targets: dict[Place, int]
    # Why it can learn nothing; empty if it can.
    fault: str = ""

    @property
    def name(self) -> str:
        return f"{self.tortoise.namespace}/{self.tortoise.name}"

    @property
    def key(self) -> str:
        """Its entry in a state file."""
        return f"{self.tortoise.KIND}/{self.name}"

    @property
    def target(self) -> Ref:
        return target_of(self.tortoise)

    @property
    def layout(self) -> SlotLayout:
        return layout_of(self.own)

    @property
    def counts(self) -> Counts:
        return counts_of(self.tortoise, self.own)


def read_tortoises(paths: tuple[str, ...], settings: Settings) -> list[TortoiseEntry]:
    """Every Tortoise of the input. One that can learn nothing says why."""
    loaded, ignored = read_objects(paths, may_matter)
    sources = last_of_each((one for one in loaded if one.data["kind"] == Tortoise.KIND), key_of)
    snapshot = Snapshot(one.data for one in loaded)
    found = [one for one in snapshot.autoscalers() if isinstance(one, Tortoise)]
    if not found:
        raise BadInput(f"no Tortoise in the input: {_instead(loaded, ignored)}")
    now = snapshot.newest_time() or time.time()
    return [_entry(snapshot, one, sources[one.KIND, one.namespace, one.name], now, settings) for one in found]


def _instead(loaded: list[LoadedFiles], ignored: Counter[str]) -> str:
    kinds = Counter(str(one.data["kind"]) for one in loaded) + ignored
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return f"found only {listed}" if listed else "there is nothing in it"


def _entry(snapshot: Snapshot, tortoise: Tortoise, source: Source, now: float, settings: Settings) -> TortoiseEntry:
    problems = in_the_way(tortoise, settings)
    if problems:
        lines = [f"{source.file}:{source.line_of(each.where)}: {each}" for each in problems]
        return TortoiseEntry(tortoise, source, settings.tortoise, {}, {}, "\n".join(["it is not valid", *lines]))
    seen = seen_by(snapshot, tortoise, now, settings)
    own, _ = settings.tortoise.overridden(seen.namespace_annotations, tortoise.annotations)
    current = () if isinstance(seen.scale, Failure) else current_size(seen, seen.scale.replicas)
    entry = TortoiseEntry(tortoise, source, own, sizes_by_place(current), {})
    if not current:
        return entry._replace(fault=_no_size(entry, seen))
    if tortoise.names_hpa and seen.hpa is None:
        return entry._replace(fault=f"it names HorizontalPodAutoscaler {tortoise.hpa_name}: add it to the input")
    there = {} if seen.hpa is None else targets_in(seen.hpa)
    places = places_of(in_force(tortoise, current, seen.hpa), HORIZONTAL)
    targets = {place: there[place].percent if place in there else FIRST_TARGET for place in places}
    fault = "" if targets else "no resource is Horizontal, so there is nothing to learn"
    return entry._replace(targets=targets, fault=fault)


def _no_size(entry: TortoiseEntry, seen: Seen) -> str:
    target = entry.target
    if isinstance(seen.scale, Failure):
        return f"{target} is not in the input: add it, so that the size of its pods is known ({seen.scale.message})"
    return f"the size of its pods is unknown: add {target} with its pod template to the input, or its pods"

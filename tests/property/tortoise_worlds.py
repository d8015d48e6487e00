"""Tortoises for random worlds, the HPAs that they name, and what they have learned."""

from contextlib import contextmanager
from dataclasses import replace
from math import inf
from unittest.mock import patch

from hypothesis import strategies as st

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import Behavior, cpu, external, memory, pods
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.status import PHASES
from hypot.policy.model.learned import Learned
from hypot.policy.model.settings import Settings
from hypot.policy.model.tortoise_state import TortoiseState
from hypot.policy.tortoise.tuning import layout_of
from hypot.replay.numbers.tortoise import HORIZONTAL
from hypot.replay.numbers.tortoise_rule import TortoiseNumbers, numbers_of
from hypot.replay.policies.policy import Policy
from property.picks import among, either, maybe, within
from property.replay_worlds import EPOCH, Case, all_loads, paces, starts, worlds

NUMBERS_OF, EMPTY_PAST, EMPTY_CODES = numbers_of, TortoiseNumbers.past, TortoiseNumbers.codes
KEYS = ("app/cpu", "app/memory")
CPU_PREFIX = "tortoises.autoscaling.mercari.com/container-based-cpu-metric-prefix"
PREFIX = "hypot.dev/tortoise-"
HOUR, DAY, WEEK = 3600.0, 86400.0, 604800.0
# Zones, and times shortly before their clocks change: forward and back, by half an hour, and by more than a slot.
CLOCKS = {
    "Europe/Berlin": (1698541200.0, 1711846800.0),
    "Australia/Lord_Howe": (1680361200.0, 1696087800.0),
    "Antarctica/Troll": (1698541200.0, 1711846800.0),
    "Asia/Kolkata": (EPOCH,),
}
# Settings that have an effect within an hour.
settings_of = st.fixed_dictionaries(
    {
        f"{PREFIX}minimum-min-replicas": st.sampled_from(["1", "1", "2", "3"]),
        f"{PREFIX}maximum-max-replicas": st.sampled_from(["8", "14", "40"]),
        f"{PREFIX}preferred-max-replicas": st.sampled_from(["4", "5", "7"]),
        f"{PREFIX}shrinks-per-day": st.sampled_from(["1", "24", "24"]),
    },
    optional={
        f"{PREFIX}max-scaling-down-ratio": st.sampled_from(["0", "0.5"]),
        f"{PREFIX}target-update-interval": st.sampled_from(["1m", "5m"]),
        f"{PREFIX}target-rule": st.sampled_from(["plain", "fixed-point"]),
        f"{PREFIX}slot-period": st.just("daily"),
        f"{PREFIX}slot-hours": st.sampled_from(["2", "24"]),
        f"{PREFIX}window-weeks": st.sampled_from(["1", "8"]),
        f"{PREFIX}time-zone": st.sampled_from(list(CLOCKS)),
        f"{PREFIX}maximum-cpu-request": st.sampled_from(["900m", "2"]),
        f"{PREFIX}maximum-memory-request": st.sampled_from(["1200Mi"]),
        f"{PREFIX}emergency-grace-period": st.sampled_from(["0s", "60s"]),
        f"{PREFIX}vertical-buffer": st.sampled_from(["0", "0.5"]),
        f"{PREFIX}minimum-cpu-limit": st.just("1500m"),
        "hypot.dev/cpu-half-life": st.sampled_from(["3m", "10m"]),
        "hypot.dev/memory-half-life": st.just("5m"),
        "hypot.dev/memory-interval": st.sampled_from(["5m", "20m"]),
    },
)
words = st.sampled_from(["Horizontal", "Vertical", "Off"])
policies = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["Horizontal", "Horizontal", "Vertical", "Off"]), "memory": words}
)
bounds = st.fixed_dictionaries(
    {},
    optional={
        "minAllocatedResources": st.sampled_from([{"cpu": "100m"}, {"cpu": "300m", "memory": "300Mi"}]),
        "maxAllocatedResources": st.sampled_from([{"cpu": "1500m"}, {"memory": "2Gi"}]),
    },
)
percents = st.integers(30, 95)
named_metrics = st.lists(
    st.one_of(
        percents.map(lambda p: cpu(utilization=p, container="app")),
        percents.map(lambda p: memory(utilization=p, container="app")),
        percents.map(lambda p: cpu(utilization=p)),
        st.sampled_from(["40", "200"]).map(lambda amount: external("rate", average=amount)),
        st.sampled_from(["40", "2"]).map(lambda amount: pods("rate", average=amount)),
        percents.map(lambda p: external("cpu-app", value=str(p))),
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def named_hpas(draw):
    low = draw(among(1, 2, 4))
    up, down = draw(maybe(paces)), draw(maybe(paces))
    return HPA(
        "deployment/web",
        metrics=draw(named_metrics),
        min_replicas=low,
        max_replicas=low + draw(among(0, 3, 12)),
        scale_up=up,
        scale_down=down,
        name="given",
        annotations=draw(maybe(st.just({CPU_PREFIX: "cpu-"}))),
    )


@st.composite
def tortoises(draw, decides):
    annotations = {**draw(settings_of), **({"hypot.dev/decide": "true"} if decides else {})}
    name = None if decides else draw(among(None, None, "given"))
    refs = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    spec = {
        "targetRefs": {**refs, **({} if name is None else {"horizontalPodAutoscalerName": name})},
        "updateMode": draw(among("Auto", "Auto", "Auto", "Auto", "Emergency", "Off")),
        "resourcePolicy": [{"containerName": "app", **draw(bounds)}],
    }
    if draw(either):
        spec["autoscalingPolicy"] = [{"containerName": "app", "policy": draw(policies)}]
    if draw(either):
        up, down = draw(paces), draw(paces)
        spec["horizontalPodAutoscalerBehavior"] = Behavior(up, down).write()
    if draw(either):
        spec["maxReplicas"] = draw(among(3, 6, 12))
    return Tortoise.from_dict({"metadata": {"name": "web", "annotations": annotations}, "spec": spec})


@st.composite
def learned_states(draw, layout, epoch):
    """What it learned over some weeks; None for one that is new."""
    if draw(within(0, 5)) == 0:
        return None
    place = draw(among("app/cpu", "app/cpu", "app/cpu", "app/memory"))
    needs = draw(st.lists(st.sampled_from([None, 0, 300, 1500, 4000, 9000]), min_size=2, max_size=4))
    learned = Learned.begun(layout, place, epoch - 3 * WEEK)
    at = epoch - draw(among(1, 3, 14)) * WEEK - 2 * HOUR
    while at < epoch - HOUR:
        for needed in needs:
            learned = learned.observed(at, needed, None if needed is not None else "unmeasured")
            at += HOUR
        at += (DAY if layout.daily else WEEK) - len(needs) * HOUR
    if draw(either):
        learned = replace(learned, tally=None)
    long_ago = 3 * WEEK
    since = epoch - draw(among(0.0, WEEK - 600.0, long_ago, long_ago, long_ago))
    keys = draw(among(("app/cpu",), ("app/cpu", "app/memory"), ("app/cpu", "app/memory"), ("app/memory",)))
    other = replace(learned, place="app/memory" if place == "app/cpu" else "app/cpu")
    return TortoiseState(
        draw(among((learned,), (learned, other), (other, learned))),
        draw(among("", "Working", "PartlyWorking", "GatheringData", "Emergency", "BackToNormal")),
        dict.fromkeys(keys, since),
        {key: draw(percents) for key in keys},
        draw(maybe(st.sampled_from([epoch - 9 * DAY, epoch - 1.0]))),
        {key: draw(st.floats(0, 150)) for key in keys if draw(either)},
        draw(among(0, 1, 3, 9)),
    )


@contextmanager
def knowing(known):
    """Tortoises of replays begin with this state, in plain numbers."""

    def past(numbers):
        return known_past(numbers, EMPTY_PAST(numbers), known)

    def codes(numbers):
        found = EMPTY_CODES(numbers)
        for r, learned in enumerate(learned_places(numbers, known)):
            if learned is not None:
                found[r][:] = memoryview(learned.codes).cast("H").tolist()
        return found

    with patch.object(TortoiseNumbers, "past", past), patch.object(TortoiseNumbers, "codes", codes):
        yield


def fitting(case):
    """What it has learned; None if replicas follow nothing that it has observed."""
    first, tried = case.policy.workload, case.policy
    given = (tried.autoscalers[0], first.container, (first.cpu, first.memory), tried.named_hpa)
    numbers = NUMBERS_OF(*given, case.world.metrics.names, case.settings)
    known = [each for each in learned_places(numbers, case.known) if each is not None] if numbers is not None else []
    return case.known if numbers is None or any(each.place in case.known.since for each in known) else None


def learned_places(numbers, known):
    """What is known of cpu and memory, as far as replicas follow them and slots are the same."""
    learned = {each.place: each for each in known.learned if each.layout == numbers.layout} if known else {}
    words = zip(KEYS, numbers.rule.words, strict=True)
    return [learned.get(key) if word == HORIZONTAL else None for key, word in words]


def known_past(numbers, past, known):
    """The columns of a state."""
    if known is None:
        return past
    for r, (key, learned) in enumerate(zip(KEYS, learned_places(numbers, known), strict=True)):
        past.targets[r] = known.targets.get(key) or past.targets[r]
        if learned is None:
            continue
        past.since[r] = known.since.get(key, learned.since)
        if learned.tally is not None:
            turn, slot, needed, counted, left_out = learned.tally
            past.tally_turn[r], past.tally_slot[r], past.tally_needed[r] = turn, slot, needed
            past.tally_counted[r], past.tally_missed[r] = counted, sum(left_out)
    past.phase[0] = PHASES.index(known.phase) if known.phase else -1
    past.retargeted[0] = -inf if known.retargeted is None else known.retargeted
    for r, key in enumerate(KEYS):
        past.busiest[r] = known.busiest.get(key, -1.0)
    past.low[0], past.planned[0] = known.low, known.planned
    if numbers.rule.decides:
        past.hpa_high[0] = known.high
    past.short_since[0] = inf if known.short_since is None else known.short_since
    return past


class TortoiseCase(Case):
    """A replay, and what the Tortoise has learned before."""

    def __init__(self, *parts, known):
        super().__init__(*parts)
        self.known = known

    def __repr__(self):
        one = self.policy.autoscalers[0]
        named = None if self.policy.named_hpa is None else self.policy.named_hpa.to_dict()["spec"]
        known = None if self.known is None else self.known.to_dict()
        return f"{super().__repr__()[:-1]}, {one.annotations}, named={named}, known={known})"


setups = st.builds(
    Settings,
    sync_period=st.sampled_from([15.0, 15.0, 30.0]),
    cpu_initialization_period=st.sampled_from([0.0, 60.0, 300.0]),
    initial_readiness_delay=st.sampled_from([0.0, 30.0]),
    downscale_window=st.sampled_from([60.0, 300.0]),
)


@st.composite
def tortoise_cases(draw, decides, **world):
    tortoise = draw(tortoises(decides))
    named = draw(named_hpas()) if tortoise.names_hpa else None
    tried = Policy("tried", (tortoise,), draw(starts), named_hpa=named)
    layout = layout_of(Settings().tortoise.overridden(tortoise.annotations)[0])
    epoch = draw(st.sampled_from(CLOCKS.get(layout.zone, (EPOCH,)))) - draw(among(0.0, 90.0, 1500.0))
    given, world = draw(all_loads), draw(worlds(**world))
    names = {**world.metrics.names, "cpu-app": "usage"}
    world = replace(world, metrics=replace(world.metrics, names=names))
    known = draw(learned_states(layout, epoch))
    return TortoiseCase(tried, given._replace(start=epoch), world, draw(setups), known=known)

"""Random worlds for replays, loads, policies, and ways to run them."""

import json
from dataclasses import fields, is_dataclass
from itertools import groupby
from math import inf
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import ScalingRules, cpu, external, limit, memory, on, pods
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import WatermarkRules, band, resource_band
from hypot.policy.model.settings import Settings
from hypot.replay.engine import engine
from hypot.replay.engine.deciders import NEVER, ExplainedDecider, HvpaDecider, NumericDecider, VpaDecider
from hypot.replay.engine.demand import Load
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.world.cohorts import make_room
from hypot.replay.world.lifecycle import pass_time, scale_to
from hypot.replay.world.parameters import Demand, Heap, Metrics, Nodes, Pods, ResizeParameters, Service, Span, World
from hypot.replay.world.params import params_of
from hypot.replay.world.record import Ticks
from hypot.replay.world.tick import live_through
from property.picks import among, either, maybe, set_or_not, within

EPOCH = 1_700_000_000.0
ALWAYS = Span(-inf, inf)
MIB = 2**20
GIB = 2**30
NAMES = {"rate": "requests", "delay": "latency", "waiting": "queue", "cores": "usage"}
ENGINE_PARTS = engine.deciders_of
INGRESS = "ingress/front"


def start(replicas=2, cpu=1000, memory=GIB, cpu_limit=1200, memory_limit=GIB, restarts=frozenset()):
    """A workload called web; millicores and bytes; resources whose change restarts it."""
    return Start("web", replicas, "app", cpu, memory, cpu_limit, memory_limit, restarts_on_resize=restarts)


def policy(*autoscalers, **workload):
    return Policy("tried", autoscalers, start(**workload))


def load(*work, efficiency=1.0, memory=0.0):
    """Cores of every tick; a pair is (cores, ticks)."""
    cores = [value for one in work for value in ([one[0]] * one[1] if isinstance(one, tuple) else [one])]
    count = len(cores)
    return Load(EPOCH, np.array(cores, float), np.full(count, efficiency), np.full(count, memory))


class Looking:
    """Takes part in a replay without acting: keeps the observation after each tick, or the result of `ask`."""

    every = 0.001

    def __init__(self, ask=None):
        self.ask, self.found = ask, []

    def step(self, scene, i, now):
        self.found.append(scene.observer.seen(i, now) if self.ask is None else self.ask(scene, i, now))


def played(tried, given, world, *, merging=None, whole=False, explained=NEVER, settings=None, watcher=None):
    """The ticks of a replay and its scene: groups merged or not, numeric steps or full decisions."""
    settings = settings or Settings()
    scenes = []

    def params(world, **more):
        return params_of(world, **(more if merging is None else {**more, "merging": merging}))

    def parts(tried, scene, *rest):
        scenes.append(scene)
        yield from () if watcher is None else (watcher,)
        for part in ENGINE_PARTS(tried, scene, *rest):
            yield in_full(part) if whole and isinstance(part, NumericDecider | VpaDecider | HvpaDecider) else part

    with patch.object(engine, "params_of", params), patch.object(engine, "deciders_of", parts):
        run = engine.replay(tried, "web", given, world, settings, explained)
    return run.ticks, scenes[0]


def in_full(part):
    """The same autoscaler with full decisions."""
    return ExplainedDecider(part.autoscaler, part.every, getattr(part, "feed", None))


class _Nowhere:
    """Rows that are not read, in any layout."""

    def extend(self, row):
        pass


class Place:
    """A workload that lives tick by tick, without any decisions."""

    def __init__(self, world=None, *, merging=False, **workload):
        self.world = world or World()
        p = params_of(self.world, merging=merging, restarting=workload.get("restarts", ()))
        scene = engine.begin(policy(**workload), load(0.0), self.world, p, Settings())
        self.scene, self.c, self.s, self.p, self.i = scene, scene.c, scene.s, p, 0

    @property
    def now(self):
        return EPOCH + self.i * self.world.tick

    def tick(self, work=0.0, efficiency=1.0, memory=0.0):
        """One tick, and its row."""
        make_room(self.c, self.p.slots, self.c.used[0] + 32)
        pass_time(self.c, self.s, self.p, self.now)
        live_through(self.c, self.s, self.p, _Nowhere(), self.i, self.now, work, efficiency, memory)
        self.i += 1
        return Ticks(*self.s.row)

    def ticks(self, count, work=0.0):
        """So many ticks, as columns."""
        rows = [self.tick(work) for _ in range(count)]
        return Ticks(*(np.array(column) for column in zip(*rows, strict=True)))

    def scale(self, replicas):
        scale_to(self.c, self.s, self.p, replicas, self.now)

    def groups(self, *lives):
        """The indexes of the groups in these states."""
        return [k for k in range(self.c.used[0]) if self.c.life[k] in lives]

    def count(self, *lives):
        return sum(self.c.count[k] for k in self.groups(*lives))

    def names(self):
        return [name for k in range(self.c.used[0]) for name in self.scene.observer.names(k)]


def held_conservation(ticks, tick):
    """The largest relative difference between requests that came or waited and those served, lost or waiting."""
    before = np.concatenate(([0.0], ticks.backlog[:-1]))
    into, out = ticks.requests * tick + before, ticks.served + ticks.lost + ticks.backlog
    return float(np.max(np.abs(into - out) / np.maximum(into, 1.0)))


# Loads: stretches of one level, with zeros and bursts among them.
levels = st.sampled_from([0.0, 0.0, 0.05, 0.4, 1.0, 1.7, 2.5, 4.0, 6.3, 9.0, 30.0])
stretches = st.tuples(levels, st.integers(1, 40))
all_stretches = st.lists(stretches, min_size=3, max_size=10)


@st.composite
def loads(draw, least=50, most=160):
    """Fifty ticks or more."""
    cores = []
    for level, length in draw(all_stretches):
        cores += [level] * length
    cores = (cores * (least // len(cores) + 1))[:most]
    wave = draw(among(0.0, 0.2))
    turns = np.sin(np.arange(len(cores)) / draw(among(3.0, 11.0)))
    work = np.array(cores) * (1.0 + wave * turns)
    efficiency = np.ones(len(cores))
    if draw(either):
        efficiency[len(cores) // 3 : len(cores) // 2] = draw(among(0.5, 0.8))
    return Load(EPOCH, work, efficiency, np.full(len(cores), draw(among(0.0, 0.0, 700.0 * MIB))))


# Times without metrics: at the start, later, and both.
GAPS = ((Span(0.0, 200.0),), (Span(300.0, 420.0),), (Span(0.0, 16.0), Span(600.0, 2000.0)))


@st.composite
def worlds(draw, skews=(0.0,), gaps=((),), in_place=(True, False)):
    """Anything a world file accepts, near its defaults."""
    tick = draw(among(5.0, 15.0, 15.0, 15.0, 30.0, 60.0))
    begin_after = draw(among(0.0, 7.0, 30.0, 30.0, 45.0, 240.0))
    return World(
        tick=tick,
        demand=Demand(retries=draw(among(0.0, 0.0, 0.5)), retry_after=draw(among(3.0, 40.0))),
        service=Service(
            base_cpu=draw(among(0.0, 0.05, 0.2)),
            base_share=draw(among(0.0, 0.0, 0.1)),
            parallel=draw(among(0.0, 0.0, 0.6)),
            skew=draw(among(*skews)),
            timeout=draw(among(1.0, 10.0, 120.0)),
            throttling=draw(among(0.0, 0.05)),
        ),
        memory=Heap(
            base=draw(among(0, 200 * MIB, 900 * MIB)),
            per_request=draw(among(0, MIB, 20 * MIB)),
            leak=draw(among(0.0, 0.0, 0.0, 20e3)),
            cache=draw(among(0, 0, 300 * MIB)),
            fall=draw(among(60.0, 1800.0)),
        ),
        resize=ResizeParameters(
            in_place=draw(among(*in_place)),
            takes=draw(among(0.0, 2.0, 50.0)),
            room=draw(among(None, None, 0.3)),
        ),
        pods=Pods(
            start=begin_after,
            create=min(begin_after, draw(among(0.0, 3.0, 15.0))),
            stop=draw(among(0.0, 30.0, 30.0, 100.0)),
            backoff=draw(among(10.0, 30.0)),
            headroom=draw(among(0.0, 0.5)),
        ),
        metrics=Metrics(
            window=draw(among(5.0, 30.0, 30.0, 60.0, 120.0)),
            lag=draw(among(0.0, 15.0, 15.0, 60.0)),
            gaps=draw(among(*gaps)),
            names=NAMES,
        ),
        nodes=Nodes(
            start=draw(among(None, None, 1, 3)),
            cpu=draw(among(2.0, 8.0)),
            reserved=draw(among(0.0, 0.05)),
            provisioning=draw(among(0.0, 120.0)),
            removal=draw(among(60.0, 600.0)),
        ),
    )


starts = st.builds(
    start,
    replicas=st.integers(1, 9),
    cpu=st.sampled_from([100, 500, 1000]),
    memory=st.sampled_from([512 * MIB, GIB]),
    cpu_limit=st.sampled_from([None, 1000, 1200]),
    memory_limit=st.sampled_from([None, None, GIB]),
    restarts=st.sampled_from([frozenset(), frozenset(), frozenset({"cpu"}), frozenset({"memory"})]),
)

setups = st.builds(
    Settings,
    tolerance=st.sampled_from([0.0, 0.1, 0.1, 0.3]),
    sync_period=st.sampled_from([15.0, 15.0, 30.0]),
    downscale_window=st.sampled_from([0.0, 60.0, 300.0, 300.0]),
    cpu_initialization_period=st.sampled_from([0.0, 60.0, 300.0]),
    initial_readiness_delay=st.sampled_from([0.0, 30.0]),
    scale_up_factor=st.sampled_from([1.5, 2.0]),
    scale_up_floor=st.sampled_from([1.0, 4.0]),
)

percents = st.integers(15, 130)
cores_each = st.sampled_from(["100m", "400m", "700m", "1100m"])
bytes_each = st.sampled_from(["100Mi", "300Mi", "600Mi"])
# Targets of each custom metric, so that its value is sometimes above and sometimes below.
totals = {
    "rate": ("3", "40", "200"),
    "delay": ("25m", "100m", "1"),
    "waiting": ("500m", "20", "900"),
    "cores": ("300m", "2", "6"),
}
named = st.sampled_from([(name, amount) for name in sorted(NAMES) for amount in totals[name]])
hpa_metrics = st.one_of(
    percents.map(lambda p: cpu(utilization=p)),
    percents.map(lambda p: cpu(utilization=p)),
    cores_each.map(lambda q: cpu(average=q)),
    percents.map(lambda p: memory(utilization=p)),
    bytes_each.map(lambda q: memory(average=q)),
    percents.map(lambda p: cpu(utilization=p, container="app")),
    named.map(lambda pair: pods(pair[0], average=pair[1])),
    named.map(lambda pair: on(INGRESS, pair[0], value=pair[1])),
    named.map(lambda pair: on(INGRESS, pair[0], average=pair[1])),
    named.map(lambda pair: external(pair[0], value=pair[1])),
    named.map(lambda pair: external(pair[0], average=pair[1], labels={"of": "web"})),
)
limits = st.one_of(
    st.builds(lambda n, per: limit(pods=n, per=per), st.integers(1, 6), st.sampled_from([15, 60, 300])),
    st.builds(lambda n, per: limit(percent=n, per=per), st.sampled_from([5, 50, 100]), st.sampled_from([15, 60, 300])),
)


paces = st.builds(
    ScalingRules,
    maybe(st.lists(limits, min_size=1, max_size=3)),
    maybe(st.sampled_from([0, 30, 300])),
    st.sampled_from([None, None, "Max", "Min", "Disabled"]),
    st.sampled_from([None, None, "0", "50m", "0.3"]),
)


some_metrics = st.lists(hpa_metrics, min_size=1, max_size=3)


@st.composite
def hpas(draw):
    """Autoscalers that an API server accepts; some begin outside of their bounds."""
    low = draw(among(1, 1, 2, 4))
    return HPA(
        "deployment/web",
        metrics=draw(some_metrics),
        min_replicas=low,
        max_replicas=low + draw(among(0, 3, 12, 40)),
        scale_up=draw(maybe(paces)),
        scale_down=draw(maybe(paces)),
    )


@st.composite
def bands(draw):
    name = draw(among("cpu", "cpu", "memory", *sorted(NAMES)))
    if name == "memory":
        low, high = draw(among(("150Mi", "400Mi"), ("300Mi", "301Mi"), ("1Mi", "900Mi")))
    else:
        marks = {"cpu": ("100m", "300m", "700m", "3"), **totals}[name]
        low, high = sorted(draw(among((0, 1), (0, 2), (1, 2), (1, 1))))
        low, high = marks[low], marks[high]
    written = {"low": low, "high": high}
    left_out = draw(among(None, None, None, "low", "high"))
    written.pop(left_out, None)
    if draw(within(0, 9)) == 0 and "low" in written and "high" in written:
        written["low"] = "0"
    return resource_band(name, **written) if name in {"cpu", "memory"} else band(name, **written)


some_bands = st.lists(bands(), min_size=1, max_size=3)
steps = st.builds(
    WatermarkRules,
    st.sampled_from([None, 0, 10, 50, 99]),
    st.sampled_from([None, 1, 60, 300]),
    st.sampled_from([None, 0, 30, 90]),
)


@st.composite
def wpas(draw, annotations=None):
    """Autoscalers that pass the rules of the kind."""
    low = draw(among(1, 1, 2, 4))
    return WPA(
        "deployment/web",
        metrics=draw(some_bands),
        min_replicas=low,
        max_replicas=low + draw(among(0, 3, 12, 40)),
        algorithm=draw(among(None, "absolute", "average")),
        tolerance=draw(among(None, "10m", "0.1", "0.5")),
        scale_up=draw(maybe(steps)),
        scale_down=draw(maybe(steps)),
        modulo=draw(among(None, 1, 2, 5)),
        converge=draw(among(None, "highwatermark", "lowwatermark")),
        tolerate_zero=draw(set_or_not),
        min_available=draw(among(None, 0, 50, 100)),
        readiness_delay=draw(among(None, None, 1, 30, 200)),
        annotations=annotations,
    )


class Case:
    """One replay with a short text form."""

    def __init__(self, tried, given, world, settings):
        self.policy, self.load, self.world, self.settings = tried, given, world, settings

    def __repr__(self):
        cores = [(float(level), len(list(same))) for level, same in groupby(np.round(self.load.work, 3))]
        parts = [
            json.dumps([one.to_dict()["spec"] for one in self.policy.autoscalers]),
            shown_start(self.policy.workload),
            f"load(*{cores}, efficiency={self.load.efficiency.min()}, memory={self.load.memory.max()})",
            differences(self.world),
            differences(self.settings),
        ]
        return f"Case({', '.join(parts)})"


def shown_start(first):
    sizes = (first.cpu, first.memory, first.cpu_limit, first.memory_limit)
    return f"start({first.replicas}, {', '.join(map(str, sizes))}, restarts={set(first.restarts_on_resize)})"


def differences(given):
    """The fields that differ from their defaults."""
    shown = []
    for field in fields(given):
        value, usual = getattr(given, field.name), getattr(type(given)(), field.name)
        if value != usual:
            shown.append(f"{field.name}={differences(value) if is_dataclass(value) else repr(value)}")
    return f"{type(given).__name__}({', '.join(shown)})"


all_loads = loads()


@st.composite
def cases(draw, autoscalers, setups=setups, **world):
    """A replay of one of these sets of autoscalers."""
    tried = Policy("tried", draw(autoscalers), draw(starts))
    return Case(tried, draw(all_loads), draw(worlds(**world)), draw(setups))

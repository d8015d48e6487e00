"""Both axes come to rest: a constant demand through the whole loop of usage, recommendation and decision."""

import json

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st

from hypot.core.axes.interval import replicas_for
from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.hpa.fields import cpu, memory, pods
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.hvpa.fields import Change, MinChange, ResourceChanges, ScaleType, interval
from hypot.kinds.hvpa.intervals import allowed, counts_of, intervals_of, largest_total
from hypot.kinds.vpa.fields import ContainerPolicy
from hypot.policy.hvpa.gates import scale_type
from hypot.policy.model.settings import Settings
from hypot.replay.engine import engine
from hypot.replay.world.parameters import Heap, Metrics, Pods, ResizeParameters, Service, World
from property.picks import among, maybe
from property.replay_worlds import GIB, MIB, load, policy

often = settings(
    max_examples=40,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
)
HOUR, DAY = 3600.0, 86400.0
TICK = 60.0
PER_HOUR = 60


@st.composite
def lists(draw):
    """Rising counts, and sizes that rise or fall while their totals rise."""
    made, count, total = [], 0, 0
    for more in draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)):
        count += more
        size = total // count + draw(among(200, 500, 1000, 2000))
        total = count * size
        made.append(
            interval(
                count,
                cpu=f"{size}m",
                memory=max(size, 400) * MIB,
                extrapolation=draw(among(None, "linear", "linearPerPod", "horizontalOnly")),
            )
        )
    return made


least = st.builds(
    lambda percent, value: MinChange(Change(value, percent), Change(None, percent)),
    among(None, 5, 10, 30, 50),
    among(None, "100m"),
)
scale_types = st.builds(ScaleType, st.just("Auto"), maybe(least), among(None, "0s", "1m", "10m"))
shares = st.builds(
    lambda value, percent: ResourceChanges(Change(value, percent)), among(None, "50m"), among(None, 10, 30)
)
metrics = st.sampled_from(
    [
        None,
        *([cpu(utilization=percent)] for percent in (50, 70, 90, 95)),
        [cpu(utilization=70), memory(utilization=80)],
        # With a container whose memory is not sized, it only votes for a count.
        [memory(utilization=80)],
        [cpu(utilization=70), memory(average="300Mi")],
        *([pods("rate", average=rate)] for rate in (20, 60)),
        [cpu(utilization=70), pods("rate", average=35)],
    ]
)


class Tried:
    """An Hvpa with a short text form."""

    def __init__(self, hvpa):
        self.hvpa = hvpa

    def __repr__(self):
        return json.dumps(self.hvpa.to_dict()["spec"])


@st.composite
def hvpas(draw, values=None):
    """Any list, overlap, base load, minimum change and mix of sources that hypot accepts."""
    given = draw(metrics)
    try:
        return Tried(
            Hvpa(
                "deployment/web",
                intervals=draw(lists()),
                overlap=draw(maybe(shares)),
                base=draw(maybe(shares)),
                scale_up=draw(maybe(scale_types)),
                scale_down=draw(maybe(scale_types)),
                metrics=given,
                containers=[
                    ContainerPolicy(
                        "app",
                        min_allowed={"cpu": "100m", "memory": "64Mi"},
                        controlled_resources=draw(among(None, ("cpu",))),
                        controlled_values=values,
                    )
                ],
                knobs=draw(st.sampled_from([{}, {"hypot.dev/cpu-half-life": "10m"}])),
                use_hpa=given is not None,
                use_vpa=given is None or draw(st.booleans()),
            )
        )
    except InvalidAutoscaler:
        reject()


def changes_after(ticks, start):
    """How often the asked count or size changes after this time."""
    late = ticks.at >= ticks.at[0] + start
    asked = np.stack([ticks.replicas, ticks.size_cpu, ticks.size_memory], axis=1)[late]
    return int(np.any(np.diff(asked, axis=0) != 0, axis=1).sum())


def served_by(hvpa, limit=None):
    """The cores of its largest shape, used up to its target."""
    return largest_total(hvpa, "app", "cpu", limit) / 1000 * min([*utilization_targets(hvpa), 80]) / 100


def utilization_targets(hvpa):
    metrics = hpa_of(hvpa).metrics or () if hvpa.uses_hpa else ()
    sources = [metric.resource for metric in metrics if metric.resource]
    return [source.target.utilization for source in sources if source.name == "cpu"]


def patience(hvpa):
    waits = [scale_type(hvpa, way).stabilization_seconds or 0.0 for way in ("up", "down")]
    return HOUR + 3 * max(waits)


def lived_through(hvpa, work, base, begin, burst=2.0, restarts=(), **world):
    """The ticks of a workload that begins with this shape, a count and millicores, and has enough memory.

    `burst` is the ratio of its cpu limit to its request, and a resize of these resources restarts its pods.
    """
    replicas, cores = begin
    world = World(
        tick=TICK,
        service=Service(base_cpu=base),
        memory=Heap(fall=60.0),
        metrics=Metrics(names={"rate": "requests"}),
        **world,
    )
    started = policy(
        hvpa,
        replicas=replicas,
        cpu=cores,
        cpu_limit=int(burst * cores),
        memory=4 * GIB,
        memory_limit=4 * GIB,
        restarts=frozenset(restarts),
    )
    return engine.replay(started, "web", load(*work), world, Settings()).ticks


def largest(hvpa, _cores=None):
    last = counts_of(hvpa)[1]
    return last, largest_total(hvpa, "app", "cpu") // last


def fitting(hvpa, cores):
    """The smallest shape for twice this demand."""
    total = int(2000 * cores)
    replicas = replicas_for(intervals_of(hvpa, "app", "cpu"), total, 0)
    return replicas, -(-total // replicas)


def fitting_with_room(hvpa, cores):
    """More replicas than needed, of a size that one may keep."""
    replicas, size = fitting(hvpa, cores)
    return min(replicas + 1, counts_of(hvpa)[1]), size


@settings(often, max_examples=60)
@given(
    hvpas(),
    st.floats(0.2, 20.0),
    among(0.0, 0.05, 0.2),
    among(1.0, 1.2, 2.0),
    st.sampled_from([largest, fitting_with_room]),
)
def test_a_constant_demand_comes_to_rest(tried, cores, base, burst, begin):
    """After an hour and three stabilizations at most one change is left, also of pods that may not burst."""
    hvpa = tried.hvpa
    assume(1.5 * (cores + base * counts_of(hvpa)[1]) < served_by(hvpa))
    ticks = lived_through(hvpa, [(cores, 10 * PER_HOUR)], base, begin(hvpa, cores), burst)
    assert changes_after(ticks, patience(hvpa)) <= 1


@settings(often, max_examples=20)
@given(
    hvpas(),
    st.floats(0.2, 20.0),
    among(0.0, 0.05, 0.2),
    among(1.0, 1.2, 2.0),
    among(30.0, 120.0, 240.0),
    st.sampled_from([(False, ()), (True, ("cpu", "memory"))]),
)
def test_where_pods_restart_a_constant_demand_changes_little(tried, cores, base, burst, start, resizing):
    """Evicted, or restarted in place: the load of the others meanwhile reverses a scale-down a few times a day.

    Of one resource: a move to less cpu and a little more memory is a scale-up, which waits for nothing.
    """
    hvpa, (in_place, restarts) = tried.hvpa, resizing
    assume(allowed(hvpa, "app").controlled == ("cpu",))
    assume(1.5 * (cores + base * counts_of(hvpa)[1]) < served_by(hvpa))
    ticks = lived_through(
        hvpa,
        [(cores, 72 * PER_HOUR)],
        base,
        largest(hvpa),
        burst,
        restarts,
        resize=ResizeParameters(in_place=in_place),
        pods=Pods(start=start),
    )
    assert changes_after(ticks, 2 * DAY) <= 16


def has_overlap(hvpa):
    fixed = any(one.extrapolation == "horizontalOnly" for one in hvpa.intervals)
    return bool(not fixed and hvpa.overlap and hvpa.overlap.cpu.percentage)


@often
@given(hvpas("RequestsOnly"), st.floats(0.1, 0.6), among(200, 500, 1000), among(1.0, 1.2, 2.0))
def test_fixed_limits_do_not_starve(tried, share, size, burst):
    """However small the pods are that cannot get more: after ten hours there are enough of them."""
    hvpa, limit = tried.hvpa, int(burst * size)
    cores = share * served_by(hvpa, limit)
    ticks = lived_through(hvpa, [(cores, 10 * PER_HOUR)], 0.0, (counts_of(hvpa)[0], size), burst)
    assert np.all(ticks.replicas[-PER_HOUR:] * limit > 1000 * cores)


@often
@given(hvpas(), st.floats(0.2, 20.0), st.floats(0.5, 2.0), among(0.0, 0.05))
def test_on_a_slow_ramp_the_count_is_monotone(tried, low, factor, base):
    """After two hours of rest, twenty hours of rise or fall: no replica that was added is removed, or the reverse.

    A removal that the paradox rule postponed may come before the first addition. Histograms are exact to 5 %, which
    an overlap makes up for; pods of a fixed size have none. A base load that is written but not used moves borders.
    """
    hvpa = tried.hvpa
    high = factor * low
    assume(hvpa.base is None)
    # Saturation adds more than a rate that pods cannot serve then asks for.
    assume(not hvpa.uses_hpa or utilization_targets(hvpa))
    assume(not hvpa.uses_vpa or has_overlap(hvpa))
    assume(1.5 * (max(low, high) + base * counts_of(hvpa)[1]) < served_by(hvpa))
    ramp = np.linspace(low, high, 20 * PER_HOUR).tolist()
    ticks = lived_through(hvpa, [(low, 2 * PER_HOUR), *ramp], base, fitting(hvpa, low))
    moves = np.sign(np.diff(ticks.replicas[2 * PER_HOUR :]))
    along = moves[moves != 0] * (1 if high > low else -1)
    assert np.all(np.diff(along) >= 0)

"""Vertical autoscalers of all kinds for random worlds."""

from functools import cache
from itertools import accumulate

from hypothesis import reject
from hypothesis import strategies as st

from hypot.kinds.base import InvalidAutoscaler
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import Change, MinChange, ResourceChanges, ScaleType, interval
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import HIGHER, LOWER, ContainerPolicy, EvictionRequirement
from hypot.policy.model.settings import Settings
from property.picks import among, either, maybe, mostly
from property.replay_worlds import MIB, some_metrics

# Knobs that have an effect within an hour.
knobs = st.fixed_dictionaries(
    {"hypot.dev/cpu-half-life": st.sampled_from(["3m", "10m", "24h"])},
    optional={
        "hypot.dev/memory-half-life": st.sampled_from(["5m", "24h"]),
        "hypot.dev/memory-interval": st.sampled_from(["5m", "20m"]),
        "hypot.dev/confidence-interval-cpu": st.sampled_from(["2m", "30m"]),
        "hypot.dev/confidence-interval-memory": st.sampled_from(["2m", "30m"]),
        "hypot.dev/lifetime-threshold": st.sampled_from(["0s", "1m", "10m"]),
        "hypot.dev/update-threshold": st.sampled_from(["0", "0.02", "0.4"]),
        "hypot.dev/eviction-tolerance": st.sampled_from(["0", "0.1", "1"]),
        "hypot.dev/min-replicas": st.sampled_from(["1", "1", "4"]),
        "hypot.dev/in-place-skips-budget": st.sampled_from(["true", "false"]),
        "hypot.dev/target-cpu-percentile": st.sampled_from(["0.5", "0.99"]),
        "hypot.dev/round-cpu": st.sampled_from(["50m", "1"]),
        "hypot.dev/round-memory": st.sampled_from(["64Mi"]),
        "hypot.dev/max-allowed-cpu": st.sampled_from(["700m"]),
        "hypot.dev/evict-after-oom": st.sampled_from(["0s", "1m", "24h"]),
        "hypot.dev/pod-min-memory": st.sampled_from(["1Mi", "600Mi"]),
        "vpa-post-processor.kubernetes.io/app_integerCPU": st.sampled_from(["true", "false"]),
    },
)
resources = st.sampled_from([None, None, ("cpu",), ("memory",), ("cpu", "memory"), ()])
containers = st.builds(
    ContainerPolicy,
    st.sampled_from(["app", "*", "other"]),
    st.sampled_from([None, None, None, "Auto", "Off"]),
    min_allowed=st.sampled_from([None, None, {"cpu": "300m"}, {"cpu": "1", "memory": "700Mi"}]),
    max_allowed=st.sampled_from([None, None, {"cpu": "1500m"}, {"memory": "2Gi"}]),
    controlled_resources=resources,
    controlled_values=st.sampled_from([None, None, "RequestsOnly", "RequestsAndLimits"]),
).filter(lambda one: one.mode != "Off" or one.controlled_values is None)
requirements = st.lists(
    st.builds(
        EvictionRequirement,
        st.sampled_from([("cpu",), ("memory",), ("cpu", "memory")]),
        st.sampled_from([HIGHER, LOWER]),
    ),
    max_size=2,
)


some_containers = st.lists(containers, max_size=2, unique_by=lambda one: one.container_name)


@st.composite
def vpas(draw):
    """Autoscalers that an API server accepts."""
    return VPA(
        "deployment/web",
        mode=draw(among("Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate", "InPlaceOrRecreate", "InPlace")),
        min_replicas=draw(among(None, 1, 1, 3)),
        eviction_requirements=draw(maybe(requirements)),
        containers=draw(maybe(some_containers)),
        annotations=draw(knobs),
    )


versions = st.sampled_from([(1, 32), (1, 33), (1, 34), (1, 36)])
setups = st.builds(Settings, sync_period=st.sampled_from([15.0, 15.0, 30.0]), kubernetes=versions)


DIVISIONS = ("linear", None, None, "linearPerPod", "horizontalOnly")
# Replays begin at 22:13:20.
WINDOWS = (("221500+0000", "223000+0000"), ("234000+0100", "000000+0100"), ("070000+0000", "080000+0000"))
SPANS = (None, "0s", "45s", "2m", "10m")
KNOBS = ({}, {"hypot.dev/cpu-half-life": "3m", "hypot.dev/memory-half-life": "5m"}, {"hypot.dev/cpu-half-life": "1m"})


@cache
def change(amounts, percents):
    """An amount, a percentage, both or neither."""
    return st.builds(Change, maybe(st.sampled_from(amounts)), maybe(st.sampled_from(percents)))


@st.composite
def changes(draw, percents, cpus, memories, kind=ResourceChanges):
    """An amount, a percentage or both, of each resource or of none."""
    own = [draw(maybe(change(amounts, percents))) for amounts in (cpus, memories)]
    return kind(*own)


least = changes((0, 3, 10), ("0", "50m", "300m"), ("0", "10M", "300M"), MinChange)
scale_types = st.builds(
    ScaleType,
    st.sampled_from([None, None, None, "Auto", "Auto", "Off", "MaintenanceWindow"]),
    st.one_of(st.just(MinChange(Change("0"), Change("0"))), maybe(least)),
    st.sampled_from(SPANS),
)
policies = st.builds(
    ContainerPolicy,
    st.sampled_from(["*", "app", "app", "other"]),
    st.sampled_from([None, None, None, None, "Auto", "Off"]),
    st.sampled_from([None, None, {"cpu": "150m"}, {"cpu": "90m", "memory": "300Mi"}]),
    st.sampled_from([None, None, {"memory": "9Gi"}, {"cpu": "3", "memory": "3Gi"}]),
    st.sampled_from([None, None, None, ("cpu",), ("memory",), ("cpu", "memory")]),
    st.sampled_from([None, None, "RequestsOnly"]),
)


more_each = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@st.composite
def rows(draw):
    """Rising counts, and sizes with rising totals."""
    made, total = [], [0, 0]
    for count in accumulate(draw(more_each)):
        sizes = [
            total[0] // count + draw(among(60, 150, 400, 1100)),
            total[1] // count + draw(among(60, 200, 500, 900)) * MIB,
        ]
        total = [count * size for size in sizes]
        division = draw(among(*DIVISIONS))
        known = {"cpu": f"{sizes[0]}m", "memory": sizes[1]}
        if division == "horizontalOnly" and draw(either):
            del known[draw(among("cpu", "memory"))]
        made.append(interval(count, extrapolation=division, **known))
    return made


all_rows = rows()
overlaps = changes((0, 10, 30), ("1m", "20m"), ("1M", "20M"))
bases = changes((0, 5, 20), ("10m", "60m"), ("10M", "90M"))
limit_gaps = changes((0, 20, 100), ("100m", "1"), ("100M", "900M"))
some_policies = st.lists(policies, min_size=1, max_size=2, unique_by=lambda one: one.container_name)
own_knobs = st.sampled_from(KNOBS)


@st.composite
def hvpas(draw):
    """Hvpas of all divisions, held back in all ways, with either source or both."""
    intervals = draw(all_rows)
    first = draw(among(None, 1, 2, intervals[0].max_replicas))
    try:
        return Hvpa(
            "deployment/web",
            intervals=intervals,
            overlap=draw(maybe(overlaps)),
            base=draw(maybe(bases)),
            limits_gap=draw(maybe(limit_gaps)),
            scale_up=draw(maybe(scale_types)),
            scale_down=draw(maybe(scale_types)),
            window=draw(among(*WINDOWS)),
            min_replicas=first,
            max_replicas=draw(among(None, None, 3, 40)),
            metrics=draw(maybe(some_metrics)),
            containers=draw(maybe(some_policies)),
            knobs=draw(own_knobs),
            use_hpa=draw(mostly),
            use_vpa=draw(mostly),
        )
    except InvalidAutoscaler:
        reject()
